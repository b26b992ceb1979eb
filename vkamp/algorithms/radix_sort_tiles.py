"""The radix sort in tiles of threads that do not wait for each other: eight bits in each pass.

In each pass, tiles count their digits, a scan of all counts gives each tile its places, and the tiles move their keys
there.  A tile ranks its keys by votes of subgroups: of each key the lanes with the same digit are found with one ballot
for each bit.  It then puts the keys in their order in ``tile_static`` memory, so that neighbouring threads store to
neighbouring places (A. Adinets and D. Merrill, *Onesweep: A Faster Least Significant Digit Radix Sort for GPUs*, 2022,
section 4.4; T. Smith, *GPUSorting*).  ``radix_sort_sweep`` does all that in one launch.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,arg-type,operator,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._digits import passes
from vkamp.algorithms.radix_sort_ranks import DIGITS, rank_of_key
from vkamp.algorithms.scan import scan_into

#: Bytes of ``tile_static`` memory that a tile stages its elements in.
_STAGE = 20 * 1024
#: Subgroups of a tile, and elements of a thread at most.
_SUBGROUPS = 8
_ITEMS = 12


def _shape_of(view: amp.accelerator_view, itemsize: int) -> tuple[int, int]:
    """The threads of a tile, and the elements of each, for elements of that many bytes."""
    limits = view.accelerator.limits
    subgroup_size, most, memory = (32, 256, 32768) if limits is None else (
        limits.subgroup_size, limits.tile_threads, limits.shared_bytes
    )  # fmt: skip
    threads = min(_SUBGROUPS * subgroup_size, most)
    counts = (threads // subgroup_size + 1) * DIGITS * 4 + threads * 4
    items = min(memory - counts, _STAGE) // (threads * itemsize)
    return threads, min(max(items, 1), _ITEMS)


@amp.kernel
def count_digits(t_idx, keys, counts, n, shift, digits, *, items: amp.constant):
    """Counts the digits of one tile; ``counts[d * tiles + t]`` is how often tile ``t`` has digit ``d``."""
    own = amp.tile_static(DIGITS, amp.int32)
    threads = t_idx.tile_dim0
    for d in range(t_idx.local[0], DIGITS, threads):
        own[d] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    first = t_idx.tile[0] * (threads * items) + t_idx.local[0]
    # All loads first: atomics would keep each from starting before the last one has finished.
    found = amp.private(items, amp.int32)
    for k in amp.static_range(items):
        found[k] = digits.of(keys.value(min(first + k * threads, n - 1)), shift)
    for k in amp.static_range(items):
        if first + k * threads < n:
            amp.atomic_fetch_add(own[found[k]], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    tiles = counts.extent[0] // DIGITS
    for d in range(t_idx.local[0], DIGITS, threads):
        counts[d * tiles + t_idx.tile[0]] = own[d]


@amp.func
def _places(t_idx: Any, counts: Any) -> Any:
    """Replaces the counts of each subgroup by the places of its first key of each digit in the order of the tile.

    ``counts[s * 256 + d]`` belongs to subgroup ``s``; the last row becomes the places of the digits in the tile.
    """
    threads = t_idx.tile_dim0
    subgroups = len(counts) // DIGITS - 1
    each = (DIGITS + threads - 1) // threads
    rank = t_idx.local[0]
    own = amp.private(each, amp.int32)
    total = 0
    for k in amp.static_range(each):
        d = rank * each + k
        own[k] = total
        if d < DIGITS:
            for s in range(subgroups):
                count = counts[s * DIGITS + d]
                counts[s * DIGITS + d] = total
                total += count
    before = tile.exclusive_scan(t_idx, total, functional.plus, 0, threads)[0]
    for k in amp.static_range(each):
        d = rank * each + k
        if d < DIGITS:
            counts[subgroups * DIGITS + d] = before + own[k]
            for s in range(subgroups):
                counts[s * DIGITS + d] += before
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.kernel
def move_tiles(
    t_idx, keys, values, places, sorted_keys, sorted_values, n, shift, digits, *,
    items: amp.constant, has_values: amp.constant, shares: amp.constant,
):  # fmt: skip
    """Moves the keys and values of one tile to their places; ``shares``: keys and values have the same type."""
    threads = t_idx.tile_dim0
    size = amp.target.subgroup_size
    subgroups = threads // size
    counts = amp.tile_static((subgroups + 1) * DIGITS, amp.int32)
    stage = amp.tile_static(threads * items, sorted_keys.dtype)
    own = amp.private(items, sorted_keys.dtype)
    ranks = amp.private(items, amp.int32)
    rank = t_idx.local[0]
    for d in range(rank, subgroups * DIGITS, threads):
        counts[d] = 0
    begin = t_idx.tile[0] * (threads * items)
    first = begin + amp.subgroup.id() * (size * items) + amp.subgroup.lane()
    for k in amp.static_range(items):
        own[k] = keys.value(min(first + k * size, n - 1))
    each = (DIGITS + threads - 1) // threads
    begins = amp.private(each, amp.int32)
    for k in amp.static_range(each):
        # Loaded early, because they are far from each other.
        begins[k] = places[min(rank + k * threads, DIGITS - 1) * (places.extent[0] // DIGITS) + t_idx.tile[0]]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(items):
        # Positions after the end sort last.
        ranks[k] = rank_of_key(digits.of(own[k], shift) if first + k * size < n else DIGITS - 1, counts)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    _places(t_idx, counts)
    for k in amp.static_range(items):
        digit = digits.of(own[k], shift) if first + k * size < n else DIGITS - 1
        ranks[k] += counts[amp.subgroup.id() * DIGITS + digit]
        stage[ranks[k]] = own[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    # From places in the tile to places in the whole.
    for k in amp.static_range(each):
        d = rank + k * threads
        if d < DIGITS:
            counts[d] = begins[k] - counts[subgroups * DIGITS + d]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    targets = amp.private(items, amp.int32)
    for k in amp.static_range(items):
        if begin + rank + k * threads < n:
            key = stage[rank + k * threads].copy()
            targets[k] = counts[digits.of(key, shift)] + rank + k * threads
            sorted_keys[targets[k]] = key
    if has_values:
        if shares:
            staged = stage
            t_idx.barrier.wait_with_tile_static_memory_fence()
        else:
            staged = amp.tile_static(threads * items, sorted_values.dtype)
        for k in amp.static_range(items):
            staged[ranks[k]] = values.value(min(first + k * size, n - 1))
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in amp.static_range(items):
            if begin + rank + k * threads < n:
                sorted_values[targets[k]] = staged[rank + k * threads]


def sort_pairs(
    view: amp.accelerator_view,
    keys: lazy.Lazy,
    values: lazy.Lazy | None,
    digits: Any,
    bits: range,
    out: Any,
    moved: Any,
) -> None:
    """Stores the keys in the order of their digits in ``out``, and the values of each in ``moved``.

    ``out`` may be the memory of the keys, and ``moved`` that of the values, if there are 16 bits or more.
    """
    n = keys.extent[0]
    has_values = values is not None
    shares = has_values and moved.dtype == out.dtype
    threads, items = _shape_of(view, out.dtype.itemsize + (moved.dtype.itemsize if has_values and not shares else 0))
    tiles = -(-n // (threads * items))
    domain = amp.extent(tiles * threads).tile(threads)
    counts = amp.array(amp.extent(DIGITS * tiles), np.int32, accelerator_view=view)
    given = keys if values is None else values
    for shift, target, target_of_values in passes(view, bits, out, moved if has_values else None):
        amp.parallel_for_each(view, domain, count_digits, keys, counts, n, shift, digits, items=items)
        scan_into(view, lazy.Elements(counts), counts, functional.plus, inclusive=False, init=0)
        amp.parallel_for_each(
            view, domain, move_tiles, keys, given, counts, target, target_of_values, n, shift, digits,
            items=items, has_values=has_values, shares=shares,
        )  # fmt: skip
        keys, given = lazy.Elements(target).flat(), lazy.Elements(target_of_values).flat()
