"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import computed_type, place
from vkamp.linalg._shared import function, is_empty
from vkamp.linalg._square import floating
from vkamp.linalg.jacobi import svd

_Axes = tuple[int, ...]


@amp.func
def _magnitude(x: Any) -> Any:
    return abs(x)


@amp.func
def _float_magnitude(x: Any) -> Any:
    return abs(amp.float32(x))


@amp.func
def _square(x: Any) -> Any:
    return x * x


@amp.func
def _complex_square(x: Any) -> Any:
    return x.real * x.real + x.imag * x.imag


@amp.func
def _float_square(x: Any) -> Any:
    return amp.float32(x) * amp.float32(x)


@amp.func
def _root(x: Any) -> Any:
    return amp.precise_math.sqrt(x)


@amp.func
def _is_other_than_zero(x: Any) -> Any:
    return type(abs(x))(1) if x != 0 else type(abs(x))(0)


@amp.func
def _float_is_other_than_zero(x: Any) -> Any:
    return amp.float32(1) if x != 0 else amp.float32(0)


class _Power:
    """``x ** p``."""

    __slots__ = ("p",)

    def __init__(self, p: Any) -> None:
        self.p = p

    @amp.func
    def __call__(self, x: Any) -> Any:
        return amp.precise_math.pow(x, type(x)(self.p))


@function
def norm(
    x: Any,
    ord: Any = None,
    axis: int | tuple[int, int] | None = None,
    keepdims: bool = False,
    *,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """A norm of a vector or matrix, or of those along one or two axes (numpy: ``linalg.norm``).

    ``ord`` of vectors: a number, ``inf``, ``-inf``, or 0 for the number of elements that are not zero; by default 2. Of
    matrices: ``"fro"`` (the default), 1, -1, ``inf`` or ``-inf``, and ``"nuc"``, 2 or -2, which are computed from
    singular values. By default, the norm of all elements. Integers give float32. A single norm is a ``device_scalar``.
    ValueError for other orders.
    """
    x = floating(x)
    if is_empty(x):
        return np.linalg.norm(np.asarray(x), ord, axis, keepdims)
    source = lazy.of(x)
    view = place(accelerator_view, source)
    rank = source.extent.rank
    if axis is None:
        axes = tuple(range(rank))
        if ord is not None and rank > 2:
            raise ValueError(f"a norm of order {ord!r} of an input of rank {rank} needs an axis, or two")
    else:
        axes = (axis,) if isinstance(axis, int) else tuple(axis)
        if any(not -rank <= d < rank for d in axes) or len({d % rank for d in axes}) < len(axes) or len(axes) > 2:
            raise ValueError(f"axis {axis} is neither one nor two of the axes of {source.extent!r}")
        axes = tuple(d % rank for d in axes)
    if ord is None or (len(axes) == 2 and ord in ("fro", "f")) or (len(axes) == 1 and ord == 2):
        sums = _reduced(lazy.map(_squares(source), source), functional.plus, axes, view)
        found = alg.transform(_root, sums, accelerator_view=view)
    elif len(axes) == 1:
        found = _of_vectors(source, ord, axes, view)
    else:
        found = _of_matrices(source, ord, axes, view)
    return _shaped(found, source, axes, keepdims)


def _shaped(found: Any, source: lazy.Lazy, axes: _Axes, keepdims: bool) -> Any:
    """The norms, with the axes removed or of length 1; a single norm is a number on the device."""
    shape = tuple(1 if d in axes else n for d, n in enumerate(source.extent))
    if keepdims:
        return found.reshape(*shape)
    rest = tuple(n for d, n in enumerate(source.extent) if d not in axes)
    return found.reshape(*rest) if rest else alg.device_scalar(found.reshape(1))


def _squares(source: lazy.Lazy) -> Any:
    kind = computed_type(source).kind
    return {"c": _complex_square, "f": _square}.get(kind, _float_square)


def _magnitudes(source: lazy.Lazy) -> lazy.Lazy:
    """The absolute values; those of integers as float32."""
    kind = computed_type(source).kind
    return lazy.map(_magnitude if kind in "fc" else _float_magnitude, source)


def _reduced(source: lazy.Lazy, op: Any, axes: _Axes, view: amp.accelerator_view) -> Any:
    """The combination along axes, each of which has one element afterwards."""
    if len(axes) == source.extent.rank:
        return alg.reduce(source, op, accelerator_view=view).view
    for d in axes:
        found = alg.reduce(source, op, axis=d, keepdims=True, accelerator_view=view)
        source = lazy.of(found)
    return found


def _of_vectors(source: lazy.Lazy, ord: Any, axes: _Axes, view: amp.accelerator_view) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"vectors have no norm of order {ord!r}")
    if ord == 0:
        is_float = computed_type(source).kind in "fc"
        counted = lazy.map(_is_other_than_zero if is_float else _float_is_other_than_zero, source)
        return _reduced(counted, functional.plus, axes, view)
    magnitudes = _magnitudes(source)
    if math.isinf(ord):
        return _reduced(magnitudes, functional.max if ord > 0 else functional.min, axes, view)
    if ord == 1:
        return _reduced(magnitudes, functional.plus, axes, view)
    sums = _reduced(lazy.map(_Power(float(ord)), magnitudes), functional.plus, axes, view)
    return alg.transform(_Power(1 / ord), sums, accelerator_view=view)


def _of_matrices(source: lazy.Lazy, ord: Any, axes: _Axes, view: amp.accelerator_view) -> Any:
    if ord in ("nuc", 2, -2):
        order = (*(d for d in range(source.extent.rank) if d not in axes), *axes)
        values = svd(alg.permute_dims(source, order, accelerator_view=view), compute_uv=False, accelerator_view=view)
        op = {"nuc": functional.plus, 2: functional.max, -2: functional.min}[ord]
        return _reduced(lazy.of(values), op, (values.extent.rank - 1,), view)
    if isinstance(ord, str) or not (abs(ord) == 1 or math.isinf(ord)):
        raise ValueError(f"matrices here have no norm of order {ord!r}: there are fro, nuc, 1, -1, 2, -2, inf and -inf")
    summed, other = axes if abs(ord) == 1 else axes[::-1]
    sums = _reduced(_magnitudes(source), functional.plus, (summed,), view)
    return _reduced(lazy.of(sums), functional.max if ord > 0 else functional.min, (other,), view)


@function
def matrix_norm(
    x: Any, *, keepdims: bool = False, ord: Any = "fro", accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The norm of each matrix of a batch (array API: ``linalg.matrix_norm``). The orders are those of :func:`norm`."""
    return norm(x, ord, (-2, -1), keepdims, accelerator_view=accelerator_view)


@function
def vector_norm(
    x: Any,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: Any = 2,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The norms of vectors along one or more axes (array API: ``linalg.vector_norm``).

    By default, all elements are one vector. The orders are those of :func:`norm`.
    """
    x = floating(x)
    if is_empty(x):
        return np.linalg.norm(np.asarray(x).ravel(), ord) if axis is None else np.linalg.norm(x, ord, axis, keepdims)
    source = lazy.of(x)
    view = place(accelerator_view, source)
    rank = source.extent.rank
    given = tuple(range(rank)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if any(not -rank <= d < rank for d in given) or len({d % rank for d in given}) < len(given):
        raise ValueError(f"axis {axis} is not one or more of the axes of {source.extent!r}")
    axes = tuple(d % rank for d in given)
    if ord == 2:
        sums = _reduced(lazy.map(_squares(source), source), functional.plus, axes, view)
        return _shaped(alg.transform(_root, sums, accelerator_view=view), source, axes, keepdims)
    return _shaped(_of_vectors(source, ord, axes, view), source, axes, keepdims)
