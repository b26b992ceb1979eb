"""Discrete Fourier transforms of 2 to 13 numbers in registers: the butterflies of the passes.

Radix 4 and 8 are those of J. W. Cooley and J. W. Tukey, *An Algorithm for the Machine Calculation of Complex Fourier
Series*, 1965; odd radices add the numbers ``r`` and ``radix - r`` first, which halves the products.  All transform
forward, ``exp(-2j * pi * j * k / radix)``; an inverse transform is a forward one of conjugates.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Callable

import vkamp as amp

#: The radices of passes.
RADICES = (8, 4, 2, 3, 5, 7, 11, 13)

_HALF = math.sqrt(0.5)


def _turns(function: Callable[[float], float], radix: int) -> tuple[tuple[float, ...], ...]:
    """``function(2 * pi * k * j / radix)`` for k and j from 1 to ``radix // 2``."""
    numbers = range(1, radix // 2 + 1)
    return tuple([tuple([function(2 * math.pi * (k * j % radix) / radix) for j in numbers]) for k in numbers])


COSINES = {radix: _turns(math.cos, radix) for radix in RADICES if radix % 2}
SINES = {radix: _turns(math.sin, radix) for radix in RADICES if radix % 2}


@amp.func
def _times_minus_i(z):
    return type(z)(z.imag, -z.real)


@amp.func
def _two(a, b):
    return a + b, a - b


@amp.func
def _four(a, b, c, d):
    e, f = _two(a, c)
    g, h = _two(b, d)
    h = _times_minus_i(h)
    return e + g, f + h, e - g, f - h


@amp.func
def _eight(v):
    a, b, c, d = _four(v[0], v[2], v[4], v[6])
    e, f, g, h = _four(v[1], v[3], v[5], v[7])
    f = type(f)((f.real + f.imag) * _HALF, (f.imag - f.real) * _HALF)
    g = _times_minus_i(g)
    h = type(h)((h.imag - h.real) * _HALF, (-h.real - h.imag) * _HALF)
    return a + e, b + f, c + g, d + h, a - e, b - f, c - g, d - h


@amp.func
def _odd(v, *, cosines: amp.constant, sines: amp.constant):
    """Any odd number of numbers; rows ``k`` of the tables are for the results ``k + 1`` and ``-(k + 1)``."""
    half = len(cosines)
    sums = tuple(v[j + 1] + v[2 * half - j] for j in range(half))
    differences = tuple(v[j + 1] - v[2 * half - j] for j in range(half))
    first = v[0] + sum(sums)
    even = tuple(v[0] + sum(sums[j] * cosines[k][j] for j in range(half)) for k in range(half))
    odd = tuple(_times_minus_i(sum(differences[j] * sines[k][j] for j in range(half))) for k in range(half))
    upper = tuple(even[k] + odd[k] for k in range(half))
    lower = tuple(even[half - 1 - k] - odd[half - 1 - k] for k in range(half))
    return (first, *upper, *lower)


@amp.func
def butterfly(v, *, radix: amp.constant, cosines: amp.constant, sines: amp.constant):
    """The transform of a tuple of ``radix`` complex numbers, as a tuple."""
    if radix == 1:
        return v
    if radix == 2:
        return _two(v[0], v[1])
    if radix == 4:
        return _four(v[0], v[1], v[2], v[3])
    if radix == 8:
        return _eight(v)
    return _odd(v, cosines=cosines, sines=sines)
