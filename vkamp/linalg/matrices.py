"""Powers and chains of products, equations between tensors, and functions that rearrange elements.

The latter are traces, diagonals, transposes, and Kronecker and cross products.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import lazy
from vkamp.blas._operands import container
from vkamp.linalg._shared import broadcast, function, is_empty, output, reshaped, shape_of
from vkamp.linalg._square import batch_of, where
from vkamp.linalg.lu import inv, solve
from vkamp.linalg.products import matmul
from vkamp.linalg.qr import identity

_View = amp.accelerator_view | None


class _DiagonalOf(lazy.Lazy):
    """A diagonal of each matrix of a batch."""

    __slots__ = ("above", "left", "values")

    def __init__(self, values: Any, offset: int) -> None:
        batch, rows, columns = values.extent
        super().__init__((batch, min(rows + min(offset, 0), columns - max(offset, 0))))
        self.values, self.above, self.left = values, max(-offset, 0), max(offset, 0)

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index."""
        return self.values[i[0], self.above + i[1], self.left + i[1]]


@amp.kernel
def multiply_blocks(idx, a, b, out):
    """Stores a block of ``b`` for each element of ``a``."""
    first = idx * 0
    within = idx * 0
    for d in amp.static_range(idx.rank):
        first[d] = idx[d] // b.extent[d]
        within[d] = idx[d] - first[d] * b.extent[d]
    kind = type(out[idx])
    out[idx] = kind(a[first]) * kind(b[within])


@amp.kernel
def cross_product(idx, a, b, out):
    """The vector product of two vectors of three elements."""
    kind = type(out[0, 0])
    n = idx[0]
    for k in amp.static_range(3):
        left = kind(a[n, (k + 1) % 3]) * kind(b[n, (k + 2) % 3])
        out[n, k] = left - kind(a[n, (k + 2) % 3]) * kind(b[n, (k + 1) % 3])


def _types(*inputs: Any) -> np.dtype[Any]:
    return np.result_type(*(x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype for x in inputs))


@function
def matrix_power(a: Any, n: int, *, accelerator_view: _View = None) -> Any:
    """Square matrices to an integer power, by repeated squaring (numpy: ``linalg.matrix_power``).

    Negative powers are those of the inverse. TypeError for another exponent, AmpError for matrices that are not square.
    """
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"the exponent must be an integer, not {type(n).__name__}") from None
    lead, rows, _ = batch_of(a, "matrix_power")
    if is_empty(a):
        return np.linalg.matrix_power(a, n)
    view = where(accelerator_view, a)
    if n == 0:
        made = amp.array(amp.extent(math.prod(lead), rows, rows), container(a).dtype, accelerator_view=view)
        amp.parallel_for_each(view, made.extent, identity, made)
        return made.reshape(*lead, rows, rows)
    square = inv(a, accelerator_view=view) if n < 0 else a
    result: Any = None
    for k in range(abs(n).bit_length()):
        if k:
            square = matmul(square, square, accelerator_view=view)
        if abs(n) >> k & 1:
            result = square if result is None else matmul(result, square, accelerator_view=view)
    return alg.copy(result, accelerator_view=view) if result is a else result


@function
def multi_dot(arrays: Any, *, accelerator_view: _View = None) -> Any:
    """The product of two or more matrices, in the order with the fewest multiplications (numpy: ``linalg.multi_dot``).

    The first one may be a row vector, and the last one a column vector. T. Cormen et al., *Introduction to Algorithms*:
    matrix-chain multiplication.
    """
    given = list(arrays)
    if len(given) < 2:
        raise ValueError("multi_dot takes two or more matrices")
    shapes = [shape_of(each) for each in given]
    for k, shape in enumerate(shapes):
        if len(shape) != 2 and not (len(shape) == 1 and k in (0, len(given) - 1)):
            raise TypeError(f"multi_dot takes matrices, and vectors at its ends, not extents {shape}")
    view = where(accelerator_view, *given)
    sizes = [1 if len(shapes[0]) == 1 else shapes[0][0], *(shape[0] for shape in shapes[1:])]
    sizes.append(1 if len(shapes[-1]) == 1 else shapes[-1][1])
    splits = _chain(sizes)

    def product(first: int, last: int) -> Any:
        if first == last:
            return given[first]
        at = splits[first, last]
        return matmul(product(first, at), product(at + 1, last), accelerator_view=view)

    return product(0, len(given) - 1)


def _chain(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to divide each part of a chain of matrices; matrix ``k`` has ``sizes[k]`` by ``sizes[k + 1]`` elements."""
    count = len(sizes) - 1
    costs = dict.fromkeys(((k, k) for k in range(count)), 0)
    splits = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs[first, last], splits[first, last] = min(
                (costs[first, k] + costs[k + 1, last] + sizes[first] * sizes[k + 1] * sizes[last + 1], k)
                for k in range(first, last)
            )
    return splits


@function
def kron(a: Any, b: Any, *, out: Any = None, accelerator_view: _View = None) -> Any:
    """The Kronecker product: ``b`` times each element of ``a``, in blocks (numpy: ``kron``).

    The input of lower rank gets leading dimensions of one element.
    """
    shapes = shape_of(a), shape_of(b)
    rank = max(map(len, shapes))
    one, other = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    shape, dtype = tuple(m * n for m, n in zip(one, other, strict=True)), _types(a, b)
    if rank == 0:
        raise TypeError("kron takes vectors, matrices and arrays, not two numbers")
    if 0 in shape:
        return np.zeros(shape, dtype) if out is None else out
    view = where(accelerator_view, a, b, out)
    left, right = (
        reshaped(container(np.atleast_1d(x) if not shape_of(x) else x), s) for x, s in ((a, one), (b, other))
    )
    result = output(out, shape, dtype, view, left, right)
    amp.parallel_for_each(view, result.extent, multiply_blocks, left, right, result)
    return result


@function
def cross(x1: Any, x2: Any, *, axis: int = -1, accelerator_view: _View = None) -> Any:
    """The vector products of vectors of three elements along an axis (array API: ``linalg.cross``).

    The other dimensions are broadcast. ValueError for other numbers of elements.
    """
    shapes = shape_of(x1), shape_of(x2)
    for shape in shapes:
        if not -len(shape) <= axis < len(shape) or shape[axis] != 3:
            raise ValueError(f"cross takes vectors of three elements along axis {axis}, not extents {shape}")
    view = where(accelerator_view, x1, x2)
    try:
        whole = np.broadcast_shapes(*shapes)
    except ValueError:
        raise amp.AmpError(f"extents {shapes[0]} and {shapes[1]} cannot be broadcast together") from None
    if is_empty(x1) or is_empty(x2):
        return np.zeros(whole, _types(x1, x2))
    rank, place = len(whole), axis % len(whole) if axis >= 0 else len(whole) + axis
    order = [*(d for d in range(rank) if d != place), place]
    pair = []
    for each in (x1, x2):
        values = broadcast(container(each), whole, view)
        pair.append(reshaped(alg.permute_dims(values, tuple(order), accelerator_view=view), (-1, 3)))
    out = amp.array(pair[0].extent, _types(x1, x2), accelerator_view=view)
    amp.parallel_for_each(view, amp.extent(out.extent[0]), cross_product, *pair, out)
    made = out.reshape(*(whole[d] for d in order))
    return made if place == rank - 1 else alg.permute_dims(made, tuple(np.argsort(order)), accelerator_view=view)


@function
def matrix_transpose(x: Any, *, accelerator_view: _View = None) -> Any:
    """The transposed matrices of a batch (array API: ``linalg.matrix_transpose``), as a copy."""
    rank = len(shape_of(x))
    batch_of(x, "matrix_transpose", square=False)
    if is_empty(x):
        return np.swapaxes(x, -1, -2)
    return alg.permute_dims(x, (*range(rank - 2), rank - 1, rank - 2), accelerator_view=accelerator_view)


@function
def diagonal(x: Any, *, offset: int = 0, accelerator_view: _View = None) -> Any:
    """A diagonal of each matrix of a batch (array API: ``linalg.diagonal``), as a copy.

    ``offset``: its distance above the main one; negative below it.
    """
    offset = operator.index(offset)
    lead, rows, columns = batch_of(x, "diagonal", square=False)
    length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    if is_empty(x) or length == 0:
        return np.zeros((*lead, length), _types(x))
    view = where(accelerator_view, x)
    source = _DiagonalOf(reshaped(container(x), (math.prod(lead), rows, columns)), offset)
    return alg.copy(source, accelerator_view=view).reshape(*lead, length)


@function
def trace(x: Any, *, offset: int = 0, dtype: Any = None, accelerator_view: _View = None) -> Any:
    """The sum of a diagonal of each matrix of a batch (array API: ``linalg.trace``); of one matrix as a
    ``device_scalar``.

    The types are those of ``algorithms.sum``.
    """
    found = diagonal(x, offset=offset, accelerator_view=accelerator_view)
    if is_empty(found):
        return np.sum(found, axis=-1, dtype=dtype)
    return alg.sum(found, axis=-1 if found.extent.rank > 1 else None, dtype=dtype, accelerator_view=accelerator_view)


@function
def tensorsolve(a: Any, b: Any, axes: Any = None, *, accelerator_view: _View = None) -> Any:
    """The ``x`` with ``tensordot(a, x, x.ndim) = b`` (numpy: ``linalg.tensorsolve``).

    ``axes``: these axes of ``a`` are moved to its end first. AmpError unless ``a``, with its dimensions combined in
    this way, is a square matrix.
    """
    if axes is not None:
        rank = len(shape_of(a))
        moved = [axis % rank for axis in axes]
        order = (*(d for d in range(rank) if d not in moved), *moved)
        a = alg.permute_dims(a, order, accelerator_view=accelerator_view)
    shape = shape_of(a)[len(shape_of(b)) :]
    n = math.prod(shape)
    if n * math.prod(shape_of(b)) != math.prod(shape_of(a)) or n != math.prod(shape_of(b)):
        raise amp.AmpError(f"extents {shape_of(a)} do not make a square matrix for {math.prod(shape_of(b))} equations")
    whole = reshaped(container(a), (n, n)) if not isinstance(a, np.ndarray) else a.reshape(n, n)
    right = reshaped(container(b), (n,)) if not isinstance(b, np.ndarray) else b.reshape(n)
    return solve(whole, right, accelerator_view=accelerator_view).reshape(*shape)


@function
def tensorinv(a: Any, ind: int = 2, *, accelerator_view: _View = None) -> Any:
    """The inverse for ``tensordot(tensorinv(a), b, ind)`` (numpy: ``linalg.tensorinv``).

    The first ``ind`` dimensions of ``a`` are its rows. ValueError unless ``ind`` is positive.
    """
    shape = shape_of(a)
    if ind <= 0:
        raise ValueError(f"ind must be positive, not {ind}")
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    whole = reshaped(container(a), (rows, columns)) if not isinstance(a, np.ndarray) else a.reshape(rows, columns)
    return inv(whole, accelerator_view=accelerator_view).reshape(*shape[ind:], *shape[:ind])
