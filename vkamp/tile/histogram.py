"""Histograms of a tile's items (CUB: ``BlockHistogram``), by atomics of ``tile_static`` memory."""

from __future__ import annotations

import math
from typing import Any

import vkamp as amp
from vkamp.tile._threads import items_of, rank_of


@amp.func
def histogram(t_idx: Any, x: Any, counts: Any, weight: Any = 1, *, clear: amp.constant = True) -> None:
    """Counts how often each number occurs among the items of a tile, in ``counts``.

    ``x`` is an integer, or a private array of them; numbers outside of 0 to ``len(counts) - 1`` are ignored. ``counts``
    is a ``tile_static`` array of int32 or uint32 (with native float atomics, float32). ``weight`` is the amount that
    each item of this thread adds. ``clear=False`` adds to the present counts. All threads of the tile must call it;
    afterwards all of them can read the counts.
    """
    if clear:
        threads = math.prod(t_idx.tile_extent)
        for k in range((len(counts) + threads - 1) // threads):
            if rank_of(t_idx) + k * threads < len(counts):
                counts[rank_of(t_idx) + k * threads] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    own = items_of(x)
    for k in amp.static_range(len(own)):
        if 0 <= own[k] < len(counts):
            amp.atomic_fetch_add(counts[amp.int32(own[k])], weight)
    t_idx.barrier.wait_with_tile_static_memory_fence()
