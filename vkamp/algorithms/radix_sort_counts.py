"""Counts of the digits of all keys in one launch, for the radix sort of GPUs."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,arg-type,operator,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms.histogram_tiles import total_of, use_block
from vkamp.algorithms.radix_sort_ranks import DIGITS

#: Of the tiles that count: threads, steps of four elements, tiles at most, and the counters of all digits.
_COUNTERS, _QUADS, _COUNTING, _ALL = 512, 4, 1056, 8192


@amp.kernel
def clear(idx, words):
    """Sets the counts and the tickets to 0."""
    words[idx] = 0


@amp.kernel
def count_all_digits(
    t_idx, keys, words, status, n, length, shift, digits, *, many: amp.constant, quads: amp.constant,
    copies: amp.constant,
):  # fmt: skip
    """Adds the digits of ``length`` keys to the counts of all passes; clears a part of the status.

    As in ``histogram_tiles``, there are several counters for each digit.
    """
    threads = t_idx.tile_dim0
    own = amp.tile_static(many * DIGITS * copies, amp.int32)
    for d in range(t_idx.local[0], many * DIGITS * copies, threads):
        own[d] = 0
    for at in range(t_idx.global_[0], status.extent[0], threads * (1 + (n - 1) // length)):
        status[at] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    copy = t_idx.local[0] & (copies - 1)
    begin = t_idx.tile[0] * length

    def count(key):
        for p in amp.static_range(many):
            amp.atomic_fetch_add(own[(p * DIGITS + digits.of(key, shift + 8 * p)) * copies + copy], 1)

    use_block(t_idx, keys, begin, begin + min(length, n - begin), count, quads=quads)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for d in range(t_idx.local[0], many * DIGITS, threads):
        total = total_of(own, d, copies=copies)
        if total > 0:
            amp.atomic_fetch_add(words[d], amp.uint32(total))


@amp.kernel
def begin_digits(t_idx, words):
    """Replaces the counts of each pass by the places of the first key of each digit."""
    at = t_idx.global_[0]
    count = words[at]
    words[at] = tile.exclusive_scan(t_idx, count, functional.plus, amp.uint32(0))[0]


def words_for(view: amp.accelerator_view, bits: range) -> Any:
    """The array that :func:`begins_of_digits` fills."""
    return amp.array(amp.extent(len(bits) * (DIGITS + 1)), np.uint32, accelerator_view=view)


def begins_of_digits(
    view: amp.accelerator_view, keys: lazy.Lazy, digits: Any, bits: range, words: Any, status: Any
) -> None:
    """Stores the places of the first keys of each pass's digits, and then a 0 for each pass; sets ``status`` to 0."""
    n, many = keys.extent[0], len(bits)
    limits = view.accelerator.limits
    counters = _COUNTERS if limits is None else min(_COUNTERS, limits.tile_threads)
    split = _choose.blocks(n, counters * _QUADS * 4, _COUNTING)
    copies = max(1 << (_ALL // (many * DIGITS)).bit_length() - 1, 1)
    amp.parallel_for_each(view, words.extent, clear, words)
    amp.parallel_for_each(
        view, amp.extent(split.pieces * counters).tile(counters), count_all_digits, keys.flat(), words, status, n,
        split.length, bits.start, digits, many=many, quads=_QUADS, copies=copies,
    )  # fmt: skip
    amp.parallel_for_each(view, amp.extent(many * DIGITS).tile(DIGITS), begin_digits, words)
