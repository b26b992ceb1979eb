"""Sums, products and extremes with numpy's types and rules."""

# These are numpy's names, Python's own among them.

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import computed_type, dtype_of, place
from vkamp.algorithms._convert import TO, add_wide, sum_type, widen_signed, widen_unsigned
from vkamp.algorithms._operators import Is
from vkamp.algorithms.reduce import combine, count_if, reduce, shape_of
from vkamp.algorithms.reduce_axis import Lines, lines_of
from vkamp.algorithms.scalars import device_scalar


def _converted(source: lazy.Lazy, dtype: np.dtype[Any]) -> lazy.Lazy:
    """A source whose elements are computed with in another type."""
    if computed_type(source) == dtype:
        return source
    if dtype not in TO:
        raise TypeError(f"no conversion to {dtype}")
    return lazy.map(TO[dtype], source)


def _add(source: lazy.Lazy, lines: Lines | None, dtype: np.dtype[Any], view: amp.accelerator_view) -> Any:
    """The sum of a source in a type; integers of 64 bits in two words where the device lacks them."""
    out = amp.array(shape_of(lines), dtype, accelerator_view=view)
    row = out.reshape(-1)
    if dtype.kind in "iu" and dtype.itemsize == 8 and "int64" not in view.accelerator.features:
        given = computed_type(source)
        if given.itemsize == 8:
            raise amp.UnsupportedFeatureError(f"{view.accelerator.description} lacks int64")
        wide = lazy.map(widen_unsigned if given.kind == "u" else widen_signed, source)
        combine(view, wide, lines, row.reinterpret_as(amp.uint2), add_wide)
    elif dtype == np.float16:
        total = amp.array(row.extent, np.float32, accelerator_view=view)
        combine(view, _converted(source, total.dtype), lines, total, functional.plus)
        amp.parallel_for_each(view, row.extent, _convert, total, row)
    else:
        combine(view, _converted(source, dtype), lines, row, functional.plus)
    return device_scalar(out) if lines is None else out


@amp.kernel
def _convert(idx, source, out):  # type: ignore[no-untyped-def]
    out[idx] = source[idx]


def sum(
    a: Any,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The sum, in numpy's type: integers in 64 bits on every device, float16 computed in float32.

    A device_scalar; with an ``axis`` an array, as by :func:`vkamp.algorithms.reduce`.
    """
    source = lazy.of(a)
    lines = None if axis is None else lines_of(source.extent, axis, keepdims)
    wanted = sum_type(dtype_of(source)) if dtype is None else np.dtype(dtype)
    return _add(source.flat(), lines, wanted, place(accelerator_view, source))


def min(
    a: Any,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The smallest element, or those along an ``axis``; NaN if there is one."""
    return reduce(a, functional.min, axis=axis, keepdims=keepdims, accelerator_view=accelerator_view)


def max(
    a: Any,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The largest element, or those along an ``axis``; NaN if there is one."""
    return reduce(a, functional.max, axis=axis, keepdims=keepdims, accelerator_view=accelerator_view)


def prod(
    a: Any,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The product, of integers modulo 2^32 unless the device has 64 bits and ``dtype`` asks for them."""
    source = lazy.of(a)
    source = source if dtype is None else _converted(source, np.dtype(dtype))
    return reduce(source, functional.multiplies, axis=axis, keepdims=keepdims, accelerator_view=accelerator_view)


def count_nonzero(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """How many elements are not zero, as an int32."""
    return count_if(a, functional.truth, accelerator_view=accelerator_view)


def count(a: Any, number: Any, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """How many elements are equal to a number, as an int32 (C++: ``count``)."""
    return count_if(a, Is(number), accelerator_view=accelerator_view)


def vdot(a: Any, b: Any, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The sum of the products of two inputs' elements (C++: ``inner_product``)."""
    return sum(lazy.map(functional.multiplies, a, b), accelerator_view=accelerator_view)


@amp.kernel
def _divide(idx, total, n):  # type: ignore[no-untyped-def]
    total[idx] = total[idx] / n


def mean(
    a: Any,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The arithmetic mean, in float32 (float64 of float64), also along an ``axis``."""
    source = lazy.of(a)
    lines = None if axis is None else lines_of(source.extent, axis, keepdims)
    return _mean(source.flat(), lines, _floating(source), place(accelerator_view, source))


def _floating(source: lazy.Lazy) -> np.dtype[Any]:
    return np.dtype(np.float64 if dtype_of(source) == np.float64 else np.float32)


def _mean(
    source: lazy.Lazy, lines: Lines | None, dtype: np.dtype[Any], view: amp.accelerator_view, ddof: float = 0
) -> Any:
    total = amp.array(shape_of(lines), dtype, accelerator_view=view)
    row = total.reshape(-1)
    combine(view, _converted(source, dtype), lines, row, functional.plus)
    n = source.extent[0] if lines is None else lines.n
    amp.parallel_for_each(view, row.extent, _divide, row, dtype.type(n - ddof))
    return device_scalar(total) if lines is None else total


class _Deviation:
    """The square of the distance to a mean that is on the device."""

    __slots__ = ("mean",)

    def __init__(self, mean: Any) -> None:
        self.mean = mean

    @amp.func
    def __call__(self, x: Any) -> Any:
        return (x - self.mean[0]) * (x - self.mean[0])


def var(a: Any, *, ddof: float = 0, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The variance, in two passes, in float32 (float64 of float64)."""
    source = lazy.of(a).flat()
    view = place(accelerator_view, source)
    dtype = _floating(source)
    center = _mean(source, None, dtype, view)
    found: device_scalar = _mean(lazy.map(_Deviation(center.view), _converted(source, dtype)), None, dtype, view, ddof)
    return found
