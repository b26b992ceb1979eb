"""Different elements: ``unique`` and ``unique_consecutive``; runs of equal elements: ``run_length_encode`` and
``run_length_decode``.

The first elements of runs of equal ones are selected, with their positions, where the runs begin. These give the runs'
lengths, and a binary search the number of an element's run.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import in_words, output, place, without_elements
from vkamp.algorithms._counted_parts import UpToCount
from vkamp.algorithms._operators import Heads
from vkamp.algorithms.counted import counted
from vkamp.algorithms.lazy import dtype_of
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.scan import scan_into
from vkamp.algorithms.search import upper_bound
from vkamp.algorithms.select import selected
from vkamp.algorithms.sets import same
from vkamp.algorithms.sort import order_of, taken
from vkamp.algorithms.sums import sum
from vkamp.algorithms.transform import store

#: The number of threads that compute the lengths of runs.
_LENGTHS = 1 << 20


class _Runs(NamedTuple):
    """The first element of each run, and where the runs begin, for as many of these as ``first`` has elements."""

    first: counted
    begins: Any


def _runs(view: amp.accelerator_view, source: lazy.Lazy, eq: Any, out: Any) -> _Runs:
    begins = amp.array(source.extent, np.int32, accelerator_view=view)
    return _Runs(selected(Heads(source, eq), source, out, view, begins=begins), begins)


@amp.kernel
def _lengths(idx, begins, count, lengths, n, step):
    """The lengths of runs, given where they begin; a thread computes every ``step``-th one."""
    for i in range(idx[0], count[0], step):
        lengths[i] = (begins[i + 1] if i + 1 < count[0] else n) - begins[i]


@amp.kernel
def _lengths_in_pieces(t_idx, begins, count, lengths, n, pieces):
    """The lengths of runs, given where they begin; each invocation computes those of one piece."""
    each = (count[0] + pieces - 1) // pieces
    first = t_idx.global_[0] * each
    if first < count[0]:
        begin = begins[first]
        for i in range(first, min(first + each, count[0]) - 1):
            end = begins[i + 1]
            lengths[i] = end - begin
            begin = end
        last = min(first + each, count[0]) - 1
        lengths[last] = (begins[last + 1] if last + 1 < count[0] else n) - begin


@amp.kernel
def _take(idx, begins, count, found, order, step):
    """What ``order`` has where the runs begin; a thread has every ``step``-th run."""
    for i in range(idx[0], count[0], step):
        found[i] = order[begins[i]]


def _of_runs(view: amp.accelerator_view, runs: _Runs, kernel: Any, argument: Any) -> counted:
    """What a kernel computes for each run."""
    found = amp.array(runs.begins.extent, np.int32, accelerator_view=view)
    step = min(found.extent[0], _LENGTHS)
    amp.parallel_for_each(view, amp.extent(step), kernel, runs.begins, runs.first.count.view, found, argument, step)
    return counted(found, runs.first.count)


def _lengths_of(view: amp.accelerator_view, runs: _Runs) -> counted:
    n = runs.begins.extent[0]
    if _choose.form_of(view) == "tiles":
        return _of_runs(view, runs, _lengths, n)
    lengths = amp.array(runs.begins.extent, np.int32, accelerator_view=view)
    split = _choose.runs(view, n)
    domain, count = _choose.domain_of_runs(view, split), runs.first.count
    amp.parallel_for_each(view, domain, _lengths_in_pieces, runs.begins, count.view, lengths, n, split.pieces)
    return counted(lengths, count)


class _Numbers(lazy.Lazy):
    """The number of each element's run, from 0."""

    __slots__ = ("begins", "count")

    def __init__(self, runs: _Runs) -> None:
        super().__init__(runs.begins.extent)
        self.begins, self.count = lazy.Elements(runs.begins), runs.first.count.view

    @amp.func
    def value(self, i: Any) -> Any:
        """The number at a place."""
        return upper_bound(self.begins, amp.int32(i), 0, self.count[0], functional.less) - 1


@amp.func
def _before(number: Any) -> Any:
    return number - 1


def _numbers(view: amp.accelerator_view, source: lazy.Lazy, eq: Any, runs: _Runs) -> lazy.Lazy:
    """The number of each element's run, from 0: on GPUs by searches, whose kernel compiles sooner than a scan's."""
    if _choose.form_of(view) == "tiles":
        return _Numbers(runs)
    numbers = amp.array(source.extent, np.int32, accelerator_view=view)
    scan_into(view, Heads(source, eq), numbers, functional.plus, inclusive=True)
    return lazy.map(_before, numbers)


@amp.kernel
def _shorten(idx, lengths, count, total, n):
    """Corrects the length of the last run, of which elements after the ``total`` were taken for a part."""
    if count[idx] > 0:
        lengths[count[idx] - 1] -= n - total[idx]


def runs_of(
    view: amp.accelerator_view, source: lazy.Lazy, eq: Any, order: Any, out: Any, wanted: tuple[bool, bool, bool],
    total: device_scalar,
) -> Any:  # fmt: skip
    """The first elements of the runs in the first ``total`` elements. ``wanted`` says which other results to return:
    their positions, the number of each element's run, and the lengths.

    ``order``: the positions of sorted elements in the input.
    """
    heads = UpToCount(Heads(source, eq), total, 0)
    if True not in wanted:
        return selected(heads, source, out, view)
    begins = amp.array(source.extent, np.int32, accelerator_view=view)
    runs = _Runs(selected(heads, source, out, view, begins=begins), begins)
    results: list[Any] = [runs.first]
    if wanted[0]:
        results.append(_of_runs(view, runs, _take, order))
    if wanted[1]:
        numbers, inverse = _Numbers(runs), amp.array(source.extent, np.int32, accelerator_view=view)
        if order is None:
            store(view, numbers, inverse)
        else:
            amp.parallel_for_each(view, source.extent, _put, numbers, order, inverse)
        results.append(counted(inverse, total))
    if wanted[2]:
        lengths = _lengths_of(view, runs)
        amp.parallel_for_each(
            view, amp.extent(1), _shorten, lengths.values, runs.first.count.view, total.view, source.extent[0]
        )
        results.append(lengths)
    return tuple(results)


def unique_consecutive(
    a: Any,
    eq: Any = functional.equal_to,
    *,
    return_inverse: bool = False,
    return_counts: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The first element of each run of equal ones, as ``counted`` (C++: ``unique_copy``).

    With ``return_inverse``, also the number of each element's run, as int32; with ``return_counts``, also the runs'
    lengths.
    """
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    if not (return_inverse or return_counts):
        return selected(Heads(source, eq), source, out, view)
    runs = _runs(view, source, eq, out)
    results: list[Any] = [runs.first]
    if return_inverse:
        inverse = amp.array(source.extent, np.int32, accelerator_view=view)
        store(view, _numbers(view, source, eq, runs), inverse)
        results.append(inverse)
    if return_counts:
        results.append(_lengths_of(view, runs))
    return tuple(results)


def unique(
    a: Any,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The different elements, sorted, as ``counted`` (numpy: ``unique``); all NaN count as one.

    With ``return_index``, also the first position of each. With ``return_inverse``, also the number of each element in
    the result, in row-major order. With ``return_counts``, also how often each occurs. All of these are int32.
    """
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    order = order_of(view, source, False, None, None)
    ordered = lazy.Elements(taken(view, source, order, None))
    if not (return_index or return_inverse or return_counts):
        return selected(Heads(ordered, same), ordered, out, view)
    runs = _runs(view, ordered, same, out)
    results: list[Any] = [runs.first]
    if return_index:
        results.append(_of_runs(view, runs, _take, order))
    if return_inverse:
        inverse = amp.array(source.extent, np.int32, accelerator_view=view)
        amp.parallel_for_each(view, source.extent, _put, _numbers(view, ordered, same, runs), order, inverse)
        results.append(inverse)
    if return_counts:
        results.append(_lengths_of(view, runs))
    return tuple(results)


@amp.kernel
def _put(idx, values, order, out):
    out[order[idx]] = values.value(idx[0])


def run_length_encode(
    a: Any, eq: Any = functional.equal_to, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> tuple[counted, counted]:
    """The first element of each run of equal ones, and the runs' lengths, as int32.

    ``out`` is a target for the elements, as that of :func:`select`.
    """
    values, lengths = unique_consecutive(a, eq, return_counts=True, out=out, accelerator_view=accelerator_view)
    return values, lengths


class _Decoded(lazy.Lazy):
    """The value of the run that each position belongs to; ``ends``: where each run ends."""

    __slots__ = ("ends", "runs", "values")

    def __init__(self, values: lazy.Lazy, ends: Any, total: int) -> None:
        super().__init__(total)
        self.values, self.ends, self.runs = values, lazy.Elements(ends), ends.extent[0]

    @amp.func
    def value(self, i: Any) -> Any:
        """The value at a place; after the last run the last value."""
        run = upper_bound(self.ends, amp.int32(i), 0, self.runs, functional.less)
        return self.values.value(min(run, self.runs - 1))


def run_length_decode(
    values: Any,
    lengths: Any,
    *,
    total: int | None = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """Each value, repeated as often as its length says (numpy: ``repeat``).

    Without ``total``, the sum of the lengths, and without ``out``, the call waits for this sum.
    """
    source, each = lazy.of(values).flat(), lazy.of(lengths).flat()
    if source.extent != each.extent:
        raise amp.AmpError(f"there are {source.extent!r} values, but {each.extent!r} lengths")
    if dtype_of(each).kind not in "iub":
        raise TypeError(f"lengths are integers, not {dtype_of(each)}")
    view = place(accelerator_view, source, each, out)
    if total is None and out is not None:
        total = int(lazy.of(out).extent.size())
    if total is None:
        total = int(sum(each, accelerator_view=view))
    if total == 0:
        return without_elements(out, 0, dtype_of(source))
    ends = amp.array(each.extent, np.int32, accelerator_view=view)
    scan_into(view, each, ends, functional.plus, inclusive=True)
    result = output(out, total, dtype_of(source), view, source, each)
    moved, target = in_words(source, result)
    store(view, _Decoded(moved, ends, total), target)
    return result
