"""Keys as unsigned integers with the same order, and the digits of these, for sorting by bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    """The bits of a float as an integer with the same order. NaN is the largest number; the two zeros are equal."""
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
    """The two words of a float64 as those of an unsigned integer with the same order."""
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


_ALL = 0xFFFFFFFF


class _Masked:
    """Some bits of a key; the others are 0."""

    __slots__ = ("mask", "word")

    def __init__(self, word: Any, mask: int) -> None:
        self.word, self.mask = word, np.uint32(mask)

    @amp.func
    def __call__(self, x: Any) -> Any:
        return self.word(x) & self.mask


def _masked(word: Any, mask: int) -> Any:
    return word if mask == _ALL else _Masked(word, mask)


class _OfSmallSigned:
    """A signed number of few bits as an unsigned one with the same order."""

    __slots__ = ("sign",)

    def __init__(self, bits: int) -> None:
        self.sign = np.uint32(1 << bits - 1)

    @amp.func
    def __call__(self, x: Any) -> Any:
        return amp.asuint(amp.int32(x)) + self.sign


class Digits:
    """The digits of uint32 keys.

    ``flip``: the bits to invert, for the descending order; ``mask``: the bits that count.
    """

    __slots__ = ("flip", "word")

    def __init__(self, word: Any, descending: bool, mask: int = _ALL) -> None:
        self.word, self.flip = _masked(word, mask), np.uint32(mask if descending else 0)

    @amp.func
    def of(self, key: Any, shift: Any) -> Any:
        """The digit of eight bits that begins at a bit."""
        return amp.int32(((self.word(key) ^ self.flip) >> shift) & 255)


class WideDigits:
    """The digits of keys of two words, as :class:`Digits`."""

    __slots__ = ("flip", "high", "low")

    def __init__(self, low: Any, high: Any, descending: bool, mask: int = (1 << 64) - 1) -> None:
        self.low, self.high = _masked(low, mask & _ALL), _masked(high, mask >> 32)
        self.flip = np.uint32(_ALL if descending else 0)

    @amp.func
    def of(self, key: Any, shift: Any) -> Any:
        """The digit of eight bits that begins at a bit."""
        word = self.high(key) if shift >= 32 else self.low(key)
        return amp.int32(((word ^ self.flip) >> (shift & 31)) & 255)


def wide_keys(source: lazy.Lazy) -> lazy.Lazy:
    """Keys of 64 bits, stored without gaps, as two words."""
    found = bits_of(source)
    assert found is not None
    return found


def of_bits(dtype: np.dtype[Any]) -> Any:
    """The function of the bits of a number of 32 bits that has the order of these numbers, as unsigned ones."""
    return _BIT_MAPS[dtype.kind]


def _refuse_structs(dtype: np.dtype[Any]) -> None:
    if dtype.names is not None:
        raise TypeError(f"elements of type {dtype} have no order: give less= or key=")


def words_of(source: lazy.Lazy) -> list[tuple[lazy.Lazy, int]]:
    """The keys of a source as uint32 words, the lowest one first, each with the number of its bits that count."""
    dtype = dtype_of(source)
    _refuse_structs(dtype)
    kind = "f" if is_float_of_memory(dtype) else dtype.kind
    bits = 32 if kind == "f" else 8 * dtype.itemsize
    return [(lazy.map(_OfSmallSigned(bits) if kind == "i" and bits < 32 else _MAPS[kind], source), bits)]


def digits_of(source: lazy.Lazy, descending: bool, bits: tuple[int, int] | None = None) -> tuple[lazy.Lazy, Any, range]:
    """The keys of a source as one or two words, their digits, and the first bit of each digit.

    Keys of 32 and 64 bits in memory are used as they are, and digits are computed from their bits. Other keys are first
    converted to words with the same order. ``bits``: only these bits count, from the first to the one before the
    second.
    """
    dtype = dtype_of(source)
    _refuse_structs(dtype)
    if bits is not None:
        return _some_digits_of(source, dtype, descending, *_checked(bits, dtype))
    if dtype.itemsize == 8:
        return wide_keys(source), WideDigits(*_WORDS[dtype.kind], descending), range(0, 64, 8)
    own = bits_of(source) if dtype.itemsize == 4 else None
    if own is not None:
        return own, Digits(_BIT_MAPS[dtype.kind], descending), range(0, 32, 8)
    [(words, many)] = words_of(source)
    return words, Digits(_of_unsigned, descending), range(0, many, 8)


def _checked(bits: tuple[int, int], dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype.kind not in "iub":
        raise TypeError(f"bits= is for keys that are integers, not {dtype}")
    if not isinstance(bits, (tuple, list)) or len(bits) != 2:
        raise TypeError(f"bits is a pair, the first bit and the one after the last, not {bits!r}")
    first, end = bits
    if not 0 <= first <= end <= 8 * dtype.itemsize:
        raise ValueError(
            f"bits=({first}, {end}) is not a range of bits of {dtype}, which has {8 * dtype.itemsize} bits"
        )
    return first, end


def _some_digits_of(
    source: lazy.Lazy, dtype: np.dtype[Any], descending: bool, first: int, end: int
) -> tuple[lazy.Lazy, Any, range]:
    """Like ``digits_of``, for some bits: digits begin at multiples of eight bits, and bits that do not count are 0 in
    all keys.
    """
    mask, shifts = (1 << end) - (1 << first), range(first // 8 * 8, end if end > first else 0, 8)
    if first % 8 == end % 8 == 0:
        # Whole digits: with the kernels of sorts by all bits.
        mask = (1 << 8 * max(dtype.itemsize, 4)) - 1
    if dtype.itemsize == 8:
        return wide_keys(source), WideDigits(*_WORDS[dtype.kind], descending, mask), shifts
    if dtype.itemsize < 4:
        of_small = _OfSmallSigned(8 * dtype.itemsize) if dtype.kind == "i" else _of_unsigned
        return lazy.map(of_small, source), Digits(_of_unsigned, descending, mask), shifts
    own = bits_of(source)
    if own is not None:
        return own, Digits(_BIT_MAPS[dtype.kind], descending, mask), shifts
    [(words, _)] = words_of(source)
    return words, Digits(_of_unsigned, descending, mask), shifts


def bits_of(source: lazy.Lazy) -> lazy.Lazy | None:
    """Elements of 4 or 8 bytes as one or two words; ``None`` for other sizes, and for elements with gaps between
    them.
    """
    if not isinstance(source, lazy.Elements):
        return None
    found = words_in(source.values)
    return None if found is None else lazy.Elements(found)


def words_in(values: Any) -> Any:
    """A view of the numbers of a container, of 4 or 8 bytes, as uint32 or uint2; ``None`` for other containers."""
    dtype = values.dtype
    if dtype.names is not None or dtype.itemsize not in (4, 8):
        return None
    try:
        return values.reinterpret_as(amp.uint32 if dtype.itemsize == 4 else amp.uint2)
    except amp.AmpError:
        return None


@contextmanager
def in_two_words(row: Any, view: amp.accelerator_view) -> Iterator[Any]:
    """A row of numbers of 8 bytes as uint2. If its memory has gaps, this is an array that is copied back at the end."""
    words = words_in(row)
    if words is not None:
        yield words
    else:
        made = amp.array(row.extent, amp.uint2, accelerator_view=view)
        yield made
        amp.copy(made.reinterpret_as(row.dtype), row)


class Positions(lazy.Lazy):
    """The positions of keys, as uint32, to be moved with them."""

    __slots__ = ()

    @amp.func
    def value(self, i: Any) -> Any:
        """The position at a place."""
        return amp.uint32(i)


class Numbers(lazy.Elements):
    """Numbers of keys, as uint32, to be moved with them in place of their positions."""

    __slots__ = ()


def passes(view: amp.accelerator_view, bits: range, out: Any, moved: Any) -> Iterator[tuple[int, Any, Any]]:
    """Each of ``bits``, with the containers in which its pass stores keys and values.

    The passes store in new arrays and in the results alternately. If there are no values, ``moved`` is ``None``, and
    the keys' containers stand for those of the values.
    """
    count = len(bits)
    results = out, out if moved is None else moved
    if count > 1:
        spare = amp.array(out.extent, out.dtype, accelerator_view=view)
        other = spare if moved is None else amp.array(moved.extent, moved.dtype, accelerator_view=view)
    for k, first in enumerate(bits):
        yield (first, *(results if (count - 1 - k) % 2 == 0 else (spare, other)))
