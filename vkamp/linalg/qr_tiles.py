"""QR factorisation on GPUs: a tile has a few columns of the matrix in its registers.

Launches and the latency of memory are what narrow panels cost, as with :mod:`vkamp.linalg.lu_tiles`.  So one tile
factors ``columns`` columns, of which each thread has some rows: for each reflection it adds up the products of its
column with all others at once, which gives the norm, what the reflection changes in the columns behind it, and the
products of the vectors that a block of reflections needs.  A second launch applies the block to the rest of the panel.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.linalg._columns import is_staged, load_columns, store_columns
from vkamp.linalg._parts import conjugated, largest_part, squared

#: Columns of a panel, whose rest of the matrix is updated by products.
WIDE = 64
#: Threads of a tile at most, rows of each at most, and bytes of the columns that it has.
_THREADS, _MOST_ROWS, _BYTES = 512, 16, 256
#: Columns of the rest of a panel that a tile updates.
_FEW = 2


#: Columns with elements beyond these sizes are scaled, so that no square overflows or vanishes.
_LARGE = 1e12


@amp.func
def combine(t_idx: Any, x: Any, *, threads: amp.constant, largest: amp.constant) -> Any:
    """Replaces each element of a private array by the sum of those of all threads of the tile, or by the largest.

    Each subgroup combines its own, and then one subgroup for each element those of the subgroups.
    """
    in_subgroups = not amp.target.cpu and amp.target.has("subgroup_arithmetic")
    parts = amp.tile_static(
        (x.extent[0], amp.tdiv(threads, amp.target.subgroup_size) + 1 if in_subgroups else threads), type(x[0])
    )
    totals = amp.tile_static(x.extent[0], type(x[0]))
    t = t_idx.local[1]
    if in_subgroups:
        size = amp.subgroup.size()
        number = amp.subgroup.id()
        subgroups = amp.tdiv(threads + size - 1, size)
        for k in amp.static_range(x.extent[0]):
            own = amp.subgroup.max(x[k]) if largest else amp.subgroup.add(x[k])
            if amp.subgroup.elect():
                parts[k, number] = own
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in range(number, x.extent[0], subgroups):
            own = type(x[0])(0)
            # All lanes have the same steps, so that none is late for what follows.
            for first in range(0, subgroups, size):
                m = first + amp.subgroup.lane()
                part = parts[k, min(m, subgroups - 1)]
                part = part if m < subgroups else type(x[0])(0)
                own = max(own, part) if largest else own + part
            own = amp.subgroup.max(own) if largest else amp.subgroup.add(own)
            if amp.subgroup.elect():
                totals[k] = own
    else:
        for k in amp.static_range(x.extent[0]):
            parts[k, t] = x[k]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in range(t, x.extent[0], threads):
            own = parts[k, 0]
            for m in range(1, threads):
                own = max(own, parts[k, m]) if largest else own + parts[k, m]
            totals[k] = own
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(x.extent[0]):
        x[k] = totals[k]


@amp.func
def load_scaled(
    t_idx: Any, a: Any, own: Any, scales: Any, start: Any, stop: Any, *, threads: amp.constant, staged: amp.constant
) -> Any:
    """Loads the columns ``start`` to ``stop`` from row ``start`` on, with zeros behind them, and scales them."""
    load_columns(t_idx, a, own, start, start, stop, threads=threads, staged=staged)
    for c in amp.static_range(own.extent[1]):
        scales[c] = type(scales[c])(0)
        for r in amp.static_range(own.extent[0]):
            scales[c] = max(scales[c], largest_part(own[r, c]))
    combine(t_idx, scales, threads=threads, largest=True)
    for c in amp.static_range(own.extent[1]):
        if (scales[c] > _LARGE or scales[c] * _LARGE < 1) and scales[c] > 0:
            for r in amp.static_range(own.extent[0]):
                own[r, c] = own[r, c] / scales[c]
        else:
            scales[c] = type(scales[c])(1)


@amp.func
def reflection_of(alpha: Any, dot: Any) -> Any:
    """``tau``, the factor of the vector's elements, and the element that replaces ``alpha``, below which zeros follow.

    ``dot``: the sum of the squares below ``alpha``.
    """
    kind = type(alpha)
    factor, beta, tau = kind(0), alpha, kind(0)
    if hasattr(alpha, "imag"):
        below = dot.real
        has_parts = below != 0 or alpha.imag != 0
    else:
        below = dot
        has_parts = below != 0
    if has_parts:
        size = amp.precise_math.sqrt(below + squared(alpha))
        if hasattr(alpha, "imag"):
            beta = kind(-size if alpha.real >= 0 else size)
        else:
            beta = -size if alpha >= 0 else size
        tau = (beta - alpha) / beta
        factor = kind(1) / (alpha - beta)
    return tau, factor, beta


@amp.func
def reflect(own: Any, dots: Any, t: Any, j: Any, factor: Any, beta: Any, *, threads: amp.constant) -> Any:
    """Applies a reflection to a thread's rows, whose first column is column ``j``, and moves that one to the end.

    ``dots``: the multiples of the vector that the columns lose.
    """
    kind = type(beta)
    last = own.extent[1] - 1
    for r in amp.static_range(own.extent[0]):
        i = t + r * threads
        x = own[r, 0]
        if i > j:
            x = x * factor
        v = x if i > j else kind(1 if i == j else 0)
        for p in amp.static_range(1, own.extent[1]):
            own[r, p - 1] = own[r, p] - v * dots[p]
        own[r, last] = beta if i == j else x


# The loop over the columns is no static range on purpose: its body is compiled once, and on an H100 eight columns of
# 1000 rows took 29 us, 40 with eight copies of it. So the columns move on by one place with each step, and at the end
# are in their places.
@amp.kernel
def factor_columns(
    t_idx, a, taus, products, start, stop, count,
    *, per: amp.constant, columns: amp.constant, threads: amp.constant, staged: amp.constant,
):  # fmt: skip
    """Factors the columns ``start`` to ``stop``; ``products`` of the reflections' vectors, above the diagonal.

    ``count``: as ``columns``, unknown to the compiler.
    """
    n = t_idx.tile[0]
    t = t_idx.local[1]
    kind = type(a[0, 0, 0])
    own = amp.private((per, columns), kind)
    scales = amp.private(columns, type(squared(kind(0))))
    dots = amp.private(columns, kind)
    rows = amp.tile_static((columns, columns), kind)
    load_scaled(t_idx, a, own, scales, start, stop, threads=threads, staged=staged)
    for j in range(count):
        for p in amp.static_range(columns):
            dots[p] = kind(0)
        for r in amp.static_range(per):
            x = conjugated(own[r, 0]) if t + r * threads > j else kind(0)
            for p in amp.static_range(columns):
                dots[p] += x * own[r, p]
        if t == j:
            for p in amp.static_range(columns):
                rows[j, p] = own[0, p]
        combine(t_idx, dots, threads=threads, largest=False)
        tau, factor, beta = reflection_of(rows[j, 0], dots[0])
        if t == 0 and start + j < stop:
            taus[n, start + j] = tau
            for p in amp.static_range(1, columns):
                if p >= columns - j:
                    products[n, p + j - columns, j] = conjugated(rows[j, p]) + factor * conjugated(dots[p])
        for p in amp.static_range(1, columns):
            if p < columns - j:
                dots[p] = conjugated(tau) * (rows[j, p] + conjugated(factor) * dots[p])
            else:
                dots[p] = kind(0)
        reflect(own, dots, t, j, factor, beta, threads=threads)
    for c in amp.static_range(columns):
        if t <= c:
            own[0, c] = own[0, c] * scales[c]
    store_columns(t_idx, a, own, start, start, stop, threads=threads, staged=staged)


@amp.kernel
def apply_columns(
    t_idx, a, taus, products, start, stop, last,
    *, per: amp.constant, columns: amp.constant, few: amp.constant, threads: amp.constant,
    staged: amp.constant,
):  # fmt: skip
    """Applies the reflections of the columns ``start`` to ``stop`` to ``few`` of those behind them."""
    n = t_idx.tile[0]
    t = t_idx.local[1]
    kind = type(a[0, 0, 0])
    first = stop + t_idx.tile[1] * few
    own = amp.private((per, few), kind)
    v = amp.private((per, columns), kind)
    dots = amp.private(few * columns, kind)
    load_columns(t_idx, a, own, start, first, last, threads=threads, staged=staged)
    load_columns(t_idx, a, v, start, start, stop, threads=threads, staged=staged)
    for j in amp.static_range(columns):
        if t <= j:
            v[0, j] = kind(1) if t == j else kind(0)
    for j in amp.static_range(columns):
        for c in amp.static_range(few):
            dots[j * few + c] = kind(0)
            for r in amp.static_range(per):
                dots[j * few + c] += conjugated(v[r, j]) * own[r, c]
    combine(t_idx, dots, threads=threads, largest=False)
    for j in amp.static_range(columns):
        for c in amp.static_range(few):
            for q in amp.static_range(j):
                dots[j * few + c] -= conjugated(products[n, q, j]) * dots[q * few + c]
            dots[j * few + c] = conjugated(taus[n, start + j]) * dots[j * few + c]
    for r in amp.static_range(per):
        for c in amp.static_range(few):
            for j in amp.static_range(columns):
                own[r, c] -= v[r, j] * dots[j * few + c]
    store_columns(t_idx, a, own, start, first, last, threads=threads, staged=staged)


def shape_of(view: amp.accelerator_view, rows: int, dtype: np.dtype[Any]) -> tuple[int, int, int] | None:
    """The threads of a tile, the rows of each, and their columns; None for too many rows."""
    limits = view.accelerator.limits
    most = _THREADS if limits is None else limits.tile_threads
    threads = min(_THREADS, most, max(32, 1 << (rows - 1).bit_length()))
    per = 1 << max(-(-rows // threads) - 1, 0).bit_length()
    columns = max(1, _BYTES // (dtype.itemsize * max(per, 8)))
    return (threads, per, columns) if per <= _MOST_ROWS else None


def factor(view: amp.accelerator_view, made: Any, taus: Any, first: int, last: int) -> bool:
    """Factors the columns ``first`` to ``last`` of a batch; False for matrices with too many rows."""
    batch, rows, _ = map(int, made.extent)
    if shape_of(view, rows - first, made.dtype) is None:
        return False
    start = first
    while start < last:
        shape = shape_of(view, rows - start, made.dtype)
        assert shape is not None
        threads, per, columns = shape
        stop = min(start + columns, last)
        staged = is_staged(made.dtype, threads, columns)
        products = amp.array(amp.extent(batch, columns, columns), made.dtype, accelerator_view=view)
        amp.parallel_for_each(
            view, amp.extent(batch, threads).tile(1, threads), factor_columns, made, taus, products, start, stop,
            columns, per=per, columns=columns, threads=threads, staged=staged,
        )  # fmt: skip
        if stop < last:
            tiles = -(-(last - stop) // _FEW)
            amp.parallel_for_each(
                view, amp.extent(batch, tiles * threads).tile(1, threads), apply_columns, made, taus, products,
                start, stop, last, per=per, columns=columns, few=_FEW, threads=threads, staged=staged,
            )  # fmt: skip
        start = stop
    return True
