"""``copy`` and ``copy_async`` between arrays, views and numpy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError
from vkamp.lang.capturing import recorder, refuse
from vkamp.lang.completion import completion_future
from vkamp.lang.container import Container, fit
from vkamp.lang.dtypes import components, convert, dtype_name, take, vector_type
from vkamp.tracebacks import entry_point


@entry_point
def copy(src: Any, dest: Any) -> None:
    """Copy all elements of ``src`` to ``dest`` (AMP: ``copy``).

    At least one of the two is an array or array_view. The other may be one too, or an ndarray. The source may also be a
    nested or flat sequence or iterable of numbers, or an iterator, which may have more numbers than the destination has
    elements. Containers must agree in rank and dtype (TypeError) and in each component of the extent (AmpError). An
    ndarray has the container's shape, or is flat with as many elements; for short vectors it may hold the components
    along one more dimension. Its type must convert without a change of kind (TypeError, OverflowError).

    The copy reads the newest values, wherever they are, and does not change the home memory of the source. Elements
    outside a destination section stay intact. If source and destination overlap, the source is read first.

    In an ``amp.capture()`` a copy between two containers is recorded; others are an AmpError.
    """
    _check(src, dest)
    capture = recorder()
    if capture is not None and isinstance(src, Container) and isinstance(dest, Container):
        capture.copy(src, dest)
    elif isinstance(dest, Container):
        if not (isinstance(src, Container) and dest._copy_from(src)):
            dest._write(_values_for(src, dest))
    elif not _read_into(src, dest):
        np.copyto(dest, _values_into(src, dest))


@entry_point
def copy_async(src: Any, dest: Any) -> completion_future:
    """:func:`copy` in the background (AMP: ``copy_async``); errors that can be detected immediately are raised here.

    Until the future is ready, do not write the source and do not access the destination.
    """
    refuse("copy_async()")
    _check(src, dest)
    return completion_future._run(lambda: copy(src, dest))


def _check(src: Any, dest: Any) -> None:
    """Raise the errors that can be detected before any element is read."""
    if isinstance(dest, Container):
        if dest.readonly:
            raise TypeError(f"the destination {dest!r} is read-only")
    elif not isinstance(dest, np.ndarray):
        raise TypeError(f"copy writes to an array, array_view or ndarray, got {type(dest).__name__}")
    elif not dest.flags.writeable:
        raise TypeError("the destination ndarray is read-only")
    if isinstance(src, Container):
        if isinstance(dest, Container):
            _check_containers(src, dest)
    elif not isinstance(dest, Container):
        raise TypeError("copy needs an array or array_view on one side: between numpy arrays, use np.copyto")
    elif not isinstance(src, Iterable):
        raise TypeError(f"copy reads an array, array_view, ndarray or sequence, got {type(src).__name__}")


def _check_containers(src: Container, dest: Container) -> None:
    if src.rank != dest.rank:
        raise TypeError(f"ranks differ: {src!r} to {dest!r}")
    if src.dtype != dest.dtype:
        raise TypeError(f"element types differ: {dtype_name(src.dtype)} to {dtype_name(dest.dtype)}")
    if src.extent != dest.extent:
        raise AmpError(f"extents differ: {src.extent!r} to {dest.extent!r}")


def _values_for(src: Any, dest: Container) -> NDArray[Any]:
    if isinstance(src, Container):
        return src._read()
    if isinstance(src, Iterator):
        src = take(src, dest._layout.shape)
    values = fit(convert(src, dest.dtype, "the source"), dest._layout.shape, "the source")
    return np.array(values) if dest._may_share(values) else values


def _read_into(src: Container, dest: NDArray[Any]) -> bool:
    """Reads the elements into ``dest`` without an intermediate array; False if that is impossible."""
    shape, element = src._layout.shape, src.dtype
    vector = vector_type(element)
    if vector is not None and vector.element.dtype.itemsize * vector.count == element.itemsize:
        shape, element = (*shape, vector.count), vector.element.dtype
    if dest.dtype != element or not dest.flags.c_contiguous or dest.size != prod(shape):
        return False
    return dest.shape in (shape, (dest.size,)) and src._read_into(np.asarray(dest).reshape(-1).view(np.uint8))


def _values_into(src: Container, dest: NDArray[Any]) -> NDArray[Any]:
    values = src._read()
    if dest.dtype.names is None:
        values = components(values)
    values = convert(values, dest.dtype, "the source")
    if dest.shape == values.shape:
        return values
    if dest.ndim != 1 or dest.size != values.size:
        raise AmpError(f"extents differ: {src.extent!r} to an ndarray of shape {dest.shape}")
    return values.reshape(-1)
