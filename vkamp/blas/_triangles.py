"""Triangular and symmetric matrices in batches, of which only one triangle is read or written."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose
from vkamp.algorithms._arguments import value
from vkamp.blas._operands import Matrix
from vkamp.blas._products import multiply
from vkamp.blas._vectors import element

#: The rows of a triangular block, a multiple of four, and those of a block of a symmetric update.
BLOCK, WIDE = 32, 128
#: The columns of a tile that solves with a triangular block, or multiplies by one.
_THREADS = 64
#: The threads among which a tile divides the rows of a column, and the fewest rows of a thread.
_PARTS, _LEAST_ROWS = 8, 4


@amp.kernel
def scale(idx, c, beta, *, clears: amp.constant):
    """``c *= beta``; zeros if ``beta`` is 0."""
    kind = type(beta)
    c[idx] = kind(0) if clears else beta * c[idx]


@amp.kernel
def reflect(idx, a, out, *, upper: amp.constant, turned: amp.constant, hermitian: amp.constant):
    """Stores a whole symmetric or Hermitian matrix, given one of its triangles."""
    kind = type(out[0, 0, 0])
    i = idx[1]
    j = idx[2]
    mirrored = i > j if upper else i < j
    row = j if mirrored else i
    column = i if mirrored else j
    x = element(a, idx[0], row, column, kind, turned=turned, conjugate=False)
    if hermitian:
        x.imag = 0.0 if i == j else (-x.imag if mirrored else x.imag)
    out[idx] = x


@amp.kernel
def store_triangle(
    idx, x, c, alpha, beta, *, upper: amp.constant, turned: amp.constant, adds: amp.constant, hermitian: amp.constant
):
    """``alpha * x + beta * c`` in one triangle of ``c``."""
    i = idx[1]
    j = idx[2]
    if (j >= i) if upper else (j <= i):
        total = alpha * x[idx]
        if adds:
            total += beta * element(c, idx[0], i, j, type(total), turned=turned, conjugate=False)
        if hermitian:
            total.imag = 0.0 if i == j else total.imag
        if turned:
            c[idx[0], j, i] = total
        else:
            c[idx] = total


@amp.kernel
def rank_one(
    idx, x, y, a, alpha, *, upper: amp.constant, turned: amp.constant, hermitian: amp.constant, twice: amp.constant
):
    """``a += alpha * x * y`` in one triangle. ``twice``: also ``alpha * y * x``; ``hermitian``: with conjugates."""
    i = idx[0]
    j = idx[1]
    if (j >= i) if upper else (j <= i):
        total = alpha * x[i] * (y[j].conjugate() if hermitian else y[j])
        if twice:
            total += (alpha.conjugate() if hermitian else alpha) * y[i] * (x[j].conjugate() if hermitian else x[j])
        total += a[0, j, i] if turned else a[0, i, j]
        if hermitian:
            total.imag = 0.0 if i == j else total.imag
        if turned:
            a[0, j, i] = total
        else:
            a[0, i, j] = total


@amp.kernel
def solve_block(
    idx, a, b, count,
    *, upper: amp.constant, unit: amp.constant, turned: amp.constant, conjugate: amp.constant, b_turned: amp.constant,
):  # fmt: skip
    """Solves ``a @ x = b`` for one column of ``b``, by substitution."""
    kind = type(b[0, 0, 0])
    n = idx[0]
    column = idx[1]
    for p in range(count):
        i = count - 1 - p if upper else p
        x = b[n, column, i] if b_turned else b[n, i, column]
        for q in range(p):
            k = count - 1 - q if upper else q
            y = b[n, column, k] if b_turned else b[n, k, column]
            x -= element(a, n, i, k, kind, turned=turned, conjugate=conjugate) * y
        if not unit:
            x = x / element(a, n, i, i, kind, turned=turned, conjugate=conjugate)
        if b_turned:
            b[n, column, i] = x
        else:
            b[n, i, column] = x


@amp.kernel
def multiply_block(
    idx, a, b, count,
    *, upper: amp.constant, unit: amp.constant, turned: amp.constant, conjugate: amp.constant, b_turned: amp.constant,
):  # fmt: skip
    """``b = a @ b`` for one column of ``b``."""
    kind = type(b[0, 0, 0])
    n = idx[0]
    column = idx[1]
    for p in range(count):
        i = p if upper else count - 1 - p
        x = b[n, column, i] if b_turned else b[n, i, column]
        if not unit:
            x = element(a, n, i, i, kind, turned=turned, conjugate=conjugate) * x
        for q in range(p + 1, count):
            k = q if upper else count - 1 - q
            y = b[n, column, k] if b_turned else b[n, k, column]
            x += element(a, n, i, k, kind, turned=turned, conjugate=conjugate) * y
        if b_turned:
            b[n, column, i] = x
        else:
            b[n, i, column] = x


@amp.func
def triangle_element(
    a: Any, n: Any, p: Any, q: Any, count: Any, kind: amp.constant,
    *, upper: amp.constant, unit: amp.constant, turned: amp.constant, conjugate: amp.constant,
) -> Any:  # fmt: skip
    """An element of a lower triangle, with the rows of an upper one in reverse order, and a unit matrix after it."""
    value = kind(1) if p == q else kind(0)
    if p < count and (q < p or (q == p and not unit)):
        i = count - 1 - p if upper else p
        k = count - 1 - q if upper else q
        value = element(a, n, i, k, kind, turned=turned, conjugate=conjugate)
    return value


@amp.func
def in_banks(four: Any, q: Any) -> Any:
    """The place of the four rows from ``4 * four`` on in column ``q`` of a block by columns. The groups of four rows
    are permuted, so that threads with adjacent columns store in different banks."""
    return 4 * (four ^ q % 8)


@amp.kernel
def solve_tile(
    t_idx, a, b, count, columns,
    *, rows: amp.constant, own: amp.constant, threads: amp.constant, upper: amp.constant, unit: amp.constant,
    turned: amp.constant, conjugate: amp.constant, b_turned: amp.constant,
):  # fmt: skip
    """Solves ``a @ x = b``; each thread has ``own`` rows, a multiple of four, of one of ``threads`` columns of ``b``.

    In turn, the threads with the first rows solve for these, and those with later rows of the same column subtract the
    products.
    """
    kind = type(b[0, 0, 0])
    block = amp.tile_static((rows, max(rows, 32)), kind)
    solved = amp.tile_static((own, threads), kind)
    inverses = amp.tile_static(rows, kind)
    n = t_idx.tile[0]
    t = t_idx.local[1] % threads
    top = t_idx.local[1] // threads * own
    column = t_idx.tile[1] * threads + t
    for e in range(t_idx.local[1], rows * rows, threads * amp.tdiv(rows, own)):
        # Adjacent threads load adjacent elements.
        p = e % rows if turned != upper else e // rows
        q = e // rows if turned != upper else e % rows
        z = triangle_element(a, n, p, q, count, kind, upper=upper, unit=unit, turned=turned, conjugate=conjugate)
        block[q, in_banks(p // 4, q) + p % 4] = z
        if p == q:
            inverses[p] = kind(1) / z
    x = amp.private(own, kind)
    for p in amp.static_range(own):
        x[p] = kind(0)
        if top + p < count and column < columns:
            i = count - 1 - top - p if upper else top + p
            x[p] = b[n, column, i] if b_turned else b[n, i, column]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for first in range(0, rows, own):
        if top == first:
            for r in amp.static_range(own):
                y = x[r]
                if not unit:
                    y = y * inverses[first + r]
                x[r] = y
                solved[r, t] = y
                for p in amp.static_range(r + 1, own):
                    x[p] -= block[first + r, in_banks(first // 4 + p // 4, first + r) + p % 4] * y
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if top > first:
            for r in range(own):
                for p in amp.static_range(own):
                    x[p] -= block[first + r, in_banks(top // 4 + p // 4, first + r) + p % 4] * solved[r, t]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    for p in amp.static_range(own):
        if top + p < count and column < columns:
            i = count - 1 - top - p if upper else top + p
            if b_turned:
                b[n, column, i] = x[p]
            else:
                b[n, i, column] = x[p]


@amp.kernel
def multiply_tile(
    t_idx, a, b, count, columns,
    *, rows: amp.constant, upper: amp.constant, unit: amp.constant, turned: amp.constant, conjugate: amp.constant,
    b_turned: amp.constant,
):  # fmt: skip
    """Computes ``b = a @ b`` with a column of ``b`` in each thread's registers."""
    kind = type(b[0, 0, 0])
    block = amp.tile_static((rows, rows), kind)
    n = t_idx.tile[0]
    column = t_idx.global_[1]
    for e in range(t_idx.local[1], rows * rows, _THREADS):
        block[e // rows, e % rows] = triangle_element(
            a, n, e // rows, e % rows, count, kind, upper=upper, unit=unit, turned=turned, conjugate=conjugate
        )
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if column < columns:
        x = amp.private(rows, kind)
        for p in amp.static_range(rows):
            x[p] = kind(0)
            if p < count:
                i = count - 1 - p if upper else p
                x[p] = b[n, column, i] if b_turned else b[n, i, column]
        for r in amp.static_range(rows):
            last = rows - 1 - r
            if not unit:
                x[last] = block[last, last] * x[last]
            for q in amp.static_range(rows - 1 - r):
                x[last] += block[last, q] * x[q]
        for p in amp.static_range(rows):
            if p < count:
                i = count - 1 - p if upper else p
                if b_turned:
                    b[n, column, i] = x[p]
                else:
                    b[n, i, column] = x[p]


def product(view: amp.accelerator_view, alpha: Any, a: Matrix, b: Matrix, beta: Any, c: Matrix) -> None:
    """``c = alpha * a @ b + beta * c``, where ``c`` may be transposed. Operands with a factor of 0 are not read."""
    if alpha == 0:
        scaled(view, beta, c.values)
    elif c.turned:
        multiply(view, b.transposed, a.transposed, c.values, alpha, beta)
    else:
        multiply(view, a, b, c.values, alpha, beta)


def scaled(view: amp.accelerator_view, beta: Any, c: Any) -> None:
    """``c *= beta``."""
    if beta != 1:
        amp.parallel_for_each(view, c.extent, scale, c, value(beta, c.dtype), clears=bool(beta == 0))


def whole(view: amp.accelerator_view, a: Matrix, upper: bool, hermitian: bool) -> Matrix:
    """Copies a symmetric matrix to new memory."""
    out = amp.array(amp.extent(a.size, a.rows, a.rows), a.values.dtype, accelerator_view=view)
    hermitian = hermitian and a.values.dtype.kind == "c"
    amp.parallel_for_each(
        view, out.extent, reflect, a.values, out, upper=upper, turned=a.turned, hermitian=hermitian
    )  # fmt: skip
    return Matrix(out)


def _apply(view: amp.accelerator_view, a: Matrix, upper: bool, unit: bool, b: Matrix, solves: bool) -> None:
    """Solves with one block, or multiplies by it."""
    forms = {"upper": upper, "unit": unit, "turned": a.turned, "conjugate": a.conjugate, "b_turned": b.turned}
    if _choose.form_of(view) == "tiles":
        if solves:
            rows, threads = block_of(view, b), _columns_of(view)
            own = max(rows // _PARTS, _LEAST_ROWS)
            many = threads * (rows // own)
            amp.parallel_for_each(
                view, amp.extent(b.size, -(-b.columns // threads) * many).tile(1, many), solve_tile, a.values, b.values,
                b.rows, b.columns, rows=rows, own=own, threads=threads, **forms,
            )  # fmt: skip
        else:
            domain = amp.extent(b.size, b.columns).tile(1, _THREADS).pad()
            amp.parallel_for_each(
                view, domain, multiply_tile, a.values, b.values, b.rows, b.columns, rows=BLOCK, **forms
            )
        return
    kernel = solve_block if solves else multiply_block
    amp.parallel_for_each(view, amp.extent(b.size, b.columns), kernel, a.values, b.values, b.rows, **forms)


def _columns_of(view: amp.accelerator_view) -> int:
    """The columns of a tile that solves with a triangular block."""
    limits = view.accelerator.limits
    return _THREADS if limits is None else min(_THREADS, limits.tile_threads // _PARTS)


def block_of(view: amp.accelerator_view, b: Matrix) -> int:
    """The rows of a block that threads solve: as many as tiles have memory for."""
    limits, rows = view.accelerator.limits, 2 * BLOCK
    if _choose.form_of(view) != "tiles" or limits is None:
        return BLOCK
    elements = rows * (max(rows, 32) + 1) + rows // _PARTS * _columns_of(view)
    return rows if elements * b.values.dtype.itemsize <= limits.shared_bytes else BLOCK


def _halves(n: int, block: int) -> tuple[slice, slice]:
    """The first and the last rows of a triangle, in whole blocks."""
    at = max(1 << (-(-n // block) - 1).bit_length() - 1, 1) * block
    return slice(0, at), slice(at, n)


def solve(view: amp.accelerator_view, a: Matrix, upper: bool, unit: bool, b: Matrix) -> None:
    """Solves ``a @ x = b`` in ``b``, where ``a`` is triangular.

    Each half is solved recursively, and one product joins them (F. Gustavson, *Recursion leads to automatic variable
    blocking*, 1997).
    """
    n, columns, block = b.rows, slice(0, b.columns), block_of(view, b)
    if n <= block:
        _apply(view, a, upper, unit, b, True)
        return
    first, last = _halves(n, block)[:: -1 if upper else 1]
    solve(view, a.part(first, first), upper, unit, b.part(first, columns))
    product(view, -1, a.part(last, first), b.part(first, columns), 1, b.part(last, columns))
    solve(view, a.part(last, last), upper, unit, b.part(last, columns))


def multiply_by(view: amp.accelerator_view, a: Matrix, upper: bool, unit: bool, b: Matrix) -> None:
    """``b = a @ b``, where ``a`` is triangular."""
    n, columns = b.rows, slice(0, b.columns)
    if n <= BLOCK:
        _apply(view, a, upper, unit, b, False)
        return
    first, last = _halves(n, BLOCK)[:: 1 if upper else -1]
    multiply_by(view, a.part(first, first), upper, unit, b.part(first, columns))
    product(view, 1, a.part(first, last), b.part(last, columns), 1, b.part(first, columns))
    multiply_by(view, a.part(last, last), upper, unit, b.part(last, columns))


def update(
    view: amp.accelerator_view,
    terms: list[tuple[Any, Matrix, Matrix]],
    beta: Any,
    c: Matrix,
    upper: bool,
    hermitian: bool = False,
) -> None:
    """Adds the products of ``terms``, each with its factor, to one triangle of ``beta * c``.

    Blocks beside the diagonal are products; blocks on the diagonal are computed as a whole, and one triangle of them is
    stored.
    """
    n = c.rows
    for start in range(0, n, WIDE):
        block = slice(start, min(start + WIDE, n))
        _update_diagonal(view, terms, beta, c, upper, hermitian, block)
        rest = slice(block.stop, n) if upper else slice(0, start)
        if rest.start == rest.stop:
            continue
        factor = beta
        for alpha, a, b in terms:
            rows, columns = a.part(block, slice(0, a.columns)), b.part(slice(0, b.rows), rest)
            product(view, alpha, rows, columns, factor, c.part(block, rest))
            factor = 1


def _update_diagonal(
    view: amp.accelerator_view, terms: Any, beta: Any, c: Matrix, upper: bool, hermitian: bool, block: slice
) -> None:
    size = block.stop - block.start
    made = amp.array(amp.extent(c.size, size, size), c.values.dtype, accelerator_view=view)
    for k, (alpha, a, b) in enumerate(terms):
        rows, columns = a.part(block, slice(0, a.columns)), b.part(slice(0, b.rows), block)
        product(view, alpha, rows, columns, min(k, 1), Matrix(made))
    dtype: np.dtype[Any] = c.values.dtype
    amp.parallel_for_each(
        view, made.extent, store_triangle, made, c.part(block, block).values, value(1, dtype), value(beta, dtype),
        upper=upper, turned=c.turned, adds=bool(beta != 0), hermitian=hermitian and dtype.kind == "c",
    )  # fmt: skip
