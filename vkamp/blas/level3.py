"""Level 3: products of matrices, and solutions of triangular systems."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix
from vkamp.blas._routine import agree, apart, matrix, option, real, routine, square, where

_View = amp.accelerator_view | None


def _shape(a: Matrix, rows: int, columns: int, name: str) -> None:
    if (a.rows, a.columns) != (rows, columns):
        raise amp.AmpError(f"{name} is {a.rows} x {a.columns}, but must be {rows} x {columns}")


def _of(given: Any, made: Matrix) -> Any:
    """The result of a routine: the container that it received, or a view of the numpy array."""
    return (
        given
        if isinstance(given, (amp.array, amp.array_view))
        else amp.array_view(made.values).reshape(*tuple(made.values.extent)[1:])
    )


@routine
def gemm(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any,
    *, transa: str = "N", transb: str = "N", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``c = alpha * op(a) @ op(b) + beta * c``; returns ``c`` (BLAS: ``sgemm``).

    ``op`` is the matrix for "N", its transpose for "T", and its conjugate transpose for "C". With ``beta`` 0, ``c`` is
    not read; with ``alpha`` 0, neither are ``a`` and ``b``.
    """
    left, right = matrix(a, "a", order, transa), matrix(b, "b", order, transb)
    out = matrix(c, "c", order, writes=True)
    agree(left.values, right.values, out.values)
    if left.columns != right.rows:
        raise amp.AmpError(f"op(a) has {left.columns} columns, but op(b) has {right.rows} rows")
    _shape(out, left.rows, right.columns, "c")
    apart(out.values, left.values, right.values)
    view = where(accelerator_view, left.values, right.values, out.values)
    _triangles.product(view, alpha, left, right, beta, out)
    return _of(c, out)


def _symmetric(
    side: str, uplo: str, alpha: Any, a: Any, b: Any, beta: Any, c: Any, order: str, view: _View, hermitian: bool
) -> Any:
    is_left, upper = option("side", side, "LR") == "L", option("uplo", uplo, "UL") == "U"
    given, other, out = matrix(a, "a", order), matrix(b, "b", order), matrix(c, "c", order, writes=True)
    agree(given.values, other.values, out.values)
    n = square(given, "a")
    if n != (out.rows if is_left else out.columns):
        raise amp.AmpError(f"a is {n} x {n}, which does not fit c, {out.rows} x {out.columns}")
    _shape(other, out.rows, out.columns, "b")
    apart(out.values, given.values, other.values)
    place = where(view, given.values, other.values, out.values)
    if alpha == 0:
        _triangles.scaled(place, beta, out.values)
    else:
        full = _triangles.whole(place, given, upper, hermitian)
        pair = (full, other) if is_left else (other, full)
        _triangles.product(place, alpha, *pair, beta, out)
    return _of(c, out)


@routine
def symm(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any,
    *, side: str = "L", uplo: str = "U", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``c = alpha * a @ b + beta * c`` with a symmetric ``a``, of which one triangle is read (BLAS: ``ssymm``).

    ``side="R"``: ``b @ a``.
    """
    return _symmetric(side, uplo, alpha, a, b, beta, c, order, accelerator_view, False)


@routine
def hemm(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any,
    *, side: str = "L", uplo: str = "U", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``symm`` with a Hermitian matrix (BLAS: ``chemm``). The imaginary parts of its diagonal are ignored."""
    return _symmetric(side, uplo, alpha, a, b, beta, c, order, accelerator_view, True)


def _mirrored(a: Matrix, flips: bool) -> Matrix:
    """The transpose, or the conjugate transpose."""
    return Matrix(a.values, not a.turned, a.conjugate != flips)


def _rank_k(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any, uplo: str, trans: str, order: str, view: _View, hermitian: bool
) -> Any:
    upper = option("uplo", uplo, "UL") == "U"
    if option("trans", trans, "NC" if hermitian else "NTC") == "C" and not hermitian:
        trans = "T"
    left, out = matrix(a, "a", order, trans), matrix(c, "c", order, writes=True)
    right = left if b is None else matrix(b, "b", order, trans)
    agree(left.values, right.values, out.values)
    _shape(right, left.rows, left.columns, "op(b)")
    _shape(out, left.rows, left.rows, "c")
    apart(out.values, left.values, right.values)
    place = where(view, left.values, right.values, out.values)
    flips = hermitian and out.values.dtype.kind == "c"
    terms = [(alpha, left, _mirrored(right, flips))]
    if b is not None:
        terms.append((np.conj(alpha) if hermitian else alpha, right, _mirrored(left, flips)))
    _triangles.update(place, terms, beta, out, upper, hermitian)
    return _of(c, out)


@routine
def syrk(
    alpha: Any, a: Any, beta: Any, c: Any,
    *, uplo: str = "U", trans: str = "N", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``c = alpha * a @ a.T + beta * c`` in one triangle of ``c``; returns ``c`` (BLAS: ``ssyrk``).

    ``trans="T"``: ``a.T @ a``.
    """
    return _rank_k(alpha, a, None, beta, c, uplo, trans, order, accelerator_view, False)


@routine
def herk(
    alpha: float, a: Any, beta: float, c: Any,
    *, uplo: str = "U", trans: str = "N", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``c = alpha * a @ a^H + beta * c`` in one triangle, with real factors and a real diagonal (BLAS: ``cherk``).

    ``trans="C"``: ``a^H @ a``.
    """
    return _rank_k(real("alpha", alpha), a, None, real("beta", beta), c, uplo, trans, order, accelerator_view, True)


@routine
def syr2k(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any,
    *, uplo: str = "U", trans: str = "N", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``c = alpha * (a @ b.T + b @ a.T) + beta * c`` in one triangle (BLAS: ``ssyr2k``); ``trans="T"``: of the
    transposes."""
    return _rank_k(alpha, a, b, beta, c, uplo, trans, order, accelerator_view, False)


@routine
def her2k(
    alpha: Any, a: Any, b: Any, beta: float, c: Any,
    *, uplo: str = "U", trans: str = "N", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``c = alpha * a @ b^H + conj(alpha) * b @ a^H + beta * c`` in one triangle (BLAS: ``cher2k``)."""
    return _rank_k(alpha, a, b, real("beta", beta), c, uplo, trans, order, accelerator_view, True)


def _triangular(
    apply: Any, alpha: Any, a: Any, b: Any, side: str, uplo: str, transa: str, diag: str, order: str, view: _View
) -> Any:
    is_left = option("side", side, "LR") == "L"
    upper = (option("uplo", uplo, "UL") == "U") == (option("transa", transa, "NTC") == "N")
    unit = option("diag", diag, "NU") == "U"
    given, out = matrix(a, "a", order, transa), matrix(b, "b", order, writes=True)
    agree(given.values, out.values)
    n = square(given, "a")
    if n != (out.rows if is_left else out.columns):
        raise amp.AmpError(f"a is {n} x {n}, which does not fit b, {out.rows} x {out.columns}")
    apart(out.values, given.values)
    place = where(view, given.values, out.values)
    _triangles.scaled(place, alpha, out.values)
    if alpha != 0:
        # From the right: (b @ a).T = a.T @ b.T.
        pair = (given, upper, unit, out) if is_left else (given.transposed, not upper, unit, out.transposed)
        apply(place, *pair)
    return _of(b, out)


@routine
def trmm(
    alpha: Any, a: Any, b: Any,
    *, side: str = "L", uplo: str = "U", transa: str = "N", diag: str = "N", order: str = "C",
    accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``b = alpha * op(a) @ b`` with a triangular ``a``; returns ``b`` (BLAS: ``strmm``).

    ``side="R"``: ``b @ op(a)``. ``diag="U"``: the elements on the diagonal count as 1, and are not read.
    """
    return _triangular(_triangles.multiply_by, alpha, a, b, side, uplo, transa, diag, order, accelerator_view)


@routine
def trsm(
    alpha: Any, a: Any, b: Any,
    *, side: str = "L", uplo: str = "U", transa: str = "N", diag: str = "N", order: str = "C",
    accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """Solves ``op(a) @ x = alpha * b`` in ``b``, with a triangular ``a``; returns ``b`` (BLAS: ``strsm``).

    ``side="R"``: ``x @ op(a) = alpha * b``. A zero on the diagonal gives infinite or NaN elements.
    """
    return _triangular(_triangles.solve, alpha, a, b, side, uplo, transa, diag, order, accelerator_view)
