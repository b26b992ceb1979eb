"""Merging sorted inputs: ``merge``, ``merge_by_key``.

Merge path: the first ``place`` elements of the result are the first ``i`` of one input and the first ``j`` of the
other, and a binary search along the diagonal ``i + j = place`` finds both numbers. So pieces of the result can be
merged independently, and all have the same length (O. Green, R. McColl, D. Bader, *GPU Merge Path*, 2012).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._arguments import output, outputs, place
from vkamp.algorithms._exact import of_one_type
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms._operators import sorts_before
from vkamp.algorithms.transform import store

TILE = 128
#: The elements of the result for each thread of a tile.
ITEMS = 8


@amp.func
def crossing(a: Any, b: Any, n: Any, m: Any, place: Any, low: Any, high: Any, less: Any) -> Any:
    """How many of the first ``place`` elements of the result are elements of ``a``; the result is between ``low``
    and ``high``.
    """
    first = max(low, place - m)
    last = min(high, min(place, n))
    while first < last:
        i = first + (last - first) // 2
        # Equal elements of `a` come first.
        if less(b.value(place - 1 - i), a.value(i)):
            last = i
        else:
            first = i + 1
    return first


@amp.func
def _merge(
    a: Any, b: Any, of_a: Any, of_b: Any, out: Any, n: Any, m: Any, i: Any, begin: Any, end: Any, less: Any
) -> None:
    """Merges positions ``begin`` to ``end`` one after the other; ``i`` elements before them are elements of ``a``."""
    j = begin - i
    for k in range(begin, end):
        is_of_b = i >= n
        if i < n and j < m:
            is_of_b = less(b.value(j), a.value(i))
        if is_of_b:
            out[k] = of_b.value(j)
            j += 1
        else:
            out[k] = of_a.value(i)
            i += 1


@amp.kernel
def merge_runs(t_idx, a, b, of_a, of_b, out, n, m, length, less):
    """Merges one run of the result: compares ``a`` and ``b``, and stores the elements of ``of_a`` and ``of_b``."""
    begin = t_idx.global_[0] * length
    if begin < n + m:
        i = crossing(a, b, n, m, begin, 0, n, less)
        _merge(a, b, of_a, of_b, out, n, m, i, begin, min(begin + length, n + m), less)


@amp.kernel
def merge_tiles(t_idx, a, b, of_a, of_b, out, n, m, less):
    """Merges one block of the result: two threads find where it begins and ends, the others search between these
    positions.
    """
    block = t_idx.tile[0] * (TILE * ITEMS)
    ends = amp.tile_static(2, amp.int32)
    rank = t_idx.local[0]
    if rank < 2:
        ends[rank] = crossing(a, b, n, m, min(block + rank * (TILE * ITEMS), n + m), 0, n, less)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    begin = block + rank * ITEMS
    if begin < n + m:
        i = crossing(a, b, n, m, begin, ends[0], ends[1], less)
        _merge(a, b, of_a, of_b, out, n, m, i, begin, min(begin + ITEMS, n + m), less)


def merge_into(
    view: amp.accelerator_view,
    a: lazy.Lazy,
    b: lazy.Lazy,
    of_a: lazy.Lazy,
    of_b: lazy.Lazy,
    out: Any,
    less: Any,
) -> None:
    """Stores the elements of ``of_a`` and ``of_b`` in the merged order of ``a`` and ``b``; all have one index."""
    n, m = a.extent[0], b.extent[0]
    if _choose.form_of(view) == "runs":
        split = _choose.runs(view, n + m, longest_run(view, a, less, b, of_a, of_b))
        domain = _choose.domain_of_runs(view, split)
        amp.parallel_for_each(view, domain, merge_runs, a, b, of_a, of_b, out, n, m, split.length, less)
    else:
        domain = amp.extent(-(-(n + m) // (TILE * ITEMS)) * TILE).tile(TILE)
        amp.parallel_for_each(view, domain, merge_tiles, a, b, of_a, of_b, out, n, m, less)


def merged_order(view: amp.accelerator_view, a: lazy.Lazy, b: lazy.Lazy, less: Any) -> Any:
    """The positions of the merged elements in ``a`` followed by ``b``."""
    n, m = a.extent[0], b.extent[0]
    order = amp.array(amp.extent(n + m), np.int32, accelerator_view=view)
    merge_into(view, a, b, lazy.arange(n), lazy.arange(m, n), order, less)
    return order


class Joined(lazy.Lazy):
    """The elements of one input, then those of another one; both have one index and one type."""

    __slots__ = ("a", "b", "n")

    def __init__(self, a: lazy.Lazy, b: lazy.Lazy) -> None:
        self.n = a.extent[0]
        super().__init__(self.n + b.extent[0])
        self.a, self.b = a, b

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at a position."""
        return self.a.value(i) if i < self.n else self.b.value(i - self.n)


def merge(
    a: Any,
    b: Any,
    less: Any = sorts_before,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The elements of two sorted inputs in their order; of equal ones those of ``a`` first (C++: ``merge``).

    Numbers of different types become numpy's common type, if it holds all of them; TypeError if there is none.
    """
    left, right = lazy.of(a).flat(), lazy.of(b).flat()
    view = place(accelerator_view, left, right, out)
    left, right, dtype = of_one_type(view, left, right)
    result = output(out, left.extent[0] + right.extent[0], dtype, view, left, right)
    merge_into(view, left, right, left, right, result, less)
    return result


def merge_by_key(
    keys_a: Any,
    keys_b: Any,
    values_a: Any,
    values_b: Any,
    less: Any = sorts_before,
    *,
    out: tuple[Any, Any] | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[Any, Any]:
    """The merged keys of two sorted inputs, and the values in the order of their keys (Thrust: ``merge_by_key``).

    ``out`` is a tuple of targets for both.
    """
    outs = outputs(out, 2)
    left, right, of_left, of_right = (lazy.of(each).flat() for each in (keys_a, keys_b, values_a, values_b))
    for keys, values in ((left, of_left), (right, of_right)):
        if keys.extent != values.extent:
            raise amp.AmpError(f"there are {keys.extent!r} keys, but {values.extent!r} values")
    inputs = left, right, of_left, of_right
    view = place(accelerator_view, *inputs, *outs)
    left, right, of_keys = of_one_type(view, left, right)
    of_left, of_right, of_values = of_one_type(view, of_left, of_right)
    n = left.extent[0] + right.extent[0]
    merged, moved = (
        output(each, n, dtype, view, *inputs) for each, dtype in zip(outs, (of_keys, of_values), strict=True)
    )
    order = merged_order(view, left, right, less)
    store(view, lazy.take(Joined(left, right), order), merged)
    store(view, lazy.take(Joined(of_left, of_right), order), moved)
    return merged, moved
