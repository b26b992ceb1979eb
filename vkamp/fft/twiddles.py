"""The factors between two passes, ``exp(-2j * pi * r * k / (radix * before))``, as objects that kernels use."""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.fft.lengths import MOST_IN_TABLE, roots, table

#: Bits of the lower part of an exponent.
_LOW = 10


class NoTwiddles:
    """Of the first pass: all factors are 1."""

    __slots__ = ()

    @amp.func
    def times(self, z, r, k):
        """The number itself."""
        return z


class Twiddles:
    """A table of ``before`` factors for each ``r``."""

    __slots__ = ("before", "values")

    def __init__(self, before: int, radix: int, dtype: np.dtype[Any]) -> None:
        def make() -> np.ndarray[Any, Any]:
            exponents = np.arange(radix)[:, None] * np.arange(before)
            return roots(before * radix, exponents.ravel(), dtype)

        self.before, self.values = before, table((before, radix, dtype), make)

    @amp.func
    def times(self, z, r, k):
        """The number times a factor."""
        return z * self.values[r * self.before + k]


class LongTwiddles:
    """Each factor as the product of two: of the lower bits of the exponent, and of the others."""

    __slots__ = ("values",)

    def __init__(self, n: int, dtype: np.dtype[Any]) -> None:
        def make() -> np.ndarray[Any, Any]:
            exponents = np.concatenate([np.arange(1 << _LOW), np.arange(0, n, 1 << _LOW)])
            return roots(n, exponents, dtype)

        self.values = table((n, dtype), make)

    @amp.func
    def times(self, z, r, k):
        """The number times a factor."""
        exponent = r * k
        return z * (self.values[exponent & ((1 << _LOW) - 1)] * self.values[(exponent >> _LOW) + (1 << _LOW)])


def twiddles(before: int, radix: int, dtype: np.dtype[Any]) -> Any:
    """The factors of a pass after passes whose radices' product is ``before``."""
    if before == 1:
        return NoTwiddles()
    if before * radix > MOST_IN_TABLE:
        return LongTwiddles(before * radix, dtype)
    return Twiddles(before, radix, dtype)
