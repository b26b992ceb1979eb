"""Sorting the items of a tile by the bits of their keys (CUB: ``BlockRadixSort``), and the largest of them.

The keys are in ``tile_static`` memory. Each pass ranks one digit, the lowest first, and moves the positions of the
items; keys and values move once, at the end. Keys that are not unsigned integers are mapped to unsigned integers with
the same order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.tile._threads import items_of, like, put, rank_of
from vkamp.tile.exchange import gather, scatter
from vkamp.tile.rank import radix_rank

_TOP = np.uint64(1 << 63)


@amp.func
def sort(
    t_idx: Any, keys: Any, *values: Any,
    valid: Any = None, bits: amp.constant = None, descending: amp.constant = False,
) -> Any:  # fmt: skip
    """The items of a tile in the order of their keys: ``keys``, or ``(keys, values...)``; equal keys keep their order.

    ``keys`` are numbers, or private arrays of numbers in blocked order; ``values`` have any type and the same form.
    ``bits=(first, end)`` compares only these bits of unsigned integers. NaN comes last, in descending order first.
    Items from ``valid`` on stay after the others. All threads of the tile must call it.
    """
    own = items_of(keys)
    sources = _order_of(t_idx, own, valid, bits=bits, descending=descending)
    moved = like(keys, gather(t_idx, own, sources))
    if len(values) == 0:
        return moved
    return (moved, *[like(keys, gather(t_idx, items_of(v), sources)) for v in values])


@amp.func
def topk(t_idx: Any, keys: Any, *values: Any, valid: Any = None, largest: amp.constant = True) -> Any:
    """The items of a tile with the largest keys first (``largest=False``: the smallest), as :func:`sort` gives them.

    Number ``r`` of the tile is the ``r``-th largest: the first ``k`` items are the ``k`` largest, for every ``k``.
    """
    return sort(t_idx, keys, *values, valid=valid, descending=largest)


@amp.func
def _order_of(t_idx: Any, own: Any, valid: Any, *, bits: amp.constant, descending: amp.constant) -> Any:
    """For each item of the result, the number of the item that it comes from."""
    stage = amp.tile_static(math.prod(t_idx.tile_extent) * len(own), own.dtype)
    put(t_idx, stage, own)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    wide = own.dtype == amp.int64 or own.dtype == amp.uint64 or own.dtype == amp.float64
    span = ((0, 64) if wide else (0, 32)) if bits is None else bits
    if amp.target.cpu:
        return _by_one_thread(t_idx, stage, valid, items=len(own), span=span, descending=descending)
    sources = amp.private(len(own), amp.int32)
    digits = amp.private(len(own), amp.int32)
    first = rank_of(t_idx) * len(own)
    for k in amp.static_range(len(own)):
        sources[k] = first + k
    for shift in range(span[0], span[1], 4):
        for k in amp.static_range(len(own)):
            digits[k] = _digit(stage[sources[k]], shift, min(4, span[1] - shift), descending=descending)
            if valid is not None and first + k >= valid:
                digits[k] = 15
        moved = scatter(t_idx, sources, radix_rank(t_idx, digits, bits=4))
        for k in amp.static_range(len(own)):
            sources[k] = moved[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return sources


@amp.func
def _by_one_thread(
    t_idx: Any, stage: Any, valid: Any, *, items: amp.constant, span: amp.constant, descending: amp.constant
) -> Any:
    """As on GPUs, eight bits in each pass: CPU drivers run the threads of a tile one after the other anyway."""
    order = amp.tile_static((2, len(stage)), amp.int32)
    sources = amp.private(items, amp.int32)
    rank = rank_of(t_idx)
    side = ((span[1] - span[0] + 7) // 8) % 2
    # The first condition keeps CPU drivers from running the loops for each thread.
    if t_idx.local[0] == 0 and rank == 0:
        for i in range(len(stage)):
            order[side, i] = i
        many = len(stage) if valid is None else min(valid, len(stage))
        here = side
        places = amp.private(257, amp.int32)
        for shift in range(span[0], span[1], 8):
            for d in range(257):
                places[d] = 0
            for i in range(min(many, len(stage))):
                places[_digit(stage[i], shift, min(8, span[1] - shift), descending=descending) + 1] += 1
            for d in range(1, 256):
                places[d] += places[d - 1]
            for i in range(len(stage)):
                source = order[here, i]
                at = i
                if i < many:
                    digit = _digit(stage[source], shift, min(8, span[1] - shift), descending=descending)
                    at = places[digit]
                    places[digit] = at + 1
                order[1 - here, at] = source
            here = 1 - here
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(items):
        sources[k] = order[0, rank * items + k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return sources


@amp.func
def _digit(key: Any, shift: Any, bits: Any, *, descending: amp.constant) -> Any:
    word = _ordered(key)
    if descending:
        word = ~word
    return amp.int32((word >> shift) & ((1 << bits) - 1))


@amp.func
def _ordered(x: Any) -> Any:
    """Unsigned integers with the same order as the numbers."""
    if not isinstance(x, (amp.uint32, bool)):
        raise TypeError("keys are numbers: merge_sort sorts keys of any type, by a comparison")
    return amp.uint32(x)


@_ordered.register
def _(x: amp.int32) -> Any:
    return amp.asuint(x) ^ amp.uint32(0x80000000)


@_ordered.register
def _(x: amp.float32) -> Any:
    bits = amp.asuint(x)
    # NaN is the largest number, and the two zeros are equal.
    if (bits << 1) > amp.uint32(0xFF000000):
        bits = amp.uint32(0x7FFFFFFF)
    if (bits << 1) == 0:
        bits = amp.uint32(0)
    return ~bits if bits >> 31 != 0 else bits | amp.uint32(0x80000000)


@_ordered.register
def _(x: amp.float16) -> Any:
    return _ordered(amp.float32(x))


@_ordered.register
def _(x: amp.uint64) -> Any:
    return x


@_ordered.register
def _(x: amp.int64) -> Any:
    return amp.uint64(x) ^ _TOP


@_ordered.register
def _(x: amp.float64) -> Any:
    bits = x.view(np.uint64)
    if x != x:
        bits = _TOP - amp.uint64(1)
    if x == 0:
        bits = amp.uint64(0)
    return ~bits if bits >= _TOP else bits | _TOP
