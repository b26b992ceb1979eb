"""Scans with the array API's names and numpy's types: ``cumulative_sum``, ``cummax``, and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import (
    computed_as,
    dtype_of,
    element,
    is_float_of_memory,
    output,
    place,
)
from vkamp.algorithms._convert import add_wide, converted, lacks, multiply_wide, sum_type_of, widened
from vkamp.algorithms._digits import in_two_words
from vkamp.algorithms._operators import identity_of
from vkamp.algorithms._results import type_of_sums
from vkamp.algorithms.reduce_axis import AxisLines, begin_of, line_of, lines_of
from vkamp.algorithms.scan import computed_in, scan_any
from vkamp.algorithms.transform import store

#: The operators of 64-bit integers in two words.
_WIDE = {functional.plus: add_wide, functional.multiplies: multiply_wide}


def cumulative_sum(
    a: Any,
    *,
    axis: int | None = None,
    include_initial: bool = False,
    dtype: Any = None,
    out: Any = None,
    deterministic: bool | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The sums up to each element, in numpy's type: integers are summed in 64 bits on every device.

    Without ``axis``, the elements form one row, and the result has one dimension. ``include_initial`` puts a 0 first.
    The sums have the type ``dtype``, or that of ``out``. ``deterministic`` is that of
    :func:`vkamp.algorithms.scan`.
    """
    kind = type_of_sums(dtype, out, sum_type_of(a))
    return _cumulative(a, functional.plus, kind, axis, include_initial, out, accelerator_view, deterministic)


def cumulative_prod(
    a: Any,
    *,
    axis: int | None = None,
    include_initial: bool = False,
    dtype: Any = None,
    out: Any = None,
    deterministic: bool | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The products up to each element, in numpy's type: of integers in 64 bits on every device.

    ``axis``, ``include_initial`` (which puts a 1 first) and ``deterministic`` are those of :func:`cumulative_sum`.
    """
    kind = type_of_sums(dtype, out, sum_type_of(a))
    return _cumulative(a, functional.multiplies, kind, axis, include_initial, out, accelerator_view, deterministic)


def cummax(
    a: Any,
    *,
    axis: int | None = None,
    include_initial: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The largest element up to each one (numpy: ``maximum.accumulate``); NaN from the first NaN on.

    ``axis`` and ``include_initial`` are those of :func:`cumulative_sum`; the type's lowest value comes first.
    """
    return _cumulative(a, functional.max, element(dtype_of(lazy.of(a))), axis, include_initial, out, accelerator_view)


def cummin(
    a: Any,
    *,
    axis: int | None = None,
    include_initial: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The smallest element up to each one (numpy: ``minimum.accumulate``), as :func:`cummax`."""
    return _cumulative(a, functional.min, element(dtype_of(lazy.of(a))), axis, include_initial, out, accelerator_view)


def _cumulative(
    a: Any,
    op: Any,
    dtype: np.dtype[Any],
    axis: int | None,
    include_initial: bool,
    out: Any,
    accelerator_view: amp.accelerator_view | None,
    deterministic: bool | None = None,
) -> Any:
    source = lazy.of(a)
    if axis is None:
        source, axis = source.flat(), 0
    lines = lines_of(source.extent, axis, True)
    view = place(accelerator_view, source, out)
    shape = list(source.extent)
    shape[axis] += include_initial
    result = output(out, tuple(shape), element(dtype), view, source, in_place=not include_initial)
    values, init = source.flat(), None
    if include_initial:
        lines = AxisLines(lines.outer, lines.n + 1, lines.inner, lines.shape)
        values = lazy.At(_Longer(lines), values, lines.outer * lines.n * lines.inner)
        init = identity_of(op, dtype)
    with computed_in(result, dtype, view) as row:
        if op in _WIDE and lacks(view, dtype):
            wide, init = widened(values, view), None if init is None else (init, 0)
            with in_two_words(row, view) as words:
                scan_any(view, wide, lines, words, _WIDE[op], inclusive=init is None, init=init)
        elif (dtype == np.float16 or is_float_of_memory(dtype)) and op in (functional.plus, functional.multiplies):
            exact = amp.array(row.extent, np.float32, accelerator_view=view)
            scan_any(
                view, converted(values, exact.dtype), lines, exact, op,
                inclusive=init is None, init=init, deterministic=deterministic,
            )  # fmt: skip
            store(view, lazy.Elements(exact), row)
        else:
            scan_any(
                view, converted(values, dtype if op in _WIDE else computed_as(dtype)), lines, row, op,
                inclusive=init is None, init=init, deterministic=deterministic,
            )  # fmt: skip
    return result


class _Longer:
    """For ``lazy.At``: lines with one more element, whose value is arbitrary."""

    __slots__ = ("inner", "n")

    def __init__(self, lines: AxisLines) -> None:
        self.n, self.inner = lines.n, lines.inner

    @amp.func
    def __call__(self, values: Any, p: Any) -> Any:
        k = min(p // self.inner % self.n, self.n - 2)
        return values.value(begin_of(line_of(p, self.n, self.inner), self.n - 1, self.inner) + k * self.inner)
