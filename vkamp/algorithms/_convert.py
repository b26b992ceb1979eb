"""Conversions of elements as device functions, and 64-bit sums and products for devices that lack int64."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import computed_type, dtype_of


@amp.func
def _float16(x: Any) -> Any:
    return amp.float16(x)


@amp.func
def _float32(x: Any) -> Any:
    return amp.float32(x)


@amp.func
def _float64(x: Any) -> Any:
    return amp.float64(x)


@amp.func
def _int32(x: Any) -> Any:
    return amp.int32(x)


@amp.func
def _uint32(x: Any) -> Any:
    return amp.uint32(x)


@amp.func
def _int64(x: Any) -> Any:
    return amp.int64(x)


@amp.func
def _uint64(x: Any) -> Any:
    return amp.uint64(x)


@amp.func
def _complex64(x: Any) -> Any:
    return amp.complex64(x)


@amp.func
def _complex128(x: Any) -> Any:
    return amp.complex128(x)


#: The device function that converts to a dtype.
TO = {
    np.dtype(name): function
    for name, function in {
        "float16": _float16, "float32": _float32, "float64": _float64, "int32": _int32, "uint32": _uint32,
        "int64": _int64, "uint64": _uint64, "complex64": _complex64, "complex128": _complex128,
    }.items()
}  # fmt: skip


@amp.func
def widen_signed(x: Any) -> Any:
    """An int32 as the two words of an int64, the low one first."""
    return amp.uint2(amp.asuint(amp.int32(x)), amp.asuint(amp.int32(x) >> 31))


@amp.func
def widen_unsigned(x: Any) -> Any:
    """A uint32 as the two words of a uint64, the low one first."""
    return amp.uint2(amp.uint32(x), amp.uint32(0))


@amp.func
def add_wide(a: Any, b: Any) -> Any:
    """The sum of two integers of two words, modulo 2^64."""
    low = a.x + b.x
    return amp.uint2(low, a.y + b.y + (amp.uint32(1) if low < a.x else amp.uint32(0)))


@amp.func
def multiply_wide(a: Any, b: Any) -> Any:
    """The product of two integers of two words, modulo 2^64."""
    low, high = amp.mul_extended(a.x, b.x)
    return amp.uint2(low, high + a.x * b.y + a.y * b.x)


def sum_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """numpy's type of a sum or a product: integers in 64 bits, floats in their own type."""
    return np.add.reduce(np.zeros(1, dtype)).dtype if dtype.names is None else dtype


def sum_type_of(a: Any) -> np.dtype[Any]:
    """numpy's type of a sum or a product of an input's elements: int64 of conditions, which are stored as uint8."""
    return sum_type(np.dtype(np.bool_) if lazy.has_conditions(a) else dtype_of(lazy.of(a)))


def converted(source: lazy.Lazy, dtype: np.dtype[Any]) -> lazy.Lazy:
    """A source whose elements are converted to another type before the computation."""
    given = computed_type(source)
    if given == dtype:
        return source
    if given.kind == "c" and dtype.kind != "c":
        raise TypeError(f"{given} elements have no {dtype}: give their parts, such as lazy.map(lambda z: z.real, a)")
    if dtype not in TO:
        raise TypeError(f"elements are not computed in {dtype}: give one of {', '.join(map(str, TO))}")
    return lazy.map(TO[dtype], source)


def lacks(view: amp.accelerator_view, dtype: np.dtype[Any]) -> bool:
    """Whether a device lacks integers of a type, so that two words represent them."""
    return dtype.kind in "iu" and dtype.itemsize == 8 and "int64" not in view.accelerator.features


def widened(source: lazy.Lazy, view: amp.accelerator_view) -> lazy.Lazy:
    """Integers of up to 32 bits as two words. Raises UnsupportedFeatureError for integers of 64 bits."""
    given = computed_type(source)
    if given.itemsize == 8:
        raise amp.UnsupportedFeatureError(
            f"{view.accelerator.description} lacks {given}: give numbers of 32 bits, such as a.astype(np.int32)"
        )
    return lazy.map(widen_unsigned if given.kind == "u" else widen_signed, source)
