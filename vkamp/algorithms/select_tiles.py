"""Selections on GPUs: tiles count their chosen elements, a scan gives each tile its place, and the tiles store them.

A tile collects the positions of its chosen elements in ``tile_static`` memory first, so that neighbouring threads store
to neighbouring places (CUB's ``DeviceSelect`` and ``DevicePartition``; M. Billeter, O. Olsson and U. Assarsson,
*Efficient Stream Compaction on Wide SIMD Many-Core Architectures*, 2009).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._blocks import TILE
from vkamp.algorithms.reduce import combine_pieces
from vkamp.algorithms.scan import scan_counts

#: Elements of a thread in each step of a tile: four times four neighbours.
QUADS = 4
STEP = TILE * QUADS * 4
#: The number of tiles in a launch: enough that a GPU is not half idle at the end, and few enough to scan quickly.
_TILES = 1 << 13


@amp.func
def load(
    marked: Any, first: Any, end: Any, own: Any, bits: Any, j: amp.constant, *, full: amp.constant
) -> None:  # fmt: skip
    """Four neighbours into the row ``j`` of ``own``, their flags as bits into ``bits``.

    Elements from ``end`` on, which there are none of if ``full``, are not chosen.
    """
    if full:
        p, q, r, s, a, b, c, d = marked.four(first // 4)
    else:
        # Any value takes the place of those that are missing.
        p, a = marked.value(min(first, end - 1))
        q, b = marked.value(min(first + 1, end - 1))
        r, c = marked.value(min(first + 2, end - 1))
        s, d = marked.value(min(first + 3, end - 1))
    flags = (1 if p != 0 else 0) | (2 if q != 0 else 0) | (4 if r != 0 else 0) | (8 if s != 0 else 0)
    # As many bits as there are elements.
    bits[j] = flags if full else flags & ((1 << min(max(end - first, 0), 4)) - 1)
    own[4 * j] = a
    own[4 * j + 1] = b
    own[4 * j + 2] = c
    own[4 * j + 3] = d


@amp.func
def packed(bits: Any) -> Any:
    """The numbers of bits set in four words, in 16 bits each."""
    low = amp.direct3d.countbits(amp.uint32(bits[0])) + (amp.direct3d.countbits(amp.uint32(bits[1])) << 16)
    high = amp.direct3d.countbits(amp.uint32(bits[2])) + (amp.direct3d.countbits(amp.uint32(bits[3])) << 16)
    return amp.uint2(low, high)


@amp.func
def of_row(packed: Any, j: Any) -> Any:
    word = packed.y if j >= 2 else packed.x
    return amp.int32(word >> 16 if j % 2 == 1 else word & 0xFFFF)


@amp.kernel
def select_tiles(
    t_idx, marked, before, out, begins, count, n, length, *,
    keeps_rest: amp.constant, has_begins: amp.constant, is_small: amp.constant,
):  # fmt: skip
    """Stores the chosen elements of one block, and with ``keeps_rest`` the others after all chosen ones.

    ``before[b]``: how many are chosen before block ``b``; its last element is their number.  ``begins`` gets their
    positions, if ``has_begins``.  The tile collects the elements, if they are small, or their positions.
    """
    rank, begin = t_idx.local[0], t_idx.tile[0] * length
    end = min(begin + length, n)
    _, some = marked.value(begin)
    own = amp.private(QUADS * 4, type(some))
    stage = amp.tile_static(STEP, type(some) if is_small else amp.int32)
    bits = amp.private(QUADS, amp.int32)
    chosen_before, chosen = before[t_idx.tile], before[before.extent[0] - 1]
    for start in range(begin, end, STEP):
        # Without a branch between them, all loads are on their way at the same time.
        if start + STEP <= end:
            for j in amp.static_range(QUADS):
                load(marked, start + (j * TILE + rank) * 4, end, own, bits, j, full=True)
        else:
            for j in amp.static_range(QUADS):
                load(marked, start + (j * TILE + rank) * 4, end, own, bits, j, full=False)
        _, upto, totals = tile.scan_of(t_idx, packed(bits), functional.plus, TILE)
        upto = amp.uint2(0, 0) if rank == 0 else upto
        many = of_row(totals, 0) + of_row(totals, 1) + of_row(totals, 2) + of_row(totals, 3)
        of_rows = 0
        for j in amp.static_range(QUADS):
            at = of_rows + of_row(upto, j)
            of_rows += of_row(totals, j)
            i = (j * TILE + rank) * 4
            # The others are in front of the element, except for the chosen ones.
            other = many + i - at
            for k in amp.static_range(4):
                if (bits[j] >> k) & 1 != 0:
                    stage[at] = own[4 * j + k] if is_small else start + i + k
                    at += 1
                elif keeps_rest:
                    if start + i + k < end:
                        stage[other] = own[4 * j + k] if is_small else start + i + k
                    other += 1
        t_idx.barrier.wait_with_tile_static_memory_fence()
        stored = min(end - start, STEP) if keeps_rest else many
        for j in amp.static_range(QUADS * 4):
            p = rank + j * TILE
            if p < stored:
                at = chosen_before + p if p < many else chosen + (start - chosen_before) + (p - many)
                if at < out.extent[0]:
                    if is_small:
                        out[at] = stage[p]
                    else:
                        _, x = marked.value(stage[p])
                        out[at] = x
                if has_begins:
                    begins[at] = stage[p]
        chosen_before += many
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.tile[0] == 0 and rank == 0:
        count[0] = chosen


def select_into(
    view: amp.accelerator_view, flags: lazy.Lazy, marked: lazy.Lazy, out: Any, count: Any, *,
    begins: Any = None, keeps_rest: bool = False,
) -> None:  # fmt: skip
    """Stores the chosen elements in ``out``, their number in ``count``, and their positions in ``begins``.

    ``marked`` has the flags and the elements.
    """
    n = flags.extent[0]
    split = _choose.blocks(n, STEP, _TILES)
    before = amp.array(amp.extent(split.pieces + 1), np.int32, accelerator_view=view)
    combine_pieces(view, flags, before, split, functional.plus)
    scan_counts(view, before)
    amp.parallel_for_each(
        view, amp.extent(split.pieces * TILE).tile(TILE), select_tiles, marked, before, out,
        before if begins is None else begins, count, n, split.length,
        keeps_rest=keeps_rest, has_begins=begins is not None,
        is_small=begins is None and out.dtype.itemsize <= 4,
    )  # fmt: skip
