"""Transforms by tiles, for GPUs: lines of up to 4096 numbers are loaded and stored once.

Several lines of a transform, or parts of long lines, are one tile's.  Its threads run the passes of T. G. Stockham's
transform on them (N. K. Govindaraju et al., *High Performance Discrete Fourier Transforms on Graphics Processors*,
2008); between two passes the numbers change threads.  A longer line needs two or three launches: each is a pass of a
Stockham transform whose radix is the length of a tile's lines (D. H. Bailey's four steps, *FFTs in External or
Hierarchical Memory*, 1990, are two of them).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.fft.butterflies import butterfly, tables_of
from vkamp.fft.ends import Planes
from vkamp.fft.lengths import Lines, radices_of, roots, split, table
from vkamp.fft.twiddles import twiddles

#: The longest line of a tile, and the longest part of a line in a tile with four parts or more.
LONGEST_LINE, LONGEST_PART = 4096, 1024
#: Numbers that a thread holds, and the least and most threads of a tile.
_NUMBERS, _LEAST_THREADS, _MOST_THREADS = 16, 32, 256
#: Numbers after which tile_static memory has a gap, so that threads use different banks.
_GAP = 16


class Stage(NamedTuple):
    """A pass in a tile: ``before`` is the product of the earlier radices, ``offset`` its place in the table."""

    radix: int
    before: int
    offset: int
    butterflies: int
    rows_first: bool
    is_first: bool
    is_last: bool
    tables: tuple[Any, ...]


class Shape(NamedTuple):
    """A tile: ``rows`` lines of ``n`` numbers."""

    n: int
    rows: int
    threads: int
    gap: int
    width: int
    kind: Any
    strided: bool
    stages: tuple[Stage, ...]


@amp.func
def _row_and_place(item, *, shape: amp.constant, stage: amp.constant):
    """Which line of the tile, and which of its butterflies."""
    steps = shape.n // stage.radix
    if stage.rows_first:
        place = item // shape.rows
        return item - place * shape.rows, place
    row = item // steps
    return row, item - row * steps


@amp.func
def _line(first, row, count, step, before, inner, *, shape: amp.constant):
    """The plane of a line, the place of its first number, its group of results, and the exponent of its factors."""
    line = min(first + row, count - 1)
    plane = line // step
    p = line - plane * step
    group = p // before
    k = p - group * before
    return amp.int32(plane), p, group * before * shape.n + k, k // inner if shape.strided else k


@amp.func
def _address(row, k, *, shape: amp.constant):
    return row * shape.width + k + (k // shape.gap if shape.gap > 0 else 0)


@amp.func
def _first_loaded(source, twiddles, at, item, is_item, *, shape: amp.constant, stage: amp.constant):
    """The numbers of a butterfly of the first stage, from memory; zeros for threads that have none."""
    first, count, step, before, inner = at
    row, place = _row_and_place(item, shape=shape, stage=stage)
    plane, p, _, power = _line(first, row, count, step, before, inner, shape=shape)
    k = amp.int32(power)
    steps = shape.n // stage.radix
    # Nothing is loaded twice: another thread may store its results there.
    is_there = is_item and first + row < count
    v = tuple(
        source.load(plane, amp.int32(p + (place + r * steps) * step)) if is_there else shape.kind(0)
        for r in range(stage.radix)
    )
    return tuple(twiddles.times(v[r], amp.int32(place + r * steps), k) for r in range(stage.radix))


@amp.func
def _loaded(memory, table, item, *, shape: amp.constant, stage: amp.constant):
    """The numbers of a butterfly of a later stage, from the tile, times their factors."""
    row, place = _row_and_place(item, shape=shape, stage=stage)
    steps = shape.n // stage.radix
    v = tuple(memory[_address(row, place + r * steps, shape=shape)] for r in range(stage.radix))
    k = stage.offset + place % stage.before
    return tuple(v[r] * table[k + (r - 1) * stage.before] if r > 0 else v[r] for r in range(stage.radix))


@amp.func
def _store(memory, target, z, at, item, *, shape: amp.constant, stage: amp.constant):
    """Stores the results of a butterfly: in the tile, or in memory."""
    row, place = _row_and_place(item, shape=shape, stage=stage)
    k = place % stage.before
    to = (place - k) * stage.radix + k
    if not stage.is_last:
        for r in amp.static_range(stage.radix):
            memory[_address(row, to + r * stage.before, shape=shape)] = z[r]
    elif at[0] + row < at[1]:
        plane, _, begin, _ = _line(at[0], row, at[1], at[2], at[3], at[4], shape=shape)
        for r in amp.static_range(stage.radix):
            target.store(plane, amp.int32(begin + (to + r * stage.before) * at[3]), z[r])


@amp.func
def _run_stage(t_idx, memory, source, target, twiddles, table, at, *, shape: amp.constant, stage: amp.constant):
    """One stage of all lines: the threads load their numbers, and store them when all threads have loaded theirs."""
    local = amp.uint32(t_idx.local[0])
    last = shape.rows * shape.n // stage.radix - 1
    items = tuple(min(local + b * shape.threads, last) for b in range(stage.butterflies))
    if stage.is_first:
        v = tuple(
            _first_loaded(source, twiddles, at, items[b], local + b * shape.threads <= last, shape=shape, stage=stage)
            for b in range(stage.butterflies)
        )
    else:
        v = tuple(_loaded(memory, table, item, shape=shape, stage=stage) for item in items)
        if not stage.is_last:
            t_idx.barrier.wait_with_tile_static_memory_fence()
    for b in amp.static_range(stage.butterflies):
        if local + b * shape.threads <= last:
            z = butterfly(v[b], radix=stage.radix, tables=stage.tables)
            _store(memory, target, z, at, items[b], shape=shape, stage=stage)
    if stage.is_first and not stage.is_last:
        # A result may stand where another thread has loaded a number.
        t_idx.barrier.wait_with_all_memory_fence()
    elif not stage.is_last:
        t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.kernel
def tile_pass(t_idx, source, target, twiddles, table, count, step, before, inner, *, shape: amp.constant):
    """Transforms ``rows`` lines; ``count``: all lines; ``step``, ``before`` and ``inner`` as in ``stockham_pass``."""
    memory = amp.tile_static(shape.rows * shape.width, shape.kind)
    at = (amp.uint32(t_idx.tile[0]) * shape.rows, count, step, before, inner)
    for stage in shape.stages:
        _run_stage(t_idx, memory, source, target, twiddles, table, at, shape=shape, stage=stage)


def _table_of(radices: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The factors of all stages but the first, one after the other."""

    def make() -> np.ndarray[Any, Any]:
        parts = [np.ones(1, dtype)]
        for number, radix in enumerate(radices[1:], 1):
            before = math.prod(radices[:number])
            exponents = np.arange(1, radix)[:, None] * np.arange(before)
            parts.append(roots(before * radix, exponents.ravel(), dtype))
        return np.concatenate(parts)

    return table(("tile", radices, dtype), make)


@lru_cache(maxsize=1024)
def shape_of(
    radices: tuple[int, ...], dtype: np.dtype[Any], most_bytes: int, inner: int, together: tuple[bool, bool]
) -> Shape:
    """A tile for lines of these radices.

    ``together``: whether it loads, and stores, neighbouring lines' numbers together.  ``most_bytes``: of tile_static.
    """
    n = math.prod(radices)
    rows = max(1, (2048 if any(together) else 1024) // n)
    if any(together):
        rows = max(rows, 4)
    gap = _GAP
    while rows * _width(n, gap) * dtype.itemsize > most_bytes:
        rows, gap = (rows, 0) if gap else (rows // 2, _GAP)
    threads = min(max(-(-rows * n // _NUMBERS), _LEAST_THREADS), _MOST_THREADS)
    stages, before, offset = [], 1, 1
    for number, radix in enumerate(radices):
        is_first, is_last = number == 0, number == len(radices) - 1
        rows_first = together[0] if is_first else together[1]
        butterflies = -(-rows * n // radix // threads)
        stages.append(
            Stage(radix, before, offset, butterflies, rows_first, is_first, is_last, tables_of(radix))
        )  # fmt: skip
        offset += 0 if is_first else (radix - 1) * before
        before *= radix
    return Shape(n, rows, threads, gap, _width(n, gap), dtype.type, inner > 1, tuple(stages))


def _width(n: int, gap: int) -> int:
    """Numbers from one line to the next: odd, so that lines begin in different banks, if there is room for gaps."""
    return (n + n // gap) | 1 if gap else n


def run_tiles(view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any]) -> None:
    """Transforms each line of ``load`` into ``store``; the length has small prime factors."""
    limits = view.accelerator.limits
    most_bytes = 32_768 if limits is None else limits.shared_bytes
    longest = min(LONGEST_LINE, 1 << (most_bytes // dtype.itemsize).bit_length() - 1)
    parts = (lines.n,) if lines.n <= longest else split(lines.n, LONGEST_PART)
    plane = lines.n * lines.inner
    scratch = [
        Planes(amp.array(amp.extent(lines.outer * plane), dtype, accelerator_view=view), plane)
        for _ in range(min(len(parts) - 1, 2))
    ]
    source = load
    for number, n in enumerate(parts):
        earlier = math.prod(parts[:number])
        target = store if number == len(parts) - 1 else scratch[number % 2]
        radices = radices_of(n)
        assert radices is not None
        step, before = plane // n, earlier * lines.inner
        shape = shape_of(radices, dtype, most_bytes, lines.inner, (step > 1, before > 1))
        count = lines.outer * step
        domain = amp.extent(-(-count // shape.rows) * shape.threads).tile(shape.threads)
        amp.parallel_for_each(
            view, domain, tile_pass, source, target, twiddles(earlier, n, dtype), _table_of(radices, dtype),
            np.uint32(count), np.uint32(step), np.uint32(before), np.uint32(lines.inner), shape=shape,
        )  # fmt: skip
        source = target
