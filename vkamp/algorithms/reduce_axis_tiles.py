"""Reductions along one axis on GPUs: a tile combines one line of adjacent elements, or a strip of neighbouring
lines.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,operator"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._blocks import ITEMS, TILE, of_block, of_four
from vkamp.algorithms._last import KEPT, counters_of, is_last, is_word, keep, kept
from vkamp.algorithms._operators import commutes

#: Lines of adjacent elements share a tile up to this length.
SHORT = 1024
#: How many lines, or groups of four lines, are side by side in a strip.
ACROSS = 32
#: Few lines are divided into pieces, about as many as the tiles that occupy a large GPU.
_TILES = 2048
#: Up to so many pieces of a line are combined by one tile.
_FEW_PIECES = 64


@amp.func
def begin_of_piece(n: Any, pieces: Any, piece: Any) -> Any:
    """The position where a piece of a line begins. The lengths of the pieces differ by at most one."""
    return piece * (n // pieces) + min(piece, n % pieces)


@amp.kernel
def reduce_rows_in_tiles(t_idx, source, out, n, pieces, op, *, commutes: amp.constant):
    """Each tile combines one piece of a line of adjacent elements. ``out`` has the pieces of a line side by side."""
    at = t_idx.tile[0]
    line = at // pieces
    piece = at - line * pieces
    begin = line * n + begin_of_piece(n, pieces, piece)
    end = line * n + begin_of_piece(n, pieces, piece + 1)
    total = of_block(t_idx, source, begin, end, op, commutes=commutes)
    if t_idx.local[0] == 0:
        out[at] = total


@amp.func
def _combine(t_idx: Any, own: Any, op: Any, rank: Any, threads: Any, stride: Any) -> None:
    """Combines the values of ``threads`` threads that are ``stride`` apart.

    The thread of ``rank`` 0 gets the result.
    """
    stage = amp.tile_static(t_idx.tile_dim0 * len(own), own.dtype)
    for c in amp.static_range(len(own)):
        stage[c * t_idx.tile_dim0 + t_idx.local[0]] = own[c]
    apart = 1
    while apart < threads:
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if rank % (2 * apart) == 0 and rank + apart < threads:
            for c in amp.static_range(len(own)):
                p = c * t_idx.tile_dim0 + t_idx.local[0]
                own[c] = op(own[c], stage[p + apart * stride])
                stage[p] = own[c]
        apart *= 2


@amp.kernel
def reduce_short_rows(
    t_idx, source, out, n, lines, op, *, threads: amp.constant, wide: amp.constant, commutes: amp.constant
):
    """Each group of ``threads`` threads of a tile combines a line of ``n * wide`` adjacent elements."""
    rank = t_idx.local[0] % threads
    own_line = t_idx.global_[0] // threads
    line = min(own_line, lines - 1)
    many = begin_of_piece(n, threads, rank + 1) - begin_of_piece(n, threads, rank)
    at = line * n + begin_of_piece(n, threads, rank)
    step = 1
    if commutes:
        # Neighbouring threads load neighbouring elements.
        many = (n - rank + threads - 1) // threads
        at = line * n + rank
        step = threads
    own = amp.private(1, type(source.value(0)))
    own[0] = of_four(source, at, op) if wide == 4 else source.value(at).copy()
    for k in range(1, many):
        own[0] = op(own[0], of_four(source, at + k * step, op) if wide == 4 else source.value(at + k * step))
    _combine(t_idx, own, op, rank, threads, 1)
    if rank == 0 and own_line < lines:
        out[own_line] = own[0]


@amp.kernel
def reduce_columns_in_tiles(
    t_idx, source, out, n, inner, strips, pieces, op,
    *, across: amp.constant, wide: amp.constant, rows: amp.constant, commutes: amp.constant,
):  # fmt: skip
    """Each tile combines one piece of a strip of ``across * wide`` neighbouring lines.

    ``out`` has the pieces of all lines of an outer index one after the other.
    """
    own = amp.private(wide, type(source.value(0)))
    row, column = _of_columns(
        t_idx, source, n, inner, strips, pieces, op, own, across=across, wide=wide, rows=rows, commutes=commutes
    )
    if t_idx.local[0] < across and column < inner:
        for c in amp.static_range(wide):
            out[row * inner + column + c] = own[c]


@amp.kernel
def reduce_columns_at_once(
    t_idx, source, out, words, counters, n, inner, strips, pieces, op,
    *, across: amp.constant, wide: amp.constant, rows: amp.constant, commutes: amp.constant,
):  # fmt: skip
    """As ``reduce_columns_in_tiles``; the tile of a strip that ends last combines its pieces."""
    own = amp.private(wide, type(source.value(0)))
    row, column = _of_columns(
        t_idx, source, n, inner, strips, pieces, op, own, across=across, wide=wide, rows=rows, commutes=commutes
    )
    if t_idx.local[0] < across and column < inner:
        for c in amp.static_range(wide):
            keep(words, row * inner + column + c, own[c])
    strip = t_idx.tile[0] % strips
    outer = row // pieces
    if is_last(t_idx, counters, outer * strips + strip, pieces):
        x = amp.private(KEPT, own.dtype)
        begin = strip * across * wide
        for at in range(begin + t_idx.local[0], min(begin + across * wide, inner), t_idx.tile_dim0):
            for piece in range(0, pieces, KEPT):
                # All loads are in flight at a time.
                for j in amp.static_range(KEPT):
                    x[j] = kept(words, (outer * pieces + min(piece + j, pieces - 1)) * inner + at, own.dtype)
                own[0] = op(own[0], x[0]) if piece > 0 else x[0].copy()
                for j in amp.static_range(1, KEPT):
                    if piece + j < pieces:
                        own[0] = op(own[0], x[j])
            out[outer * inner + at] = own[0]


@amp.func
def _of_columns(
    t_idx: Any, source: Any, n: Any, inner: Any, strips: Any, pieces: Any, op: Any, own: Any, *,
    across: amp.constant, wide: amp.constant, rows: amp.constant, commutes: amp.constant,
) -> Any:  # fmt: skip
    """Combines one piece of a strip into ``own`` of its first threads, and returns ``(row, column)`` of the results.

    The threads in one column of a strip handle its elements alternately; if the operator may not commute, each handles
    a contiguous run.
    """
    down = t_idx.tile_dim0 // across
    tx = t_idx.local[0] % across
    ty = t_idx.local[0] // across
    strip = t_idx.tile[0] % strips
    row = t_idx.tile[0] // strips
    piece = row % pieces
    begin = begin_of_piece(n, pieces, piece)
    length = begin_of_piece(n, pieces, piece + 1) - begin
    column = (strip * across + tx) * wide
    many = begin_of_piece(length, down, ty + 1) - begin_of_piece(length, down, ty)
    first = begin_of_piece(length, down, ty)
    step = inner
    if commutes:
        many = (length - ty + down - 1) // down
        first = ty
        step = inner * down
    at = (row // pieces * n + begin + first) * inner + min(column, inner - wide)
    _some_rows(source, at, step, many, op, own, wide=wide, rows=rows, begins=True)
    at += rows * step
    left = many - rows
    x = amp.private(rows * wide, own.dtype)
    while left >= rows:
        # All loads are in flight at a time.
        for j in amp.static_range(rows):
            load_lines(source, at + j * step, x, j * wide, wide=wide)
        for j in amp.static_range(rows // 4):
            for c in amp.static_range(wide):
                p = 4 * j * wide + c
                own[c] = op(own[c], op(op(x[p], x[p + wide]), op(x[p + 2 * wide], x[p + 3 * wide])))
        at += rows * step
        left -= rows
    if left > 0:
        _some_rows(source, at, step, left, op, own, wide=wide, rows=rows, begins=False)
    _combine(t_idx, own, op, ty, down, across)
    return row, column


@amp.func
def _some_rows(
    source: Any, at: Any, step: Any, many: Any, op: Any, own: Any, *,
    wide: amp.constant, rows: amp.constant, begins: amp.constant,
) -> None:  # fmt: skip
    """Combines ``own`` with up to ``rows`` of the ``many`` next elements, which are ``step`` apart.

    There is at least one. If ``begins``, ``own`` has no value yet.
    """
    x = amp.private(rows * wide, own.dtype)
    # All loads are in flight at a time; the last element is loaded again in place of those that are missing.
    for j in amp.static_range(rows):
        load_lines(source, at + min(j, many - 1) * step, x, j * wide, wide=wide)
    for c in amp.static_range(wide):
        own[c] = x[c].copy() if begins else op(own[c], x[c])
    for j in amp.static_range(1, rows):
        if j < many:
            for c in amp.static_range(wide):
                own[c] = op(own[c], x[j * wide + c])


@amp.func
def load_lines(source: Any, at: Any, x: Any, first: Any, *, wide: amp.constant) -> None:
    """Loads the elements of ``wide`` neighbouring lines (one or four), beginning at ``first``."""
    if wide == 4:
        x[first], x[first + 1], x[first + 2], x[first + 3] = source.four(at // 4)
    else:
        x[first] = source.value(at)


def upper_power(n: int) -> int:
    """The smallest power of two that is not below ``n``."""
    return 1 << max(n - 1, 0).bit_length()


class Strips(NamedTuple):
    """How tiles divide lines side by side."""

    #: Threads of a tile, and the lines, or vectors of lines, side by side.
    tile: int
    across: int
    #: Elements of a line that a thread loads at a time.
    rows: int
    #: The most tiles of lines that are divided into pieces: about as many as run on a large GPU at a time, or several
    #: times as many.
    tiles: int


#: Of many elements, and of others.
_MANY, _FEW = Strips(512, 64, 8, 256), Strips(TILE, ACROSS, 4, _TILES)
#: The largest elements of large tiles, in bytes.
_LARGEST = 8


def _strips_of(view: amp.accelerator_view, outer: int, n: int, inner: int, size: int) -> Strips:
    """How lines side by side are divided: by large tiles, if there are two of 128 elements of each line for each that
    runs at a time, the device has them, and the elements' ``size`` in bytes leaves room in registers and
    ``tile_static`` memory.
    """
    tiles = outer * -(-inner // (4 * _MANY.across)) * (n // 128)
    fits = size <= _LARGEST and _choose.allows(view, _MANY.tile)
    return _MANY if fits and tiles >= 2 * _MANY.tiles else _FEW


def pieces_of(view: amp.accelerator_view, outer: int, n: int, inner: int, size: int) -> int:
    """The number of pieces into which each line of elements of ``size`` bytes is divided."""
    if inner == 1:
        most, tiles, least = _TILES, outer, TILE * ITEMS * 2
    else:
        form = _strips_of(view, outer, n, inner, size)
        most, tiles, least = form.tiles, outer * -(-inner // (4 * form.across)), 128
    return max(min(most // tiles, n // least), 1)


def shape_of_strip(inner: int, length: int, most: int, rows: int, side: int = ACROSS) -> tuple[int, int]:
    """The lines, or vectors of lines, side by side in a strip, at best ``side``, and the threads in one column, for
    ``rows`` elements each.
    """
    across = min(upper_power(inner), side)
    down = min(most // across, upper_power(length // rows // 2 + 1))
    return min(upper_power(inner), most // down), down


def combine_lines_in_tiles(
    view: amp.accelerator_view, source: lazy.Lazy, outer: int, n: int, inner: int, pieces: int, out: Any, op: Any, *,
    at_once: bool = False,
) -> None:  # fmt: skip
    """Combines each piece of each line in one launch, or, if ``at_once``, each line.

    The results of the pieces have the stride of the line's elements.
    """
    known = commutes(op)
    if inner == 1 and n <= SHORT:
        wide = 4 if n % 4 == 0 else 1
        threads = upper_power(n // wide // 8 + 1)
        domain = amp.extent(outer * threads).tile(TILE).pad()
        amp.parallel_for_each(
            view, domain, reduce_short_rows, source, out, n // wide, outer, op,
            threads=threads, wide=wide, commutes=known,
        )  # fmt: skip
        return
    if inner == 1:
        size = min(upper_power(n // 16), TILE)
        domain = amp.extent(outer * pieces * size).tile(size)
        amp.parallel_for_each(view, domain, reduce_rows_in_tiles, source, out, n, pieces, op, commutes=known)
        return
    wide = 4 if inner % 4 == 0 else 1
    form = _strips_of(view, outer, n, inner, lazy.computed_as(out.dtype).itemsize)
    across, down = shape_of_strip(inner // wide, n // pieces, form.tile, 8, form.across)
    strips = -(-inner // (across * wide))
    domain = amp.extent(outer * pieces * strips * across * down).tile(across * down)
    shape = {"across": across, "wide": wide, "rows": form.rows, "commutes": known}
    if at_once:
        words = amp.array(amp.extent(outer * pieces * inner), np.uint32, accelerator_view=view)
        amp.parallel_for_each(
            view, domain, reduce_columns_at_once, source, out, words, counters_of(view), n, inner, strips, pieces, op,
            **shape,
        )  # fmt: skip
    else:
        amp.parallel_for_each(
            view, domain, reduce_columns_in_tiles, source, out, n, inner, strips, pieces, op, **shape
        )  # fmt: skip


def joins_pieces(inner: int, pieces: int, dtype: np.dtype[Any]) -> bool:
    """Whether one launch can combine the pieces of lines side by side, of which a strip's last tile has few.

    There are at most ``GROUPS`` strips if lines have pieces: half of ``_TILES``, or of numbers that are loaded one by
    one four times as many.
    """
    return inner > 1 and 1 < pieces <= _FEW_PIECES and is_word(dtype)


def fills_tiles(n: int, inner: int) -> bool:
    """Whether the lines are long enough for tiles of threads; otherwise each line is combined by one thread."""
    return inner == 1 or n > 32 or inner >= 64
