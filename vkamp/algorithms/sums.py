"""Sums, products and extremes with numpy's types and rules."""

# These are numpy's names, Python's own among them.

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import dtype_of, is_float_of_memory, place
from vkamp.algorithms._convert import add_wide, converted, lacks, multiply_wide, sum_type, widened
from vkamp.algorithms._operators import Is, like
from vkamp.algorithms.reduce import combine, count_if, reduce, shape_of
from vkamp.algorithms.reduce_axis import Axes, AxisLines, in_lines
from vkamp.algorithms.scalars import device_scalar


def _add(source: lazy.Lazy, lines: AxisLines | None, dtype: np.dtype[Any], view: amp.accelerator_view) -> Any:
    """The sum of a source in a type."""
    return _combined(source, lines, dtype, view, functional.plus, add_wide)


def _combined(
    source: lazy.Lazy, lines: AxisLines | None, dtype: np.dtype[Any], view: amp.accelerator_view, op: Any, wide: Any
) -> Any:
    """A sum or product in a type; ``wide`` combines integers of 64 bits in two words, where the device lacks them."""
    out = amp.array(shape_of(lines), dtype, accelerator_view=view)
    row = out.reshape(-1)
    if lacks(view, dtype):
        combine(view, widened(source, view), lines, row.reinterpret_as(amp.uint2), wide)
    elif dtype == np.float16 or is_float_of_memory(dtype):
        total = amp.array(row.extent, np.float32, accelerator_view=view)
        combine(view, converted(source, total.dtype), lines, total, op)
        amp.parallel_for_each(view, row.extent, _convert, total, row)
    else:
        combine(view, converted(source, dtype), lines, row, op)
    return device_scalar(out) if lines is None else out


@amp.kernel
def _convert(idx, source, out):  # type: ignore[no-untyped-def]
    out[idx] = source[idx]


def sum(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The sum, in numpy's type: integers in 64 bits on every device, float16 computed in float32.

    A device_scalar; with an ``axis``, or several, an array, as by :func:`vkamp.algorithms.reduce`.
    """
    source = lazy.of(a)
    wanted = sum_type(dtype_of(source)) if dtype is None else np.dtype(dtype)
    row, lines = in_lines(source, axis, keepdims)
    return _add(row, lines, wanted, place(accelerator_view, source))


def min(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The smallest element, or the smallest ones along an ``axis``; NaN if one element is NaN."""
    return reduce(a, functional.min, axis=axis, keepdims=keepdims, accelerator_view=accelerator_view)


def max(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The largest element, or those along an ``axis``; NaN if there is one."""
    return reduce(a, functional.max, axis=axis, keepdims=keepdims, accelerator_view=accelerator_view)


def prod(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The product, in numpy's type: integers in 64 bits on every device, float16 computed in float32.

    A device_scalar; with an ``axis``, or several, an array, as by :func:`vkamp.algorithms.reduce`.
    """
    source = lazy.of(a)
    wanted = sum_type(dtype_of(source)) if dtype is None else np.dtype(dtype)
    row, lines = in_lines(source, axis, keepdims)
    return _combined(row, lines, wanted, place(accelerator_view, source), functional.multiplies, multiply_wide)


def count_nonzero(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """How many elements are not zero, as an int32; along an ``axis``, as :func:`vkamp.algorithms.reduce`."""
    return count_if(a, functional.truth, axis=axis, keepdims=keepdims, accelerator_view=accelerator_view)


def count(a: Any, value: Any, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """How many elements are equal to a value, as an int32 (C++: ``count``)."""
    source = lazy.of(a)
    return count_if(source, Is(like(value, source)), accelerator_view=accelerator_view)


def vdot(a: Any, b: Any, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The sum of the products of two inputs' elements, the first one's conjugated (numpy: ``vdot``).

    C++'s ``inner_product``, which conjugates nothing, is ``transform_reduce(multiplies, plus, a, b)``.
    """
    first = lazy.of(a)
    op = _conjugated if dtype_of(first).kind == "c" else functional.multiplies
    return sum(lazy.map(op, first, b), accelerator_view=accelerator_view)


@amp.func
def _conjugated(x: Any, y: Any) -> Any:
    return x.conjugate() * y
