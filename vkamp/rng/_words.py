"""Streams of random words, computed where an algorithm reads them.

A stream is an endless sequence of uint32 in groups of four. A *counter-based* generator computes a group from its
number alone, and so any element without those before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.rng import _wide


@amp.func
def component(v: Any, k: Any) -> Any:
    """Component ``k`` of a vector of four."""
    return (v.x if k == 0 else v.y) if k < 2 else (v.z if k == 2 else v.w)


#: The members of kernels' sources that depend on a position, of most streams' words and of those that replace rejected
#: ones.
MOVING = ("first:x", "first:y", "high:x", "high:y", "shift", "element:x", "element:y", "above")


def numbers_at(position: int) -> tuple[int, ...]:
    """The values of ``MOVING`` at a position."""
    group = position >> 2
    return (
        group & 0xFFFFFFFF, group >> 32 & 0xFFFFFFFF, group >> 64 & 0xFFFFFFFF, group >> 96 & 0xFFFFFFFF, position & 3,
        position & 0xFFFFFFFF, position >> 32 & 0xFFFFFFFF, position >> 64 & 0xFFFFFFFF,
    )  # fmt: skip


class Words(lazy.Lazy):
    """The words of a stream from a position on.

    ``group(number, carry)`` computes four of them. ``number`` has the lower 64 bits of the group's number, and
    ``carry`` is 1 if they are smaller than those of the first group, so that what is above them is greater by 1.
    """

    __slots__ = ("first", "shift")
    group: Any

    def __init__(self, n: int, position: int) -> None:
        super().__init__(n)
        self.first = amp.uint2(*_wide.halves(position >> 2))
        self.shift = np.uint32(position & 3)

    @amp.func
    def _at(self, k: Any) -> Any:
        """Group ``k``, counted from the first one."""
        low, carry = amp.add_carry(self.first.x, k)
        high, carry = amp.add_carry(self.first.y, carry)
        return self.group(amp.uint2(low, high), carry)

    @amp.func
    def value(self, i: Any) -> Any:
        """Word ``i``."""
        j = amp.uint32(i) + self.shift
        return component(self._at(j >> 2), j & 3)

    @amp.func
    def four(self, k: Any) -> Any:
        """The words ``4 * k`` to ``4 * k + 3``."""
        v = self._at(amp.uint32(k))
        if self.shift != 0:
            # They are the end of one group and the beginning of the next.
            w = self._at(amp.uint32(k) + 1)
            if self.shift == 1:
                v = amp.uint4(v.y, v.z, v.w, w.x)
            elif self.shift == 2:
                v = amp.uint4(v.z, v.w, w.x, w.y)
            else:
                v = amp.uint4(v.w, w.x, w.y, w.z)
        return v.x, v.y, v.z, v.w


def are_near(n: int, position: int) -> bool:
    """Whether ``n`` words begin with a group, and all numbers of their groups have the same upper word."""
    return position & 3 == 0 and (position >> 2 & 0xFFFFFFFF) + (n >> 2) < 0xFFFFFFF0


class NearWords(Words):
    """Words for which :func:`are_near` holds: a thread computes fewer instructions."""

    __slots__ = ()

    @amp.func
    def _at(self, k: Any) -> Any:
        """Group ``k``, counted from the first one."""
        return self.group(amp.uint2(self.first.x + k, self.first.y))

    @amp.func
    def value(self, i: Any) -> Any:
        """Word ``i``."""
        return component(self._at(amp.uint32(i) >> 2), amp.uint32(i) & 3)

    @amp.func
    def four(self, k: Any) -> Any:
        """The words ``4 * k`` to ``4 * k + 3``."""
        v = self._at(amp.uint32(k))
        return v.x, v.y, v.z, v.w


class Pairs(lazy.Lazy):
    """Two consecutive words for each element, as a uint2, low word first."""

    __slots__ = ("words",)
    in_words = True

    def __init__(self, n: int, words: Words) -> None:
        super().__init__(n)
        self.words = words

    @amp.func
    def value(self, i: Any) -> Any:
        """Pair ``i``."""
        j = amp.uint32(i) * 2
        return amp.uint2(self.words.value(j), self.words.value(j + 1))

    @amp.func
    def four(self, k: Any) -> Any:
        """The pairs ``4 * k`` to ``4 * k + 3``."""
        j = amp.uint32(k) * 2
        a, b, c, d = self.words.four(j)
        e, f, g, h = self.words.four(j + 1)
        return amp.uint2(a, b), amp.uint2(c, d), amp.uint2(e, f), amp.uint2(g, h)
