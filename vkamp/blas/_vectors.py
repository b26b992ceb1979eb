"""Products of matrices and vectors, and of two vectors: sums along rows, and outer products."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import value
from vkamp.blas._operands import Matrix, computed

#: The number of threads for each row on GPUs.
_THREADS = 128
#: If there are fewer sums than this, they are divided into pieces.
_FEW = 512
#: On GPUs, the columns of a transposed matrix are divided into pieces of at least this many rows, for about this many
#: threads.
_MANY, _LEAST = 1 << 17, 16


@amp.func
def finish(y: Any, batch: Any, row: Any, total: Any, alpha: Any, beta: Any, *, adds: amp.constant) -> Any:
    """Stores ``alpha * total``, or ``alpha * total + beta * y``."""
    kind = type(y[batch, row])
    if adds:
        y[batch, row] = kind(alpha * total + beta * type(total)(y[batch, row]))
    else:
        y[batch, row] = kind(alpha * total)


@amp.func
def element(
    a: Any, batch: Any, row: Any, column: Any, kind: Any, *, turned: amp.constant, conjugate: amp.constant
) -> Any:
    """An element of a matrix in the type ``kind``."""
    b = min(batch, a.extent[0] - 1)
    if conjugate:
        return kind(a[b, column, row] if turned else a[b, row, column]).conjugate()
    return kind(a[b, column, row] if turned else a[b, row, column])


@amp.kernel
def dot_pieces(
    idx, a, x, y, k, pieces, length, alpha, beta,
    *, turned: amp.constant, conjugate: amp.constant, adds: amp.constant,
):  # fmt: skip
    """Computes one piece of the sum of a row; the pieces of a row are side by side."""
    kind = type(alpha)
    row = idx[1] // pieces if pieces > 1 else idx[1]
    begin = (idx[1] - row * pieces) * length
    b = min(idx[0], x.extent[0] - 1)
    one = kind(0)
    two = kind(0)
    end = min(begin + length, k)
    for j in range(begin, end - 1, 2):
        one += element(a, idx[0], row, j, kind, turned=turned, conjugate=conjugate) * kind(x[b, j])
        two += element(a, idx[0], row, j + 1, kind, turned=turned, conjugate=conjugate) * kind(x[b, j + 1])
    if (end - begin) % 2 == 1:
        one += element(a, idx[0], row, end - 1, kind, turned=turned, conjugate=conjugate) * kind(x[b, end - 1])
    finish(y, idx[0], idx[1], one + two, alpha, beta, adds=adds)


@amp.kernel
def dot_quads(idx, a, x, y, k, pieces, length, step, alpha, beta, *, adds: amp.constant):
    """Like ``dot_pieces``, for rows of vectors of four without gaps; ``k`` and ``length`` count vectors."""
    vector = type(a[0])
    row = idx[1] // pieces if pieces > 1 else idx[1]
    begin = (idx[1] - row * pieces) * length
    at = idx[0] * step + row * k
    b = min(idx[0], x.extent[0] - 1)
    one = vector(0)
    two = vector(0)
    end = min(begin + length, k)
    for j in range(begin, end - 1, 2):
        one += a[at + j] * x[b, j]
        two += a[at + j + 1] * x[b, j + 1]
    if (end - begin) % 2 == 1:
        one += a[at + end - 1] * x[b, end - 1]
    one += two
    finish(y, idx[0], idx[1], one.x + one.y + one.z + one.w, alpha, beta, adds=adds)


@amp.kernel
def dot_tiles(t_idx, a, x, y, k, alpha, beta, *, turned: amp.constant, conjugate: amp.constant, adds: amp.constant):
    """Computes the sum of a row by a tile."""
    kind = type(alpha)
    batch = t_idx.tile[0]
    row = t_idx.tile[1]
    b = min(batch, x.extent[0] - 1)
    total = kind(0)
    for j in range(t_idx.local[1], k, _THREADS):
        total += element(a, batch, row, j, kind, turned=turned, conjugate=conjugate) * kind(x[b, j])
    total = tile.reduce(t_idx, total, functional.plus, _THREADS)
    if t_idx.local[1] == 0:
        finish(y, batch, row, total, alpha, beta, adds=adds)


@amp.kernel
def dot_quad_tiles(t_idx, a, x, y, k, step, alpha, beta, *, adds: amp.constant):
    """Computes the sum of a row by a tile, from vectors of four without gaps; ``k`` counts vectors.

    A thread has four loads in flight at a time.
    """
    batch = t_idx.tile[0]
    row = t_idx.tile[1]
    at = batch * step + row * k
    b = min(batch, x.extent[0] - 1)
    total = type(a[0])(0)
    j = t_idx.local[1]
    while j + 3 * _THREADS < k:
        one, two, three, four = a[at + j], a[at + j + _THREADS], a[at + j + 2 * _THREADS], a[at + j + 3 * _THREADS]
        total += one * x[b, j]
        total += two * x[b, j + _THREADS]
        total += three * x[b, j + 2 * _THREADS]
        total += four * x[b, j + 3 * _THREADS]
        j += 4 * _THREADS
    while j < k:
        total += a[at + j] * x[b, j]
        j += _THREADS
    whole = tile.reduce(t_idx, total.x + total.y + total.z + total.w, functional.plus, _THREADS)
    if t_idx.local[1] == 0:
        finish(y, batch, row, whole, alpha, beta, adds=adds)


@amp.kernel
def sum_columns(
    t_idx, a, x, out, k, length, alpha, *, conjugate: amp.constant, quads: amp.constant
):  # fmt: skip
    """Computes one piece of the sums of a column; with ``quads``, of four neighbouring columns in a vector.

    ``a`` has rank 3. The threads of a tile read neighbouring elements. Each has four loads in flight at a time.
    """
    kind = type(a[0, 0, 0]) if quads else type(alpha)
    batch = t_idx.tile[0]
    piece = t_idx.tile[1]
    column = t_idx.global_[2]
    ab = min(batch, a.extent[0] - 1)
    xb = min(batch, x.extent[0] - 1)
    if column < a.extent[2]:
        total = kind(0)
        j = piece * length
        end = min(j + length, k)
        while j + 3 < end:
            one, two, three, four = a[ab, j, column], a[ab, j + 1, column], a[ab, j + 2, column], a[ab, j + 3, column]
            if conjugate:
                one, two, three, four = one.conjugate(), two.conjugate(), three.conjugate(), four.conjugate()
            if quads:
                total += one * x[xb, j]
                total += two * x[xb, j + 1]
                total += three * x[xb, j + 2]
                total += four * x[xb, j + 3]
            else:
                total += kind(one) * kind(x[xb, j])
                total += kind(two) * kind(x[xb, j + 1])
                total += kind(three) * kind(x[xb, j + 2])
                total += kind(four) * kind(x[xb, j + 3])
            j += 4
        while j < end:
            last = a[ab, j, column]
            if conjugate:
                last = last.conjugate()
            if quads:
                total += last * x[xb, j]
            else:
                total += kind(last) * kind(x[xb, j])
            j += 1
        out[batch, piece, column] = total


@amp.kernel
def combine_columns(idx, parts, y, alpha, beta, *, adds: amp.constant):
    """Adds the pieces of a column."""
    total = parts[idx[0], 0, idx[1]]
    for j in range(1, parts.extent[1]):
        total += parts[idx[0], j, idx[1]]
    finish(y, idx[0], idx[1], total, alpha, beta, adds=adds)


@amp.kernel
def combine(idx, parts, y, pieces, alpha, beta, *, adds: amp.constant):
    """Adds the pieces of a row."""
    total = parts[idx[0], idx[1] * pieces]
    for j in range(1, pieces):
        total += parts[idx[0], idx[1] * pieces + j]
    finish(y, idx[0], idx[1], total, alpha, beta, adds=adds)


@amp.kernel
def outer(idx, x, y, c, alpha, *, turned: amp.constant, conjugate: amp.constant, adds: amp.constant):
    """``alpha * x * y`` for each pair of elements; optionally with the conjugates of y."""
    kind = type(alpha)
    row = idx[2] if turned else idx[1]
    factor = kind(y[0, idx[1] if turned else idx[2]])
    if conjugate:
        factor = factor.conjugate()
    total = alpha * kind(x[0, row]) * factor
    if adds:
        total += kind(c[idx])
    c[idx] = type(c[idx])(total)


def multiply(view: amp.accelerator_view, a: Matrix, x: Any, y: Any, alpha: Any = 1, beta: Any = 0) -> None:
    """``y = alpha * a @ x + beta * y`` for batches; ``x`` and ``y`` have rank 2, and ``y`` is not read if beta is 0."""
    dtype = computed(np.result_type(a.values.dtype, x.dtype))
    batch, rows, k = int(y.extent[0]), a.rows, a.columns
    numbers, adds = (value(alpha, dtype), value(beta, dtype)), bool(beta != 0)
    forms = {"turned": a.turned, "conjugate": a.conjugate, "adds": adds}
    quads = _quads(a, x, dtype)
    if _choose.form_of(view) == "tiles" and not a.turned:
        domain = amp.extent(batch, rows * _THREADS).tile(1, _THREADS)
        if quads is None:
            amp.parallel_for_each(view, domain, dot_tiles, a.values, x, y, k, *numbers, **forms)
        else:
            step = rows * (k // 4) if a.size > 1 else 0
            amp.parallel_for_each(view, domain, dot_quad_tiles, *quads, y, k // 4, step, *numbers, adds=adds)
        return
    if _choose.form_of(view) == "tiles":
        _multiply_turned(view, a, x, y, numbers, adds=adds)
        return
    length = k if quads is None else k // 4
    split = _choose.parts(length, -(-_FEW // (batch * rows)))
    target, last = y, numbers
    if split.pieces > 1:
        target = amp.array(amp.extent(batch, rows * split.pieces), dtype, accelerator_view=view)
        numbers, forms["adds"] = (value(1, dtype), value(0, dtype)), False
    threads = amp.extent(batch, rows * split.pieces)
    if quads is None:
        amp.parallel_for_each(view, threads, dot_pieces, a.values, x, target, k, *split, *numbers, **forms)
    else:
        step = rows * length if a.size > 1 else 0
        amp.parallel_for_each(
            view, threads, dot_quads, *quads, target, length, *split, step, *numbers, adds=forms["adds"]
        )  # fmt: skip
    if split.pieces > 1:
        amp.parallel_for_each(view, amp.extent(batch, rows), combine, target, y, split.pieces, *last, adds=adds)


def _multiply_turned(view: amp.accelerator_view, a: Matrix, x: Any, y: Any, numbers: Any, *, adds: bool) -> None:
    """``multiply`` for a matrix whose columns are rows of the memory, on GPUs: computes pieces of the sums, and
    adds these.
    """
    dtype = numbers[0].dtype
    batch, rows, k = int(y.extent[0]), a.rows, a.columns
    four = _columns_in_quads(a, x, dtype)
    threads = rows if four is None else rows // 4
    pieces = max(min(-(-_MANY // (batch * threads)), -(-k // _LEAST)), 1)
    length = -(-k // pieces)
    pieces = -(-k // length)
    parts = amp.array(amp.extent(batch, pieces, rows), dtype, accelerator_view=view)
    out = parts if four is None else lazy.quads_of(parts.reshape(-1)).reshape(batch, pieces, rows // 4)
    amp.parallel_for_each(
        view, amp.extent(batch, pieces, threads).tile(1, 1, _THREADS).pad(), sum_columns,
        a.values if four is None else four, x, out, k, length, numbers[0],
        conjugate=a.conjugate, quads=four is not None,
    )  # fmt: skip
    amp.parallel_for_each(view, amp.extent(batch, rows), combine_columns, parts, y, *numbers, adds=adds)


def _columns_in_quads(a: Matrix, x: Any, dtype: np.dtype[Any]) -> Any:
    """The memory of a transposed matrix in vectors of four; ``None`` unless it has that type, and no gaps."""
    if a.conjugate or a.rows % 4 or a.values.dtype != dtype or x.dtype != dtype:
        return None
    try:
        row = lazy.quads_of(a.values.reshape(-1))
    except amp.AmpError:
        return None
    return None if row is None else row.reshape(a.size, a.columns, a.rows // 4)


def _quads(a: Matrix, x: Any, dtype: np.dtype[Any]) -> tuple[Any, Any] | None:
    """A matrix and a vector in vectors of four; ``None`` unless both have that type, and no gaps."""
    if a.turned or a.conjugate or a.columns % 4 or a.values.dtype != dtype or x.dtype != dtype:
        return None
    try:
        rows, row = lazy.quads_of(a.values.reshape(-1)), lazy.quads_of(x.reshape(-1))
    except amp.AmpError:
        return None
    return None if rows is None or row is None else (rows, row.reshape(x.extent[0], a.columns // 4))


def multiply_outer(
    view: amp.accelerator_view, x: Any, y: Any, c: Matrix, alpha: Any, *, conjugate: bool = False, adds: bool = True
) -> None:
    """``c += alpha * x * y`` for each pair of elements of two vectors; without ``adds``, ``c`` is not read."""
    dtype = computed(np.result_type(x.dtype, y.dtype))
    amp.parallel_for_each(
        view, c.values.extent, outer, x.reshape(1, -1), y.reshape(1, -1), c.values, value(alpha, dtype),
        turned=c.turned, conjugate=conjugate and y.dtype.kind == "c", adds=adds,
    )  # fmt: skip
