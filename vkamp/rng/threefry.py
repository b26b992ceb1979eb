"""The Threefry generators: additions, rotations and exclusive ors of an element's number and a key.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, *Parallel Random Numbers: As Easy as 1, 2, 3*, SC 2011, in twenty
rounds.  JAX uses ``threefry2x32``.
"""

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.rng import _wide
from vkamp.rng._words import Words
from vkamp.rng.bit_generator import CounterBased

_PARITY = 0x1BD11BDA
_ROTATIONS2 = (13, 15, 26, 6, 17, 29, 16, 24)
_ROTATIONS4 = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


@amp.func
def _rotated(x: Any, by: Any) -> Any:
    return x << amp.uint32(by) | x >> amp.uint32(32 - by)


@amp.func
def threefry2x32(counter: Any, key: Any) -> Any:
    """Two random words from a counter and a key, each a uint2, in twenty rounds."""
    keys = (key.x, key.y, amp.uint32(_PARITY) ^ key.x ^ key.y)
    a = counter.x + key.x
    b = counter.y + key.y
    for r in amp.static_range(20):
        a = a + b
        b = _rotated(b, _ROTATIONS2[r % 8]) ^ a
        if r % 4 == 3:
            a = a + keys[(r // 4 + 1) % 3]
            b = b + keys[(r // 4 + 2) % 3] + amp.uint32(r // 4 + 1)
    return amp.uint2(a, b)


@amp.func
def threefry4x32(counter: Any, key: Any) -> Any:
    """Four random words from a counter and a key, each a uint4, in twenty rounds."""
    keys = (key.x, key.y, key.z, key.w, amp.uint32(_PARITY) ^ key.x ^ key.y ^ key.z ^ key.w)
    a = counter.x + key.x
    b = counter.y + key.y
    c = counter.z + key.z
    d = counter.w + key.w
    for r in amp.static_range(20):
        if r % 2 == 0:
            a = a + b
            b = _rotated(b, _ROTATIONS4[r % 8][0]) ^ a
            c = c + d
            d = _rotated(d, _ROTATIONS4[r % 8][1]) ^ c
        else:
            a = a + d
            d = _rotated(d, _ROTATIONS4[r % 8][0]) ^ a
            c = c + b
            b = _rotated(b, _ROTATIONS4[r % 8][1]) ^ c
        if r % 4 == 3:
            a = a + keys[(r // 4 + 1) % 5]
            b = b + keys[(r // 4 + 2) % 5]
            c = c + keys[(r // 4 + 3) % 5]
            d = d + keys[(r // 4 + 4) % 5] + amp.uint32(r // 4 + 1)
    return amp.uint4(a, b, c, d)


class _Words2x32(Words):
    __slots__ = ("key",)

    def __init__(self, n: int, position: int, key: tuple[int, ...]) -> None:
        super().__init__(n, position)
        self.key = amp.uint2(*key)

    @amp.func
    def group(self, number: Any, carry: Any) -> Any:
        """The words of two counters, whose numbers have 64 bits, so that nothing is carried."""
        counter = amp.uint2(number.x << 1, number.y << 1 | number.x >> 31)
        a = threefry2x32(counter, self.key)
        b = threefry2x32(amp.uint2(counter.x + 1, counter.y), self.key)
        return amp.uint4(a.x, a.y, b.x, b.y)


class Threefry2x32(CounterBased):
    """Threefry with two words in twenty rounds: a counter and a key of 64 bits.

    ``seed``, ``key`` and ``counter`` are those of Philox4x32.
    """

    key_words = 2
    counter_words = 2
    words_per_counter = 2

    def words(self, n: int, position: int) -> Words:
        return _Words2x32(n, position, self.key)


class _ThreefryWords(Words):
    __slots__ = ("high", "key")

    def __init__(self, n: int, position: int, key: tuple[int, ...]) -> None:
        super().__init__(n, position)
        self.high = _wide.kept_pair(position >> 2 + 64)
        self.key = amp.uint4(*key)

    @amp.func
    def group(self, number: Any, carry: Any) -> Any:
        """The words of one counter."""
        high, _ = _wide.plus_carry(self.high, carry)
        return threefry4x32(amp.uint4(number.x, number.y, high.x, high.y), self.key)


class Threefry4x32(CounterBased):
    """Threefry with four words in twenty rounds: a counter and a key of 128 bits.

    ``seed``, ``key`` and ``counter`` are those of Philox4x32.
    """

    key_words = 4
    counter_words = 4
    words_per_counter = 4

    def words(self, n: int, position: int) -> Words:
        return _ThreefryWords(n, position, self.key)
