"""Decoding of runs (CUB: ``BlockRunLengthDecode``)."""

from __future__ import annotations

import math
import operator
from typing import Any

import vkamp as amp
from vkamp.tile._threads import check_items, items_of, put, rank_of
from vkamp.tile.scan import exclusive_scan


@amp.func
def run_length_decode(t_idx: Any, values: Any, lengths: Any, first: Any = 0, *, items: amp.constant) -> Any:
    """``(decoded, positions, total)`` of the runs of a tile, each a value and its length of 0 or more, an int32.

    ``decoded`` is a private array with ``items`` of the decoded elements for each thread, in blocked order, from
    element ``first`` on; ``positions`` are their int32 positions in their runs; ``total`` is the number of all
    decoded elements. From ``total`` on, elements repeat the last run.  ``values`` and ``lengths`` are values, or
    private arrays in blocked order.  All threads of the tile must call it, with the same ``first``.
    """
    own, many = items_of(values), items_of(lengths)
    check_items(own, many)
    prefix, total = exclusive_scan(t_idx, many, operator.add, 0)
    runs = amp.tile_static(math.prod(t_idx.tile_extent) * len(own), own.dtype)
    starts = amp.tile_static(len(runs), amp.int32)
    put(t_idx, runs, own)
    put(t_idx, starts, prefix)
    decoded = amp.private(items, runs.dtype)
    positions = amp.private(items, amp.int32)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(items):
        at = first + rank_of(t_idx) * items + k
        # The last run that begins there or before.
        low, high = 0, len(starts)
        for _ in range(17):
            if high - low <= 1:
                break
            middle = (low + high) >> 1
            if starts[middle] <= at:
                low = middle
            else:
                high = middle
        decoded[k] = runs[low]
        positions[k] = at - starts[low]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return decoded, positions, total
