"""The stages of a tile: its shape, and where threads load and store the numbers of their butterflies."""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import vkamp as amp
from vkamp.fft.twiddles import powers


class Stage(NamedTuple):
    """A pass within a tile.

    ``before``: the product of the earlier radices. ``offset``: the position of its factors in the table. ``is_exact``:
    every thread has the same number of butterflies. ``kept``: how many numbers of a butterfly are loaded from memory,
    or stored there; the others are zeros, or are not needed. ``loads`` and ``stores``: how far apart the numbers of a
    butterfly are in tile_static memory, 0 if that varies. ``is_filtered``: it is the last stage of the first transform,
    and a product and a second transform follow.
    """

    radix: int
    before: int
    offset: int
    butterflies: int
    rows_first: bool
    is_first: bool
    is_last: bool
    is_exact: bool
    kept: int
    loads: int
    stores: int
    is_filtered: bool
    tables: tuple[Any, ...]


class TileShape(NamedTuple):
    """A tile: ``rows`` lines of ``n`` numbers.

    ``is_whole``: all tiles have all their lines. ``in_place``: both containers may be the same. ``rows_first``: threads
    store the numbers of neighbouring lines together. ``is_half``: only the first half of the transforms of real lines
    is stored. ``is_crossed``: the two stages are transforms along two axes.
    """

    n: int
    rows: int
    threads: int
    gap: int
    width: int
    kind: Any
    is_whole: bool
    in_place: bool
    rows_first: bool
    is_half: bool
    is_crossed: bool
    stages: tuple[Stage, ...]


@amp.func
def row_and_place(item, *, shape: amp.constant, stage: amp.constant):
    """A butterfly's line in the tile, and its number in the line."""
    if shape.rows == 1:
        return amp.uint32(0), item
    steps = shape.n // stage.radix
    if stage.rows_first:
        place = item // shape.rows
        return item - place * shape.rows, place
    row = item // steps
    return row, item - row * steps


@amp.func
def address(row, k, *, shape: amp.constant):
    return row * shape.width + k + (k // shape.gap if shape.gap > 0 else 0)


@amp.func
def first_numbers(source, twiddles, lines, plane, p, power, place, *, shape: amp.constant, stage: amp.constant):
    """The numbers of a butterfly of the first stage, from memory.

    ``plane``, ``p`` and ``power``: the line's plane, the position of its first number, and the exponent of its factors.
    """
    steps = shape.n // stage.radix
    apart, far = lines.loads(steps)
    begin = p + place * apart
    v = tuple(
        source.load(plane, amp.int32(begin + r * far)) if r < stage.kept else shape.kind(0) for r in range(stage.radix)
    )
    return twiddles.applied_from(v, amp.int32(place), steps, power, radix=stage.radix)


@amp.func
def _of_item(source, twiddles, lines, first, item, *, shape: amp.constant, stage: amp.constant):
    row, place = row_and_place(item, shape=shape, stage=stage)
    plane, p, _, power = lines.place(first + row, n=shape.n)
    return first_numbers(source, twiddles, lines, plane, p, power, place, shape=shape, stage=stage)


@amp.func
def first_loaded(source, twiddles, lines, first, item, is_item, *, shape: amp.constant, stage: amp.constant):
    """The numbers of a butterfly of the first stage; zeros for threads without a butterfly."""
    if shape.is_whole and stage.is_exact:
        return _of_item(source, twiddles, lines, first, item, shape=shape, stage=stage)
    row, _ = row_and_place(item, shape=shape, stage=stage)
    v = tuple(shape.kind(0) for r in range(stage.radix))
    # No number is loaded twice: another thread may already have stored its result there.
    if is_item and first + row < lines.count:
        v = _of_item(source, twiddles, lines, first, item, shape=shape, stage=stage)
    return v


@amp.func
def factors(table, k, *, shape: amp.constant, stage: amp.constant):
    """The twiddle factors of the numbers 1 to ``radix - 1`` of a butterfly."""
    begin = stage.offset + k
    if stage.radix > 4:
        w4 = table[begin + 3 * stage.before]
        w8 = table[begin + 7 * stage.before] if stage.radix > 8 else w4
        w16 = table[begin + 15 * stage.before] if stage.radix > 16 else w8
        return powers(table[begin], w4, w8, w16, radix=stage.radix)
    return tuple(table[begin + r * stage.before] for r in range(stage.radix - 1))


@amp.func
def applied(v, w):
    """The numbers of a butterfly times its factors."""
    return tuple(v[r] * w[r - 1] if r > 0 else v[r] for r in range(len(v)))


@amp.func
def loaded(memory, table, item, *, shape: amp.constant, stage: amp.constant):
    """The numbers of a butterfly of a later stage, from the tile, times their twiddle factors."""
    row, place = row_and_place(item, shape=shape, stage=stage)
    steps = shape.n // stage.radix
    begin = address(row, place, shape=shape)
    if stage.loads > 0:
        v = tuple(memory[begin + r * stage.loads] for r in range(stage.radix))
    else:
        v = tuple(memory[address(row, place + r * steps, shape=shape)] for r in range(stage.radix))
    if stage.before == 1:
        return v
    return applied(v, factors(table, place % stage.before, shape=shape, stage=stage))


@amp.func
def store(memory, target, spectrum, lines, z, first, item, *, shape: amp.constant, stage: amp.constant):
    """Stores the results of a butterfly, in the tile or in memory."""
    row, place = row_and_place(item, shape=shape, stage=stage)
    k = place % stage.before
    to = (place - k) * stage.radix + k
    if not stage.is_last:
        begin = address(row, to, shape=shape)
        for r, number in enumerate(z):
            if stage.is_filtered:
                number = spectrum.times(number, amp.int32(to + r * stage.before))
            if stage.stores > 0:
                memory[begin + r * stage.stores] = number
            else:
                memory[address(row, to + r * stage.before, shape=shape)] = number
    elif shape.is_whole or first + row < lines.count:
        plane, _, begin, _ = lines.place(first + row, n=shape.n)
        _, apart = lines.between()
        begin = begin + to * apart
        for r, number in enumerate(z[: stage.kept]):
            target.store(plane, amp.int32(begin + r * stage.before * apart), number)
