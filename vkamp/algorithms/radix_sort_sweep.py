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
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._digits import Numbers, Positions, passes
from vkamp.algorithms.radix_sort_counts import begins_of_digits, words_for
from vkamp.algorithms.radix_sort_ranks import DIGITS, rank_of_key
from vkamp.dispatch import early_programs

#: What a status word holds besides a count: nothing yet, a tile's count, or that of all tiles up to it.
_TOTAL, _PREFIX = np.uint32(1 << 30), np.uint32(2 << 30)
_COUNT = np.uint32((1 << 30) - 1)
#: More keys than this have counts of more than 30 bits.
MOST = (1 << 30) - 1
#: Looks at a count that is missing, before it is computed here.
LOOKS = 256
#: Tiles at whose counts a thread looks at once.
WINDOW = 4
#: Subgroups of a tile, and elements of a thread at most, without and with values. With more, the registers of an H200
#: suffice for one tile of a processor instead of two.
_SUBGROUPS, _ITEMS, _PAIRS = 8, 32, 24
#: Elements of a thread if there are no more tiles of these than this for each compute unit. Few elements are then
#: sorted by more units (on an H200 16,384 in 39 us instead of 66), and a driver compiles the kernel in a third of the
#: time.
_FEW, _TILES_OF_UNIT = 8, 2


def _shape_of(view: amp.accelerator_view, n: int, itemsize: int, has_values: bool) -> tuple[int, int]:
    """The threads of a tile, and the elements of each, for ``n`` elements of that many bytes."""
    limits = view.accelerator.limits
    subgroup_size, most, memory = (32, 256, 32768) if limits is None else (
        limits.subgroup_size, limits.tile_threads, limits.shared_bytes
    )  # fmt: skip
    threads = min(_SUBGROUPS * subgroup_size, most)
    stage = memory - (threads // subgroup_size + 2) * DIGITS * 4 - 256
    most = _PAIRS if has_values else _ITEMS
    units = None if limits is None else limits.compute_units
    if units is not None and n <= units * _TILES_OF_UNIT * threads * _FEW:
        most = min(most, _FEW)
    return threads, min(max(stage // (threads * itemsize), 1), most)


@amp.func
def publish(status: Any, at: Any, word: Any) -> None:
    """Makes a count visible to the other tiles."""
    amp.atomic_exchange(status[at], word)


@amp.func
def _count_again(
    t_idx: Any, keys: Any, places: Any, status: Any, missing: Any, shift: Any, digits: Any, own: Any, *,
    items: amp.constant,
) -> None:  # fmt: skip
    """Publishes the counts of a tile that all others would wait for; ``own`` has room for them."""
    threads = t_idx.tile_dim0
    for d in range(t_idx.local[0], DIGITS, threads):
        own[d] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in range(items):
        key = keys.value(missing * (threads * items) + k * threads + t_idx.local[0])
        amp.atomic_fetch_add(own[digits.of(key, shift)], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for d in range(t_idx.local[0], DIGITS, threads):
        empty = amp.uint32(0)
        word = _TOTAL | amp.uint32(own[d])
        if missing == 0:
            word = _PREFIX | (places[d] + amp.uint32(own[d]))
        amp.atomic_compare_exchange(status[missing * DIGITS + d], empty, word)
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
            words[k] = amp.atomic_fetch_or(status[max(upto - 1 - k, 0) * DIGITS + d], 0)
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
    t_idx: Any, keys: Any, places: Any, status: Any, number: Any, shift: Any, digits: Any, before: Any, waits: Any,
    own: Any, *, each: amp.constant, items: amp.constant,
) -> None:  # fmt: skip
    """Adds to ``before`` how many keys of each digit of this thread the tiles before this one have.

    ``waits`` is 0; ``own`` is memory of the tile that nothing else needs any more.
    """
    left = amp.private(each, amp.int32)
    for k in amp.static_range(each):
        left[k] = number if t_idx.local[0] * each + k < DIGITS else 0
    missing = 1
    while missing > 0:
        for k in amp.static_range(each):
            upto, total = _walk(status, t_idx.local[0] * each + k, left[k], before[k])
            left[k] = upto
            before[k] = total
            if upto > 0:
                amp.atomic_fetch_max(waits[0], upto)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        missing = waits[0]
        if missing > 0:
            t_idx.barrier.wait_with_tile_static_memory_fence()
            if t_idx.local[0] == 0:
                waits[0] = 0
            _count_again(t_idx, keys, places, status, missing - 1, shift, digits, own, items=items)


@amp.func
def _count(t_idx: Any, own: Any, counts: Any, first: Any, n: Any, shift: Any, digits: Any) -> None:
    """Counts the digits of each subgroup's keys; positions after the end have the last digit."""
    size = amp.target.subgroup_size
    for k in amp.static_range(len(own)):
        digit = digits.of(own[k], shift) if first + k * size < n else DIGITS - 1
        amp.atomic_fetch_add(counts[amp.subgroup.id() * DIGITS + digit], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _publish_counts(
    t_idx: Any, counts: Any, begins: Any, status: Any, number: Any, before: Any, *, each: amp.constant
) -> None:
    """Publishes the tile's counts, to which ``before`` is added; ``counts`` become the places of each subgroup's first
    keys in the order of the tile, and ``begins`` those of the first key of each digit and of the end.
    """
    rank = t_idx.local[0]
    subgroups = len(counts) // DIGITS
    own = amp.private(each * subgroups, amp.int32)
    running = 0
    for k in amp.static_range(each):
        d = rank * each + k
        if d < DIGITS:
            total = 0
            for s in amp.static_range(subgroups):
                own[k * subgroups + s] = counts[s * DIGITS + d]
                total += own[k * subgroups + s]
            flag = _PREFIX if number == 0 else _TOTAL
            publish(status, number * DIGITS + d, flag | (before[k] + amp.uint32(total)))
            running += total
    upto, end = tile.exclusive_scan(t_idx, running, functional.plus, 0)
    for k in amp.static_range(each):
        d = rank * each + k
        if d < DIGITS:
            begins[d] = upto
            for s in amp.static_range(subgroups):
                counts[s * DIGITS + d] = upto
                upto += own[k * subgroups + s]
    if rank == 0:
        begins[DIGITS] = end
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _publish_prefixes(t_idx: Any, begins: Any, status: Any, number: Any, before: Any, *, each: amp.constant) -> None:
    """Publishes the counts up to this tile. ``begins`` become the differences between an element's place in the whole
    and its place in the tile.
    """
    rank = t_idx.local[0]
    total = amp.private(each, amp.int32)
    for k in amp.static_range(each):
        d = min(rank * each + k, DIGITS - 1)
        total[k] = begins[d + 1] - begins[d]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(each):
        d = rank * each + k
        if d < DIGITS:
            if number > 0:
                publish(status, number * DIGITS + d, _PREFIX | (before[k] + amp.uint32(total[k])))
            # From places in the tile to places in the whole.
            begins[d] = amp.int32(before[k]) - begins[d]
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _move_values(
    t_idx: Any, values: Any, sorted_values: Any, stage: Any, ranks: Any, targets: Any, first: Any, begin: Any, n: Any
) -> None:
    """Puts the values in the order of the tile, and stores them where their keys are."""
    rank = t_idx.local[0]
    threads = t_idx.tile_dim0
    for k in amp.static_range(len(ranks)):
        stage[ranks[k]] = values.value(min(first + k * amp.target.subgroup_size, n - 1))
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(len(ranks)):
        if rank + k * threads < n - begin:
            sorted_values[targets[k]] = stage[rank + k * threads]


@amp.kernel
def sweep(
    t_idx, keys, values, sorted_keys, sorted_values, words, status, spare, n, shift, number_of_pass, many, digits, *,
    items: amp.constant, has_values: amp.constant, shares: amp.constant,
):  # fmt: skip
    """Moves keys and values by one digit.  ``status`` is 0 before it; ``spare``, that of the next pass, after it.

    ``words``: of each pass the places of the first keys of the digits, and then the tickets of each. ``shares``: keys
    and values have the same type.
    """
    threads = t_idx.tile_dim0
    size = amp.target.subgroup_size
    rank = t_idx.local[0]
    each = (DIGITS + threads - 1) // threads
    own = amp.private(items, sorted_keys.dtype)
    ranks = amp.private(items, amp.int32)
    begins = amp.tile_static(DIGITS + 1, amp.int32)
    counts = amp.tile_static(threads // size * DIGITS, amp.int32)
    stage = amp.tile_static(threads * items, sorted_keys.dtype)
    waits = amp.tile_static(1, amp.int32)
    for d in range(rank, threads // size * DIGITS, threads):
        counts[d] = 0
    if rank == 0:
        waits[0] = 0
    places = words.section(amp.index(number_of_pass * DIGITS), amp.extent(DIGITS))
    number = tile.ticket(t_idx, words.section(amp.index(many * DIGITS + number_of_pass), amp.extent(1)))
    begin = number * (threads * items)
    first = begin + amp.subgroup.id() * (size * items) + amp.subgroup.lane()
    for k in amp.static_range(items):
        own[k] = keys.value(min(first + k * size, n - 1))
    for d in range(rank, DIGITS, threads):
        spare[t_idx.tile[0] * DIGITS + d] = 0
    # What is before the keys of each digit: those of lower digits, and soon those of the tiles before.
    before = amp.private(each, amp.uint32)
    for k in amp.static_range(each):
        before[k] = 0
        if number == 0:
            before[k] = places[min(rank * each + k, DIGITS - 1)]
    _count(t_idx, own, counts, first, n, shift, digits)
    _publish_counts(t_idx, counts, begins, status, number, before, each=each)
    for k in amp.static_range(items):
        digit = digits.of(own[k], shift) if first + k * size < n else DIGITS - 1
        ranks[k] = rank_of_key(digit, counts)
        stage[ranks[k]] = own[k]
    _look_back(t_idx, keys, places, status, number, shift, digits, before, waits, counts, each=each, items=items)
    _publish_prefixes(t_idx, begins, status, number, before, each=each)
    targets = amp.private(items, amp.int32)
    for k in amp.static_range(items):
        if rank + k * threads < n - begin:
            key = stage[rank + k * threads].copy()
            targets[k] = begins[digits.of(key, shift)] + rank + k * threads
            sorted_keys[targets[k]] = key
    if has_values and shares:
        t_idx.barrier.wait_with_tile_static_memory_fence()
        _move_values(t_idx, values, sorted_values, stage, ranks, targets, first, begin, n)
    elif has_values:
        staged = amp.tile_static(threads * items, sorted_values.dtype)
        _move_values(t_idx, values, sorted_values, staged, ranks, targets, first, begin, n)


class _Moved(lazy.Lazy):
    """The values of a pass: what the one before has stored, or, where that is nothing, the positions of the keys."""

    __slots__ = ("are_stored", "stored")

    def __init__(self, stored: Any, *, are_stored: bool = True) -> None:
        super().__init__(stored.extent)
        self.stored, self.are_stored = stored, np.uint32(are_stored)

    @amp.func
    def value(self, i: Any) -> Any:
        """The value at a place."""
        # Without branches, which drivers compile slowly.
        stored = self.stored[i if self.are_stored != 0 else 0]
        return stored if self.are_stored != 0 else amp.uint32(i)


def _readable(source: lazy.Lazy) -> lazy.Lazy:
    """What a pass reads: elements in memory are read-only in all passes, as they may be in the first one."""
    if not isinstance(source, lazy.Elements):
        return source
    return lazy.Elements(amp.array_view(source.values, readonly=True)).flat()


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
    itemsize = out.dtype.itemsize + (moved.dtype.itemsize if has_values and not shares else 0)
    threads, items = _shape_of(view, n, itemsize, has_values)
    tiles = -(-n // (threads * items))
    domain = amp.extent(tiles * threads).tile(threads)
    states = [amp.array(amp.extent(DIGITS * tiles), np.uint32, accelerator_view=view) for _ in range(2)]
    words = words_for(view, bits)
    targets = list(passes(view, bits, out, moved if has_values else None))
    read = _readable(keys)
    given = read if values is None else _readable(values.flat())
    # All passes have one kernel, for which a driver takes longer than for all others of a sort.
    elements: Any = lazy.Elements
    if isinstance(values, Positions) and many > 1:
        elements, given = _Moved, _Moved(targets[1][2], are_stored=False)
    elif isinstance(values, Numbers):
        elements, given = _Moved, _Moved(values.values)
    launches = []
    for number, (shift, target, to) in enumerate(targets):
        status, spare = states[number % 2], states[1 - number % 2]
        launches.append((read, given, target, to, words, status, spare, n, shift, number, many, digits))
        read, given = (_readable(each) for each in (lazy.Elements(target), elements(to)))
    constants = {"items": items, "has_values": has_values, "shares": shares}
    early_programs.begin(view, domain, sweep, *launches[0], **constants)
    begins_of_digits(view, keys, digits, bits, words, states[0])
    for launch in launches:
        amp.parallel_for_each(view, domain, sweep, *launch, **constants)
