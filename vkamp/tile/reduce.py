"""Reductions over the threads of a tile (CUB: ``BlockReduce``).

If the device has functions of subgroups, each subgroup combines its values, and each thread combines the results of the
subgroups. On CPU drivers, which run the threads of a tile as loops, one thread combines all.
"""

from __future__ import annotations

import math
from typing import Any

import vkamp as amp
from vkamp.tile._threads import numbers_of, rank_of


@amp.func
def reduce(t_idx: Any, x: Any, op: Any, valid: Any = None) -> Any:
    """``op`` of the first ``valid`` items of the tile, in their order, for every thread.

    All threads of the tile must call it, with the same ``valid`` of 1 or more; by default, or if it exceeds their
    number, all items count.  ``op`` is associative and need not commute.  ``x`` is a number, a condition, a vector or a
    struct, or a private array of items, which are in blocked order.  A sum of conditions counts them.
    """
    if hasattr(x, "extent"):
        items = numbers_of(x, op) if isinstance(x[0], bool) else x
        return _of_threads(t_idx, combined(t_idx, items, op, valid), op, threads_of(t_idx, valid, items=len(x)))
    return _of_threads(t_idx, numbers_of(x, op) if isinstance(x, bool) else x, op, threads_of(t_idx, valid, items=1))


@amp.func
def combined(t_idx: Any, x: Any, op: Any, valid: Any) -> Any:
    """``op`` of the items of this thread that count, at least of the first one."""
    own = x[0].copy()
    for k in amp.static_range(1, len(x)):
        if valid is None or rank_of(t_idx) * len(x) + k < valid:
            own = op(own, x[k]).copy()
    return own


@amp.func
def threads_of(t_idx: Any, valid: Any, *, items: amp.constant) -> Any:
    """How many threads have items that count."""
    threads = math.prod(t_idx.tile_extent)
    if valid is None:
        return threads
    return amp.tdiv(amp.int32(min(valid, threads * items)) + items - 1, items)


@amp.func
def _of_threads(t_idx: Any, x: Any, op: Any, valid: Any) -> Any:
    stage = amp.tile_static(math.prod(t_idx.tile_extent), type(x))
    if not amp.target.cpu and amp.target.has("subgroup_shuffle") and amp.target.has("subgroup_shuffle_relative"):
        total = _by_subgroups(t_idx, x, op, valid, stage)
    else:
        rank = rank_of(t_idx)
        stage[rank] = x
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if t_idx.local[0] == 0 and rank == 0:
            own = x.copy()
            for k in range(1, min(valid, math.prod(t_idx.tile_extent))):
                own = op(own, stage[k]).copy()
            stage[0] = own
        t_idx.barrier.wait_with_tile_static_memory_fence()
        total = stage[0].copy()
    # A further call, or an iteration, uses the memory again.
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return total


@amp.func
def _by_subgroups(t_idx: Any, x: Any, op: Any, valid: Any, stage: Any) -> Any:
    size = amp.subgroup.size()
    upto = amp.subgroup.inclusive_scan(x, op)
    # The subgroup's last thread whose value counts.
    last = min(valid - amp.subgroup.id() * size, size) - 1
    if amp.subgroup.lane() == last:
        stage[amp.subgroup.id()] = upto
    t_idx.barrier.wait_with_tile_static_memory_fence()
    total = stage[0].copy()
    for k in range(1, amp.tdiv(valid + size - 1, size)):
        total = op(total, stage[k]).copy()
    return total
