"""Eigenvalues and singular values by one-sided Jacobi rotations.

M. Hestenes, *Inversion of Matrices by Biorthogonalization and Related Results* (1958): rotations of pairs of columns
make the columns of ``a @ v`` orthogonal. Their lengths are the singular values. In each round, every column is in one
pair, and each thread rotates one pair; a sweep has a round for each column. The convergence is quadratic. The number of
sweeps is fixed, so that the host need not wait for a result.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.blas import _triangles
from vkamp.blas._operands import Matrix
from vkamp.linalg import qr as reflections
from vkamp.linalg._parts import conjugated, largest_part, squared
from vkamp.linalg._shared import function, is_empty
from vkamp.linalg._square import batch_of, copy_of, real_of, type_of, where
from vkamp.linalg.qr import identity

_View = amp.accelerator_view | None


@amp.kernel
def turn(idx, a, out, *, conjugate: amp.constant):
    """The transposes of a batch, or the conjugate transposes."""
    x = a[idx[0], idx[2], idx[1]]
    out[idx] = conjugated(x) if conjugate else x


@amp.kernel
def largest_parts(idx, a, sizes):
    """The largest magnitude of the numbers in each row; for complex ones, the largest magnitude of their parts."""
    largest = type(sizes[idx])(0)
    for k in range(a.extent[2]):
        largest = max(largest, largest_part(a[idx[0], idx[1], k]))
    sizes[idx] = largest


@amp.kernel
def divisors(idx, sizes, out, small, large):
    """The numbers by which the elements of each matrix are divided: 1 unless the elements' squares overflow or
    vanish.
    """
    largest = sizes[idx[0], 0]
    for k in range(1, sizes.extent[1]):
        largest = max(largest, sizes[idx[0], k])
    out[idx] = largest if largest > 0 and largest * 0 == 0 and not (small < largest < large) else type(largest)(1)


@amp.kernel
def divide(idx, a, by):
    """Divides the elements of each matrix by a number."""
    a[idx] = a[idx] / by[idx[0]]


@amp.kernel
def multiply_rows(idx, a, by):
    """Multiplies each row by a number."""
    a[idx] = a[idx] * by[idx[0]]


@amp.kernel
def sum_rows(idx, a, sums):
    """The sums of the magnitudes in each row."""
    total = abs(a[idx[0], idx[1], 0])
    for k in range(1, a.extent[2]):
        total += abs(a[idx[0], idx[1], k])
    sums[idx] = total


@amp.kernel
def largest_of(idx, sums, out):
    """The largest number of each row."""
    largest = sums[idx[0], 0]
    for k in range(1, sums.extent[1]):
        largest = max(largest, sums[idx[0], k])
    out[idx] = largest


@amp.kernel
def shift(idx, a, by):
    """Adds a number to the diagonal."""
    a[idx[0], idx[1], idx[1]] = a[idx[0], idx[1], idx[1]] + by[idx[0]]


@amp.kernel
def rotate_pairs(idx, columns, v, turn_of, least):
    """Makes one pair of columns, which are stored as rows, orthogonal, and rotates the rows of ``v`` as well."""
    n = idx[0]
    k = idx[1]
    count = columns.extent[1]
    # The pairs are those of a round-robin tournament: the last of an even number of players stays, the others move on
    # in a circle.
    others = (count + 1) // 2 * 2 - 1
    p = turn_of + k
    p = p - others if p >= others else p
    q = turn_of - k
    q = q + others if q < 0 else q
    if k == 0:
        q = others
    if p < count and q < count:
        rotate_pair(columns, v, n, p, q, least)


@amp.func
def rotate_pair(columns: Any, v: Any, n: Any, p: Any, q: Any, least: Any) -> Any:
    """Makes the columns ``p`` and ``q`` of matrix ``n`` orthogonal."""
    one = type(least)(0)
    two = type(least)(0)
    both = conjugated(columns[n, p, 0]) * columns[n, q, 0]
    both = both - both
    for i in range(columns.extent[2]):
        x = columns[n, p, i]
        y = columns[n, q, i]
        one += squared(x)
        two += squared(y)
        both += conjugated(x) * y
    size = abs(both)
    if size > least * amp.precise_math.sqrt(one) * amp.precise_math.sqrt(two):
        zeta = (two - one) / (size + size)
        t = type(least)(1) / (abs(zeta) + amp.precise_math.sqrt(zeta * zeta + type(least)(1)))
        t = -t if zeta < 0 else t
        c = type(least)(1) / amp.precise_math.sqrt(t * t + type(least)(1))
        s = c * t
        phase = conjugated(both) / size
        for i in range(columns.extent[2]):
            x = columns[n, p, i]
            y = phase * columns[n, q, i]
            columns[n, p, i] = c * x - s * y
            columns[n, q, i] = s * x + c * y
        for i in range(v.extent[2]):
            x = v[n, p, i]
            y = phase * v[n, q, i]
            v[n, p, i] = c * x - s * y
            v[n, q, i] = s * x + c * y


@amp.kernel
def lengths(idx, rows, by, out, *, shifted: amp.constant):
    """The length of each row; with ``shifted``, less a number for each matrix."""
    total = squared(rows[idx[0], idx[1], 0])
    for i in range(1, rows.extent[2]):
        total += squared(rows[idx[0], idx[1], i])
    total = amp.precise_math.sqrt(total)
    out[idx] = total - by[idx[0]] if shifted else total


@amp.func
def precedes(x: Any, y: Any, i: Any, j: Any) -> Any:
    """Whether ``x``, number ``i``, comes before ``y``, number ``j``; NaN comes last."""
    if x == x and y == y:
        return x < y or (x == y and i < j)
    if x == x or y == y:
        return x == x
    return i < j


@amp.kernel
def arrange(idx, keys, rows, out, *, descending: amp.constant):
    """Stores the rows as columns, sorted by their keys; equal keys keep their order."""
    n = idx[0]
    own = keys[n, idx[1]]
    place = 0
    for j in range(keys.extent[1]):
        other = keys[n, j]
        if precedes(-other if descending else other, -own if descending else own, j, idx[1]):
            place += 1
    for i in range(rows.extent[2]):
        out[n, i, place] = rows[n, idx[1], i]


@amp.kernel
def arrange_keys(idx, keys, out):
    """The keys in ascending order."""
    n = idx[0]
    own = keys[idx]
    place = 0
    for j in range(keys.extent[1]):
        other = keys[n, j]
        if precedes(other, own, j, idx[1]):
            place += 1
    out[n, place] = own


@amp.kernel
def split_diagonal(idx, made, q, s):
    """Replaces the diagonal by its magnitudes; the phases go to the columns of ``q``."""
    n = idx[0]
    x = made[n, idx[1], idx[1]]
    size = abs(x)
    s[idx] = size
    if size > 0:
        for i in range(q.extent[1]):
            q[n, i, idx[1]] = q[n, i, idx[1]] * (x / size)


def scaled(view: amp.accelerator_view, a: Any) -> Any:
    """Divides the elements of each matrix by a number, so that their squares neither overflow nor vanish; returns
    the numbers.
    """
    batch, rows, _ = a.extent
    real = real_of(a.dtype)
    sizes, by = (amp.array(amp.extent(*shape), real, accelerator_view=view) for shape in ((batch, rows), (batch,)))
    limit = math.sqrt(math.sqrt(float(np.finfo(real).max)))
    amp.parallel_for_each(view, sizes.extent, largest_parts, a, sizes)
    amp.parallel_for_each(view, by.extent, divisors, sizes, by, real.type(1 / limit), real.type(limit))
    amp.parallel_for_each(view, a.extent, divide, a, by)
    return by


def orthogonalise(view: amp.accelerator_view, columns: Any) -> Any:
    """Makes the columns of a batch, stored as rows, orthogonal; returns the rotations, stored in the same way."""
    batch, n, _ = columns.extent
    v = amp.array(amp.extent(batch, n, n), columns.dtype, accelerator_view=view)
    amp.parallel_for_each(view, v.extent, identity, v)
    real = real_of(columns.dtype)
    least = real.type(np.finfo(real).eps)
    even = (n + 1) // 2 * 2
    for _ in range(5 + int(n).bit_length() if n > 1 else 0):
        for k in range(even - 1):
            amp.parallel_for_each(view, amp.extent(batch, even // 2), rotate_pairs, columns, v, k, least)
    return v


def _eigen(a: Any, uplo: str, accelerator_view: _View, name: str) -> Any:
    """The leading dimensions, the extent, unordered eigenvalues, and the eigenvectors as rows."""
    lead, n, _ = batch_of(a, name)
    view = where(accelerator_view, a)
    given = copy_of(a, type_of(a), (math.prod(lead), n, n), view)
    g = _triangles.whole(view, Matrix(given), uplo == "U", True).values
    batch, real = int(g.extent[0]), real_of(g.dtype)
    sums, by, found = (
        amp.array(amp.extent(*shape), real, accelerator_view=view) for shape in ((batch, n), (batch,), (batch, n))
    )
    factors = scaled(view, g)
    # If no eigenvalue is negative, they are the singular values.
    amp.parallel_for_each(view, sums.extent, sum_rows, g, sums)
    amp.parallel_for_each(view, by.extent, largest_of, sums, by)
    amp.parallel_for_each(view, sums.extent, shift, g, by)
    amp.parallel_for_each(view, g.extent, turn, g, given, conjugate=False)
    v = orthogonalise(view, given)
    amp.parallel_for_each(view, found.extent, lengths, given, by, found, shifted=True)
    amp.parallel_for_each(view, found.extent, multiply_rows, found, factors)
    return lead, n, found, v, view


def _uplo(given: str) -> Any:
    if given not in ("L", "U"):
        raise ValueError(f"UPLO must be 'L' or 'U', not {given!r}")
    return given


@function
def eigh(a: Any, UPLO: str = "L", *, accelerator_view: _View = None) -> Any:  # noqa: N803
    """``(w, v)``: the eigenvalues of symmetric or Hermitian matrices, and the eigenvectors (numpy: ``linalg.eigh``).

    The eigenvalues are in ascending order; the eigenvectors are the columns of ``v``. Only the triangle ``UPLO`` is
    read. The errors are of the order of the rounding error of the largest eigenvalue.
    """
    batch_of(a, "eigh")
    if is_empty(a):
        return tuple(np.linalg.eigh(a, _uplo(UPLO)))
    lead, n, keys, rows, view = _eigen(a, _uplo(UPLO), accelerator_view, "eigh")
    w = amp.array(keys.extent, keys.dtype, accelerator_view=view)
    v = amp.array(rows.extent, rows.dtype, accelerator_view=view)
    amp.parallel_for_each(view, keys.extent, arrange_keys, keys, w)
    amp.parallel_for_each(view, keys.extent, arrange, keys, rows, v, descending=False)
    return w.reshape(*lead, n), v.reshape(*lead, n, n)


@function
def eigvalsh(a: Any, UPLO: str = "L", *, accelerator_view: _View = None) -> Any:  # noqa: N803
    """The eigenvalues of :func:`eigh` alone (numpy: ``linalg.eigvalsh``)."""
    batch_of(a, "eigvalsh")
    if is_empty(a):
        return np.linalg.eigvalsh(a, _uplo(UPLO))
    lead, n, keys, _, view = _eigen(a, _uplo(UPLO), accelerator_view, "eigvalsh")
    w = amp.array(keys.extent, keys.dtype, accelerator_view=view)
    amp.parallel_for_each(view, keys.extent, arrange_keys, keys, w)
    return w.reshape(*lead, n)


@function
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, *, accelerator_view: _View = None) -> Any:
    """``(u, s, vh)`` with ``a = u @ diag(s) @ vh``: the singular values in descending order (numpy: ``linalg.svd``).

    ``full_matrices``: square ``u`` and ``vh``; else only the columns of ``u`` and rows of ``vh`` that belong to
    singular values.  ``compute_uv=False``: ``s`` alone.
    """
    lead, rows, columns = batch_of(a, "svd", square=False)
    if is_empty(a):
        on_host: Any = np.linalg.svd
        found = on_host(np.asarray(a), full_matrices, compute_uv)
        return tuple(found) if compute_uv else found
    view = where(accelerator_view, a)
    given = copy_of(a, type_of(a), (math.prod(lead), rows, columns), view)
    u, s, v = decomposed(view, given, full=full_matrices and compute_uv)
    if not compute_uv:
        return s.reshape(*lead, min(rows, columns))
    vh = amp.array(amp.extent(v.extent[0], v.extent[2], v.extent[1]), v.dtype, accelerator_view=view)
    amp.parallel_for_each(view, vh.extent, turn, v, vh, conjugate=True)
    shapes = [(*lead, *tuple(each.extent)[1:]) for each in (u, vh)]
    return u.reshape(*shapes[0]), s.reshape(*lead, min(rows, columns)), vh.reshape(*shapes[1])


def decomposed(view: amp.accelerator_view, given: Any, *, full: bool = False) -> tuple[Any, Any, Any]:
    """The left singular vectors, the singular values and the right singular vectors of a batch of matrices, which are
    changed.

    Vectors are columns. ``full``: a complete basis of vectors.
    """
    batch, rows, columns = given.extent
    stored = amp.array(amp.extent(batch, min(rows, columns), max(rows, columns)), given.dtype, accelerator_view=view)
    if rows < columns:
        # These are the singular vectors of the conjugate transpose, whose columns are the conjugates of the rows.
        whole = amp.array(amp.extent(batch, columns, rows), given.dtype, accelerator_view=view)
        amp.parallel_for_each(view, whole.extent, turn, given, whole, conjugate=True)
        amp.parallel_for_each(view, stored.extent, turn, whole, stored, conjugate=False)
    else:
        amp.parallel_for_each(view, stored.extent, turn, given, stored, conjugate=False)
    factors = scaled(view, stored)
    u, s, v = _decomposed(view, stored, max(rows, columns) if full else min(rows, columns))
    amp.parallel_for_each(view, s.extent, multiply_rows, s, factors)
    return (v, s, u) if rows < columns else (u, s, v)


def _decomposed(view: amp.accelerator_view, stored: Any, kept: int) -> tuple[Any, Any, Any]:
    """``kept`` left singular vectors, the singular values and the right singular vectors.

    The columns are stored as rows.
    """
    batch, low, high = stored.extent
    rows = orthogonalise(view, stored)
    real = real_of(stored.dtype)
    keys, s = (amp.array(amp.extent(batch, low), real, accelerator_view=view) for _ in range(2))
    made, v, q = (
        amp.array(amp.extent(batch, *shape), stored.dtype, accelerator_view=view)
        for shape in ((high, low), (low, low), (high, kept))
    )
    amp.parallel_for_each(view, keys.extent, lengths, stored, keys, keys, shifted=False)
    amp.parallel_for_each(view, keys.extent, arrange, keys, stored, made, descending=True)
    amp.parallel_for_each(view, keys.extent, arrange, keys, rows, v, descending=True)
    # The columns are orthogonal, but those of singular values near 0 consist of rounding errors. So reflections make
    # these columns, which are orthogonal in any case.
    taus = reflections.factor(view, made)
    amp.parallel_for_each(view, q.extent, identity, q)
    reflections.apply(view, made, taus, q, adjoint=False)
    amp.parallel_for_each(view, keys.extent, split_diagonal, made, q, s)
    return q, s, v
