"""Sums, products and extremes with numpy's types and rules."""

# These are numpy's names, Python's own among them.

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import dtype_of, is_float_of_memory, place
from vkamp.algorithms._convert import add_wide, converted, lacks, multiply_wide, sum_type_of, widened
from vkamp.algorithms._digits import in_two_words
from vkamp.algorithms._operators import Is, like, refuse_order
from vkamp.algorithms._results import result_row, type_of_sums
from vkamp.algorithms.reduce import combine, count_if, reduced, shape_of
from vkamp.algorithms.reduce_axis import Axes, in_lines
from vkamp.algorithms.scalars import device_scalar


def _combined(
    a: Any, op: Any, wide: Any, axis: Axes, keepdims: bool, dtype: Any, out: Any, accelerator_view: Any
) -> Any:
    """A sum or product; ``wide`` combines integers of 64 bits in two words, where the device lacks them."""
    given = lazy.of(a)
    dtype = type_of_sums(dtype, out, sum_type_of(a))
    source, lines = in_lines(given, axis, keepdims)
    view = place(accelerator_view, given, out)
    with result_row(out, shape_of(lines), dtype, view, source) as (result, row):
        if lacks(view, dtype):
            with in_two_words(row, view) as total:
                combine(view, widened(source, view), lines, total, wide)
        elif dtype == np.float16 or is_float_of_memory(dtype):
            total = amp.array(row.extent, np.float32, accelerator_view=view)
            combine(view, converted(source, total.dtype), lines, total, op)
            amp.parallel_for_each(view, row.extent, _convert, total, row)
        else:
            combine(view, converted(source, dtype), lines, row, op)
    return device_scalar(result) if lines is None else result


def _extreme(a: Any, op: Any, axis: Axes, keepdims: bool, out: Any, accelerator_view: Any) -> Any:
    dtype = dtype_of(lazy.of(a))
    refuse_order(op, dtype)
    return reduced(a, op, None, axis, keepdims, out, accelerator_view, dtype)


@amp.kernel
def _convert(idx, source, out):  # type: ignore[no-untyped-def]
    out[idx] = source[idx]


def sum(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The sum, in numpy's type: integers in 64 bits on every device, float16 computed in float32.

    A device_scalar; with an ``axis``, or several, an array, as by :func:`vkamp.algorithms.reduce`. Computed in the type
    ``dtype``, or that of ``out``.
    """
    return _combined(a, functional.plus, add_wide, axis, keepdims, dtype, out, accelerator_view)


def min(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The smallest element, or the smallest ones along an ``axis``; NaN if one element is NaN."""
    return _extreme(a, functional.min, axis, keepdims, out, accelerator_view)


def max(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The largest element, or those along an ``axis``; NaN if there is one."""
    return _extreme(a, functional.max, axis, keepdims, out, accelerator_view)


def prod(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The product, in numpy's type: integers in 64 bits on every device, float16 computed in float32.

    A device_scalar; with an ``axis``, or several, an array, as by :func:`vkamp.algorithms.reduce`. Computed in the type
    ``dtype``, or that of ``out``.
    """
    return _combined(a, functional.multiplies, multiply_wide, axis, keepdims, dtype, out, accelerator_view)


def count_nonzero(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """How many elements are not zero, as an int32; along an ``axis``, as :func:`vkamp.algorithms.reduce`."""
    return count_if(a, functional.truth, axis=axis, keepdims=keepdims, out=out, accelerator_view=accelerator_view)


def count(a: Any, value: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """How many elements are equal to a value, as an int32 (C++: ``count``)."""
    source = lazy.of(a)
    return count_if(source, Is(like(value, source)), out=out, accelerator_view=accelerator_view)


def vdot(a: Any, b: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The sum of the products of two inputs' elements, the first one's conjugated (numpy: ``vdot``).

    C++'s ``inner_product``, which conjugates nothing, is ``transform_reduce(multiplies, plus, a, b)``.
    """
    first = lazy.of(a)
    op = _conjugated if dtype_of(first).kind == "c" else functional.multiplies
    return sum(lazy.map(op, first, b), out=out, accelerator_view=accelerator_view)


@amp.func
def _conjugated(x: Any, y: Any) -> Any:
    return x.conjugate() * y
