"""Prefix sums over the threads of a tile, with any operator (CUB: ``BlockScan``; Hillis and Steele, 1986)."""

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
    rank = rank_of(t_idx)
    stage[rank] = x
    distance = 1
    while distance < valid:
        t_idx.barrier.wait_with_tile_static_memory_fence()
        prefix = stage[rank].copy()
        if rank >= distance:
            prefix = op(stage[rank - distance], prefix)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        stage[rank] = prefix
        distance *= 2
    t_idx.barrier.wait_with_tile_static_memory_fence()
    inclusive = stage[rank].copy()
    exclusive = stage[max(rank - 1, 0)].copy()
    total = stage[valid - 1].copy()
    # Another call, or an iteration, uses the memory again.
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return inclusive, exclusive, total
