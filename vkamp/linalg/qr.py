"""QR factorisation by Householder reflections (LAPACK: ``geqrf``, ``orgqr``).

Reflection ``j`` is ``1 - tau * v @ v^H``. Its vector ``v``, which has zeros before ``j`` and a 1 there, is stored below
the diagonal.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.linalg._shared import function, is_empty
from vkamp.linalg._square import batch_of, copy_of, type_of, where

_View = amp.accelerator_view | None
#: The number of threads that compute a norm.
_THREADS = 64


@amp.func
def conjugated(x: Any) -> Any:
    """The conjugate; a real number itself."""
    if hasattr(x, "imag"):
        return x.conjugate()
    return x


@amp.func
def squared(x: Any) -> Any:
    """The square of the magnitude of a number."""
    if hasattr(x, "imag"):
        return x.real * x.real + x.imag * x.imag
    return x * x


@amp.func
def largest_part(x: Any) -> Any:
    """The magnitude of a number; for a complex one, the larger magnitude of its parts."""
    if hasattr(x, "imag"):
        return max(abs(x.real), abs(x.imag))
    return abs(x)


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
    total = real(0)
    if scale > 0:
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
    has_parts = below > 0
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
def reflect(idx, v, taus, b, j, first, *, adjoint: amp.constant):
    """Applies reflection ``j``, or its adjoint, to one column of ``b`` from column ``first`` on."""
    n = idx[0]
    column = first + idx[1]
    total = b[n, j, column]
    for i in range(j + 1, v.extent[1]):
        total += conjugated(v[n, i, j]) * b[n, i, column]
    total = total * (conjugated(taus[n, j]) if adjoint else taus[n, j])
    b[n, j, column] = b[n, j, column] - total
    for i in range(j + 1, v.extent[1]):
        b[n, i, column] = b[n, i, column] - v[n, i, j] * total


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
    batch, rows, columns = made.extent
    steps = min(rows, columns)
    taus = amp.array(amp.extent(batch, steps), made.dtype, accelerator_view=view)
    for j in range(steps):
        amp.parallel_for_each(view, amp.extent(batch, _THREADS).tile(1, _THREADS), make_reflection, made, taus, j)
        if j + 1 < columns:
            rest = amp.extent(batch, columns - j - 1)
            amp.parallel_for_each(view, rest, reflect, made, taus, made, j, j + 1, adjoint=True)
    return taus


def apply(view: amp.accelerator_view, made: Any, taus: Any, b: Any, *, adjoint: bool) -> None:
    """``b = q @ b``, or ``q^H @ b``."""
    steps = range(int(taus.extent[1]))
    for j in steps if adjoint else reversed(steps):
        amp.parallel_for_each(
            view, amp.extent(b.extent[0], b.extent[2]), reflect, made, taus, b, j, 0, adjoint=adjoint
        )  # fmt: skip


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
        raise ValueError(f"mode is 'reduced', 'complete', 'r' or 'raw', not {mode!r}")
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
    apply(view, made, taus, q, adjoint=False)
    return q.reshape(*lead, rows, steps), r.reshape(*lead, steps, columns)
