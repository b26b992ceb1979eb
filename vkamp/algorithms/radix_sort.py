"""Sorting by the bits of numbers: a stable radix sort, eight bits in each pass, the lowest first.

Each run of elements counts its digits, a scan of all counts gives each run its places, and each run moves its elements
there in order (H. Hollerith's method; M. Zagha and G. Blelloch, *Radix Sort for Vector Multiprocessors*, 1991).  Of
numbers that are not unsigned integers, the bits are mapped so that their order is that of the numbers.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import dtype_of
from vkamp.algorithms.scan import scan_into

#: Values of a digit.
_DIGITS = 256


@amp.kernel
def count_digits(t_idx, keys, counts, n, length, shift):
    """Counts the digits of one run; ``counts[d, r]`` is how often run ``r`` has digit ``d``."""
    run = t_idx.global_[0]
    runs = counts.extent[0] // _DIGITS
    if run < runs:
        own = amp.private(_DIGITS, amp.int32)
        for d in range(_DIGITS):
            own[d] = 0
        first = run * length
        for i in range(first, first + min(length, n - first)):
            own[amp.int32((keys.value(i) >> shift) & (_DIGITS - 1))] += 1
        for d in range(_DIGITS):
            counts[d * runs + run] = own[d]


@amp.kernel
def move_keys(t_idx, keys, items, places, sorted_keys, sorted_items, n, length, shift):
    """Moves the keys and items of one run to their places."""
    run = t_idx.global_[0]
    runs = places.extent[0] // _DIGITS
    if run < runs:
        own = amp.private(_DIGITS, amp.int32)
        for d in range(_DIGITS):
            own[d] = places[d * runs + run]
        first = run * length
        for i in range(first, first + min(length, n - first)):
            key = keys.value(i)
            digit = amp.int32((key >> shift) & (_DIGITS - 1))
            at = own[digit]
            own[digit] = at + 1
            sorted_keys[at] = key
            sorted_items[at] = items.value(i)


@amp.func
def _of_signed(x: Any) -> Any:
    return amp.asuint(amp.int32(x)) ^ amp.uint32(0x80000000)


@amp.func
def _of_unsigned(x: Any) -> Any:
    return amp.uint32(x)


@amp.func
def _of_float(x: Any) -> Any:
    """NaN is the largest number, and the two zeros are equal."""
    number = amp.float32(x)
    bits = amp.asuint(number)
    if number != number:
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


def words_of(source: lazy.Lazy) -> list[tuple[lazy.Lazy, int]]:
    """The keys of a source as uint32 words, the lowest first, each with the number of its bits."""
    dtype = dtype_of(source)
    if dtype.names is not None:
        raise TypeError(f"elements of type {dtype} have no order: give less= or key=")
    if dtype.itemsize == 8:
        if not isinstance(source, lazy.Elements):
            raise TypeError(f"store the {dtype} keys in an array first (algorithms.copy)")
        try:
            words = lazy.Elements(source.values.reinterpret_as(amp.uint2))
        except amp.AmpError:
            raise TypeError(f"{dtype} keys must be stored without gaps: copy them to an array first") from None
        return [(lazy.map(each, words), 32) for each in _WORDS[dtype.kind]]
    bits = 32 if dtype.kind in "if" else 8 * dtype.itemsize
    return [(lazy.map(_MAPS[dtype.kind], source), bits)]


def order_of(view: amp.accelerator_view, keys: lazy.Lazy, descending: bool) -> Any:
    """The positions of the keys in their order, in a new array; equal keys keep their order."""
    items: lazy.Lazy = lazy.arange(keys.extent[0])
    for k, (word, bits) in enumerate(words_of(keys)):
        if k:
            word = lazy.take(word, items)
        if descending:
            word = lazy.map(functional.bit_not, word)
        items = lazy.Elements(_order_of_word(view, word, items, bits))
    return items.values  # type: ignore[attr-defined]


def _order_of_word(view: amp.accelerator_view, keys: lazy.Lazy, items: lazy.Lazy, bits: int) -> Any:
    n = keys.extent[0]
    split = _choose.runs(view, n)
    counts = amp.array(amp.extent(_DIGITS * split.pieces), np.int32, accelerator_view=view)
    domain = _choose.domain_of_runs(view, split)
    for shift in range(0, bits, 8):
        amp.parallel_for_each(view, domain, count_digits, keys, counts, n, split.length, shift)
        scan_into(view, lazy.Elements(counts), counts, functional.plus, inclusive=False, init=0)
        sorted_keys = amp.array(keys.extent, np.uint32, accelerator_view=view)
        sorted_items = amp.array(keys.extent, np.int32, accelerator_view=view)
        arguments = keys, items, counts, sorted_keys, sorted_items, n, split.length, shift
        amp.parallel_for_each(view, domain, move_keys, *arguments)
        keys, items = lazy.Elements(sorted_keys), lazy.Elements(sorted_items)
    return items.values  # type: ignore[attr-defined]
