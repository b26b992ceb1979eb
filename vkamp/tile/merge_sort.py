"""Sorting the items of a tile by a comparison (CUB: ``BlockMergeSort``).

Each thread sorts its items. Then runs are merged in pairs until one is left. In a merge, every thread finds by
bisection where its items begin in the two runs (O. Green, R. McColl and D. Bader, *GPU Merge Path*, 2012).
"""

from __future__ import annotations

import math
import operator
from typing import Any

import vkamp as amp
from vkamp.tile._threads import items_of, like, put, rank_of
from vkamp.tile.exchange import gather


@amp.func
def merge_sort(t_idx: Any, keys: Any, *values: Any, less: Any = operator.lt, valid: Any = None) -> Any:
    """The items of a tile in the order of their keys: ``keys``, or ``(keys, values...)``; equal keys keep their order.

    ``less(a, b)`` is a strict weak order of the keys, which may have any type. ``keys`` and ``values`` are values, or
    private arrays in blocked order. Items from ``valid`` on stay after the others. All threads of the tile must call
    it.
    """
    own = items_of(keys)
    many = math.prod(t_idx.tile_extent) * len(own)
    sources = _order_of(t_idx, own, less, many if valid is None else amp.int32(min(valid, many)))
    moved = like(keys, gather(t_idx, own, sources))
    if len(values) == 0:
        return moved
    return (moved, *[like(keys, gather(t_idx, items_of(v), sources)) for v in values])


@amp.func
def _order_of(t_idx: Any, own: Any, less: Any, valid: Any) -> Any:
    """For each item of the result, the number of the item that it comes from."""
    stage = amp.tile_static(math.prod(t_idx.tile_extent) * len(own), own.dtype)
    put(t_idx, stage, own)
    order = amp.tile_static(len(stage), amp.int32)
    sources = amp.private(len(own), amp.int32)
    first = rank_of(t_idx) * len(own)
    _sort_of_thread(own, sources, first, less, valid)
    width = len(own)
    while width < len(stage):
        for k in amp.static_range(len(own)):
            order[first + k] = sources[k]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        _merge(stage, order, sources, first, width, less, valid)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        width *= 2
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return sources


@amp.func
def _sort_of_thread(own: Any, sources: Any, first: Any, less: Any, valid: Any) -> None:
    """An insertion sort, which is stable."""
    for k in amp.static_range(len(own)):
        at = k
        if first + k < valid:
            for _ in range(k):
                if not less(own[k], own[sources[at - 1] - first]):
                    break
                sources[at] = sources[at - 1]
                at -= 1
        sources[at] = first + k


@amp.func
def _merge(stage: Any, order: Any, sources: Any, first: Any, width: Any, less: Any, valid: Any) -> None:
    """The sources of one thread's items in the run that is merged from ``a`` and ``b``."""
    begin = amp.tdiv(first, 2 * width) * (2 * width)
    middle = min(begin + width, valid)
    end = min(begin + 2 * width, valid)
    if first < end:
        before = first - begin
        low = max(0, before - (end - middle))
        high = min(before, middle - begin)
        # As many iterations as a tile of 65,535 items needs: loops reach lavapipe as loops only if their length is
        # known.
        for _ in range(17):
            if low >= high:
                break
            a = (low + high) >> 1
            if less(stage[order[middle + before - 1 - a]], stage[order[begin + a]]):
                high = a
            else:
                low = a + 1
        a, b = begin + low, middle + before - low
        for k in range(len(sources)):
            if first + k < end:
                from_b = a >= middle
                if a < middle and b < end:
                    from_b = less(stage[order[b]], stage[order[a]])
                if from_b:
                    sources[k] = order[b]
                    b += 1
                else:
                    sources[k] = order[a]
                    a += 1
