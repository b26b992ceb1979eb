"""Order statistics: ``nth_element``, ``quantile``; and partitions: ``is_partitioned``, ``partition_point``."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import place, without_elements
from vkamp.algorithms._convert import converted
from vkamp.algorithms._counted_parts import UpToCount, given
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


class _PlacesInLine:
    """The places of fractions of a line of ``n`` elements: each is the position below it, and a weight of the next."""

    __slots__ = ("below", "n", "weights")

    def __init__(self, n: int, fractions: NDArray[np.float64], dtype: np.dtype[Any]) -> None:
        places = fractions * (n - 1)
        below = np.floor(places).astype(np.int32)
        self.n, self.below, self.weights = n, lazy.of(below), lazy.of((places - below).astype(dtype))

    @amp.func
    def size(self) -> Any:
        """The number of elements."""
        return self.n

    @amp.func
    def of(self, k: Any) -> Any:
        """The place of a fraction."""
        return self.below.value(k), self.weights.value(k)


class _PlacesInCounted:
    """As :class:`_PlacesInLine`, of as many elements as a count on the device says, but at least one."""

    __slots__ = ("count", "fractions")

    def __init__(self, count: device_scalar, fractions: NDArray[Any]) -> None:
        self.count, self.fractions = count.view, lazy.of(fractions)

    @amp.func
    def size(self) -> Any:
        """The number of elements."""
        return max(self.count[0], 1)


class _PlacesInDoubles(_PlacesInCounted):
    __slots__ = ()

    @amp.func
    def of(self, k: Any) -> Any:
        """The place of a fraction."""
        place = self.fractions.value(k) * amp.float64(self.size() - 1)
        below = amp.int32(place)
        return below, place - amp.float64(below)


class _PlacesInWords(_PlacesInCounted):
    """For devices that lack float64.

    Fractions have 63 bits after the point, of which each element has a word of 32 and another one.  Weights are rounded
    to 24 bits, those of a float32, so that the place of an element has the weight 0.
    """

    __slots__ = ()

    def __init__(self, count: device_scalar, fractions: NDArray[np.float64]) -> None:
        words = np.ldexp(fractions, 63).astype(np.uint64)
        low, high = (words & 0xFFFFFFFF).astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)
        super().__init__(count, np.stack([low, high], axis=1).reshape(-1))

    @amp.func
    def of(self, k: Any) -> Any:
        """The place of a fraction."""
        last = amp.uint32(self.size() - 1)
        _, carried = amp.mul_extended(self.fractions.value(2 * k), last)
        low, high = amp.mul_extended(self.fractions.value(2 * k + 1), last)
        middle = low + carried
        rounded = middle + amp.uint32(64)
        high += (amp.uint32(1) if middle < low else amp.uint32(0)) + (amp.uint32(1) if rounded < 64 else amp.uint32(0))
        below = (high << 1) | (rounded >> 31)
        return amp.int32(below), amp.float32((rounded >> 7) & amp.uint32(0xFFFFFF)) * amp.float32(2.0**-24)


@amp.kernel
def _between(idx, ordered, places, inner, out):
    """Interpolates between neighbouring elements of a line, whose positions differ by ``inner``.

    If the last element, in the order in which NaN comes last, is NaN, the result is NaN.
    """
    n = places.size()
    first = idx[1] // inner * (n * inner) + idx[1] % inner
    i, w = places.of(idx[0])
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
    all elements is a device_scalar. Computed in float32; for float64 in float64. NaN if an element is NaN, and for a
    ``counted`` without elements.
    """
    fractions = np.atleast_1d(np.asarray(q, np.float64))
    if fractions.ndim != 1 or not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError("quantiles must be numbers from 0 to 1")
    source, count = given(a)
    view = place(accelerator_view, source, out)
    dtype = np.dtype(np.float64 if dtype_of(source) == np.float64 else np.float32)
    row, reduced = in_lines(source, axis, keepdims)
    lines = reduced or AxisLines(1, row.extent[0], 1, ())
    several = (fractions.size,) if np.ndim(q) else ()
    if fractions.size == 0:
        return without_elements(out, (*several, *lines.shape), dtype)
    with result_row(out, (*several, *lines.shape) or 1, dtype, view, source) as (result, target):
        into = target.reshape(fractions.size, lines.outer * lines.inner)
        if count is None:
            _store_quantiles(view, row, lines, fractions, into)
        else:
            _store_quantiles_of_counted(view, UpToCount(converted(row, dtype), count, np.nan), count, fractions, into)
    return result if several or reduced else device_scalar(result)


def _store_quantiles(
    view: amp.accelerator_view, row: lazy.Lazy, lines: AxisLines, fractions: NDArray[np.float64], out: Any
) -> None:
    dtype = out.dtype
    if lines.outer * lines.inner == 1:
        ordered = converted(lazy.take(row, order_of(view, row, False, None, None)), dtype)
    else:
        values = copy(converted(row, dtype), accelerator_view=view).reshape(lines.outer, lines.n, lines.inner)
        ordered = lazy.of(sort(values, axis=1, out=values, accelerator_view=view)).flat()
    amp.parallel_for_each(
        view, out.extent, _between, ordered, _PlacesInLine(lines.n, fractions, dtype), lines.inner, out
    )


def _store_quantiles_of_counted(
    view: amp.accelerator_view, row: lazy.Lazy, count: device_scalar, fractions: NDArray[np.float64], out: Any
) -> None:
    """Elements after the count are NaN, which is last in the order."""
    ordered = lazy.take(row, order_of(view, row, False, None, None))
    places = (_PlacesInDoubles if out.dtype == np.float64 else _PlacesInWords)(count, fractions)
    amp.parallel_for_each(view, out.extent, _between, ordered, places, 1, out)


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
