"""Cholesky's factorisation on GPUs: a tile factors a block with one row in the registers of each thread.

Then each thread solves one row below the block, and the rest of the matrix is updated by products. That takes three or
four launches for a block. Columns move on by one place with each step, so that loops need no copies of their bodies
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
#: The threads of a tile that solves rows.
_THREADS = 64
#: The columns that one product updates, at most: elements above the diagonal are updated only beside it.
_STRIP = 2048


@amp.func
def root(x: Any) -> Any:
    """The square root of a number of the diagonal."""
    if hasattr(x, "imag"):
        return type(x)(amp.precise_math.sqrt(x.real))
    return amp.precise_math.sqrt(x)


@amp.kernel
def factor_block(t_idx, a, start, size, count, *, rows: amp.constant):
    """The factor of the block of ``size`` rows at ``start``; after them the block is a unit matrix.

    ``count``: as ``rows``, unknown to the compiler.
    """
    kind = type(a[0, 0, 0])
    column = amp.tile_static((2, rows), kind)
    own = amp.private(rows, kind)
    n = t_idx.tile[0]
    t = t_idx.local[1]
    for k in amp.static_range(rows):
        own[k] = kind(1) if k == t else kind(0)
        if t < size and k <= t:
            own[k] = a[n, start + t, start + k]
    for j in range(count):
        # Finished columns lose multiples of zeros.
        column[j % 2, (t - j) & (rows - 1)] = own[0] if t >= j else kind(0)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        diagonal = root(column[j % 2, 0])
        inverse = kind(1) / diagonal
        x = own[0] * inverse
        factor = x * inverse if t > j else kind(0)
        for p in amp.static_range(1, rows):
            own[p - 1] = own[p] - factor * conjugated(column[j % 2, p])
        own[rows - 1] = diagonal if t == j else x
    for k in amp.static_range(rows):
        if t < size and k <= t:
            a[n, start + t, start + k] = own[k]


@amp.kernel
def solve_rows(t_idx, a, start, size, x, adjoint, count, *, rows: amp.constant):
    """Solves ``x @ l^H = b`` for the rows below the block at ``start``; ``x`` and its adjoint are stored, too."""
    kind = type(a[0, 0, 0])
    block = amp.tile_static((rows, rows), kind)
    inverses = amp.tile_static(rows, kind)
    own = amp.private(rows, kind)
    n = t_idx.tile[0]
    t = t_idx.local[1]
    row = t_idx.global_[1]
    for e in range(t, rows * rows, _THREADS):
        k = e // rows
        r = e % rows
        value = kind(1) if k == r else kind(0)
        if k < size and r <= k:
            value = a[n, start + k, start + r]
        block[r, (k - r) & (rows - 1)] = value
        if k == r:
            inverses[r] = kind(1) / conjugated(value)
    at = min(start + size + row, a.extent[1] - 1)
    for k in amp.static_range(rows):
        own[k] = a[n, at, start + k] if k < size else kind(0)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for r in range(count):
        solved = own[0] * inverses[r]
        for p in amp.static_range(1, rows):
            own[p - 1] = own[p] - solved * conjugated(block[r, p])
        own[rows - 1] = solved
    if start + size + row < a.extent[1]:
        for k in amp.static_range(rows):
            if k < size:
                a[n, at, start + k] = own[k]
                x[n, row, k] = own[k]
                adjoint[n, k, row] = conjugated(own[k])


def factor(view: amp.accelerator_view, made: Any) -> None:
    """Replaces the lower triangles of a batch by the factors."""
    batch, n, _ = map(int, made.extent)
    width = WIDE if made.dtype.itemsize <= 8 else WIDE // 2
    for start in range(0, n, width):
        size = min(width, n - start)
        below = n - start - size
        amp.parallel_for_each(
            view, amp.extent(batch, width).tile(1, width), factor_block, made, start, size, width, rows=width
        )
        if below > 0:
            x, adjoint = (
                amp.array(amp.extent(batch, *shape), made.dtype, accelerator_view=view)
                for shape in ((below, size), (size, below))
            )
            amp.parallel_for_each(
                view, amp.extent(batch, below).tile(1, _THREADS).pad(), solve_rows, made, start, size, x, adjoint,
                width, rows=width,
            )  # fmt: skip
            _update(view, Matrix(made), Matrix(x), Matrix(adjoint), start + size)


def _update(view: amp.accelerator_view, whole: Matrix, x: Matrix, adjoint: Matrix, start: int) -> None:
    """Subtracts ``x @ x^H`` from the rows and columns from ``start`` on, in strips of columns."""
    every = slice(0, x.columns)
    for first in range(start, whole.rows, _STRIP):
        rows, columns = slice(first, whole.rows), slice(first, min(first + _STRIP, whole.rows))
        left = x.part(slice(first - start, x.rows), every) if first > start else x
        right = adjoint.part(every, slice(first - start, columns.stop - start))
        is_whole = columns.stop - first == adjoint.columns
        _triangles.product(view, -1, left, adjoint if is_whole else right, 1, whole.part(rows, columns))
