"""Differences of neighbours: ``adjacent_difference`` (C++), ``diff`` (numpy)."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import dtype_of, element, in_a_row, output, place, without_elements
from vkamp.algorithms._counted_parts import count_by, given
from vkamp.algorithms.counted import counted
from vkamp.algorithms.reduce_axis import begin_of, line_of, lines_of
from vkamp.algorithms.transform import store


class _WithPrevious:
    """For ``lazy.At``: the operator applied to an element and the one before it on its line; the first element is
    unchanged.
    """

    __slots__ = ("inner", "n", "op")

    def __init__(self, n: int, inner: int, op: Any) -> None:
        self.n, self.inner, self.op = n, inner, op

    @amp.func
    def __call__(self, values: Any, p: Any) -> Any:
        x = values.value(p)
        return self.op(x, values.value(p - self.inner)) if p // self.inner % self.n > 0 else x


class _Difference:
    """For ``lazy.At``: ``op`` of an element and the one before it, ``n`` times on each line."""

    __slots__ = ("inner", "n", "op")

    def __init__(self, n: int, inner: int, op: Any) -> None:
        self.n, self.inner, self.op = n, inner, op

    @amp.func
    def __call__(self, values: Any, p: Any) -> Any:
        first = begin_of(line_of(p, self.n, self.inner), self.n + 1, self.inner)
        at = first + p // self.inner % self.n * self.inner
        return self.op(values.value(at + self.inner), values.value(at))


def _computed(
    source: lazy.Lazy, inputs: lazy.Lazy, dtype: np.dtype[Any], shape: Any, out: Any, view: amp.accelerator_view
) -> Any:
    result = output(out, shape, dtype, view, inputs)
    with in_a_row(result, view) as row:
        store(view, source, row)
    return result


def adjacent_difference(
    a: Any,
    op: Any = functional.minus,
    *,
    axis: int = -1,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """``op(a[i], a[i - 1])`` along an axis; the first element is unchanged (C++: ``adjacent_difference``).

    Not in place.
    """
    source = lazy.of(a)
    lines = lines_of(source.extent, axis, True)
    view = place(accelerator_view, source, out)
    change = lazy.At(_WithPrevious(lines.n, lines.inner, op), source.flat())
    return _computed(change, source, dtype_of(change), source.extent, out, view)


def diff(
    a: Any, n: int = 1, *, axis: int = -1, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """``a[i + 1] - a[i]`` along an axis, ``n`` times, in the elements' type; the result has ``n`` elements fewer
    (numpy: ``diff``). Of an array of bool, whether neighbours differ.

    There are none if the axis has up to ``n`` elements; ValueError if ``n`` is less than 1. The differences of a
    ``counted`` are ``counted``.
    """
    source, count = given(a)
    length = lines_of(source.extent, axis, True).n
    if n < 1:
        raise ValueError(f"differences are computed once or several times, not {n} times")
    if n >= length and count is None:
        shape = list(source.extent)
        shape[axis] = 0
        return without_elements(out, shape, dtype_of(source))
    view = place(accelerator_view, source, out)
    op = functional.not_equal_to if lazy.has_conditions(a) else functional.minus
    if count is not None:
        return counted(
            _differences(source, min(n, length - 1), axis, op, out, view),
            count_by(lambda found: max(found - n, 0), count, view),
        )
    return _differences(source, n, axis, op, out, view)


def _differences(source: lazy.Lazy, n: int, axis: int, op: Any, out: Any, view: amp.accelerator_view) -> Any:
    """The ``n``-th differences; without any, an array of one element, which is undefined."""
    dtype, result = element(dtype_of(source)), None
    for step in range(n):
        lines = lines_of(source.extent, axis, True)
        shape = list(source.extent)
        shape[axis] -= 1
        size = source.extent.size() // lines.n * (lines.n - 1)
        change = lazy.At(_Difference(lines.n - 1, lines.inner, op), source.flat(), int(size))
        result = _computed(change, source, dtype, tuple(shape), out if step == n - 1 else None, view)
        source = lazy.of(result)
    return output(out, 1, dtype, view, source) if result is None else result
