"""Cholesky's factorisation on GPUs: tiles factor a block and the rows below it, with a row in each thread's registers.

The rest of the matrix is updated by products. That takes two or three launches for a block, because its latency, and
not the operations, is what a block costs. Columns move on with each step, so that loops need no copies of their bodies
(:mod:`vkamp.linalg.qr_tiles`).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix
from vkamp.linalg._parts import conjugated

#: The rows of a block; half as many of complex128.
WIDE = 64
#: The threads of a tile that have rows below the block.
_BELOW = 64
#: The columns that are factored between two barriers.
_FEW = 4
#: The columns that one product updates, at most: elements above the diagonal are updated only beside it.
_STRIP = 2048


@amp.func
def root(x: Any) -> Any:
    """The square root of a number of the diagonal."""
    if hasattr(x, "imag"):
        return type(x)(amp.precise_math.sqrt(x.real))
    return amp.precise_math.sqrt(x)


@amp.func
def solve_few(own: Any, corner: Any, x: Any, half: Any, place: Any) -> Any:
    """Solves ``x @ l^H = own[:_FEW]``, where ``l`` is the factor of the corner; ``place``: the row of the corner that
    the thread has, if any."""
    kind = type(own[0])
    factor = amp.private((_FEW, _FEW), kind)
    for q in amp.static_range(_FEW):
        d = corner[half, q, q]
        for r in amp.static_range(q):
            d -= factor[q, r] * conjugated(factor[q, r])
        diagonal = root(d)
        inverse = kind(1) / diagonal
        for i in amp.static_range(q + 1, _FEW):
            y = corner[half, i, q]
            for r in amp.static_range(q):
                y -= factor[i, r] * conjugated(factor[q, r])
            factor[i, q] = y * inverse
        z = own[q]
        for r in amp.static_range(q):
            z -= x[r] * conjugated(factor[q, r])
        x[q] = diagonal if place == q else z * inverse


# Every tile factors the block at the diagonal: that takes no longer, and saves a launch. So no tile may store it in the
# matrix, where others read it.
@amp.kernel
def factor_panel(t_idx, a, adjoint, diagonals, start, size, count, *, rows: amp.constant):
    """Factors the block of ``size`` rows at ``start``, and solves ``x @ l^H = a`` for the rows below it.

    The first ``rows`` threads have the rows of the block, after which it is a unit matrix, and each other thread has a
    row below it. Stores the factor in ``diagonals``, ``x`` in its place, and its adjoint. ``count``: the steps of
    ``_FEW`` columns, unknown to the compiler.
    """
    kind = type(a[0, 0, 0])
    corner = amp.tile_static((2, _FEW, _FEW), kind)
    solved = amp.tile_static((2, rows, _FEW), kind)
    own = amp.private(rows, kind)
    x = amp.private(_FEW, kind)
    n = t_idx.tile[0]
    t = t_idx.local[1]
    row = t if t < rows else t + t_idx.tile[1] * _BELOW
    at = min(start + row, a.extent[1] - 1)
    exists = row < size if t < rows else start + row < a.extent[1]
    for k in amp.static_range(rows):
        own[k] = kind(1) if k == t else kind(0)
        if exists and k < size and k <= row:
            own[k] = a[n, at, start + k]
    for step in range(count):
        half = step % 2
        place = t - step * _FEW
        if place >= 0 and place < _FEW:
            for q in amp.static_range(_FEW):
                corner[half, place, q] = own[q]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        solve_few(own, corner, x, half, place)
        if t < rows:
            # Finished columns lose multiples of zeros.
            for q in amp.static_range(_FEW):
                solved[half, place & (rows - 1), q] = x[q] if place >= _FEW else kind(0)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for p in amp.static_range(_FEW, rows):
            y = own[p]
            for q in amp.static_range(_FEW):
                y -= (x[q] if place >= _FEW else kind(0)) * conjugated(solved[half, p, q])
            own[p - _FEW] = y
        for q in amp.static_range(_FEW):
            own[rows - _FEW + q] = x[q]
    if exists and (t >= rows or t_idx.tile[1] == 0):
        for k in amp.static_range(rows):
            if t < rows:
                diagonals[n, start + row, k] = own[k]
            else:
                a[n, at, start + k] = own[k]
                adjoint[n, k, row - rows] = conjugated(own[k])


@amp.kernel
def finish(idx, a, diagonals, rows):
    """Stores the factors of the blocks at the diagonal, and zeros above it."""
    i = idx[1]
    j = idx[2]
    if j > i:
        a[idx] = type(a[idx])(0)
    elif j >= i - i % rows:
        a[idx] = diagonals[idx[0], i, j % rows]


def factor(view: amp.accelerator_view, made: Any) -> None:
    """Replaces the lower triangles of a batch by the factors, and stores zeros above them."""
    batch, n, _ = map(int, made.extent)
    width = WIDE if made.dtype.itemsize <= 8 else WIDE // 2
    diagonals, adjoints = (
        amp.array(amp.extent(batch, *shape), made.dtype, accelerator_view=view)
        for shape in ((n, width), (width, max(n - width, 1)))
    )
    for start in range(0, n, width):
        size = min(width, n - start)
        below = n - start - size
        threads = width + _BELOW
        amp.parallel_for_each(
            view, amp.extent(batch, max(-(-below // _BELOW), 1) * threads).tile(1, threads), factor_panel, made,
            adjoints, diagonals, start, size, width // _FEW, rows=width,
        )  # fmt: skip
        if below > 0:
            x = Matrix(made).part(slice(start + size, n), slice(start, start + size))
            adjoint = Matrix(adjoints).part(slice(0, size), slice(0, below))
            _update(view, Matrix(made), x, adjoint, start + size)
    amp.parallel_for_each(view, made.extent, finish, made, diagonals, width)


def _update(view: amp.accelerator_view, whole: Matrix, x: Matrix, adjoint: Matrix, start: int) -> None:
    """Subtracts ``x @ x^H`` from the rows and columns from ``start`` on, in strips of columns."""
    every = slice(0, x.columns)
    for first in range(start, whole.rows, _STRIP):
        rows, columns = slice(first, whole.rows), slice(first, min(first + _STRIP, whole.rows))
        left = x.part(slice(first - start, x.rows), every) if first > start else x
        right = adjoint.part(every, slice(first - start, columns.stop - start))
        _triangles.product(view, -1, left, right, 1, whole.part(rows, columns))
