"""How a length is transformed: its radices and its twiddle factors.

Tables are computed in double precision and rounded once, so that a transform is as exact as its type allows. The tables
used last are kept for later transforms, up to a number of bytes.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.fft.butterflies import LARGE, PRODUCTS, RADICES

#: How many bytes of tables are kept.
_MOST_BYTES = 64 << 20
#: Passes whose radix times the earlier radices is at most this have one table of twiddle factors; others multiply two.
MOST_IN_TABLE = 1 << 16

_tables: OrderedDict[Hashable, Any] = OrderedDict()
_sizes: dict[Hashable, int] = {}
_lock = threading.RLock()


class Divisor:
    """A number by which kernels divide without a division, which is slow on CPU drivers.

    T. Granlund and P. L. Montgomery, *Division by Invariant Integers using Multiplication*, 1994, for dividends below
    2^31.
    """

    __slots__ = ("factor", "shift")

    def __init__(self, divisor: int) -> None:
        bits = (divisor - 1).bit_length()
        self.factor, self.shift = np.uint32(-(-(1 << 31 + bits) // divisor)), np.uint32(bits)

    @amp.func
    def quotient(self, x):
        """``x // divisor`` of a uint32."""
        return amp.mulhi(x << 1, self.factor) >> self.shift


class Lines(NamedTuple):
    """The lines along an axis: ``outer * inner`` lines of ``n`` elements, which are ``inner`` elements apart."""

    outer: int
    n: int
    inner: int

    def half(self) -> Lines:
        """The lines of the pairs of numbers: half as long."""
        return self._replace(n=self.n // 2)


@lru_cache(maxsize=4096)
def radices_of(
    n: int, *, plain: bool = False, large: bool = False, primes: tuple[int, ...] = ()
) -> tuple[int, ...] | None:
    """The radices of as few passes as possible; ``None`` if the length has a prime factor above 13 that is not one of
    ``primes``.

    ``plain``: without radices that are products of others, whose kernels take longer to compile. ``large``: also with
    products above 16.
    """
    if n == 1:
        return (1,)
    rest = n
    for prime in (2, 3, 5, 7, 11, 13, *primes):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return None
    allowed = tuple(sorted(RADICES + LARGE * large + primes))
    return _sorted(_split(n, tuple([radix for radix in allowed if not (plain and radix in PRODUCTS)][::-1])))


def split(n: int, most: int) -> tuple[int, ...]:
    """A number with small prime factors, as a product of as few factors up to ``most`` as possible."""
    return _sorted(_split(n, tuple([factor for factor in range(most, 1, -1) if n % factor == 0])))


def _sorted(factors: tuple[int, ...] | None) -> tuple[int, ...]:
    assert factors is not None
    return tuple(sorted(factors, reverse=True))


@lru_cache(maxsize=1 << 16)
def _split(n: int, allowed: tuple[int, ...]) -> tuple[int, ...] | None:
    """The factors, as equal as possible and all of them allowed; ``None`` if there are none."""
    if n == 1:
        return ()
    best: tuple[int, ...] | None = None
    for number, factor in enumerate(allowed):
        if n % factor == 0:
            rest = _split(n // factor, allowed[number:])
            if rest is not None and (best is None or _cost((factor, *rest)) < _cost(best)):
                best = (factor, *rest)
    return best


def _cost(factors: tuple[int, ...]) -> tuple[int, int]:
    return len(factors), sum(factors)


@lru_cache(maxsize=4096)
def smooth_from(n: int) -> int:
    """The smallest number from ``n`` on of the form ``2^a * 3^b * 5^c`` with few small factors."""
    best = 1 << (n - 1).bit_length()
    for odd in (3, 5, 9, 15):
        power = max((-(-n // odd) - 1).bit_length(), 0)
        best = min(best, odd << power)
    return best


def table(key: Hashable, make: Callable[[], np.ndarray[Any, Any]]) -> Any:
    """A table as a container. It is created unless one with its key is cached."""
    with _lock:
        known = _tables.get(key)
        if known is not None:
            _tables.move_to_end(key)
            return known
    values = make()
    values.flags.writeable = False
    made = amp.array_view(values, readonly=True)
    with _lock:
        _tables[key] = made
        _sizes[key] = values.nbytes
        while sum(_sizes.values()) > _MOST_BYTES and len(_tables) > 1:
            del _sizes[_tables.popitem(last=False)[0]]
    return made


def roots(n: int, exponents: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """``exp(-2j * pi * exponents / n)``, rounded once; the exponents are from 0 to n - 1."""
    angle = exponents * (-2 * np.pi / n)
    made = np.empty(exponents.shape, dtype)
    made.real, made.imag = np.cos(angle), np.sin(angle)
    return made
