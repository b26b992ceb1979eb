"""Sorts of lines of some thousand numbers on GPUs in one launch: each tile sorts a line in ``tile_static`` memory.

This is the radix sort of ``radix_sort_tiles``, eight bits in each pass, with the elements in registers between passes.
A subgroup ranks its elements among those with the same digit by votes; the counts of the subgroups give each of them
the places of its elements in the line.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,arg-type,operator,call-overload"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._digits import bits_of, digits_of, words_in
from vkamp.algorithms.lazy import dtype_of
from vkamp.algorithms.radix_sort_ranks import DIGITS, rank_of_key

#: The shortest line; shorter ones are faster in ``sort_lines_tiles``.
LEAST = 257
#: Elements of a thread: multiples of a few, up to so many that a larger tile is faster, and at most. Subgroups of the
#: smallest and of the largest tile.
_FEW, _MANY, _MOST = 4, 16, 32
_SUBGROUPS = (2, 8)


@amp.func
def _begins_of_subgroups(t_idx: Any, counts: Any) -> None:
    """Replaces the counts of each subgroup by the places of its first element of each digit in the line."""
    threads = t_idx.tile_dim0
    subgroups = threads // amp.target.subgroup_size
    each = (DIGITS + threads - 1) // threads
    rank = t_idx.local[0]
    total = 0
    for k in amp.static_range(each):
        if rank * each + k < DIGITS:
            for s in amp.static_range(subgroups):
                total += counts[s * DIGITS + rank * each + k]
    before = tile.exclusive_scan(t_idx, total, functional.plus, 0)[0]
    for k in amp.static_range(each):
        if rank * each + k < DIGITS:
            for s in amp.static_range(subgroups):
                count = counts[s * DIGITS + rank * each + k]
                counts[s * DIGITS + rank * each + k] = before
                before += count
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _reorder(t_idx: Any, own: Any, ranks: Any, stage: Any, first: Any) -> None:
    """Moves the elements of all threads to their places."""
    for k in amp.static_range(len(own)):
        stage[ranks[k]] = own[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(len(own)):
        own[k] = stage[first + k * amp.target.subgroup_size]


@amp.kernel
def sort_line(
    t_idx, keys, out, length, passes, shift, digits, *, items: amp.constant, positions: amp.constant,
):  # fmt: skip
    """Stores the keys of a line in the order of their digits, or with ``positions`` their positions in the line."""
    threads = t_idx.tile_dim0
    size = amp.target.subgroup_size
    rank = t_idx.local[0]
    counts = amp.tile_static(threads // size * DIGITS, amp.int32)
    stage = amp.tile_static(threads * items, amp.uint32)
    own = amp.private(items, amp.uint32)
    places = amp.private(items if positions else 1, amp.uint32)
    ranks = amp.private(items, amp.int32)
    begin = t_idx.tile[0] * length
    first = amp.subgroup.id() * (size * items) + amp.subgroup.lane()
    for k in amp.static_range(items):
        own[k] = keys.value(begin + min(first + k * size, length - 1))
        if positions:
            places[k] = amp.uint32(first + k * size)
    for number in range(passes):
        for d in range(rank, threads // size * DIGITS, threads):
            counts[d] = 0
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in amp.static_range(items):
            # What is after the end of the line stays there.
            digit = digits.of(own[k], shift + 8 * number) if first + k * size < length else DIGITS - 1
            ranks[k] = rank_of_key(digit, counts) | digit << 16
        t_idx.barrier.wait_with_tile_static_memory_fence()
        _begins_of_subgroups(t_idx, counts)
        for k in amp.static_range(items):
            rank_and_digit = ranks[k]
            ranks[k] = (rank_and_digit & 0xFFFF) + counts[amp.subgroup.id() * DIGITS + (rank_and_digit >> 16)]
        _reorder(t_idx, own, ranks, stage, first)
        if positions:
            t_idx.barrier.wait_with_tile_static_memory_fence()
            _reorder(t_idx, places, ranks, stage, first)
    # The results may be the memory of the keys.
    t_idx.barrier.wait_with_all_memory_fence()
    for k in amp.static_range(items):
        if first + k * size < length:
            if positions:
                out[begin + first + k * size] = amp.int32(places[k])
            else:
                out[begin + first + k * size] = own[k]


def _shape_of(view: amp.accelerator_view, length: int) -> tuple[int, int] | None:
    """The threads of a tile, and the elements of each; None if a tile has no room for a line."""
    limits = view.accelerator.limits
    size, most, memory = (32, 256, 49152) if limits is None else (
        limits.subgroup_size, limits.tile_threads, limits.shared_bytes
    )  # fmt: skip
    threads, largest = (min(many * size, most // size * size) for many in _SUBGROUPS)
    while threads * _MANY < length and 2 * threads <= largest:
        threads *= 2
    items = -(-length // (threads * _FEW)) * _FEW
    # A scan takes up to one more number for each thread.
    room = memory - threads // size * DIGITS * 4 - threads * 4 - 64
    return (threads, items) if items <= _MOST and threads * items * 4 <= room else None


def sort(
    view: amp.accelerator_view, keys: lazy.Lazy, length: int, descending: bool, out: Any, *, positions: bool = False
) -> bool:
    """Stores each line of keys in its order in ``out``, which may be their memory, or the positions of its elements.

    Returns False for what is not sorted here: keys of more than 4 bytes, lines of few elements or more than a few
    thousand, and without ``positions`` elements of other sizes or with gaps between them.
    """
    dtype = dtype_of(keys)
    if dtype.names is not None or dtype.kind == "c" or dtype.itemsize > 4 or length < LEAST:
        return False
    shape = _shape_of(view, length) if _choose.form_of(view) == "tiles" else None
    target = out if positions else words_in(out)
    if shape is None or (not positions and (target is None or out.dtype != dtype or bits_of(keys) is None)):
        return False
    words, digits, passed = digits_of(keys, descending)
    threads, items = shape
    lines = keys.extent[0] // length
    amp.parallel_for_each(
        view, amp.extent(lines * threads).tile(threads), sort_line, words, target, length, len(passed), passed.start,
        digits, items=items, positions=positions,
    )  # fmt: skip
    return True
