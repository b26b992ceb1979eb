"""Reductions over the threads of a tile (CUB: ``BlockReduce``)."""

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
    rank = rank_of(t_idx)
    stage[rank] = x
    left = valid
    while left > 1:
        t_idx.barrier.wait_with_tile_static_memory_fence()
        half = (left + 1) // 2
        pair = stage[min(2 * rank, left - 1)].copy()
        if 2 * rank + 1 < left:
            pair = op(pair, stage[2 * rank + 1])
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if rank < half:
            stage[rank] = pair
        left = half
    t_idx.barrier.wait_with_tile_static_memory_fence()
    total = stage[0].copy()
    # Another call, or an iteration, uses the memory again.
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return total
