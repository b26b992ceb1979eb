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
from vkamp.linalg._columns import load_columns, move, store_columns, threads_of
from vkamp.linalg._parts import conjugated, inverse_root, largest_part, squared

#: Columns of a panel, whose rest of the matrix is updated by products.
WIDE = 64
#: Threads of a tile at most, rows of each at most, bytes of the columns that it has, and rows for which these suffice.
_THREADS, _MOST_ROWS, _BYTES, _LEAST_ROWS = 512, 16, 256, 4
#: Columns of the rest of a panel that a tile updates.
_FEW = 2


#: The elements that tiles without subgroups combine at once.
_AT_ONCE = 4
#: The logarithm of the lanes of the largest subgroups.
_MOST_BITS = 7
#: Columns with elements beyond these sizes are scaled, so that no square overflows or vanishes.
_LARGE = 1e12


@amp.func
def combine(t_idx: Any, x: Any, half: Any, *, threads: amp.constant, largest: amp.constant) -> Any:
    """Replaces each element of a private array by the sum of those of all threads of the tile, or by the largest.

    ``half``: 0 and 1 by turns, so that the memory of one call is still there during the next one. The array has a power
    of two elements.
    """
    if (
        not amp.target.cpu
        and amp.target.has("subgroup_shuffle")
        and x.extent[0] <= amp.target.subgroup_size
        and threads % amp.target.subgroup_size == 0
    ):
        _by_subgroups(
            t_idx, x, half, largest=largest, count=x.extent[0], width=amp.target.subgroup_size,
            subgroups=amp.tdiv(threads, amp.target.subgroup_size),
        )  # fmt: skip
    else:
        parts = amp.tile_static((_AT_ONCE, threads), type(x[0]))
        t = t_idx.local[1]
        for first in amp.static_range(0, x.extent[0], _AT_ONCE):
            t_idx.barrier.wait_with_tile_static_memory_fence()
            for k in amp.static_range(first, min(first + _AT_ONCE, x.extent[0])):
                parts[k - first, t] = x[k]
            t_idx.barrier.wait_with_tile_static_memory_fence()
            for k in range(t, _AT_ONCE, threads):
                own = parts[k, 0]
                for m in range(1, threads):
                    own = either(own, parts[k, m], largest=largest)
                parts[k, 0] = own
            t_idx.barrier.wait_with_tile_static_memory_fence()
            for k in amp.static_range(first, min(first + _AT_ONCE, x.extent[0])):
                x[k] = parts[k - first, 0]


@amp.func
def _by_subgroups(
    t_idx: Any, x: Any, half: Any,
    *, largest: amp.constant, count: amp.constant, width: amp.constant, subgroups: amp.constant,
) -> Any:  # fmt: skip
    """Each subgroup combines its own elements, and then all subgroups those of all: one barrier suffices.

    In each step a lane gives half of what it has, and gets the other half of its own, so that ``count`` elements take
    about as many shuffles.
    """
    parts = amp.tile_static((2, subgroups, count), type(x[0]))
    lane = amp.subgroup.lane()
    place = amp.int32(0)
    for s in amp.static_range(_MOST_BITS):
        if 1 << s < count:
            is_odd = lane // (1 << s) % 2 == 1
            for k in amp.static_range(amp.tdiv(count, 2 << s)):
                given = amp.subgroup.shuffle_xor(x[k] if is_odd else x[amp.tdiv(count, 2 << s) + k], 1 << s)
                x[k] = either(x[amp.tdiv(count, 2 << s) + k] if is_odd else x[k], given, largest=largest)
            place += amp.tdiv(count, 2 << s) if is_odd else 0
        elif 1 << s < width:
            x[0] = either(x[0], amp.subgroup.shuffle_xor(x[0], 1 << s), largest=largest)
    if lane < count:
        parts[half, amp.subgroup.id(), place] = x[0]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    total = parts[half, min(lane // count, subgroups - 1), lane % count]
    if lane // count >= subgroups:
        total = type(x[0])(0)
    for m in amp.static_range(amp.tdiv(width, count), subgroups, amp.tdiv(width, count)):
        total = either(total, parts[half, m + lane // count, lane % count], largest=largest)
    for s in amp.static_range(_MOST_BITS):
        if count <= 1 << s and 1 << s < width:
            total = either(total, amp.subgroup.shuffle_xor(total, 1 << s), largest=largest)
    for k in amp.static_range(count):
        x[k] = amp.subgroup.shuffle(total, k)


@amp.func
def either(x: Any, y: Any, *, largest: amp.constant) -> Any:
    """The sum, or the larger one."""
    if largest:
        return max(x, y)
    return x + y


@amp.func
def load_scaled(
    t_idx: Any, panel: Any, own: Any, scales: Any, top: Any, start: Any, stop: Any, *, threads: amp.constant
) -> Any:
    """Loads the columns ``start`` to ``stop`` from row ``top`` on, with zeros behind them, and scales them."""
    load_columns(panel, own, t_idx.tile[0], t_idx.local[1], top, start, stop, threads=threads)
    for c in amp.static_range(own.extent[1]):
        scales[c] = type(scales[c])(0)
        for r in amp.static_range(own.extent[0]):
            scales[c] = max(scales[c], largest_part(own[r, c]))
    combine(t_idx, scales, 0, threads=threads, largest=True)
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
        size = below + squared(alpha)
        size = size * inverse_root(size)
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

    Of a thread's rows, only the first one can be above row ``j``.

    ``dots``: the multiples of the vector that the columns lose.
    """
    kind = type(beta)
    last = own.extent[1] - 1
    for r in amp.static_range(own.extent[0]):
        x = own[r, 0]
        if r > 0:
            x = x * factor
            v = x
        else:
            if t > j:
                x = x * factor
            v = x if t > j else kind(1 if t == j else 0)
        for p in amp.static_range(1, own.extent[1]):
            own[r, p - 1] = own[r, p] - v * dots[p]
        own[r, last] = beta if r == 0 and t == j else x


# The loop over the columns is not a static range on purpose: its body is compiled once, and on an H100 eight columns of
# 1000 rows took 29 us, 40 with eight copies of it. So the columns move on by one place with each step, and at the end
# are in their places.
@amp.kernel
def factor_columns(
    t_idx, panel, taus, products, first, start, stop, count,
    *, per: amp.constant, columns: amp.constant, threads: amp.constant,
):  # fmt: skip
    """Factors the columns ``start`` to ``stop``; ``products`` of the reflections' vectors, above the diagonal.

    ``count``: as ``columns``, unknown to the compiler.
    """
    n = t_idx.tile[0]
    t = t_idx.local[1]
    kind = type(panel[0, 0, 0])
    own = amp.private((per, columns), kind)
    scales = amp.private(columns, type(squared(kind(0))))
    dots = amp.private(columns, kind)
    rows = amp.tile_static((columns, columns), kind)
    load_scaled(t_idx, panel, own, scales, start, start - first, stop - first, threads=threads)
    for j in range(count):
        for p in amp.static_range(columns):
            dots[p] = kind(0)
        for r in amp.static_range(per):
            x = conjugated(own[r, 0]) if r > 0 or t > j else kind(0)
            for p in amp.static_range(columns):
                dots[p] += x * own[r, p]
        if t == j:
            for p in amp.static_range(columns):
                rows[j, p] = own[0, p]
        combine(t_idx, dots, j % 2, threads=threads, largest=False)
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
    store_columns(panel, own, n, t, start, start - first, stop - first, threads=threads)


@amp.kernel
def apply_columns(
    t_idx, panel, taus, products, first, start, stop, last,
    *, per: amp.constant, columns: amp.constant, few: amp.constant, threads: amp.constant,
):  # fmt: skip
    """Applies the reflections of the columns ``start`` to ``stop`` to ``few`` of those behind them."""
    n = t_idx.tile[0]
    t = t_idx.local[1]
    kind = type(panel[0, 0, 0])
    side = stop - first + t_idx.tile[1] * few
    own = amp.private((per, few), kind)
    v = amp.private((per, columns), kind)
    dots = amp.private(few * columns, kind)
    load_columns(panel, own, n, t, start, side, last - first, threads=threads)
    load_columns(panel, v, n, t, start, start - first, stop - first, threads=threads)
    for j in amp.static_range(columns):
        if t <= j:
            v[0, j] = kind(1) if t == j else kind(0)
    for j in amp.static_range(columns):
        for c in amp.static_range(few):
            dots[j * few + c] = kind(0)
            for r in amp.static_range(per):
                dots[j * few + c] += conjugated(v[r, j]) * own[r, c]
    combine(t_idx, dots, 0, threads=threads, largest=False)
    for j in amp.static_range(columns):
        for c in amp.static_range(few):
            for q in amp.static_range(j):
                dots[j * few + c] -= conjugated(products[n, q, j]) * dots[q * few + c]
            dots[j * few + c] = conjugated(taus[n, start + j]) * dots[j * few + c]
    for r in amp.static_range(per):
        for c in amp.static_range(few):
            for j in amp.static_range(columns):
                own[r, c] -= v[r, j] * dots[j * few + c]
    store_columns(panel, own, n, t, start, side, last - first, threads=threads)


def _most_threads(view: amp.accelerator_view, dtype: np.dtype[Any]) -> int:
    """The largest number of threads of a tile: without shuffles, each needs memory in :func:`combine`."""
    accelerator = view.accelerator
    limits = accelerator.limits
    if limits is None:
        return _THREADS
    most = min(_THREADS, limits.tile_threads)
    columns = _BYTES // (dtype.itemsize * _LEAST_ROWS)
    has_shuffles = not accelerator.is_emulated and "shuffle" in limits.subgroup_operations
    if has_shuffles and limits.subgroup_size >= _FEW * columns:
        return most
    # The scales are real, the sums of the type of the elements.
    parts = dtype.itemsize + (dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize)
    while most * _AT_ONCE * parts + columns * columns * dtype.itemsize > limits.shared_bytes:
        most //= 2
    return most


def shape_of(view: amp.accelerator_view, rows: int, dtype: np.dtype[Any]) -> tuple[int, int, int] | None:
    """The threads of a tile, the rows of each, and their columns; None for too many rows."""
    threads, per = threads_of(_most_threads(view, dtype), rows)
    # A thread's second row is below all of the columns.
    columns = min(threads, max(1, _BYTES // (dtype.itemsize * max(per, _LEAST_ROWS))))
    return (threads, per, columns) if per <= _MOST_ROWS else None


def factor(view: amp.accelerator_view, made: Any, taus: Any, first: int, last: int) -> bool:
    """Factors the columns ``first`` to ``last`` of a batch; False for matrices with too many rows."""
    batch, rows, _ = map(int, made.extent)
    if shape_of(view, rows - first, made.dtype) is None:
        return False
    panel = amp.array(amp.extent(batch, last - first, rows), made.dtype, accelerator_view=view)
    move(view, made, panel, first, last, stores=False)
    start = first
    while start < last:
        shape = shape_of(view, rows - start, made.dtype)
        assert shape is not None
        threads, per, columns = shape
        stop = min(start + columns, last)
        products = amp.array(amp.extent(batch, columns, columns), made.dtype, accelerator_view=view)
        amp.parallel_for_each(
            view, amp.extent(batch, threads).tile(1, threads), factor_columns, panel, taus, products, first, start,
            stop, columns, per=per, columns=columns, threads=threads,
        )  # fmt: skip
        if stop < last:
            tiles = -(-(last - stop) // _FEW)
            amp.parallel_for_each(
                view, amp.extent(batch, tiles * threads).tile(1, threads), apply_columns, panel, taus, products,
                first, start, stop, last, per=per, columns=columns, few=_FEW, threads=threads,
            )  # fmt: skip
        start = stop
    move(view, made, panel, first, last, stores=True)
    return True
