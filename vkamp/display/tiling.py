"""How a domain divides into tiles, as a picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from vkamp.display.page import block, heading, note
from vkamp.errors import AmpError

#: The maximum number of threads drawn in each dimension; of a larger domain, the first tiles are drawn.
MAX = 64
#: The same for a notebook, and the largest tile whose threads are all drawn there.
_MAX_INLINE = 24
_LARGEST_INLINE = 32
_COLOURS = ("#dbeafe", "#fef3c7", "#dcfce7", "#fce7f3")


@dataclass(frozen=True)
class Tiling:
    """The drawing: rank 1 or 2, the last dimension to the right. ``extent`` is that of the data, ``domain`` that of the
    launch."""

    extent: tuple[int, int]
    domain: tuple[int, int]
    tile: tuple[int, int]
    rank: int

    def global_text(self, row: int, col: int) -> str:
        """A thread's global index."""
        return self._text(row, col)

    def local_text(self, row: int, col: int) -> str:
        """Its index in its tile."""
        return self._text(row % self.tile[0], col % self.tile[1])

    def tile_text(self, row: int, col: int) -> str:
        """Its tile's index."""
        return self._text(row // self.tile[0], col // self.tile[1])

    def _text(self, row: int, col: int) -> str:
        return f"{col}" if self.rank == 1 else f"{row},{col}"

    def colour(self, row: int, col: int) -> int:
        """The number of its tile's colour, of four: adjacent tiles differ."""
        return (row // self.tile[0] % 2) * 2 + col // self.tile[1] % 2


def tiling_of(extent: tuple[int, ...], tile: tuple[int, ...], fit: str) -> tuple[str, Tiling, int]:
    """A description of the domain, the slice that is drawn, and the number of slices. Raises AmpError as a launch
    does.
    """
    domain = extent
    if fit == "pad":
        domain = tuple(-(-n // size) * size for n, size in zip(extent, tile, strict=True))
    elif fit == "truncate":
        domain = tuple(n - n % size for n, size in zip(extent, tile, strict=True))
    wrong = [d for d in range(len(domain)) if domain[d] % tile[d]]
    if wrong:
        d = wrong[0]
        raise AmpError(
            f"dimension {d}, {extent[d]}, is not a multiple of the tile's {tile[d]}: --pad or --truncate makes it one"
        )
    if 0 in domain:
        raise AmpError("the extent contains no whole tile")
    tiles = [d // t for d, t in zip(domain, tile, strict=True)]
    words = (
        f"extent {_x(extent)}, tiles of {_x(tile)}: {_x(tiles)} = {math.prod(tiles)} tiles of {math.prod(tile)} threads"
    )
    if domain != extent:
        words += f", {fit}{'ded' if fit == 'pad' else 'd'} to {_x(domain)}"
    drawn = Tiling(_last_two(extent), _last_two(domain), _last_two(tile), min(len(extent), 2))
    return words, drawn, math.prod(domain[:-2])


def _last_two(sizes: tuple[int, ...]) -> tuple[int, int]:
    row, col = (1, *sizes)[-2:]
    return row, col


def _x(sizes: tuple[int, ...] | list[int]) -> str:
    return " x ".join(map(str, sizes))


def shown(tiling: Tiling, most: int) -> tuple[int, int]:
    """The numbers of rows and columns to draw: complete tiles, at least one."""
    rows, cols = (min(size, max(most // tile, 1) * tile) for size, tile in zip(tiling.domain, tiling.tile, strict=True))
    return rows, cols


def as_svg(words: str, tiling: Tiling, most: int = MAX) -> str:
    """The tiling as a picture: each thread's global index, and its local index below."""
    return _svg(words, tiling, most, tiling.local_text, has_title=True)


def tiling_html(thing: str, extent: tuple[int, ...], tile: tuple[int, ...]) -> str:
    """A tiled extent for a notebook, in words and as a drawing. An extent that is not a multiple of the tile is drawn
    padded; a large tile is one rectangle.
    """
    if min(extent) < 1:
        return block([heading(thing, "which has no tiles")])
    fits = not any(n % size for n, size in zip(extent, tile, strict=True))
    words, drawn, slices = tiling_of(extent, tile, "" if fits else "pad")
    notes = [words if fits else f"{words}: .pad() or .truncate() before a launch"]
    if slices > 1:
        notes.append(f"one of {slices} equal slices along dimension 0 is drawn")
    if max(tile[-2:]) <= _LARGEST_INLINE:
        picture = _svg(words, drawn, _MAX_INLINE, drawn.local_text)
        left_out = _left_out(drawn, _MAX_INLINE)
        notes.append(f"each square is a thread, with its global index, and its local index below{left_out}")
    else:
        whole = _each(lambda n, size: n // size, drawn.extent, drawn.tile)
        tiles = Tiling(whole, _each(lambda n, size: n // size, drawn.domain, drawn.tile), (1, 1), drawn.rank)

        def origin(row: int, col: int) -> str:
            return tiles.global_text(row * drawn.tile[0], col * drawn.tile[1])

        picture = _svg(words, tiles, _MAX_INLINE // 2, origin)
        left_out = _left_out(tiles, _MAX_INLINE // 2)
        notes.append(f"each square is a tile, with its index, and its origin below{left_out}")
    return block([heading(thing), *map(note, notes), picture.rstrip()])


def _left_out(tiling: Tiling, most: int) -> str:
    drawn = shown(tiling, most)
    return "" if drawn == tiling.domain else f"; the first {_x(drawn[2 - tiling.rank :])} of them"


def _each(function: Callable[[int, int], int], one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return function(one[0], other[0]), function(one[1], other[1])


def _svg(words: str, tiling: Tiling, most: int, below: Callable[[int, int], str], *, has_title: bool = False) -> str:
    """The threads with their indices, and the text of ``below`` for each."""
    rows, cols = shown(tiling, most)
    wide, high, gap, top = 58, 38, 6, 34 if has_title else 10

    def left(col: int) -> int:
        return 10 + col * wide + col // tiling.tile[1] * gap

    def above(row: int) -> int:
        return top + row * high + row // tiling.tile[0] * gap

    width, height = left(cols) + 10, above(rows) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'style="max-width: 100%; height: auto" font-family="monospace">',
        f"<title>{escape(words)}</title>",
    ]
    if has_title:
        out.append(f'<text x="10" y="20" font-size="13">{escape(words)}</text>')
    for row in range(rows):
        for col in range(cols):
            x, y = left(col), above(row)
            outside = row >= tiling.extent[0] or col >= tiling.extent[1]
            fill = "#f3f4f6" if outside else _COLOURS[tiling.colour(row, col)]
            dash = ' stroke-dasharray="3"' if outside else ""
            out.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{fill}" stroke="#6b7280"{dash}/>')
            centre = x + wide // 2
            out.append(
                f'<text x="{centre}" y="{y + 16}" font-size="12" fill="#111827" text-anchor="middle">'
                f"{tiling.global_text(row, col)}</text>"
            )
            out.append(
                f'<text x="{centre}" y="{y + 31}" font-size="10" fill="#6b7280" text-anchor="middle">'
                f"{below(row, col)}</text>"
            )
    return "\n".join([*out, "</svg>", ""])
