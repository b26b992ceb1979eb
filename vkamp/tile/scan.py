"""Prefix sums over the threads of a tile, with any operator (CUB: ``BlockScan``).

Where the device has functions of subgroups, each subgroup scans its values, and each thread combines the totals of the
subgroups before its own.  On CPU drivers, which run the threads of a tile as loops, one thread scans all.
"""

from __future__ import annotations

import math
from typing import Any

import vkamp as amp
from vkamp.tile._threads import rank_of


@amp.func
def inclusive_scan(t_idx: Any, x: Any, op: Any, valid: Any) -> Any:
    """``(prefix, total)``: ``op`` of the values of the threads up to this one, and of the first ``valid`` threads.

    All threads of the tile call it, with the same ``valid`` of 1 or more.  ``op`` is associative and need not commute.
    ``x`` is a number, a vector or a struct.  The prefix of a thread from ``valid`` on is undefined.
    """
    prefix, _, total = scan_of(t_idx, x, op, valid)
    return prefix, total


@amp.func
def exclusive_scan(t_idx: Any, x: Any, op: Any, init: Any, valid: Any) -> Any:
    """As :func:`inclusive_scan`, with ``init`` first, and without the thread's own value in its prefix.

    The prefix of thread 0 is ``init``.
    """
    _, before, total = scan_of(t_idx, x, op, valid)
    prefix = init.copy()
    if rank_of(t_idx) > 0:
        prefix = op(prefix, before)
    return prefix, op(init, total)


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
        if rank == 0:
            own = x.copy()
            for k in range(1, math.prod(t_idx.tile_extent)):
                own = op(own, stage[k])
                stage[k] = own
        t_idx.barrier.wait_with_tile_static_memory_fence()
        inclusive = stage[rank].copy()
        exclusive = stage[max(rank - 1, 0)].copy()
        total = stage[valid - 1].copy()
    # Another call, or an iteration, uses the memory again.
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
            before = op(before, stage[k])
        total = op(total, stage[k])
    inclusive = upto.copy()
    if mine > 0:
        inclusive = op(before, upto)
    exclusive = amp.subgroup.shuffle_up(inclusive, 1)
    if amp.subgroup.lane() == 0:
        exclusive = before.copy()
    return inclusive, exclusive, total
