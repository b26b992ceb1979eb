"""Sorting with any comparison: a stable merge sort.

In each pass an element finds its place in the merged pair of runs by a binary search in the other run (C. Kruskal,
*Searching, Merging, and Sorting in Parallel Computation*, 1983).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._operators import Swapped


@amp.kernel
def merge_runs(idx, keys, order, merged, width, n, less):
    """Merges sorted runs of ``width`` positions in pairs; ``order`` and ``merged`` are positions of the keys."""
    i = idx[0]
    own = order[i]
    x = keys.value(own).copy()
    run = i // width
    is_left = run % 2 == 0
    begin = min((run + 1) * width, n) if is_left else (run - 1) * width
    low = begin
    high = min(begin + width, n)
    while low < high:
        middle = low + (high - low) // 2
        y = keys.value(order[middle]).copy()
        # An equal element of the left run comes before one of the right run.
        is_before = less(y, x) if is_left else not less(x, y)
        if is_before:
            low = middle + 1
        else:
            high = middle
    merged[i + low - begin if is_left else i - width + low - begin] = own


@amp.kernel
def _count_up(idx, order):
    order[idx] = idx[0]


def order_of(view: amp.accelerator_view, keys: lazy.Lazy, less: Any, descending: bool) -> Any:
    """The positions of the keys in their order, in a new array; equal keys keep their order."""
    n = keys.extent[0]
    order, merged = (amp.array(amp.extent(n), np.int32, accelerator_view=view) for _ in range(2))
    amp.parallel_for_each(view, order.extent, _count_up, order)
    is_less = Swapped(less) if descending else less
    width = 1
    while width < n:
        amp.parallel_for_each(view, order.extent, merge_runs, keys, order, merged, width, n, is_less)
        order, merged = merged, order
        width *= 2
    return order
