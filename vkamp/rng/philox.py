"""The Philox generators, which encrypt an element's number.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, *Parallel Random Numbers: As Easy as 1, 2, 3*, SC 2011.
:func:`philox4x32` and :func:`philox4x64` reproduce the known answers of Random123, and :class:`Philox4x64` has the
words of numpy's ``Philox``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.rng import _wide
from vkamp.rng._rounds import ROUNDS, STEPS, philox4x32, philox_round
from vkamp.rng._words import MOVING, NearWords, Words, are_near, numbers_at
from vkamp.rng.bit_generator import CounterBased


@amp.func
def philox4x64(a: Any, b: Any, c: Any, d: Any, key0: Any, key1: Any) -> Any:
    """Four random numbers of 64 bits from a counter ``(a, b, c, d)`` and a key, in ten rounds; each is a uint2."""
    first = amp.uint2(0xE14C6C93, 0xD2E7470E)
    second = amp.uint2(0x95121157, 0xCA5A8263)
    k0 = amp.uint2(key0)
    k1 = amp.uint2(key1)
    for _ in amp.static_range(ROUNDS):
        low0, high0 = _wide.product(first, a)
        low1, high1 = _wide.product(second, c)
        a, b, c, d = high1 ^ b ^ k0, low1, high0 ^ d ^ k1, low0
        k0 = _wide.plus(k0, amp.uint2(0x7F4A7C15, 0x9E3779B9))
        k1 = _wide.plus(k1, amp.uint2(0x84CAA73B, 0xBB67AE85))
    return a, b, c, d


@lru_cache(maxsize=256)
def _keys_of_rounds(key: tuple[int, ...]) -> tuple[Any, ...]:
    """The keys of all rounds, two in each vector."""
    words = [
        (word + number * step) & 0xFFFFFFFF for number in range(ROUNDS) for word, step in zip(key, STEPS, strict=True)
    ]
    return tuple([amp.uint4(*words[first : first + 4]) for first in range(0, 2 * ROUNDS, 4)])


class _PhiloxWords(Words):
    """Words of Philox4x32. For GPUs, the host computes the keys of all rounds."""

    __slots__ = ("high", "keys0", "keys2", "keys4", "keys6", "keys8")

    def __init__(self, n: int, position: int, key: tuple[int, ...]) -> None:
        super().__init__(n, position)
        self.high = _wide.kept_pair(position >> 2 + 64)
        self.keys0, self.keys2, self.keys4, self.keys6, self.keys8 = _keys_of_rounds(key)

    @amp.func
    def group(self, number: Any, carry: Any = None) -> Any:
        """The words of one counter; without ``carry``, nothing is carried."""
        high = self.high
        if carry is not None:
            high, _ = _wide.plus_carry(high, carry)
        c = amp.uint4(number.x, number.y, high.x, high.y)
        if amp.target.cpu:
            # There additions take less time than launch words.
            return philox4x32(c, self.keys0.xy)
        for keys in (self.keys0, self.keys2, self.keys4, self.keys6, self.keys8):
            c = philox_round(philox_round(c, keys.xy), keys.zw)
        return c


class _NearPhiloxWords(NearWords, _PhiloxWords):
    __slots__ = ()


class Philox4x32(CounterBased):
    """Philox with 32-bit words and ten rounds: a counter of 128 bits and a key of 64.

    The fastest generator here, and the default. ``seed``: None for one from the operating system, an integer, a
    sequence of integers, or a ``numpy.random.SeedSequence``. ``key``, an integer of 64 bits, replaces the seed.
    ``counter`` is the number before the first one that is used, as in numpy.
    """

    key_words = 2
    counter_words = 4
    words_per_counter = 4

    def words(self, n: int, position: int) -> Words:
        kind = _NearPhiloxWords if are_near(n, position) else _PhiloxWords
        return kind(n, position, self.key)


class _Words4x64(Words):
    __slots__ = ("high", "key0", "key1", "last", "top", "upper")

    def __init__(self, n: int, position: int, key: tuple[int, ...]) -> None:
        super().__init__(n, position)
        # A counter has two groups of four words.
        self.top = np.uint32(position >> 66 & 1)
        self.high, self.upper = (amp.uint2(*_wide.halves(position >> shift)) for shift in (67, 131))
        self.last = amp.uint2(*_wide.halves(position >> 195))
        self.key0, self.key1 = amp.uint2(*key[:2]), amp.uint2(*key[2:])

    @amp.func
    def group(self, number: Any, carry: Any) -> Any:
        """Half of the words of one counter."""
        counter = amp.uint2(number.x >> 1 | number.y << 31, number.y >> 1 | (self.top ^ carry) << 31)
        high, carry = _wide.plus_carry(self.high, self.top & carry)
        upper, carry = _wide.plus_carry(self.upper, carry)
        last, _ = _wide.plus_carry(self.last, carry)
        a, b, c, d = philox4x64(counter, high, upper, last, self.key0, self.key1)
        return amp.uint4(a.x, a.y, b.x, b.y) if number.x & 1 == 0 else amp.uint4(c.x, c.y, d.x, d.y)


class Philox4x64(CounterBased):
    """Philox with 64-bit words and ten rounds, bit for bit numpy's ``Philox``: a counter of 256 bits, a key of 128.

    Its words are computed in halves, so the device needs no 64-bit integers. Random floats equal numpy's, too, unless
    draws of 32 and 64 bits alternate. ``seed``, ``key`` and ``counter`` are numpy's.
    """

    key_words = 4
    counter_words = 8
    words_per_counter = 8
    word: np.dtype[Any] = np.dtype(np.uint64)
    moving = (*MOVING, "top", "upper:x", "upper:y", "last:x", "last:y")
    _aliases = ("Philox",)

    def numbers_at(self, position: int) -> tuple[int, ...]:
        numbers = dict(zip(MOVING, numbers_at(position), strict=True))
        numbers["high:x"], numbers["high:y"] = _wide.halves(position >> 67)
        return (
            *numbers.values(), position >> 66 & 1, *_wide.halves(position >> 131), *_wide.halves(position >> 195)
        )  # fmt: skip

    def words(self, n: int, position: int) -> Words:
        return _Words4x64(n, position, self.key)
