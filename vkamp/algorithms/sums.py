"""Sums, products and extremes with numpy's types and rules."""

# These are numpy's names, Python's own among them.

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import computed_type, dtype_of, place
from vkamp.algorithms._convert import TO, add_wide, sum_type, widen_signed, widen_unsigned
from vkamp.algorithms.reduce import count_if, reduce, reduce_into, transform_reduce
from vkamp.algorithms.scalars import device_scalar


def _converted(source: lazy.Lazy, dtype: np.dtype[Any]) -> lazy.Lazy:
    """A source whose elements are computed with in another type."""
    if computed_type(source) == dtype:
        return source
    if dtype not in TO:
        raise TypeError(f"no conversion to {dtype}")
    return lazy.map(TO[dtype], source)


def _add(source: lazy.Lazy, dtype: np.dtype[Any], view: amp.accelerator_view) -> device_scalar:
    """The sum of a source in a type; integers of 64 bits in two words where the device lacks them."""
    out = amp.array(amp.extent(1), dtype, accelerator_view=view)
    if dtype.kind in "iu" and dtype.itemsize == 8 and "int64" not in view.accelerator.features:
        given = computed_type(source)
        if given.itemsize == 8:
            raise amp.UnsupportedFeatureError(f"{view.accelerator.description} lacks int64")
        wide = lazy.map(widen_unsigned if given.kind == "u" else widen_signed, source)
        reduce_into(view, wide, out.reinterpret_as(amp.uint2), add_wide)
    elif dtype == np.float16:
        total = amp.array(amp.extent(1), np.float32, accelerator_view=view)
        reduce_into(view, _converted(source, total.dtype), total, functional.plus)
        amp.copy(total, out) if total.dtype == out.dtype else _store(view, total, out)
    else:
        reduce_into(view, _converted(source, dtype), out, functional.plus)
    return device_scalar(out)


@amp.kernel
def _convert(idx, source, out):  # type: ignore[no-untyped-def]
    out[idx] = source[idx]


def _store(view: amp.accelerator_view, source: Any, out: Any) -> None:
    amp.parallel_for_each(view, out.extent, _convert, source, out)


def sum(a: Any, *, dtype: Any = None, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The sum, in numpy's type: integers in 64 bits on every device, float16 computed in float32."""
    source = lazy.of(a).flat()
    wanted = sum_type(dtype_of(source)) if dtype is None else np.dtype(dtype)
    return _add(source, wanted, place(accelerator_view, source))


def min(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The smallest element; NaN if there is one."""
    return reduce(a, functional.min, accelerator_view=accelerator_view)


def max(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The largest element; NaN if there is one."""
    return reduce(a, functional.max, accelerator_view=accelerator_view)


def prod(a: Any, *, dtype: Any = None, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The product, of integers modulo 2^32 unless the device has 64 bits and ``dtype`` asks for them."""
    source = lazy.of(a).flat()
    return reduce(
        source if dtype is None else _converted(source, np.dtype(dtype)),
        functional.multiplies,
        accelerator_view=accelerator_view,
    )


def count_nonzero(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """How many elements are not zero, as an int32."""
    return count_if(a, functional.truth, accelerator_view=accelerator_view)


def count(a: Any, number: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """How many elements are equal to a number, as an int32 (C++: ``count``)."""
    return transform_reduce(_Same(number), functional.plus, a, accelerator_view=accelerator_view)


class _Same:
    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    @amp.func
    def __call__(self, x: Any) -> Any:
        return 1 if x == self.number else 0


def vdot(a: Any, b: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The sum of the products of two inputs' elements (C++: ``inner_product``)."""
    return sum(lazy.map(functional.multiplies, a, b), accelerator_view=accelerator_view)


@amp.kernel
def _divide(idx, total, n):  # type: ignore[no-untyped-def]
    total[idx] = total[idx] / n


def mean(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The arithmetic mean, in float32 (float64 of float64)."""
    source = lazy.of(a).flat()
    view = place(accelerator_view, source)
    return _mean(source, _floating(source), view)


def _floating(source: lazy.Lazy) -> np.dtype[Any]:
    return np.dtype(np.float64 if dtype_of(source) == np.float64 else np.float32)


def _mean(source: lazy.Lazy, dtype: np.dtype[Any], view: amp.accelerator_view, ddof: float = 0) -> device_scalar:
    total = amp.array(amp.extent(1), dtype, accelerator_view=view)
    reduce_into(view, _converted(source, dtype), total, functional.plus)
    amp.parallel_for_each(view, total.extent, _divide, total, dtype.type(source.extent[0] - ddof))
    return device_scalar(total)


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
    center = _mean(source, dtype, view)
    return _mean(lazy.map(_Deviation(center.view), _converted(source, dtype)), dtype, view, ddof)
