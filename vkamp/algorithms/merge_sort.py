"""Sorting with any comparison: a stable merge sort.

A first launch sorts short runs, and each further launch merges the runs in pairs. All pieces of a merged pair have the
same length, and a search along a diagonal finds where each begins in both runs (O. Green, R. McColl and D. Bader, *GPU
Merge Path*, 2012). This is the form for CPU drivers; ``merge_sort_tiles`` has the one for GPUs.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy, merge_sort_tiles
from vkamp.algorithms._arguments import element
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms._operators import Swapped
from vkamp.algorithms.merge_sort_tiles import in_turn, sort_own, split_of_pair

#: The number of elements that one invocation sorts on its own.
_RUN = 8


@amp.kernel
def sort_short_runs(t_idx, keys, values, out, moved, n, less, *, has_values: amp.constant):
    """Sorts each run of a few elements."""
    first = t_idx.global_[0] * _RUN
    if first < n:
        own = amp.private(_RUN, out.dtype)
        sources = amp.private(_RUN, amp.int32)
        for k in amp.static_range(_RUN):
            own[k] = keys.value(min(first + k, n - 1))
            sources[k] = k
        sort_own(own, sources, n - first, less)
        for k in amp.static_range(_RUN):
            if first + k < n:
                out[first + k] = own[k]
                if has_values:
                    moved[first + k] = values.value(first + sources[k])


@amp.kernel
def merge_pieces(t_idx, keys, values, out, moved, n, width, length, less, *, has_values: amp.constant):
    """Merges one piece of the result. A piece may contain several pairs of runs of ``width`` elements."""
    first = t_idx.global_[0] * length
    if first < n:
        begin, middle, end, many = split_of_pair(keys, n, width, first, less)
        i = begin + many
        j = middle + first - begin - many
        x = keys.value(min(i, n - 1)).copy()
        y = keys.value(min(j, n - 1)).copy()
        for k in range(first, first + min(length, n - first)):
            if k == end:
                i = k
                middle = k + min(width, n - k)
                j = middle
                end = middle + min(width, n - middle)
                x = keys.value(i).copy()
                y = keys.value(min(j, n - 1)).copy()
            is_less = less(y, x)
            is_right = j < end and (i >= middle or is_less)
            # There are no branches here: the lanes of a CPU's vector would take both sides.
            at = j if is_right else i
            out[k] = y if is_right else x
            if has_values:
                moved[k] = values.value(at)
            following = keys.value(min(at + 1, n - 1)).copy()
            x = x if is_right else following
            y = following if is_right else y
            i += 0 if is_right else 1
            j += 1 if is_right else 0


def _in_runs(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy | None, less: Any, out: Any, moved: Any
) -> None:
    n, has_values = keys.extent[0], values is not None
    wanted = min(_choose.runs(view, n).length, longest_run(view, keys, less))
    # A piece contains whole pairs, or is part of one.
    length = _RUN << max((wanted // _RUN).bit_length() - 1, 0)
    widths = [_RUN << k for k in range(max(-(-n // _RUN) - 1, 0).bit_length())]
    targets = in_turn(view, len(widths) + 1, out, moved)
    given = keys if values is None else values
    target, other = next(targets)
    domain = _choose.domain_of_runs(view, _choose.Split(-(-n // _RUN), _RUN))
    amp.parallel_for_each(
        view, domain, sort_short_runs, keys, given, target, other, n, less, has_values=has_values
    )  # fmt: skip
    domain = _choose.domain_of_runs(view, _choose.Split(-(-n // length), length))
    for width in widths:
        keys, given = lazy.Elements(target), lazy.Elements(other)
        target, other = next(targets)
        amp.parallel_for_each(
            view, domain, merge_pieces, keys, given, target, other, n, width, length, less, has_values=has_values
        )  # fmt: skip


def sort_pairs(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy | None, less: Any, out: Any, moved: Any
) -> None:
    """Stores the sorted keys in ``out``, and the value of each in ``moved``; equal keys keep their order.

    ``out`` may be the memory of the keys; ``moved`` is not that of the values.
    """
    if _choose.form_of(view) == "tiles":
        merge_sort_tiles.sort_pairs(view, keys, values, less, out, moved)
    else:
        _in_runs(view, keys, values, less, out, moved)


def comparison(less: Any, descending: bool) -> Any:
    """The comparison for an order. In a descending order, too, equal elements keep their order."""
    return Swapped(less) if descending else less


def order_of(view: amp.accelerator_view, keys: lazy.Lazy, less: Any, descending: bool) -> Any:
    """The positions of the keys in sorted order, in a new array; equal keys keep their order."""
    n = keys.extent[0]
    order = amp.array(amp.extent(n), np.int32, accelerator_view=view)
    out = amp.array(amp.extent(n), element(lazy.computed_type(keys)), accelerator_view=view)
    sort_pairs(view, keys, lazy.arange(n), comparison(less, descending), out, order)
    return order
