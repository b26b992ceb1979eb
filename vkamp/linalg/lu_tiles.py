"""LU factorisation on GPUs: a tile holds a few columns of the matrix in its registers.

The time of narrow panels goes into launches and the latency of memory. So one tile factors ``columns`` columns, of
which each thread has some rows, and finds the pivots without a launch for each. It also exchanges the rows of the panel
and solves its upper part (as the panels of MAGMA: S. Tomov, J. Dongarra and M. Baboulin, *Towards dense linear algebra
for hybrid GPU accelerated manycore systems*, 2010). A second launch updates the rest of the panel.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix
from vkamp.linalg._columns import ROWS, SIDE, blocks_of, load_columns, move, move_block, store_columns, threads_of

#: The columns of a panel. One product updates the rest of the matrix after each panel.
WIDE = 64
#: The threads of a tile, and those of a tile whose threads would have more than so many rows.
_THREADS, _MANY, _FEW_ROWS = 512, 512, 4
#: The largest numbers of rows and columns of a thread, and of elements of four bytes of a thread and of a tile.
_ROWS, _COLUMNS, _OF_THREAD, _OF_TILE = 16, 16, 64, 1 << 15
#: Factors are at most one, but not if a matrix has infinite elements or NaN, or tiny pivots.
_HUGE = 1e30
#: The logarithm of the lanes of the largest subgroups.
_MOST_BITS = 7


@amp.struct
class Best32:
    """The largest number found, and its row."""

    size: amp.float32
    place: amp.int32


@amp.struct
class Best64:
    """Like ``Best32``, in double precision."""

    size: amp.float64
    place: amp.int32


@amp.func
def larger(x: Any, y: Any) -> Any:
    """The pivot: the larger of two numbers; of equal ones, the first."""
    if y.size > x.size or (y.size == x.size and y.place < x.place):
        return y
    return x


@amp.func
def magnitude(x: Any) -> Any:
    """The absolute value; for a complex number, the sum of the absolute values of its parts."""
    if hasattr(x, "imag"):
        return abs(x.real) + abs(x.imag)
    return abs(x)


@amp.func
def candidate(
    t_idx: Any, own: Any, j: Any, start: Any, rows: Any,
    *, threads: amp.constant, best: amp.constant, has_lanes: amp.constant,
) -> Any:  # fmt: skip
    """The largest element of the first column, from row ``j`` of the tile's rows on, in the rows of the subgroup; where
    subgroups are not used, in those of the thread."""
    # Without numbers, the pivot is row ``j``: the candidate of the thread that has it.
    found = best(-1.0 if t_idx.local[1] == j else -2.0, j)
    for r in amp.static_range(own.extent[0]):
        i = t_idx.local[1] + r * threads
        if (r > 0 or i >= j) and start + i < rows:
            size = magnitude(own[r, 0])
            if size > found.size:
                found = best(size, i)
    if has_lanes:
        found.size, found.place = _of_lanes(found.size, found.place, amp.target.subgroup_size)
    return found


@amp.func
def find_pivot(
    t_idx: Any, own: Any, upper: Any, found: Any, j: Any, *, threads: amp.constant, has_lanes: amp.constant
) -> Any:
    """The row of the pivot, and which row of ``upper`` has its elements. The last row of ``upper`` gets row ``j``.

    Each subgroup stores its candidate's row, so that with subgroups one barrier for each column suffices: ``upper`` has
    two halves, and a half is written again only after the barrier of the next column.
    """
    t = t_idx.local[1]
    half = j % 2
    if t == j:
        for p in amp.static_range(own.extent[1]):
            upper[half, upper.extent[1] - 1, p] = own[0, p]
    if has_lanes:
        keep_row(own, upper, t, found.place, half, amp.subgroup.id(), threads=threads)
        return _of_subgroups(
            t_idx, found.size, found.place, half, subgroups=amp.tdiv(threads, amp.target.subgroup_size)
        )
    place = tile.reduce(t_idx, found, larger).place
    keep_row(own, upper, t, place, half, 0, threads=threads)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return place, 0


@amp.func
def keep_row(own: Any, upper: Any, t: Any, place: Any, half: Any, slot: Any, *, threads: amp.constant) -> Any:
    """Stores the elements of row ``place``, if the thread has that row."""
    if t == place & (threads - 1):
        for r in amp.static_range(own.extent[0]):
            if t + r * threads == place:
                for p in amp.static_range(own.extent[1]):
                    upper[half, slot, p] = own[r, p]


@amp.func
def _of_subgroups(t_idx: Any, size: Any, place: Any, half: Any, *, subgroups: amp.constant) -> Any:
    """The position of the largest size in the tile, and of equal ones the first, and its subgroup. Each subgroup
    combines the results of all subgroups.
    """
    sizes = amp.tile_static((2, subgroups), type(size))
    places = amp.tile_static((2, subgroups), amp.int32)
    if amp.subgroup.elect():
        sizes[half, amp.subgroup.id()] = size
        places[half, amp.subgroup.id()] = place * subgroups + amp.subgroup.id()
    t_idx.barrier.wait_with_tile_static_memory_fence()
    width = amp.target.subgroup_size
    first = amp.subgroup.lane() % min(width, subgroups)
    size = sizes[half, first]
    place = places[half, first]
    for start in amp.static_range(width, subgroups, width):
        k = min(start + first, subgroups - 1)
        is_first = sizes[half, k] > size or (sizes[half, k] == size and places[half, k] < place)
        size = sizes[half, k] if is_first else size
        place = places[half, k] if is_first else place
    size, place = _of_lanes(size, place, min(width, subgroups))
    return place // subgroups, place % subgroups


@amp.func
def _of_lanes(size: Any, place: Any, lanes: Any) -> Any:
    """The largest size of a power of two of neighbouring lanes, and its place; of equal ones the first."""
    for s in amp.static_range(_MOST_BITS):
        if 1 << s < lanes:
            other = amp.subgroup.shuffle_xor(size, 1 << s)
            there = amp.subgroup.shuffle_xor(place, 1 << s)
            is_first = other > size or (other == size and there < place)
            size = other if is_first else size
            place = there if is_first else place
    return size, place


@amp.func
def eliminate(own: Any, upper: Any, t: Any, j: Any, place: Any, slot: Any, *, threads: amp.constant) -> Any:
    """Exchanges the rows ``j`` and ``place``, and eliminates the first column.

    It subtracts multiples of the pivot's row from the rows below, and moves the first column to the end. Of a thread's
    rows, only the first one can be above row ``j``.
    """
    columns = own.extent[1]
    half = j % 2
    old = upper.extent[1] - 1
    kind = type(own[0, 0])
    # If the pivot is 0, so are the elements below it.
    inverse = kind(1)
    if magnitude(upper[half, slot, 0]) != 0:
        inverse = inverse / upper[half, slot, 0]
    # Most threads have neither of the two rows, and skip both.
    if t == place & (threads - 1) and place != j:
        for r in amp.static_range(own.extent[0]):
            if t + r * threads == place:
                for p in amp.static_range(columns):
                    own[r, p] = upper[half, old, p]
    if t == j:
        for p in amp.static_range(columns):
            own[0, p] = upper[half, slot, p]
    factors = amp.private(own.extent[0], kind)
    for r in amp.static_range(own.extent[0]):
        factors[r] = own[r, 0]
        if r > 0 or t > j:
            factors[r] = factors[r] * inverse
    total = kind(0)
    for r in amp.static_range(own.extent[0]):
        total += factors[r]
    # Finished columns only move. On an H200, LU of 4096 rows takes 14.9 ms if they lose multiples of zero, 15.1 with a
    # condition for each column. A NaN or an infinite factor needs the condition.
    if magnitude(total) < _HUGE:
        for p in amp.static_range(1, columns):
            x = upper[half, slot, p] if p < columns - j else kind(0)
            for r in amp.static_range(own.extent[0]):
                own[r, p - 1] = own[r, p] - factors[r] * x if r > 0 or t > j else own[r, p]
    else:
        for p in amp.static_range(1, columns):
            for r in amp.static_range(own.extent[0]):
                is_changed = p < columns - j and (r > 0 or t > j)
                own[r, p - 1] = own[r, p] - factors[r] * upper[half, slot, p] if is_changed else own[r, p]
    for r in amp.static_range(own.extent[0]):
        own[r, columns - 1] = factors[r]


# The loop over the columns is not a static range on purpose: see vkamp.linalg.qr_tiles.
@amp.kernel
def factor_columns(
    t_idx, panel, pivots, first, start, stop, last, count,
    *, per: amp.constant, columns: amp.constant, threads: amp.constant, best: amp.constant,
):  # fmt: skip
    """Factors the columns ``start`` to ``stop`` of the matrix, and brings those of the panel, ``first`` to ``last``, up
    to date.

    Their rows are exchanged, and the upper rows after ``stop`` are solved. ``count``: as ``columns``, unknown to the
    compiler.
    """
    n = t_idx.tile[0]
    t = t_idx.local[1]
    kind = type(panel[0, 0, 0])
    rows = panel.extent[2]
    own = amp.private((per, columns), kind)
    has_lanes = not amp.target.cpu and amp.target.has("subgroup_shuffle") and threads % amp.target.subgroup_size == 0
    # The rows of the candidates for the pivot, and the row that it replaces.
    upper = amp.tile_static((2, 1 + (amp.tdiv(threads, amp.target.subgroup_size) if has_lanes else 1), columns), kind)
    corner = amp.tile_static((columns, columns), kind)
    places = amp.tile_static(columns, amp.int32)
    sources = amp.tile_static((2, columns), amp.int32)
    load_columns(panel, own, n, t, start, start - first, stop - first, threads=threads)
    for j in range(count):
        found = candidate(t_idx, own, j, start, rows, threads=threads, best=best, has_lanes=has_lanes)
        place, slot = find_pivot(t_idx, own, upper, found, j, threads=threads, has_lanes=has_lanes)
        if t == j:
            places[j] = place
        eliminate(own, upper, t, j, place, slot, threads=threads)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t < columns:
        for c in amp.static_range(columns):
            corner[t, c] = own[0, c]
        if start + t < stop:
            pivots[n, start + t] = start + places[t]
            sources[0, t] = source_of(places, t, stop - start)
            sources[1, t] = source_of(places, places[t], stop - start)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    store_columns(panel, own, n, t, start, start - first, stop - first, threads=threads)
    for k in range(first + t, last, threads):
        if k < start or k >= stop:
            finish_column(panel, places, sources, corner, n, first, k, start, stop, columns=columns)


@amp.func
def source_of(places: Any, row: Any, count: Any) -> Any:
    """The row whose elements are in ``row`` after the exchanges of the rows ``j`` and ``places[j]``, one after the
    other."""
    source = row
    for q in range(count):
        j = count - 1 - q
        if source == j:
            source = places[j]
        elif source == places[j]:
            source = j
    return source


@amp.func
def finish_column(
    panel: Any, places: Any, sources: Any, corner: Any, n: Any, first: Any, k: Any, start: Any, stop: Any,
    *, columns: amp.constant,
) -> Any:  # fmt: skip
    """Exchanges the rows of another column of the panel, and solves its upper part, after the factored columns."""
    kind = type(panel[0, 0, 0])
    moved = amp.private((2, columns), kind)
    for c in amp.static_range(columns):
        if start + c < stop:
            moved[0, c] = panel[n, k - first, start + sources[0, c]]
            moved[1, c] = panel[n, k - first, start + sources[1, c]]
    for c in amp.static_range(columns):
        if start + c < stop:
            panel[n, k - first, start + places[c]] = moved[1, c]
    for c in amp.static_range(columns):
        if start + c < stop:
            panel[n, k - first, start + c] = moved[0, c]
    if k >= stop:
        solved = amp.private(columns, kind)
        for c in amp.static_range(columns):
            if start + c < stop:
                x = moved[0, c]
                for q in amp.static_range(c):
                    x -= corner[c, q] * solved[q]
                solved[c] = x
                panel[n, k - first, start + c] = x


@amp.kernel
def update_rest(idx, panel, first, start, stop):
    """Subtracts the product of the factored columns and the solved rows from the rest of the panel."""
    n = idx[0]
    k = stop - first + idx[1]
    i = stop + idx[2]
    x = panel[n, k, i]
    for c in range(start, stop):
        x -= panel[n, c - first, i] * panel[n, k, c]
    panel[n, k, i] = x


@amp.kernel
def finish_panel(t_idx, a, panel, pivots, start, stop, others, across, *, wide: amp.constant):
    """Stores a panel in the matrix, and applies the exchanges of its rows to the columns outside of it.

    The first ``others`` tiles have ``SIDE`` of these columns each, the other ones blocks of the panel, ``across`` of
    them side by side. In one launch, both run at the same time.
    """
    if t_idx.tile[2] < others:
        exchange_others(t_idx, a, pivots, start, stop, wide=wide)
    else:
        block = t_idx.tile[2] - others
        move_block(t_idx, a, panel, start, stop - start, block // across, block % across, stores=True)


@amp.func
def exchange_others(t_idx: Any, a: Any, pivots: Any, start: Any, stop: Any, *, wide: amp.constant) -> Any:
    """Exchanges the rows of a tile's columns. All rows that move are loaded before one is stored."""
    n = t_idx.tile[0]
    t = t_idx.local[1] * SIDE + t_idx.local[2]
    places = amp.tile_static(wide, amp.int32)
    sources = amp.tile_static((2, wide), amp.int32)
    count = stop - start
    for j in range(t, wide, SIDE * ROWS):
        places[j] = pivots[n, start + j] - start if j < count else j
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for j in range(t, wide, SIDE * ROWS):
        sources[0, j] = source_of(places, j, count)
        # A row after those of the panel is stored once, for the last exchange that it takes part in.
        is_last = places[j] >= count
        for q in range(j + 1, count):
            is_last = is_last and places[q] != places[j]
        sources[1, j] = source_of(places, places[j], count) if is_last else -1
    t_idx.barrier.wait_with_tile_static_memory_fence()
    k = t_idx.tile[2] * SIDE + t_idx.local[2]
    k = k if k < start else k + count
    moved = amp.private((2, amp.tdiv(wide + ROWS - 1, ROWS)), type(a[0, 0, 0]))
    for p in amp.static_range(moved.extent[1]):
        j = t_idx.local[1] + p * ROWS
        if j < count and k < a.extent[2]:
            moved[0, p] = a[n, start + sources[0, j], k]
            if sources[1, j] >= 0:
                moved[1, p] = a[n, start + sources[1, j], k]
    t_idx.barrier.wait()
    for p in amp.static_range(moved.extent[1]):
        j = t_idx.local[1] + p * ROWS
        if j < count and k < a.extent[2]:
            a[n, start + j, k] = moved[0, p]
            if sources[1, j] >= 0:
                a[n, start + places[j], k] = moved[1, p]


def shape_of(view: amp.accelerator_view, rows: int, dtype: np.dtype[Any]) -> tuple[int, int, int] | None:
    """The threads of a tile, the rows of each, and their columns; ``None`` if there are too many rows."""
    limits = view.accelerator.limits
    most = _THREADS if limits is None else limits.tile_threads
    threads, per = threads_of(min(_THREADS, most), rows)
    if per > _FEW_ROWS:
        threads, per = threads_of(min(_MANY, most), rows)
    columns = min(_COLUMNS, _OF_THREAD // per, _OF_TILE // (threads * per))
    return None if per > _ROWS else (threads, per, max(2, columns * 4 // dtype.itemsize))


def factor(view: amp.accelerator_view, made: Any, pivots: Any) -> bool:
    """Replaces a batch by its factors, and fills ``pivots``; returns False for matrices with too many rows."""
    batch, rows, columns = map(int, made.extent)
    steps = min(rows, columns)
    if shape_of(view, rows, made.dtype) is None:
        return False
    whole = Matrix(made)
    panel = amp.array(amp.extent(batch, min(WIDE, steps), rows), made.dtype, accelerator_view=view)
    for first in range(0, steps, WIDE):
        last = min(first + WIDE, steps)
        move(view, made, panel, first, last, stores=False)
        _factor_panel(view, panel, pivots, first, last)
        others = -(-(columns - (last - first)) // SIDE)
        down, across = blocks_of(made, first, last)
        domain = amp.extent(batch, ROWS, (others + down * across) * SIDE).tile(1, ROWS, SIDE)
        amp.parallel_for_each(view, domain, finish_panel, made, panel, pivots, first, last, others, across, wide=WIDE)
        if last == columns:
            break
        block, rest = slice(first, last), slice(last, columns)
        right = whole.part(block, rest)
        _triangles.solve(view, whole.part(block, block), False, True, right)
        if last < rows:
            below = slice(last, rows)
            _triangles.product(view, -1, whole.part(below, block), right, 1, whole.part(below, rest))
    return True


def _factor_panel(view: amp.accelerator_view, panel: Any, pivots: Any, first: int, last: int) -> None:
    batch, _, rows = map(int, panel.extent)
    best = Best64 if panel.dtype in (np.float64, np.complex128) else Best32
    start = first
    while start < last:
        shape = shape_of(view, rows - start, panel.dtype)
        assert shape is not None
        threads, per, columns = shape
        stop = min(start + columns, last)
        amp.parallel_for_each(
            view, amp.extent(batch, threads).tile(1, threads), factor_columns, panel, pivots, first, start, stop, last,
            columns, per=per, columns=columns, threads=threads, best=best,
        )  # fmt: skip
        if stop < last and stop < rows:
            amp.parallel_for_each(
                view, amp.extent(batch, last - stop, rows - stop), update_rest, panel, first, start, stop
            )
        start = stop
