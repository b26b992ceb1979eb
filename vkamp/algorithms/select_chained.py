"""Selections in one launch, for GPUs: each element is read once, and each chosen one written once.

A tile counts its chosen elements, the carry gives how many tiles before it have chosen, and the tile stores its own
(CUB's ``DeviceSelect``; see :mod:`vkamp.tile.carry`).  The places of elements that are not chosen depend on the number
of all chosen ones, so partitions need two launches (:mod:`vkamp.algorithms.select_tiles`).
"""

# Kernels have untyped parameters; mypy takes `amp.constant` for a class of values.
# mypy: disable-error-code="no-untyped-def,arg-type,operator,assignment"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._blocks import TILE
from vkamp.algorithms.scan_chained import has_features, reset_by_the_last, status_of
from vkamp.algorithms.select_tiles import QUADS, STEP, load, of_row, packed
from vkamp.tile.carry import carry, ticket


@amp.func
def _chosen_in(t_idx: Any, marked: Any, n: Any, number: Any) -> Any:
    """How many elements of a tile are chosen."""
    own = 0
    for j in amp.static_range(QUADS):
        bits, _, _, _, _ = load(marked, number * STEP + (j * TILE + t_idx.local[0]) * 4, n)
        own += amp.int32(amp.direct3d.countbits(amp.uint32(bits)))
    return tile.reduce(t_idx, own, functional.plus, TILE)


@amp.kernel
def chained_select(
    t_idx, marked, counters, status, out, begins, count, n, *,
    has_begins: amp.constant, is_small: amp.constant,
):  # fmt: skip
    """Stores the chosen ones of ``n`` elements; ``counters`` and ``status`` are 0 before it and behind it.

    ``begins`` gets their positions, if ``has_begins``.  The tile collects the elements, if they are small, or their
    positions.
    """
    number = ticket(t_idx, counters)
    rank = t_idx.local[0]
    begin = number * STEP
    _, some = marked.value(begin)
    own = amp.private(QUADS * 4, type(some))
    stage = amp.tile_static(STEP, type(some) if is_small else amp.int32)
    bits = amp.private(QUADS, amp.int32)
    for j in amp.static_range(QUADS):
        bits[j], own[4 * j], own[4 * j + 1], own[4 * j + 2], own[4 * j + 3] = load(
            marked, begin + (j * TILE + rank) * 4, n
        )
    _, upto, totals = tile.scan_of(t_idx, packed(bits), functional.plus, TILE)
    if rank == 0:
        upto = amp.uint2(0, 0)
    of_rows = 0
    for j in amp.static_range(QUADS):
        at = of_rows + of_row(upto, j)
        of_rows += of_row(totals, j)
        for k in amp.static_range(4):
            if (bits[j] >> k) & 1 != 0:
                stage[at] = own[4 * j + k] if is_small else begin + (j * TILE + rank) * 4 + k
                at += 1
    # The carry's barriers are behind the stores to the stage.
    before = carry(t_idx, status, number, of_rows, functional.plus, lambda m: _chosen_in(t_idx, marked, n, m))
    if number == 0:
        before = 0
    for j in amp.static_range(QUADS * 4):
        p = rank + j * TILE
        if p < of_rows:
            if before + p < out.extent[0]:
                if is_small:
                    out[before + p] = stage[p]
                else:
                    _, x = marked.value(stage[p])
                    out[before + p] = x
            if has_begins:
                begins[before + p] = stage[p]
    tiles = (n + STEP - 1) // STEP
    if rank == 0 and number == tiles - 1:
        count[0] = before + of_rows
    reset_by_the_last(t_idx, counters, status, tiles)


def can_chain(view: amp.accelerator_view) -> bool:
    """Whether a device can select in one launch; CPU drivers run few tiles at once."""
    return not view.accelerator.is_emulated and has_features(view)


def select_into(view: amp.accelerator_view, marked: lazy.Lazy, out: Any, count: Any, *, begins: Any = None) -> None:
    """Stores the chosen elements in ``out``, their number in ``count``, and their positions in ``begins``."""
    n = marked.extent[0]
    tiles = -(-n // STEP)
    counters, status = status_of(view, tiles)
    amp.parallel_for_each(
        view, amp.extent(tiles * TILE).tile(TILE), chained_select, marked, counters, status, out,
        counters if begins is None else begins, count, n,
        has_begins=begins is not None, is_small=begins is None and out.dtype.itemsize <= 4,
    )  # fmt: skip
