"""Different elements: ``unique`` and ``unique_consecutive``; runs of equal elements: ``run_length_encode`` and
``run_length_decode``.

The flags of the first elements of runs of equal ones are selected; a scan of the flags numbers the runs.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import in_words, output, place
from vkamp.algorithms._operators import Heads
from vkamp.algorithms.counted import counted
from vkamp.algorithms.lazy import dtype_of
from vkamp.algorithms.scan import scan_into
from vkamp.algorithms.search import upper_bound
from vkamp.algorithms.select import selected
from vkamp.algorithms.sets import same
from vkamp.algorithms.sort import order_of, taken
from vkamp.algorithms.sums import sum
from vkamp.algorithms.transform import store

#: The number of threads that compute the lengths of runs.
_LENGTHS = 1 << 20


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


def _runs(view: amp.accelerator_view, source: lazy.Lazy, eq: Any, out: Any) -> list[counted]:
    """The first element of each run, and the runs' lengths."""
    begins, lengths = (amp.array(source.extent, np.int32, accelerator_view=view) for _ in range(2))
    found = selected(Heads(source, eq), source, out, view, begins=begins)
    n = source.extent[0]
    if _choose.form_of(view) == "runs":
        split = _choose.runs(view, n)
        domain = _choose.domain_of_runs(view, split)
        amp.parallel_for_each(
            view, domain, _lengths_in_pieces, begins, found.count.view, lengths, n, split.pieces
        )  # fmt: skip
    else:
        step = min(n, _LENGTHS)
        amp.parallel_for_each(view, amp.extent(step), _lengths, begins, found.count.view, lengths, n, step)
    return [found, counted(lengths, found.count)]


@amp.func
def _before(number: Any) -> Any:
    return number - 1


def _numbers(view: amp.accelerator_view, source: lazy.Lazy, eq: Any) -> Any:
    """The number of each element's run, from 0."""
    numbers = amp.array(source.extent, np.int32, accelerator_view=view)
    scan_into(view, Heads(source, eq), numbers, functional.plus, inclusive=True)
    store(view, lazy.map(_before, numbers), numbers)
    return numbers


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
    heads = Heads(source, eq)
    results: list[Any] = _runs(view, source, eq, out) if return_counts else [selected(heads, source, out, view)]
    if return_inverse:
        results.insert(1, _numbers(view, source, eq))
    return tuple(results) if len(results) > 1 else results[0]


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
    heads = Heads(ordered, same)
    results: list[Any] = _runs(view, ordered, same, out) if return_counts else [selected(heads, ordered, out, view)]
    if return_index:
        results.insert(1, selected(heads, lazy.Elements(order), None, view))
    if return_inverse:
        inverse = amp.array(source.extent, np.int32, accelerator_view=view)
        amp.parallel_for_each(view, source.extent, _put, _numbers(view, ordered, same), order, inverse)
        results.insert(2 if return_index else 1, inverse)
    return tuple(results) if len(results) > 1 else results[0]


@amp.kernel
def _put(idx, values, order, out):
    out[order[idx]] = values[idx]


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
    view = place(accelerator_view, source, each, out)
    ends = amp.array(each.extent, np.int32, accelerator_view=view)
    scan_into(view, each, ends, functional.plus, inclusive=True)
    if total is None and out is not None:
        total = int(lazy.of(out).extent.size())
    if total is None:
        total = int(sum(each, accelerator_view=view))
    result = output(out, total, dtype_of(source), view, source, each)
    moved, target = in_words(source, result)
    store(view, _Decoded(moved, ends, total), target)
    return result
