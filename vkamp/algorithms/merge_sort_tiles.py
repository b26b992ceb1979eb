"""The merge sort for GPUs: it sorts blocks of a tile's size, and then merges sorted runs in pairs.

Each thread of a tile sorts its own elements in registers by exchanges of neighbours, which is stable. The tile then
merges its threads' runs in ``tile_static`` memory. In each pass, one launch finds where the blocks of the merged runs
begin in both runs (O. Green, R. McColl and D. Bader, *GPU Merge Path*, 2012). Each tile then loads the two parts of its
block, merges them, and stores them contiguously (CUB's ``DeviceMergeSort``).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy

#: The threads of a tile without values and with them, and the elements of each. This number is odd, so that the
#: elements of different threads are in different banks.
THREADS, THREADS_OF_PAIRS, ITEMS = 256, 128, 15
#: The number of bytes of ``tile_static`` memory for a tile's elements.
_STAGE = 32 * 1024


def _shape_of(view: amp.accelerator_view, itemsize: int, most: int) -> tuple[int, int]:
    """Returns the number of threads of a tile, a power of two up to ``most``, and of the elements of each thread, for
    elements of a size in bytes.
    """
    if view.accelerator.is_emulated:
        # CPU drivers compile kernels with few loads faster.
        return 32, 3
    limits = view.accelerator.limits
    assert limits is not None
    threads, room = min(most, 1 << limits.tile_threads.bit_length() - 1), min(_STAGE, limits.shared_bytes)
    while threads > 32 and threads * itemsize > room:
        threads //= 2
    return threads, min(max(room // (threads * itemsize) - 1 | 1, 1), ITEMS)


@amp.func
def pair_of_runs(n: Any, width: Any, place: Any) -> Any:
    """``(begin, middle, end)`` of the pair of runs of ``width`` elements that contains a position."""
    run = place // width
    begin = (run - run % 2) * width
    middle = begin + min(width, n - begin)
    end = middle + min(width, n - middle)
    return begin, middle, end


@amp.func
def split_of_pair(keys: Any, n: Any, width: Any, place: Any, less: Any) -> Any:
    """``(begin, middle, end, many)`` for a position: its pair of runs, and how many elements before it come from
    the left run.

    The left run ends before ``middle``, where the right one begins.
    """
    begin, middle, end = pair_of_runs(n, width, place)
    before = place - begin
    low = max(0, before - (end - middle))
    high = min(before, middle - begin)
    while low < high:
        at = (low + high) >> 1
        # An element of the left run comes before an equal one of the right run.
        if less(keys.value(middle + before - 1 - at), keys.value(begin + at)):
            high = at
        else:
            low = at + 1
    return begin, middle, end, low


@amp.func
def sort_own(own: Any, sources: Any, valid: Any, less: Any) -> None:
    """Sorts the first ``valid`` items of a thread, and moves their numbers alike: an odd-even transposition sort."""
    for r in amp.static_range(len(own)):
        for k in amp.static_range(r % 2, len(own) - 1, 2):
            if less(own[k + 1], own[k]) and k + 1 < valid:
                x = own[k].copy()
                own[k] = own[k + 1]
                own[k + 1] = x
                source = sources[k]
                sources[k] = sources[k + 1]
                sources[k + 1] = source


@amp.func
def _merge_own(
    stage: Any, own: Any, sources: Any, begin: Any, middle: Any, end: Any, before: Any, last: Any, less: Any
) -> None:
    """Merges a thread's items from two runs, ``begin`` to ``middle`` and ``middle`` to ``end``, after the first
    ``before`` items.

    ``sources`` are their positions in ``stage``; ``last`` is the last position that has an element.
    """
    low = max(0, before - (end - middle))
    high = min(before, middle - begin)
    while low < high:
        at = (low + high) >> 1
        # An element of the left run comes before an equal one of the right run.
        if less(stage[middle + before - 1 - at], stage[begin + at]):
            high = at
        else:
            low = at + 1
    i = begin + low
    j = middle + before - low
    x = stage[min(i, last)].copy()
    y = stage[min(j, last)].copy()
    for k in amp.static_range(len(own)):
        is_less = less(y, x)
        is_right = j < end and (i >= middle or is_less)
        at = j if is_right else i
        own[k] = y if is_right else x
        sources[k] = at
        following = stage[min(at + 1, last)].copy()
        x = x if is_right else following
        y = following if is_right else y
        i += 0 if is_right else 1
        j += 1 if is_right else 0


@amp.kernel
def sort_blocks(
    t_idx, keys, values, out, moved, n, less, *, items: amp.constant, has_values: amp.constant,
):  # fmt: skip
    """Sorts the keys of one tile, and moves their values alike."""
    threads = t_idx.tile_dim0
    rank = t_idx.local[0]
    block = t_idx.tile[0] * (threads * items)
    valid = min(threads * items, n - block)
    first = rank * items
    own = amp.private(items, out.dtype)
    sources = amp.private(items, amp.int32)
    stage = amp.tile_static(threads * items, out.dtype)
    order = amp.tile_static(threads * items if has_values else 1, amp.int32)
    # A thread loads the elements that it replaces at the end: the result may be stored in the memory of the keys.
    for k in amp.static_range(items):
        if rank + k * threads < valid:
            own[k] = keys.value(block + rank + k * threads)
    for k in amp.static_range(items):
        if rank + k * threads < valid:
            stage[rank + k * threads] = own[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(items):
        own[k] = stage[min(first + k, valid - 1)]
        sources[k] = first + k
    sort_own(own, sources, valid - first, less)
    each = 1
    while each < threads:
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in amp.static_range(items):
            stage[first + k] = own[k]
            if has_values:
                order[first + k] = sources[k]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        begin = (rank & ~(2 * each - 1)) * items
        middle = min(begin + each * items, valid)
        end = min(begin + 2 * each * items, valid)
        _merge_own(stage, own, sources, begin, middle, end, first - begin, valid - 1, less)
        if has_values:
            for k in amp.static_range(items):
                sources[k] = order[min(sources[k], valid - 1)]
        each *= 2
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(items):
        stage[first + k] = own[k]
        if has_values:
            order[first + k] = sources[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(items):
        p = rank + k * threads
        if p < valid:
            out[block + p] = stage[p]
            if has_values:
                moved[block + p] = values.value(block + order[p])


@amp.kernel
def find_splits(idx, keys, splits, n, width, length, less):
    """For each block of the merged runs of ``width`` elements: how many elements before it come from the left run."""
    splits[idx] = split_of_pair(keys, n, width, idx[0] * length, less)[3]


@amp.kernel
def merge_blocks(
    t_idx, keys, values, splits, out, moved, n, width, less, *, items: amp.constant, has_values: amp.constant,
):  # fmt: skip
    """Merges one block of the pairs of runs of ``width`` elements, which is a multiple of a block's length."""
    threads = t_idx.tile_dim0
    rank = t_idx.local[0]
    length = threads * items
    block = t_idx.tile[0] * length
    valid = min(length, n - block)
    begin, middle, end = pair_of_runs(n, width, block)
    first = begin + splits[t_idx.tile[0]]
    stop = middle if block + valid == end else begin + splits[min(t_idx.tile[0] + 1, splits.extent[0] - 1)]
    #: From the left run there are `many` elements, and the others begin at `other` for the place `many`.
    many = stop - first
    other = middle + block - first - many
    own = amp.private(items, out.dtype)
    sources = amp.private(items, amp.int32)
    stage = amp.tile_static(length, out.dtype)
    if has_values:
        beside = amp.private(items, moved.dtype)
        staged = amp.tile_static(length, moved.dtype)
    for k in amp.static_range(items):
        p = min(rank + k * threads, valid - 1)
        own[k] = keys.value(p + (first if p < many else other))
        if has_values:
            beside[k] = values.value(p + (first if p < many else other))
    for k in amp.static_range(items):
        stage[rank + k * threads] = own[k]
        if has_values:
            staged[rank + k * threads] = beside[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    _merge_own(stage, own, sources, 0, many, valid, min(rank * items, valid), valid - 1, less)
    if has_values:
        for k in amp.static_range(items):
            beside[k] = staged[min(sources[k], valid - 1)]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(items):
        stage[rank * items + k] = own[k]
        if has_values:
            staged[rank * items + k] = beside[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(items):
        p = rank + k * threads
        if p < valid:
            out[block + p] = stage[p]
            if has_values:
                moved[block + p] = staged[p]


def in_turn(view: amp.accelerator_view, count: int, out: Any, moved: Any) -> Iterator[tuple[Any, Any]]:
    """The containers in which each of ``count`` launches stores keys and values: new arrays and the results
    alternately.

    If there are no values, ``moved`` is ``None``, and the keys' containers stand for those of the values.
    """
    results = out, out if moved is None else moved
    if count > 1:
        spare = amp.array(out.extent, out.dtype, accelerator_view=view)
        other = spare if moved is None else amp.array(moved.extent, moved.dtype, accelerator_view=view)
    for k in range(count):
        yield results if (count - 1 - k) % 2 == 0 else (spare, other)


def sort_pairs(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy | None, less: Any, out: Any, moved: Any
) -> None:
    """Stores the sorted keys in ``out``, and the value of each in ``moved``.

    ``out`` may be the memory of the keys; ``moved`` is not that of the values.
    """
    n, has_values = keys.extent[0], values is not None
    if has_values:
        threads, items = _shape_of(view, out.dtype.itemsize + max(moved.dtype.itemsize, 4), THREADS_OF_PAIRS)
    else:
        threads, items = _shape_of(view, out.dtype.itemsize, THREADS)
    length = threads * items
    tiles = -(-n // length)
    domain = amp.extent(tiles * threads).tile(threads)
    targets = in_turn(view, 1 + (tiles - 1).bit_length(), out, moved)
    given = keys if values is None else values
    target, other = next(targets)
    amp.parallel_for_each(
        view, domain, sort_blocks, keys, given, target, other, n, less, items=items, has_values=has_values
    )  # fmt: skip
    if tiles > 1:
        splits = amp.array(amp.extent(tiles), np.int32, accelerator_view=view)
    width = length
    for merged, moved_there in targets:
        keys, given = lazy.Elements(target), lazy.Elements(other)
        target, other = merged, moved_there
        amp.parallel_for_each(view, splits.extent, find_splits, keys, splits, n, width, length, less)
        amp.parallel_for_each(
            view, domain, merge_blocks, keys, given, splits, target, other, n, width, less,
            items=items, has_values=has_values,
        )  # fmt: skip
        width *= 2
