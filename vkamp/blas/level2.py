"""Level 2: matrices and vectors."""

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms._arguments import value
from vkamp.blas import _triangles, _vectors
from vkamp.blas._operands import Matrix
from vkamp.blas._routine import agree, apart, matrix, option, real, routine, square, target, vector, where

_View = amp.accelerator_view | None


def _product(view: amp.accelerator_view, alpha: Any, a: Matrix, x: Any, beta: Any, y: Any) -> Any:
    """``y = alpha * a @ x + beta * y``."""
    out = y.reshape(1, -1)
    if alpha == 0:
        _triangles.scaled(view, beta, out)
    else:
        _vectors.multiply(view, a, x.reshape(1, -1), out, alpha, beta)
    return y


@routine
def gemv(
    alpha: Any, a: Any, x: Any, beta: Any, y: Any,
    *, transa: str = "N", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``y = alpha * op(a) @ x + beta * y``; returns ``y`` (BLAS: ``sgemv``).

    ``op`` is the matrix for "N", its transpose for "T", and its conjugate transpose for "C". With ``beta`` 0, ``y`` is
    not read; with ``alpha`` 0, neither are ``a`` and ``x``.
    """
    given, out = matrix(a, "a", order, transa), target(y)
    first = vector(x, "x", given.columns)
    vector(out, "y", given.rows)
    agree(given.values, first, out)
    apart(out, given.values, first)
    return _product(where(accelerator_view, given.values, first, out), alpha, given, first, beta, out)


def _symmetric(
    alpha: Any, a: Any, x: Any, beta: Any, y: Any, uplo: str, order: str, view: _View, hermitian: bool
) -> Any:
    given, out, upper = matrix(a, "a", order), target(y), option("uplo", uplo, "UL") == "U"
    n = square(given, "a")
    first = vector(x, "x", n)
    vector(out, "y", n)
    agree(given.values, first, out)
    apart(out, given.values, first)
    place = where(view, given.values, first, out)
    full = given if alpha == 0 else _triangles.whole(place, given, upper, hermitian)
    return _product(place, alpha, full, first, beta, out)


@routine
def symv(
    alpha: Any, a: Any, x: Any, beta: Any, y: Any,
    *, uplo: str = "U", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``y = alpha * a @ x + beta * y`` with a symmetric ``a``, of which one triangle is read (BLAS: ``ssymv``)."""
    return _symmetric(alpha, a, x, beta, y, uplo, order, accelerator_view, False)


@routine
def hemv(
    alpha: Any, a: Any, x: Any, beta: Any, y: Any,
    *, uplo: str = "U", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``symv`` with a Hermitian matrix (BLAS: ``chemv``). The imaginary parts of its diagonal are ignored."""
    return _symmetric(alpha, a, x, beta, y, uplo, order, accelerator_view, True)


@routine
def ger(
    alpha: Any, x: Any, y: Any, a: Any, *, conjugate: bool = False, order: str = "C", accelerator_view: _View = None
) -> Any:
    """``a += alpha * outer(x, y)``; returns ``a`` (BLAS: ``sger``, ``cgeru``).

    ``conjugate``: of the conjugates of ``y`` (``cgerc``).
    """
    out = target(a)
    made = matrix(out, "a", order)
    first, second = vector(x, "x", made.rows), vector(y, "y", made.columns)
    agree(first, second, out)
    apart(out, first, second)
    view = where(accelerator_view, first, second, out)
    if alpha != 0:
        _vectors.multiply_outer(view, first, second, made, alpha, conjugate=conjugate)
    return out


def _rank(
    alpha: Any, x: Any, y: Any, a: Any, uplo: str, order: str, view: _View, *, hermitian: bool, twice: bool
) -> Any:
    out, upper = target(a), option("uplo", uplo, "UL") == "U"
    made = matrix(out, "a", order)
    n = square(made, "a")
    first, second = vector(x, "x", n), vector(y, "y", n)
    agree(first, second, out)
    apart(out, first, second)
    place = where(view, first, second, out)
    if alpha != 0:
        amp.parallel_for_each(
            place, amp.extent(n, n), _triangles.rank_one, first, second, made.values, value(alpha, out.dtype),
            upper=upper, turned=made.turned, hermitian=hermitian and out.dtype.kind == "c", twice=twice,
        )  # fmt: skip
    return out


@routine
def syr(alpha: Any, x: Any, a: Any, *, uplo: str = "U", order: str = "C", accelerator_view: _View = None) -> Any:
    """``a += alpha * outer(x, x)`` in one triangle; returns ``a`` (BLAS: ``ssyr``)."""
    return _rank(alpha, x, x, a, uplo, order, accelerator_view, hermitian=False, twice=False)


@routine
def her(alpha: float, x: Any, a: Any, *, uplo: str = "U", order: str = "C", accelerator_view: _View = None) -> Any:
    """``a += alpha * outer(x, conj(x))`` in one triangle, with a real diagonal (BLAS: ``cher``)."""
    return _rank(real("alpha", alpha), x, x, a, uplo, order, accelerator_view, hermitian=True, twice=False)


@routine
def syr2(
    alpha: Any, x: Any, y: Any, a: Any, *, uplo: str = "U", order: str = "C", accelerator_view: _View = None
) -> Any:
    """``a += alpha * (outer(x, y) + outer(y, x))`` in one triangle (BLAS: ``ssyr2``)."""
    return _rank(alpha, x, y, a, uplo, order, accelerator_view, hermitian=False, twice=True)


@routine
def her2(
    alpha: Any, x: Any, y: Any, a: Any, *, uplo: str = "U", order: str = "C", accelerator_view: _View = None
) -> Any:
    """``a += alpha * outer(x, conj(y)) + conj(alpha) * outer(y, conj(x))`` in one triangle (BLAS: ``cher2``)."""
    return _rank(alpha, x, y, a, uplo, order, accelerator_view, hermitian=True, twice=True)


def _triangular(apply: Any, a: Any, x: Any, uplo: str, transa: str, diag: str, order: str, view: _View) -> Any:
    given, out = matrix(a, "a", order, transa), target(x)
    upper = (option("uplo", uplo, "UL") == "U") == (option("transa", transa, "NTC") == "N")
    unit = option("diag", diag, "NU") == "U"
    n = square(given, "a")
    vector(out, "x", n)
    agree(given.values, out)
    apart(out, given.values)
    apply(where(view, given.values, out), given, upper, unit, Matrix(out.reshape(1, n, 1)))
    return out


@routine
def trmv(
    a: Any, x: Any,
    *, uplo: str = "U", transa: str = "N", diag: str = "N", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """``x = op(a) @ x`` with a triangular ``a``; returns ``x`` (BLAS: ``strmv``).

    ``diag="U"``: the elements on the diagonal count as 1, and are not read.
    """
    return _triangular(_triangles.multiply_by, a, x, uplo, transa, diag, order, accelerator_view)


@routine
def trsv(
    a: Any, x: Any,
    *, uplo: str = "U", transa: str = "N", diag: str = "N", order: str = "C", accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """Solves ``op(a) @ y = x`` in ``x``, with a triangular ``a``; returns ``x`` (BLAS: ``strsv``).

    A zero on the diagonal gives infinite or NaN elements.
    """
    return _triangular(_triangles.solve, a, x, uplo, transa, diag, order, accelerator_view)
