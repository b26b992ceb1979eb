"""Convolutions and correlations by transforms, with scipy's names and modes, in any number of dimensions.

The product of the transforms is computed where the inverse transform loads it.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import output, place
from vkamp.algorithms.transform import Mirrored, copy
from vkamp.fft._arguments import check_precision, complex_of, real_of, transform, with_dtype
from vkamp.fft.axes import Kind, transform_axes
from vkamp.fft.lengths import smooth_from

Mode = Literal["full", "same", "valid"]
#: The length of a block, in lengths of the short input, and at least.
_BLOCK, _SHORTEST = 4, 512


@amp.func
def _multiplied(x, y):
    return x * y


@amp.func
def _conjugate(z):
    return z.conjugate()


def _kept(mode: Mode, n: int, m: int) -> tuple[int, int]:
    """The first element of a full convolution that a mode keeps, and how many."""
    if mode == "full":
        return 0, n + m - 1
    if mode == "same":
        return (m - 1) // 2, n
    return min(n, m) - 1, max(n, m) - min(n, m) + 1


def _types(a: lazy.Lazy, b: lazy.Lazy) -> tuple[np.dtype[Any], bool]:
    """The type of the transforms, and whether both inputs are real."""
    given = [lazy.dtype_of(each) for each in (a, b)]
    kinds = {complex_of(each) for each in given}
    if len(kinds) != 1:
        raise TypeError(f"the inputs have different precision, {given[0]} and {given[1]}: convert one of them")
    return kinds.pop(), not any(each.kind == "c" for each in given)


def _checked(a: Any, b: Any, mode: Mode) -> tuple[lazy.Lazy, lazy.Lazy]:
    sources = lazy.of(a), lazy.of(b)
    if sources[0].extent.rank != sources[1].extent.rank:
        raise TypeError(f"the inputs have different ranks: {sources[0].extent!r} and {sources[1].extent!r}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode {mode!r} is not one of 'full', 'same' and 'valid'")
    signs = {int(np.sign(n - m)) for n, m in zip(sources[0].extent, sources[1].extent, strict=True)}
    if mode == "valid" and {-1, 1} <= signs:
        raise ValueError("mode 'valid' needs one input that is at least as long as the other along every axis")
    return sources


def _convolved(a: lazy.Lazy, b: lazy.Lazy, mode: Mode, out: Any, accelerator_view: Any) -> Any:
    dtype, is_real = _types(a, b)
    view = place(accelerator_view, a, b, out)
    check_precision(view, dtype)
    made = real_of(dtype) if is_real else dtype
    kept = [_kept(mode, n, m) for n, m in zip(a.extent, b.extent, strict=True)]
    result = with_dtype(output(out, tuple(n for _, n in kept), made, view, a, b), made)
    lengths = [smooth_from(n + m - 1) for n, m in zip(a.extent, b.extent, strict=True)]
    steps = list(enumerate(lengths))
    there = steps[::-1]
    spectra = [
        transform_axes(x, there, 1.0, None, view, "half" if is_real else "complex", inverse=False) for x in (a, b)
    ]
    product = lazy.map(_multiplied, *spectra)
    scale = 1 / math.prod(lengths)
    back = transform_axes(product, steps, scale, None, view, "real" if is_real else "complex", inverse=True)
    part = amp.array_view(back).section(amp.index(*[first for first, _ in kept]), result.extent)
    copy(part, out=result, accelerator_view=view)
    return result


@transform
def convolve(
    a: Any,
    b: Any,
    mode: Mode = "full",
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The convolution of two inputs of one rank, by transforms (scipy: ``signal.fftconvolve``; numpy: ``convolve``).

    ``mode``: ``"full"``, ``n + m - 1`` elements along each axis; ``"same"``, its middle with the extent of ``a``; or
    ``"valid"``, the elements without zeros from outside.  float32 of real inputs, complex64 if one is complex, and
    double precision of double precision.  TypeError for different ranks or precisions.
    """
    return _convolved(*_checked(a, b, mode), mode, out, accelerator_view)


@transform
def correlate(
    a: Any,
    b: Any,
    mode: Mode = "full",
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The correlation, ``sum of a[k + i] * conj(b[i])`` (scipy: ``signal.correlate``).

    Arguments as in :func:`convolve`.
    """
    source, other = _checked(a, b, mode)
    for axis in range(other.extent.rank):
        other = Mirrored(other, axis, other.extent[axis] - 1, -1)
    if lazy.dtype_of(other).kind == "c":
        other = lazy.map(_conjugate, other)
    return _convolved(source, other, mode, out, accelerator_view)


class _Blocks(lazy.Lazy):
    """A long input as rows of ``length`` elements, ``step`` apart; the first begins ``before`` elements before it."""

    __slots__ = ("before", "n", "step", "values", "zero")

    def __init__(self, values: lazy.Lazy, rows: int, length: int, step: int, before: int, zero: Any) -> None:
        super().__init__((rows, length))
        self.values, self.step, self.before, self.zero = values, step, before, zero
        self.n = values.extent[0]

    @amp.func
    def value(self, i):
        """An element; zero outside of the input."""
        at = i[0] * self.step + i[1] - self.before
        x = self.zero
        if at >= 0 and at < self.n:
            x = self.values.value(at)
        return x


class _TimesRow(lazy.Lazy):
    """Each row times one row."""

    __slots__ = ("row_values", "rows")

    def __init__(self, rows: Any, row: Any) -> None:
        super().__init__(rows.extent)
        self.rows, self.row_values = rows, row

    @amp.func
    def value(self, i):
        """An element."""
        return self.rows[i] * self.row_values[i[1]]


class _Joined(lazy.Lazy):
    """The last ``step`` elements of each row, one after the other, from ``first`` on."""

    __slots__ = ("first", "length", "rows", "step")

    def __init__(self, rows: Any, n: int, step: int, first: int) -> None:
        super().__init__(n)
        self.rows, self.step, self.first = rows, step, first
        self.length = rows.extent[1]

    @amp.func
    def value(self, i):
        """An element."""
        row = (i + self.first) // self.step
        return self.rows[row, i + self.first - row * self.step + self.length - self.step]


@transform
def oaconvolve(
    a: Any,
    b: Any,
    mode: Mode = "full",
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The convolution of a long input with a short one, of one dimension each (scipy: ``signal.oaconvolve``).

    It is computed in blocks of ``a``, which overlap by the length of ``b`` (T. G. Stockham, *High-Speed Convolution and
    Correlation*, 1966), so the transforms are short, and need less memory.  Arguments as in :func:`convolve`; TypeError
    for other ranks.
    """
    source, other = _checked(a, b, mode)
    if source.extent.rank != 1:
        raise TypeError(f"oaconvolve takes inputs of rank 1, not {source.extent!r}")
    n, m = source.extent[0], other.extent[0]
    length = smooth_from(max(_BLOCK * m, _SHORTEST))
    if n + m - 1 <= length:
        return _convolved(source, other, mode, out, accelerator_view)
    dtype, is_real = _types(source, other)
    view = place(accelerator_view, source, other, out)
    check_precision(view, dtype)
    made = real_of(dtype) if is_real else dtype
    first, kept = _kept(mode, n, m)
    result = with_dtype(output(out, (kept,), made, view, source, other), made)
    step = length - m + 1
    zero = np.zeros(1, lazy.computed_type(source))[0]
    blocks = _Blocks(source, -(-(first + kept) // step), length, step, m - 1, zero)
    there: Kind = "half" if is_real else "complex"
    spectra = transform_axes(blocks, [(1, length)], 1.0, None, view, there, inverse=False)
    filtered = transform_axes(other, [(0, length)], 1.0, None, view, there, inverse=False)
    product = _TimesRow(spectra, filtered)
    back = transform_axes(
        product, [(1, length)], 1 / length, None, view, "real" if is_real else "complex", inverse=True
    )  # fmt: skip
    copy(_Joined(back, kept, step, first), out=result, accelerator_view=view)
    return result
