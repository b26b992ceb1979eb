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
from vkamp.linalg import cholesky_tiles
from vkamp.linalg._parts import conjugated
from vkamp.linalg._shared import function, is_empty
from vkamp.linalg._square import PANEL, batch_of, copy_of, type_of, where


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
                block[row, k] -= block[row, j] * conjugated(block[k, j])
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if row < count:
        for k in range(row + 1):
            a[n, row, k] = block[row, k]


@amp.kernel
def adjoint(idx, source, out):
    """Stores the conjugate transposes of matrices."""
    out[idx] = conjugated(source[idx[0], idx[2], idx[1]])


@function
def cholesky(a: Any, *, upper: bool = False, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The lower triangular ``l`` with ``a = l @ l^H`` of positive definite matrices (numpy: ``linalg.cholesky``).

    Only the lower triangles of ``a`` are read. With ``upper``, only the upper triangles are read, and the result is the
    upper triangular ``u`` with ``a = u^H @ u``. The function does not wait, so it raises no LinAlgError: a matrix that
    is not positive definite gives NaN. AmpError unless the matrices are square.
    """
    lead, n, _ = batch_of(a, "cholesky")
    if is_empty(a):
        return np.linalg.cholesky(a)
    view = where(accelerator_view, a)
    made = copy_of(a, type_of(a), (math.prod(lead), n, n), view)
    if not upper:
        factor(view, made)
        return made.reshape(*lead, n, n)
    lower = amp.array(made.extent, made.dtype, accelerator_view=view)
    amp.parallel_for_each(view, made.extent, adjoint, made, lower)
    factor(view, lower)
    amp.parallel_for_each(view, made.extent, adjoint, lower, made)
    return made.reshape(*lead, n, n)


potrf = cholesky


def factor(view: amp.accelerator_view, made: Any) -> None:
    """Replaces the lower triangles of a batch by the factors: in turn a block, the rows below it, and the rest of
    the matrix.
    """
    n, whole = int(made.extent[1]), Matrix(made)
    is_complex = made.dtype.kind == "c"
    if _choose.form_of(view) == "tiles":
        cholesky_tiles.factor(view, made, made)
        return
    amp.parallel_for_each(view, made.extent, keep_lower, made)
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
