"""Fourier transforms and products of matrices of Dask arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

from vkamp import fft as _fft
from vkamp import linalg
from vkamp.dask.blocks import chunk_of, on_device
from vkamp.dask.reductions import to_device
from vkamp.dask.spilling import with_room
from vkamp.tracebacks import entry_point


def _chunk_function(name: str) -> Callable[..., Any]:
    """A transform of one chunk, as ``da.fft.fft_wrap`` calls it."""
    transform = getattr(_fft, name)

    @functools.wraps(transform)
    def compute(chunk: Any, n: Any = None, axis: Any = None, norm: Any = None) -> Any:
        axis = -1 if axis is None else axis
        return with_room(lambda: chunk_of(transform(on_device(chunk), n, axis, norm)))

    return _Named(name, compute)


@entry_point
class _Named:
    """A transform that travels by its name."""

    def __init__(self, name: str, compute: Callable[..., Any]) -> None:
        self.name = self.__name__ = name
        self.compute = compute
        self.__doc__ = compute.__doc__
        self.__module__ = "vkamp.fft"

    def __reduce__(self) -> Any:
        return _chunk_function, (self.name,)

    def __dask_tokenize__(self) -> Any:
        return "vkamp.dask.fft", self.name

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.compute(*args, **named)


def _transform(name: str, x: Any, n: int | None, axis: int, norm: str | None) -> da.Array:
    if not isinstance(x, da.Array):
        raise TypeError(f"vkamp.dask.{name} takes a Dask array, got {type(x).__name__}: use da.from_array")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis={axis} is out of range for an array of {x.ndim} dimensions")
    wide = x.dtype in (np.float64, np.complex128)
    kind: Any = (np.float64 if wide else np.float32) if name == "irfft" else (np.complex128 if wide else np.complex64)
    axis %= x.ndim
    whole = x.rechunk({axis: -1})
    return da.fft.fft_wrap(_chunk_function(name), kind=name, dtype=np.dtype(kind))(whole, n, axis, norm)


@entry_point
def fft(x: da.Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> da.Array:
    """The discrete Fourier transform along an axis, which becomes one block (Dask: ``fft.fft``); complex64, or
    complex128 of float64 and complex128."""
    return _transform("fft", x, n, axis, norm)


@entry_point
def ifft(x: da.Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> da.Array:
    """The inverse of :func:`fft`."""
    return _transform("ifft", x, n, axis, norm)


@entry_point
def rfft(x: da.Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> da.Array:
    """The transform of real elements along an axis: the first half of the frequencies."""
    return _transform("rfft", x, n, axis, norm)


@entry_point
def irfft(x: da.Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> da.Array:
    """The inverse of :func:`rfft`."""
    return _transform("irfft", x, n, axis, norm)


@entry_point
def matmul(a: da.Array, b: da.Array) -> da.Array:
    """The matrix product by blocks (Dask: ``matmul``): products of blocks on their workers, and a tree of their sums.

    TypeError for arrays of different element types.
    """
    for each in (a, b):
        if not isinstance(each, da.Array):
            raise TypeError(f"vkamp.dask.matmul takes Dask arrays, got {type(each).__name__}: use da.from_array")
    if a.dtype != b.dtype:
        raise TypeError(f"matmul takes matrices of one type, not {a.dtype} and {b.dtype}: use astype")
    if a.ndim == b.ndim == 2 and a.numblocks[1] == b.numblocks[0] == 1:
        # Dask's graph would copy each block of the result twice.
        meta = np.empty((0, 0), a.dtype)
        return da.blockwise(_product, "ik", a, "ij", b, "jk", dtype=a.dtype, meta=meta, concatenate=True)
    return da.matmul(to_device(a), to_device(b))


@entry_point
def _product(a: Any, b: Any) -> Any:
    return with_room(lambda: chunk_of(linalg.matmul(on_device(a), on_device(b))))
