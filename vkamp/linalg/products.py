"""Products of vectors and matrices by numpy's rules: ``matmul``, ``vecdot``, ``outer``."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import device_scalar, permute_dims
from vkamp.algorithms._arguments import place
from vkamp.blas import _vectors
from vkamp.blas._operands import Matrix, container
from vkamp.blas._products import multiply
from vkamp.linalg._shared import broadcast, count, function, is_empty, nothing, output, reshaped, shape_of


@function
def matmul(a: Any, b: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The matrix product (numpy: ``matmul``; ``a @ b`` of containers).

    A vector stands for a row on the left and for a column on the right. Leading dimensions are batches, and are
    broadcast. Products of float16 are summed in float32 and rounded once; integers wrap. Two vectors give a
    ``device_scalar``. AmpError if the extents do not match, or if ``out`` overlaps an input.
    """
    shapes = shape_of(a), shape_of(b)
    if not shapes[0] or not shapes[1]:
        raise TypeError("matmul takes vectors, matrices, and batches of matrices, not numbers: write a kernel")
    first = shapes[0] if len(shapes[0]) > 1 else (1, *shapes[0])
    second = shapes[1] if len(shapes[1]) > 1 else (*shapes[1], 1)
    (rows, k), columns = first[-2:], second[-1]
    if second[-2] != k:
        raise amp.AmpError(f"matmul of {shapes[0]} and {shapes[1]}: {k} columns, but {second[-2]} rows")
    batch = _leading(first[:-2], second[:-2])
    shape = (*batch, *([rows] if len(shapes[0]) > 1 else []), *([columns] if len(shapes[1]) > 1 else []))
    view = place(accelerator_view, *(x for x in (a, b, out) if isinstance(x, (amp.array, amp.array_view))))
    dtype = np.result_type(_dtype(a), _dtype(b))
    if is_empty(a) or is_empty(b):
        return nothing(shape, dtype, out, view)
    left, right = container(a), container(b)
    result = output(out, shape, dtype, view, left, right)
    x, y = (_batch(reshaped(each, size), batch, view) for each, size in ((left, first), (right, second)))
    into(view, Matrix(x), Matrix(y), result, (count(batch), rows, columns))
    return device_scalar(result) if not shape and out is None else result


def _dtype(a: Any) -> np.dtype[Any]:
    return a.dtype if isinstance(a, (amp.array, amp.array_view)) else np.asarray(a).dtype


def _leading(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        raise amp.AmpError(f"batches of extents {one} and {other} cannot be broadcast together") from None


def _batch(a: Any, batch: tuple[int, ...], view: amp.accelerator_view) -> Any:
    """A container as a batch of rank 3, which has one matrix, or as many as the result."""
    shape = tuple(a.extent)
    if count(shape[:-2]) == 1:
        return reshaped(a, (1, *shape[-2:]))
    return reshaped(broadcast(a, (*batch, *shape[-2:]), view), (count(batch), *shape[-2:]))


def into(view: amp.accelerator_view, a: Matrix, b: Matrix, result: Any, shape: tuple[int, int, int]) -> None:
    """Stores the product of two batches in a container of any rank that has the elements of ``shape``."""
    try:
        target = result.reshape(*shape)
    except amp.AmpError:
        target = amp.array(amp.extent(*shape), result.dtype, accelerator_view=view)
    batch, rows, columns = shape
    if columns == 1:
        _vectors.multiply(view, a, _vector(b.transposed), target.reshape(batch, rows))
    elif rows == 1:
        _vectors.multiply(view, b.transposed, _vector(a), target.reshape(batch, columns))
    elif b.size == 1 and a.size > 1 and not a.turned and not a.conjugate:
        folded = reshaped(a.values, (1, batch * rows, a.columns))
        multiply(view, Matrix(folded), b, target.reshape(1, batch * rows, columns))
    else:
        multiply(view, a, b, target)
    if not target.has_elements_of(result):
        amp.copy(target.reshape(*result.extent), result)


def _vector(a: Matrix) -> Any:
    """A batch of matrices of one row as a batch of vectors."""
    return reshaped(a.values, (a.size, a.columns))


@function
def vecdot(
    a: Any, b: Any, *, axis: int = -1, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The sum of the products of the conjugates of ``a`` and of ``b`` along an axis (numpy: ``vecdot``).

    The other dimensions are broadcast.  Two vectors give a ``device_scalar``.
    """
    shapes = shape_of(a), shape_of(b)
    if not shapes[0] or not shapes[1]:
        raise TypeError("vecdot takes vectors, and batches of vectors, not numbers")
    if axis != -1:
        a, b = (_with_last(each, axis) for each in (a, b))
        shapes = shape_of(a), shape_of(b)
    k = shapes[0][-1]
    if shapes[1][-1] != k:
        raise amp.AmpError(f"vecdot of {shapes[0]} and {shapes[1]}: the vectors have {k} and {shapes[1][-1]} elements")
    batch = _leading(shapes[0][:-1], shapes[1][:-1])
    view = place(accelerator_view, *(x for x in (a, b, out) if isinstance(x, (amp.array, amp.array_view))))
    dtype = np.result_type(_dtype(a), _dtype(b))
    if is_empty(a) or is_empty(b):
        return nothing(batch, dtype, out, view)
    left, right = container(a), container(b)
    result = output(out, batch, dtype, view, left, right)
    rows, vectors = (_batch(reshaped(each, (*tuple(each.extent)[:-1], 1, k)), batch, view) for each in (left, right))
    target = reshaped(result, (count(batch), 1))
    matrix = Matrix(rows, conjugate=left.dtype.kind == "c")
    _vectors.multiply(view, matrix, reshaped(vectors, (vectors.extent[0], k)), target)
    if not target.has_elements_of(result):
        amp.copy(target.reshape(*result.extent), result)
    return device_scalar(result) if not batch and out is None else result


def _with_last(a: Any, axis: int) -> Any:
    """An input with an axis moved to the end."""
    rank = len(shape_of(a))
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is not one of {rank} axes")
    order = [d for d in range(rank) if d != axis % rank] + [axis % rank]
    return np.transpose(a, order) if isinstance(a, np.ndarray) else permute_dims(a, tuple(order))


@function
def outer(a: Any, b: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The products of all pairs of elements (numpy: ``outer``): ``result[i, j] = a[i] * b[j]``.

    Inputs of several dimensions are flattened in row-major order.
    """
    shape = (count(shape_of(a)), count(shape_of(b)))
    view = place(accelerator_view, *(x for x in (a, b, out) if isinstance(x, (amp.array, amp.array_view))))
    dtype = np.result_type(_dtype(a), _dtype(b))
    if 0 in shape:
        return nothing(shape, dtype, out, view)
    left, right = container(a), container(b)
    result = output(out, shape, dtype, view, left, right)
    x, y = (reshaped(each, (1, n)) for each, n in zip((left, right), shape, strict=True))
    _vectors.multiply_outer(view, x, y, Matrix(result.reshape(1, *shape)), 1, adds=False)
    return result
