"""Integers of 64 bits as pairs of words, low word first, for devices without 64-bit arithmetic."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import vkamp as amp


def halves(number: int) -> tuple[int, int]:
    """The low and the high word of a number, modulo 2^64."""
    return number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF


@lru_cache(maxsize=64)
def kept_pair(number: int) -> Any:
    """A number as a pair of words that all callers share; for numbers that rarely change."""
    return amp.uint2(*halves(number))


@amp.func
def plus(a: Any, b: Any) -> Any:
    """``a + b`` modulo 2^64."""
    low, carry = amp.add_carry(a.x, b.x)
    return amp.uint2(low, a.y + b.y + carry)


@amp.func
def plus_carry(a: Any, carry: Any) -> Any:
    """``a`` plus 0 or 1 modulo 2^64, and what it carries."""
    low, carry = amp.add_carry(a.x, carry)
    high, carry = amp.add_carry(a.y, carry)
    return amp.uint2(low, high), carry


@amp.func
def times(a: Any, b: Any) -> Any:
    """``a * b`` modulo 2^64."""
    low, high = amp.mul_extended(a.x, b.x)
    return amp.uint2(low, high + a.x * b.y + a.y * b.x)


@amp.func
def product(a: Any, b: Any) -> Any:
    """The low and the high 64 bits of ``a * b``."""
    w0, h00 = amp.mul_extended(a.x, b.x)
    l01, h01 = amp.mul_extended(a.x, b.y)
    l10, h10 = amp.mul_extended(a.y, b.x)
    l11, h11 = amp.mul_extended(a.y, b.y)
    w1, c1 = amp.add_carry(h00, l01)
    w1, c2 = amp.add_carry(w1, l10)
    w2, c3 = amp.add_carry(l11, h01)
    w2, c4 = amp.add_carry(w2, h10)
    w2, c5 = amp.add_carry(w2, c1 + c2)
    return amp.uint2(w0, w1), amp.uint2(w2, h11 + c3 + c4 + c5)


@amp.func
def below(a: Any, b: Any) -> Any:
    """``a < b`` of unsigned numbers."""
    return a.y < b.y or (a.y == b.y and a.x < b.x)
