"""The few largest elements on GPUs, in one pass over the input, and in a few passes over the candidates that it leaves.

Each tile processes a block in steps, and collects the elements that are better than the worst of the best ones so far.
When its memory is full, it keeps the best ones. A radix select finds them, eight bits at a time (T. Alabi et al., *Fast
k-selection Algorithms for Graphics Processing Units*, 2012). The best elements of all blocks are the input of the next
pass.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy

#: The largest number of elements that a tile has room for.
MOST = 1024
#: The threads of a tile, one for each value of eight bits, and the elements that each handles in a step.
TILE, ITEMS = 256, 8
_STEP = TILE * ITEMS
#: The number of tiles in the first launch, and the fewest steps of a tile.
_TILES, _LEAST_STEPS = 1024, 2


@amp.func
def _is_better(word: Any, back: Any, least: Any) -> Any:
    """Whether an element is one of the best so far. ``back`` is larger for positions nearer to the front."""
    return word > least[0] or (word == least[0] and back >= least[1])


@amp.func
def _find_least(t_idx: Any, words: Any, backs: Any, fill: Any, many: Any, least: Any) -> None:
    """Finds a bound of two words that exactly ``many`` of the first ``fill`` elements reach."""
    rank = t_idx.local[0]
    counts = amp.tile_static(TILE, amp.int32)
    #: The digit, how many more elements are needed, and whether all elements with this digit are needed.
    found = amp.tile_static(3, amp.int32)
    high = amp.uint32(0)
    low = amp.uint32(0)
    needed = amp.int32(many)
    digits = 0
    while digits < 8:
        shift = amp.uint32(24 - 8 * (digits & 3))
        # The bits above the digit, which are known.
        mask = amp.uint32(0)
        if digits & 3 != 0:
            mask = amp.uint32(0xFFFFFFFF) << (shift + 8)
        counts[rank] = 0
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for p in range(rank, fill, TILE):
            if digits < 4:
                if words[p] & mask == high:
                    amp.atomic_fetch_add(counts[amp.int32((words[p] >> shift) & 255)], 1)
            elif words[p] == high and backs[p] & mask == low:
                amp.atomic_fetch_add(counts[amp.int32((backs[p] >> shift) & 255)], 1)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        own = counts[TILE - 1 - rank]
        upto, _, _ = tile.scan_of(t_idx, own, functional.plus, TILE)
        if upto - own < needed and needed <= upto:
            found[0] = TILE - 1 - rank
            found[1] = needed - (upto - own)
            found[2] = own
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if digits < 4:
            high |= amp.uint32(found[0]) << shift
        else:
            low |= amp.uint32(found[0]) << shift
        needed = found[1]
        digits = 8 if found[1] == found[2] else digits + 1
    if rank == 0:
        least[0] = high
        least[1] = low
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _keep_best(t_idx: Any, words: Any, backs: Any, fill: Any, least: Any, *, room: amp.constant) -> None:
    """Moves the elements that reach a bound to the front."""
    rank = t_idx.local[0]
    each = room // TILE
    own = amp.private(each, amp.uint32)
    own_backs = amp.private(each, amp.uint32)
    count = amp.tile_static(1, amp.int32)
    many = 0
    for k in amp.static_range(each):
        p = min(rank + k * TILE, fill - 1)
        own[k] = words[p]
        own_backs[k] = backs[p]
    if rank == 0:
        count[0] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(each):
        if rank + k * TILE < fill and _is_better(own[k], own_backs[k], least):
            many += 1
    if many > 0:
        at = amp.atomic_fetch_add(count[0], many)
        for k in amp.static_range(each):
            if rank + k * TILE < fill and _is_better(own[k], own_backs[k], least):
                words[at] = own[k]
                backs[at] = own_backs[k]
                at += 1
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _load(source: Any, start: Any, end: Any, rank: Any, own: Any) -> None:
    """A thread's words in a step; after the end, arbitrary words."""
    for j in amp.static_range(ITEMS // 4):
        first = start + (j * TILE + rank) * 4
        if first + 4 <= end:
            own[4 * j], own[4 * j + 1], own[4 * j + 2], own[4 * j + 3] = source.four(first // 4)
        else:
            for k in amp.static_range(4):
                own[4 * j + k] = source.value(min(first + k, end - 1))


@amp.func
def _store(
    t_idx: Any, words: Any, backs: Any, filled: Any, stored: Any, many: Any, out: Any, out_places: Any, *,
    is_last: amp.constant,
) -> None:  # fmt: skip
    """Stores the best elements of a tile; the last tile stores them in their order.

    A tile in which fewer elements reach the bound stores words of 0 as well: the bound is above 0 then.
    """
    if is_last:
        _store_in_order(t_idx, words, backs, stored, out_places)
    else:
        for p in range(t_idx.local[0], stored, TILE):
            out[t_idx.tile[0] * many + p] = words[p] if p < filled else amp.uint32(0)
            out_places[t_idx.tile[0] * many + p] = amp.int32(~backs[p]) if p < filled else 0


@amp.func
def _store_in_order(t_idx: Any, words: Any, backs: Any, stored: Any, out_places: Any) -> None:
    """Stores the positions of up to ``MOST`` elements. The place of each one is the number of better ones.

    A thread counts for all of its elements at once, so that it loads the others once.
    """
    own = amp.private(MOST // TILE, amp.uint32)
    own_backs = amp.private(MOST // TILE, amp.uint32)
    better = amp.private(MOST // TILE, amp.int32)
    for k in amp.static_range(MOST // TILE):
        p = min(t_idx.local[0] + k * TILE, stored - 1)
        own[k] = words[p]
        own_backs[k] = backs[p]
        better[k] = 0
    for q in range(stored):
        word = words[q]
        back = backs[q]
        for k in amp.static_range(MOST // TILE):
            if word > own[k] or (word == own[k] and back > own_backs[k]):
                better[k] += 1
    for k in amp.static_range(MOST // TILE):
        if t_idx.local[0] + k * TILE < stored:
            out_places[better[k]] = amp.int32(~own_backs[k])


@amp.kernel
def best_of_blocks(
    t_idx, source, places, bounds, out, out_places, n, length, many, *, room: amp.constant, is_last: amp.constant,
    has_bound: amp.constant,
):  # fmt: skip
    """The ``many`` largest words of a block, and their positions; with ``is_last``, in their order.

    With ``has_bound``, ``many`` words of all blocks are at least as large as word ``many - 1`` of ``bounds``; only such
    words are collected.  ``room``: the number of elements that a tile has memory for, at least ``many`` plus those of
    a step.
    """
    rank = t_idx.local[0]
    begin = t_idx.tile[0] * length
    end = min(begin + length, n)
    words = amp.tile_static(room, amp.uint32)
    backs = amp.tile_static(room, amp.uint32)
    fill = amp.tile_static(1, amp.int32)
    least = amp.tile_static(2, amp.uint32)
    own = amp.private(ITEMS, amp.uint32)
    if rank == 0:
        least[0] = 0
        least[1] = 0
        if has_bound:
            least[0] = bounds.value(many - 1)
        fill[0] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    ahead = amp.private(ITEMS, amp.uint32)
    _load(source, begin, end, rank, ahead)
    for start in range(begin, end, _STEP):
        for j in amp.static_range(ITEMS):
            own[j] = ahead[j]
        if start + _STEP < end:
            # The loads are in flight while the tile waits at barriers.
            _load(source, start + _STEP, end, rank, ahead)
        found = 0
        for j in amp.static_range(ITEMS):
            # A word that equals the bound's may be of an element nearer to the front.
            if start + (j // 4 * TILE + rank) * 4 + j % 4 < end and own[j] >= least[0]:
                found += 1
        if found > 0:
            at = amp.atomic_fetch_add(fill[0], found)
            for j in amp.static_range(ITEMS):
                i = start + (j // 4 * TILE + rank) * 4 + j % 4
                if i < end and own[j] >= least[0]:
                    words[at] = own[j]
                    backs[at] = ~amp.uint32(places.value(i))
                    at += 1
        t_idx.barrier.wait_with_tile_static_memory_fence()
        filled = fill[0]
        is_full = filled > room - _STEP or (start + _STEP >= end and filled > many)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if is_full:
            _find_least(t_idx, words, backs, filled, many, least)
            _keep_best(t_idx, words, backs, filled, least, room=room)
            if rank == 0:
                fill[0] = many
            t_idx.barrier.wait_with_tile_static_memory_fence()
    _store(t_idx, words, backs, fill[0], min(many, end - begin), many, out, out_places, is_last=is_last)


def places_of_best(view: amp.accelerator_view, words: lazy.Lazy, k: int) -> Any:
    """The positions of the ``k`` largest of the words (uint32), in their order; of equal ones, the first."""
    n, source = words.extent[0], words.flat()
    if k <= n >> 10 and FEWEST_IN_GROUPS <= n <= _MOST_IN_GROUPS:
        return _best_by_groups(view, source, k)
    return _best_of(view, source, lazy.arange(n), k)


def _best_of(
    view: amp.accelerator_view, words: lazy.Lazy, places: lazy.Lazy, k: int, bounds: lazy.Lazy | None = None
) -> Any:
    """The places of the ``k`` largest words in their order, by blocks, of whose best ones are blocks again.

    ``bounds``: the last of ``k`` such words, if ``k`` words or more are known to be as large.
    """
    at = amp.array(amp.extent(k), np.int32, accelerator_view=view)
    # The tile has room for more than it keeps, so that it seldom looks for the best ones.
    room = _STEP + (1024 if k <= 512 else 1536)
    n, tiles = words.extent[0], _TILES
    while True:
        split = _choose.blocks(n, max(_LEAST_STEPS, math.ceil(2 * k / _STEP)) * _STEP, tiles)
        is_last = split.pieces == 1
        # Each block except the last one has more than `k` elements.
        count = k if is_last else (split.pieces - 1) * k + min(k, n - (split.pieces - 1) * split.length)
        out = at if is_last else amp.array(amp.extent(count), np.int32, accelerator_view=view)
        found = out if is_last else amp.array(amp.extent(count), np.uint32, accelerator_view=view)
        amp.parallel_for_each(
            view, amp.extent(split.pieces * TILE).tile(TILE), best_of_blocks, words.flat(), places,
            words if bounds is None else bounds, found, out, n, split.length, k, room=room, is_last=is_last,
            has_bound=bounds is not None,
        )  # fmt: skip
        if is_last:
            return at
        n, words, places = count, lazy.Elements(found), lazy.Elements(out)
        tiles = max(split.pieces // 8, 1)


# -- many elements ---------------------------------------------------------------------------------------------------

#: The input is divided into groups of one thread each, with ``LOADS`` loads of four elements in flight at a time.
LOADS = 4
#: Groups of many elements; the fewest elements to have groups, and the most.
_GROUPS, FEWEST_IN_GROUPS, _MOST_IN_GROUPS = 1 << 17, 1 << 23, (1 << 31) - (1 << 24)


@amp.kernel
def best_of_groups(t_idx, source, best, places, n, steps):
    """The largest word of each thread's elements, and the first place where it is.

    A thread has four elements of each of the ``steps`` rows of a block.
    """
    rank = t_idx.local[0]
    begin = t_idx.tile[0] * (steps * TILE)
    word = amp.uint32(0)
    place = 4 * (begin + rank)
    own = amp.private(4 * LOADS, amp.uint32)
    for step in range(0, steps, LOADS):
        for j in amp.static_range(LOADS):
            quad = begin + (step + j) * TILE + rank
            if 4 * quad + 4 <= n:
                own[4 * j], own[4 * j + 1], own[4 * j + 2], own[4 * j + 3] = source.four(quad)
            else:
                for k in amp.static_range(4):
                    own[4 * j + k] = amp.uint32(0) if 4 * quad + k >= n else source.value(min(4 * quad + k, n - 1))
        for j in amp.static_range(LOADS):
            for k in amp.static_range(4):
                if own[4 * j + k] > word:
                    word = own[4 * j + k]
                    place = 4 * (begin + (step + j) * TILE + rank) + k
    best[t_idx.global_] = word
    places[t_idx.global_] = place


class _PlacesOfGroups(lazy.Lazy):
    """The places of the elements of some groups, which are those of one element of each; some are after the end."""

    __slots__ = ("length", "ones", "steps")

    def __init__(self, ones: Any, steps: int) -> None:
        super().__init__(ones.extent[0] * steps * 4)
        self.ones, self.steps, self.length = ones, steps, steps * 4

    @amp.func
    def value(self, i: Any) -> Any:
        """The place of element ``i % length`` of a group."""
        one = self.ones[i // self.length] // 4
        row = i % self.length // 4
        return 4 * (one // (TILE * self.steps) * (TILE * self.steps) + row * TILE + one % TILE) + i % 4


class _WordsOfGroups(lazy.Lazy):
    """The words of places; 0 for those after the end."""

    __slots__ = ("last", "places", "words")

    def __init__(self, words: lazy.Lazy, places: lazy.Lazy) -> None:
        super().__init__(places.extent)
        self.words, self.places, self.last = words, places, words.extent[0] - 1

    @amp.func
    def value(self, i: Any) -> Any:
        """The word of a place."""
        place = self.places.value(i)
        return self.words.value(min(place, self.last)) if place <= self.last else amp.uint32(0)

    @amp.func
    def four(self, k: Any) -> Any:
        """The words of four places, which are neighbours."""
        first = self.places.value(4 * k)
        if first + 3 <= self.last:
            a, b, c, d = self.words.four(first // 4)
        else:
            a, b, c, d = self.value(4 * k), self.value(4 * k + 1), self.value(4 * k + 2), self.value(4 * k + 3)
        return a, b, c, d


def _best_by_groups(view: amp.accelerator_view, words: lazy.Lazy, k: int) -> Any:
    """The places of the ``k`` largest words: they are in the groups with the ``k`` largest elements of groups."""
    n = words.extent[0]
    steps = max(n // (_GROUPS * 4 * LOADS), 1) * LOADS
    tiles = -(-n // (TILE * steps * 4))
    best = amp.array(amp.extent(tiles * TILE), np.uint32, accelerator_view=view)
    places = amp.array(best.extent, np.int32, accelerator_view=view)
    amp.parallel_for_each(view, best.extent.tile(TILE), best_of_groups, words, best, places, n, steps)
    of_groups = _best_of(view, lazy.Elements(best), lazy.Elements(places), k)
    candidates = _PlacesOfGroups(of_groups, steps)
    return _best_of(view, _WordsOfGroups(words, candidates), candidates, k, lazy.take(words, of_groups))
