"""Sorts of short lines on GPUs in one launch: each tile sorts one line, or several, in ``tile_static`` memory.

This is K. Batcher's bitonic network (*Sorting Networks and Their Applications*, 1968).  A thread takes eight elements
whose positions differ in three bits, so that it compares three times before it stores them again.  Elements are
compared together with their positions in the line, which makes the sort stable.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._arguments import dtype_of
from vkamp.algorithms._digits import words_of

#: Positions that a thread takes at a time differ in this number of bits.
_BITS = 3
_ITEMS = 1 << _BITS
#: The threads of a tile for short lines and for the longest ones.
_FEW, _MANY = 256, 512
#: The longest line.
MOST = _MANY * _ITEMS


@amp.func
def _padded(at: Any) -> Any:
    """A place in memory with a gap after every 32 elements, which puts the elements of threads in different banks."""
    return at + (at >> 5)


@amp.func
def _compare(t_idx: Any, words: Any, places: Any, low: Any, stage: Any, stages: Any) -> None:
    """The comparisons of a stage between positions that differ in one of the three bits from ``low``."""
    rank = t_idx.local[0]
    first = (rank >> low << low + _BITS) | (rank & (1 << low) - 1)
    own = amp.private(_ITEMS, amp.uint32)
    own_places = amp.private(_ITEMS, amp.int32)
    for k in amp.static_range(_ITEMS):
        own[k] = words[_padded(first + (k << low))]
        own_places[k] = places[_padded(first + (k << low))]
    for done in amp.static_range(_BITS):
        bit = _BITS - 1 - done
        if low + bit < stage:
            for pair in amp.static_range(_ITEMS // 2):
                a = (pair >> bit << bit + 1) | (pair & (1 << bit) - 1)
                b = a + (1 << bit)
                goes_up = stage == stages or ((first + (a << low)) >> stage) & 1 == 0
                is_after = own[a] > own[b] or (own[a] == own[b] and own_places[a] > own_places[b])
                if is_after == goes_up:
                    word = own[a]
                    place = own_places[a]
                    own[a] = own[b]
                    own_places[a] = own_places[b]
                    own[b] = word
                    own_places[b] = place
    for k in amp.static_range(_ITEMS):
        words[_padded(first + (k << low))] = own[k]
        places[_padded(first + (k << low))] = own_places[k]
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.kernel
def sort_in_tiles(t_idx, words, source, out, lines, length, stages, most, flip, *, positions: amp.constant):
    """Stores the elements of each line in the order of their words, or with ``positions`` their positions in the line.

    A line has room for ``2**stages`` elements, and a tile for ``2**(most + 3)``.  ``flip``: the bits of the words to
    invert, for the descending order.
    """
    threads = t_idx.tile_dim0
    rank = t_idx.local[0]
    own = amp.tile_static(threads * _ITEMS + threads * _ITEMS // 32, amp.uint32)
    places = amp.tile_static(threads * _ITEMS + threads * _ITEMS // 32, amp.int32)
    first = t_idx.tile[0] * (threads * _ITEMS >> stages)
    found = amp.private(_ITEMS, out.dtype)
    for k in amp.static_range(_ITEMS):
        at = rank + k * threads
        line = first + (at >> stages)
        place = at & (1 << stages) - 1
        # Positions after the end of a line come after all others.
        word = amp.uint32(0xFFFFFFFF)
        if line < lines and place < length:
            word = words.value(line * length + place) ^ flip
        own[_padded(at)] = word
        places[_padded(at)] = place
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for stage in range(1, stages + 1):
        groups = (stage + _BITS - 1) // _BITS
        for group in range(groups):
            # The bits of a stage from the highest one.  Another comparison of the same two positions does nothing.
            _compare(t_idx, own, places, min((groups - 1 - group) * _BITS, most), stage, stages)
    for k in amp.static_range(_ITEMS):
        at = rank + k * threads
        line = first + (at >> stages)
        if line < lines and at & (1 << stages) - 1 < length:
            if positions:
                found[k] = places[_padded(at)]
            else:
                found[k] = source.value(line * length + places[_padded(at)])
    # The results may be the memory of the source.
    t_idx.barrier.wait_with_all_memory_fence()
    for k in amp.static_range(_ITEMS):
        at = rank + k * threads
        line = first + (at >> stages)
        place = at & (1 << stages) - 1
        if line < lines and place < length:
            out[line * length + place] = found[k]


def is_short(view: amp.accelerator_view, keys: lazy.Lazy, length: int) -> bool:
    """Whether lines of keys are sorted here."""
    dtype = dtype_of(keys)
    if dtype.names is not None or dtype.kind == "c" or dtype.itemsize > 4 or not 2 <= length <= MOST:
        return False
    return _choose.form_of(view) == "tiles" and _threads(view, length) * _ITEMS >= length


def _threads(view: amp.accelerator_view, length: int) -> int:
    """As many as a device has for a tile, if all elements of that tile fit into its memory."""
    limits = view.accelerator.limits
    wanted = _FEW if length <= _FEW * _ITEMS else _MANY
    if limits is None:
        return wanted
    fit = min(limits.tile_threads, limits.shared_bytes // (9 * _ITEMS))
    return min(wanted, 1 << fit.bit_length() - 1)


def sort(
    view: amp.accelerator_view, keys: lazy.Lazy, source: lazy.Lazy, length: int, descending: bool, out: Any,
    *, positions: bool = False,
) -> None:  # fmt: skip
    """Stores the elements of each line in the order of their keys, or the positions of these, for :func:`is_short`.

    ``out`` may be the memory of the source.
    """
    [(words, _)] = words_of(keys)
    threads, lines, stages = _threads(view, length), keys.extent[0] // length, (length - 1).bit_length()
    tiles = -(-lines // (threads * _ITEMS >> stages))
    flip = np.uint32(0xFFFFFFFF if descending else 0)
    amp.parallel_for_each(
        view, amp.extent(tiles * threads).tile(threads), sort_in_tiles, words, source, out, lines, length, stages,
        threads.bit_length() - 1, flip, positions=positions,
    )  # fmt: skip
