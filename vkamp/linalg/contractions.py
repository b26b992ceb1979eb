"""Contractions of arrays of any rank as products of matrices: ``tensordot`` and ``einsum``.

Each contraction of two operands becomes one product: their dimensions are arranged as (batch, rows, summed) and (batch,
summed, columns), without a copy if the strides allow that.
"""

from __future__ import annotations

import math
import string
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import place
from vkamp.blas._operands import Matrix, container
from vkamp.linalg._shared import function, is_empty, nothing, output, reshaped, shape_of
from vkamp.linalg.products import into


class _Labelled(NamedTuple):
    """A container with one letter for each dimension. A number has the dimension (1,) and no letter."""

    values: Any
    labels: str

    def size(self, label: str) -> int:
        """The elements along a dimension."""
        return int(self.values.extent[self.labels.index(label)])


class _Diagonal(lazy.Lazy):
    """The elements whose subscripts of equal letters are equal. ``places``: for each dimension, that of the result."""

    __slots__ = ("places", "values")

    def __init__(self, values: Any, shape: tuple[int, ...], places: tuple[int, ...]) -> None:
        super().__init__(shape)
        self.values, self.places = values, amp.index(*places)

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index."""
        at = self.places * 0
        for d in amp.static_range(self.places.rank):
            if self.extent.rank == 1:
                at[d] = amp.index(i)[0]
            else:
                at[d] = i[self.places[d]]
        return self.values[at]


@function
def tensordot(
    a: Any, b: Any, axes: Any = 2, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The sum of products over axes of ``a`` and of ``b`` (numpy: ``tensordot``).

    ``axes``: a number of axes, which are the last of ``a`` and the first of ``b``; or two axes, or two lists of axes.
    AmpError if their extents differ. A sum over all axes is a ``device_scalar``.
    """
    ranks = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int):
        first, second = list(range(ranks[0] - axes, ranks[0])), list(range(axes))
        if axes < 0 or axes > min(ranks):
            raise ValueError(
                f"tensordot over {axes} axes needs inputs of at least that rank, not {ranks[0]} and {ranks[1]}"
            )
    else:
        first, second = ([each] if isinstance(each, int) else list(each) for each in axes)
    if len(first) != len(second):
        raise ValueError(f"tensordot needs as many axes of a as of b, not {len(first)} and {len(second)}")
    for chosen, rank in ((first, ranks[0]), (second, ranks[1])):
        if any(not -rank <= axis < rank for axis in chosen) or len({axis % rank for axis in chosen}) < len(chosen):
            raise ValueError(f"axes {chosen} are not different axes of an input of rank {rank}")
    letters = string.ascii_letters
    one, other = list(letters[: ranks[0]]), list(letters[ranks[0] : sum(ranks)])
    for i, j in zip(first, second, strict=True):
        other[j] = one[i]
        if shape_of(a)[i] != shape_of(b)[j]:
            raise amp.AmpError(f"axis {i} of a has {shape_of(a)[i]} elements, but axis {j} of b has {shape_of(b)[j]}")
    kept = [x for x in one if x not in other] + [x for x in other if x not in one]
    return _contracted(["".join(one), "".join(other)], "".join(kept), [a, b], out, accelerator_view)


@function
def einsum(
    subscripts: str, *operands: Any, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """Sums of products by Einstein's convention (numpy: ``einsum``), such as ``einsum("ij,kj->ik", a, b)``.

    Subscripts are letters, ``...`` and an optional ``->result``. More than two operands are contracted in pairs, in the
    order that numpy's ``einsum_path`` finds. AmpError if extents of one letter differ, ValueError for subscripts that
    do not fit the operands. A sum over all dimensions is a ``device_scalar``.
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"einsum takes subscripts in a string, such as 'ij,jk->ik', not {type(subscripts).__name__}")
    inputs, result = _parsed(subscripts, [len(shape_of(each)) for each in operands])
    return _contracted(inputs, result, list(operands), out, accelerator_view)


def _parsed(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result. The dimensions of ``...`` get letters of their own."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise ValueError(f"{subscripts!r} has subscripts for {len(inputs)} operands, but there are {len(ranks)}")
    free = [each for each in reversed(string.ascii_letters) if each not in subscripts]
    found, widest = [], 0
    for text, rank in zip(inputs, ranks, strict=True):
        letters = text.replace("...", "", 1)
        rest = rank - len(letters)
        if not all(each in string.ascii_letters for each in letters) or rest < 0 or (rest and letters == text):
            raise ValueError(f"subscripts {text!r} do not fit an operand of rank {rank}")
        widest = max(widest, rest)
        found.append(text.replace("...", "".join(reversed(free[:rest]))))
    whole = "".join(reversed(free[:widest]))
    if arrow:
        result = right.replace("...", whole)
    else:
        seen = Counter("".join(inputs).replace(".", ""))
        result = whole + "".join(sorted(each for each in seen if seen[each] == 1))
    if len(set(result)) < len(result) or not set(result) <= set("".join(found)):
        raise ValueError(f"the result {right!r} of {subscripts!r} has a letter twice, or one that no operand has")
    return found, result


def _contracted(inputs: list[str], result: str, operands: list[Any], out: Any, wanted: Any) -> Any:
    """The result of all operands."""
    sizes: dict[str, int] = {}
    for labels, each in zip(inputs, operands, strict=True):
        for label, n in zip(labels, shape_of(each), strict=True):
            known = sizes.setdefault(label, n)
            if 1 not in (known, n) and known != n:
                raise amp.AmpError(f"subscript {label!r} has {known} elements in one place, {n} in another")
            sizes[label] = n if known == 1 else known
    shape = tuple(sizes[label] for label in result)
    operands = [each if labels else np.atleast_1d(each) for labels, each in zip(inputs, operands, strict=True)]
    view = place(wanted, *(x for x in (*operands, out) if isinstance(x, (amp.array, amp.array_view))))
    dtype = np.result_type(*(x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype for x in operands))
    if any(is_empty(each) for each in operands):
        return nothing(shape, dtype, out, view)
    parts = [_simple(_Labelled(container(x), labels), sizes, view) for labels, x in zip(inputs, operands, strict=True)]
    for chosen in _path(parts, result):
        pair = [parts[i] for i in sorted(chosen, reverse=True)][::-1]
        parts = [each for i, each in enumerate(parts) if i not in chosen]
        kept = set(result).union(*(each.labels for each in parts))
        parts.append(_product(view, pair[0], pair[1], kept) if len(pair) == 2 else pair[0])
    return _delivered(parts[0], result, shape, dtype, operands, out, view)


def _path(parts: list[_Labelled], result: str) -> list[tuple[int, ...]]:
    if len(parts) < 3:
        return [tuple(range(len(parts)))]
    shapes = [np.broadcast_to(np.empty(()), tuple(x.values.extent) if x.labels else ()) for x in parts]
    path = np.einsum_path(",".join(x.labels for x in parts) + "->" + result, *shapes, optimize="greedy")[0][1:]
    # numpy may take several operands at once; here they are taken in pairs.
    pairs: list[tuple[int, ...]] = []
    for chosen in path:
        pairs.append(tuple(chosen[:2]) if len(chosen) > 1 else tuple(chosen))
        if len(chosen) > 2:
            remaining = len(parts) - len(pairs)
            pairs += [(0, 1)] * (remaining - 1)
            break
    return pairs


def _simple(x: _Labelled, sizes: dict[str, int], view: amp.accelerator_view) -> _Labelled:
    """An operand without repeated letters, and without dimensions of one element that are longer in another operand."""
    short = [label for label, n in zip(x.labels, x.values.extent, strict=False) if n == 1 and sizes[label] > 1]
    if short:
        rest = [(label, n) for label, n in zip(x.labels, x.values.extent, strict=True) if label not in short]
        x = _Labelled(reshaped(x.values, tuple(n for _, n in rest) or (1,)), "".join(label for label, _ in rest))
    labels = "".join(dict.fromkeys(x.labels))
    if labels == x.labels:
        return x
    source = _Diagonal(x.values, tuple(sizes[each] for each in labels), tuple(labels.index(each) for each in x.labels))
    return _Labelled(alg.copy(source, accelerator_view=view), labels)


def _summed(x: _Labelled, kept: Any, view: amp.accelerator_view) -> _Labelled:
    """Sums over the dimensions whose letters occur nowhere else."""
    for label in [each for each in x.labels if each not in kept]:
        total = alg.reduce(x.values, functional.plus, axis=x.labels.index(label), accelerator_view=view)
        values = total if isinstance(total, (amp.array, amp.array_view)) else total.view
        x = _Labelled(values, x.labels.replace(label, ""))
    return x


def _product(view: amp.accelerator_view, a: _Labelled, b: _Labelled, kept: set[str]) -> _Labelled:
    """The contraction of two operands; ``kept``: the letters that are needed afterwards."""
    a, b = _summed(a, kept | set(b.labels), view), _summed(b, kept | set(a.labels), view)
    both = [each for each in a.labels if each in b.labels]
    batch, summed = "".join(x for x in both if x in kept), "".join(x for x in both if x not in kept)
    rows = "".join(x for x in a.labels if x not in both)
    columns = "".join(x for x in b.labels if x not in both)
    shape = tuple(a.size(x) for x in batch + rows) + tuple(b.size(x) for x in columns)
    made = amp.array(
        amp.extent(shape or (1,)), np.result_type(a.values.dtype, b.values.dtype), accelerator_view=view
    )  # fmt: skip
    left, right = _arranged(a, batch, rows, summed, view), _arranged(b, batch, summed, columns, view)
    into(view, left, right, made, (left.size, left.rows, right.columns))
    return _Labelled(made, batch + rows + columns)


def _arranged(x: _Labelled, batch: str, rows: str, columns: str, view: amp.accelerator_view) -> Matrix:
    """An operand as a batch of matrices with these dimensions."""
    shape = tuple(math.prod(x.size(each) for each in group) for group in (batch, rows, columns))
    if x.labels == batch + columns + rows and rows and columns:
        return Matrix(reshaped(x.values, (shape[0], shape[2], shape[1])), turned=True)
    return Matrix(reshaped(_permuted(x, batch + rows + columns, view), shape))


def _permuted(x: _Labelled, labels: str, view: amp.accelerator_view) -> Any:
    """The elements with the dimensions in another order."""
    if x.labels == labels:
        return x.values
    return alg.permute_dims(x.values, tuple(x.labels.index(each) for each in labels), accelerator_view=view)


def _delivered(
    x: _Labelled, result: str, shape: tuple[int, ...], dtype: Any, operands: list[Any], out: Any, view: Any
) -> Any:
    """The result in ``out``, in a new array, or as a number on the device."""
    x = _summed(x, result, view)
    values = reshaped(_permuted(x, result, view), shape or (1,))
    is_given = any(values is each or _overlaps(values, each) for each in operands)
    if out is None and not is_given and values.dtype == dtype:
        made = values if isinstance(values, amp.array) else alg.copy(values, accelerator_view=view)
    else:
        made = output(out, shape, dtype, view, *operands)
        alg.copy(values, out=made, accelerator_view=view)
    return alg.device_scalar(made) if not shape and out is None else made


def _overlaps(values: Any, operand: Any) -> bool:
    return values.overlaps(operand) if isinstance(operand, (amp.array, amp.array_view)) else True
