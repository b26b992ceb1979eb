"""Reductions of all elements to one: ``reduce``, and the sums, products, extremes and conditions that are based on it.

On CPU drivers, each invocation combines a contiguous run, and another launch combines the results of the runs. On GPUs,
each tile combines a block, with a tree in ``tile_static`` memory (M. Harris, *Optimizing Parallel Reduction in CUDA*,
2007; CUB's ``DeviceReduce``), and the tile that ends last combines the blocks' results. Elements are combined in their
order, unless the operator is known to commute, and in the same way in every run.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,operator"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import computed_as, element, place, value
from vkamp.algorithms._blocks import ITEMS, QUADS, TILE, of_block, of_steps
from vkamp.algorithms._last import counters_of, is_last, is_word, keep, kept
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms._operators import Flag, closed, commutes
from vkamp.algorithms._results import result_row
from vkamp.algorithms.reduce_axis import Axes, AxisLines, in_lines, of_run, reduce_lines_into
from vkamp.algorithms.scalars import device_scalar

#: The number of tiles in the first launch: eight for each multiprocessor of an H200.
_TILES = 1056
#: The threads and the number of tiles that take steps side by side.
_WIDE, _SIDE_BY_SIDE = 512, 528
#: Results of tiles that a thread of the last tile loads at a time.
_KEPT = 4


@amp.kernel
def reduce_runs(t_idx, source, out, n, length, op):
    """Combines one run of a source of ``n`` elements."""
    run = t_idx.global_[0]
    if run < out.extent[0]:
        first = run * length
        out[run] = of_run(source, first, first + min(length, n - first), op)


@amp.kernel
def reduce_tiles(t_idx, source, out, n, length, op, *, commutes: amp.constant):
    """Combines one block of a source of ``n`` elements, by a tile."""
    begin = t_idx.tile[0] * length
    total = of_block(t_idx, source, begin, min(begin + length, n), op, commutes=commutes)
    if t_idx.local[0] == 0:
        out[t_idx.tile] = total


@amp.kernel
def reduce_at_once(t_idx, source, out, words, counters, n, length, op, *, commutes: amp.constant, wide: amp.constant):
    """Combines ``n`` elements: each tile a block of them, or, if ``wide``, steps beside those of the other tiles."""
    tiles = words.extent[0]
    begin = t_idx.tile[0] * length
    if wide:
        own = of_steps(t_idx, source, n, tiles, op)
    else:
        own = of_block(t_idx, source, begin, min(begin + length, n), op, commutes=commutes)
    if t_idx.local[0] == 0:
        keep(words, t_idx.tile[0], own)
    if is_last(t_idx, counters, 0, tiles):
        total = _of_kept(t_idx, words, own, op, commutes=commutes)
        if t_idx.local[0] == 0:
            out[0] = total


@amp.func
def _of_kept(t_idx: Any, words: Any, like: Any, op: Any, *, commutes: amp.constant) -> Any:
    """The combination of what all tiles have kept, for all threads of a tile: in their order, unless it commutes."""
    tiles = words.extent[0]
    each = (tiles + t_idx.tile_dim0 - 1) // t_idx.tile_dim0
    first = t_idx.local[0] * each
    step = 1
    threads = (tiles + each - 1) // each
    if commutes:
        # Neighbouring threads load neighbouring words.
        first = t_idx.local[0]
        step = t_idx.tile_dim0
        threads = min(tiles, t_idx.tile_dim0)
    total = like.copy()
    x = amp.private(_KEPT, type(like))
    for start in range(0, each, _KEPT):
        # All loads are in flight at a time.
        for j in amp.static_range(_KEPT):
            x[j] = kept(words, min(first + (start + j) * step, tiles - 1), type(like))
        for j in amp.static_range(_KEPT):
            if start + j == 0:
                total = x[0].copy()
            elif start + j < each and first + (start + j) * step < tiles:
                total = op(total, x[j])
    return tile.reduce(t_idx, total, op, threads)


def combine_pieces(view: amp.accelerator_view, source: lazy.Lazy, out: Any, split: _choose.Split, op: Any) -> None:
    """Combines each piece of a source with one index, in one launch."""
    n = source.extent[0]
    if _choose.form_of(view) == "runs":
        amp.parallel_for_each(view, _choose.domain_of_runs(view, split), reduce_runs, source, out, n, split.length, op)
    else:
        domain = amp.extent(split.pieces * TILE).tile(TILE)
        amp.parallel_for_each(view, domain, reduce_tiles, source, out, n, split.length, op, commutes=commutes(op))


def _split(view: amp.accelerator_view, n: int, longest: int) -> _choose.Split:
    return (
        _choose.runs(view, n, longest) if _choose.form_of(view) == "runs" else _choose.blocks(n, TILE * ITEMS, _TILES)
    )


def combine(view: amp.accelerator_view, source: lazy.Lazy, lines: AxisLines | None, out: Any, op: Any) -> None:
    """Combines all elements of a source with one index, or those of each line, into ``out``, which has one index."""
    if lines is None:
        reduce_into(view, source, out, op)
    else:
        reduce_lines_into(view, source, lines, out, op)


def reduce_into(view: amp.accelerator_view, source: lazy.Lazy, out: Any, op: Any) -> None:
    """Combines all elements of a source with one index into ``out``, which has one element of their type, or of one
    with which kernels compute in theirs.
    """
    longest = longest_run(view, source, op)
    split = _split(view, source.extent[0], longest)
    if split.pieces > 1 and _choose.form_of(view) == "tiles" and is_word(computed_as(out.dtype)):
        _reduce_at_once(view, source, out, split, op)
        return
    while split.pieces > 1:
        partials = amp.array(amp.extent(split.pieces), computed_as(out.dtype), accelerator_view=view)
        combine_pieces(view, source, partials, split, op)
        source = lazy.Elements(partials)
        split = _split(view, split.pieces, longest)
    combine_pieces(view, source, out, split, op)


def _reduce_at_once(view: amp.accelerator_view, source: lazy.Lazy, out: Any, split: _choose.Split, op: Any) -> None:
    n = source.extent[0]
    wide = commutes(op) and n >= _SIDE_BY_SIDE * _WIDE * QUADS * 4
    tiles, size = split.pieces, TILE
    if wide:
        tiles, size = (_SIDE_BY_SIDE, _WIDE) if _choose.allows(view, _WIDE) else (_TILES, TILE)
    words = amp.array(amp.extent(tiles), np.uint32, accelerator_view=view)
    amp.parallel_for_each(
        view, amp.extent(tiles * size).tile(size), reduce_at_once, source, out, words, counters_of(view), n,
        split.length, op, commutes=commutes(op), wide=wide,
    )  # fmt: skip


@amp.kernel
def _begin(idx, start, total, op):
    """``total = op(start, total)``."""
    total[idx] = op(start, total[idx])


def reduce(
    a: Any,
    op: Any = functional.plus,
    init: Any = None,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """``op`` of all elements, in row-major order, as a device_scalar (AMP Algorithms, C++: ``reduce``).

    With an ``axis``, or a tuple of several, ``op`` of the elements along it, in row-major order, as an array of the
    other dimensions, or a device_scalar if there are none; ``keepdims`` keeps the axes with the size 1. ``op`` must be
    associative, but need not commute. ``init`` comes first. The type is that of ``op``'s result. ``out`` is the target,
    with one element for the combination of all.
    """
    return reduced(a, op, init, axis, keepdims, out, accelerator_view)


def reduced(
    a: Any, op: Any, init: Any, axis: Axes, keepdims: bool, out: Any,
    accelerator_view: amp.accelerator_view | None, dtype: np.dtype[Any] | None = None,
) -> Any:  # fmt: skip
    """As :func:`reduce`; the result has the type ``dtype``, or that of ``op``'s result."""
    source, lines = in_lines(lazy.of(a), axis, keepdims)
    view = place(accelerator_view, source, out)
    if dtype is None:
        dtype, op = closed(source, op)
    start = value(init, element(dtype))
    with result_row(out, shape_of(lines), dtype, view, source) as (result, row):
        combine(view, source, lines, row, op)
        if init is not None:
            amp.parallel_for_each(view, row.extent, _begin, start, row, op)
    return device_scalar(result) if lines is None else result


def shape_of(lines: AxisLines | None) -> amp.extent:
    """The extent of a result."""
    return amp.extent(1 if lines is None else lines.shape)


def transform_reduce(
    f: Any,
    op: Any,
    a: Any,
    *more: Any,
    init: Any = None,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """``reduce`` of ``f(x, ...)`` of the inputs' elements; these values are not stored (C++: ``transform_reduce``)."""
    return reduce(
        lazy.numbered(lazy.map(f, a, *more)),
        op,
        init,
        axis=axis,
        keepdims=keepdims,
        out=out,
        accelerator_view=accelerator_view,
    )


def count_if(
    a: Any,
    pred: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """How many elements meet a condition, as an int32 (C++: ``count_if``); along an ``axis``, as :func:`reduce`."""
    return reduce(
        lazy.map(Flag(pred), a),
        functional.plus,
        axis=axis,
        keepdims=keepdims,
        out=out,
        accelerator_view=accelerator_view,
    )
