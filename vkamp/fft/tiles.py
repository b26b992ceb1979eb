"""Transforms by tiles, for GPUs: lines of up to 4096 numbers are loaded and stored once.

A tile transforms several lines, or parts of long lines. Its threads run the passes of T. G. Stockham's transform on
them (N. K. Govindaraju et al., *High Performance Discrete Fourier Transforms on Graphics Processors*, 2008), and
exchange the numbers between two passes. A longer line needs two or three launches: each is a pass of a Stockham
transform whose radix is the length of a tile's lines (D. H. Bailey's four steps, *FFTs in External or Hierarchical
Memory*, 1990, are two of them).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.fft._arguments import real_of
from vkamp.fft.butterflies import PRIMES_IN_TILES, butterfly, tables_of, unmixed
from vkamp.fft.ends import Planes, ScaledLines, Whole, direction
from vkamp.fft.lengths import Divisor, Lines, radices_of, roots, split, table
from vkamp.fft.parts import parts_pass
from vkamp.fft.stages import Stage, TileShape, address, first_loaded, loaded, store
from vkamp.fft.twiddles import NoTwiddles, tile_twiddles

#: The longest line of a tile, and the longest part of a line if a tile has four parts or more.
LONGEST_LINE, LONGEST_PART = 4096, 1024
#: The longest line of a tile whose threads exchange the parts of their numbers.
LONGEST_IN_PARTS = 12_288
#: The numbers that a thread holds, and the smallest and largest number of threads in a tile.
_NUMBERS, _LEAST_THREADS, _MOST_THREADS = 16, 32, 512
#: Columns whose first and last numbers are at least this many bytes apart are transformed in shorter parts.
_FAR = 64 << 20
#: Columns whose first and last numbers are farther apart than this are in so many pages of memory that tiles with whole
#: columns wait for addresses.
_VERY_FAR = 512 << 20
#: Longer lines have tiles whose threads exchange parts, since these hold more numbers, or more of them run at once:
#: rows, rows of pairs of real numbers, and columns. Rows that also fit into other tiles must have stages of one radix
#: up to the last number, so that each thread has one butterfly at a time.
_LONGEST_WHOLE_ROW, _LONGEST_WHOLE_HALF, _LONGEST_WHOLE_COLUMN, _RADIX_OF_ROWS = 999, 511, 256, 16
#: Rows of a tile if their length is a prime from this one on: one for each thread, which has few registers to spare.
_LARGE_PRIME, _ROWS_OF_PRIMES = 23, 32
#: The smallest number of adjacent numbers of a line that threads access together.
_NEIGHBOURS = 4
#: tile_static memory has a gap after this many numbers, so that threads use different banks: 16 numbers of 8 bytes.
_GAP = 16
#: For tiles that exchange parts: the same number, the most bytes of the real parts of a thread's numbers, and how many
#: lines a tile with neighbouring lines has.
_BANKS, _MOST_BYTES, _ROWS_IN_PARTS = 32, 128, (16, 8)


class Unfiltered:
    """Transforms without a product."""

    __slots__ = ()

    @amp.func
    def times(self, z, k):
        """The number itself."""
        return z


class Spectrum:
    """A filter's spectrum, by which the numbers of a transform are multiplied before the second transform."""

    __slots__ = ("values",)

    def __init__(self, values: Any) -> None:
        self.values = values

    @amp.func
    def times(self, z, k):
        """The conjugate of a number of the transform times the spectrum."""
        return (z * self.values[k]).conjugate()


class Halves(Spectrum):
    """The factors of the first half of the numbers of real lines."""

    __slots__ = ()


class Neighbours:
    """``count`` lines of ``n`` numbers, which follow each other in both containers."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = np.uint32(count)

    @amp.func
    def place(self, line, *, n: amp.constant):
        """The plane of a line, the positions of its first number and its first result, and the exponent of its
        factors.
        """
        return amp.int32(line), amp.uint32(0), amp.uint32(0), 0

    @amp.func
    def between(self):
        """The distances between the numbers of a line, and between its results."""
        return amp.uint32(1), amp.uint32(1)

    @amp.func
    def loads(self, steps):
        """The distances between adjacent butterflies of the first stage, and between a butterfly's numbers, of which
        each is ``steps`` numbers of the line from the next.
        """
        return amp.uint32(1), amp.uint32(steps)

    @amp.func
    def stores(self, steps):
        """The same of the last stage and its results."""
        return amp.uint32(1), amp.uint32(steps)


class DenseLines(Neighbours):
    """The same in containers whose planes are these lines: distances that kernels know need fewer registers."""

    __slots__ = ()

    @amp.func
    def place(self, line, *, n: amp.constant):
        """Plane 0, the positions of a line's first number and first result, and the exponent of its factors."""
        return 0, line * n, line * n, 0


class DenseHalves(Neighbours):
    """The same for the first halves of real lines."""

    __slots__ = ()

    @amp.func
    def place(self, line, *, n: amp.constant):
        """Plane 0, the positions of a line's first number and first result, and the exponent of its factors."""
        return 0, line * n, line * (n + 1), 0


class StridedLines:
    """Lines whose numbers are ``step`` apart, and their results ``before``, as in ``stockham_pass``."""

    __slots__ = ("before", "by_before", "by_step", "count", "line", "step")

    def __init__(self, count: int, step: int, before: int, inner: int) -> None:
        self.count, self.step, self.before = np.uint32(count), np.uint32(step), np.uint32(before)
        self.by_step, self.by_before, self.line = Divisor(step), Divisor(before), direction(inner)

    @amp.func
    def place(self, line, *, n: amp.constant):
        """The plane of a line, the positions of its first number and its first result, and the exponent of its
        factors.
        """
        plane = self.by_step.quotient(line)
        p = line - plane * self.step
        group = self.by_before.quotient(p)
        k = p - group * self.before
        return amp.int32(plane), p, group * self.before * n + k, self.line.number(amp.int32(k))

    @amp.func
    def between(self):
        """The distances between the numbers of a line, and between its results."""
        return self.step, self.before

    @amp.func
    def loads(self, steps):
        """The distances between adjacent butterflies of the first stage, and between a butterfly's numbers, of which
        each is ``steps`` numbers of the line from the next.
        """
        return self.step, steps * self.step

    @amp.func
    def stores(self, steps):
        """The same of the last stage and its results."""
        return self.before, steps * self.before


@amp.func
def _run_stage(
    t_idx, memory, source, target, spectrum, twiddles, table, lines, first,
    *, shape: amp.constant, stage: amp.constant,
):  # fmt: skip
    """One stage of all lines: all threads load their numbers before any thread stores its results."""
    local = amp.uint32(t_idx.local[0])
    last = shape.rows * shape.n // stage.radix - 1
    items = tuple(
        local + b * shape.threads if stage.is_exact else min(local + b * shape.threads, last)
        for b in range(stage.butterflies)
    )
    if stage.is_first:
        v = tuple(
            first_loaded(
                source, twiddles, lines, first, items[b], local + b * shape.threads <= last, shape=shape, stage=stage
            )
            for b in range(stage.butterflies)
        )
    else:
        v = tuple(loaded(memory, table, item, shape=shape, stage=stage) for item in items)
        if not stage.is_last:
            t_idx.barrier.wait_with_tile_static_memory_fence()
    for b, item in enumerate(items):
        if stage.is_exact or local + b * shape.threads <= last:
            z = butterfly(v[b], radix=stage.radix, tables=stage.tables)
            store(memory, target, spectrum, lines, z, first, item, shape=shape, stage=stage)
    if stage.is_first and not stage.is_last and shape.in_place:
        # A result may replace a number that another thread has loaded.
        t_idx.barrier.wait_with_all_memory_fence()
    elif not stage.is_last:
        t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def _store_two(memory, target, halves, lines, first, row, k, *, shape: amp.constant):
    """Stores the numbers ``k`` and ``n - k`` of a real line, given the transform of its pairs."""
    plane, _, begin, _ = lines.place(first + row, n=shape.n)
    _, apart = lines.between()
    z = memory[address(row, k, shape=shape)]
    mirrored = memory[address(row, shape.n - k if k > 0 else k, shape=shape)]
    x, y = unmixed(z, mirrored, halves.values[amp.int32(k)])
    target.store(plane, amp.int32(begin + k * apart), x)
    if 2 * k != shape.n:
        target.store(plane, amp.int32(begin + (shape.n - k) * apart), y)


@amp.func
def _store_halves(t_idx, memory, target, halves, lines, first, *, shape: amp.constant):
    """Stores the first half of the numbers of real lines."""
    count = (shape.n + 1) // 2
    for b in amp.static_range(-(-shape.rows * count // shape.threads)):
        item = amp.uint32(t_idx.local[0]) + b * shape.threads
        row = item % shape.rows if shape.rows_first else item // count
        k = item // shape.rows if shape.rows_first else item - row * count
        if item < shape.rows * count and (shape.is_whole or first + row < lines.count):
            _store_two(memory, target, halves, lines, first, row, k, shape=shape)
            if shape.n % 2 == 0 and k == 0:
                _store_two(memory, target, halves, lines, first, row, amp.uint32(shape.n // 2), shape=shape)


@amp.kernel
def tile_pass(
    t_idx, source, target, spectrum, twiddles, table, lines, *, shape: amp.constant
):  # fmt: skip
    """Transforms ``rows`` lines."""
    memory = amp.tile_static(shape.rows * shape.width, shape.kind)
    first = amp.uint32(t_idx.tile[0]) * shape.rows
    for stage in shape.stages:
        _run_stage(t_idx, memory, source, target, spectrum, twiddles, table, lines, first, shape=shape, stage=stage)
    if shape.is_half:
        _store_halves(t_idx, memory, target, spectrum, lines, first, shape=shape)


def _table_of(radices: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The twiddle factors of all stages but the first, one after the other."""

    def make() -> np.ndarray[Any, Any]:
        parts = [np.ones(1, dtype)]
        for number, radix in enumerate(radices[1:], 1):
            before = math.prod(radices[:number])
            exponents = np.arange(1, radix)[:, None] * np.arange(before)
            parts.append(roots(before * radix, exponents.ravel(), dtype))
        return np.concatenate(parts)

    return table(("tile", radices, dtype), make)


@lru_cache(maxsize=1024)
def radices_in_tile(n: int, together: tuple[bool, bool], *, large: bool = False) -> tuple[int, ...]:
    """The radices of a line. It has stages of radix 1 where threads would otherwise access memory with large distances.

    ``together``: whether the line loads, and stores, the numbers of neighbouring lines together. ``large``: also with
    products above 16.
    """
    radices = radices_of(n, large=large, primes=PRIMES_IN_TILES)
    assert radices is not None
    if n <= 2:
        return radices
    first = (1,) if not together[0] and n // radices[0] < _NEIGHBOURS else ()
    last = (1,) if not together[1] and n // radices[-1] < _NEIGHBOURS else ()
    return (*first, *radices, *last)


@lru_cache(maxsize=1024)
def rows_of(
    radices: tuple[int, ...], dtype: np.dtype[Any], most_bytes: int, together: tuple[bool, bool]
) -> tuple[int, int]:
    """The number of lines in a tile, and the count of numbers between two gaps in its memory; 0 if it has no gaps.

    ``most_bytes``: the available tile_static memory.
    """
    n, radix = math.prod(radices), max(radices[:2])
    rows = _ROWS_OF_PRIMES if n in PRIMES_IN_TILES and n >= _LARGE_PRIME else max(1, 2048 // n)
    if any(together):
        rows = max(4096 // n if n >= 256 else rows, 4)
    # The first results of neighbouring threads are ``radix`` numbers apart.
    wanted = gap = 0 if radix % 2 else _GAP if _GAP % radix == 0 else radix
    while rows * (n + n // gap + _GAP if gap else n) * dtype.itemsize > most_bytes:
        rows, gap = (rows, 0) if gap else (rows // 2, wanted)
    return rows, gap


class InParts(NamedTuple):
    """A tile whose threads exchange the parts of their numbers."""

    radices: tuple[int, ...]
    rows: int
    gap: int
    threads: int


@lru_cache(maxsize=1024)
def in_parts(
    n: int, dtype: np.dtype[Any], most_bytes: int, is_column: bool, *, is_half: bool = False
) -> InParts | None:
    """The tile for lines whose threads keep all numbers; ``None`` if there is none.

    ``is_half``: only the first half of the transforms of real lines is stored.
    """
    for rows, large in product(_ROWS_IN_PARTS if is_column else (1,), (True, False)):
        radices = radices_in_tile(n, (is_column, is_column), large=large)
        radix = max(radices[:2])
        gap = 0 if radix % 2 else _BANKS if _BANKS % radix == 0 else radix
        if rows * (n + n // gap + _BANKS if gap else n) * real_of(dtype).itemsize > most_bytes:
            continue
        # All threads have the same number of numbers in all stages, if possible as many as the largest radices.
        steps = [n // each for each in radices]
        if is_half:
            if len(radices) == 1 or radices[-1] % 2 or steps[-1] % 2:
                continue
            steps.append(steps[-1] // 2)
        common = math.gcd(*steps)
        least = -(-n * real_of(dtype).itemsize // _MOST_BYTES)
        threads = [each for each in range(least, _MOST_THREADS // rows + 1) if common % each == 0]
        if threads:
            fitting = [each for each in threads if n // each >= max(radices)]
            return InParts(radices, rows, gap, rows * (fitting[-1] if fitting else threads[0]))
    return None


def _width(n: int, gap: int, neighbours: int, banks: int) -> int:
    """The distance between two lines, in numbers.

    Each line begins in a bank that the ``neighbours`` adjacent numbers of another line, which are accessed at the same
    time, do not use.
    """
    if gap == 0:
        return n
    width = n + n // gap
    return width + (neighbours - width) % banks if neighbours < banks else width


def _threads(butterflies: Sequence[int], numbers: int) -> int:
    """A number of threads of which each has the same number of butterflies in all stages, if there is one."""
    wanted = max(min(-(-numbers // _NUMBERS), *butterflies), _LEAST_THREADS)
    common = math.gcd(*butterflies)
    fitting = [each for each in range(min(wanted, _MOST_THREADS), _MOST_THREADS + 1) if common % each == 0]
    return fitting[0] if fitting and fitting[0] <= 2 * wanted else min(wanted, _MOST_THREADS)


def _apart(step: int, radix: int, gap: int) -> int:
    """The distance in memory with gaps of numbers that are ``step`` apart in a line; 0 if it varies."""
    if gap == 0 or radix == 1 or (step == 1 and gap % radix == 0):
        return step
    return step + step // gap if step % gap == 0 else 0


@lru_cache(maxsize=1024)
def shape_of(
    radices: tuple[int, ...], dtype: np.dtype[Any], rows: int, gap: int, together: tuple[bool, bool],
    *, is_whole: bool, in_place: bool, is_filtered: bool = False, is_half: bool = False, kept: int | None = None,
    threads: int = 0, is_crossed: bool = False,
) -> TileShape:  # fmt: skip
    """A tile of ``rows`` lines with these radices.

    ``is_filtered``: with a product and a second transform. ``kept``: how many numbers of a line are loaded, and stored,
    all by default. ``threads``: the number of threads of a tile that exchanges the parts of its numbers.
    """
    n = math.prod(radices)
    banks = _BANKS if threads else _GAP
    threads = threads or _threads([rows * n // radix for radix in radices], rows * n)
    stages: list[Stage] = []
    for transform in range(1 + is_filtered):
        before, offset = 1, 1
        for number, radix in enumerate(radices):
            is_first, is_end = not stages, number == len(radices) - 1
            is_last = is_end and transform == is_filtered and not is_half
            butterflies = -(-rows * n // radix // threads)
            stages.append(
                Stage(
                    radix, before, offset, butterflies, together[0] if is_first else together[1], is_first, is_last,
                    is_exact=butterflies * threads * radix == rows * n,
                    kept=radix if kept is None else -(-kept * radix // n), loads=_apart(n // radix, radix, gap),
                    stores=_apart(before, radix, gap), is_filtered=is_end and transform < is_filtered,
                    tables=tables_of(radix),
                )
            )  # fmt: skip
            offset += 0 if number == 0 else (radix - 1) * before
            before *= radix
    neighbours = -(-banks // rows) if any(together) else n // max(radices[:2])
    width = _width(n, gap, neighbours, banks)
    return TileShape(
        n, rows, threads, gap, width, dtype.type, is_whole, in_place, together[1], is_half, is_crossed, tuple(stages)
    )  # fmt: skip


def tile_bytes(view: amp.accelerator_view) -> int:
    limits = view.accelerator.limits
    return 32_768 if limits is None else limits.shared_bytes


def _is_far(lines: Lines, dtype: np.dtype[Any]) -> bool:
    """Whether a column is so long that all its numbers are in different pages of memory, which is slow."""
    return lines.n * lines.inner * dtype.itemsize > _FAR


def takes(view: amp.accelerator_view, lines: Lines, dtype: np.dtype[Any]) -> bool:
    """Whether one launch can transform the lines: they fit into a tile; columns fit together with their neighbours."""
    longest = min(LONGEST_LINE, 1 << (tile_bytes(view) // dtype.itemsize).bit_length() - 1)
    if lines.inner > 1:
        longest = min(longest, LONGEST_PART // 4 if _is_far(lines, dtype) else LONGEST_PART)
    return lines.n <= longest


def in_one_launch(
    view: amp.accelerator_view, lines: Lines, dtype: np.dtype[Any], *, is_half: bool = False
) -> InParts | None:  # fmt: skip
    """The tile whose threads exchange parts, if it is faster than other tiles, or than two launches of them."""
    fits, n, is_column = takes(view, lines, dtype), lines.n, lines.inner > 1
    longest = _LONGEST_WHOLE_COLUMN if is_column else _LONGEST_WHOLE_HALF if is_half else _LONGEST_WHOLE_ROW
    if n > LONGEST_IN_PARTS or (fits and n <= longest):
        return None
    if not fits and is_column and n * lines.inner * dtype.itemsize > _VERY_FAR:
        return None
    tile = in_parts(n, dtype, tile_bytes(view), is_column, is_half=is_half)
    if tile is not None and fits and not is_column and not is_half:
        return tile if max(tile.radices) <= _RADIX_OF_ROWS and len(set(tile.radices)) == 1 else None
    return tile


def takes_half(view: amp.accelerator_view, lines: Lines, dtype: np.dtype[Any]) -> bool:
    """Whether one launch can transform lines of pairs of real numbers."""
    return takes(view, lines, dtype) or in_one_launch(view, lines, dtype, is_half=True) is not None


def _is_dense(load: Any, store: Any, lines: Lines, *, is_half: bool) -> bool:
    """Whether the planes of both containers are the lines."""
    ends = isinstance(load, Whole | Planes) and isinstance(store, ScaledLines | Planes) and lines.inner == 1
    return ends and load.width == lines.n and store.width == lines.n + is_half


def _lines_of(count: int, step: int, before: int, inner: int) -> StridedLines | Neighbours:
    return StridedLines(count, step, before, inner) if step > 1 or before > 1 else Neighbours(count)


def _launch(
    view: amp.accelerator_view, kernel: Any, load: Any, store: Any, middle: Any, lines: Any, dtype: np.dtype[Any],
    radices: tuple[int, ...], shape: TileShape, twiddles: Any, **constants: Any,
) -> None:  # fmt: skip
    """Launches a kernel that multiplies lines by ``twiddles`` and transforms them with these radices."""
    tiles = -(-int(lines.count) // shape.rows)
    amp.parallel_for_each(
        view, amp.extent(tiles * shape.threads).tile(shape.threads), kernel, load, store, middle,
        twiddles, _table_of(radices, dtype), lines, shape=shape, **constants,
    )  # fmt: skip


def _run_parts(
    view: amp.accelerator_view, load: Any, store: Any, middle: Any, lines: Lines, dtype: np.dtype[Any], tile: InParts,
    *, in_place: bool, is_half: bool,
) -> None:  # fmt: skip
    """Transforms each line of ``load`` into ``store``, by tiles whose threads exchange the parts of their numbers."""
    count, inner = lines.outer * lines.inner, lines.inner
    shape = shape_of(
        tile.radices, dtype, tile.rows, tile.gap, (inner > 1,) * 2, is_whole=count % tile.rows == 0, in_place=in_place,
        is_half=is_half, threads=tile.threads,
    )  # fmt: skip
    if _is_dense(load, store, lines, is_half=is_half):
        where: Any = DenseHalves(count) if is_half else DenseLines(count)
    else:
        where = _lines_of(count, inner, inner, inner)
    _launch(
        view, parts_pass, load, store, middle, where, dtype, tile.radices, shape, NoTwiddles(),
        part=real_of(dtype).type,
    )  # fmt: skip


@lru_cache(maxsize=64)
def crossed_tile(radices: tuple[int, int], dtype: np.dtype[Any], most_bytes: int) -> InParts | None:
    """The tile for transforms along two axes, with a stage for each; ``None`` if there is none."""
    n, threads = math.prod(radices), math.gcd(*radices)
    gap = _BANKS if _BANKS % radices[0] == 0 else radices[0] * (1 - radices[0] % 2)
    if n // threads * real_of(dtype).itemsize > _MOST_BYTES:
        return None
    for rows in _ROWS_IN_PARTS:
        if rows * (n + n // gap + _BANKS if gap else n) * real_of(dtype).itemsize <= most_bytes:
            return InParts(radices, rows, gap, rows * threads) if rows * threads <= _MOST_THREADS else None
    return None


def run_crossed(
    view: amp.accelerator_view, load: Any, store: Any, lines: Any, tile: InParts, twiddles: Any, dtype: np.dtype[Any]
) -> None:  # fmt: skip
    """Multiplies lines by ``twiddles`` and transforms them along two axes."""
    shape = shape_of(
        tile.radices, dtype, tile.rows, tile.gap, (True, True), is_whole=lines.count % tile.rows == 0, in_place=False,
        threads=tile.threads, is_crossed=True,
    )  # fmt: skip
    _launch(
        view, parts_pass, load, store, Unfiltered(), lines, dtype, tile.radices, shape, twiddles,
        part=real_of(dtype).type,
    )  # fmt: skip


def run_tiles(
    view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any],
    *, in_place: bool = False, spectrum: Any = None, halves: Any = None, kept: int | None = None,
) -> None:  # fmt: skip
    """Transforms each line of ``load`` and stores it in ``store``. The length must have small prime factors only.

    Two options require lines that one launch transforms. With ``spectrum``, the spectrum of a filter, each transform is
    multiplied by it and transformed again; only the first ``kept`` numbers of each line are loaded and stored, and the
    others count as zeros. ``halves`` are the factors of :func:`vkamp.fft.butterflies.unmixed`, whose results are
    stored.
    """
    if halves is not None:
        middle: Any = Halves(halves)
    else:
        middle = Unfiltered() if spectrum is None else Spectrum(spectrum)
    most_bytes, is_half = tile_bytes(view), halves is not None
    fits = takes(view, lines, dtype)
    tile = in_one_launch(view, lines, dtype, is_half=is_half) if spectrum is None else None
    if tile is not None:
        _run_parts(view, load, store, middle, lines, dtype, tile, in_place=in_place, is_half=is_half)
        return
    part = LONGEST_PART // 4 if lines.inner > 1 and _is_far(lines, dtype) else LONGEST_PART
    parts = (lines.n,) if fits else split(lines.n, part)
    assert len(parts) == 1 or (spectrum is None and not is_half)
    plane = lines.n * lines.inner
    scratch = [
        Planes(amp.array(amp.extent(lines.outer * plane), dtype, accelerator_view=view), plane)
        for _ in range(min(len(parts) - 1, 2))
    ]
    source = load
    for number, n in enumerate(parts):
        earlier = math.prod(parts[:number])
        target = store if number == len(parts) - 1 else scratch[number % 2]
        step, before = plane // n, earlier * lines.inner
        together = (step > 1, before > 1)
        radices = radices_in_tile(n, together)
        rows, gap = rows_of(radices, dtype, most_bytes, together)
        count = lines.outer * step
        shape = shape_of(
            radices, dtype, rows, gap, together, is_whole=count % rows == 0, in_place=in_place and len(parts) == 1,
            is_filtered=spectrum is not None, is_half=is_half, kept=kept,
        )  # fmt: skip
        where = _lines_of(count, step, before, lines.inner)
        twiddles = tile_twiddles(earlier, n, dtype)
        _launch(view, tile_pass, source, target, middle, where, dtype, radices, shape, twiddles)
        source = target
