"""How containers travel to other workers, to the client, and to host memory: as a header and the elements' bytes.

An ``array`` is copied once from its device, and once to the default accelerator of the receiving process. An
``array_view`` becomes a view of the memory that its elements arrive in.
"""

from __future__ import annotations

import pickle
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

Header = dict[str, Any]


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


def copy_early(container: amp.array) -> None:
    """Copies the elements, which do not change any more, for the next call of :func:`serialize`."""
    key = id(container)
    values = _values(container)
    _early[key] = weakref.ref(container, lambda _: _early.pop(key, None)), values


def _values(container: amp.array | amp.array_view) -> NDArray[Any]:
    return np.ascontiguousarray(np.asarray(container, dtype=container.dtype))


def serialize(container: amp.array | amp.array_view) -> tuple[Header, list[NDArray[np.uint8]]]:
    """A header and one frame. For a view of host memory without gaps, the frame is that memory."""
    owner, values = _early.pop(id(container), (None, None))
    if values is None or owner is None or owner() is not container:
        values = _values(container)
    return header_of(container), [values.reshape(-1).view(np.uint8)]


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
