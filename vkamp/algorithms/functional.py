"""Operators for kernels and algorithms, like AMP Algorithms' functors (amp_algorithms.h) and C++'s ``<functional>``.

Each is an ``@amp.func``, which kernels, algorithms and plain Python can call. ``min`` and ``max`` propagate NaN as
numpy's ``minimum`` and ``maximum`` do; ``fmin`` and ``fmax`` prefer the number.
"""

# The names in this file are those of C++; some are also Python's.

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp

__all__ = [
    "bit_and", "bit_not", "bit_or", "bit_xor", "count_bits", "divides", "equal_to", "fmax", "fmin", "greater",
    "greater_equal", "identity", "is_bit_set", "is_power_of_two", "less", "less_equal", "log2", "logical_and",
    "logical_not", "logical_or", "max", "min", "minmax", "minus", "modulus", "multiplies", "negate", "not1", "not2",
    "not_equal_to", "pack_byte", "padded_read", "padded_write", "pair", "plus", "static_log2", "swap",
    "tile_partial_data_size", "truth", "unpack_byte",
]  # fmt: skip


@amp.func
def identity(x: Any) -> Any:
    """``x``."""
    return x


@amp.func
def plus(a: Any, b: Any) -> Any:
    """``a + b``."""
    return a + b


@amp.func
def minus(a: Any, b: Any) -> Any:
    """``a - b``."""
    return a - b


@amp.func
def multiplies(a: Any, b: Any) -> Any:
    """``a * b``."""
    return a * b


@amp.func
def divides(a: Any, b: Any) -> Any:
    """``a / b``."""
    return a / b


@amp.func
def modulus(a: Any, b: Any) -> Any:
    """``a % b``, with the divisor's sign."""
    return a % b


@amp.func
def negate(x: Any) -> Any:
    """``-x``."""
    return -x


@amp.func
def equal_to(a: Any, b: Any) -> Any:
    """``a == b``."""
    return a == b


@amp.func
def not_equal_to(a: Any, b: Any) -> Any:
    """``a != b``."""
    return a != b


@amp.func
def greater(a: Any, b: Any) -> Any:
    """``a > b``."""
    return a > b


@amp.func
def less(a: Any, b: Any) -> Any:
    """``a < b``."""
    return a < b


@amp.func
def greater_equal(a: Any, b: Any) -> Any:
    """``a >= b``."""
    return a >= b


@amp.func
def less_equal(a: Any, b: Any) -> Any:
    """``a <= b``."""
    return a <= b


@amp.func
def max(a: Any, b: Any) -> Any:
    """The larger one; NaN if one is NaN."""
    return a if a > b or a != a else b


@amp.func
def min(a: Any, b: Any) -> Any:
    """The smaller one; NaN if one is NaN."""
    return a if a < b or a != a else b


@amp.func
def fmax(a: Any, b: Any) -> Any:
    """The larger of two numbers; of a number and NaN, the number."""
    return a if a > b or b != b else b


@amp.func
def fmin(a: Any, b: Any) -> Any:
    """The smaller of two numbers; of a number and NaN, the number."""
    return a if a < b or b != b else b


@amp.func
def minmax(a: Any, b: Any, comp: Any = less) -> Any:
    """``(smaller, larger)`` by a comparison; ``(a, b)`` if they are equal."""
    return (b, a) if comp(b, a) else (a, b)


@amp.func
def truth(x: Any) -> Any:
    """Whether ``x`` is not zero."""
    return x != 0


@amp.func
def logical_and(a: Any, b: Any) -> Any:
    """Whether both are not zero."""
    return a != 0 and b != 0


@amp.func
def logical_or(a: Any, b: Any) -> Any:
    """Whether one of them is not zero."""
    return a != 0 or b != 0


@amp.func
def logical_not(x: Any) -> Any:
    """Whether ``x`` is zero."""
    return x == 0


@amp.func
def bit_and(a: Any, b: Any) -> Any:
    """``a & b``."""
    return a & b


@amp.func
def bit_or(a: Any, b: Any) -> Any:
    """``a | b``."""
    return a | b


@amp.func
def bit_xor(a: Any, b: Any) -> Any:
    """``a ^ b``."""
    return a ^ b


@amp.func
def bit_not(x: Any) -> Any:
    """``~x``."""
    return ~x


class not1:
    """The negation of a predicate of one argument."""

    __slots__ = ("predicate",)

    def __init__(self, predicate: Any) -> None:
        self.predicate = predicate

    @amp.func
    def __call__(self, x: Any) -> Any:
        return not self.predicate(x)


class not2:
    """The negation of a predicate of two arguments."""

    __slots__ = ("predicate",)

    def __init__(self, predicate: Any) -> None:
        self.predicate = predicate

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        return not self.predicate(a, b)


# -- helpers of AMP Algorithms -------------------------------------------------------------------------------------


@amp.func
def pair(a: Any, b: Any) -> Any:
    """``(a, b)``: kernels return and unpack tuples (AMP: ``pair``, ``make_pair``)."""
    return (a, b)


@amp.func
def swap(values: Any, i: Any, j: Any) -> None:
    """Exchanges two elements of a container, or of a private or ``tile_static`` array (AMP: ``swap``)."""
    x = values[i].copy()
    values[i] = values[j]
    values[j] = x


@amp.func
def padded_read(values: Any, i: Any) -> Any:
    """The element at an index of a container; 0 outside of it (AMP: ``padded_read``)."""
    if isinstance(values[i * 0], np.void):
        raise TypeError("padded_read reads numbers and vectors: for structs, ask values.extent.contains(i)")
    found = type(values[i * 0])(0)
    if values.extent.contains(i):
        found = values[i]
    return found


@amp.func
def padded_write(values: Any, i: Any, x: Any) -> None:
    """Stores an element at an index, but not outside of the container (AMP: ``padded_write``)."""
    if values.extent.contains(i):
        values[i] = x


@amp.func
def pack_byte(x: Any, k: Any) -> Any:
    """A number below 256 as byte ``k`` of a uint32, byte 0 being the lowest (AMP: ``pack_byte``)."""
    return (amp.uint32(x) & amp.uint32(0xFF)) << amp.uint32(8 * k)


@amp.func
def unpack_byte(x: Any, k: Any) -> Any:
    """Byte ``k`` of a uint32, byte 0 being the lowest (AMP: ``unpack_byte``)."""
    return (amp.uint32(x) >> amp.uint32(8 * k)) & amp.uint32(0xFF)


@amp.func
def is_bit_set(x: Any, k: Any) -> Any:
    """Whether bit ``k`` of an integer of up to 32 bits is set, bit 0 being the lowest (AMP: ``is_bit_set``)."""
    return (amp.uint32(x) >> amp.uint32(k)) & amp.uint32(1) != amp.uint32(0)


@amp.func
def count_bits(x: Any) -> Any:
    """How many bits of an integer of up to 32 bits are set, as a uint32 (AMP: ``count_bits``)."""
    return amp.direct3d.countbits(amp.uint32(x))


@amp.func
def is_power_of_two(x: Any) -> Any:
    """Whether one bit of an integer of up to 32 bits is set (AMP: ``is_power_of_two``)."""
    return amp.direct3d.countbits(amp.uint32(x)) == amp.uint32(1)


@amp.func
def log2(x: Any) -> Any:
    """The integer part of the base-2 logarithm of a positive integer of up to 32 bits, as an int32; -1 for 0 (AMP:
    ``log2``). Of floats: ``fast_math.log2``.
    """
    word = amp.uint32(x)
    return 31 if word >> amp.uint32(31) else amp.direct3d.firstbithigh(amp.int32(word))


def static_log2(n: int) -> int:
    """The integer part of the base-2 logarithm of a positive number, on the host, for shapes (AMP: ``static_log2``)."""
    if n < 1:
        raise ValueError(f"{n} has no logarithm")
    return n.bit_length() - 1


@amp.func
def tile_partial_data_size(values: Any, t_idx: Any) -> Any:
    """How many elements of a container of one dimension the tile has: fewer in the last tile (AMP's name)."""
    return min(t_idx.tile_extent[0], values.extent[0] - t_idx.tile[0] * t_idx.tile_extent[0])
