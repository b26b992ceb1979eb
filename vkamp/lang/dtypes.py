"""Element types: which numpy dtypes a container may hold, and how values are converted to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from math import prod
from typing import Any

import numpy as np
from numpy import (
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from numpy.typing import DTypeLike, NDArray

from vkamp.errors import AmpError
from vkamp.ir.types import NUMBERS, VECTORS, Vector
from vkamp.lang.sources import has_memory, is_masked, values_of

_POSSIBLE = "real numbers of 8 to 64 bits, complex64, complex128 and structured dtypes of these; use .astype(...)"
#: The scalar dtypes by themselves: one object for each type, whichever C type numpy gives it.
_SCALARS = {
    np.dtype(t): np.dtype(t)
    for t in (
        float32, int32, uint32, float64, int64, uint64, float16, int16, uint16, int8, uint8, complex64, complex128,
    )
}  # fmt: skip


def number_kind(dtype: np.dtype[Any]) -> str:
    """numpy's letter for the kind of a scalar; ``"f"`` also for floats of other packages, which numpy calls bytes."""
    return NUMBERS[dtype.name].kind[0] if is_registered(dtype) else dtype.kind


def is_registered(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is an element type that another package, such as ml_dtypes, adds to numpy."""
    return dtype.isbuiltin == 2 and dtype.name in NUMBERS


def _known(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """The dtype object of a scalar type that an element can have."""
    found = _SCALARS.get(dtype)
    if found is None and is_registered(dtype):
        found = _SCALARS[dtype] = dtype
    return found


_VECTORS: dict[np.dtype[Any], Vector] = {v.dtype: v for v in VECTORS.values()}


def vector_type(dtype: np.dtype[Any]) -> Vector | None:
    """The short vector that a dtype represents."""
    return _VECTORS.get(dtype) if dtype.names is not None else None


def components(values: NDArray[Any]) -> NDArray[Any]:
    """Short vectors as their components, along one more dimension, in the same memory; other values as they are."""
    vector = vector_type(values.dtype)
    if vector is None:
        return values
    first = values["x"]
    strides = (*first.strides, vector.element.size)
    return np.lib.stride_tricks.as_strided(first, (*first.shape, vector.count), strides)


def as_vectors(values: NDArray[Any], vector: Vector, what: str) -> NDArray[Any]:
    """Components along the last dimension as short vectors, in the same memory.

    AmpError if the last dimension is not as long as the vector, TypeError if it is not contiguous.
    """
    if values.shape[-1:] != (vector.count,):
        raise AmpError(f"{what} has shape {values.shape}: the last dimension of {vector} elements is {vector.count}")
    if values.strides[-1] != vector.element.size:
        raise TypeError(f"the components of {what} are not contiguous: write array_view(np.ascontiguousarray(a), ...)")
    return values.view(vector.dtype)[..., 0]


def dtype_name(dtype: np.dtype[Any]) -> str:
    """``dtype`` as messages show it: ``float32``, ``float3``, or ``{x: float32, y: int32}``."""
    vector = vector_type(dtype)
    if vector is not None:
        return vector.name
    if dtype.names is not None:
        return "{" + ", ".join(f"{n}: {dtype_name(dtype[n])}" for n in dtype.names) + "}"
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{dtype_name(base)}[{', '.join(map(str, shape))}]"
    return str(dtype.name)


def refuse_dtype_first(name: str, first: Any, second: Any) -> None:
    """Raises ``TypeError`` where a container gets its element type before its extent."""
    if isinstance(first, (type, np.dtype, str)):
        try:
            kind = dtype_name(np.dtype(first))
        except TypeError:
            return
        shown = "extent(...)" if second is None else second
        raise TypeError(f"{name} takes its extent first, then its element type: write {name}({shown}, {kind})")


def element_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """``dtype`` as the numpy dtype of a container's elements.

    Elements are real numbers of 8 to 64 bits, complex64 and complex128, short vectors, and structured dtypes of these
    (nested, with subarrays) in native byte order, with aligned members in ascending order that do not overlap. numpy's
    offsets are kept. A launch checks which of the types its device supports.

    Raises AmpError for bool, and TypeError for all other dtypes.
    """
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{dtype!r} is not an element type: elements are {_POSSIBLE}") from None
    known = _known(wanted)
    if known is not None:
        return known
    _check(wanted, "")
    return np.dtype((np.void, wanted)) if wanted.type is np.record else wanted


def _check(dtype: np.dtype[Any], path: str) -> None:
    """Raise unless ``dtype`` can be an element, or its member ``path``."""
    what = f"member {path!r}: {dtype_name(dtype)}" if path else dtype_name(dtype)
    if _known(dtype) is not None or vector_type(dtype) is not None:
        return
    if dtype.subdtype is not None:
        if not path:
            raise TypeError(f"{what} is not an element type: put the extra dimensions in the extent")
        _check(dtype.subdtype[0], path)
    elif dtype.names is not None:
        _check_struct(dtype, path)
    elif dtype == np.dtype(bool_):
        raise AmpError(f"{what} is not an element type: use int32 or int8, such as a.astype(np.int8)")
    elif not dtype.isnative and dtype.newbyteorder("=") in _SCALARS:
        raise TypeError(
            f"{what} elements of type {dtype.str!r} are not in native byte order: "
            f"write a.astype(a.dtype.newbyteorder('='))"
        )
    else:
        if dtype.kind in "mM":
            raise TypeError(f"{what} is not an element type: use its int64 numbers, .astype(np.int64)")
        raise TypeError(f"{what} is not an element type: elements are {_POSSIBLE}")


def _check_struct(dtype: np.dtype[Any], path: str) -> None:
    assert dtype.names is not None
    assert dtype.fields is not None
    name = f"member {path!r}" if path else "the structured dtype"
    if not dtype.names:
        raise TypeError(f"{name} has no members")
    end, previous, largest = 0, "", 4
    for member in dtype.names:
        inner, offset = dtype.fields[member][:2]
        full = f"{path}.{member}" if path else member
        _check(inner, full)
        alignment = _alignment(inner)
        largest = max(largest, alignment)
        if offset % alignment:
            members = "members are" if alignment == 4 else f"{dtype_name(inner)} members are"
            raise TypeError(
                f"member {full!r} is at byte {offset}: {members} {alignment}-byte aligned: write align=True"
            )
        if offset < end:
            raise TypeError(
                f"member {full!r} at byte {offset} overlaps or precedes {previous!r}: "
                f"members must be in ascending order and must not overlap"
            )
        end, previous = offset + inner.itemsize, full
    if dtype.itemsize % largest:
        raise TypeError(f"{name} has {dtype.itemsize} bytes: the size must be a multiple of {largest}")


def _alignment(dtype: np.dtype[Any]) -> int:
    """The alignment of a member in bytes, as in C++: the size of its largest number."""
    if dtype.subdtype is not None:
        return _alignment(dtype.subdtype[0])
    if dtype.names is not None:
        return max(_alignment(dtype[name]) for name in dtype.names)
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def aligned(fields: Iterable[tuple[str, np.dtype[Any]]]) -> np.dtype[Any]:
    """The structured dtype of these fields, each at the next offset with its alignment, as in C++."""
    names, formats, offsets = [], [], []
    end, largest = 0, 4
    for name, dtype in fields:
        alignment = _alignment(dtype)
        largest = max(largest, alignment)
        offset = -(-end // alignment) * alignment
        names.append(name)
        formats.append(dtype)
        offsets.append(offset)
        end = offset + dtype.itemsize
    size = -(-end // largest) * largest
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


# -- values ----------------------------------------------------------------------------------------


@cache
def _range_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the largest number of a type of integers."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _fits(values: NDArray[Any], dtype: np.dtype[Any]) -> None:
    """OverflowError unless every integer of ``values`` is in the range of ``dtype``."""
    if not values.size or values.dtype.kind not in "iu" or np.can_cast(values.dtype, dtype):
        return
    limits = np.iinfo(dtype)
    for value in (int(values.min()), int(values.max())):
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"{value} does not fit {dtype_name(dtype)}")


def _refuse(source: np.dtype[Any], dtype: np.dtype[Any], what: str) -> None:
    raise TypeError(
        f"{what} of type {dtype_name(source)} does not convert to {dtype_name(dtype)}: write .astype(np.{dtype.name})"
        if dtype.names is None
        else f"{what} of type {dtype_name(source)} does not convert to {dtype_name(dtype)}"
    )


def convert(data: Any, dtype: np.dtype[Any] | None, what: str = "data") -> NDArray[Any]:
    """``data`` (an ndarray, nested sequences or an iterable) as an array of element type ``dtype``. An ndarray for
    short vectors has the components along its last dimension, or flat.

    The type of an ndarray must convert without a change of kind ("same_kind"). Numbers in sequences are weak, like
    literals: an int converts to every type that can hold it. Without ``dtype`` an ndarray keeps its type, and numbers
    become int32 or float32. The result may share memory with ``data``.

    Raises TypeError for types that do not convert, OverflowError for integers out of range, and
    what :func:`element_dtype` raises.
    """
    if is_masked(data):
        raise TypeError(f"{what} is a masked array: write .filled(value)")
    if not hasattr(data, "__array__") and has_memory(data):
        data = values_of(data)
    if isinstance(data, Iterable) and not hasattr(data, "__len__"):
        data = list(data)
    vector = None if dtype is None else vector_type(dtype)
    if vector is not None and getattr(data, "dtype", None) != dtype:
        return _convert_to_vectors(data, vector, what)
    if isinstance(data, np.ndarray):
        return _convert_array(np.asarray(data), dtype, what)
    if dtype is not None and dtype.names is not None:
        return np.array(without_vectors(data), dtype=dtype)
    values = np.asarray(data)
    if isinstance(data, np.generic) or hasattr(data, "__array__"):
        return _convert_array(values, dtype, what)
    if dtype is None:
        dtype = _weak_dtype(values)
    if values.size and not _weak_converts(values.dtype, dtype):
        _refuse(values.dtype, dtype, what)
    if dtype.kind in "iu":
        _fits(values, dtype)
    return values.astype(dtype)


def take(values: Iterator[Any], shape: tuple[int, ...]) -> list[Any]:
    """Takes from ``values`` the number of elements that a container of this shape holds (C++: a range without an
    end).
    """
    return list(islice(values, prod(shape)))


def _convert_to_vectors(data: Any, vector: Vector, what: str) -> NDArray[Any]:
    """Components along the last dimension, or all of them flat, or nested sequences of vectors, as vectors."""
    values = convert(data, np.dtype(vector.element.name), what)
    if values.ndim == 1 and values.size % vector.count == 0:
        values = values.reshape(-1, vector.count)
    return as_vectors(np.ascontiguousarray(values), vector, what)


def without_vectors(data: Any) -> Any:
    """A value for a struct: short vectors in its sequences become tuples, which numpy treats as fields."""
    if isinstance(data, (list, tuple)):
        return type(data)(map(without_vectors, data)) if type(data) in (list, tuple) else data
    is_vector = isinstance(getattr(data, "dtype", None), np.dtype) and vector_type(data.dtype) is not None
    return tuple(np.asarray(data).tolist()) if is_vector and not isinstance(data, (np.ndarray, np.void)) else data


def _convert_array(values: NDArray[Any], dtype: np.dtype[Any] | None, what: str) -> NDArray[Any]:
    if dtype is None:
        element_dtype(values.dtype)
        return values
    if values.dtype == dtype:
        # The type of an @amp.struct equals that of its fields.
        return values if values.dtype.type is dtype.type else values.view(dtype)
    structured = values.dtype.names is not None or dtype.names is not None
    if structured or not np.can_cast(values.dtype, dtype, "same_kind"):
        _refuse(values.dtype, dtype, what)
    if dtype.kind in "iu":
        _fits(values, dtype)
    return values.astype(dtype)


def _weak_dtype(values: NDArray[Any]) -> np.dtype[Any]:
    """The element type for plain Python numbers."""
    if values.dtype.kind == "i" or (values.dtype.kind == "u" and values.size):
        return np.dtype(int32)
    if number_kind(values.dtype) == "f":
        return np.dtype(float32)
    if values.dtype.kind == "c":
        return np.dtype(complex64)
    return element_dtype(values.dtype)


def _weak_converts(source: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    if source.kind in "iub":
        return True
    kinds = {"f": "fc", "c": "c"}.get(number_kind(source), "")
    return number_kind(dtype) in tuple(kinds)


def convert_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """One element's value for the scalar type ``dtype``; TypeError if it does not convert,
    OverflowError."""
    if type(value) is int and dtype.kind in "iu":
        least, largest = _range_of(dtype)
        if least <= value <= largest:
            return dtype.type(value)
    values = np.asarray(value)
    if values.ndim:
        raise TypeError(f"an element takes one value, got an array of shape {values.shape}")
    if not _weak_converts(values.dtype, dtype):
        raise TypeError(f"a value of type {dtype_name(values.dtype)} does not convert to {dtype_name(dtype)}")
    if dtype.kind in "iu":
        _fits(values, dtype)
    return values.astype(dtype)[()]
