"""Sorts of the lines of one length that follow each other: the rows of a matrix.

All lines are sorted together, in the passes of one radix sort: by the elements, and then, stably, by the lines. There
are few passes for the lines, since their number has few bits. Elements of 32 bits move together with the number of
their line; of others, positions do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy, radix_sort
from vkamp.algorithms._arguments import dtype_of
from vkamp.algorithms._digits import bits_of, of_bits, words_in
from vkamp.algorithms.transform import store


class OfLength:
    """The line of a position."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        self.length = length

    @amp.func
    def __call__(self, i: Any) -> Any:
        return i // self.length


class _InLine:
    """The position in its line."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        self.length = length

    @amp.func
    def __call__(self, i: Any) -> Any:
        return i % self.length


class _WithLine:
    """For ``lazy.At``: a word and the number of its line."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        self.length = length

    @amp.func
    def __call__(self, words: Any, i: Any) -> Any:
        return amp.uint2(words.value(i), amp.uint32(i // self.length))


class _DigitsWithLine:
    """The digits of words with their lines; ``flip``: the bits of the words to invert, for the descending order."""

    __slots__ = ("flip", "word")

    def __init__(self, word: Any, descending: bool) -> None:
        self.word, self.flip = word, np.uint32(0xFFFFFFFF if descending else 0)

    @amp.func
    def of(self, key: Any, shift: Any) -> Any:
        """The digit of eight bits that begins at a bit."""
        word = key.y if shift >= 32 else self.word(key.x) ^ self.flip
        return amp.int32((word >> (shift & 31)) & 255)


@amp.func
def _word(key: Any) -> Any:
    return key.x


def _bits_for(lines: int) -> int:
    return (lines - 1).bit_length()


def sort_words(view: amp.accelerator_view, source: lazy.Lazy, length: int, descending: bool, out: Any) -> bool:
    """Stores the sorted lines in ``out``, which may be the source; False if the elements have no 32 bits, or gaps."""
    words, target, n = bits_of(source), words_in(out), source.extent[0]
    if words is None or target is None or dtype_of(source) != out.dtype or out.dtype.itemsize != 4:
        return False
    keys = lazy.At(_WithLine(length), words)
    digits = _DigitsWithLine(of_bits(out.dtype), descending)
    ordered = amp.array(amp.extent(n), amp.uint2, accelerator_view=view)
    passed = range(0, 32 + _bits_for(n // length), 8)
    radix_sort.sort_pairs(view, keys, None, digits, passed, ordered, None)
    store(view, lazy.map(_word, ordered), target)
    return True


def by_segments(view: amp.accelerator_view, order: Any, numbers: lazy.Lazy, many: int) -> Any:
    """The positions ``order``, sorted stably by ``numbers`` below ``many`` of these positions."""
    # Stored, because a pass would gather them twice. By whole digits, so that other sorts have the same kernel.
    keys = amp.array(order.extent, dtype_of(numbers), accelerator_view=view)
    store(view, lazy.take(numbers, order), keys)
    bits = 0, -(-_bits_for(many) // 8) * 8
    return radix_sort.order_of(view, lazy.Elements(keys), False, bits, lazy.Elements(order))


def order_in_lines(view: amp.accelerator_view, order: Any, length: int) -> Any:
    """The positions of all elements in their order, as the positions of each line after the other."""
    n = order.extent[0]
    return by_segments(view, order, lazy.map(OfLength(length), lazy.arange(n)), n // length)


def along_lines(view: amp.accelerator_view, order: Any, length: int, out: Any) -> None:
    """Stores positions as positions in their lines."""
    store(view, lazy.map(_InLine(length), order), out)
