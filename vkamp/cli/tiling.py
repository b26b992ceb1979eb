"""``vkamp tile``: how a domain divides into tiles, in the terminal and as a picture."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from vkamp.cli.console import OUT, say
from vkamp.cli.signatures import parse_sizes
from vkamp.display.tiling import MAX, Tiling, as_svg, shown, tiling_of

_STYLES = ("on blue", "on dark_orange3", "on green4", "on magenta")


def as_text(tiling: Tiling, what: str, width: int) -> Text:
    """The threads of a slice, each with one of its indices, coloured by tile."""
    text_of = {"global": tiling.global_text, "local": tiling.local_text, "tile": tiling.tile_text}[what]
    rows, cols = shown(tiling, MAX)
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


@click.command()
@click.argument("extent")
@click.argument("tile_extent", metavar="TILE")
@click.option("--pad", "fit", flag_value="pad", help="Enlarge the extent to whole tiles, as .pad() does.")
@click.option("--truncate", "fit", flag_value="truncate", help="Drop incomplete tiles, as .truncate() does.")
@click.option(
    "--show",
    type=click.Choice(["global", "local", "tile"]),
    default="global",
    show_default=True,
    help="The index that is shown for each thread.",
)
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Also write a picture with both indices.")
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
        svg.write_text(as_svg(words, drawn, MAX), encoding="utf-8")
        say(f"wrote {svg}")
