"""Results that are based on singular values: least squares, pseudo-inverses, ranks, condition numbers."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix
from vkamp.linalg import qr as reflections
from vkamp.linalg._parts import squared
from vkamp.linalg._shared import function, is_empty, shape_of
from vkamp.linalg._square import batch_of, copy_of, real_of, type_of, where
from vkamp.linalg.jacobi import decomposed, eigvalsh, svd
from vkamp.linalg.lu import inv
from vkamp.linalg.norms import norm
from vkamp.linalg.qr import keep_upper

_View = amp.accelerator_view | None


@amp.func
def _size(x: Any) -> Any:
    return abs(x)


@amp.kernel
def count_above(idx, values, out, relative, least):
    """How many numbers of a row are above ``least``, and above ``relative`` times the largest one."""
    largest = values[idx[0], 0]
    for k in range(1, values.extent[1]):
        largest = max(largest, values[idx[0], k])
    bound = max(relative * largest, least)
    count = 0
    for k in range(values.extent[1]):
        if values[idx[0], k] > bound:
            count += 1
    out[idx] = count


@amp.kernel
def divide_columns(idx, v, s, out, relative):
    """Divides columns by singular values.

    Columns of singular values up to ``relative`` times the first one become zeros.
    """
    value = s[idx[0], idx[2]]
    is_kept = value > relative * s[idx[0], 0] or value != value
    out[idx] = v[idx] / value if is_kept else type(v[idx])(0)


@amp.kernel
def divide_rows(idx, y, s, out, relative):
    """Divides rows by singular values. Rows of singular values up to ``relative`` times the first one become zeros."""
    value = s[idx[0], idx[1]]
    is_kept = value > relative * s[idx[0], 0] or value != value
    out[idx] = y[idx] / value if is_kept else type(y[idx])(0)


@amp.kernel
def sum_residuals(idx, b, y, s, relative, out):
    """The squared length of the residual for each right side: below the triangular factor, and along the singular
    vectors that are left out.
    """
    column = idx[0]
    total = type(relative)(0)
    for i in range(s.extent[1], b.extent[1]):
        total += squared(b[0, i, column])
    for j in range(s.extent[1]):
        if s[0, j] <= relative * s[0, 0]:
            total += squared(y[0, j, column])
    out[column] = total


@amp.kernel
def divide_sizes(idx, one, other, out, *, multiplies: amp.constant):
    """The quotient of two numbers, or their product. An indeterminate result of numbers is replaced by infinity."""
    x = one[idx]
    y = other[idx]
    result = x * y if multiplies else x / y
    # 0 / 0, and the norm of the inverse of a singular matrix.
    if result != result and x == x and (multiplies or y == y):
        result = type(result)(math.inf)
    out[idx] = result


def _relative(given: Any, dtype: np.dtype[Any], rows: int, columns: int) -> Any:
    """The fraction of the largest singular value up to which others count as 0.

    By default it is LAPACK's rounding error.
    """
    real = real_of(dtype)
    return real.type(max(rows, columns) * np.finfo(real).eps if given is None else given)


@function
def svdvals(x: Any, *, accelerator_view: _View = None) -> Any:
    """The singular values of matrices, in descending order (numpy, array API: ``linalg.svdvals``)."""
    return svd(x, compute_uv=False, accelerator_view=accelerator_view)


@function
def matrix_rank(
    a: Any, tol: float | None = None, hermitian: bool = False, *, rtol: float | None = None,
    accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """The number of singular values above ``tol``, or above ``rtol`` times the largest one (numpy:
    ``linalg.matrix_rank``).

    It is int32; for one matrix, it is a ``device_scalar``. By default, ``rtol`` is the larger extent times the rounding
    error of the type. ``hermitian``: uses the magnitudes of eigenvalues, and reads only the lower triangle. A vector
    has rank 0 or 1. ValueError if both bounds are given.
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank takes tol or rtol, not both")
    if len(shape_of(a)) < 2:
        if is_empty(a):
            return np.int32(0)
        size = norm(a, math.inf, accelerator_view=accelerator_view)
        return alg.device_scalar(alg.transform(_is_other_than_zero, size.view, accelerator_view=accelerator_view))
    lead, rows, columns = batch_of(a, "matrix_rank", square=hermitian)
    if is_empty(a):
        return np.zeros(lead, np.int32)[()]
    view = where(accelerator_view, a)
    if hermitian:
        values = alg.transform(_size, eigvalsh(a, accelerator_view=view), accelerator_view=view)
    else:
        values = svdvals(a, accelerator_view=view)
    real = values.dtype
    out = amp.array(amp.extent(math.prod(lead)), np.int32, accelerator_view=view)
    relative = _relative(rtol if tol is None else 0, real, rows, columns)
    rows_of = values.reshape(math.prod(lead), min(rows, columns))
    amp.parallel_for_each(view, out.extent, count_above, rows_of, out, relative, real.type(tol or 0))
    return out.reshape(*lead) if lead else alg.device_scalar(out)


@amp.func
def _is_other_than_zero(x: Any) -> Any:
    return 1 if x != 0 else 0


@function
def pinv(
    a: Any, rcond: float | None = None, hermitian: bool = False, *, rtol: float | None = None,
    accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """The Moore-Penrose pseudo-inverses of matrices (numpy: ``linalg.pinv``), by singular values.

    Singular values of at most ``rcond`` (also ``rtol``) times the largest one count as 0. The default is the larger
    extent times the rounding error of the type, even where numpy 1 uses 1e-15. ``hermitian`` makes no difference.
    """
    if rcond is not None and rtol is not None:
        raise ValueError("pinv takes rcond or rtol, not both")
    lead, rows, columns = batch_of(a, "pinv", square=hermitian)
    if is_empty(a):
        return np.zeros((*lead, columns, rows), type_of(a))
    view, batch = where(accelerator_view, a), math.prod(lead)
    given = copy_of(a, type_of(a), (batch, rows, columns), view)
    u, s, v = decomposed(view, given)
    divided = amp.array(v.extent, v.dtype, accelerator_view=view)
    relative = _relative(rtol if rcond is None else rcond, v.dtype, rows, columns)
    amp.parallel_for_each(view, v.extent, divide_columns, v, s, divided, relative)
    out = amp.array(amp.extent(batch, columns, rows), v.dtype, accelerator_view=view)
    _triangles.product(view, 1, Matrix(divided), Matrix(u, True, u.dtype.kind == "c"), 0, Matrix(out))
    return out.reshape(*lead, columns, rows)


@function
def cond(x: Any, p: Any = None, *, accelerator_view: _View = None) -> Any:
    """The condition numbers of matrices by a norm (numpy: ``linalg.cond``); for one matrix, a ``device_scalar``.

    ``p``: None or 2 for the largest singular value over the smallest one, -2 for the inverse of that; else an order of
    :func:`norm`, for ``norm(x, p) * norm(inv(x), p)``. The condition number of a singular matrix is infinite. AmpError
    for empty matrices, and for matrices that are not square, unless ``p`` is None, 2 or -2.
    """
    is_spectral = p in (None, 2, -2)
    lead, rows, columns = batch_of(x, "cond", square=not is_spectral)
    if is_empty(x):
        raise amp.AmpError("cond is not defined for empty matrices")
    view, batch = where(accelerator_view, x), math.prod(lead)
    if is_spectral:
        values = svdvals(x, accelerator_view=view).reshape(batch, min(rows, columns))
        ends = values[:, 0], values[:, min(rows, columns) - 1]
        one, other = ends[::-1] if p == -2 else ends
    else:
        parts = (x, inv(x, accelerator_view=view))
        one, other = (_of_norm(norm(each, p, axis=(-2, -1), accelerator_view=view), batch) for each in parts)
    out = amp.array(amp.extent(batch), one.dtype, accelerator_view=view)
    amp.parallel_for_each(view, out.extent, divide_sizes, one, other, out, multiplies=not is_spectral)
    return out.reshape(*lead) if lead else alg.device_scalar(out)


def _of_norm(found: Any, batch: int) -> Any:
    return found.view if isinstance(found, alg.device_scalar) else found.reshape(batch)


@function
def lstsq(a: Any, b: Any, rcond: float | None = None, *, accelerator_view: _View = None) -> Any:
    """``(x, residuals, rank, s)``: the ``x`` that minimises ``norm(a @ x - b)`` (numpy: ``linalg.lstsq``).

    Of several such ``x``, it is that with the smallest norm. ``a`` is one matrix; ``b`` is a vector, or has right sides
    as columns. ``rank``: a ``device_scalar`` of int32. ``s``: the singular values; those of at most ``rcond`` times the
    largest one count as 0, by default the larger extent times the rounding error of the type. ``residuals``: the
    squared length of ``a @ x - b`` for each right side if ``a`` has more rows than columns, else empty; numpy also
    leaves it empty for dependent columns. Computed by a QR factorisation and singular values.
    """
    lead, rows, columns = batch_of(a, "lstsq", square=False)
    if lead:
        raise TypeError("lstsq takes one matrix, not a batch")
    given = shape_of(b)
    if len(given) not in (1, 2) or given[0] != rows:
        raise amp.AmpError(f"a has {rows} rows, so b must have {rows} elements or rows, but its shape is {given}")
    if is_empty(a) or is_empty(b):
        return _of_nothing(a, b, rows, columns, given[1:])
    view, dtype, sides = where(accelerator_view, a, b), type_of(a, b), math.prod(given[1:])
    made = copy_of(a, dtype, (1, rows, columns), view)
    right = copy_of(b, dtype, (1, rows, sides), view)
    low, real, relative = min(rows, columns), real_of(dtype), _relative(rcond, dtype, rows, columns)
    if rows > columns:
        reflections.apply(view, made, reflections.factor(view, made), right, adjoint=True)
        upper = amp.array(amp.extent(1, columns, columns), dtype, accelerator_view=view)
        amp.parallel_for_each(view, upper.extent, keep_upper, made, upper)
        made = upper
    u, s, v = decomposed(view, made)
    y, z = (amp.array(amp.extent(1, low, sides), dtype, accelerator_view=view) for _ in range(2))
    top = Matrix(right).part(slice(0, low), slice(0, sides))
    _triangles.product(view, 1, Matrix(u, True, dtype.kind == "c"), top, 0, Matrix(y))
    amp.parallel_for_each(view, z.extent, divide_rows, y, s, z, relative)
    x = amp.array(amp.extent(1, columns, sides), dtype, accelerator_view=view)
    _triangles.product(view, 1, Matrix(v), Matrix(z), 0, Matrix(x))
    residuals: Any = np.zeros(0, real)
    if rows > columns:
        residuals = amp.array(amp.extent(sides), real, accelerator_view=view)
        amp.parallel_for_each(view, residuals.extent, sum_residuals, right, y, s, relative, residuals)
    rank = amp.array(amp.extent(1), np.int32, accelerator_view=view)
    amp.parallel_for_each(view, rank.extent, count_above, s, rank, relative, real.type(0))
    return x.reshape(columns, *given[1:]), residuals, alg.device_scalar(rank), s.reshape(low)


def _of_nothing(a: Any, b: Any, rows: int, columns: int, sides: tuple[int, ...]) -> Any:
    """The solution without equations, without unknowns, or without right sides."""
    dtype = type_of(a, b)
    if rows and columns:
        return np.zeros((columns, *sides), dtype), np.zeros(0, dtype), matrix_rank(a), svdvals(a)
    real = real_of(dtype)
    residuals = np.atleast_1d((abs(np.asarray(b)) ** 2).sum(0, dtype=real)) if rows > columns else np.zeros(0, real)
    return np.zeros((columns, *sides), dtype), residuals, 0, np.zeros(0, real)
