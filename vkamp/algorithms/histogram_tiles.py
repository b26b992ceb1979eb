"""Counting on GPUs: tiles count in ``tile_static`` memory and add their counts to the result (CUB's method).

A tile has several adjacent counters for each bin. Neighbouring threads use different ones, which are in different banks
of the memory. So neither equal elements nor elements of different bins delay each other (V. Podlozhnyuk, *Histogram
Calculation in CUDA*, 2007).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def, call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy

#: The threads of a tile, how many groups of four elements each loads together, and the largest number of tiles.
TILE, QUADS, _TILES = 512, 4, 2112
#: The largest number of counters in a tile, and for one bin.
COUNTERS, _COPIES = 8192, 16
#: Larger numbers of bins do not fit into a tile's memory.
MOST = 4096


class Bytes(lazy.Elements):
    """The elements of a container of uint8 without gaps, which are loaded four at a time."""

    __slots__ = ("words",)

    def __init__(self, values: Any, words: Any) -> None:
        super().__init__(values)
        self.words = words

    def containers(self) -> list[Any]:
        return [self.values]

    def row(self) -> lazy.Lazy:
        return self

    @amp.func
    def four(self, k: Any) -> Any:
        """The elements ``4 * k`` to ``4 * k + 3``."""
        word = self.words[k]
        return amp.int32(word & 255), amp.int32(word >> 8 & 255), amp.int32(word >> 16 & 255), amp.int32(word >> 24)


def in_words(source: lazy.Lazy) -> lazy.Lazy:
    """The same elements; bytes are loaded four at a time where they have no gaps."""
    if not isinstance(source, lazy.Elements) or source.values.dtype != np.uint8 or source.extent[0] % 4:
        return source
    try:
        return Bytes(source.values, source.values.reinterpret_as(amp.uint32))
    except amp.AmpError:
        return source


@amp.func
def use_block(t_idx: Any, source: Any, begin: Any, end: Any, use: Any, *, quads: amp.constant) -> None:
    """Calls ``use`` with the elements from ``begin``, a multiple of four, to ``end``: each thread with some of them."""
    rank = t_idx.local[0]
    threads = t_idx.tile_dim0
    found = amp.private(4 * quads, type(source.value(0)))
    for first in range(begin // 4 + rank, end // 4, threads * quads):
        # All loads come first: an atomic operation would delay the next load until the last one has finished.
        for k in amp.static_range(quads):
            at = min(first + k * threads, end // 4 - 1)
            found[4 * k], found[4 * k + 1], found[4 * k + 2], found[4 * k + 3] = source.four(at)
        for k in amp.static_range(quads):
            if first + k * threads < end // 4:
                for j in amp.static_range(4):
                    use(found[4 * k + j])
    last = end // 4 * 4 + rank
    if last < end:
        use(source.value(last).copy())


@amp.func
def total_of(own: Any, b: Any, *, copies: amp.constant) -> Any:
    """The sum of the counters of a bin."""
    total = 0
    for k in range(copies):
        # Each thread begins in another bank.
        total += own[b * copies + (k + b & copies - 1)]
    return total


@amp.kernel
def count_tiles(
    t_idx, values, bin_of, counts, n, length, *, bins: amp.constant, copies: amp.constant, quads: amp.constant
):
    """Counts the bins of one block of ``length`` elements, and adds them to the counts.

    Elements outside of all bins are not counted.
    """
    own = amp.tile_static(bins * copies, amp.int32)
    rank = t_idx.local[0]
    threads = t_idx.tile_dim0
    for at in range(rank, bins * copies, threads):
        own[at] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    begin = t_idx.tile[0] * length
    copy = rank & (copies - 1)

    def count(x):
        b = bin_of(x)
        if b >= 0 and b < bins:
            amp.atomic_fetch_add(own[b * copies + copy], 1)

    use_block(t_idx, values, begin, min(begin + length, n), count, quads=quads)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for b in range(rank, bins, threads):
        total = total_of(own, b, copies=copies)
        if total > 0:
            amp.atomic_fetch_add(counts[b], total)


def add_counts(view: amp.accelerator_view, bins_of: lazy.Lazy, counts: Any) -> None:
    """Adds the number of times that each number from 0 on occurs among a source's int32 numbers."""
    n, bins = bins_of.extent[0], counts.extent[0]
    limits = view.accelerator.limits
    threads = TILE if limits is None else min(TILE, limits.tile_threads)
    copies = max(min(_COPIES, 1 << (COUNTERS // bins).bit_length() - 1 if bins <= COUNTERS else 1), 1)
    split = _choose.blocks(n, threads * QUADS * 4, _TILES)
    amp.parallel_for_each(
        view, amp.extent(split.pieces * threads).tile(threads), count_tiles, *lazy.parts(bins_of), counts, n,
        split.length, bins=bins, copies=copies, quads=QUADS,
    )  # fmt: skip
