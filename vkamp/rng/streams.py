"""Random numbers inside kernels: ``s = rng.philox(seed, stream)``, then ``s.next_float()``."""

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.rng._rounds import philox4x32
from vkamp.rng._words import component
from vkamp.rng.distributions import normal_pair, unit_float32


@amp.struct
class philox_stream:
    """A stream of random numbers for one thread, by Philox4x32 with ten rounds."""

    counter: amp.uint4
    words: amp.uint4
    key: amp.uint2
    used: amp.uint32

    @amp.func
    def next_uint4(self) -> Any:
        """The next four words; the words that :meth:`next_uint` has yet to return are kept."""
        self.counter.x += 1
        if self.counter.x == 0:
            self.counter.y += 1
        return philox4x32(self.counter, self.key)

    @amp.func
    def next_uint(self) -> Any:
        """The next word, uniform in [0, 2^32)."""
        if self.used == 4:
            self.words = self.next_uint4()
            self.used = amp.uint32(0)
        self.used += 1
        return component(self.words, self.used - 1)

    @amp.func
    def next_float(self) -> Any:
        """A uniform float32 in [0, 1)."""
        return unit_float32(self.next_uint())

    @amp.func
    def next_float4(self) -> Any:
        """Four uniform float32 in [0, 1), from :meth:`next_uint4`."""
        w = self.next_uint4()
        return amp.float4(unit_float32(w.x), unit_float32(w.y), unit_float32(w.z), unit_float32(w.w))

    @amp.func
    def next_normal2(self) -> Any:
        """Two standard normal float32, as a float2."""
        first = self.next_uint()
        x, y = normal_pair(first, self.next_uint())
        return amp.float2(x, y)


@amp.func
def philox(seed: Any, stream: Any) -> Any:
    """A stream for a thread. Streams of one seed with different numbers ``stream`` are independent.

    Its words are those of ``Philox4x32(key=seed, counter=stream << 64)``.
    """
    counter = amp.uint4(0, 0, amp.uint32(stream), 0)
    return philox_stream(counter, amp.uint4(0), amp.uint2(amp.uint32(seed), 0), amp.uint32(4))
