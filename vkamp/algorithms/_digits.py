"""Keys as unsigned integers in the same order, and their digits, for sorting by bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import dtype_of, is_float_of_memory


@amp.func
def _of_signed(x: Any) -> Any:
    return amp.asuint(amp.int32(x)) ^ amp.uint32(0x80000000)


@amp.func
def _of_unsigned(x: Any) -> Any:
    return amp.uint32(x)


@amp.func
def _of_float(x: Any) -> Any:
    return _of_float_bits(amp.asuint(amp.float32(x)))


@amp.func
def _of_signed_bits(bits: Any) -> Any:
    return bits ^ amp.uint32(0x80000000)


@amp.func
def _of_float_bits(bits: Any) -> Any:
    """NaN is the largest number, and the two zeros are equal."""
    if (bits << 1) > amp.uint32(0xFF000000):
        bits = amp.uint32(0x7FFFFFFF)
    if (bits << 1) == 0:
        bits = amp.uint32(0)
    return ~bits if bits >> 31 != 0 else bits | amp.uint32(0x80000000)


@amp.func
def _low_word(x: Any) -> Any:
    return x.x


@amp.func
def _high_word_of_unsigned(x: Any) -> Any:
    return x.y


@amp.func
def _high_word_of_signed(x: Any) -> Any:
    return x.y ^ amp.uint32(0x80000000)


@amp.func
def _double(x: Any) -> Any:
    """The two words of a float64, as those of an unsigned integer in the same order."""
    high = x.y & amp.uint32(0x7FFFFFFF)
    if high > 0x7FF00000 or (high == 0x7FF00000 and x.x != 0):
        return amp.uint2(0xFFFFFFFF, 0xFFFFFFFF)
    if high == 0 and x.x == 0:
        return amp.uint2(0, 0x80000000)
    return amp.uint2(~x.x, ~x.y) if x.y >> 31 != 0 else amp.uint2(x.x, x.y | amp.uint32(0x80000000))


@amp.func
def _low_word_of_float(x: Any) -> Any:
    return _double(x).x


@amp.func
def _high_word_of_float(x: Any) -> Any:
    return _double(x).y


_WORDS = {
    "i": (_low_word, _high_word_of_signed),
    "u": (_low_word, _high_word_of_unsigned),
    "f": (_low_word_of_float, _high_word_of_float),
}
_MAPS = {"i": _of_signed, "u": _of_unsigned, "f": _of_float}
_BIT_MAPS = {"i": _of_signed_bits, "u": _of_unsigned, "f": _of_float_bits}


class Digits:
    """The digits of uint32 keys; ``flip``: the bits to invert, for the descending order."""

    __slots__ = ("flip", "word")

    def __init__(self, word: Any, descending: bool) -> None:
        self.word, self.flip = word, np.uint32(0xFFFFFFFF if descending else 0)

    @amp.func
    def of(self, key: Any, shift: Any) -> Any:
        """The digit of eight bits from a bit on."""
        return amp.int32(((self.word(key) ^ self.flip) >> shift) & 255)


class WideDigits:
    """As :class:`Digits`, of keys of two words."""

    __slots__ = ("flip", "high", "low")

    def __init__(self, low: Any, high: Any, descending: bool) -> None:
        self.low, self.high, self.flip = low, high, np.uint32(0xFFFFFFFF if descending else 0)

    @amp.func
    def of(self, key: Any, shift: Any) -> Any:
        """The digit of eight bits from a bit on."""
        word = self.high(key) if shift >= 32 else self.low(key)
        return amp.int32(((word ^ self.flip) >> (shift & 31)) & 255)


def wide_keys(source: lazy.Lazy) -> lazy.Lazy:
    """Keys of 64 bits as two words; TypeError where they are not in memory, or have gaps."""
    dtype = dtype_of(source)
    if not isinstance(source, lazy.Elements):
        raise TypeError(f"store the {dtype} keys in an array first (algorithms.copy)")
    try:
        return lazy.Elements(source.values.reinterpret_as(amp.uint2))
    except amp.AmpError:
        raise TypeError(f"{dtype} keys must be stored without gaps: copy them to an array first") from None


def _refuse_structs(dtype: np.dtype[Any]) -> None:
    if dtype.names is not None:
        raise TypeError(f"elements of type {dtype} have no order: give less= or key=")


def words_of(source: lazy.Lazy) -> list[tuple[lazy.Lazy, int]]:
    """The keys of a source as uint32 words, the lowest first, each with the number of its bits."""
    dtype = dtype_of(source)
    _refuse_structs(dtype)
    if dtype.itemsize == 8:
        words = wide_keys(source)
        return [(lazy.map(each, words), 32) for each in _WORDS[dtype.kind]]
    kind = "f" if is_float_of_memory(dtype) else dtype.kind
    bits = 32 if kind in "if" else 8 * dtype.itemsize
    return [(lazy.map(_MAPS[kind], source), bits)]


def digits_of(source: lazy.Lazy, descending: bool) -> tuple[lazy.Lazy, Any, int]:
    """The keys of a source as one or two words, their digits, and the number of their bits.

    Keys of 32 and 64 bits in memory are their own bits; of others the words are computed, in the order of the keys.
    """
    dtype = dtype_of(source)
    _refuse_structs(dtype)
    if dtype.itemsize == 8:
        return wide_keys(source), WideDigits(*_WORDS[dtype.kind], descending), 64
    bits = bits_of(source) if dtype.itemsize == 4 else None
    if bits is not None:
        return bits, Digits(_BIT_MAPS[dtype.kind], descending), 32
    [(words, many)] = words_of(source)
    return words, Digits(_of_unsigned, descending), many


def bits_of(source: lazy.Lazy) -> lazy.Lazy | None:
    """Elements of 4 or 8 bytes as one or two words; None for others, and if they have gaps."""
    if not isinstance(source, lazy.Elements):
        return None
    found = words_in(source.values)
    return None if found is None else lazy.Elements(found)


def words_in(values: Any) -> Any:
    """A container of numbers of 4 or 8 bytes as one of uint32 or uint2; None if it is no such container."""
    dtype = values.dtype
    if dtype.names is not None or dtype.itemsize not in (4, 8):
        return None
    try:
        return values.reinterpret_as(amp.uint32 if dtype.itemsize == 4 else amp.uint2)
    except amp.AmpError:
        return None


def passes(view: amp.accelerator_view, bits: int, out: Any, moved: Any) -> Iterator[tuple[int, Any, Any]]:
    """The first bit of each pass, and where it stores keys and values: in turn in new arrays and in the results.

    ``moved`` is None if there are no values; the keys' target takes the place of theirs.
    """
    count = -(-bits // 8)
    results = out, out if moved is None else moved
    if count > 1:
        spare = amp.array(out.extent, out.dtype, accelerator_view=view)
        other = spare if moved is None else amp.array(moved.extent, moved.dtype, accelerator_view=view)
    for k in range(count):
        yield (8 * k, *(results if (count - 1 - k) % 2 == 0 else (spare, other)))
