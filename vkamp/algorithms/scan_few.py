"""Prefix sums of some million elements in one launch, for GPUs: each tile combines all totals before it in one step.

A tile has one thread or more for each tile before it.  Each thread waits for the total of one of these, so that a tile
waits once, and not for one window of tiles after the other as in :mod:`vkamp.algorithms.scan_chained`.  The order of
the operations is the same in every run.

A tile publishes its total as soon as it has loaded its elements.  Tiles take no tickets: one that waits too long
computes the missing total itself (:mod:`vkamp.tile.carry`), whether the other tile has started or not.  The status has
two halves, of which a launch uses one and clears the other one, so that no tile has to wait for all others to end.
"""

# Kernels have untyped parameters; mypy takes `amp.constant` for a class of values.
# mypy: disable-error-code="no-untyped-def,arg-type,operator"

from __future__ import annotations

import weakref
from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._last import zeros_for
from vkamp.algorithms._operators import commutes
from vkamp.algorithms._outputs import output_of
from vkamp.algorithms.scan_chained import first_quad, load_row, store_row
from vkamp.tile.carry import TOTAL, publish, publish_if_empty, published

#: Threads of a tile, rows of four elements for each, and the number of tiles from which on tiles have more rows:
#: two for each multiprocessor of a large GPU.
TILE, ROWS, TILES = 512, (1, 2, 4, 8), 264
#: The most tiles of a launch, one for each thread at most.
MOST = 512
#: Looks at a tile that has published nothing, before its total is computed here.
_LOOKS = 64


@amp.func
def _half(counter: Any, tiles: Any) -> Any:
    """Which half of the status this launch uses; the last tile that asks passes the other one to the next launch."""
    asked = amp.int32(amp.atomic_fetch_add(counter[0], 1))
    if asked & 0xFFFF == tiles - 1:
        amp.atomic_exchange(counter[0], amp.uint32((asked >> 16 ^ 1) << 16))
    return asked >> 16


@amp.func
def _wait(t_idx: Any, *, in_place: amp.constant) -> None:
    """A barrier of the tile.  If the results take the place of the elements, other tiles must not see what this one
    writes after it before what this one has published, since they load its elements if that is missing.
    """
    if in_place:
        t_idx.barrier.wait()
    else:
        t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _load(source: Any, n: Any, first: Any, x: Any, *, rows: amp.constant, full: amp.constant) -> None:
    for k in amp.static_range(rows):
        x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3] = load_row(
            source, n, first + k * amp.subgroup.size(), full=full
        )


@amp.func
def _of_subgroup(x: Any, op: Any, *, rows: amp.constant, commutes: amp.constant) -> Any:
    """The total of a subgroup's elements."""
    total = op(op(op(x[0], x[1]), x[2]), x[3])
    if not commutes:
        total = amp.subgroup.reduce(total, op)
    for k in amp.static_range(1, rows):
        own = op(op(op(x[4 * k], x[4 * k + 1]), x[4 * k + 2]), x[4 * k + 3])
        total = op(total, own if commutes else amp.subgroup.reduce(own, op))
    return amp.subgroup.reduce(total, op) if commutes else total


@amp.func
def _over_subgroups(op: Any, parts: Any, many: Any) -> Any:
    """``(total of the subgroups before this one, total of all)`` of ``many`` subgroups."""
    size = amp.subgroup.size()
    lane = amp.subgroup.lane()
    before = parts[0].copy()
    total = parts[0].copy()
    for first in range(0, many, size):
        upto = amp.subgroup.inclusive_scan(parts[min(first + lane, many - 1)], op)
        at = amp.subgroup.id() - 1 - first
        own = amp.subgroup.shuffle(upto, min(max(at, 0), size - 1))
        last = amp.subgroup.broadcast(upto, min(many - first, size) - 1)
        if at >= 0 and at < size:
            before = op(total, own) if first > 0 else own.copy()
        total = op(total, last) if first > 0 else last.copy()
    return before, total


@amp.func
def _total_of(
    t_idx: Any, source: Any, n: Any, op: Any, parts: Any, number: Any, like: Any, *,
    rows: amp.constant, commutes: amp.constant,
) -> Any:  # fmt: skip
    """The total of a tile whose elements are all there, with the same bits as that which it publishes."""
    x = amp.private(4 * rows, type(like))
    _load(source, n, first_quad(t_idx, number, rows=rows), x, rows=rows, full=True)
    own = _of_subgroup(x, op, rows=rows, commutes=commutes)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if amp.subgroup.lane() == 0:
        parts[amp.subgroup.id()] = own
    t_idx.barrier.wait_with_tile_static_memory_fence()
    _, total = _over_subgroups(op, parts, amp.subgroup.count())
    return total


@amp.func
def _total_before(
    t_idx: Any, source: Any, n: Any, op: Any, parts: Any, state: Any, status: Any, number: Any, tiles: Any,
    like: Any, *,
    rows: amp.constant, commutes: amp.constant, in_place: amp.constant,
) -> Any:  # fmt: skip
    """The total of the tiles before tile ``number``, at least one."""
    room = status.extent[0] // 2
    rank = t_idx.local[0]
    size = amp.subgroup.size()
    before = like.copy()
    waits = True
    while waits:
        value = like.copy()
        flag = amp.uint32(0)
        looks = 0
        while rank < number and flag == 0 and looks < _LOOKS:
            flag, value = published(status, state[0] * room + rank, like, by_loads=True)
            looks += 1
        if rank < number and flag == 0:
            amp.atomic_fetch_min(state[1], rank)
        _wait(t_idx, in_place=in_place)
        missing = state[1]
        if missing < tiles:
            again = _total_of(t_idx, source, n, op, parts, missing, like, rows=rows, commutes=commutes)
            if rank == 0:
                publish_if_empty(status, state[0] * room + missing, again, TOTAL)
                state[1] = tiles
            t_idx.barrier.wait_with_tile_static_memory_fence()
        else:
            upto = amp.subgroup.inclusive_scan(value, op)
            if amp.subgroup.lane() == min(number - amp.subgroup.id() * size, size) - 1:
                parts[amp.subgroup.id()] = upto
            t_idx.barrier.wait_with_tile_static_memory_fence()
            _, before = _over_subgroups(op, parts, (number + size - 1) // size)
            waits = False
    return before


@amp.func
def _scan_rows(x: Any, heads: Any, before: Any, op: Any, *, rows: amp.constant) -> None:
    """Replaces each element by its prefix in the tile; ``heads``: what comes before a row of four elements.

    ``before``: the total of the subgroups before this one.
    """
    size = amp.subgroup.size()
    lane = amp.subgroup.lane()
    upto = before.copy()
    for k in amp.static_range(rows):
        b = op(x[4 * k], x[4 * k + 1])
        c = op(b, x[4 * k + 2])
        d = op(c, x[4 * k + 3])
        scanned = amp.subgroup.inclusive_scan(d, op)
        head = amp.subgroup.shuffle_up(scanned, 1)
        last = amp.subgroup.broadcast(scanned, size - 1)
        if k > 0 or amp.subgroup.id() > 0:
            head = op(upto, head) if lane > 0 else upto.copy()
            upto = op(upto, last)
        else:
            upto = last.copy()
        if k > 0 or amp.subgroup.id() > 0 or lane > 0:
            x[4 * k] = op(head, x[4 * k])
            b = op(head, b)
            c = op(head, c)
            d = op(head, d)
        heads[k] = head
        x[4 * k + 1] = b
        x[4 * k + 2] = c
        x[4 * k + 3] = d


@amp.func
def _scan_tile(
    t_idx: Any, source: Any, out: Any, counter: Any, status: Any, n: Any, init: Any, op: Any, tiles: Any,
    parts: Any, others: Any, state: Any, *,
    rows: amp.constant, inclusive: amp.constant, has_init: amp.constant, commutes: amp.constant, in_place: amp.constant,
    full: amp.constant,
) -> None:  # fmt: skip
    number = t_idx.tile[0]
    rank = t_idx.local[0]
    size = amp.subgroup.size()
    lane = amp.subgroup.lane()
    room = status.extent[0] // 2
    first = first_quad(t_idx, number, rows=rows)
    x = amp.private(4 * rows, type(init))
    _load(source, n, first, x, rows=rows, full=full)
    # The loads come first: one thread waits here.
    if rank == 0:
        state[0] = _half(counter, tiles)
        state[1] = tiles
    own = _of_subgroup(x, op, rows=rows, commutes=commutes)
    if lane == 0:
        parts[amp.subgroup.id()] = own
    # Several threads have loaded the last element of a source whose last tile is not full.
    _wait(t_idx, in_place=in_place)
    upto, total = _over_subgroups(op, parts, amp.subgroup.count())
    if rank == 0:
        publish(status, state[0] * room + number, total, TOTAL)
    for at in range(number * t_idx.tile_dim0 + rank, room, tiles * t_idx.tile_dim0):
        amp.atomic_store(status[(1 - state[0]) * room + at, 0], 0, "relaxed")
        amp.atomic_store(status[(1 - state[0]) * room + at, 1], 0, "relaxed")
    heads = amp.private(rows, type(init))
    _scan_rows(x, heads, upto, op, rows=rows)
    before = init.copy()
    if number > 0:
        before = _total_before(
            t_idx, source, n, op, others, state, status, number, tiles, init,
            rows=rows, commutes=commutes, in_place=in_place,
        )  # fmt: skip
        if has_init:
            before = op(init, before)
    else:
        _wait(t_idx, in_place=in_place)
    has_before = has_init or number > 0
    for k in amp.static_range(rows):
        for j in amp.static_range(4):
            if has_before:
                x[4 * k + j] = op(before, x[4 * k + j])
        if not inclusive:
            for j in amp.static_range(3):
                x[4 * k + 3 - j] = x[4 * k + 2 - j]
            is_first = k == 0 and rank == 0
            head = before.copy() if is_first else heads[k].copy()
            x[4 * k] = op(before, head) if has_before and not is_first else head
        store_row(out, n, first + k * size, x, 4 * k, full=full)


@amp.kernel
def scan_few(
    t_idx, source, out, counter, status, n, init, op, *,
    rows: amp.constant, inclusive: amp.constant, has_init: amp.constant, commutes: amp.constant, in_place: amp.constant,
):  # fmt: skip
    """Scans ``n`` elements.  The half of ``status`` that ``counter`` says is 0 before it; after it the other one is."""
    items = t_idx.tile_dim0 * rows * 4
    tiles = (n + items - 1) // items
    parts = amp.tile_static(t_idx.tile_dim0, type(init))
    others = amp.tile_static(t_idx.tile_dim0, type(init))
    #: The half of the status, and the first tile that has published nothing.
    state = amp.tile_static(2, amp.int32)
    if (t_idx.tile[0] + 1) * items <= n:
        _scan_tile(
            t_idx, source, out, counter, status, n, init, op, tiles, parts, others, state,
            rows=rows, inclusive=inclusive, has_init=has_init, commutes=commutes, in_place=in_place, full=True,
        )  # fmt: skip
    else:
        _scan_tile(
            t_idx, source, out, counter, status, n, init, op, tiles, parts, others, state,
            rows=rows, inclusive=inclusive, has_init=has_init, commutes=commutes, in_place=in_place, full=False,
        )  # fmt: skip


#: Each accelerator_view's counter and status.
_words: weakref.WeakKeyDictionary[amp.accelerator_view, tuple[Any, Any]] = weakref.WeakKeyDictionary()


def _words_of(view: amp.accelerator_view) -> tuple[Any, Any]:
    known = _words.get(view)
    if known is None:
        known = _words[view] = zeros_for(view, 1), zeros_for(view, 2 * MOST, 2)
    return known


def are_few(n: int) -> bool:
    """Whether these tiles can scan ``n`` elements."""
    return n <= MOST * TILE * ROWS[-1] * 4


def scan_few_into(
    view: amp.accelerator_view, source: lazy.Lazy, out: Any, op: Any, *, inclusive: bool, init: Any, has_init: bool
) -> None:  # fmt: skip
    """Scans a source with one index into ``out``."""
    n = source.extent[0]
    rows = next((rows for rows in ROWS if n <= TILES * TILE * rows * 4), ROWS[-1])
    tiles = -(-n // (TILE * rows * 4))
    amp.parallel_for_each(
        view, amp.extent(tiles * TILE).tile(TILE), scan_few, source, output_of(out), *_words_of(view), n, init, op,
        rows=rows, inclusive=inclusive, has_init=has_init, commutes=commutes(op),
        in_place=any(out.overlaps(each) for each in source.containers()),
    )  # fmt: skip
