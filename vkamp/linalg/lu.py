"""LU factorisation with partial pivoting, in blocks (LAPACK: ``getrf``), and what follows from it."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import _choose
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix, container
from vkamp.linalg import lu_tiles
from vkamp.linalg._shared import broadcast, function, is_empty, reshaped, shape_of
from vkamp.linalg._square import PANEL, batch_of, copy_of, type_of, where
from vkamp.linalg.lu_tiles import magnitude

_View = amp.accelerator_view | None
#: The number of threads that look for a pivot.
_THREADS = 64


@amp.kernel
def choose_pivot(t_idx, a, pivots, j):
    """Finds the first element of column ``j`` with the largest magnitude, and exchanges its row with row ``j``."""
    n = t_idx.tile[0]
    kind = type(magnitude(a[n, j, j]))
    sizes = amp.tile_static(_THREADS, kind)
    places = amp.tile_static(_THREADS, amp.int32)
    t = t_idx.local[1]
    largest = kind(-1)
    place = j
    for i in range(j + t, a.extent[1], _THREADS):
        size = magnitude(a[n, i, j])
        if size > largest:
            largest = size
            place = i
    sizes[t] = largest
    places[t] = place
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t == 0:
        for k in range(1, _THREADS):
            if sizes[k] > largest or (sizes[k] == largest and places[k] < place):
                largest = sizes[k]
                place = places[k]
        places[0] = place
        pivots[n, j] = place
    # All threads have read the column before rows are exchanged.
    t_idx.barrier.wait()
    other = places[0]
    for k in range(t, a.extent[2], _THREADS):
        if other != j:
            x = a[n, other, k]
            a[n, other, k] = a[n, j, k]
            a[n, j, k] = x


@amp.kernel
def eliminate(idx, a, j, stop):
    """Subtracts a multiple of row ``j`` from a row below it, in the columns of the panel."""
    n = idx[0]
    i = j + 1 + idx[1]
    pivot = a[n, j, j]
    factor = a[n, i, j]
    # If the pivot is 0, so are the elements below it.
    if magnitude(pivot) != 0:
        factor = factor / pivot
    a[n, i, j] = factor
    for k in range(j + 1, stop):
        a[n, i, k] = a[n, i, k] - factor * a[n, j, k]


@amp.kernel
def exchange_rows(idx, b, pivots, reverse):
    """Applies the exchanges of rows to one column, from the last one on if ``reverse``."""
    n = idx[0]
    count = pivots.extent[1]
    for k in range(count):
        j = count - 1 - k if reverse else k
        other = pivots[min(n, pivots.extent[0] - 1), j]
        if other != j:
            x = b[n, other, idx[1]]
            b[n, other, idx[1]] = b[n, j, idx[1]]
            b[n, j, idx[1]] = x


@amp.kernel
def multiply_diagonal(idx, lu, pivots, out):
    """The determinant: the product of the diagonal, negative for an odd number of exchanges."""
    n = idx[0]
    total = lu[n, 0, 0]
    if pivots[n, 0] != 0:
        total = -total
    for j in range(1, lu.extent[1]):
        x = lu[n, j, j]
        total = total * (-x if pivots[n, j] != j else x)
    out[n] = total


@amp.kernel
def add_logarithms(idx, lu, pivots, signs, logs):
    """The sign (for complex numbers, a number of magnitude 1) and the logarithm of the determinant's magnitude."""
    n = idx[0]
    kind = type(lu[0, 0, 0])
    size = type(logs[0])
    sign = kind(1)
    total = size(0)
    for j in range(lu.extent[1]):
        x = lu[n, j, j]
        r = abs(x)
        sign = sign * (x / r if r != 0 else kind(0))
        if pivots[n, j] != j:
            sign = -sign
        total += amp.precise_math.log(r) if r != 0 else size(-math.inf)
    signs[n] = sign
    logs[n] = total


@amp.kernel
def identity(idx, out):
    """Stores ones on the diagonal and zeros elsewhere."""
    out[idx] = type(out[idx])(1) if idx[1] == idx[2] else type(out[idx])(0)


def factor(view: amp.accelerator_view, made: Any) -> Any:
    """Replaces a batch by its factors, and returns the pivots: row ``j`` was exchanged with row ``pivots[.., j]``."""
    batch, rows, columns = made.extent
    steps = min(rows, columns)
    pivots = amp.array(amp.extent(batch, steps), np.int32, accelerator_view=view)
    if _choose.form_of(view) == "tiles" and lu_tiles.factor(view, made, pivots):
        return pivots
    whole = Matrix(made)
    for start in range(0, steps, PANEL):
        stop = min(start + PANEL, steps)
        for j in range(start, stop):
            amp.parallel_for_each(view, amp.extent(batch, _THREADS).tile(1, _THREADS), choose_pivot, made, pivots, j)
            if j + 1 < rows:
                amp.parallel_for_each(view, amp.extent(batch, rows - j - 1), eliminate, made, j, stop)
        block, rest = slice(start, stop), slice(stop, columns)
        if stop == columns:
            break
        right = whole.part(block, rest)
        _triangles.solve(view, whole.part(block, block), False, True, right)
        if stop < rows:
            below = slice(stop, rows)
            _triangles.product(view, -1, whole.part(below, block), right, 1, whole.part(below, rest))
    return pivots


@function
def lu_factor(a: Any, *, accelerator_view: _View = None) -> Any:
    """``(lu, pivots)``: the factors of matrices with their rows exchanged (scipy: ``lu_factor``; LAPACK: ``getrf``).

    ``lu`` contains the upper triangular factor, and below the diagonal the lower one, whose diagonal is 1. Row ``j``
    was exchanged with row ``pivots[..., j]``, an int32 that counts from 0. The matrices need not be square. A pivot of
    0 is not an error: the factors are right, and a solution with them is infinite or NaN.
    """
    lead, rows, columns = batch_of(a, "lu_factor", square=False)
    if is_empty(a):
        return np.zeros(shape_of(a), np.asarray(a).dtype), np.zeros((*lead, min(rows, columns)), np.int32)
    view = where(accelerator_view, a)
    made = copy_of(a, type_of(a), (math.prod(lead), rows, columns), view)
    pivots = factor(view, made)
    return made.reshape(*lead, rows, columns), pivots.reshape(*lead, min(rows, columns))


getrf = lu_factor


@function
def lu_solve(factors: Any, b: Any, *, trans: str | int = "N", accelerator_view: _View = None) -> Any:
    """Solves ``op(a) @ x = b``, given the factors of ``a`` (scipy: ``lu_solve``). ``b`` is that of :func:`solve`,
    ``trans`` that of :func:`solve_triangular`.
    """
    lu, pivots = factors
    operation = _transposition(trans)
    lead, n, _ = batch_of(lu, "lu_solve")
    view = where(accelerator_view, lu, b)
    given, places = container(lu), container(pivots)
    if places.dtype.kind not in "iu":
        raise TypeError(f"pivots are integers, not {places.dtype}")
    if tuple(places.extent) != (*lead, n):
        raise amp.AmpError(
            f"factors of {given.extent!r} have pivots of {amp.extent(*lead, n)!r}, not {places.extent!r}"
        )
    batch, shape, right = _right_side(lead, n, b, type_of(lu, b), view)
    if given.dtype != right.dtype:
        raise TypeError(f"the factors have elements of {given.dtype}, but b has elements of {right.dtype}")
    factors_of = reshaped(broadcast(given, (*batch, n, n), view), (math.prod(batch), n, n))
    pivots_of = reshaped(broadcast(places, (*batch, n), view), (math.prod(batch), n))
    solve_with(view, factors_of, pivots_of, right, operation)
    return right.reshape(*shape)


def solve_with(view: amp.accelerator_view, lu: Any, pivots: Any, b: Any, operation: str = "N") -> None:
    """Replaces ``b``, of rank 3, by the solution; ``operation``: "N", "T" or "C", what is done with the matrices."""
    columns = amp.extent(b.extent[0], b.extent[2])
    if operation == "N":
        amp.parallel_for_each(view, columns, exchange_rows, b, pivots, False)
        _triangles.solve(view, Matrix(lu), False, True, Matrix(b))
        _triangles.solve(view, Matrix(lu), True, False, Matrix(b))
        return
    transposed = Matrix(lu, True, operation == "C" and lu.dtype.kind == "c")
    _triangles.solve(view, transposed, False, False, Matrix(b))
    _triangles.solve(view, transposed, True, True, Matrix(b))
    amp.parallel_for_each(view, columns, exchange_rows, b, pivots, True)


def _right_side(lead: tuple[int, ...], n: int, b: Any, dtype: Any, view: amp.accelerator_view) -> Any:
    """The batch, the shape of the solution, and a copy of ``b`` as a batch of matrices."""
    given = shape_of(b)
    if not given:
        raise amp.AmpError("b is a number, but a vector or a matrix is needed")
    is_vector = len(given) == 1
    rows, columns = (given[0], 1) if is_vector else given[-2:]
    if rows != n:
        raise amp.AmpError(f"the matrices have {n} rows, but b has {rows}")
    try:
        batch = np.broadcast_shapes(lead, () if is_vector else given[:-2])
    except ValueError:
        raise amp.AmpError(f"batches of extents {lead} and {given[:-2]} cannot be broadcast together") from None
    whole = broadcast(
        reshaped(container(b), (*given[:-2], n, columns) if not is_vector else (n, 1)), (*batch, n, columns), view
    )
    shape = (*batch, n) if is_vector else (*batch, n, columns)
    return batch, shape, copy_of(whole, dtype, (math.prod(batch), n, columns), view)


@function
def solve(a: Any, b: Any, *, accelerator_view: _View = None) -> Any:
    """Solves ``a @ x = b`` (numpy: ``linalg.solve``), by an LU factorisation with partial pivoting.

    ``b``: a vector, or a matrix of right sides in its columns, or batches of such matrices; batches are broadcast. The
    function does not wait, so it raises no LinAlgError: a singular matrix gives infinite or NaN elements. AmpError if
    the extents do not fit.
    """
    lead, n, _ = batch_of(a, "solve")
    if is_empty(a) or is_empty(b):
        try:
            return np.linalg.solve(np.asarray(a), np.asarray(b))
        except ValueError:
            raise amp.AmpError(f"matrices of extent {shape_of(a)} do not fit a right side of {shape_of(b)}") from None
    view = where(accelerator_view, a, b)
    dtype = type_of(a, b)
    batch, shape, right = _right_side(lead, n, b, dtype, view)
    made = copy_of(broadcast(container(a), (*batch, n, n), view), dtype, (math.prod(batch), n, n), view)
    solve_with(view, made, factor(view, made), right)
    return right.reshape(*shape)


@function
def inv(a: Any, *, accelerator_view: _View = None) -> Any:
    """The inverse matrices (numpy: ``linalg.inv``).

    The function does not wait, so it raises no LinAlgError: a singular matrix gives infinite or NaN elements.
    """
    lead, n, _ = batch_of(a, "inv")
    if is_empty(a):
        return np.linalg.inv(a)
    view = where(accelerator_view, a)
    made = copy_of(a, type_of(a), (math.prod(lead), n, n), view)
    out = amp.array(made.extent, made.dtype, accelerator_view=view)
    amp.parallel_for_each(view, out.extent, identity, out)
    solve_with(view, made, factor(view, made), out)
    return out.reshape(*lead, n, n)


def _factored(a: Any, name: str, accelerator_view: _View) -> Any:
    lead, n, _ = batch_of(a, name)
    view = where(accelerator_view, a)
    made = copy_of(a, type_of(a), (math.prod(lead), n, n), view)
    return lead, made, factor(view, made), view


def _per_matrix(values: Any, lead: tuple[int, ...]) -> Any:
    return values.reshape(*lead) if lead else alg.device_scalar(values)


@function
def det(a: Any, *, accelerator_view: _View = None) -> Any:
    """The determinants (numpy: ``linalg.det``); for one matrix, a ``device_scalar``."""
    batch_of(a, "det")
    if is_empty(a):
        return np.linalg.det(a)
    lead, made, pivots, view = _factored(a, "det", accelerator_view)
    out = amp.array(amp.extent(made.extent[0]), made.dtype, accelerator_view=view)
    amp.parallel_for_each(view, out.extent, multiply_diagonal, made, pivots, out)
    return _per_matrix(out, lead)


@function
def slogdet(a: Any, *, accelerator_view: _View = None) -> Any:
    """``(sign, logabsdet)``: the determinants as signs and logarithms (numpy: ``linalg.slogdet``).

    The sign of a singular matrix is 0, and the logarithm is -inf. For one matrix, both are a ``device_scalar``.
    """
    batch_of(a, "slogdet")
    if is_empty(a):
        return tuple(np.linalg.slogdet(a))
    lead, made, pivots, view = _factored(a, "slogdet", accelerator_view)
    real = made.dtype if made.dtype.kind == "f" else np.dtype(f"f{made.dtype.itemsize // 2}")
    signs, logs = (amp.array(amp.extent(made.extent[0]), t, accelerator_view=view) for t in (made.dtype, real))
    amp.parallel_for_each(view, signs.extent, add_logarithms, made, pivots, signs, logs)
    return _per_matrix(signs, lead), _per_matrix(logs, lead)


#: What scipy calls them.
_TRANSPOSITIONS: dict[str | int, str] = {"N": "N", "T": "T", "C": "C", 0: "N", 1: "T", 2: "C"}


def _transposition(trans: str | int) -> str:
    if trans not in _TRANSPOSITIONS:
        raise ValueError(f"trans must be one of 'N', 'T', 'C' or 0, 1, 2, not {trans!r}")
    return _TRANSPOSITIONS[trans]


@function
def solve_triangular(
    a: Any, b: Any, *, lower: bool = False, trans: str | int = "N", unit_diagonal: bool = False,
    accelerator_view: _View = None,
) -> Any:  # fmt: skip
    """Solves ``op(a) @ x = b`` with triangular matrices (scipy: ``solve_triangular``). ``b`` is that of :func:`solve`.

    ``trans``: "N", "T" or "C", or their numbers 0, 1 and 2. Only one triangle of ``a`` is read. A zero on the diagonal
    gives infinite or NaN elements.
    """
    lead, n, _ = batch_of(a, "solve_triangular")
    operation = _transposition(trans)
    view = where(accelerator_view, a, b)
    dtype = type_of(a, b)
    batch, shape, right = _right_side(lead, n, b, dtype, view)
    whole = broadcast(container(a), (*batch, n, n), view)
    given = copy_of(whole, dtype, (math.prod(batch), n, n), view)
    matrix = Matrix(given, operation != "N", operation == "C" and dtype.kind == "c")
    _triangles.solve(view, matrix, (not lower) == (operation == "N"), unit_diagonal, Matrix(right))
    return right.reshape(*shape)
