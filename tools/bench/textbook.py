"""Algorithms as textbooks write them for tiles of threads: what a user would write without `vkamp.algorithms`.

On CPU devices vkamp lowers them to loops.  Each takes and returns arrays on the device.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp

#: Threads of a tile in a row, and of each side of a square one.
_ROW, _SIDE = 256, 16


@amp.kernel
def _sum_tile(t_idx, values, sums, n):
    partial = amp.tile_static(_ROW, amp.float32)
    here = t_idx.local[0]
    partial[here] = values[min(t_idx.global_[0], n - 1)] if t_idx.global_[0] < n else 0.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    distance = _ROW // 2
    while distance > 0:
        if here < distance:
            partial[here] += partial[here + distance]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        distance //= 2
    if here == 0:
        sums[t_idx.tile] = partial[0]


def total(a: Any) -> Any:
    """The sum of float32: M. Harris' tree in each tile, and again of the tiles' sums."""
    view = a.accelerator_view
    while True:
        n = a.extent[0]
        tiles = -(-n // _ROW)
        sums = amp.array(amp.extent(tiles), np.float32, accelerator_view=view)
        amp.parallel_for_each(view, amp.extent(n).tile(_ROW).pad(), _sum_tile, a, sums, n)
        if tiles == 1:
            return sums
        a = sums


@amp.kernel
def _scan_tile(t_idx, values, scanned, totals, n):
    partial = amp.tile_static(_ROW, amp.int32)
    here = t_idx.local[0]
    partial[here] = values[min(t_idx.global_[0], n - 1)]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    distance = 1
    while distance < _ROW:
        left = 0
        if here >= distance:
            left = partial[here - distance]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        partial[here] += left
        t_idx.barrier.wait_with_tile_static_memory_fence()
        distance *= 2
    if t_idx.global_[0] < n:
        scanned[t_idx] = partial[here]
    if here == _ROW - 1:
        totals[t_idx.tile] = partial[here]


@amp.kernel
def _add_before(t_idx, scanned, totals):
    if t_idx.tile[0] > 0 and t_idx.global_[0] < scanned.extent[0]:
        scanned[t_idx] += totals[t_idx.tile[0] - 1]


def scan(a: Any) -> Any:
    """The inclusive scan of int32: Hillis and Steele's in each tile, then of the tiles' totals, which are added."""
    view, n = a.accelerator_view, a.extent[0]
    domain = amp.extent(n).tile(_ROW).pad()
    scanned = amp.array(a.extent, np.int32, accelerator_view=view)
    totals = amp.array(amp.extent(-(-n // _ROW)), np.int32, accelerator_view=view)
    amp.parallel_for_each(view, domain, _scan_tile, a, scanned, totals, n)
    if totals.extent[0] > 1:
        amp.parallel_for_each(view, domain, _add_before, scanned, scan(totals))
    return scanned


@amp.kernel
def _flags(idx, a, flags):
    flags[idx] = 1 if a[idx] >= 0 else 0


@amp.kernel
def _compact(idx, a, upto, out):
    if a[idx] >= 0:
        out[upto[idx] - 1] = a[idx]


def select(a: Any) -> Any:
    """The elements that are not negative: a scan of flags, and a scatter; waits for their number."""
    view = a.accelerator_view
    flags, out = (amp.array(a.extent, np.int32, accelerator_view=view) for _ in range(2))
    amp.parallel_for_each(view, a.extent, _flags, a, flags)
    upto = scan(flags)
    amp.parallel_for_each(view, a.extent, _compact, a, upto, out)
    return amp.array_view(out)[: int(amp.array_view(upto)[a.extent[0] - 1])]


@amp.kernel
def _transpose_tile(t_idx, matrix, transposed):
    values = amp.tile_static((_SIDE, _SIDE), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    values[row, col] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    transposed[t_idx.tile_origin[1] + row, t_idx.tile_origin[0] + col] = values[col, row]


def transpose(a: Any) -> Any:
    """The transposed matrix, through tiles of 16 x 16, whose extents it needs multiples of."""
    out = amp.array(amp.extent(a.extent[1], a.extent[0]), np.float32, accelerator_view=a.accelerator_view)
    amp.parallel_for_each(a.accelerator_view, a.extent.tile(_SIDE, _SIDE), _transpose_tile, a, out)
    return out


@amp.kernel
def _sum_column(idx, matrix, sums):
    total = 0.0
    for row in range(matrix.extent[0]):
        total += matrix[row, idx[0]]
    sums[idx] = total


def sums_of_columns(a: Any) -> Any:
    """A thread for each column."""
    sums = amp.array(amp.extent(a.extent[1]), np.float32, accelerator_view=a.accelerator_view)
    amp.parallel_for_each(a.accelerator_view, sums.extent, _sum_column, a, sums)
    return sums


@amp.kernel
def _count_bytes(t_idx, values, counts, n):
    own = amp.tile_static(_ROW, amp.int32)
    own[t_idx.local[0]] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.global_[0] < n:
        amp.atomic_fetch_add(own[values[t_idx]], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if own[t_idx.local[0]] > 0:
        amp.atomic_fetch_add(counts[t_idx.local[0]], own[t_idx.local[0]])


def counts_of_bytes(a: Any) -> Any:
    """How often each byte occurs: counters of a tile, which are added to those of all tiles."""
    counts = amp.array(np.zeros(_ROW, np.int32), accelerator_view=a.accelerator_view)
    amp.parallel_for_each(a.accelerator_view, a.extent.tile(_ROW).pad(), _count_bytes, a, counts, a.extent[0])
    return counts


@amp.kernel
def _compare_and_exchange(idx, a, span, distance):
    i = idx[0]
    other = i ^ distance
    if other > i and (a[i] > a[other]) == (i & span == 0):
        x = a[i]
        a[i] = a[other]
        a[other] = x


def bitonic_sort(a: Any) -> Any:
    """K. Batcher's network, of a power of two of int32: a launch for each step."""
    out = amp.array(a.extent, np.int32, accelerator_view=a.accelerator_view)
    amp.copy(a, out)
    span = 2
    while span <= a.extent[0]:
        distance = span // 2
        while distance > 0:
            amp.parallel_for_each(a.accelerator_view, out.extent, _compare_and_exchange, out, span, distance)
            distance //= 2
        span *= 2
    return out


@amp.kernel
def _lower_bound(idx, ordered, values, places):
    low, high = 0, ordered.extent[0]
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < values[idx]:
            low = middle + 1
        else:
            high = middle
    places[idx] = low


def places_in_order(ordered: Any, values: Any) -> Any:
    """A binary search by a thread for each value."""
    places = amp.array(values.extent, np.int32, accelerator_view=values.accelerator_view)
    amp.parallel_for_each(values.accelerator_view, places.extent, _lower_bound, ordered, values, places)
    return places
