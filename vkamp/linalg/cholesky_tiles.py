"""Cholesky's factorisation on GPUs: tiles factor a block and the columns beside it, with a column in each thread's
registers.

The factor is computed as the upper triangle ``u`` with ``a = u^H @ u``, so that threads with neighbouring columns load
and store neighbouring elements. Its latency, and not the operations, is what a block costs. A few blocks make a strip:
one product brings each block of the strip up to date, and one for the whole strip updates the rest of the matrix.
Elements move on with each step, so that loops need no copies of their bodies (:mod:`vkamp.linalg.qr_tiles`).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix
from vkamp.linalg._parts import conjugated, inverse_root

#: The rows of a block; half as many of complex128.
WIDE = 64
#: The threads of a tile that have columns beside the block.
_BESIDE = 64
#: The rows that are factored between two barriers.
_FEW = 4
#: The phases of the loop over a block's rows. Threads have fewer elements in each phase than in the one before.
_PHASES = 2
#: The rows of a strip, and the columns that one product updates, at most: elements below the diagonal are updated only
#: beside it.
_STRIP, _ACROSS = 256, 1024
#: The rows and columns of a tile that transposes.
_SIDE, _ROWS = 32, 8


@amp.func
def solve_few(own: Any, corner: Any, x: Any, half: Any, place: Any) -> Any:
    """Solves ``l @ x = own[:_FEW]``, where ``l`` is the factor of the corner; ``place``: the column of the corner that
    the thread has, if any."""
    kind = type(own[0])
    factor = amp.private((_FEW, _FEW), kind)
    for q in amp.static_range(_FEW):
        d = corner[half, q, q]
        for r in amp.static_range(q):
            d -= factor[q, r] * conjugated(factor[q, r])
        if hasattr(d, "imag"):
            inverse = kind(inverse_root(d.real))
        else:
            inverse = inverse_root(d)
        diagonal = d * inverse
        for i in amp.static_range(q + 1, _FEW):
            y = conjugated(corner[half, i, q])
            for r in amp.static_range(q):
                y -= factor[i, r] * conjugated(factor[q, r])
            factor[i, q] = y * inverse
        z = own[q]
        for r in amp.static_range(q):
            z -= x[r] * factor[q, r]
        x[q] = diagonal if place == q else z * inverse


# Every tile factors the block at the diagonal: that takes no longer, and saves a launch. So no tile may store it in the
# matrix, where others read it.
@amp.kernel
def factor_panel(t_idx, u, adjoints, diagonals, first, start, size, count, *, rows: amp.constant):
    """Factors the block of ``size`` rows at ``start``, and solves ``l @ x = u`` for the columns beside it.

    The first ``rows`` threads have the columns of the block, after which it is a unit matrix, and each other thread has
    a column beside it. Stores the factor in ``diagonals``, ``x`` in its place, and its adjoint in the columns of
    ``adjoints`` that belong to the strip's rows from ``first`` on. ``count``: the steps of ``_FEW`` rows in a phase,
    unknown to the compiler.
    """
    kind = type(u[0, 0, 0])
    corner = amp.tile_static((2, _FEW, _FEW), kind)
    solved = amp.tile_static((2, rows, _FEW), kind)
    own = amp.private(rows, kind)
    x = amp.private(_FEW, kind)
    n = t_idx.tile[0]
    t = t_idx.local[1]
    column = t if t < rows else t + t_idx.tile[1] * _BESIDE
    at = min(start + column, u.extent[1] - 1)
    exists = column < size if t < rows else start + column < u.extent[1]
    stores = exists and (t >= rows or t_idx.tile[1] == 0)
    for k in amp.static_range(rows):
        own[k] = kind(1) if k == t else kind(0)
        if exists and k < size and k <= column:
            own[k] = u[n, start + k, at]
    for phase in amp.static_range(_PHASES):
        for s in range(count):
            step = phase * amp.tdiv(rows, _PHASES * _FEW) + s
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
            for p in amp.static_range(_FEW, rows - phase * amp.tdiv(rows, _PHASES)):
                y = own[p]
                for q in amp.static_range(_FEW):
                    y -= (x[q] if place >= _FEW else kind(0)) * conjugated(solved[half, p, q])
                own[p - _FEW] = y
            for q in amp.static_range(_FEW):
                row = step * _FEW + q
                if stores and row < size and place >= q:
                    if t < rows:
                        diagonals[n, row, start + column] = x[q]
                    else:
                        u[n, start + row, at] = x[q]
                        adjoints[n, at, start - first + row] = conjugated(x[q])


@amp.kernel
def adjoint_of(t_idx, source, out, diagonals, rows, *, lower: amp.constant):
    """Stores the adjoint of the upper triangle of each matrix, with the blocks of the diagonal from ``diagonals``, and
    zeros above it; with ``lower``, that of the lower triangle."""
    kind = type(out[0, 0, 0])
    stage = amp.tile_static((_SIDE, _SIDE + 1), kind)
    n = t_idx.tile[0]
    x = t_idx.local[2]
    count = source.extent[1]
    for p in amp.static_range(amp.tdiv(_SIDE, _ROWS)):
        y = t_idx.local[1] + p * _ROWS
        i = t_idx.tile[2] * _SIDE + y
        j = t_idx.tile[1] * _SIDE + x
        z = kind(0)
        if i < count and j < count:
            if lower:
                if i >= j:
                    z = source[n, i, j]
            elif i <= j:
                if i >= j - j % rows:
                    z = diagonals[n, i % rows, j]
                else:
                    z = source[n, i, j]
        stage[y, x] = conjugated(z)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for p in amp.static_range(amp.tdiv(_SIDE, _ROWS)):
        y = t_idx.local[1] + p * _ROWS
        i = t_idx.tile[1] * _SIDE + y
        j = t_idx.tile[2] * _SIDE + x
        if i < count and j < count:
            out[n, i, j] = stage[x, y]


def _adjoint(view: amp.accelerator_view, source: Any, out: Any, diagonals: Any, width: int, lower: bool) -> None:
    batch, n = int(out.extent[0]), int(out.extent[1])
    tiles = -(-n // _SIDE)
    amp.parallel_for_each(
        view, amp.extent(batch, tiles * _ROWS, tiles * _SIDE).tile(1, _ROWS, _SIDE), adjoint_of, source, out, diagonals,
        width, lower=lower,
    )  # fmt: skip


def factor(view: amp.accelerator_view, a: Any, out: Any) -> None:
    """Stores the factors of a batch, of which the lower triangles are read, and zeros above them. ``out`` may be
    ``a``."""
    batch, n, _ = map(int, out.extent)
    width = WIDE if out.dtype.itemsize <= 8 else WIDE // 2
    # Products read rows that are whole groups of four elements where they are.
    columns = -(-n // 4) * 4
    upper, adjoints, diagonals = (
        amp.array(amp.extent(batch, *shape), out.dtype, accelerator_view=view)
        for shape in ((n, columns), (n, min(_STRIP, columns)), (width, n))
    )
    _adjoint(view, a, upper, diagonals, width, True)
    whole, left, threads = Matrix(upper), Matrix(adjoints), width + _BESIDE
    for first in range(0, n, _STRIP):
        last = min(first + _STRIP, n)
        for start in range(first, last, width):
            size = min(width, n - start)
            if start > first:
                _update(view, whole, left, first, start, slice(start, start + size))
            beside = n - start - size
            amp.parallel_for_each(
                view, amp.extent(batch, max(-(-beside // _BESIDE), 1) * threads).tile(1, threads), factor_panel, upper,
                adjoints, diagonals, first, start, size, width // _FEW // _PHASES, rows=width,
            )  # fmt: skip
        for start in range(last, n, _ACROSS):
            _update(view, whole, left, first, last, slice(start, min(start + _ACROSS, n)))
    _adjoint(view, upper, out, diagonals, width, False)


def _update(view: amp.accelerator_view, whole: Matrix, adjoints: Matrix, first: int, last: int, rows: slice) -> None:
    """Subtracts what the factored rows ``first`` to ``last`` contribute to other rows, from the diagonal on."""
    columns = slice(rows.start, whole.columns)
    left, right = adjoints.part(rows, slice(0, last - first)), whole.part(slice(first, last), columns)
    _triangles.product(view, -1, left, right, 1, whole.part(rows, columns))
