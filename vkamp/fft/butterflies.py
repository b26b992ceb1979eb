"""Discrete Fourier transforms of 2 to 32 numbers in registers: the butterflies of the passes.

Radices that are products follow J. W. Cooley and J. W. Tukey, *An Algorithm for the Machine Calculation of Complex
Fourier Series*, 1965. Odd radices first add the numbers ``r`` and ``radix - r``, which halves the number of
multiplications. All butterflies transform forward, by ``exp(-2j * pi * j * k / radix)``; an inverse transform is a
forward one of conjugates.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import vkamp as amp

#: The radices of passes, and the two factors of those that are products.
RADICES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
PRODUCTS = {6: (2, 3), 9: (3, 3), 10: (2, 5), 12: (4, 3), 14: (2, 7), 15: (3, 5), 16: (4, 4)} | {
    20: (4, 5), 24: (3, 8), 25: (5, 5), 32: (4, 8),
}  # fmt: skip
#: Radices that need more registers than the threads of tiles have.
LARGE = (20, 24, 25, 32)

#: Radices with so many operations that not all devices have them in registers.
PRIMES = (17, 19, 23, 29, 31)
#: The prime radices above 13 of tiles.
PRIMES_IN_TILES = (*PRIMES, 37)
#: Prime radices of passes over memory whose numbers are not in registers.
LARGER_PRIMES = (37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137, 139)

_HALF = math.sqrt(0.5)

_Table = tuple[tuple[float, ...], ...]


def _turns(function: Callable[[float], float], radix: int, rows: Sequence[int], columns: Sequence[int]) -> _Table:
    """``function(2 * pi * k * j / radix)``."""
    return tuple([tuple([function(2 * math.pi * (k * j % radix) / radix) for j in columns]) for k in rows])


class Tables(NamedTuple):
    """The constants of a radix: its twiddle factors, its cosines and sines, and the tables of odd factors."""

    factors: tuple[int, ...]
    cosines: _Table
    sines: _Table
    parts: tuple[Any, ...]


@lru_cache(maxsize=64)
def tables_of(radix: int) -> Tables:
    """The constants of a radix."""
    if radix in PRODUCTS:
        factors = PRODUCTS[radix]
        rows, columns = range(factors[0]), range(factors[1])
        parts = tuple([tables_of(factor) for factor in factors])
        return Tables(factors, _turns(math.cos, radix, rows, columns), _turns(math.sin, radix, rows, columns), parts)
    numbers = range(1, radix // 2 + 1) if radix % 2 else ()
    return Tables(
        (), _turns(math.cos, radix, numbers, numbers), _turns(math.sin, radix, numbers, numbers), ()
    )  # fmt: skip


@amp.func
def _times_minus_i(z):
    return type(z)(z.imag, -z.real)


@amp.func
def times_i(z):
    """A number times the imaginary unit."""
    return type(z)(-z.imag, z.real)


@amp.func
def unmixed(z, mirrored, w):
    """The numbers ``k`` and ``n / 2 - k`` of a real transform, given those of the complex transform of its pairs.

    ``w``: the twiddle factor of ``k``. The results are twice as large as those of the transform.
    """
    other = mirrored.conjugate()
    even, odd = z + other, times_i(other - z) * w
    return even + odd, (even - odd).conjugate()


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
    """A butterfly of any odd radix. The rows ``k`` of the tables are for the results ``k + 1`` and ``-(k + 1)``."""
    half = len(cosines)
    sums = tuple(v[j + 1] + v[2 * half - j] for j in range(half))
    differences = tuple(v[j + 1] - v[2 * half - j] for j in range(half))
    first = sum(sums, v[0])
    # Each product is added by one instruction.
    even = tuple(sum((sums[j] * cosines[k][j] for j in range(half)), v[0]) for k in range(half))
    odd = tuple(_times_minus_i(sum(differences[j] * sines[k][j] for j in range(half))) for k in range(half))
    upper = tuple(even[k] + odd[k] for k in range(half))
    lower = tuple(even[half - 1 - k] - odd[half - 1 - k] for k in range(half))
    return (first, *upper, *lower)


@amp.func
def _plain(v, *, radix: amp.constant, tables: amp.constant):
    """A radix that is not a product."""
    if radix == 1:
        return v
    if radix == 2:
        return _two(v[0], v[1])
    if radix == 4:
        return _four(v[0], v[1], v[2], v[3])
    if radix == 8:
        return _eight(v)
    return _odd(v, cosines=tables.cosines, sines=tables.sines)


@amp.func
def _turned(z, cosine, sine):
    """A number times ``cosine - 1j * sine``."""
    return type(z)(z.real * cosine + z.imag * sine, z.imag * cosine - z.real * sine)


@amp.func
def _product(v, *, a: amp.constant, b: amp.constant, tables: amp.constant):
    """A product of two radices: transforms of every ``b``-th number, multiplications by twiddle factors, and
    transforms across the results.
    """
    first = tuple(
        _plain(tuple(v[j + b * r] for r in range(a)), radix=a, tables=tables.parts[0]) for j in range(b)
    )  # fmt: skip
    second = tuple(
        _plain(
            tuple(
                first[j][k]
                if j * k == 0
                else _times_minus_i(first[j][k])
                if 4 * j * k == a * b
                else _turned(first[j][k], tables.cosines[k][j], tables.sines[k][j])
                for j in range(b)
            ),
            radix=b,
            tables=tables.parts[1],
        )
        for k in range(a)
    )
    return tuple(second[k % a][k // a] for k in range(a * b))


@amp.func
def butterfly(v, *, radix: amp.constant, tables: amp.constant):
    """The transform of a tuple of ``radix`` complex numbers, as a tuple."""
    if len(tables.factors) > 0:
        return _product(v, a=tables.factors[0], b=tables.factors[1], tables=tables)
    return _plain(v, radix=radix, tables=tables)
