"""Memory of other libraries as ndarrays, through the protocols that they support, without a copy or with an error.

The buffer protocol (bytes, bytearray, array.array, memoryview, ctypes, mmap), numpy's array interface and ``__array__``
(pandas, pyarrow, PyTorch's tensors in host memory), Arrow's C data interface (images of Pillow), DLPack.
"""

from __future__ import annotations

import sys
from inspect import getattr_static
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.arrow import image_memory, is_image
from vkamp.lang.dlpack import import_memory

_COPY = "write np.array(...) of it and keep the result"


def is_masked(data: Any) -> bool:
    """Whether this is one of numpy's masked arrays. A program that has one has loaded ``numpy.ma``; numpy 2 loads it at
    the first use of the name, in 10 to 40 ms."""
    return isinstance(data, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def has_memory(source: Any) -> bool:
    """Whether an object that is not an ndarray exports its elements by one of the protocols."""
    if isinstance(source, (str, list, tuple, type, int, float, complex, np.generic)):
        return False
    names = ("__array_interface__", "__array__", "__dlpack__")
    # An object's __getattr__ may raise anything.
    return _is_buffer(source) or any(getattr_static(source, name, None) is not None for name in names)


def container_in(source: Any) -> Any:
    """The container of an object that holds one, as chunks of Dask arrays do, and the object itself otherwise."""
    holds = getattr_static(source, "__vkamp_container__", None) is not None
    return source.__vkamp_container__ if holds else source


def memory_of(source: Any, *, readonly: bool) -> NDArray[Any]:
    """The elements of an object in its memory; for a readonly view also in a copy if necessary.

    TypeError if the elements are not numbers in host memory, or if they need a copy that is not allowed.
    """
    found = _shared(source)
    if found is not None:
        return found
    kind = type(source).__name__
    if not readonly:
        raise TypeError(
            f"{kind} provides a copy of its elements, so a view would change only the copy: {_COPY}, "
            "or array_view(..., readonly=True)"
        )
    return values_of(source)


def values_of(source: Any) -> NDArray[Any]:
    """The elements of an object, in its memory or in a copy."""
    found = _shared(source)
    if found is None:
        found = np.asarray(source)
    if found.dtype == object:
        raise TypeError(f"{type(source).__name__} has elements that are missing or not numbers: {_COPY}")
    return found


def _shared(source: Any) -> NDArray[Any] | None:
    """The elements in the object's memory; ``None`` if its protocols return only copies."""
    if _is_buffer(source):
        view = memoryview(source)
        try:
            return np.asarray(view)
        except ValueError as error:
            raise TypeError(f"{type(source).__name__} has an element type that numpy lacks: {error}") from None
    if is_image(source):
        found = image_memory(source)
        if found is not None:
            return found
    if hasattr(source, "__array_interface__") or hasattr(source, "__array__"):
        found = _by_array(source)
        if found is not None:
            return found
    return import_memory(source) if hasattr(source, "__dlpack__") else None


def _is_buffer(source: Any) -> bool:
    try:
        memoryview(source)
    except (TypeError, BufferError, ValueError):
        return False
    return True


def _by_array(source: Any) -> NDArray[Any] | None:
    """numpy's array of an object if two conversions share the same memory; otherwise they are copies."""
    try:
        first, second = np.asanyarray(source), np.asarray(source)
    except (TypeError, ValueError, RuntimeError):
        # For example another library's tensor on a device: DLPack gives more information.
        if hasattr(source, "__dlpack__"):
            return None
        raise
    if is_masked(first):
        raise TypeError(f"{type(source).__name__} has masked elements: fill them, for example by .filled(value)")
    if first.dtype == object:
        raise TypeError(f"{type(source).__name__} has elements that are missing or not numbers: {_COPY}")
    same = first.__array_interface__["data"][0] == second.__array_interface__["data"][0]
    return np.asarray(first) if same or not first.size else None
