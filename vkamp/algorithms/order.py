"""Order statistics: ``nth_element``, ``quantile``; and partitions: ``is_partitioned``, ``partition_point``."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import place
from vkamp.algorithms._convert import converted
from vkamp.algorithms._operators import NOWHERE, PairPositions
from vkamp.algorithms._results import result_row
from vkamp.algorithms.lazy import dtype_of
from vkamp.algorithms.reduce_axis import Axes, AxisLines, in_lines
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.search import none_of
from vkamp.algorithms.sort import order_of, sort, taken
from vkamp.algorithms.transform import copy


def nth_element(
    a: Any, k: int, *, less: Any = None, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """The element that would be at position ``k`` if all were sorted (C++: ``nth_element``).

    Negative positions count from the end. Raises ValueError if there is no such position. NaN is after all numbers.
    """
    source = lazy.of(a).flat()
    n = source.extent[0]
    if not -n <= k < n:
        raise ValueError(f"position {k} is outside of {n} elements")
    view = place(accelerator_view, source, out)
    order = amp.array_view(order_of(view, source, False, less, None))[k % n : k % n + 1]
    return device_scalar(taken(view, source, order, out))


@amp.kernel
def _between(idx, ordered, below, weights, n, inner, out):
    """Interpolates between two neighbours of a line of ``n`` elements that are ``inner`` apart.

    If the last element, in the order in which NaN comes last, is NaN, the result is NaN.
    """
    first = idx[1] // inner * (n * inner) + idx[1] % inner
    i = below.value(idx[0])
    w = weights.value(idx[0])
    x = ordered.value(first + i * inner)
    y = ordered.value(first + min(i + 1, n - 1) * inner)
    end = ordered.value(first + (n - 1) * inner)
    # An infinite element of weight 0 does not count.
    out[idx] = end if end != end else x if w == 0 or x == y else x + (y - x) * w


def quantile(
    a: Any,
    q: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The elements below which the fractions ``q`` of all elements are, or of those along an ``axis``, with linear
    interpolation (numpy: ``quantile``).

    ``q`` is a number from 0 to 1, or several; the results of several are along a new first axis. The result of one for
    all elements is a device_scalar. Computed in float32; for float64 in float64. NaN if an element is NaN.
    """
    fractions = np.atleast_1d(np.asarray(q, np.float64))
    if fractions.ndim != 1 or not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError("quantiles must be numbers from 0 to 1")
    source = lazy.of(a)
    view = place(accelerator_view, source, out)
    dtype = np.dtype(np.float64 if dtype_of(source) == np.float64 else np.float32)
    row, given = in_lines(source, axis, keepdims)
    lines = given or AxisLines(1, row.extent[0], 1, ())
    several = (fractions.size,) if np.ndim(q) else ()
    with result_row(out, (*several, *lines.shape) or 1, dtype, view, source) as (result, target):
        _store_quantiles(view, row, lines, fractions, target.reshape(fractions.size, lines.outer * lines.inner))
    return result if several or given else device_scalar(result)


def _store_quantiles(
    view: amp.accelerator_view, row: lazy.Lazy, lines: AxisLines, fractions: NDArray[np.float64], out: Any
) -> None:
    dtype = out.dtype
    if lines.outer * lines.inner == 1:
        ordered = converted(lazy.take(row, order_of(view, row, False, None, None)), dtype)
    else:
        values = copy(converted(row, dtype), accelerator_view=view).reshape(lines.outer, lines.n, lines.inner)
        ordered = lazy.of(sort(values, axis=1, out=values, accelerator_view=view)).flat()
    places = fractions * (lines.n - 1)
    below = np.floor(places).astype(np.int32)
    weights = (places - below).astype(dtype)
    amp.parallel_for_each(
        view, out.extent, _between, ordered, lazy.of(below), lazy.of(weights), lines.n, lines.inner, out
    )


class _Begins:
    """Whether the second of two neighbours meets a condition that the first one does not meet."""

    __slots__ = ("pred",)

    def __init__(self, pred: Any) -> None:
        self.pred = pred

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        return self.pred(b) and not self.pred(a)


def is_partitioned(
    a: Any, pred: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """Whether all elements that meet a condition are before all others (C++: ``is_partitioned``)."""
    source = lazy.of(a).flat()
    return none_of(lazy.At(PairPositions(_Begins(pred)), source), _is_place, out=out, accelerator_view=accelerator_view)


@amp.func
def _is_place(at: Any) -> Any:
    return at != NOWHERE


@amp.kernel
def _search(idx, source, out, n, pred):
    first = 0
    last = n
    while first < last:
        middle = first + (last - first) // 2
        if pred(source.value(middle)):
            first = middle + 1
        else:
            last = middle
    out[idx] = first


def partition_point(
    a: Any, pred: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """How many elements of a partitioned input meet its condition, by a binary search (C++: ``partition_point``)."""
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    with result_row(out, 1, np.dtype(np.int32), view, source) as (found, row):
        amp.parallel_for_each(view, row.extent, _search, source, row, source.extent[0], pred)
    return device_scalar(found)
