"""Reductions over the threads of a tile (CUB: ``BlockReduce``).

Where the device has functions of subgroups, each subgroup combines its values, and each thread the subgroups'.  On CPU
drivers, which run the threads of a tile as loops, one thread combines all.
"""

from __future__ import annotations

import math
from typing import Any

import vkamp as amp
from vkamp.tile._threads import rank_of


@amp.func
def reduce(t_idx: Any, x: Any, op: Any, valid: Any) -> Any:
    """``op`` of the values of the first ``valid`` threads, in their order, for every thread.

    All threads of the tile call it, with the same ``valid`` of 1 or more.  ``op`` is associative and need not commute.
    ``x`` is a number, a vector or a struct.
    """
    stage = amp.tile_static(math.prod(t_idx.tile_extent), type(x))
    if not amp.target.cpu and amp.target.has("subgroup_shuffle") and amp.target.has("subgroup_shuffle_relative"):
        total = _by_subgroups(t_idx, x, op, valid, stage)
    else:
        rank = rank_of(t_idx)
        stage[rank] = x
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if rank == 0:
            own = x.copy()
            for k in range(1, valid):
                own = op(own, stage[k])
            stage[0] = own
        t_idx.barrier.wait_with_tile_static_memory_fence()
        total = stage[0].copy()
    # Another call, or an iteration, uses the memory again.
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
        total = op(total, stage[k])
    return total
