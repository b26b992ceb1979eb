"""Chunks of Dask arrays on devices: the results of this package's functions stay on the device for the next function.

A :class:`Block` behaves like the numpy array of its elements. Slices, concatenation, sums of blocks and products of
matrices are computed on the device. For everything else, numpy computes on a copy in host memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp import algorithms as alg
from vkamp import linalg
from vkamp.dask import containers, turns


def chunk_of(container: amp.array) -> Any:
    """An array on this worker's device as a chunk, as by :func:`quick_chunk_of`.

    In a worker, this waits until the device has run what was launched for the chunk before.
    """
    found = quick_chunk_of(container)
    if isinstance(found, Block):
        turns.await_earlier()
    return found


def quick_chunk_of(container: amp.array) -> Any:
    """A block, or a numpy array if the device has no arithmetic of the elements' type.

    For what takes a device little time, such as a reduction: to wait there would be to wait for the chunk that it
    reads, and the device would have no work until the next task arrives.
    """
    return np.asarray(container) if lacks(container.dtype) else Block(container)


class Block:
    """An array on a device as a chunk of a Dask array."""

    __slots__ = ("__vkamp_container__", "__weakref__")
    #: Above numpy's, so that Dask concatenates blocks with :func:`concatenate`.
    __array_priority__ = 100

    def __init__(self, container: amp.array) -> None:
        self.__vkamp_container__ = container

    @property
    def container(self) -> amp.array:
        """The elements; tasks must not change them."""
        return self.__vkamp_container__

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, as in numpy."""
        return tuple(self.container.extent)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype, as in numpy."""
        return self.container.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions, as in numpy."""
        return self.container.rank

    @property
    def size(self) -> int:
        """The number of elements, as in numpy."""
        return int(self.container.extent.size())

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def flags(self) -> Any:
        """Those of a numpy array that owns its elements, as the device's array does. Dask asks for them after every
        selection."""
        return np.empty(0, self.dtype).flags

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return containers.size_of(self.container)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Block({self.container!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the elements of a block are on a device: access needs a copy")
        values = np.asarray(self.container, dtype=self.dtype)
        return values if dtype is None else values.astype(dtype, copy=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'Block' object has no attribute {name!r}", name=name, obj=self)
        return getattr(np.asarray(self), name)

    def __getitem__(self, key: Any) -> Any:
        parts = _plain_key(key, self.shape)
        if parts is None:
            return np.asarray(self)[key]
        selected, shape = parts
        if 0 in shape or not shape:
            return np.asarray(self)[key]
        if all(part == slice(0, n, 1) for part, n in zip(selected, self.shape, strict=True)):
            return self.reshape(shape)
        return Block(alg.copy(amp.array_view(self.container)[tuple(selected)])).reshape(shape)

    def reshape(self, *shape: Any) -> Any:
        """The same elements in another shape, as in numpy."""
        wanted = np.broadcast_to(np.int8(0), self.shape).reshape(*shape).shape
        if wanted == self.shape:
            return self
        if not wanted:
            return np.asarray(self).reshape(())
        return Block(alg.copy(self.container.reshape(wanted)))

    def squeeze(self, axis: Any = None) -> Any:
        """Without the dimensions of one element, as in numpy."""
        return self.reshape(np.broadcast_to(np.int8(0), self.shape).squeeze(axis).shape)

    def transpose(self, *axes: Any) -> Any:
        """With the dimensions in another order, as in numpy."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes or None
        order = tuple(range(self.ndim))[::-1] if order is None else tuple(int(k) % self.ndim for k in order)
        return chunk_of(alg.permute_dims(self.container, order))

    @property
    def T(self) -> Any:  # noqa: N802 - numpy's name
        """The transpose, as in numpy."""
        return self.transpose()

    def astype(self, dtype: Any, **options: Any) -> Any:
        """The elements in another type, as in numpy."""
        return self if np.dtype(dtype) == self.dtype else np.asarray(self).astype(dtype, **options)

    def copy(self, order: str = "C") -> Block:
        """A block of the same elements. They share memory, since an assignment gives a block other memory."""
        return Block(self.container)

    def __setitem__(self, key: Any, value: Any) -> None:
        values = np.array(self)
        values[key] = on_host(value)
        self.__vkamp_container__ = on_device(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.container.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.container.__dlpack_device__()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        options = {name: value for name, value in options.items() if value is not None}
        known = _UFUNCS.get(ufunc)
        if known is not None and method == "__call__" and options.keys() <= {"dtype"} and _fit(inputs, options):
            return known(*inputs)
        return getattr(ufunc, method)(*map(on_host, inputs), **{name: on_host(v) for name, v in options.items()})

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.concatenate and not kwargs.keys() - {"axis"}:
            return concatenate(*args, **kwargs)
        return function(*map(on_host, args), **{name: on_host(value) for name, value in kwargs.items()})


def _operator(name: str, *, is_reflected: bool) -> Any:
    ufunc: Any = getattr(np, name)

    def method(self: Block, other: Any) -> Any:
        return ufunc(other, self) if is_reflected else ufunc(self, other)

    return method


def _unary(name: str) -> Any:
    ufunc: Any = getattr(np, name)
    return lambda self: ufunc(self)


_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift", "matmul": "matmul",
}  # fmt: skip
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal"}
for _name, _ufunc in {**_OPERATORS, **_COMPARISONS, "ne": "not_equal"}.items():
    setattr(Block, f"__{_name}__", _operator(_ufunc, is_reflected=False))
for _name, _ufunc in _OPERATORS.items():
    setattr(Block, f"__r{_name}__", _operator(_ufunc, is_reflected=True))
for _name, _ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(Block, f"__{_name}__", _unary(_ufunc))


# -- on a device, and on the host ----------------------------------------------------------------------------------


def on_host(value: Any) -> Any:
    """A block as a numpy array, also in tuples and lists; other values unchanged."""
    if isinstance(value, Block):
        return np.asarray(value)
    if isinstance(value, (tuple, list)):
        return type(value)(map(on_host, value)) if type(value) in (tuple, list) else value
    return value


def on_device(chunk: Any) -> amp.array:
    """The elements of a chunk (a block, or an input of numpy) as an array on this worker's accelerator."""
    if isinstance(chunk, Block):
        return chunk.container
    if isinstance(chunk, amp.array):
        return chunk
    if isinstance(chunk, amp.array_view):
        return amp.array(chunk)
    values = np.ascontiguousarray(chunk)
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    return amp.array(amp.extent(values.shape), values.dtype, values)


def input_of(chunk: Any) -> amp.array_view:
    """A chunk in the form that a kernel reads: a numpy array is not copied if the accelerator works in host memory."""
    if isinstance(chunk, Block):
        return amp.array_view(chunk.container, readonly=True)
    if isinstance(chunk, (amp.array, amp.array_view)):
        return amp.array_view(chunk, readonly=True)
    return amp.array_view(np.asarray(chunk), readonly=True)


def _plain_key(key: Any, shape: tuple[int, ...]) -> tuple[list[slice], tuple[int, ...]] | None:
    """A subscript of integers, slices, ``...`` and ``None`` as a slice for each dimension, and the result's shape."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not all(p is None or p is Ellipsis or isinstance(p, (slice, int, np.integer)) for p in parts):
        return None
    if any(isinstance(p, bool) for p in parts) or sum(p is Ellipsis for p in parts) > 1:
        return None
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    at = next((k for k, p in enumerate(parts) if p is Ellipsis), len(parts))
    parts[at : at + 1] = [slice(None)] * (len(shape) - taken)
    selected: list[slice] = []
    result: list[int] = []
    for part in parts:
        if part is None:
            result.append(1)
            continue
        if len(selected) == len(shape):
            return None  # numpy's error says what is wrong.
        n = shape[len(selected)]
        if isinstance(part, slice):
            found = range(n)[part]
            result.append(len(found))
            stop = found.start + len(found) * found.step
            selected.append(slice(found.start, stop if stop >= 0 else None, found.step))
        elif -n <= part < n:
            selected.append(slice(int(part) % n, int(part) % n + 1, 1))
        else:
            return None
    return [_within(part, n) for part, n in zip(selected, shape, strict=True)], tuple(result)


def _within(part: slice, n: int) -> slice:
    """A slice whose end is not beyond the dimension."""
    return part if part.stop is None or part.stop <= n else slice(part.start, n, part.step)


def concatenate(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Joins blocks along an axis, on the device; chunks without elements are left out."""
    kinds = {np.dtype(each.dtype) for each in arrays}
    filled = [each for each in arrays if each.size]
    if len(kinds) > 1 or not filled or axis is None or lacks(filled[0].dtype):
        return np.concatenate([np.asarray(each) for each in arrays], axis=axis)
    if len(filled) == 1:
        return filled[0]
    return chunk_of(alg.concat(*map(on_device, filled), axis=axis))


def _fit(inputs: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether all inputs are blocks of one type, which is also the type of the result."""
    if not all(isinstance(each, Block) for each in inputs):
        return False
    kinds = {each.dtype for each in inputs}
    if len(kinds) > 1 or not kinds >= {np.dtype(kind) for kind in options.values()}:
        return False
    return not lacks(kinds.pop())


def lacks(dtype: np.dtype[Any]) -> bool:
    """Whether this worker's accelerator has no arithmetic of a type of 64 bits."""
    name = {"i8": "int64", "u8": "int64", "f8": "float64", "c16": "float64"}.get(dtype.str[1:])
    return name is not None and name not in amp.accelerator().features


def _added(a: Block, b: Block) -> Any:
    if a.shape != b.shape:
        return np.asarray(a) + np.asarray(b)
    return chunk_of(alg.transform(alg.functional.plus, a.container, b.container))


def _multiplied(a: Block, b: Block) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return np.matmul(np.asarray(a), np.asarray(b))
    return chunk_of(linalg.matmul(a.container, b.container))


_UFUNCS: dict[Any, Callable[..., Any]] = {np.add: _added, np.matmul: _multiplied}
