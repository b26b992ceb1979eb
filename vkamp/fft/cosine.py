"""Discrete cosine and sine transforms of types 2 and 3, with scipy's names, arguments and normalizations.

J. Makhoul, *A Fast Cosine Transform in One and Two Dimensions*, 1980. Type 2 is a Fourier transform of the same length,
times factors. Its input consists of the even elements, followed by the odd ones in reverse order. Type 3 reverses these
steps. A sine transform is a cosine transform of elements with alternating signs, in reverse order. The first loads and
the last stores handle positions, signs and factors.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms._arguments import in_a_row, output, place
from vkamp.fft._arguments import (
    axis_of,
    check_precision,
    input_of,
    length_of,
    real_of,
    scale_of,
    transform,
    with_dtype,
    with_parameters_of,
)
from vkamp.fft.bluestein import run_lines
from vkamp.fft.ends import Given, RealParts, direction
from vkamp.fft.lengths import Lines, roots, table


@amp.func
def _folded(k, n):
    """The element at a position: the even elements come first, then the odd ones in reverse order."""
    return 2 * k if 2 * k < n else 2 * n - 1 - 2 * k


class _End:
    """What the classes below have in common: another end, and lines of ``n`` elements that are ``inner`` apart."""

    __slots__ = ("end", "factors", "inner", "line", "n", "sine")

    def __init__(self, end: Any, n: int, inner: int, sine: bool, factors: Any = None) -> None:
        self.end, self.n, self.inner, self.sine = end, n, inner, int(sine)
        self.line = direction(inner)
        if factors is not None:
            self.factors = factors


class Folded(_End):
    """Loads type 2's elements in their changed order; those of sine transforms have alternating signs."""

    __slots__ = ()

    @amp.func
    def load(self, o, p):
        """An element."""
        k = self.line.number(p)
        z = self.end.load(o, _folded(k, self.n) * self.inner + p - k * self.inner)
        return -z if self.sine == 1 and 2 * k >= self.n else z


class Turned(_End):
    """Stores type 2's results, the real parts of numbers times factors; those of sine transforms in reverse order."""

    __slots__ = ()

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        k = self.line.number(p)
        to = self.n - 1 - k if self.sine == 1 else k
        self.end.store(o, to * self.inner + p - k * self.inner, z * self.factors[k])


class Turning(_End):
    """Loads type 3's elements times factors; those of sine transforms in reverse order."""

    __slots__ = ()

    @amp.func
    def load(self, o, p):
        """An element."""
        k = self.line.number(p)
        at = self.n - 1 - k if self.sine == 1 else k
        return self.end.load(o, at * self.inner + p - k * self.inner) * self.factors[k]


class Unfolded(_End):
    """Stores type 3's results in their original order; those of sine transforms have alternating signs."""

    __slots__ = ()

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        k = self.line.number(p)
        to = _folded(k, self.n) * self.inner + p - k * self.inner
        self.end.store(o, to, -z if self.sine == 1 and 2 * k >= self.n else z)


def _factors(n: int, kind: int, ortho: bool, scale: float, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """``2 * exp(-1j * pi * k / (2 * n))``, times the factors of a normalization."""
    factors: np.ndarray[Any, Any] = 2 * roots(4 * n, np.arange(n), np.dtype(np.complex128))
    if kind == 3:
        factors[0] = 1
    if ortho:
        factors = factors * math.sqrt(1 / (2 * n))
        factors[0] = factors[0] * math.sqrt(0.5 if kind == 2 else 2)
    rounded: np.ndarray[Any, Any] = (factors * scale).astype(dtype)
    return rounded


def _run(
    x: Any, type: int, n: int | None, axis: int, norm: str | None, out: Any, accelerator_view: Any,
    *, sine: bool = False, inverse: bool = False,
) -> Any:  # fmt: skip
    if type not in (2, 3):
        raise ValueError(f"type must be 2 or 3, not {type}")
    source, dtype = input_of(x, real=True)
    shape = tuple(source.extent)
    axis = axis_of(len(shape), axis)
    length = length_of(shape[axis] if n is None else n)
    ortho = norm == "ortho"
    scale = 1.0 if ortho else scale_of(norm, 2 * length, inverse=inverse)
    kind = 5 - type if inverse else type
    view = place(accelerator_view, source, out)
    check_precision(view, dtype)
    real = real_of(dtype)
    result = with_dtype(
        output(out, (*shape[:axis], length, *shape[axis + 1 :]), real, view, source, in_place=True), real
    )
    key = ("turns", length, kind, ortho, scale, dtype)
    factors = table(key, lambda: _factors(length, kind, ortho, scale, dtype))
    lines = Lines(math.prod(shape[:axis]), length, math.prod(shape[axis + 1 :]))
    inner = lines.inner
    given = Given(source.flat(), dtype.type, shape[axis] * inner, real.type(1))
    with in_a_row(result, view) as row:
        kept = RealParts(row, length * inner, real.type(1))
        load: Any = Folded(given, length, inner, sine)
        store: Any = Turned(kept, length, inner, sine, factors)
        if kind == 3:
            load = Turning(given, length, inner, sine, factors)
            store = Unfolded(kept, length, inner, sine)
        run_lines(view, load, store, lines, dtype)
    return result


@transform
def dct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The discrete cosine transform of real numbers, of type 2 or 3, along an axis (scipy: ``fft.dct``).

    ``n``, ``norm`` and ``out`` are those of :func:`vkamp.fft.fft`. ``"ortho"`` makes the transform orthogonal;
    ``"forward"`` divides by ``2 * n``. ValueError for other types.
    """
    return _run(x, type, n, axis, norm, out, accelerator_view)


@transform
@with_parameters_of(dct)
def idct(**given: Any) -> Any:
    """The inverse of :func:`dct` of the same type (scipy: ``fft.idct``)."""
    return _run(**given, inverse=True)


@transform
@with_parameters_of(dct)
def dst(**given: Any) -> Any:
    """The discrete sine transform of type 2 or 3 along an axis (scipy: ``fft.dst``); arguments as in :func:`dct`."""
    return _run(**given, sine=True)


@transform
@with_parameters_of(dct)
def idst(**given: Any) -> Any:
    """The inverse of :func:`dst` of the same type (scipy: ``fft.idst``)."""
    return _run(**given, sine=True, inverse=True)
