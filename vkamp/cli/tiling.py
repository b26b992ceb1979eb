"""``vkamp tile``: how a domain divides into tiles, in the terminal and as a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import click
from rich.text import Text

import vkamp as amp
from vkamp.cli.console import OUT, say
from vkamp.cli.signatures import parse_sizes
from vkamp.errors import AmpError

__all__ = ["Tiling", "as_svg", "as_text", "tile", "tiling_of"]

#: Threads per dimension that are drawn; of more, the first tiles are.
_MOST = 64
_COLOURS = ("#dbeafe", "#fef3c7", "#dcfce7", "#fce7f3")
_STYLES = ("on blue", "on dark_orange3", "on green4", "on magenta")


@dataclass(frozen=True)
class Tiling:
    """What is drawn: rank 1 or 2, the last dimension to the right. ``extent`` is the data's, ``domain`` what runs."""

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
        """Which of four colours its tile has: neighbours differ."""
        return (row // self.tile[0] % 2) * 2 + col // self.tile[1] % 2


def tiling_of(extent: tuple[int, ...], tile: tuple[int, ...], fit: str) -> tuple[str, Tiling, int]:
    """The domain in words, what of it is drawn, and how many such slices there are. AmpError as a launch gives it."""
    whole = amp.extent(*extent)
    tiled = whole.tile(*tile)
    if fit == "pad":
        tiled = tiled.pad()
    elif fit == "truncate":
        tiled = tiled.truncate()
    domain = tuple(tiled)
    wrong = [d for d in range(len(domain)) if domain[d] % tile[d]]
    if wrong:
        d = wrong[0]
        raise AmpError(
            f"dimension {d}, {extent[d]}, is not a multiple of the tile's {tile[d]}: --pad or --truncate makes it one"
        )
    if 0 in domain:
        raise AmpError("no tile is left")
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


def _shown(tiling: Tiling, most: int) -> tuple[int, int]:
    """Rows and columns to draw: whole tiles, at least one."""
    rows, cols = (min(size, max(most // tile, 1) * tile) for size, tile in zip(tiling.domain, tiling.tile, strict=True))
    return rows, cols


def as_text(tiling: Tiling, what: str, width: int) -> Text:
    """The threads of a slice, each with one of its indices, coloured by tile."""
    text_of = {"global": tiling.global_text, "local": tiling.local_text, "tile": tiling.tile_text}[what]
    rows, cols = _shown(tiling, _MOST)
    cell = max(len(text_of(row, col)) for row in (0, rows - 1) for col in (0, cols - 1)) + 2
    while cols > tiling.tile[1] and cols * cell + cols // tiling.tile[1] > width:
        cols -= tiling.tile[1]
    out = Text()
    for row in range(rows):
        if row and row % tiling.tile[0] == 0:
            out.append("\n")
        for col in range(cols):
            if col and col % tiling.tile[1] == 0:
                out.append(" ")
            outside = row >= tiling.extent[0] or col >= tiling.extent[1]
            style = "dim" if outside else f"white {_STYLES[tiling.colour(row, col)]}"
            out.append(text_of(row, col).center(cell), style=style)
        if cols < tiling.domain[1]:
            out.append(" ...")
        out.append("\n")
    if rows < tiling.domain[0]:
        out.append("...\n")
    return out


def as_svg(words: str, tiling: Tiling) -> str:
    """The same as a picture: each thread's global index, and its local one below."""
    rows, cols = _shown(tiling, _MOST)
    wide, high, gap, top = 58, 38, 6, 34

    def left(col: int) -> int:
        return 10 + col * wide + col // tiling.tile[1] * gap

    def above(row: int) -> int:
        return top + row * high + row // tiling.tile[0] * gap

    width, height = left(cols) + 10, above(rows) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace">',
        f"<title>{words}</title>",
        f'<text x="10" y="20" font-size="13">{words}</text>',
    ]
    for row in range(rows):
        for col in range(cols):
            x, y = left(col), above(row)
            outside = row >= tiling.extent[0] or col >= tiling.extent[1]
            fill = "#f3f4f6" if outside else _COLOURS[tiling.colour(row, col)]
            dash = ' stroke-dasharray="3"' if outside else ""
            out.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{fill}" stroke="#6b7280"{dash}/>')
            centre = x + wide // 2
            out.append(
                f'<text x="{centre}" y="{y + 16}" font-size="12" text-anchor="middle">'
                f"{tiling.global_text(row, col)}</text>"
            )
            out.append(
                f'<text x="{centre}" y="{y + 31}" font-size="10" fill="#6b7280" text-anchor="middle">'
                f"{tiling.local_text(row, col)}</text>"
            )
    return "\n".join([*out, "</svg>", ""])


@click.command()
@click.argument("extent")
@click.argument("tile_extent", metavar="TILE")
@click.option("--pad", "fit", flag_value="pad", help="Enlarge the extent to whole tiles, as .pad() does.")
@click.option("--truncate", "fit", flag_value="truncate", help="Leave out what fills no tile, as .truncate() does.")
@click.option(
    "--show",
    type=click.Choice(["global", "local", "tile"]),
    default="global",
    show_default=True,
    help="The index that each thread is drawn with.",
)
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture with both indices, too.")
def tile(extent: str, tile_extent: str, fit: str | None, show: str, svg: Path | None) -> None:
    """Draw how tiles of TILE threads cover an EXTENT: vkamp tile 8x12 2x3."""
    sizes, tiles = parse_sizes(extent), parse_sizes(tile_extent)
    if len(sizes) != len(tiles) or len(tiles) > 3:
        raise click.UsageError("EXTENT and TILE have the same number of dimensions, 1 to 3")
    words, drawn, slices = tiling_of(sizes, tiles, fit or "")
    say(words, "bold")
    if slices > 1:
        say(f"one of {slices} equal slices along dimension 0; {show} index of dimensions 1 and 2")
    else:
        say(f"each thread with its {show} index")
    OUT.print(as_text(drawn, show, OUT.width))
    if svg is not None:
        svg.write_text(as_svg(words, drawn), encoding="utf-8")
        say(f"wrote {svg}")
