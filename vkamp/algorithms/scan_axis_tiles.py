"""Scans along one axis on GPUs: a tile scans one line of adjacent elements, or a strip of neighbouring lines, in steps.

Each element is read once and written once, unless there are few lines, which are divided into pieces.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import lazy
from vkamp.algorithms._blocks import TILE
from vkamp.algorithms._outputs import output_of
from vkamp.algorithms.lazy import pair_of
from vkamp.algorithms.reduce_axis_tiles import ACROSS, SHORT, begin_of_piece, load_lines, shape_of_strip, upper_power

#: The elements, or groups of four, that a thread handles in each step.
ROWS = 4
#: The elements of a thread in one column in each step of a strip, and the threads of a strip.
DOWN, STRIP = 8, 512
#: The numbers of threads and tiles that occupy a large GPU, and the number of tiles for so few lines of neighbours that
#: each is divided into pieces.
_THREADS, _TILES, _SMALL_TILES, _FEW_LINES = 1 << 18, 512, 2048, 16


@amp.kernel
def scan_rows_in_tiles(
    t_idx, source, out, before, n, pieces, init, op,
    *, wide: amp.constant, inclusive: amp.constant, has_init: amp.constant, reverse: amp.constant,
):  # fmt: skip
    """Each tile scans one piece of a line of ``n * wide`` adjacent elements. ``before``: the scan of the pieces."""
    rank = t_idx.local[0]
    line = t_idx.tile[0] // pieces
    piece = t_idx.tile[0] - line * pieces
    begin = begin_of_piece(n, pieces, piece)
    end = begin_of_piece(n, pieces, piece + 1)
    carry = init.copy()
    has_carry = has_init
    if piece > 0:
        carry = before[t_idx.tile[0] - 1].copy()
        if has_init:
            carry = op(init, carry)
        has_carry = True
    x = amp.private(ROWS * wide, type(carry))
    for start in range(begin, end, ROWS * t_idx.tile_dim0):
        for j in amp.static_range(ROWS):
            at = min(start + j * t_idx.tile_dim0 + rank, end - 1)
            if reverse:
                at = n - 1 - at
            load_lines(source, (line * n + at) * wide, x, j * wide, wide=wide)
            if wide == 4:
                _sum_up(x, 4 * j, op, reverse=reverse)
        # The results may be the memory of the source, whose last element several threads have loaded.
        t_idx.barrier.wait_with_global_memory_fence()
        for j in amp.static_range(ROWS):
            first = start + j * t_idx.tile_dim0
            if first < end:
                _, ahead, total = tile.scan_of(
                    t_idx, x[j * wide + wide - 1].copy(), op, min(end - first, t_idx.tile_dim0)
                )
                if has_carry:
                    ahead = op(carry, ahead) if rank > 0 else carry.copy()
                    carry = op(carry, total)
                else:
                    carry = total.copy()
                if first + rank < end:
                    at = first + rank
                    if reverse:
                        at = n - 1 - at
                    _finish(x, j * wide, ahead, op, has_carry or rank > 0, wide=wide, inclusive=inclusive)
                    _store(out, line * n + at, x, j * wide, wide=wide, reverse=reverse)
                has_carry = True


class Restarting:
    """An operator on pairs of a value and a flag. It restarts at each flagged value."""

    __slots__ = ("op", "pair")

    def __init__(self, op: Any, pair: Any) -> None:
        self.op, self.pair = op, pair

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        first = b.first.copy()
        if b.second == 0:
            first = self.op(a.first, b.first)
        return self.pair(first, a.second | b.second)


@amp.kernel
def scan_short_rows(
    t_idx, source, out, n, lines, init, op, restarting,
    *, wide: amp.constant, inclusive: amp.constant, has_init: amp.constant, reverse: amp.constant,
):  # fmt: skip
    """Each tile scans as many lines of ``n * wide`` adjacent elements as its threads can take."""
    many = t_idx.tile_dim0 // n
    rank = t_idx.local[0]
    k = rank % n
    x = amp.private(ROWS * wide, type(init))
    for j in amp.static_range(ROWS):
        line = (t_idx.tile[0] * ROWS + j) * many + rank // n
        at = min(line, lines - 1) * n + (n - 1 - k if reverse else k)
        load_lines(source, at * wide, x, j * wide, wide=wide)
        if wide == 4:
            _sum_up(x, 4 * j, op, reverse=reverse)
    # The results may be the memory of the source, whose last line several threads have loaded.
    t_idx.barrier.wait_with_global_memory_fence()
    for j in amp.static_range(ROWS):
        line = (t_idx.tile[0] * ROWS + j) * many + rank // n
        own = restarting.pair(x[j * wide + wide - 1], 1 if k == 0 else 0)
        _, before, _ = tile.scan_of(t_idx, own, restarting, t_idx.tile_dim0)
        ahead = init.copy()
        if k > 0:
            ahead = op(init, before.first) if has_init else before.first.copy()
        if rank // n < many and line < lines:
            _finish(x, j * wide, ahead, op, has_init or k > 0, wide=wide, inclusive=inclusive)
            _store(out, line * n + (n - 1 - k if reverse else k), x, j * wide, wide=wide, reverse=reverse)


@amp.func
def _sum_up(x: Any, first: amp.constant, op: Any, *, reverse: amp.constant) -> None:
    """Replaces four elements by their scan; those of the input in reverse order by the scan that begins with the
    last one.
    """
    if reverse:
        a = x[first].copy()
        b = x[first + 1].copy()
        x[first] = x[first + 3]
        x[first + 1] = x[first + 2]
        x[first + 2] = b
        x[first + 3] = a
    for c in amp.static_range(1, 4):
        x[first + c] = op(x[first + c - 1], x[first + c])


@amp.func
def _finish(
    x: Any, first: amp.constant, ahead: Any, op: Any, has: Any, *, wide: amp.constant, inclusive: amp.constant
) -> None:
    """Combines the total before some sums with each of them. ``has``: whether there is such a total."""
    for c in amp.static_range(wide):
        if has:
            x[first + c] = op(ahead, x[first + c])
    if not inclusive:
        for c in amp.static_range(wide - 1):
            x[first + wide - 1 - c] = x[first + wide - 2 - c]
        x[first] = ahead


@amp.func
def _store(out: Any, at: Any, x: Any, first: amp.constant, *, wide: amp.constant, reverse: amp.constant) -> None:
    if wide == 1:
        out.store(at, x[first])
    elif reverse:
        out.store_four(at, x[first + 3], x[first + 2], x[first + 1], x[first])
    else:
        out.store_four(at, x[first], x[first + 1], x[first + 2], x[first + 3])


@amp.kernel
def scan_columns_in_tiles(
    t_idx, source, out, before, n, inner, strips, pieces, init, op,
    *, across: amp.constant, inclusive: amp.constant, has_init: amp.constant, reverse: amp.constant,
):  # fmt: skip
    """Each tile scans one piece of a strip of ``across`` lines. ``before``: the scan of the pieces."""
    tx = t_idx.local[0] % across
    ty = t_idx.local[0] // across
    strip = t_idx.tile[0] % strips
    row = t_idx.tile[0] // strips
    piece = row % pieces
    begin = begin_of_piece(n, pieces, piece)
    end = begin_of_piece(n, pieces, piece + 1)
    own_column = strip * across + tx
    column = min(own_column, inner - 1)
    first = row // pieces * n * inner + column
    step = inner
    if reverse:
        first += (n - 1) * inner
        step = -inner
    carry = init.copy()
    has_carry = has_init
    if piece > 0:
        carry = before[(row - 1) * inner + column].copy()
        if has_init:
            carry = op(init, carry)
        has_carry = True
    x = amp.private(DOWN, type(carry))
    totals = amp.tile_static(t_idx.tile_dim0, type(carry))
    for start in range(begin, end, DOWN * (t_idx.tile_dim0 // across)):
        own = start + ty * DOWN
        for j in amp.static_range(DOWN):
            x[j] = source.value(first + min(own + j, end - 1) * step)
        for j in amp.static_range(1, DOWN):
            x[j] = op(x[j - 1], x[j])
        totals[t_idx.local] = x[DOWN - 1]
        # The results may be the memory of the source, whose last elements several threads have loaded.
        t_idx.barrier.wait_with_all_memory_fence()
        ahead = carry.copy()
        for k in range(t_idx.tile_dim0 // across):
            if k == ty:
                ahead = carry.copy()
            carry = op(carry, totals[k * across + tx]) if has_carry or k > 0 else totals[tx].copy()
        t_idx.barrier.wait_with_tile_static_memory_fence()
        before_one = ahead.copy()
        for j in amp.static_range(DOWN):
            upto = op(ahead, x[j]) if has_carry or ty > 0 else x[j].copy()
            if own + j < end and own_column < inner:
                out.store(first + (own + j) * step, upto if inclusive else before_one)
            before_one = upto.copy()
        has_carry = True


def pieces_of(outer: int, n: int, inner: int) -> int:
    """The number of pieces into which each line is divided, a power of two."""
    tiles, least = (outer, 1 << 13) if inner == 1 else (outer * -(-inner // ACROSS), 1 << 9)
    wanted = _SMALL_TILES if inner == 1 and outer <= _FEW_LINES else _TILES
    most = max(min(wanted // tiles, n // least), 1)
    return 1 << most.bit_length() - 1


def scan_lines_in_tiles(
    view: amp.accelerator_view, source: lazy.Lazy, outer: int, n: int, inner: int, pieces: int, before: Any, out: Any,
    init: Any, op: Any, *, inclusive: bool, has_init: bool, reverse: bool,
) -> None:  # fmt: skip
    """Scans each piece of each line in one launch."""
    how = {"inclusive": inclusive, "has_init": has_init, "reverse": reverse}
    if inner == 1 and n <= (SHORT if n % 4 == 0 else SHORT // 4):
        wide = 4 if n % 4 == 0 else 1
        pair = pair_of(lazy.computed_as(out.dtype), np.dtype(np.int32))
        tiles = -(-outer // (TILE // (n // wide) * ROWS))
        amp.parallel_for_each(
            view, amp.extent(tiles * TILE).tile(TILE), scan_short_rows, source, output_of(out), n // wide, outer,
            init, op, Restarting(op, pair), wide=wide, **how,
        )  # fmt: skip
        return
    if inner == 1:
        # Pieces consist of whole vectors, as those of the reduction do.
        wide = 4 if n % (4 * pieces) == 0 else 1
        size = min(max(upper_power(_THREADS // (outer * pieces)), 32), 256, upper_power(n // (pieces * ROWS * wide)))
        amp.parallel_for_each(
            view, amp.extent(outer * pieces * size).tile(size), scan_rows_in_tiles, source, output_of(out), before,
            n // wide, pieces, init, op, wide=wide, **how,
        )  # fmt: skip
        return
    limits = view.accelerator.limits
    most = TILE if limits is None else min(limits.tile_threads, STRIP)
    across, down = shape_of_strip(inner, n // pieces, most, DOWN)
    strips = -(-inner // across)
    amp.parallel_for_each(
        view, amp.extent(outer * pieces * strips * across * down).tile(across * down), scan_columns_in_tiles,
        source, output_of(out), before, n, inner, strips, pieces, init, op, across=across, **how,
    )  # fmt: skip
