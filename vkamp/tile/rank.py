"""Ranks of small numbers among those of a tile, as a stable counting sort gives them (CUB: ``BlockRadixRank``).

On GPUs, each thread counts its digits in counters of 16 bits, two in each word. A scan of all counters, digit by digit,
gives the positions (D. Merrill and A. Grimshaw, *High Performance and Scalable Radix Sorting*, 2011). On CPU drivers,
which run the threads of a tile as loops, one thread counts.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import vkamp as amp
from vkamp.tile._threads import items_of, like, put, rank_of
from vkamp.tile.scan import exclusive_scan


@amp.func
def radix_rank(t_idx: Any, digits: Any, *, bits: amp.constant = 4) -> Any:
    """The position of each item in the order of the digits; equal ones keep their order.

    ``digits`` is an int32 from 0 to ``2**bits - 1``, or a private array of them in blocked order. The positions are
    int32 numbers of the tile's items, in the same form. The tile has at most 65,535 items. All threads of the tile
    must call it.
    """
    own = items_of(digits)
    if amp.target.cpu:
        return like(digits, _one_after_the_other(t_idx, own, radix=2**bits))
    return like(digits, _by_columns(t_idx, own, words=2 ** (bits - 1)))


@amp.func
def _by_columns(t_idx: Any, own: Any, *, words: amp.constant) -> Any:
    """Counts digit ``d`` in the lower half of word ``d``, or in the upper half of word ``d - words``."""
    threads = math.prod(t_idx.tile_extent)
    counters = amp.tile_static(words * threads, amp.uint32)
    ranks = amp.private(len(own), amp.int32)
    rank = rank_of(t_idx)
    for w in range(words):
        counters[w * threads + rank] = 0
    for k in amp.static_range(len(own)):
        half = amp.uint32(16 if own[k] >= words else 0)
        word = (own[k] & (words - 1)) * threads + rank
        before = counters[word]
        counters[word] = before + (amp.uint32(1) << half)
        ranks[k] = amp.int32((before >> half) & 0xFFFF)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    _scan_of_counters(t_idx, counters, words=words)
    for k in amp.static_range(len(own)):
        half = amp.uint32(16 if own[k] >= words else 0)
        ranks[k] += amp.int32((counters[(own[k] & (words - 1)) * threads + rank] >> half) & 0xFFFF)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return ranks


@amp.func
def _scan_of_counters(t_idx: Any, counters: Any, *, words: amp.constant) -> None:
    first = rank_of(t_idx) * words
    own = amp.uint32(0)
    for w in range(words):
        own += counters[first + w]
    before, total = exclusive_scan(t_idx, own, operator.add, amp.uint32(0))
    # The digits of the upper halves come after all those of the lower halves.
    before += total << 16
    for w in range(words):
        here = counters[first + w]
        counters[first + w] = before
        before += here
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _one_after_the_other(t_idx: Any, own: Any, *, radix: amp.constant) -> Any:
    stage = amp.tile_static(math.prod(t_idx.tile_extent) * len(own), own.dtype)
    put(t_idx, stage, own)
    ranks = amp.private(len(own), amp.int32)
    rank = rank_of(t_idx)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    # The first condition keeps CPU drivers from running the loops for each thread.
    if t_idx.local[0] == 0 and rank == 0:
        places = amp.private(radix + 1, amp.int32)
        for d in range(radix + 1):
            places[d] = 0
        for i in range(len(stage)):
            places[stage[i] + 1] += 1
        for d in range(1, radix):
            places[d] += places[d - 1]
        for i in range(len(stage)):
            digit = stage[i]
            stage[i] = places[digit]
            places[digit] += 1
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(len(own)):
        ranks[k] = stage[rank * len(own) + k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return ranks
