"""The twiddle factors between two passes, ``exp(-2j * pi * r * k / (radix * before))``, as objects that kernels use."""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.fft.lengths import MOST_IN_TABLE, roots, table

#: The number of bits in the lower part of an exponent.
_LOW = 10


@amp.func
def powers(w, w4, w8, w16, *, radix: amp.constant):
    """The powers 1 to ``radix - 1`` of a number, given some of them.

    The error of a given number counts at most twice; repeated multiplication by the number itself would accumulate its
    error.
    """
    w2 = w * w
    low = (w, w, w2, w4 * w.conjugate())
    w12 = w8 * w4
    w32 = w16 * w16
    high = (w4, w4, w8, w12, w16, w16 * w4, w16 * w8, w16 * w12, w32, w32 * w4)
    return tuple(
        low[r] if r < 4 else (high[r // 4] * low[r % 4] if r % 4 > 0 else high[r // 4]) for r in range(1, radix)
    )


@amp.func
def powers_of(twiddles, k, *, radix: amp.constant):
    """The factors 1 to ``radix - 1`` for an exponent."""
    if radix < 5:
        return tuple(twiddles.factor(r, k) for r in range(1, radix))
    w4 = twiddles.factor(4, k)
    w8 = twiddles.factor(8, k) if radix > 8 else w4
    return powers(twiddles.factor(1, k), w4, w8, twiddles.factor(16, k) if radix > 16 else w8, radix=radix)


class NoTwiddles:
    """The first pass: all factors are 1."""

    __slots__ = ()

    @amp.func
    def applied(self, v, k, *, radix: amp.constant):
        """The numbers themselves."""
        return v

    @amp.func
    def applied_from(self, v, first, step, k, *, radix: amp.constant):
        """The numbers themselves."""
        return v

    @amp.func
    def turned(self, z, r, k):
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
    def factor(self, r, k):
        """A factor."""
        return self.values[r * self.before + k]

    @amp.func
    def turned(self, z, r, k):
        """Number ``r`` of a butterfly times its factor."""
        return z * self.factor(r, k)

    @amp.func
    def applied(self, v, k, *, radix: amp.constant):
        """The numbers ``r`` of a butterfly times their factors."""
        w = powers_of(self, k, radix=radix)
        return tuple(v[r] * w[r - 1] if r > 0 else v[r] for r in range(radix))


class LongTwiddles:
    """Each factor as the product of two: one for the lower bits of the exponent, and one for the others."""

    __slots__ = ("values",)

    def __init__(self, n: int, dtype: np.dtype[Any]) -> None:
        def make() -> np.ndarray[Any, Any]:
            exponents = np.concatenate([np.arange(1 << _LOW), np.arange(0, n, 1 << _LOW)])
            return roots(n, exponents, dtype)

        self.values = table((n, dtype), make)

    @amp.func
    def factor(self, r, k):
        """A factor."""
        exponent = r * k
        return self.values[exponent & ((1 << _LOW) - 1)] * self.values[(exponent >> _LOW) + (1 << _LOW)]

    @amp.func
    def turned(self, z, r, k):
        """Number ``r`` of a butterfly times its factor."""
        return z * self.factor(r, k)

    @amp.func
    def applied(self, v, k, *, radix: amp.constant):
        """The numbers ``r`` of a butterfly times their factors."""
        w = powers_of(self, k, radix=radix)
        return tuple(v[r] * w[r - 1] if r > 0 else v[r] for r in range(radix))

    @amp.func
    def applied_from(self, v, first, step, k, *, radix: amp.constant):
        """The numbers ``first + r * step`` of a line times their factors."""
        w = self.factor(first, k)
        ratios = powers_of(self, step * k, radix=radix)
        return tuple(v[r] * (w * ratios[r - 1]) if r > 0 else v[r] * w for r in range(radix))


def tile_twiddles(before: int, n: int, dtype: np.dtype[Any]) -> Any:
    """The factors of a launch whose tiles transform ``n`` numbers, after launches whose lengths have the product
    ``before``.
    """
    return NoTwiddles() if before == 1 else LongTwiddles(before * n, dtype)


def twiddles(before: int, radix: int, dtype: np.dtype[Any]) -> Any:
    """The factors of a pass after passes whose radices have the product ``before``."""
    if before == 1:
        return NoTwiddles()
    if before * radix > MOST_IN_TABLE:
        return LongTwiddles(before * radix, dtype)
    return Twiddles(before, radix, dtype)
