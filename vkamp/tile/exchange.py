"""Exchanges of values between the threads of a tile, through ``tile_static`` memory (CUB: ``BlockExchange``,
``BlockShuffle``).

Items are in *blocked* order unless a name says otherwise: item ``k`` of thread ``r`` is number ``r * items + k`` of
the tile.  In *striped* order it is number ``r + k * threads``.  ``x`` is a value of any type, or a private array of
items; the result is of the same form, and new.  All threads of the tile must call these functions.
"""

from __future__ import annotations

import math
from typing import Any

import vkamp as amp
from vkamp.tile._threads import check_items, items_of, like, put, rank_of

__all__ = ["blocked_to_striped", "broadcast", "gather", "scatter", "shift", "striped_to_blocked"]


@amp.func
def blocked_to_striped(t_idx: Any, x: Any) -> Any:
    """The items of a tile that are in blocked order, in striped order."""
    own = items_of(x)
    threads = math.prod(t_idx.tile_extent)
    stage = amp.tile_static(threads * len(own) + threads * len(own) // 32, own.dtype)
    moved = amp.private(len(own), own.dtype)
    rank = rank_of(t_idx)
    for k in amp.static_range(len(own)):
        stage[_padded(rank * len(own) + k)] = own[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(len(own)):
        moved[k] = stage[_padded(rank + k * threads)]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return like(x, moved)


@amp.func
def striped_to_blocked(t_idx: Any, x: Any) -> Any:
    """The items of a tile that are in striped order, in blocked order."""
    own = items_of(x)
    threads = math.prod(t_idx.tile_extent)
    stage = amp.tile_static(threads * len(own) + threads * len(own) // 32, own.dtype)
    moved = amp.private(len(own), own.dtype)
    rank = rank_of(t_idx)
    for k in amp.static_range(len(own)):
        stage[_padded(rank + k * threads)] = own[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(len(own)):
        moved[k] = stage[_padded(rank * len(own) + k)]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return like(x, moved)


@amp.func
def _padded(at: Any) -> Any:
    """A position in memory with a gap after every 32 items: the threads' positions are then in different banks."""
    if amp.target.cpu:
        return at
    return at + (at >> 5)


@amp.func
def scatter(t_idx: Any, x: Any, ranks: Any) -> Any:
    """The items at the positions that ``ranks`` gives them: item ``x`` becomes number ``ranks`` of the tile.

    ``ranks`` is an int32, or a private array with as many elements as ``x`` has items: a permutation of the tile's
    items.
    """
    own, places = items_of(x), items_of(ranks)
    check_items(own, places)
    stage = amp.tile_static(math.prod(t_idx.tile_extent) * len(own), own.dtype)
    moved = amp.private(len(own), own.dtype)
    first = rank_of(t_idx) * len(own)
    for k in amp.static_range(len(own)):
        stage[places[k]] = own[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(len(own)):
        moved[k] = stage[first + k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return like(x, moved)


@amp.func
def gather(t_idx: Any, x: Any, sources: Any) -> Any:
    """The items with the numbers ``sources``, an int32 or a private array with as many elements as ``x`` has items."""
    own, places = items_of(x), items_of(sources)
    check_items(own, places)
    stage = amp.tile_static(math.prod(t_idx.tile_extent) * len(own), own.dtype)
    moved = amp.private(len(own), own.dtype)
    put(t_idx, stage, own)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(len(own)):
        moved[k] = stage[places[k]]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return like(x, moved)


@amp.func
def shift(t_idx: Any, x: Any, by: Any = 1, fill: Any = None) -> Any:
    """The items moved by ``by`` positions: item ``i`` of the result is item ``i - by``; ``by`` may be negative.

    Positions whose items would come from outside of the tile get ``fill``; by default, they keep their items.
    """
    own = items_of(x)
    stage = amp.tile_static(math.prod(t_idx.tile_extent) * len(own), own.dtype)
    moved = amp.private(len(own), own.dtype)
    put(t_idx, stage, own)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(len(own)):
        source = rank_of(t_idx) * len(own) + k - by
        if fill is None:
            moved[k] = own[k]
        else:
            moved[k] = fill
        if 0 <= source < len(stage):
            moved[k] = stage[source]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return like(x, moved)


@amp.func
def broadcast(t_idx: Any, x: Any, source: Any = 0) -> Any:
    """The item with the number ``source``, the same for all threads, as a value."""
    own = items_of(x)
    one = amp.tile_static(1, own.dtype)
    for k in amp.static_range(len(own)):
        if rank_of(t_idx) * len(own) + k == source:
            one[0] = own[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    found = one[0].copy()
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return found
