"""TinyMT32, a small Mersenne twister for each element of a collection: AMPRNG's ``tinymt_collection``.

M. Saito, M. Matsumoto, *Tiny Mersenne Twister*, 2011; RFC 8682 defines the algorithm and its constants.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp

#: The parameters of RFC 8682.
_MAT1, _MAT2, _TMAT = 0x8F7011EE, 0xFC78FF1F, 0x3793FDFF
_BEFORE = 8


@amp.struct
class tinymt:
    """One generator: 127 bits of state, a period of 2^127 - 1."""

    s0: amp.uint32
    s1: amp.uint32
    s2: amp.uint32
    s3: amp.uint32

    @amp.func
    def next_state(self: Any) -> Any:
        """Advances the state by one word."""
        y = self.s3
        x = (self.s0 & amp.uint32(0x7FFFFFFF)) ^ self.s1 ^ self.s2
        x = x ^ (x << 1)
        y = y ^ (y >> 1) ^ x
        odd = amp.uint32(0) - (y & 1)
        self.s0 = self.s1
        self.s1 = self.s2 ^ (odd & amp.uint32(_MAT1))
        self.s2 = x ^ (y << 10) ^ (odd & amp.uint32(_MAT2))
        self.s3 = y

    @amp.func
    def next_uint(self) -> Any:
        """The next word, uniform in [0, 2^32)."""
        self.next_state()
        t = self.s0 + (self.s2 >> 8)
        return self.s3 ^ t ^ ((amp.uint32(0) - (t & 1)) & amp.uint32(_TMAT))

    @amp.func
    def next_single12(self) -> Any:
        """A uniform float32 in [1, 2)."""
        return amp.asfloat(self.next_uint() >> 9 | amp.uint32(0x3F800000))

    @amp.func
    def next_single(self) -> Any:
        """A uniform float32 in [0, 1)."""
        return self.next_single12() - amp.float32(1.0)


@amp.func
def _advanced(g: Any) -> Any:
    # A state of zeros would never change.
    if (g.s0 & amp.uint32(0x7FFFFFFF)) == 0 and g.s1 == 0 and g.s2 == 0 and g.s3 == 0:
        g.s0, g.s1, g.s2, g.s3 = amp.uint32(0x54), amp.uint32(0x49), amp.uint32(0x4E), amp.uint32(0x59)
    for _ in range(_BEFORE):
        g.next_state()
    return g.copy()


@amp.func
def tinymt_of(seed: Any) -> Any:
    """A generator from a seed of 32 bits, as ``tinymt32_init``."""
    s = amp.private(4, amp.uint32)
    s[0], s[1], s[2], s[3] = amp.uint32(seed), amp.uint32(_MAT1), amp.uint32(_MAT2), amp.uint32(_TMAT)
    for i in range(1, 8):
        last = s[(i - 1) & 3]
        s[i & 3] = s[i & 3] ^ (amp.uint32(i) + amp.uint32(1812433253) * (last ^ (last >> 30)))
    g = tinymt(s[0], s[1], s[2], s[3])
    return _advanced(g)


@amp.func
def _first(x: Any) -> Any:
    return (x ^ (x >> 27)) * amp.uint32(1664525)


@amp.func
def _second(x: Any) -> Any:
    return (x ^ (x >> 27)) * amp.uint32(1566083941)


@amp.func
def tinymt_of_two(seed: Any, number: Any) -> Any:
    """A generator from two words, as ``tinymt32_init_by_array``."""
    s = amp.private(4, amp.uint32)
    s[0], s[1], s[2], s[3] = amp.uint32(0), amp.uint32(_MAT1), amp.uint32(_MAT2), amp.uint32(_TMAT)
    for step in range(8):
        i = step & 3
        r = _first(s[i] ^ s[(i + 1) & 3] ^ s[(i + 3) & 3])
        s[(i + 1) & 3] += r
        extra = amp.uint32(i)
        if step == 0:
            extra = amp.uint32(2)
        elif step == 1:
            extra += amp.uint32(seed)
        elif step == 2:
            extra += amp.uint32(number)
        r += extra
        s[(i + 2) & 3] += r
        s[i] = r
    for i in range(4):
        r = _second(s[i] + s[(i + 1) & 3] + s[(i + 3) & 3])
        s[(i + 1) & 3] ^= r
        r -= amp.uint32(i)
        s[(i + 2) & 3] ^= r
        s[i] = r
    g = tinymt(s[0], s[1], s[2], s[3])
    return _advanced(g)


@amp.kernel
def _initialize(idx, generators, seed):
    generators[idx] = tinymt_of_two(seed, idx[0])


def tinymt_collection(extent: Any, seed: int = 1, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """An ``amp.array`` of generators (AMPRNG: ``tinymt_collection``) with different seeds.

    A kernel draws by ``generators[idx].next_uint()``, ``next_single()`` or ``next_single12()``, which advances that
    element. ``extent``: one to three dimensions. ``seed``: 32 bits. AMPRNG gives elements different parameters of the
    recurrence; here they have the parameters of RFC 8682 and different seeds.
    """
    if not 0 <= seed < 1 << 32:
        raise ValueError(f"the seed has 32 bits: {seed} does not fit")
    view = amp.accelerator().default_view if accelerator_view is None else accelerator_view
    generators = amp.array(amp.extent(extent), tinymt, accelerator_view=view)
    row = generators if generators.extent.rank == 1 else generators.reshape(-1)
    amp.parallel_for_each(view, row.extent, _initialize, row, np.uint32(seed))
    return generators
