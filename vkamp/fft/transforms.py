"""Transforms along one axis, with numpy's names, arguments and normalizations."""

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
)
from vkamp.fft.bluestein import run_convolution
from vkamp.fft.ends import Given, Hermitian, Kept, RealParts
from vkamp.fft.plan import Lines, radices_of
from vkamp.fft.stockham import run_passes


def run_lines(view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any]) -> None:
    """Transforms each line of ``load`` forward into ``store``."""
    radices = radices_of(lines.n)
    if radices is None:
        run_convolution(view, load, store, lines, dtype)
    else:
        run_passes(view, load, store, lines, radices, dtype)


def lines_of(shape: tuple[int, ...], axis: int, n: int) -> Lines:
    """The lines of an array along an axis, with ``n`` elements."""
    return Lines(math.prod(shape[:axis]), n, math.prod(shape[axis + 1 :]))


def _run(a: Any, n: int | None, axis: int, norm: str | None, out: Any, accelerator_view: Any, *, inverse: bool) -> Any:
    source, dtype = input_of(a)
    shape = tuple(source.extent)
    axis = axis_of(len(shape), axis)
    n = shape[axis] if n is None else length_of(n)
    scale = scale_of(norm, n, inverse=inverse)
    lines = lines_of(shape, axis, n)
    view = place(accelerator_view, source, out)
    check_precision(view, dtype)
    shape_out = (*shape[:axis], n, *shape[axis + 1 :])
    result = with_dtype(output(out, shape_out, dtype, view, source, in_place=True), dtype)
    real = real_of(dtype).type
    sign = real(-1 if inverse else 1)
    load = Given(source.flat(), dtype.type, shape[axis] * lines.inner, sign)
    with in_a_row(result, view) as row:
        run_lines(view, load, Kept(row, n * lines.inner, real(scale), sign), lines, dtype)
    return result


@transform
def fft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The discrete Fourier transform along an axis (numpy: ``fft.fft``): complex64, or complex128 of doubles.

    ``n``: the length; the input is cropped, or continued by zeros.  ``norm``: ``"backward"`` (or None), ``"ortho"`` or
    ``"forward"``.  ``out``: a target of the result's extent and type, which may be ``a`` itself.
    """
    return _run(a, n, axis, norm, out, accelerator_view, inverse=False)


@transform
def ifft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The inverse of :func:`fft` (numpy: ``fft.ifft``)."""
    return _run(a, n, axis, norm, out, accelerator_view, inverse=True)


def _half(a: Any, n: int | None, axis: int, norm: str | None, out: Any, accelerator_view: Any, *, inverse: bool) -> Any:
    """The first half of the transform of real numbers; ``inverse``: of the inverse transform."""
    source, dtype = input_of(a, real=True)
    shape = tuple(source.extent)
    axis = axis_of(len(shape), axis)
    n = shape[axis] if n is None else length_of(n)
    scale = scale_of(norm, n, inverse=inverse)
    lines = lines_of(shape, axis, n)
    view = place(accelerator_view, source, out)
    check_precision(view, dtype)
    half = n // 2 + 1
    shape_out = (*shape[:axis], half, *shape[axis + 1 :])
    result = with_dtype(output(out, shape_out, dtype, view, source), dtype)
    real = real_of(dtype).type
    load = Given(source.flat(), dtype.type, shape[axis] * lines.inner, real(1))
    with in_a_row(result, view) as row:
        store = Kept(row, half * lines.inner, real(scale), real(-1 if inverse else 1))
        run_lines(view, load, store, lines, dtype)
    return result


def _whole(
    a: Any, n: int | None, axis: int, norm: str | None, out: Any, accelerator_view: Any, *, inverse: bool
) -> Any:
    """The real transform of Hermitian numbers, given their first half."""
    source, dtype = input_of(a)
    shape = tuple(source.extent)
    axis = axis_of(len(shape), axis)
    n = length_of(2 * (shape[axis] - 1) if n is None else n)
    scale = scale_of(norm, n, inverse=inverse)
    lines = lines_of(shape, axis, n)
    view = place(accelerator_view, source, out)
    check_precision(view, dtype)
    shape_out = (*shape[:axis], n, *shape[axis + 1 :])
    real = real_of(dtype)
    result = with_dtype(output(out, shape_out, real, view, source), real)
    load = Hermitian(
        source.flat(), dtype.type, shape[axis] * lines.inner, n, lines.inner, real.type(-1 if inverse else 1)
    )  # fmt: skip
    with in_a_row(result, view) as row:
        run_lines(view, load, RealParts(row, n * lines.inner, real.type(scale)), lines, dtype)
    return result


@transform
def rfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The first ``n // 2 + 1`` numbers of the transform of real numbers (numpy: ``fft.rfft``).

    The others are their conjugates.  Arguments as those of :func:`fft`; TypeError for complex numbers.
    """
    return _half(a, n, axis, norm, out, accelerator_view, inverse=False)


@transform
def irfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The inverse of :func:`rfft` (numpy: ``fft.irfft``).

    The result has ``n`` real numbers, by default ``2 * (m - 1)`` for ``m`` given.  The imaginary parts of the first
    number, and of the middle one of an even ``n``, are not used.
    """
    return _whole(a, n, axis, norm, out, accelerator_view, inverse=True)


@transform
def hfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The real transform of a Hermitian signal, given its first half (numpy: ``fft.hfft``).

    ``n`` as in :func:`irfft`.
    """
    return _whole(a, n, axis, norm, out, accelerator_view, inverse=False)


@transform
def ihfft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The inverse of :func:`hfft` (numpy: ``fft.ihfft``): the first half of the inverse transform of real numbers."""
    return _half(a, n, axis, norm, out, accelerator_view, inverse=True)
