"""Cholesky's factorisation, in blocks (LAPACK: ``potrf``)."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix
from vkamp.linalg._shared import function, is_empty
from vkamp.linalg._square import PANEL, batch_of, copy_of, type_of, where

#: The rows of a block on GPUs; the rest of the matrix is updated after each block.
WIDE = 128


@amp.kernel
def keep_lower(idx, a):
    """Stores zeros above the diagonal."""
    if idx[2] > idx[1]:
        a[idx] = type(a[idx])(0)


@amp.kernel
def factor_block(t_idx, a, count):
    """Factors one block of up to ``PANEL`` rows; each thread has one row."""
    kind = type(a[0, 0, 0])
    block = amp.tile_static((PANEL, PANEL), kind)
    n = t_idx.tile[0]
    row = t_idx.local[1]
    if row < count:
        for k in range(row + 1):
            block[row, k] = a[n, row, k]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for j in range(count):
        if row == j:
            if hasattr(block[j, j], "imag"):
                block[j, j] = kind(amp.precise_math.sqrt(block[j, j].real))
            else:
                block[j, j] = amp.precise_math.sqrt(block[j, j])
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if row > j and row < count:
            block[row, j] = block[row, j] / block[j, j]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if row > j and row < count:
            for k in range(j + 1, row + 1):
                factor = block[k, j]
                if hasattr(factor, "imag"):
                    factor = factor.conjugate()
                block[row, k] -= block[row, j] * factor
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if row < count:
        for k in range(row + 1):
            a[n, row, k] = block[row, k]


@amp.kernel
def factor_registers(t_idx, a, count, *, rows: amp.constant):
    """As ``factor_block``, on GPUs: each thread has a row in registers, and passes its element of a column on.

    After ``count`` rows, the block continues as a unit matrix.
    """
    kind = type(a[0, 0, 0])
    column = amp.tile_static(rows, kind)
    own = amp.private(rows, kind)
    n = t_idx.tile[0]
    row = t_idx.local[1]
    for k in amp.static_range(rows):
        own[k] = kind(1) if k == row else kind(0)
        if row < count and k <= row:
            own[k] = a[n, row, k]
    for j in amp.static_range(rows):
        if row == j:
            if hasattr(own[j], "imag"):
                own[j] = kind(amp.precise_math.sqrt(own[j].real))
            else:
                own[j] = amp.precise_math.sqrt(own[j])
            if j + 1 < rows:
                column[j] = own[j]
        if j + 1 < rows:
            t_idx.barrier.wait_with_tile_static_memory_fence()
            if row > j:
                own[j] = own[j] / column[j]
                column[row] = own[j]
            t_idx.barrier.wait_with_tile_static_memory_fence()
            if row > j:
                for k in amp.static_range(j + 1, rows):
                    factor = column[k]
                    if hasattr(factor, "imag"):
                        factor = factor.conjugate()
                    own[k] -= own[j] * factor
        if j + 2 < rows:
            t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(rows):
        if row < count and k <= row:
            a[n, row, k] = own[k]


@function
def cholesky(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The lower triangular ``l`` with ``a = l @ l^H`` of positive definite matrices (numpy: ``linalg.cholesky``).

    Only the lower triangles of ``a`` are read. The function does not wait, so it raises no LinAlgError: a matrix that
    is not positive definite gives NaN. AmpError unless the matrices are square.
    """
    lead, n, _ = batch_of(a, "cholesky")
    if is_empty(a):
        return np.linalg.cholesky(a)
    view = where(accelerator_view, a)
    made = copy_of(a, type_of(a), (math.prod(lead), n, n), view)
    amp.parallel_for_each(view, made.extent, keep_lower, made)
    factor(view, made)
    return made.reshape(*lead, n, n)


potrf = cholesky


def factor(view: amp.accelerator_view, made: Any) -> None:
    """Replaces the lower triangles of a batch by the factors: in turn a block, the rows below it, and the rest of
    the matrix.
    """
    n, whole = int(made.extent[1]), Matrix(made)
    is_complex = made.dtype.kind == "c"
    if _choose.form_of(view) == "tiles":
        _factor_in_tiles(view, whole, is_complex)
        amp.parallel_for_each(view, made.extent, keep_lower, made)
        return
    for start in range(0, n, PANEL):
        block, below = slice(start, min(start + PANEL, n)), slice(min(start + PANEL, n), n)
        diagonal = whole.part(block, block)
        tiles = amp.extent(int(made.extent[0]), PANEL).tile(1, PANEL)
        amp.parallel_for_each(view, tiles, factor_block, diagonal.values, block.stop - start)
        if below.start == n:
            break
        rows = whole.part(below, block)
        # x @ l^H = rows, as conj(l) @ x.T = rows.T.
        _triangles.solve(view, Matrix(diagonal.values, False, is_complex), False, False, rows.transposed)
        mirrored = Matrix(rows.values, True, is_complex)
        _triangles.update(view, [(-1, rows, mirrored)], 1, whole.part(below, below), upper=False, hermitian=True)


def _factor_in_tiles(view: amp.accelerator_view, whole: Matrix, is_complex: bool) -> None:
    """As ``factor``, on GPUs, in wide blocks whose diagonal is factored in narrow ones.

    One product updates the rest, including the part above the diagonal, since that takes fewer launches.
    """
    n = whole.rows
    width = WIDE if n > WIDE else PANEL
    for start in range(0, n, width):
        block, below = slice(start, min(start + width, n)), slice(min(start + width, n), n)
        diagonal = whole.part(block, block)
        if width > PANEL:
            _factor_in_tiles(view, diagonal, is_complex)
        else:
            tiles = amp.extent(whole.size, PANEL).tile(1, PANEL)
            amp.parallel_for_each(view, tiles, factor_registers, diagonal.values, diagonal.rows, rows=PANEL)
        if below.start == n:
            break
        rows = whole.part(below, block)
        # x @ l^H = rows, as conj(l) @ x.T = rows.T.
        _triangles.solve(view, Matrix(diagonal.values, False, is_complex), False, False, rows.transposed)
        _triangles.product(view, -1, rows, Matrix(rows.values, True, is_complex), 1, whole.part(below, below))
