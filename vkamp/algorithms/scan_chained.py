"""Prefix sums in one launch, for GPUs: each element is read once and written once.

Merrill and Garland's chained scan with decoupled look-back; see :mod:`vkamp.tile.carry`.  A subgroup scans rows of four
elements for each of its threads, a tile combines its subgroups' totals, and the carry gives what comes before the tile.
How many totals a tile combines at once depends on the device's scheduling, so sums of floats may differ in their last
bits from run to run.
"""

# Kernels have untyped parameters; mypy takes `amp.constant` for a class of values.
# mypy: disable-error-code="no-untyped-def,arg-type,operator"

from __future__ import annotations

import weakref
from typing import Any

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._last import is_word, zeros_for
from vkamp.algorithms._outputs import output_of
from vkamp.tile.carry import carry, ticket

#: Threads of a tile, and rows of four elements for each: of few elements, and of so many that all tiles are large.
TILE, FEW_ROWS, ROWS, MANY = 512, 4, 8, 1 << 20
#: What the kernels need of a device.
_FEATURES = ("subgroup_arithmetic", "subgroup_ballot", "subgroup_shuffle", "subgroup_shuffle_relative")


@amp.func
def load_row(source: Any, n: Any, quad: Any, *, full: amp.constant) -> Any:
    """Four elements; after the end any value, on which no result depends."""
    if full:
        return source.four(quad)
    last = n - 1
    at = 4 * quad
    return (
        source.value(min(at, last)), source.value(min(at + 1, last)),
        source.value(min(at + 2, last)), source.value(min(at + 3, last)),
    )  # fmt: skip


@amp.func
def first_quad(t_idx: Any, number: Any, *, rows: amp.constant) -> Any:
    """The first row's four elements of this thread: a subgroup's rows follow each other."""
    size = amp.subgroup.size()
    return number * (t_idx.tile_dim0 * rows) + amp.subgroup.id() * size * rows + amp.subgroup.lane()


@amp.func
def _in_tile(t_idx: Any, own: Any, op: Any, parts: Any) -> Any:
    """``(total of the subgroups before this one, total of the tile)``; ``own`` is the subgroup's total."""
    if amp.subgroup.lane() == 0:
        parts[amp.subgroup.id()] = own
    t_idx.barrier.wait_with_tile_static_memory_fence()
    before = parts[0].copy()
    total = parts[0].copy()
    for k in range(1, amp.subgroup.count()):
        if k == amp.subgroup.id():
            before = total.copy()
        total = op(total, parts[k])
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return before, total


@amp.func
def _total_of(t_idx: Any, source: Any, n: Any, op: Any, parts: Any, number: Any, *, rows: amp.constant) -> Any:
    """The total of a tile whose rows are all there, by the same operations as the scan's."""
    quad = first_quad(t_idx, number, rows=rows)
    own = source.value(0).copy()
    for k in amp.static_range(rows):
        a, b, c, d = load_row(source, n, quad + k * amp.subgroup.size(), full=True)
        upto = amp.subgroup.inclusive_scan(op(op(op(a, b), c), d), op)
        last = amp.subgroup.broadcast(upto, amp.subgroup.size() - 1)
        own = last.copy() if k == 0 else op(own, last)
    _, total = _in_tile(t_idx, own, op, parts)
    return total


@amp.func
def scan_tile(
    t_idx: Any, source: Any, out: Any, n: Any, init: Any, op: Any, number: Any, before_of: Any, *,
    rows: amp.constant, inclusive: amp.constant, has_init: amp.constant,
) -> Any:  # fmt: skip
    """Scans the elements of tile ``number``, and returns their total.

    ``before_of(total, parts)``: the total of the tiles before it, given its own; ``parts`` is memory for a number of
    each thread.
    """
    if (number + 1) * t_idx.tile_dim0 * rows * 4 <= n:
        total = _scan_tile(
            t_idx, source, out, n, init, op, number, before_of,
            rows=rows, inclusive=inclusive, has_init=has_init, full=True,
        )  # fmt: skip
    else:
        total = _scan_tile(
            t_idx, source, out, n, init, op, number, before_of,
            rows=rows, inclusive=inclusive, has_init=has_init, full=False,
        )  # fmt: skip
    return total


@amp.func
def _scan_tile(
    t_idx: Any, source: Any, out: Any, n: Any, init: Any, op: Any, number: Any, before_of: Any, *,
    rows: amp.constant, inclusive: amp.constant, has_init: amp.constant, full: amp.constant,
) -> Any:  # fmt: skip
    size = amp.subgroup.size()
    lane = amp.subgroup.lane()
    quad = first_quad(t_idx, number, rows=rows)
    kind = type(init)
    parts = amp.tile_static(t_idx.tile_dim0, kind)
    #: What comes before a row in its subgroup, and the row's sums.
    heads = amp.private(rows, kind)
    sums = amp.private(4 * rows, kind)
    own = init.copy()
    # All loads first: the scans would keep each from starting before the last one has arrived.
    for k in amp.static_range(rows):
        sums[4 * k], sums[4 * k + 1], sums[4 * k + 2], sums[4 * k + 3] = load_row(source, n, quad + k * size, full=full)
    if not full:
        # The results may be the memory of the source, whose last element several threads have loaded.
        t_idx.barrier.wait_with_global_memory_fence()
    for k in amp.static_range(rows):
        a = sums[4 * k].copy()
        b = op(a, sums[4 * k + 1])
        c = op(b, sums[4 * k + 2])
        d = op(c, sums[4 * k + 3])
        upto = amp.subgroup.inclusive_scan(d, op)
        head = amp.subgroup.shuffle_up(upto, 1)
        last = amp.subgroup.broadcast(upto, size - 1)
        if k > 0:
            head = op(own, head) if lane > 0 else own.copy()
            own = op(own, last)
        else:
            own = last.copy()
        heads[k] = head
        sums[4 * k + 1] = b
        sums[4 * k + 2] = c
        sums[4 * k + 3] = d
    base, total = _in_tile(t_idx, own, op, parts)
    before = before_of(total, parts)
    if number > 0:
        base = op(before, base) if amp.subgroup.id() > 0 else before.copy()
    if has_init:
        base = op(init, base) if number > 0 or amp.subgroup.id() > 0 else init.copy()
    has_base = has_init or number > 0 or amp.subgroup.id() > 0
    for k in amp.static_range(rows):
        head = heads[k].copy()
        if has_base:
            head = op(base, head) if k > 0 or lane > 0 else base.copy()
        is_first = not has_base and k == 0 and lane == 0
        for j in amp.static_range(4):
            x = sums[4 * k + j].copy()
            if not is_first:
                x = op(head, x)
            sums[4 * k + j] = x
        if not inclusive:
            for j in amp.static_range(3):
                sums[4 * k + 3 - j] = sums[4 * k + 2 - j]
            sums[4 * k] = head
        store_row(out, n, quad + k * size, sums, 4 * k, full=full)
    return total


@amp.func
def store_row(out: Any, n: Any, quad: Any, sums: Any, first: amp.constant, *, full: amp.constant) -> None:
    if full:
        out.store_four(quad, sums[first], sums[first + 1], sums[first + 2], sums[first + 3])
    else:
        for j in amp.static_range(4):
            if 4 * quad + j < n:
                out.store(4 * quad + j, sums[first + j])


@amp.kernel
def chained_scan(
    t_idx, source, out, counters, status, n, init, op, *,
    rows: amp.constant, inclusive: amp.constant, has_init: amp.constant,
):  # fmt: skip
    """Scans ``n`` elements; ``counters`` and ``status`` are 0 before it and after it."""
    number = ticket(t_idx, counters)
    items = t_idx.tile_dim0 * rows * 4
    scan_tile(
        t_idx, source, out, n, init, op, number,
        lambda total, parts: carry(
            t_idx, status, number, total, op, lambda m: _total_of(t_idx, source, n, op, parts, m, rows=rows)
        ),
        rows=rows, inclusive=inclusive, has_init=has_init,
    )  # fmt: skip
    reset_by_the_last(t_idx, counters, status, (n + items - 1) // items)


@amp.func
def reset_by_the_last(t_idx: Any, counters: Any, status: Any, tiles: Any) -> None:
    """The tile that ends last clears the counters and the status, which no other tile reads any more."""
    ended = amp.tile_static(1, amp.uint32)
    if t_idx.local[0] == 0:
        ended[0] = amp.atomic_fetch_add(counters[1], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if ended[0] == amp.uint32(tiles - 1):
        for at in range(t_idx.local[0], tiles, t_idx.tile_dim0):
            amp.atomic_exchange(status[at, 0], 0)
            amp.atomic_exchange(status[at, 1], 0)
        if t_idx.local[0] < 2:
            amp.atomic_exchange(counters[t_idx.local[0]], 0)


#: Each accelerator_view's counters and status, which are 0 between launches.
_words: weakref.WeakKeyDictionary[amp.accelerator_view, tuple[Any, Any]] = weakref.WeakKeyDictionary()


def status_of(view: amp.accelerator_view, tiles: int) -> tuple[Any, Any]:
    """The counters and the status of ``tiles`` tiles, or more."""
    found = _words.get(view)
    if found is None or found[1].extent[0] < tiles:
        room = 1 << max(tiles - 1, 1).bit_length()
        found = _words[view] = zeros_for(view, 2), zeros_for(view, room, 2)
    return found


def has_features(view: amp.accelerator_view) -> bool:
    """Whether a device has the functions of subgroups by which tiles carry their totals."""
    return view.accelerator.features.issuperset(_FEATURES)


def can_chain(view: amp.accelerator_view, out: Any) -> bool:
    """Whether a device can scan into ``out`` in one launch: numbers of 32 bits, by functions of subgroups, in tiles of
    512 threads.

    CPU drivers run few tiles at once, and lavapipe ends loops that wait.
    """
    can_wait = not view.accelerator.is_emulated and has_features(view)
    return can_wait and is_word(lazy.computed_as(out.dtype)) and _choose.allows(view, TILE)


def chained_scan_into(
    view: amp.accelerator_view, source: lazy.Lazy, out: Any, op: Any, *, inclusive: bool, init: Any, has_init: bool
) -> None:
    """Scans a source with one index into ``out``."""
    n = source.extent[0]
    rows = ROWS if n >= MANY else FEW_ROWS
    tiles = -(-n // (TILE * rows * 4))
    amp.parallel_for_each(
        view, amp.extent(tiles * TILE).tile(TILE), chained_scan,
        source, output_of(out), *status_of(view, tiles), n, init, op,
        rows=rows, inclusive=inclusive, has_init=has_init,
    )  # fmt: skip
