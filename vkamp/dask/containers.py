"""How containers travel to other workers, to the client, and to host memory: as a header and the elements' bytes.

An ``array`` is copied once from its device, and once to the default accelerator of the receiving process. An
``array_view`` becomes a view of the memory that its elements arrive in.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp import algorithms as alg

Header = dict[str, Any]
#: Arrays of at most so many bytes, and of these types, come from the device together.
_SMALL, _JOINED = 64 << 10, (np.float32, np.int32, np.uint32)


def header_of(container: amp.array | amp.array_view) -> Header:
    """The description of a container, without its elements."""
    return {
        "dtype": pickle.dumps(container.dtype),
        "shape": list(container.extent),
        "array": isinstance(container, amp.array),
        # An array on the accelerator that only stores stays there.
        "stores": isinstance(container, amp.array) and not container.accelerator_view.runs_kernels,
        "readonly": bool(container.readonly),
    }


#: Elements of arrays that were copied early, and the arrays, by their identity.
_early: dict[int, tuple[weakref.ref[amp.array], NDArray[Any]]] = {}


def copy_early(arrays: Sequence[amp.array]) -> None:
    """Copies the elements of arrays, which do not change any more, for the next call of :func:`serialize`."""
    for each, values in zip(arrays, values_together(arrays), strict=True):
        _keep(each, values)


def _keep(container: amp.array, values: NDArray[Any]) -> None:
    key = id(container)
    _early[key] = weakref.ref(container, lambda _: _early.pop(key, None)), values


def values_together(arrays: Sequence[amp.array]) -> list[NDArray[Any]]:
    """The elements of arrays on this worker's device. Small ones come in one transfer for each type: a transfer of one
    number takes a millisecond."""
    found: list[Any] = [None] * len(arrays)
    groups: dict[np.dtype[Any], list[int]] = {}
    for k, each in enumerate(arrays):
        if size_of(each) <= _SMALL and each.dtype in _JOINED and each.accelerator_view.runs_kernels:
            groups.setdefault(each.dtype, []).append(k)
    for numbers in groups.values():
        if len(numbers) > 2:
            joined = _values(alg.concat([arrays[k].reshape(-1) for k in numbers]))
            parts = np.split(joined, np.cumsum([arrays[k].extent.size() for k in numbers])[:-1])
            for k, part in zip(numbers, parts, strict=True):
                found[k] = part.reshape(tuple(arrays[k].extent)).copy()
    return [_values(each) if values is None else values for each, values in zip(arrays, found, strict=True)]


def _values(container: amp.array | amp.array_view) -> NDArray[Any]:
    return np.ascontiguousarray(np.asarray(container, dtype=container.dtype))


def taken(container: amp.array | amp.array_view) -> NDArray[Any]:
    """The elements, which may have been copied early."""
    owner, values = _early.pop(id(container), (None, None))
    return _values(container) if values is None or owner is None or owner() is not container else values


def serialize(container: amp.array | amp.array_view) -> tuple[Header, list[NDArray[np.uint8]]]:
    """A header and one frame. For a view of host memory without gaps, the frame is that memory."""
    return header_of(container), [taken(container).reshape(-1).view(np.uint8)]


def deserialize(header: Header, frames: list[Any]) -> amp.array | amp.array_view:
    """The container with the frame's elements."""
    values = values_of(header, frames)
    if header["array"]:
        view = amp.accelerator("cpu").default_view if header["stores"] else amp.accelerator().default_view
        # With an extent and a dtype, short vectors keep their type.
        return amp.array(amp.extent(values.shape), values.dtype, values, accelerator_view=view)
    if not (header["readonly"] or values.flags.writeable):
        values = values.copy()
    return amp.array_view(values, readonly=header["readonly"])


def values_of(header: Header, frames: list[Any]) -> NDArray[Any]:
    """The elements, in the frame's memory."""
    (frame,) = frames
    values: NDArray[Any] = np.frombuffer(frame, pickle.loads(header["dtype"])).reshape(header["shape"])
    return values


def reduce(container: Any) -> tuple[Any, ...]:
    """The form for pickle's reducers; the elements are a buffer of their own (protocol 5)."""
    return deserialize, serialize(container)


def size_of(container: amp.array | amp.array_view) -> int:
    """The number of bytes of the elements, for Dask's decisions."""
    return int(container.extent.size()) * container.dtype.itemsize


def token_of(container: amp.array | amp.array_view) -> tuple[Any, ...]:
    """A container's token, from which Dask makes names of tasks: its kind and its elements."""
    header = header_of(container)
    return type(container).__name__, header["stores"], header["readonly"], np.asarray(container, dtype=container.dtype)


def device_bytes(value: Any) -> int:
    """The device memory that a task's result holds: the arrays in it, also in tuples, lists and dicts."""
    if isinstance(value, (tuple, list, set, frozenset)):
        return sum(map(device_bytes, value))
    if isinstance(value, dict):
        return sum(map(device_bytes, value.values()))
    if isinstance(value, amp.array):
        return size_of(value) if value.accelerator_view.runs_kernels else 0
    if isinstance(value, amp.array_view):
        source = value.source_accelerator_view
        return size_of(value) if isinstance(source, amp.accelerator_view) and source.runs_kernels else 0
    held = getattr(value, "__vkamp_container__", None)
    return 0 if held is None else device_bytes(held)
