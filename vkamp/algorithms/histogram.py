"""Counting: ``histogram``, ``histogram_range``, ``bincount``, ``digitize``, with numpy's results.

On CPU drivers, each run of elements counts in a separate row, up to 256 bins in a private array, and the rows are then
added. On GPUs, tiles count in
``tile_static`` memory (``histogram_tiles``). If the bins do not fit there, the elements are counted directly in the
result. Weights are sorted by bin and added in their order, so that sums have the same bits in every run. Elements are
compared with the edges exactly: edges of float64 are rounded up to the elements' type, which changes no comparison.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,call-overload,arg-type,operator"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, functional, histogram_tiles, lazy
from vkamp.algorithms._arguments import computed_type, element, output, place, without_elements
from vkamp.algorithms._counted_parts import together, up_to
from vkamp.algorithms._operators import sorts_before
from vkamp.algorithms.counted import counted
from vkamp.algorithms.lazy import computed_as, dtype_of
from vkamp.algorithms.reduce_axis import AxisLines, reduce_lines_into
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.search import lower_bound, upper_bound
from vkamp.algorithms.segments import segmented_reduce
from vkamp.algorithms.sort import order_of
from vkamp.algorithms.statistics import minmax
from vkamp.algorithms.transform import store, without_loops

#: The rows of all runs together have at most this many counters.
_IN_ROWS = 1 << 20
#: The number of an element's bin among equal bins is computed with an error below two, if there are at most this many.
_MOST_EVEN = 1 << 16
#: The most bins that a run counts in a private array.
_FEW = 256


@amp.func
def _counter(b: Any, bins: Any) -> Any:
    """The counter of a bin in a private array: the last one for elements outside of the range, so that there is no
    branch."""
    return b if b >= 0 and b < bins else _FEW


@amp.kernel
def count_runs_of_few(t_idx, bins_of, rows, n, length, bins):
    """Counts the bins of one run in a private array, and stores the counts in its row."""
    run = t_idx.global_[0]
    first = run * length
    if first < n:
        # Functions would copy the array.
        own = amp.private(_FEW + 1, amp.int32)
        own[_FEW] = 0
        for b in range(bins):
            own[b] = 0
        end = first + min(length, n - first)
        for k in range(first // 4, end // 4):
            p, q, r, s = bins_of.four(k)
            own[_counter(p, bins)] += 1
            own[_counter(q, bins)] += 1
            own[_counter(r, bins)] += 1
            own[_counter(s, bins)] += 1
        for i in range(end // 4 * 4, end):
            own[_counter(bins_of.value(i), bins)] += 1
        for b in range(bins):
            rows[run * bins + b] = own[b]


@amp.kernel
def count_runs(t_idx, bins_of, rows, n, length, bins):
    """Counts the bins of one run in its row; elements outside of the range are not counted."""
    run = t_idx.global_[0]
    first = run * length
    if first < n:
        row = run * bins
        end = first + min(length, n - first)
        for k in range(first // 4, end // 4):
            p, q, r, s = bins_of.four(k)
            _count(rows, row, p, bins)
            _count(rows, row, q, bins)
            _count(rows, row, r, bins)
            _count(rows, row, s, bins)
        for i in range(end // 4 * 4, end):
            _count(rows, row, bins_of.value(i), bins)


@amp.func
def _count(rows: Any, row: Any, b: Any, bins: Any) -> None:
    if b >= 0 and b < bins:
        rows[row + b] += 1


@amp.kernel
def count_all(idx, bins_of, counts, bins):
    """Counts the bins in the result."""
    b = bins_of.value(idx[0])
    if b >= 0 and b < bins:
        amp.atomic_fetch_add(counts[b], 1)


def count_into(view: amp.accelerator_view, bins_of: lazy.Lazy, counts: Any) -> None:
    """Counts how often each number from 0 on occurs among a source's int32 numbers."""
    n, bins = bins_of.extent[0], counts.extent[0]
    bins_of = without_loops(view, bins_of)
    split = _choose.runs(view, n)
    if _choose.form_of(view) == "runs" and split.pieces * bins <= max(_IN_ROWS, n):
        rows = amp.array(amp.extent(split.pieces * bins), np.int32, accelerator_view=view)
        domain = _choose.domain_of_runs(view, split)
        if bins <= _FEW:
            amp.parallel_for_each(view, domain, count_runs_of_few, bins_of, rows, n, split.length, bins)
        else:
            store(view, lazy.constant(0, rows.extent), rows)
            amp.parallel_for_each(view, domain, count_runs, bins_of, rows, n, split.length, bins)
        lines = AxisLines(1, split.pieces, bins, (bins,))
        reduce_lines_into(view, lazy.Elements(rows), lines, counts, functional.plus)
        return
    store(view, lazy.constant(0, bins), counts)
    if _choose.form_of(view) == "tiles" and bins <= histogram_tiles.MOST:
        histogram_tiles.add_counts(view, bins_of, counts)
    else:
        amp.parallel_for_each(view, bins_of.extent, count_all, bins_of, counts, bins)


class _Given(NamedTuple):
    """The elements in a row, their weights, if there are any, the count of a ``counted``, and where it runs."""

    source: lazy.Lazy
    weights: lazy.Lazy | None
    total: device_scalar | None
    view: amp.accelerator_view


def _given(a: Any, weights: Any, out: Any, accelerator_view: amp.accelerator_view | None) -> _Given:
    """AmpError if the elements and the weights may have different counts."""
    count = None
    if isinstance(a, counted) or isinstance(weights, counted):
        (a, weights), count = together([a, weights])
    source = lazy.of(a).flat()
    others = None if weights is None else lazy.of(weights).flat()
    return _Given(source, others, count, place(accelerator_view, source, others, out))


def _totals(given: _Given, bins_of: lazy.Lazy, bins: int, out: Any) -> Any:
    """The number of elements in each bin, as int32, or the sum of their weights, in the weights' type."""
    source, view = given.weights, given.view
    if bins == 0:
        return without_elements(out, (0,), np.dtype(np.int32) if source is None else computed_type(source))
    bins_of = up_to(bins_of, given.total, -1)
    if source is None:
        result = output(out, bins, np.dtype(np.int32), view, bins_of)
        count_into(view, bins_of, result)
        return result
    if source.extent != bins_of.extent:
        raise amp.AmpError(f"there are {bins_of.extent!r} elements, but {source.extent!r} weights")
    # The elements outside of the range come first or last.
    numbers = amp.array(bins_of.extent, np.int32, accelerator_view=view)
    store(view, bins_of, numbers)
    order = order_of(view, lazy.Elements(numbers), False, None, None)
    ordered = lazy.take(numbers, order)
    offsets = amp.array(amp.extent(bins + 1), np.int32, accelerator_view=view)
    store(view, lazy.At(_Begin(bins_of.extent[0]), ordered, bins + 1), offsets)
    result = output(out, bins, element(computed_type(source)), view, bins_of, source)
    return segmented_reduce(lazy.take(source, order), offsets, functional.plus, out=result, accelerator_view=view)


class _Begin:
    """For ``lazy.At`` on sorted numbers: the position of the first one that is not less than the index."""

    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        return lower_bound(values, amp.int32(i), 0, self.n, functional.less)


# -- bins ----------------------------------------------------------------------------------------------------------


class Edges:
    """Rising edges in the elements' type, and how many edges are below all numbers of the type.

    Rounding an edge up does not change ``e <= x``, and rounding it down does not change ``e < x``. Edges above or below
    all numbers of the type are left out.
    """

    __slots__ = ("below", "size", "values")

    def __init__(self, edges: Any, dtype: np.dtype[Any], *, up: bool) -> None:
        exact = np.atleast_1d(np.asarray(edges))
        kind = computed_as(dtype)
        self.below = 0
        if kind.kind == "f":
            with np.errstate(over="ignore"):  # Edges beyond all numbers of the type become infinite.
                rounded = exact.astype(kind)
            wrong = rounded < exact if up else rounded > exact
            next_one = np.nextafter(rounded, kind.type(np.inf if up else -np.inf))
            kept = np.where(wrong, next_one, rounded).astype(kind)
        else:
            limits = np.iinfo(kind)
            whole = np.ceil(exact) if up else np.floor(exact)
            self.below = int((whole < limits.min).sum())
            kept = whole[(whole >= limits.min) & (whole <= limits.max)].astype(kind)
        self.size = kept.size
        self.values = lazy.of(np.ascontiguousarray(kept) if kept.size else np.zeros(1, kind))


class _Bin:
    """The number of an element's bin. A bin contains its lower edge, the last bin both of its edges; -1 outside."""

    __slots__ = ("below", "bins", "edges", "last", "size")

    def __init__(self, edges: Edges, last: Any, bins: int) -> None:
        self.edges, self.size, self.below, self.last, self.bins = edges.values, edges.size, edges.below, last, bins

    @amp.func
    def __call__(self, x: Any) -> Any:
        if not (x <= self.last):
            return -1
        return min(self.below + upper_bound(self.edges, x, 0, self.size, functional.less), self.bins) - 1


class _EvenBin:
    """Like ``_Bin``, for equal bins: computes a place among the bins, and compares the element with the nearest edge
    only if that is closer than the error of the place, ``margin``, which is below one half.
    """

    __slots__ = ("below", "bins", "edges", "half", "last", "margin", "scale", "size")

    def __init__(self, edges: Edges, last: Any, bins: int, low: float, scale: float, margin: float) -> None:
        self.edges, self.size, self.below, self.last, self.bins = edges.values, edges.size, edges.below, last, bins
        # Halved, because the difference of two large numbers could be infinite.
        self.half, self.scale, self.margin = np.float32(low / 2), np.float32(2 * scale), np.float32(margin)

    @amp.func
    def __call__(self, x: Any) -> Any:
        near = (amp.float32(x) * 0.5 - self.half) * self.scale
        if not (x <= self.last and near >= -0.5):
            return -1
        found = amp.int32(near + 0.5)
        distance = near - amp.float32(found)
        is_above = distance >= 0.0
        if abs(distance) <= self.margin:
            edge = found - self.below
            is_above = edge < 0 or (edge < self.size and self.edges.value(min(max(edge, 0), self.size - 1)) <= x)
        return min(found if is_above else found - 1, self.bins - 1)


def _even_scale(edges: Any) -> tuple[float, float] | None:
    """The number of equal bins in a distance of 1, and the error of a place among the bins that is computed in float32;
    ``None`` if rounding could lead to another bin than the two at the nearest edge."""
    bins, low, high = len(edges) - 1, float(edges[0]), float(edges[-1])
    if bins > _MOST_EVEN:
        return None
    scale = bins / max(high - low, 1e-300)
    largest = max(abs(low), abs(high)) * scale
    if scale >= 1e30:
        return None
    # Edges are rounded to the type of the elements.
    rounding = np.abs((edges.astype(np.float64) - low) * scale - np.arange(bins + 1)).max()
    margin = float(rounding) + (largest + bins + 1) * 2.0**-22
    return (scale, margin) if margin < 0.5 else None


def _binned(source: lazy.Lazy, edges: Any, *, even: bool = False) -> lazy.Lazy:
    """The bin of each of a source's elements, given the edges on the host.

    ``even``: neighbouring edges have this distance.
    """
    dtype, kind = dtype_of(source), computed_type(source)
    last = Edges(edges[-1], dtype, up=False)
    if last.below:
        return lazy.constant(-1, source.extent)
    largest = np.iinfo(kind).max if last.size == 0 else last.values.values.get_ref(0)[()]  # type: ignore[attr-defined]
    given = Edges(edges, dtype, up=True), kind.type(largest), len(edges) - 1
    scale = _even_scale(edges) if even else None
    return lazy.map(_Bin(*given) if scale is None else _EvenBin(*given, float(edges[0]), *scale), source)


def histogram(
    a: Any,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    weights: Any = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[Any, Any]:
    """The number of elements in each of ``bins`` equal bins, as int32, and the edges, on the host (numpy:
    ``histogram``).

    A sequence as ``bins`` gives the edges, as for :func:`vkamp.algorithms.histogram_range`. Without ``range``, the bins
    reach from the smallest element to the largest one, and the call waits for these. With ``weights``, the result is
    the sum of the weights of each bin's elements, in the weights' type.
    """
    if np.ndim(bins):
        edges = np.asarray(bins)
        return histogram_range(a, edges, weights, out=out, accelerator_view=accelerator_view), edges
    if bins < 1:
        raise ValueError(f"{bins} bins")
    given = _given(a, weights, out, accelerator_view)
    source = given.source
    if range is None:
        least, largest = minmax(source, accelerator_view=given.view)
        # numpy computes the edges in their type.
        kind = dtype_of(source).type
        range = kind(least.item()), kind(largest.item())
    if np.shape(range) != (2,):
        raise TypeError(f"range is a tuple of two numbers, not {range!r}")
    low, high = range
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"range ({low}, {high}) of a histogram is not finite")
    if low > high:
        raise ValueError(f"range ({low}, {high}): the first number is larger than the second")
    edges = np.histogram_bin_edges(np.zeros(0, dtype_of(source)), bins, (low, high))
    return _totals(given, _binned(source, edges, even=True), bins, out), edges


def histogram_range(
    a: Any,
    edges: Any,
    weights: Any = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The number of elements between neighbouring edges, as int32 (CUB: ``HistogramRange``).

    The edges are rising numbers on the host. The last bin contains both of its edges (numpy: ``histogram`` with a
    sequence of edges).
    """
    limits = np.asarray(edges)
    if limits.ndim != 1 or limits.size < 2 or not (limits[1:] >= limits[:-1]).all():
        raise ValueError("a histogram needs two or more edges, each not smaller than the one before it")
    given = _given(a, weights, out, accelerator_view)
    return _totals(given, _binned(given.source, limits), limits.size - 1, out)


def bincount(
    a: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    bins: int | None = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """How often each number from 0 on occurs, as int32, or the sum of its weights, in their type (numpy: ``bincount``).

    The result has ``bins`` elements; negative and larger numbers are not counted. Without ``bins``, the call waits for
    the largest number, and the result is as long as this number needs, but at least ``minlength``.
    """
    if isinstance(a, np.ndarray) and a.dtype.kind in "iu" and a.dtype.itemsize == 8:
        # numpy's type for integers; the device may lack it.
        a = np.clip(a, max(_LEAST, np.iinfo(a.dtype).min), _LARGEST).astype(np.int32)
    given = _given(a, weights, out, accelerator_view)
    source, dtype = given.source, dtype_of(given.source)
    if dtype.kind not in "iub":
        raise TypeError(f"bincount takes integers, not {dtype}")
    if dtype.itemsize == 8:
        source = lazy.map(_int32_of_signed if dtype.kind == "i" else _int32_of_unsigned, source)
    if bins is None:
        least, largest = minmax(source, accelerator_view=given.view)
        if least.item() < 0:
            raise ValueError(
                f"bincount takes no negative numbers, such as {least.item()}: give bins= to leave them out"
            )
        bins = max(largest.item() + 1, minlength)
    return _totals(given, lazy.map(_int32, histogram_tiles.in_words(source)), bins, out)


#: The bounds of int32, which no number of a bin reaches.
_LEAST, _LARGEST = -(1 << 31), (1 << 31) - 1


@amp.func
def _int32(x: Any) -> Any:
    return amp.int32(x)


@amp.func
def _int32_of_signed(x: Any) -> Any:
    return amp.int32(min(max(x, _LEAST), _LARGEST))


@amp.func
def _int32_of_unsigned(x: Any) -> Any:
    return amp.int32(min(x, _LARGEST))


class _Among:
    """For ``lazy.At``: the number of edges not above an element (with ``right``: below it).

    For falling edges, the number of the others.
    """

    __slots__ = ("below", "edges", "falling", "right", "size", "total")

    def __init__(self, edges: Edges, total: int, right: bool, falling: bool) -> None:
        self.edges, self.size, self.below = edges.values, edges.size, edges.below
        self.total, self.right, self.falling = total, right, falling

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        x = values.value(i).copy()
        at = upper_bound(self.edges, x, 0, self.size, sorts_before)
        if self.right:
            at = lower_bound(self.edges, x, 0, self.size, sorts_before)
        return self.total - self.below - at if self.falling else self.below + at


def digitize(
    a: Any, edges: Any, right: bool = False, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The number of the bin of each element, as int32 in its extent: 0 below the first edge (numpy: ``digitize``).

    ``edges`` are rising or falling numbers on the host. A bin contains its lower edge; with ``right``, its upper one.
    """
    limits = np.asarray(edges)
    if limits.ndim != 1 or not limits.size:
        raise ValueError("digitize takes one or more edges in one dimension")
    falling = bool((limits[1:] <= limits[:-1]).all() and limits[0] != limits[-1])
    rising = limits[::-1] if falling else limits
    if not (rising[1:] >= rising[:-1]).all():
        raise ValueError("the edges neither rise nor fall")
    source = lazy.of(a)
    view = place(accelerator_view, source, out)
    result = output(out, source.extent, np.dtype(np.int32), view, source)
    among = _Among(Edges(rising, dtype_of(source), up=not right), rising.size, right, falling)
    store(view, lazy.At(among, source), result)
    return result
