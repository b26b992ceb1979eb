"""Prefix sums in three launches, for GPUs, with the same order of the operations in every run.

Tiles combine blocks, one tile scans the blocks' totals, and tiles scan their blocks, one part after the other, each as
:mod:`vkamp.algorithms.scan_chained` does (G. Blelloch, *Prefix Sums and Their Applications*, 1990).
"""

# Kernels have untyped parameters; mypy takes `amp.constant` for a class of values.
# mypy: disable-error-code="no-untyped-def,arg-type"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._outputs import output_of
from vkamp.algorithms.reduce import combine_pieces
from vkamp.algorithms.scan_chained import scan_tile

#: Threads of a tile, rows of four elements for each, and the largest number of blocks.
TILE, ROWS, BLOCKS = 512, 4, 4096
#: The totals that a thread scans, and the threads of the tile that scans them.
TOTALS, THREADS = 8, 512


@amp.kernel
def scan_totals_of_blocks(t_idx, totals, op):
    """Replaces the total of each block by that of all blocks up to it, by one tile."""
    n = totals.extent[0]
    x = amp.private(TOTALS, type(totals[0]))
    for k in amp.static_range(TOTALS):
        x[k] = totals[min(t_idx.local[0] * TOTALS + k, n - 1)]
    t_idx.barrier.wait_with_global_memory_fence()
    upto, _ = tile.inclusive_scan(t_idx, x, op, n)
    for k in amp.static_range(TOTALS):
        if t_idx.local[0] * TOTALS + k < n:
            totals[t_idx.local[0] * TOTALS + k] = upto[k]


@amp.kernel
def scan_blocks(
    t_idx, source, out, before, n, length, init, op, *,
    rows: amp.constant, inclusive: amp.constant, has_init: amp.constant,
):  # fmt: skip
    """Scans one block; ``before``: the total of all blocks up to each."""
    items = t_idx.tile_dim0 * rows * 4
    begin = t_idx.tile[0] * length
    carried = amp.private(1, type(init))
    carried[0] = before[max(t_idx.tile[0] - 1, 0)]
    for start in range(begin, min(begin + length, n), items):
        total = scan_tile(
            t_idx, source, out, n, init, op, start // items, lambda total, parts: carried[0].copy(),
            rows=rows, inclusive=inclusive, has_init=has_init,
        )  # fmt: skip
        carried[0] = op(carried[0], total) if start > 0 else total.copy()


def scan_blocks_into(
    view: amp.accelerator_view, source: lazy.Lazy, out: Any, op: Any, *, inclusive: bool, init: Any, has_init: bool
) -> None:  # fmt: skip
    """Scans a source with one index into ``out``."""
    n = source.extent[0]
    split = _choose.blocks(n, TILE * ROWS * 4, min(BLOCKS, TOTALS * THREADS))
    totals = amp.array(amp.extent(split.pieces), lazy.computed_as(out.dtype), accelerator_view=view)
    if split.pieces > 1:
        combine_pieces(view, source, totals, split, op)
        amp.parallel_for_each(view, amp.extent(THREADS).tile(THREADS), scan_totals_of_blocks, totals, op)
    amp.parallel_for_each(
        view, amp.extent(split.pieces * TILE).tile(TILE), scan_blocks, source, output_of(out), totals, n, split.length,
        init, op, rows=ROWS, inclusive=inclusive, has_init=has_init,
    )  # fmt: skip
