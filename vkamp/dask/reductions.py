"""Reductions and scans of Dask arrays: Dask's trees, with chunks that vkamp.algorithms computes on devices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import dask.array as da
import numpy as np
from dask.array.reductions import cumreduction

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional
from vkamp.dask import containers
from vkamp.dask.blocks import Block, chunk_of, lacks, on_device, on_host, quick_chunk_of
from vkamp.dask.spilling import with_room
from vkamp.tracebacks import entry_point

Axis = int | Sequence[int] | None

#: For each reduction, the function for devices, and numpy's.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (alg.sum, np.sum),
    "prod": (alg.prod, np.prod),
    "min": (alg.min, np.min),
    "max": (alg.max, np.max),
    "any": (alg.any, np.any),
    "all": (alg.all, np.all),
}


@entry_point
def _part(chunk: Any, axis: Any, keepdims: bool, function: Callable[..., Any], host: Any = None) -> Any:
    """A reduction of one chunk, or of several results; ``host`` computes it if the device cannot."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if host is not None and lacks(chunk.dtype):
        return host(np.asarray(chunk), axis=axes, keepdims=keepdims)
    found = with_room(lambda: quick_chunk_of(function(on_device(chunk), axis=axes, keepdims=True)))
    return found if keepdims else np.asarray(found).reshape([n for k, n in enumerate(found.shape) if k not in axes])


@entry_point
def _last(chunk: Any, axis: Any, keepdims: bool, function: Callable[..., Any], host: Any, dtype: np.dtype[Any]) -> Any:
    """Like ``_part``, for the final result in its type: 0-dimensional arrays and bool are numpy's."""
    found = _part(chunk, axis, keepdims, function, host)
    return found if found.dtype == dtype else np.asarray(found).astype(dtype)


def _reduction(name: str, x: Any, axis: Axis, keepdims: bool, dtype: Any, split_every: int | None) -> da.Array:
    x = _dask_array(x, name)
    function, host = _FUNCTIONS[name]
    wanted = _type_of(name, x.dtype) if dtype is None else np.dtype(dtype)
    if name in ("sum", "prod"):
        function, host = (functools.partial(each, dtype=wanted) for each in (function, host))
    return da.reduction(
        x,
        chunk=functools.partial(_part, function=function),
        combine=functools.partial(_part, function=function, host=host),
        aggregate=functools.partial(_last, function=function, host=host, dtype=wanted),
        axis=_axes(axis),
        keepdims=keepdims,
        dtype=wanted,
        split_every=split_every,
        name=f"vkamp-{name}",
        meta=np.empty((0,) * x.ndim, wanted),
    )


def _type_of(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of a reduction, as in vkamp.algorithms."""
    if name in ("any", "all"):
        return np.dtype(np.bool_)
    if name in ("sum", "prod"):
        return np.asarray(np.zeros(1, dtype).sum()).dtype
    return dtype


def _axes(axis: Axis) -> Any:
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


def _dask_array(x: Any, name: str) -> da.Array:
    if not isinstance(x, da.Array):
        raise TypeError(f"vkamp.dask.{name} takes a Dask array, got {type(x).__name__}: use da.from_array")
    return x


@entry_point
def sum(
    x: da.Array, axis: Axis = None, *, keepdims: bool = False, dtype: Any = None, split_every: int | None = None
) -> da.Array:
    """The sum over one, several or all axes, in numpy's type. ``split_every``: the results that a task adds."""
    return _reduction("sum", x, axis, keepdims, dtype, split_every)


@entry_point
def prod(x: da.Array, axis: Axis = None, *, keepdims: bool = False, split_every: int | None = None) -> da.Array:
    """The product over one, several or all axes, in numpy's type. ``split_every``: the results that a task combines."""
    return _reduction("prod", x, axis, keepdims, None, split_every)


@entry_point
def min(x: da.Array, axis: Axis = None, *, keepdims: bool = False, split_every: int | None = None) -> da.Array:
    """The smallest element; NaN if there is one, as numpy's."""
    return _reduction("min", x, axis, keepdims, None, split_every)


@entry_point
def max(x: da.Array, axis: Axis = None, *, keepdims: bool = False, split_every: int | None = None) -> da.Array:
    """The largest element; NaN if there is one, as numpy's."""
    return _reduction("max", x, axis, keepdims, None, split_every)


@entry_point
def any(x: da.Array, axis: Axis = None, *, keepdims: bool = False, split_every: int | None = None) -> da.Array:
    """Whether any element is not zero."""
    return _reduction("any", x, axis, keepdims, None, split_every)


@entry_point
def all(x: da.Array, axis: Axis = None, *, keepdims: bool = False, split_every: int | None = None) -> da.Array:
    """Whether all elements are not zero."""
    return _reduction("all", x, axis, keepdims, None, split_every)


@entry_point
def count_nonzero(x: da.Array, axis: Axis = None) -> da.Array:
    """The number of elements that are not zero, as int64."""
    x = _dask_array(x, "count_nonzero")
    flags = x.map_blocks(_flags, dtype=np.int32, meta=np.empty((0,) * x.ndim, np.int32))
    return sum(flags, axis)


@amp.func
def _is_nonzero(value):  # type: ignore[no-untyped-def]
    return 1 if value != 0 else 0


@entry_point
def _flags(chunk: Any) -> Any:
    return with_room(lambda: chunk_of(alg.transform(_is_nonzero, on_device(chunk), dtype=np.int32)))


# -- moments -------------------------------------------------------------------------------------------------------


@entry_point
def mean(x: da.Array, axis: Axis = None, *, keepdims: bool = False, split_every: int | None = None) -> da.Array:
    """The mean: of float32 and smaller types in float32, else in float64."""
    return _moment(x, axis, keepdims, split_every, _mean_of, "mean")


@entry_point
def var(
    x: da.Array, axis: Axis = None, *, keepdims: bool = False, ddof: float = 0, split_every: int | None = None
) -> da.Array:
    """The variance, with ``ddof`` fewer degrees of freedom; parts are joined by Chan's formula, in float64."""
    return _moment(x, axis, keepdims, split_every, functools.partial(_variance_of, ddof=ddof), "var")


@entry_point
def std(
    x: da.Array, axis: Axis = None, *, keepdims: bool = False, ddof: float = 0, split_every: int | None = None
) -> da.Array:
    """The standard deviation: the square root of :func:`var`."""
    return da.sqrt(var(x, axis, keepdims=keepdims, ddof=ddof, split_every=split_every))


class _Moments(tuple[Any, Any, Any]):
    """Of a part: the number of elements, their mean, and the sum of the squares of their distances from it, or None
    where only the mean is wanted. For a chunk, the last two are containers, the mean and the variance, which only
    :func:`_joined` waits for. They travel as numpy arrays: on another worker's device they would be of no use.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _Moments, (tuple(_in_float64(self, containers.taken)),)


def _in_float64(part: _Moments, copied: Callable[[amp.array], Any]) -> _Moments:
    """The moments of a part on the host; ``copied`` returns the elements of an array."""
    count, mean, spread = part
    if not isinstance(mean, amp.array):
        return part
    mean = copied(mean).astype(np.float64).reshape(count.shape)
    if spread is not None:
        spread = copied(spread).astype(np.float64).reshape(count.shape) * count
    return _Moments((count, mean, spread))


def _moment(x: Any, axis: Axis, keepdims: bool, split_every: int | None, last: Any, name: str) -> da.Array:
    x = _dask_array(x, name)
    dtype = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    return da.reduction(
        x,
        chunk=_means if last is _mean_of else _moments,
        combine=_joined,
        aggregate=functools.partial(_final, last=last, dtype=dtype),
        axis=_axes(axis),
        keepdims=keepdims,
        dtype=dtype,
        split_every=split_every,
        concatenate=False,
        name=f"vkamp-{name}",
        meta=np.empty((0,) * x.ndim, dtype),
    )


@entry_point
def _means(chunk: Any, axis: tuple[int, ...], keepdims: bool) -> _Moments:
    def compute() -> _Moments:
        rows, count = _rows_of(chunk, axis)
        return _Moments((count, alg.mean(rows, axis=1), None))

    return with_room(compute)


@entry_point
def _moments(chunk: Any, axis: tuple[int, ...], keepdims: bool) -> _Moments:
    def compute() -> _Moments:
        rows, count = _rows_of(chunk, axis)
        return _Moments((count, alg.mean(rows, axis=1), alg.var(rows, axis=1)))

    return with_room(compute)


def _rows_of(chunk: Any, axis: tuple[int, ...]) -> tuple[Any, Any]:
    """The elements of a chunk in rows, each of which becomes one number; how many each one has, in the result's
    shape."""
    values = on_device(chunk)
    shape = tuple(values.extent)
    count = int(np.prod([shape[k] for k in axis]))
    kept = [k for k in range(len(shape)) if k not in axis]
    # The reduced dimensions become one, which is the last.
    rows = alg.permute_dims(values, (*kept, *axis)) if kept and kept != [*range(len(kept))] else values
    result = tuple(1 if k in axis else n for k, n in enumerate(shape))
    return rows.reshape(-1, count), np.full(result, float(count))


def _joined(parts: Any, axis: Any, keepdims: bool = True) -> _Moments:
    every = [*_flat(parts)]
    arrays = [each for part in every for each in part[1:] if isinstance(each, amp.array)]
    values = dict(zip(map(id, arrays), containers.values_together(arrays), strict=True))
    found = [_in_float64(part, lambda each: values[id(each)]) for part in every]
    count, mean, spread = found[0]
    for more, other, apart in found[1:]:
        total = count + more
        delta = other - mean
        if spread is not None:
            spread = spread + apart + delta * delta * count * more / total
        mean = mean + delta * more / total
        count = total
    return _Moments((count, mean, spread))


def _flat(parts: Any) -> Any:
    if isinstance(parts, list):
        for each in parts:
            yield from _flat(each)
    else:
        yield parts


def _final(parts: Any, axis: tuple[int, ...], keepdims: bool, last: Any, dtype: np.dtype[Any]) -> Any:
    found = np.asarray(last(*_joined(parts, axis))).astype(dtype)
    return found if keepdims else found.squeeze(axis)


def _mean_of(count: Any, mean: Any, spread: Any) -> Any:
    return mean


def _variance_of(count: Any, mean: Any, spread: Any, ddof: float) -> Any:
    return spread / (count - ddof)


# -- any operator, and scans ---------------------------------------------------------------------------------------


def device_function(function: Any) -> Any:
    """Wraps a function that kernels can call, so that it is sent with its source."""
    return amp.func(function) if isinstance(function, FunctionType) else function


@entry_point
class _With:
    """A function of vkamp.algorithms with an operator that kernels can call."""

    def __init__(self, kind: str, op: Any) -> None:
        self.kind = kind
        self.op = device_function(op)
        self.__name__ = f"vkamp-{kind}"

    def __dask_tokenize__(self) -> Any:
        return "vkamp.dask", self.kind, self.op

    def __call__(self, chunk: Any, axis: Any = 0, keepdims: bool = True, dtype: Any = None) -> Any:
        if self.kind == "scan":
            return with_room(lambda: chunk_of(alg.scan(on_device(chunk), self.op, axis=axis)))
        return _part(chunk, axis, keepdims, functools.partial(_reduce_with, op=self.op))


def _reduce_with(values: Any, op: Any, axis: int, keepdims: bool) -> Any:
    return alg.reduce(values, op, axis=axis, keepdims=keepdims)


@entry_point
def reduce(
    x: da.Array, op: Any = functional.plus, axis: Axis = None, *, keepdims: bool = False, split_every: int | None = None
) -> da.Array:
    """A reduction by an associative operator, a function that kernels can call: ``reduce(x, lambda a, b: ...)``.

    The parts are combined in the order of the blocks along one axis; over several axes the operator must also be
    commutative.
    """
    x = _dask_array(x, "reduce")
    step = _With("reduce", op)
    return da.reduction(
        x,
        chunk=step,
        combine=step,
        aggregate=step,
        axis=_axes(axis),
        keepdims=keepdims,
        dtype=x.dtype,
        split_every=split_every,
        name="vkamp-reduce",
        meta=np.empty((0,) * x.ndim, x.dtype),
    )


@entry_point
class _Combine:
    """Combines the last elements of the blocks before with each element of a block."""

    def __init__(self, op: Any) -> None:
        self.op = device_function(op)
        self.__name__ = "vkamp-combine"

    def __dask_tokenize__(self) -> Any:
        return "vkamp.dask.combine", self.op

    def __call__(self, before: Any, values: Any) -> Any:
        return with_room(lambda: self._run(on_device(before), on_device(values)))

    def _run(self, before: amp.array, values: amp.array) -> Any:
        shape = tuple(values.extent)
        if tuple(before.extent) != shape:
            (axis,) = (k for k, (m, n) in enumerate(zip(before.extent, shape, strict=True)) if m != n)
            before = alg.repeat(before, shape[axis], axis=axis)
        return chunk_of(alg.transform(self.op, before, values))


def _scan(x: Any, op: Any, axis: int, name: str) -> da.Array:
    x = _dask_array(x, name)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis={axis} is out of range for an array of {x.ndim} dimensions")
    return cumreduction(
        _With("scan", op), _Combine(op), None, x, axis % x.ndim, x.dtype, method="blelloch", preop=_With("reduce", op)
    )


@entry_point
def scan(x: da.Array, op: Any = functional.plus, axis: int = 0) -> da.Array:
    """The inclusive scan along an axis by an associative operator, in the elements' type.

    Blocks are reduced and scanned on their workers, and combined by Dask's work-efficient tree (Blelloch's).
    """
    return _scan(x, op, axis, "scan")


@entry_point
def cumulative_sum(x: da.Array, axis: int = 0) -> da.Array:
    """Sums up to each element along an axis, in the elements' type."""
    return _scan(x, functional.plus, axis, "cumulative_sum")


@entry_point
def cumulative_prod(x: da.Array, axis: int = 0) -> da.Array:
    """Products up to each element along an axis, in the elements' type."""
    return _scan(x, functional.multiplies, axis, "cumulative_prod")


@entry_point
def cummax(x: da.Array, axis: int = 0) -> da.Array:
    """The largest of the elements up to each one along an axis."""
    return _scan(x, functional.max, axis, "cummax")


@entry_point
def cummin(x: da.Array, axis: int = 0) -> da.Array:
    """The smallest of the elements up to each one along an axis."""
    return _scan(x, functional.min, axis, "cummin")


def to_device(x: da.Array) -> da.Array:
    """The same array with its chunks on devices, so that later functions of this package copy nothing there."""
    return x.map_blocks(_to_device, dtype=x.dtype, meta=np.empty((0,) * x.ndim, x.dtype))


@entry_point
def _to_device(chunk: Any) -> Any:
    return chunk if isinstance(chunk, Block) or not chunk.size else with_room(lambda: chunk_of(on_device(chunk)))


def to_host(x: da.Array) -> da.Array:
    """The same array with its chunks as numpy arrays."""
    return x.map_blocks(on_host, dtype=x.dtype, meta=np.empty((0,) * x.ndim, x.dtype))
