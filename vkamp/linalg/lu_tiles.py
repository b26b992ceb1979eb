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

#: The columns of a panel. One product updates the rest of the matrix after each panel.
WIDE = 64
#: The largest number of threads in a tile, and the largest number of rows for each, by the number of columns.
_THREADS = 512
_SHAPES = ((8, 8), (16, 4))


@amp.struct
class Best32:
    """The largest number found, and its row."""

    size: amp.float32
    place: amp.int32


@amp.struct
class Best64:
    """As ``Best32``, in double precision."""

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
def find_pivot(
    t_idx: Any, own: Any, j: Any, start: Any, rows: Any, *, threads: amp.constant, best: amp.constant
) -> Any:
    """The row of the largest element of column ``j``, from row ``j`` of the tile's rows on."""
    found = best(-1.0, j)
    for r in amp.static_range(own.extent[0]):
        i = t_idx.local[1] + r * threads
        if i >= j and start + i < rows:
            size = magnitude(own[r, j])
            if size > found.size:
                found = best(size, i)
    return tile.reduce(t_idx, found, larger).place


@amp.func
def eliminate(own: Any, upper: Any, t: Any, place: Any, *, j: amp.constant, threads: amp.constant) -> Any:
    """Exchanges the rows ``j`` and ``place``, which are ``upper[1]`` and ``upper[0]``, and eliminates column ``j``.

    It subtracts multiples of the pivot's row from the rows below.
    """
    columns = own.extent[1]
    pivot = upper[0, j]
    for r in amp.static_range(own.extent[0]):
        i = t + r * threads
        if i == place and place != j:
            for c in amp.static_range(columns):
                own[r, c] = upper[1, c]
        if r == 0 and i == j:
            for c in amp.static_range(columns):
                own[0, c] = upper[0, c]
        if i > j:
            # If the pivot is 0, so are the elements below it.
            if magnitude(pivot) != 0:
                own[r, j] = own[r, j] / pivot
            for c in amp.static_range(j + 1, columns):
                own[r, c] -= own[r, j] * upper[0, c]


@amp.kernel
def factor_columns(
    t_idx, a, pivots, start, stop, first, last,
    *, per: amp.constant, columns: amp.constant, threads: amp.constant, best: amp.constant,
):  # fmt: skip
    """Factors the columns ``start`` to ``stop``, and brings those of the panel, ``first`` to ``last``, up to date.

    Their rows are exchanged, and the upper rows after ``stop`` are solved.
    """
    n = t_idx.tile[0]
    t = t_idx.local[1]
    kind = type(a[0, 0, 0])
    rows = a.extent[1]
    own = amp.private((per, columns), kind)
    upper = amp.tile_static((2, columns), kind)
    corner = amp.tile_static((columns, columns), kind)
    places = amp.tile_static(columns, amp.int32)
    for r in amp.static_range(per):
        for c in amp.static_range(columns):
            own[r, c] = kind(0)
            if start + t + r * threads < rows and start + c < stop:
                own[r, c] = a[n, start + t + r * threads, start + c]
    for j in amp.static_range(columns):
        place = find_pivot(t_idx, own, j, start, rows, threads=threads, best=best)
        for r in amp.static_range(per):
            for c in amp.static_range(columns):
                if t + r * threads == place:
                    upper[0, c] = own[r, c]
        if t == j:
            for c in amp.static_range(columns):
                upper[1, c] = own[0, c]
            places[j] = place
        t_idx.barrier.wait_with_tile_static_memory_fence()
        eliminate(own, upper, t, place, j=j, threads=threads)
        t_idx.barrier.wait_with_tile_static_memory_fence()
    for r in amp.static_range(per):
        for c in amp.static_range(columns):
            if start + t + r * threads < rows and start + c < stop:
                a[n, start + t + r * threads, start + c] = own[r, c]
    if t < columns:
        for c in amp.static_range(columns):
            corner[t, c] = own[0, c]
        if start + t < stop:
            pivots[n, start + t] = start + places[t]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in range(first + t, last, threads):
        if k < start or k >= stop:
            finish_column(a, places, corner, n, k, start, stop, columns=columns)


@amp.func
def finish_column(
    a: Any, places: Any, corner: Any, n: Any, k: Any, start: Any, stop: Any, *, columns: amp.constant
) -> Any:
    """Exchanges the rows of another column of the panel, and solves its upper part, after the factored columns."""
    for j in range(stop - start):
        other = start + places[j]
        if other != start + j:
            x = a[n, other, k]
            a[n, other, k] = a[n, start + j, k]
            a[n, start + j, k] = x
    if k >= stop:
        solved = amp.private(columns, type(a[0, 0, 0]))
        for c in amp.static_range(columns):
            if start + c < stop:
                x = a[n, start + c, k]
                for q in amp.static_range(c):
                    x -= corner[c, q] * solved[q]
                solved[c] = x
                a[n, start + c, k] = x


@amp.kernel
def update_rest(idx, a, start, stop):
    """Subtracts the product of the factored columns and the solved rows from the rest of the panel."""
    n = idx[0]
    i = stop + idx[1]
    k = stop + idx[2]
    x = a[n, i, k]
    for c in range(start, stop):
        x -= a[n, i, c] * a[n, c, k]
    a[n, i, k] = x


@amp.kernel
def exchange_others(idx, a, pivots, start, stop):
    """Applies the exchanges of a panel's rows to the columns outside of the panel."""
    n = idx[0]
    k = idx[1] if idx[1] < start else idx[1] + stop - start
    for j in range(start, stop):
        other = pivots[n, j]
        if other != j:
            x = a[n, other, k]
            a[n, other, k] = a[n, j, k]
            a[n, j, k] = x


def shape_of(view: amp.accelerator_view, rows: int) -> tuple[int, int, int] | None:
    """The threads of a tile, the rows of each, and their columns; ``None`` if there are too many rows."""
    limits = view.accelerator.limits
    most = _THREADS if limits is None else limits.tile_threads
    threads = min(_THREADS, most, max(32, 1 << (rows - 1).bit_length()))
    per = 1 << max(-(-rows // threads) - 1, 0).bit_length()
    return next(((threads, per, columns) for most, columns in _SHAPES if per <= most), None)


def factor(view: amp.accelerator_view, made: Any, pivots: Any) -> bool:
    """Replaces a batch by its factors, and fills ``pivots``; returns False for matrices with too many rows."""
    batch, rows, columns = map(int, made.extent)
    steps = min(rows, columns)
    if shape_of(view, rows) is None:
        return False
    whole = Matrix(made)
    for first in range(0, steps, WIDE):
        last = min(first + WIDE, steps)
        _factor_panel(view, made, pivots, first, last)
        if last - first < columns:
            others = amp.extent(batch, columns - (last - first))
            amp.parallel_for_each(view, others, exchange_others, made, pivots, first, last)
        if last == columns:
            break
        block, rest = slice(first, last), slice(last, columns)
        right = whole.part(block, rest)
        _triangles.solve(view, whole.part(block, block), False, True, right)
        if last < rows:
            below = slice(last, rows)
            _triangles.product(view, -1, whole.part(below, block), right, 1, whole.part(below, rest))
    return True


def _factor_panel(view: amp.accelerator_view, made: Any, pivots: Any, first: int, last: int) -> None:
    batch, rows, _ = map(int, made.extent)
    best = Best64 if made.dtype in (np.float64, np.complex128) else Best32
    start = first
    while start < last:
        shape = shape_of(view, rows - start)
        assert shape is not None
        threads, per, columns = shape
        stop = min(start + columns, last)
        amp.parallel_for_each(
            view, amp.extent(batch, threads).tile(1, threads), factor_columns, made, pivots, start, stop, first, last,
            per=per, columns=columns, threads=threads, best=best,
        )  # fmt: skip
        if stop < last and stop < rows:
            amp.parallel_for_each(view, amp.extent(batch, rows - stop, last - stop), update_rest, made, start, stop)
        start = stop
