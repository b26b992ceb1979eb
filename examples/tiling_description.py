"""The first program of C++ AMP's page 'Using Tiles': the tile, row and column of every thread.

    python examples/tiling_description.py

It runs on the default accelerator; VKAMP_ACCELERATOR selects another.  On a terminal the tiles are red and green.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

ROWS = 8
COLS = 9

# tile_row and tile_column specify the tile that each thread is in.
# global_row and global_column specify the location of the thread in the array_view.
# local_row and local_column specify the location of the thread relative to the tile.
Description = np.dtype(
    [
        ("value", np.int32),
        ("tile_row", np.int32),
        ("tile_column", np.int32),
        ("global_row", np.int32),
        ("global_column", np.int32),
        ("local_row", np.int32),
        ("local_column", np.int32),
    ]
)


def coloured(text: str, description: Any) -> str:
    """The text in the colour of its tile, on a terminal."""
    if not sys.stdout.isatty():
        return text
    colour = 31 + (description["tile_row"] + description["tile_column"]) % 2
    return f"\x1b[{colour}m{text}\x1b[0m"


def tiling_description() -> NDArray[Any]:
    """Creates an 8 x 9 matrix of Description structures, in which a launch fills in the indices."""
    # Create 72 (8 x 9) Description structures.
    descs = np.zeros(ROWS * COLS, Description)
    for i in range(ROWS * COLS):
        descs[i]["value"] = i

    # Create an array_view from the Description structures.
    matrix = amp.extent(ROWS, COLS)
    descriptions = amp.array_view(descs, matrix)

    # Update each Description with the tile, global, and local indices.
    @amp.parallel_for_each(descriptions.extent.tile(2, 3))
    def _(t_idx):
        descriptions[t_idx].global_row = t_idx.global_[0]
        descriptions[t_idx].global_column = t_idx.global_[1]
        descriptions[t_idx].tile_row = t_idx.tile[0]
        descriptions[t_idx].tile_column = t_idx.tile[1]
        descriptions[t_idx].local_row = t_idx.local[0]
        descriptions[t_idx].local_column = t_idx.local[1]

    return np.asarray(descriptions)


def show(descriptions: NDArray[Any]) -> None:
    """Prints the Description structure of each element in the matrix."""
    for row in descriptions:
        print("".join(coloured(f"Value: {d['value']:2}      ", d) for d in row))
        print("".join(coloured(f"Tile:   ({d['tile_row']},{d['tile_column']})  ", d) for d in row))
        print("".join(coloured(f"Global: ({d['global_row']},{d['global_column']})  ", d) for d in row))
        print("".join(coloured(f"Local:  ({d['local_row']},{d['local_column']})  ", d) for d in row))
        print()


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example, which takes no arguments."""
    if sys.argv[1:] if argv is None else argv:
        sys.exit("tiling_description takes no arguments")
    show(tiling_description())
    return 0


if __name__ == "__main__":
    sys.exit(main())
