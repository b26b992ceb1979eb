"""The radix sort of GPUs in one launch for each digit: each pass reads and writes every key once.

A. Adinets and D. Merrill, *Onesweep: A Faster Least Significant Digit Radix Sort for GPUs* (2022).  One launch counts
the digits of all passes.  In each pass a tile publishes how many keys of each digit it has, ranks its keys meanwhile,
and adds what the tiles before it have published (decoupled look-back, as in ``vkamp.tile.carry``), one thread for each
digit.  A word of the status holds a count of 30 bits and whether it is that of the tile or of all tiles up to it.  A
tile that waits too long counts the digits of the missing tile itself.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,arg-type,operator,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._digits import passes
from vkamp.algorithms.radix_sort_ranks import DIGITS, rank_of_key

#: What a status word holds besides a count: nothing yet, a tile's count, or that of all tiles up to it.
_TOTAL, _PREFIX = np.uint32(1 << 30), np.uint32(2 << 30)
_COUNT = np.uint32((1 << 30) - 1)
#: More keys than this have counts of more than 30 bits.
MOST = (1 << 30) - 1
#: Looks at a count that is missing, before it is computed here.
LOOKS = 256
#: Tiles at whose counts a thread looks at once.
WINDOW = 4
#: Threads of a tile, and what its keys take of ``tile_static`` memory at most.
_SUBGROUPS = 8
_STAGE = 24 * 1024
_ITEMS = 24
#: Of the tiles that count: threads, steps of four elements, tiles at most, and the counters of all digits.
_COUNTERS, _QUADS, _COUNTING, _ALL = 512, 4, 1056, 8192


def shape_of(view: amp.accelerator_view, itemsize: int) -> tuple[int, int]:
    """The threads of a tile, and the elements of each, for elements of that many bytes."""
    limits = view.accelerator.limits
    subgroup_size, most, memory = (32, 256, 32768) if limits is None else (
        limits.subgroup_size, limits.tile_threads, limits.shared_bytes
    )  # fmt: skip
    threads = min(_SUBGROUPS * subgroup_size, most)
    stage = min(_STAGE, memory - (threads // subgroup_size + 2) * DIGITS * 4 - 256)
    return threads, min(max(stage // (threads * itemsize), 1), _ITEMS)


@amp.kernel
def clear(idx, words):
    """Sets the counts and the tickets to 0."""
    words[idx] = 0


@amp.kernel
def count_all_digits(
    t_idx, keys, words, status, n, length, shift, digits, *, many: amp.constant, quads: amp.constant,
    copies: amp.constant,
):  # fmt: skip
    """Adds the digits of ``length`` keys to the counts of all passes; clears a part of the status.

    As in ``histogram_tiles``, there are several counters for each digit.
    """
    threads = t_idx.tile_dim0
    own = amp.tile_static(many * DIGITS * copies, amp.int32)
    for d in range(t_idx.local[0], many * DIGITS * copies, threads):
        own[d] = 0
    for at in range(t_idx.global_[0], status.extent[0], threads * (1 + (n - 1) // length)):
        status[at] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    copy = t_idx.local[0] & (copies - 1)
    begin = t_idx.tile[0] * length
    end = begin + min(length, n - begin)
    found = amp.private(4 * quads, type(keys.value(0)))
    for first in range(begin // 4 + t_idx.local[0], end // 4, threads * quads):
        # All loads first: atomics would keep each from starting before the last one has finished.
        for k in amp.static_range(quads):
            at = min(first + k * threads, end // 4 - 1)
            found[4 * k], found[4 * k + 1], found[4 * k + 2], found[4 * k + 3] = keys.four(at)
        for k in amp.static_range(quads):
            if first + k * threads < end // 4:
                for j in amp.static_range(4):
                    for p in amp.static_range(many):
                        digit = p * DIGITS + digits.of(found[4 * k + j], shift + 8 * p)
                        amp.atomic_fetch_add(own[digit * copies + copy], 1)
    at = end // 4 * 4 + t_idx.local[0]
    if at < end:
        key = keys.value(at).copy()
        for p in amp.static_range(many):
            amp.atomic_fetch_add(own[(p * DIGITS + digits.of(key, shift + 8 * p)) * copies + copy], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for d in range(t_idx.local[0], many * DIGITS, threads):
        total = 0
        for k in range(copies):
            total += own[d * copies + (k + d & copies - 1)]
        if total > 0:
            amp.atomic_fetch_add(words[d], amp.uint32(total))


@amp.kernel
def begin_digits(t_idx, words):
    """Replaces the counts of each pass by the places of the first key of each digit."""
    at = t_idx.global_[0]
    count = words[at]
    words[at] = tile.exclusive_scan(t_idx, count, functional.plus, amp.uint32(0))[0]


@amp.func
def publish(status: Any, at: Any, word: Any) -> None:
    """Makes a count visible to the other tiles."""
    amp.atomic_store(status[at], word, order="relaxed")


@amp.func
def _count_again(
    t_idx: Any, keys: Any, status: Any, missing: Any, shift: Any, digits: Any, own: Any, *, items: amp.constant
) -> None:
    """Publishes the counts of a tile that all others would wait for."""
    threads = t_idx.tile_dim0
    for d in range(t_idx.local[0], DIGITS, threads):
        own[d] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in range(items):
        key = keys.value(missing * (threads * items) + k * threads + t_idx.local[0])
        amp.atomic_fetch_add(own[digits.of(key, shift)], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    flag = _PREFIX if missing == 0 else _TOTAL
    for d in range(t_idx.local[0], DIGITS, threads):
        empty = amp.uint32(0)
        amp.atomic_compare_exchange(status[missing * DIGITS + d], empty, flag | amp.uint32(own[d]))
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _walk(status: Any, d: Any, upto: Any, total: Any) -> Any:
    """Reads the counts of a digit in the tiles before ``upto``, several at a time, and returns the new ``(upto,
    total)``.
    """
    words = amp.private(WINDOW, amp.uint32)
    looks = 0
    while upto > 0 and looks < LOOKS:
        for k in amp.static_range(WINDOW):
            words[k] = amp.atomic_load(status[max(upto - 1 - k, 0) * DIGITS + d], order="relaxed")
        looks += 1
        goes_on = True
        for k in amp.static_range(WINDOW):
            # A missing count ends the walk for now, the sum of all tiles before ends it for good.
            if words[k] == 0:
                goes_on = False
            if goes_on:
                looks = 0
                total += words[k] & _COUNT
                upto = upto - 1 if words[k] < _PREFIX else 0
                goes_on = upto > 0
    return upto, total


@amp.func
def _look_back(
    t_idx: Any, keys: Any, status: Any, number: Any, shift: Any, digits: Any, *, each: amp.constant, items: amp.constant
) -> Any:
    """How many keys of each digit of this thread the tiles before this one have."""
    before = amp.private(each, amp.uint32)
    left = amp.private(each, amp.int32)
    for k in amp.static_range(each):
        before[k] = 0
        left[k] = number if t_idx.local[0] * each + k < DIGITS else 0
    own = amp.tile_static(DIGITS, amp.int32)
    waits = amp.tile_static(1, amp.int32)
    missing = 1
    while missing > 0:
        if t_idx.local[0] == 0:
            waits[0] = 0
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in amp.static_range(each):
            upto, total = _walk(status, t_idx.local[0] * each + k, left[k], before[k])
            left[k] = upto
            before[k] = total
            if upto > 0:
                amp.atomic_fetch_max(waits[0], upto)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        missing = waits[0]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if missing > 0:
            _count_again(t_idx, keys, status, missing - 1, shift, digits, own, items=items)
    return before


@amp.func
def _count(
    t_idx: Any, own: Any, counts: Any, begins: Any, status: Any, number: Any, valid: Any, shift: Any, digits: Any,
    totals: Any, *, each: amp.constant,
) -> None:  # fmt: skip
    """Publishes the tile's counts; ``counts`` become the places of each subgroup's first keys in the order of the tile.

    ``begins``: the places of the first key of each digit.
    """
    threads = t_idx.tile_dim0
    size = amp.target.subgroup_size
    subgroups = threads // size
    rank = t_idx.local[0]
    for d in range(rank, subgroups * DIGITS, threads):
        counts[d] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    first = amp.subgroup.id() * (size * len(own)) + amp.subgroup.lane()
    for k in amp.static_range(len(own)):
        # Positions after the end sort last.
        digit = digits.of(own[k], shift) if first + k * size < valid else DIGITS - 1
        amp.atomic_fetch_add(counts[amp.subgroup.id() * DIGITS + digit], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    here = amp.private(each, amp.int32)
    running = 0
    for k in amp.static_range(each):
        d = rank * each + k
        here[k] = running
        if d < DIGITS:
            total = 0
            for s in amp.static_range(subgroups):
                count = counts[s * DIGITS + d]
                counts[s * DIGITS + d] = total
                total += count
            publish(status, number * DIGITS + d, (_PREFIX if number == 0 else _TOTAL) | amp.uint32(total))
            totals[k] = amp.uint32(total)
            running += total
    before = tile.exclusive_scan(t_idx, running, functional.plus, 0)[0]
    for k in amp.static_range(each):
        d = rank * each + k
        if d < DIGITS:
            begins[d] = before + here[k]
            for s in amp.static_range(subgroups):
                counts[s * DIGITS + d] += before + here[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.kernel
def sweep(
    t_idx, keys, values, sorted_keys, sorted_values, words, status, spare, n, shift, number_of_pass, digits, *,
    items: amp.constant, has_values: amp.constant, shares: amp.constant, many: amp.constant,
):  # fmt: skip
    """Moves keys and values by one digit.  ``status`` is 0 before it; ``spare``, that of the next pass, after it.

    ``shares``: keys and values have the same type.
    """
    threads = t_idx.tile_dim0
    size = amp.target.subgroup_size
    rank = t_idx.local[0]
    each = (DIGITS + threads - 1) // threads
    own = amp.private(items, sorted_keys.dtype)
    ranks = amp.private(items, amp.int32)
    totals = amp.private(each, amp.uint32)
    begins = amp.tile_static(DIGITS, amp.int32)
    counts = amp.tile_static(threads // size * DIGITS, amp.int32)
    stage = amp.tile_static(threads * items, sorted_keys.dtype)
    number = tile.ticket(t_idx, words.section(amp.index(many * DIGITS + number_of_pass), amp.extent(1)))
    begin = number * (threads * items)
    valid = n - begin
    first = begin + amp.subgroup.id() * (size * items) + amp.subgroup.lane()
    for k in amp.static_range(items):
        own[k] = keys.value(min(first + k * size, n - 1))
    for d in range(rank, DIGITS, threads):
        spare[t_idx.tile[0] * DIGITS + d] = 0
    _count(t_idx, own, counts, begins, status, number, valid, shift, digits, totals, each=each)
    for k in amp.static_range(items):
        digit = digits.of(own[k], shift) if first + k * size < n else DIGITS - 1
        ranks[k] = rank_of_key(digit, counts)
        stage[ranks[k]] = own[k]
    before = _look_back(t_idx, keys, status, number, shift, digits, each=each, items=items)
    for k in amp.static_range(each):
        d = rank * each + k
        if d < DIGITS:
            if number > 0:
                publish(status, number * DIGITS + d, _PREFIX | (before[k] + totals[k]))
            # From places in the tile to places in the whole.
            begins[d] = amp.int32(words[number_of_pass * DIGITS + d] + before[k]) - begins[d]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    targets = amp.private(items, amp.int32)
    for k in amp.static_range(items):
        if rank + k * threads < valid:
            key = stage[rank + k * threads].copy()
            targets[k] = begins[digits.of(key, shift)] + rank + k * threads
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
            if rank + k * threads < valid:
                sorted_values[targets[k]] = staged[rank + k * threads]


def can_sweep(view: amp.accelerator_view, n: int) -> bool:
    """Whether the tiles of a device may wait for each other: CPU drivers run few at once, and lavapipe ends loops."""
    return n <= MOST and not view.accelerator.is_emulated


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
    n, many = keys.extent[0], len(bits)
    has_values = values is not None
    shares = has_values and moved.dtype == out.dtype
    threads, items = shape_of(view, out.dtype.itemsize + (moved.dtype.itemsize if has_values and not shares else 0))
    tiles = -(-n // (threads * items))
    domain = amp.extent(tiles * threads).tile(threads)
    words = amp.array(amp.extent(many * DIGITS + many), np.uint32, accelerator_view=view)
    status, spare = (amp.array(amp.extent(DIGITS * tiles), np.uint32, accelerator_view=view) for _ in range(2))
    limits = view.accelerator.limits
    counters = _COUNTERS if limits is None else min(_COUNTERS, limits.tile_threads)
    split = _choose.blocks(n, counters * _QUADS * 4, _COUNTING)
    counting = amp.extent(split.pieces * counters).tile(counters)
    copies = max(1 << (_ALL // (many * DIGITS)).bit_length() - 1, 1)
    amp.parallel_for_each(view, words.extent, clear, words)
    amp.parallel_for_each(
        view, counting, count_all_digits, keys.flat(), words, status, n, split.length, bits.start, digits, many=many,
        quads=_QUADS, copies=copies,
    )  # fmt: skip
    amp.parallel_for_each(view, amp.extent(many * DIGITS).tile(DIGITS), begin_digits, words)
    given = keys if values is None else values
    for number, (shift, target, target_of_values) in enumerate(passes(view, bits, out, moved if has_values else None)):
        amp.parallel_for_each(
            view, domain, sweep, keys, given, target, target_of_values, words, status, spare, n, shift, number,
            digits, items=items, has_values=has_values, shares=shares, many=many,
        )  # fmt: skip
        keys, given = lazy.Elements(target).flat(), lazy.Elements(target_of_values).flat()
        status, spare = spare, status
