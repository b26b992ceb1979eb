"""Prefix sums over the threads of a tile, with any operator (CUB: ``BlockScan``).

If the device has functions of subgroups, each subgroup scans its values, and each thread combines the totals of the
subgroups before its own. On CPU drivers, which run the threads of a tile as loops, one thread scans all.
"""

from __future__ import annotations

import math
from typing import Any

import vkamp as amp
from vkamp.tile._threads import numbers_of, rank_of
from vkamp.tile.reduce import combined, threads_of


@amp.func
def inclusive_scan(t_idx: Any, x: Any, op: Any, valid: Any = None) -> Any:
    """``(prefix, total)``: ``op`` of the items up to each, and of the first ``valid`` items.

    ``op``, ``valid`` and ``x`` are those of :func:`reduce`; all threads of the tile must call it.  ``prefix`` has the
    form of ``x``, and its items the type of ``op``'s results: int32 for integers of 8 and 16 bits, and for sums of
    conditions.  The prefix of an item from ``valid`` on is undefined.
    """
    if hasattr(x, "extent"):
        items = numbers_of(x, op) if isinstance(x[0], bool) else x
        many = threads_of(t_idx, valid, items=len(items))
        _, before, total = scan_of(t_idx, combined(t_idx, items, op, valid), op, many)
        prefix = amp.private(len(items), type(items[0]))
        prefix[0] = items[0]
        if rank_of(t_idx) > 0:
            prefix[0] = op(before, items[0])
        for k in amp.static_range(1, len(items)):
            prefix[k] = op(prefix[k - 1], items[k])
        return prefix, total
    upto, _, total = scan_of(
        t_idx, numbers_of(x, op) if isinstance(x, bool) else x, op, threads_of(t_idx, valid, items=1)
    )
    return upto, total


@amp.func
def exclusive_scan(t_idx: Any, x: Any, op: Any, init: Any, valid: Any = None) -> Any:
    """Like :func:`inclusive_scan`, but the prefix of an item excludes the item itself, and begins with ``init``.

    The prefix of item 0 is ``init``.
    """
    if hasattr(x, "extent"):
        items = numbers_of(x, op) if isinstance(x[0], bool) else x
        many = threads_of(t_idx, valid, items=len(items))
        _, before, total = scan_of(t_idx, combined(t_idx, items, op, valid), op, many)
        first, total = _from_init(t_idx, before, total, op, init)
        prefixes = amp.private(len(items), type(items[0]))
        prefixes[0] = first
        for k in amp.static_range(1, len(items)):
            prefixes[k] = op(prefixes[k - 1], items[k - 1])
        return prefixes, total
    _, before, total = scan_of(
        t_idx, numbers_of(x, op) if isinstance(x, bool) else x, op, threads_of(t_idx, valid, items=1)
    )
    return _from_init(t_idx, before, total, op, init)


@amp.func
def _from_init(t_idx: Any, before: Any, total: Any, op: Any, init: Any) -> Any:
    """``op`` of ``init``, which gets the items' type, and the items before this thread's, and of all items."""
    start = amp.private(1, type(total))
    start[0] = init
    prefix = start[0].copy()
    if rank_of(t_idx) > 0:
        prefix = op(prefix, before).copy()
    return prefix, op(start[0], total).copy()


@amp.func
def scan_of(t_idx: Any, x: Any, op: Any, valid: Any) -> Any:
    """``(inclusive prefix, exclusive prefix, total)``; the exclusive prefix of thread 0 is undefined."""
    stage = amp.tile_static(math.prod(t_idx.tile_extent), type(x))
    if not amp.target.cpu and amp.target.has("subgroup_shuffle") and amp.target.has("subgroup_shuffle_relative"):
        inclusive, exclusive, total = _by_subgroups(t_idx, x, op, valid, stage)
    else:
        rank = rank_of(t_idx)
        stage[rank] = x
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if t_idx.local[0] == 0 and rank == 0:
            own = x.copy()
            for k in range(1, math.prod(t_idx.tile_extent)):
                own = op(own, stage[k]).copy()
                stage[k] = own
        t_idx.barrier.wait_with_tile_static_memory_fence()
        inclusive = stage[rank].copy()
        exclusive = stage[max(rank - 1, 0)].copy()
        total = stage[valid - 1].copy()
    # A further call, or an iteration, uses the memory again.
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return inclusive, exclusive, total


@amp.func
def _by_subgroups(t_idx: Any, x: Any, op: Any, valid: Any, stage: Any) -> Any:
    size = amp.subgroup.size()
    mine = amp.subgroup.id()
    upto = amp.subgroup.inclusive_scan(x, op)
    last = min(valid - mine * size, size) - 1
    if amp.subgroup.lane() == last:
        stage[mine] = upto
    t_idx.barrier.wait_with_tile_static_memory_fence()
    total = stage[0].copy()
    before = stage[0].copy()
    for k in range(1, amp.tdiv(valid + size - 1, size)):
        if k < mine:
            before = op(before, stage[k]).copy()
        total = op(total, stage[k]).copy()
    inclusive = upto.copy()
    if mine > 0:
        inclusive = op(before, upto).copy()
    exclusive = amp.subgroup.shuffle_up(inclusive, 1)
    if amp.subgroup.lane() == 0:
        exclusive = before.copy()
    return inclusive, exclusive, total
