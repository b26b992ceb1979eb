"""PCG32: a linear congruential generator of 64 bits whose states are permuted to words.

M. E. O'Neill, *PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
Generation*, 2014. A thread can begin at any position, because any number of steps is one multiplication and one
addition (F. B. Brown, *Random Number Generation with Arbitrary Strides*, 1994).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.rng import _wide
from vkamp.rng._words import MOVING, Words, numbers_at
from vkamp.rng.bit_generator import BitGenerator

_FACTOR = 6364136223846793005
_MODULUS = 1 << 64
_DIGITS = 4


@amp.func
def _word(state: Any) -> Any:
    """The word of a state: XSH RR."""
    shifted = amp.uint2(state.x >> 18 | state.y << 14, state.y >> 18)
    mixed = amp.uint2(shifted.x ^ state.x, shifted.y ^ state.y)
    x = mixed.x >> 27 | mixed.y << 5
    by = state.y >> 27
    return x >> by | x << ((amp.uint32(32) - by) & 31)


@lru_cache(maxsize=64)
def _steps(increment: int) -> Any:
    """Row ``256 * d + v``: the factor and the term of ``4 * v * 256**d`` steps, as a uint4."""
    rows = np.empty((_DIGITS * 256, 4), np.uint32)
    factor, term = _power(_FACTOR, increment, 4)
    for digit in range(_DIGITS):
        f, t = 1, 0
        for v in range(256):
            rows[256 * digit + v] = (*_wide.halves(f), *_wide.halves(t))
            f, t = f * factor % _MODULUS, (t * factor + term) % _MODULUS
        factor, term = f, t
    return amp.array_view(rows.ravel(), readonly=True).reinterpret_as(amp.uint4)


def _power(factor: int, term: int, steps: int) -> tuple[int, int]:
    """The factor and the term of a number of steps."""
    f, t = 1, 0
    while steps:
        if steps & 1:
            f, t = f * factor % _MODULUS, (t * factor + term) % _MODULUS
        factor, term = factor * factor % _MODULUS, (term * factor + term) % _MODULUS
        steps >>= 1
    return f, t


def _state_at(state: int, increment: int, position: int) -> tuple[int, int]:
    """The state at the first of the four words that have a position, as a pair."""
    f, t = _power(_FACTOR, increment, position >> 2 << 2)
    return _wide.halves(state * f + t)


class _WordsPCG32(Words):
    __slots__ = ("increment", "state", "steps")

    def __init__(self, n: int, position: int, state: int, increment: int) -> None:
        super().__init__(n, position)
        self.state = amp.uint2(*_state_at(state, increment, position))
        self.increment = amp.uint2(*_wide.halves(increment))
        self.steps = _steps(increment)

    @amp.func
    def _at(self, k: Any) -> Any:
        """Group ``k``, counted from the first one."""
        state = self.state
        for digit in amp.static_range(_DIGITS):
            row = self.steps[256 * digit + amp.int32(k >> 8 * digit & 255)]
            state = _wide.plus(_wide.times(state, row.xy), row.zw)
        factor = amp.uint2(0x4C957F2D, 0x5851F42D)
        a = _word(state)
        state = _wide.plus(_wide.times(state, factor), self.increment)
        b = _word(state)
        state = _wide.plus(_wide.times(state, factor), self.increment)
        c = _word(state)
        state = _wide.plus(_wide.times(state, factor), self.increment)
        return amp.uint4(a, b, c, _word(state))


class PCG32(BitGenerator):
    """PCG32 (``pcg32_random_r``): a state of 64 bits, and one of 2^63 streams.

    ``seed`` is that of the other generators. Alternatively, ``key=initial_state | sequence << 64`` has the two
    arguments of ``pcg32_srandom_r``.
    """

    key_words = 4
    moving = (*MOVING, "state:x", "state:y")

    def numbers_at(self, position: int) -> tuple[int, ...]:
        return (*numbers_at(position), *_state_at(*self._first(), position))

    def words(self, n: int, position: int) -> Words:
        return _WordsPCG32(n, position, *self._first())

    def _first(self) -> tuple[int, int]:
        """The first state, and the increment."""
        low, high, sequence_low, sequence_high = self.key
        increment = ((sequence_low | sequence_high << 32) << 1 | 1) % _MODULUS
        return ((increment + (low | high << 32)) * _FACTOR + increment) % _MODULUS, increment

    def take(self, words: int, align: int = 1) -> int:
        return super().take(words, align) % _MODULUS

    def advance(self, delta: int) -> PCG32:
        """Moves the position by ``delta`` words; returns the generator."""
        with self.lock:
            self._position = (self._position + delta) % _MODULUS
        return self

    def jumped(self, jumps: int = 1) -> PCG32:
        """A copy that is ``jumps * 2**32`` words ahead."""
        return self._copy_at((self._position + (jumps << 32)) % _MODULUS)

    @property
    def state(self) -> dict[str, Any]:
        """The key and the position in words."""
        return {"bit_generator": "PCG32", "state": {"key": np.array(self.key, np.uint32), "position": self._position}}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        if state.get("bit_generator") != "PCG32":
            raise ValueError(f"the state belongs to {state.get('bit_generator')!r}, not to 'PCG32'")
        with self.lock:
            self.key = tuple(int(word) for word in state["state"]["key"])
            self._position = int(state["state"]["position"])
