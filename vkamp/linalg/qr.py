"""QR factorisation by Householder reflections (LAPACK: ``geqrf``, ``orgqr``).

Reflection ``j`` is ``1 - tau * v @ v^H``. Its vector ``v``, which has zeros before ``j`` and a 1 there, is stored below
the diagonal. The reflections of a panel of columns are applied to the other columns by products of matrices: their
product is ``1 - v @ t @ v^H``, where ``v`` has a column for each. The inverse of ``t`` is upper triangular, with the
elements of ``v^H @ v`` above the diagonal and ``1 / tau`` on it (C. Puglisi, *Modification of the Householder method
based on the compact WY representation*, 1992).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import _choose
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix
from vkamp.linalg import qr_tiles
from vkamp.linalg._parts import conjugated, largest_part, squared
from vkamp.linalg._shared import function, is_empty
from vkamp.linalg._square import PANEL, batch_of, copy_of, type_of, where

_View = amp.accelerator_view | None
#: The number of threads that compute a norm.
_THREADS = 64


@amp.kernel
def make_reflection(t_idx, a, taus, j):
    """The reflection that makes the elements below the diagonal in column ``j`` zero.

    It is scaled, so that no square overflows.
    """
    n = t_idx.tile[0]
    t = t_idx.local[1]
    kind = type(a[n, j, j])
    real = type(squared(a[n, j, j]))
    parts = amp.tile_static(_THREADS, real)
    most = amp.tile_static(_THREADS, real)
    largest = real(0)
    for i in range(j + 1 + t, a.extent[1], _THREADS):
        largest = max(largest, largest_part(a[n, i, j]))
    most[t] = largest
    t_idx.barrier.wait_with_tile_static_memory_fence()
    scale = largest_part(a[n, j, j])
    for k in range(_THREADS):
        scale = max(scale, most[k])
    # The largest of a NaN and a number may be either; so the sum has the NaN.
    if not scale > 0:
        scale = real(1)
    total = real(0)
    for i in range(j + 1 + t, a.extent[1], _THREADS):
        total += squared(a[n, i, j] / scale)
    parts[t] = total
    t_idx.barrier.wait_with_tile_static_memory_fence()
    below = real(0)
    for k in range(_THREADS):
        below += parts[k]
    alpha = a[n, j, j]
    factor = kind(0)
    beta = alpha
    tau = kind(0)
    has_parts = below != 0
    if hasattr(alpha, "imag"):
        has_parts = has_parts or alpha.imag != 0
    if has_parts:
        size = scale * amp.precise_math.sqrt(below + squared(alpha / scale))
        if hasattr(alpha, "imag"):
            beta = kind(-size if alpha.real >= 0 else size)
        else:
            beta = -size if alpha >= 0 else size
        tau = (beta - alpha) / beta
        factor = kind(1) / (alpha - beta)
    t_idx.barrier.wait()
    if has_parts:
        for i in range(j + 1 + t, a.extent[1], _THREADS):
            a[n, i, j] = a[n, i, j] * factor
    if t == 0:
        a[n, j, j] = beta
        taus[n, j] = tau


@amp.kernel
def reflect(idx, a, taus, j):
    """Applies the adjoint of reflection ``j`` to one of the columns behind it."""
    n = idx[0]
    column = j + 1 + idx[1]
    total = a[n, j, column]
    for i in range(j + 1, a.extent[1]):
        total += conjugated(a[n, i, j]) * a[n, i, column]
    total = total * conjugated(taus[n, j])
    a[n, j, column] = a[n, j, column] - total
    for i in range(j + 1, a.extent[1]):
        a[n, i, column] = a[n, i, column] - a[n, i, j] * total


@amp.kernel
def keep_reflections(idx, a, taus, v, adjoints, start):
    """The vectors of a panel's reflections, and their adjoints; zeros for a reflection that changes nothing."""
    n = idx[0]
    i = idx[1]
    j = idx[2]
    kind = type(v[idx])
    x = kind(0)
    if taus[n, start + j] != 0:
        if i > j:
            x = a[n, start + i, start + j]
        elif i == j:
            x = kind(1)
    v[idx] = x
    adjoints[n, j, i] = conjugated(x)


@amp.kernel
def put_diagonal(idx, products, taus, start):
    """The inverse numbers ``tau`` on the diagonal of the products of the vectors."""
    n = idx[0]
    kind = type(products[n, 0, 0])
    tau = taus[n, start + idx[1]]
    products[n, idx[1], idx[1]] = kind(1) / tau if tau != 0 else kind(1)


@amp.kernel
def keep_upper(idx, a, out):
    """The upper triangle, with zeros below it."""
    out[idx] = a[idx] if idx[2] >= idx[1] else type(a[idx])(0)


@amp.kernel
def identity(idx, out):
    """Stores ones on the diagonal and zeros elsewhere."""
    out[idx] = type(out[idx])(1) if idx[1] == idx[2] else type(out[idx])(0)


def factor(view: amp.accelerator_view, made: Any) -> Any:
    """Replaces a batch by its reflections and the upper triangular factor, and returns the numbers ``tau``."""
    batch, rows, columns = map(int, made.extent)
    steps = min(rows, columns)
    taus = amp.array(amp.extent(batch, steps), made.dtype, accelerator_view=view)
    width = width_of(view)
    work = _work_for(view, made, min(width, steps), columns - min(width, steps))
    for start in range(0, steps, width):
        stop = min(start + width, steps)
        if not (_choose.form_of(view) == "tiles" and qr_tiles.factor(view, made, taus, start, stop)):
            _factor_panel(view, made, taus, start, stop)
        if stop < columns:
            rest = Matrix(made).part(slice(start, rows), slice(stop, columns))
            _apply_panel(view, made, taus, start, stop, rest, work, adjoint=True)
    return taus


class _Work(NamedTuple):
    """Memory for the vectors of a panel, their adjoints, the products of both, and their products with a matrix.

    All panels share it: a call that holds little memory is remembered.
    """

    v: Matrix
    adjoints: Matrix
    products: Matrix
    w: Matrix


def _work_for(view: amp.accelerator_view, made: Any, count: int, columns: int) -> _Work:
    """Memory for panels of ``count`` columns and matrices of ``columns`` columns."""
    batch, rows = int(made.extent[0]), int(made.extent[1])
    extents = (rows, count), (count, rows), (count, count), (count, max(columns, 1))
    return _Work(*(Matrix(amp.array(amp.extent(batch, *e), made.dtype, accelerator_view=view)) for e in extents))


def width_of(view: amp.accelerator_view) -> int:
    """The columns of a panel."""
    return qr_tiles.WIDE if _choose.form_of(view) == "tiles" else PANEL


def _factor_panel(view: amp.accelerator_view, made: Any, taus: Any, start: int, stop: int) -> None:
    batch = int(made.extent[0])
    for j in range(start, stop):
        amp.parallel_for_each(view, amp.extent(batch, _THREADS).tile(1, _THREADS), make_reflection, made, taus, j)
        if j + 1 < stop:
            amp.parallel_for_each(view, amp.extent(batch, stop - j - 1), reflect, made, taus, j)


def _apply_panel(
    view: amp.accelerator_view, made: Any, taus: Any, start: int, stop: int, b: Matrix, work: _Work, *, adjoint: bool
) -> None:
    """Multiplies ``b``, the rows from ``start`` on, by the reflections ``start`` to ``stop``, or by their adjoints."""
    below, every, columns = slice(0, b.rows), slice(0, stop - start), slice(0, b.columns)
    v, adjoints = work.v.part(below, every), work.adjoints.part(every, below)
    products, w = work.products.part(every, every), work.w.part(every, columns)
    amp.parallel_for_each(view, v.values.extent, keep_reflections, made, taus, v.values, adjoints.values, start)
    _triangles.product(view, 1, adjoints, v, 0, products)
    amp.parallel_for_each(view, amp.extent(b.size, stop - start), put_diagonal, products.values, taus, start)
    _triangles.product(view, 1, adjoints, b, 0, w)
    inverse = Matrix(products.values, adjoint, adjoint and made.dtype.kind == "c")
    _triangles.solve(view, inverse, not adjoint, False, w)
    _triangles.product(view, -1, v, w, 1, b)


def apply(view: amp.accelerator_view, made: Any, taus: Any, b: Any, *, adjoint: bool) -> None:
    """``b = q @ b``, or ``q^H @ b``."""
    _apply_all(view, made, taus, b, adjoint=adjoint, is_identity=False)


def _apply_all(view: amp.accelerator_view, made: Any, taus: Any, b: Any, *, adjoint: bool, is_identity: bool) -> None:
    """``b = q @ b``, or ``q^H @ b``. ``is_identity``: reflections leave the columns before theirs as they are."""
    width, (_, rows, columns), steps = width_of(view), map(int, b.extent), int(taus.extent[1])
    work = _work_for(view, made, min(width, steps), columns)
    starts = range(0, steps, width)
    for start in starts if adjoint else reversed(starts):
        part = Matrix(b).part(slice(start, rows), slice(start if is_identity else 0, columns))
        _apply_panel(view, made, taus, start, min(start + width, steps), part, work, adjoint=adjoint)


@function
def geqrf(a: Any, *, accelerator_view: _View = None) -> Any:
    """``(qr, tau)``: the upper triangular factor, with the reflections below it (LAPACK: ``geqrf``; numpy's mode "raw",
    without its transposition)."""
    lead, rows, columns = batch_of(a, "geqrf", square=False)
    if is_empty(a):
        raise amp.AmpError("geqrf of an empty matrix: containers have at least one element")
    view = where(accelerator_view, a)
    made = copy_of(a, type_of(a), (math.prod(lead), rows, columns), view)
    taus = factor(view, made)
    return made.reshape(*lead, rows, columns), taus.reshape(*lead, min(rows, columns))


@function
def qr(a: Any, mode: str = "reduced", *, accelerator_view: _View = None) -> Any:
    """``(q, r)`` with ``a = q @ r``, orthonormal columns of ``q`` and upper triangular ``r`` (numpy: ``linalg.qr``).

    ``mode``: "reduced", "complete" (``q`` is square), "r" for ``r`` alone, or "raw" for the reflections of
    :func:`geqrf`, transposed, and ``tau``. ValueError for other modes.
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"mode must be 'reduced', 'complete', 'r' or 'raw', not {mode!r}")
    lead, rows, columns = batch_of(a, "qr", square=False)
    if is_empty(a):
        found: Any = np.linalg.qr(np.asarray(a), mode)  # type: ignore[call-overload]
        return found if mode == "r" else tuple(found)
    view = where(accelerator_view, a)
    batch, steps = math.prod(lead), rows if mode == "complete" else min(rows, columns)
    made = copy_of(a, type_of(a), (batch, rows, columns), view)
    taus = factor(view, made)
    if mode == "raw":
        turned = alg.permute_dims(made, (0, 2, 1), accelerator_view=view)
        return turned.reshape(*lead, columns, rows), taus.reshape(*lead, min(rows, columns))
    r = amp.array(amp.extent(batch, steps, columns), made.dtype, accelerator_view=view)
    amp.parallel_for_each(view, r.extent, keep_upper, made, r)
    if mode == "r":
        return r.reshape(*lead, steps, columns)
    q = amp.array(amp.extent(batch, rows, steps), made.dtype, accelerator_view=view)
    amp.parallel_for_each(view, q.extent, identity, q)
    _apply_all(view, made, taus, q, adjoint=False, is_identity=True)
    return q.reshape(*lead, rows, steps), r.reshape(*lead, steps, columns)
