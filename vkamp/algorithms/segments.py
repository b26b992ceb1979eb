"""Scans, reductions and sorts of segments: ``segmented_scan``, ``segmented_reduce``, ``segmented_sort``.

A segmented scan is a scan of pairs of an element and a flag. The flag is 1 for the first element of a segment, where
the operator restarts (G. Blelloch, *Prefix Sums and Their Applications*, 1990). So the length of a segment does not
matter: no thread has to handle a whole one. Segments of one width are the lines of a matrix.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import element, output, place, value
from vkamp.algorithms._operators import Flag, closed, identity_of
from vkamp.algorithms.by_key_forms import continues, scan_runs_into
from vkamp.algorithms.lazy import dtype_of, pair_of
from vkamp.algorithms.reduce_axis import AxisLines, reduce_lines_into
from vkamp.algorithms.scan import scan_any, scan_into
from vkamp.algorithms.scan_axis_tiles import Restarting
from vkamp.algorithms.select import selected
from vkamp.algorithms.sort import order_of, sorted_lines, taken
from vkamp.algorithms.sort_lines import by_segments
from vkamp.algorithms.transform import store


class Segments(NamedTuple):
    """The segments of a row of elements: all of one ``width``, or given by ``heads`` (1 for each first element), or
    unknown; ``n`` is the number of elements, as an input of one element.
    """

    width: int | None
    heads: lazy.Lazy | None
    offsets: lazy.Lazy | None
    n: lazy.Lazy


@amp.kernel
def _mark(idx, offsets, heads):
    """Marks the first element of each segment that is not empty."""
    at = offsets.value(idx[0])
    if at < offsets.value(idx[0] + 1):
        heads[at] = 1


def listed(segments: Any) -> Any:
    """Segments, of which a list becomes a numpy array."""
    if not isinstance(segments, (list, tuple)) or isinstance(segments, Segments):
        return segments
    found = np.asarray(segments)
    return found.astype(np.int32) if found.dtype.kind in "iu" else found


def are_flags(segments: lazy.Lazy) -> bool:
    """Whether segments are given by flags, else by offsets; TypeError if they are neither."""
    dtype = dtype_of(segments)
    if dtype.kind not in "iub":
        raise TypeError(f"segments must be a width, flags, or offsets, not {dtype}")
    return dtype.itemsize == 1


def segments_of(view: amp.accelerator_view, segments: Any, n: int) -> Segments:
    """The segments of ``n`` elements, given as a width, as one flag for each element, or as offsets.

    Offsets begin with 0 and end with ``n``: segment ``s`` has the elements from ``offsets[s]`` to ``offsets[s + 1]``.
    """
    segments = listed(segments)
    if isinstance(segments, Segments):
        return segments
    number = lazy.constant(n, 1)
    if isinstance(segments, (int, np.integer)):
        if not 1 <= segments <= n or n % segments:
            raise ValueError(f"{n} elements cannot be divided into segments of {segments}")
        return Segments(int(segments), None, None, number)
    given = lazy.of(segments).flat()
    if are_flags(given):
        if given.extent[0] != n:
            raise amp.AmpError(f"there are {n} elements, but {given.extent[0]} flags")
        return Segments(None, lazy.map(Flag(functional.truth), given), None, number)
    if isinstance(segments, np.ndarray) and (segments.flat[0] != 0 or segments.flat[-1] != n):
        raise ValueError(
            f"segments begin with {segments.flat[0]} and end with {segments.flat[-1]}, but offsets begin with 0 and "
            f"end with the number of elements, {n}; flags have a type of one byte, such as bool"
        )
    heads = amp.array(amp.extent(n), np.int32, accelerator_view=view)
    store(view, lazy.constant(0, n), heads)
    amp.parallel_for_each(view, amp.extent(given.extent[0] - 1), _mark, given, heads)
    return Segments(None, lazy.Elements(heads), given, number)


def scan_pairs(view: amp.accelerator_view, source: lazy.Lazy, heads: lazy.Lazy, op: Any, dtype: Any) -> Any:
    """The scan of each segment, in an array of pairs of a result and a flag."""
    pair = pair_of(dtype, np.dtype(np.int32))
    pairs = amp.array(source.extent, pair, accelerator_view=view)
    scan_into(view, lazy.zip(source, heads), pairs, Restarting(op, pair), inclusive=True)
    return pairs


def _scanned(view: amp.accelerator_view, source: lazy.Lazy, heads: lazy.Lazy, op: Any, dtype: Any) -> lazy.Lazy:
    """The inclusive scan of each segment."""
    upto = amp.array(source.extent, dtype, accelerator_view=view)
    if scan_runs_into(view, heads, source, upto, continues, op, dtype, inclusive=True, init=None):
        return lazy.Elements(upto)
    return lazy.map(first_of, lazy.Elements(scan_pairs(view, source, heads, op, dtype)))


@amp.func
def first_of(pair: Any) -> Any:
    """A pair's element."""
    return pair.first


class Exclusive:
    """For ``lazy.At``: the total before an element in its segment; ``init`` for the first one."""

    __slots__ = ("heads", "init", "op")

    def __init__(self, heads: lazy.Lazy, init: Any, op: Any) -> None:
        self.heads, self.init, self.op = heads, init, op

    @amp.func
    def __call__(self, pairs: Any, i: Any) -> Any:
        before = self.init.copy()
        if i > 0 and self.heads.value(i) == 0:
            before = self.op(before, pairs.value(i - 1).first)
        return before


class After:
    """An operator applied to a fixed number and an element."""

    __slots__ = ("init", "op")

    def __init__(self, init: Any, op: Any) -> None:
        self.init, self.op = init, op

    @amp.func
    def __call__(self, x: Any) -> Any:
        return self.op(self.init, x)


def segmented_scan(
    a: Any,
    segments: Any,
    op: Any = functional.plus,
    *,
    inclusive: bool = True,
    init: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The scan of each segment (direct3d::scan: ``segmented_scan_exclusive``), as :func:`vkamp.algorithms.scan`.

    ``segments``: a width; or flags of one byte, not zero for a segment's first element; or offsets, 32-bit integers
    that begin with 0 and end with the number of elements. The result has one dimension. Segments of a ``counted`` end
    at its count, so the last one of a width may be shorter, and larger offsets stand for the count.
    """
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, segments, out)
    computed, op = closed(source, op)
    n, dtype = source.extent[0], element(computed)
    parts = segments_of(view, segments, n)
    if init is None and not inclusive:
        init = identity_of(op, dtype)
    result = output(out, source.extent, dtype, view, source, in_place=True)
    if parts.width is not None:
        lines = AxisLines(n // parts.width, parts.width, 1, (n,))
        scan_any(view, source, lines, result, op, inclusive=inclusive, init=init)
        return result
    assert parts.heads is not None
    if scan_runs_into(view, parts.heads, source, result, continues, op, dtype, inclusive=inclusive, init=init):
        return result
    found = lazy.Elements(scan_pairs(view, source, parts.heads, op, dtype))
    if not inclusive:
        store(view, lazy.At(Exclusive(parts.heads, value(init, dtype), op), found), result)
    elif init is not None:
        store(view, lazy.map(After(value(init, dtype), op), lazy.map(first_of, found)), result)
    else:
        store(view, lazy.map(first_of, found), result)
    return result


class Tails:
    """For ``lazy.At`` on flags of first elements: 1 for each last element of the first ``n`` ones."""

    __slots__ = ("n",)

    def __init__(self, n: lazy.Lazy) -> None:
        self.n = n

    @amp.func
    def __call__(self, heads: Any, i: Any) -> Any:
        last = self.n.value(0) - 1
        return 1 if i == last or (i < last and heads.value(min(i + 1, last)) != 0) else 0


@amp.kernel
def _of_segments(idx, upto, offsets, out, init, op, *, has_init: amp.constant):
    begin = offsets.value(idx[0])
    end = offsets.value(idx[0] + 1)
    total = init.copy()
    if end > begin:
        total = upto.value(end - 1).copy()
        if has_init:
            total = op(init, total)
    out[idx] = total


def segmented_reduce(
    a: Any,
    segments: Any,
    op: Any = functional.plus,
    init: Any = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """``op`` of the elements of each segment, in their order (CUB: ``DeviceSegmentedReduce``).

    ``segments`` is that of :func:`segmented_scan`; if it consists of flags, the result is ``counted``. ``init`` comes
    first, and is the result of an empty segment. Without it, the result of an empty segment is the operator's identity,
    or 0 if it has none.
    """
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, segments, out)
    computed, op = closed(source, op)
    n, dtype = source.extent[0], element(computed)
    parts = segments_of(view, segments, n)
    if parts.width is not None:
        result = output(out, n // parts.width, dtype, view, source)
        lines = AxisLines(n // parts.width, parts.width, 1, (n // parts.width,))
        reduce_lines_into(view, source, lines, result, op)
        if init is not None:
            store(view, lazy.map(After(value(init, dtype), op), result), result)
        return result
    if parts.offsets is None:
        assert parts.heads is not None
        results = _scanned(view, source, parts.heads, op, dtype)
        if init is not None:
            results = lazy.map(After(value(init, dtype), op), results)
        return selected(lazy.At(Tails(parts.n), parts.heads), results, out, view)
    result = output(out, parts.offsets.extent[0] - 1, dtype, view, source, parts.offsets)
    assert parts.heads is not None
    upto = _scanned(view, source, parts.heads, op, dtype)
    start = value(_empty(op, dtype) if init is None else init, dtype)
    amp.parallel_for_each(
        view, result.extent, _of_segments, upto, parts.offsets, result, start, op, has_init=init is not None
    )  # fmt: skip
    return result


def _empty(op: Any, dtype: np.dtype[Any]) -> Any:
    try:
        return identity_of(op, dtype)
    except TypeError:
        return None


def segmented_sort(
    a: Any,
    segments: Any,
    *,
    descending: bool = False,
    less: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """Sorts the elements of each segment; stable (CUB: ``DeviceSegmentedSort``).

    It sorts all elements, and then sorts them stably by their segments. ``segments`` is that of :func:`segmented_scan`.
    """
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, segments, out)
    parts = segments_of(view, segments, source.extent[0])
    if parts.width is not None:
        return sorted_lines(view, source, parts.width, out, descending, less)
    assert parts.heads is not None
    return taken(view, source, in_segments(view, parts.heads, order_of(view, source, descending, less, None)), out)


def in_segments(view: amp.accelerator_view, heads: lazy.Lazy, order: Any) -> Any:
    """The positions ``order``, sorted stably by their segments."""
    n = heads.extent[0]
    upto = amp.array(amp.extent(n), np.int32, accelerator_view=view)
    scan_into(view, heads, upto, functional.plus, inclusive=True)
    return by_segments(view, order, lazy.Elements(upto), n + 1)
