"""Transforms of an even number of real numbers, as transforms of half as many complex ones.

The even elements are the real parts, and the odd ones the imaginary parts. The transform of the real numbers consists
of sums and differences of the numbers ``k`` and ``n / 2 - k`` (W. H. Press et al., *Numerical Recipes*, 3rd edition,
2007, section 12.3).
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.fft.bluestein import run_lines
from vkamp.fft.butterflies import PRIMES_IN_TILES, times_i, unmixed
from vkamp.fft.ends import UnscaledLines, direction
from vkamp.fft.lengths import Divisor, Lines, radices_of, roots, table
from vkamp.fft.tiles import run_tiles, takes_half


class RealPairs:
    """Loads pairs of elements of real lines as complex numbers; zeros from element ``given`` of a line on."""

    __slots__ = ("given", "inner", "kind", "line", "values", "width")

    def __init__(self, values: lazy.Lazy, kind: Any, width: int, given: int, inner: int) -> None:
        self.values, self.kind, self.width, self.given = values, kind, width, given
        self.inner, self.line = inner, direction(inner)

    @amp.func
    def part(self, o, k, i):
        """An element of a line."""
        z = self.values.value(o * self.width + min(k, self.given - 1) * self.inner + i)
        return z.real if k < self.given else 0

    @amp.func
    def load(self, o, p):
        """Two elements."""
        k = self.line.number(p)
        i = p - k * self.inner
        return self.kind(self.part(o, 2 * k, i), self.part(o, 2 * k + 1, i))


class Unpaired:
    """Stores results of real numbers: the real parts are the even elements of a line, the imaginary parts the odd
    ones.
    """

    __slots__ = ("inner", "line", "out", "scale", "width")

    def __init__(self, out: Any, width: int, inner: int, scale: Any) -> None:
        self.out, self.width, self.inner, self.line, self.scale = out, width, inner, direction(inner), scale

    @amp.func
    def store(self, o, p, z):
        """Stores two elements."""
        at = o * self.width + p + self.line.number(p) * self.inner
        self.out[at] = z.real * self.scale
        self.out[at + self.inner] = z.imag * self.scale


class Mixed:
    """Loads complex numbers whose transform consists of the real one's elements in pairs, given the first half of
    Hermitian lines.

    ``given``: how many numbers of each line the input has; the others are zeros. ``m``: half of the length.
    """

    __slots__ = ("factors", "given", "inner", "kind", "line", "m", "sign", "values", "width")

    def __init__(
        self, values: lazy.Lazy, kind: Any, width: int, given: int, m: int, inner: int, sign: Any, factors: Any
    ) -> None:
        self.values, self.kind, self.width, self.given, self.m = values, kind, width, given, m
        self.inner, self.line, self.sign, self.factors = inner, direction(inner), sign, factors

    @amp.func
    def number(self, o, k, i):
        """The conjugate of a number of the first half; for the first and the last number, its real part."""
        z = self.values.value(o * self.width + min(k, self.given - 1) * self.inner + i)
        has_imag = k > 0 and k < min(self.m, self.given)
        return self.kind(z.real if k < self.given else 0, z.imag * self.sign if has_imag else 0)

    @amp.func
    def load(self, o, p):
        """An element."""
        k = self.line.number(p)
        i = p - k * self.inner
        a, b = self.number(o, k, i), self.number(o, self.m - k, i).conjugate()
        return a + b + times_i((a - b) * self.factors[k])


def half_factors(n: int, dtype: np.dtype[Any]) -> Any:
    """The factors ``exp(-2j * pi * k / n)`` for the numbers up to ``n / 2``."""
    return table(("half", n, dtype), lambda: roots(n, np.arange(n // 2 + 1), dtype))


@amp.kernel
def _unmix(idx, source, target, factors, line, by_step, step, m, inner, width):
    """Computes the numbers ``k`` and ``m - k`` of each line, for one ``k`` up to ``m / 2`` and one position across
    the lines.
    """
    t = amp.uint32(idx[0])
    plane = by_step.quotient(t)
    p = amp.int32(t - plane * step)
    k = line.number(p)
    i = p - k * inner
    o = amp.int32(plane)
    z = source[o * width + p]
    mirrored = source[o * width + (m - k) * inner + i] if k > 0 else z
    x, y = unmixed(z, mirrored, factors[k])
    target.store(o, p, x)
    if 2 * k != m:
        target.store(o, (m - k) * inner + i, y)


def as_pairs(values: Any) -> Any:
    """Real numbers with one index as complex ones; ``None`` if that is not possible."""
    kind = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}.get(values.dtype)
    if kind is None or values.extent[0] % 2:
        return None
    try:
        return values.reinterpret_as(kind)
    except (amp.AmpError, TypeError):
        return None


def run_half(view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any]) -> None:
    """Stores the first half of the transforms of real lines, multiplied by two.

    ``lines``: the lines of pairs that ``load`` has.
    """
    factors = half_factors(2 * lines.n, dtype)
    if (
        _choose.form_of(view) == "tiles"
        and radices_of(lines.n, primes=PRIMES_IN_TILES) is not None
        and takes_half(view, lines, dtype)
    ):
        run_tiles(view, load, store, lines, dtype, halves=factors)
        return
    plane = lines.n * lines.inner
    between = amp.array(amp.extent(lines.outer * plane), dtype, accelerator_view=view)
    one = dtype.type(1).real
    run_lines(view, load, UnscaledLines(between, plane, one, one), lines, dtype)
    step = (lines.n // 2 + 1) * lines.inner
    amp.parallel_for_each(
        view, amp.extent(lines.outer * step), _unmix, between, store, factors, direction(lines.inner), Divisor(step),
        np.uint32(step), lines.n, lines.inner, plane,
    )  # fmt: skip
