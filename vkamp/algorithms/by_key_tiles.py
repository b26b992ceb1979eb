"""Reductions and scans of runs of equal keys on GPUs, in blocks: the blocks' totals, a scan of these, and then the
runs.

The first pass loads all keys, and the values after the last head of a block. The second pass processes a block row by
row, with four elements for each thread. A scan of each row gives the number of each run and the value so far. (CUB's
``DeviceReduce::ReduceByKey``, but in passes, so that the order of the operations does not depend on scheduling.)
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,arg-type"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import value
from vkamp.algorithms._blocks import TILE, of_block
from vkamp.algorithms._outputs import output_of
from vkamp.algorithms.lazy import pair_of
from vkamp.algorithms.scan import scan_counts, scan_into
from vkamp.algorithms.scan_axis_tiles import Restarting

#: The elements that a thread reduces at a time, of 4 bytes and of more, and that a tile scans at a time.
ITEMS, FEW_ITEMS = 8, 4
ROW = TILE * 4
#: The rows of keys that a tile counts the heads of at a time.
ROWS = 4
#: The number of tiles in a launch: enough that a GPU is not half idle at the end, and few enough to scan quickly.
_TILES = 1 << 13


class Counting:
    """An operator on pairs of a value and a number of heads. The value restarts at a head."""

    __slots__ = ("op", "pair")

    def __init__(self, op: Any, pair: Any) -> None:
        self.op, self.pair = op, pair

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        first = b.first.copy()
        if b.second == 0:
            first = self.op(a.first, b.first)
        return self.pair(first, a.second + b.second)


@amp.func
def _four(source: Any, first: Any, end: Any, *, full: amp.constant) -> Any:
    """Four elements; positions after the end, which there are none of if ``full``, have an arbitrary element."""
    if full:
        a, b, c, d = source.four(first // 4)
    else:
        a = source.value(min(first, end - 1))
        b = source.value(min(first + 1, end - 1))
        c = source.value(min(first + 2, end - 1))
        d = source.value(min(first + 3, end - 1))
    return a, b, c, d


@amp.func
def _heads(before: Any, own: Any, at: Any, first: Any, end: Any, eq: Any, *, items: amp.constant) -> Any:
    """Which of a thread's ``items`` keys are the first ones of runs, as bits. Keys after the end are not.

    ``own`` has the keys from position ``at`` on; ``before`` is the key before them.
    """
    bits = 1 if first == 0 or not eq(before, own[at]) else 0
    for k in amp.static_range(1, items):
        bits |= 0 if eq(own[at + k - 1], own[at + k]) else 1 << k
    return bits & ((1 << min(max(end - first, 0), items)) - 1)


@amp.func
def _load(source: Any, first: Any, step: Any, end: Any, x: Any, *, full: amp.constant) -> None:
    """Four elements from ``first`` on, four from ``first + step`` on, and so on, until ``x`` is full."""
    for j in amp.static_range(len(x) // 4):
        x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3] = _four(source, first + j * step, end, full=full)


@amp.func
def _load_all(source: Any, first: Any, step: Any, end: Any, x: Any, is_full: Any) -> None:
    """Like ``_load``. Without a branch between them, all loads are on their way at the same time."""
    if is_full:
        _load(source, first, step, end, x, full=True)
    else:
        _load(source, first, step, end, x, full=False)


@amp.kernel
def block_totals(t_idx, keys, values, pairs, counts, n, length, eq, op):
    """The number of heads in each block, and the combination of its values from its last head on, or of all values
    if it has no head.
    """
    begin = t_idx.tile[0] * length
    end = min(begin + length, n)
    heads = amp.int32(0)
    last = -1
    own = amp.private(4 * ROWS, type(keys.value(0)))
    before = amp.private(ROWS, type(keys.value(0)))
    for start in range(begin, end, ROWS * ROW):
        for j in amp.static_range(ROWS):
            before[j] = keys.value(max(min(start + j * ROW + t_idx.local[0] * 4, end) - 1, 0))
        _load_all(keys, start + t_idx.local[0] * 4, ROW, end, own, start + ROWS * ROW <= end)
        for j in amp.static_range(ROWS):
            first = start + j * ROW + t_idx.local[0] * 4
            bits = _heads(before[j], own, 4 * j, first, end, eq, items=4)
            heads += amp.int32(amp.direct3d.countbits(amp.uint32(bits)))
            if bits != 0:
                last = first + (3 if bits >= 8 else 2 if bits >= 4 else 1 if bits >= 2 else 0)
    many = tile.reduce(t_idx, heads, functional.plus, TILE)
    at = tile.reduce(t_idx, last, functional.max, TILE)
    total = of_block(t_idx, values, max(at, begin), end, op, commutes=False)
    if t_idx.local[0] == 0:
        counts[t_idx.tile] = many
        pairs[t_idx.tile].first = total
        pairs[t_idx.tile].second = 1 if many > 0 else 0


@amp.kernel
def reduce_runs_of_blocks(
    t_idx, keys, values, pairs, before, keys_out, values_out, count, n, length, eq, op, counting, *, items: amp.constant
):  # fmt: skip
    """Stores the key and the combination of each run that begins in a block, or ends after one.

    ``pairs``: the value so far after each block. ``before``: the number of runs before it.
    """
    rank = t_idx.local[0]
    begin = t_idx.tile[0] * length
    end = min(begin + length, n)
    base = before[t_idx.tile]
    # The first block begins with a head.
    carry = pairs[max(t_idx.tile[0] - 1, 0)].first.copy()
    own = amp.private(items, type(keys.value(0)))
    x = amp.private(items, type(carry))
    key_stage = amp.tile_static(TILE * items, type(keys.value(0)))
    stage = amp.tile_static(TILE * items, type(carry))
    for start in range(begin, end, TILE * items):
        first = start + rank * items
        before_own = keys.value(max(min(first, end) - 1, 0)).copy()
        _load_all(keys, first, 4, end, own, start + TILE * items <= end)
        _load_all(values, first, 4, end, x, start + TILE * items <= end)
        bits = _heads(before_own, own, 0, first, end, eq, items=items)
        _, ahead, total = tile.scan_of(t_idx, _of_items(x, bits, op, counting), counting, TILE)
        upto = counting(counting.pair(carry, base), ahead)
        if rank == 0:
            upto = counting.pair(carry, base)
        run = upto.second
        so_far = upto.first.copy()
        for k in amp.static_range(items):
            if (bits >> k) & 1 != 0:
                key_stage[run - base] = own[k]
                stage[run - base] = so_far
                so_far = x[k].copy()
                run += 1
            else:
                so_far = op(so_far, x[k])
            if first + k == n - 1:
                count[0] = run
                if run - 1 < values_out.extent[0]:
                    values_out[run - 1] = so_far
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in amp.static_range(items):
            p = k * TILE + rank
            if p < total.second:
                if base + p < keys_out.extent[0]:
                    keys_out[base + p] = key_stage[p]
                # The run before a head ends there.
                if base + p > 0 and base + p - 1 < values_out.extent[0]:
                    values_out[base + p - 1] = stage[p]
        carry = op(carry, total.first) if total.second == 0 else total.first.copy()
        base += total.second


@amp.kernel
def scan_runs_of_blocks(
    t_idx, keys, values, pairs, out, n, length, init, eq, op, restarting,
    *, inclusive: amp.constant, has_init: amp.constant,
):  # fmt: skip
    """Scans the values of each run in one block; ``pairs``: the value so far after each block."""
    rank = t_idx.local[0]
    begin = t_idx.tile[0] * length
    end = min(begin + length, n)
    # The first block begins with a head.
    carry = pairs[max(t_idx.tile[0] - 1, 0)].first.copy()
    own = amp.private(4, type(keys.value(0)))
    x = amp.private(4, type(carry))
    for start in range(begin, end, ROW):
        first = start + rank * 4
        before = keys.value(max(min(first, end) - 1, 0)).copy()
        _load_all(keys, first, ROW, end, own, start + ROW <= end)
        _load_all(values, first, ROW, end, x, start + ROW <= end)
        bits = _heads(before, own, 0, first, end, eq, items=4)
        _, ahead, total = tile.scan_of(t_idx, _of_items(x, bits, op, restarting), restarting, TILE)
        so_far = carry.copy()
        if rank > 0:
            so_far = op(carry, ahead.first) if ahead.second == 0 else ahead.first.copy()
        for k in amp.static_range(4):
            is_head = (bits >> k) & 1 != 0
            upto = x[k].copy() if is_head else op(so_far, x[k])
            found = upto.copy()
            if not inclusive:
                found = so_far.copy()
            if has_init:
                found = op(init, found)
                if not inclusive and is_head:
                    found = init.copy()
            x[k] = found
            so_far = upto.copy()
        if first + 4 <= end:
            out.store_four(first // 4, x[0], x[1], x[2], x[3])
        else:
            for k in amp.static_range(4):
                if first + k < end:
                    out.store(first + k, x[k])
        carry = op(carry, total.first) if total.second == 0 else total.first.copy()


@amp.func
def _of_items(x: Any, bits: Any, op: Any, counting: Any) -> Any:
    """The number of heads among a thread's elements, and the combination of the elements from the last head on."""
    total = x[0].copy()
    for k in amp.static_range(1, len(x)):
        total = x[k].copy() if (bits >> k) & 1 != 0 else op(total, x[k])
    return counting.pair(total, amp.int32(amp.direct3d.countbits(amp.uint32(bits))))


def can_reduce(keys: lazy.Lazy, dtype: np.dtype[Any]) -> bool:
    """Whether the elements are numbers that fit into a tile's memory."""
    return all(each.kind in "iufc" and each.itemsize in (4, 8) for each in (lazy.dtype_of(keys), dtype))


def _values_behind(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, eq: Any, op: Any, dtype: np.dtype[Any]
) -> tuple[Any, Any, _choose.Split, Any]:
    """The value so far after each block, the number of heads in each, the blocks, and the type of the pairs."""
    n = keys.extent[0]
    split = _choose.blocks(n, TILE * ITEMS, _TILES)
    pair = pair_of(dtype, np.dtype(np.int32))
    pairs = amp.array(amp.extent(split.pieces), pair, accelerator_view=view)
    counts = amp.array(amp.extent(split.pieces), np.int32, accelerator_view=view)
    domain = amp.extent(split.pieces * TILE).tile(TILE)
    amp.parallel_for_each(view, domain, block_totals, keys, values, pairs, counts, n, split.length, eq, op)
    scan_into(view, lazy.Elements(pairs), pairs, Restarting(op, pair), inclusive=True)
    return pairs, counts, split, pair


def scan_by_key_into(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, out: Any, eq: Any, op: Any, dtype: np.dtype[Any],
    *, inclusive: bool, init: Any,
) -> None:  # fmt: skip
    """Scans the values of each run into ``out``, which must not overlap the inputs."""
    pairs, _, split, pair = _values_behind(view, keys, values, eq, op, dtype)
    amp.parallel_for_each(
        view, amp.extent(split.pieces * TILE).tile(TILE), scan_runs_of_blocks, keys, values, pairs, output_of(out),
        keys.extent[0], split.length, value(init, dtype), eq, op, Restarting(op, pair),
        inclusive=inclusive, has_init=init is not None,
    )  # fmt: skip


def reduce_by_key_into(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, keys_out: Any, values_out: Any, count: Any,
    eq: Any, op: Any, dtype: np.dtype[Any],
) -> None:  # fmt: skip
    """Stores the key of each run, the combination of its values, in a given type, and the number of runs."""
    pairs, before, split, pair = _values_behind(view, keys, values, eq, op, dtype)
    scan_counts(view, before)
    amp.parallel_for_each(
        view, amp.extent(split.pieces * TILE).tile(TILE), reduce_runs_of_blocks, keys, values, pairs, before,
        keys_out, values_out, count, keys.extent[0], split.length, eq, op, Counting(op, pair),
        items=ITEMS if keys_out.dtype.itemsize == dtype.itemsize == 4 else FEW_ITEMS,
    )  # fmt: skip
