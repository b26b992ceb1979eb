"""Conway's Game of Life on a torus, as an animation.

    python examples/life.py [--size 128] [--frames 100] [--accelerator swiftshader]

A tile loads its cells with a halo of one into tile_static memory; each thread then counts its neighbours there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gallery
import numpy as np
from numpy.typing import NDArray
from PIL import Image

import vkamp as amp

SIDE = 16
GUN = """
........................O...........
......................O.O...........
............OO......OO............OO
...........O...O....OO............OO
OO........O.....O...OO..............
OO........O...O.OO....O.O...........
..........O.....O.......O...........
...........O...O....................
............OO......................
"""


@amp.kernel
def step(t_idx, cells, following):
    """One generation; cells are 0 or 1."""
    around = amp.tile_static((SIDE + 2, SIDE + 2), amp.int32)
    rows, columns = cells.extent
    origin = t_idx.tile_origin
    for row in range(t_idx.local[0], SIDE + 2, SIDE):
        for column in range(t_idx.local[1], SIDE + 2, SIDE):
            around[row, column] = cells[(origin[0] + row - 1) % rows, (origin[1] + column - 1) % columns]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    r, c = t_idx.local[0] + 1, t_idx.local[1] + 1
    neighbours = -around[r, c]
    for row in amp.static_range(-1, 2):
        for column in amp.static_range(-1, 2):
            neighbours += around[r + row, c + column]
    if cells.extent.contains(t_idx.global_):
        lives = neighbours == 3 or (neighbours == 2 and around[r, c] == 1)
        following[t_idx] = 1 if lives else 0


def start(size: int) -> NDArray[np.int32]:
    """A glider gun in one corner, and random cells in the other."""
    cells = np.zeros((size, size), np.int32)
    gun = np.array([[cell == "O" for cell in line] for line in GUN.split()], np.int32)
    rows, columns = min(size, gun.shape[0]), min(size, gun.shape[1])
    cells[:rows, :columns] = gun[:rows, :columns]
    corner = size // 3
    cells[-corner:, -corner:] = np.random.default_rng(3).integers(0, 2, (corner, corner)) if corner else 0
    return cells


def step_with_numpy(cells: NDArray[np.int32]) -> NDArray[np.int32]:
    """The expected result of `step`."""
    moved = [np.roll(cells, (r, c), (0, 1)) for r in (-1, 0, 1) for c in (-1, 0, 1) if r or c]
    neighbours = np.sum(moved, 0)
    return ((neighbours == 3) | ((neighbours == 2) & (cells == 1))).astype(np.int32)


def frame(cells: NDArray[np.int32]) -> Image.Image:
    scale = max(1, 384 // cells.shape[0])
    return gallery.picture_of(1 - 0.85 * cells.repeat(scale, 0).repeat(scale, 1)).quantize(4)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    expected = start(options.size)
    now = amp.array(amp.array_view(expected), accelerator_view=view)
    following = amp.array(now.extent, amp.int32, accelerator_view=view)
    domain = now.extent.tile(SIDE, SIDE).pad()

    def one() -> None:
        amp.parallel_for_each(view, domain, step, now, following)

    gallery.timed(view, f"a generation of {options.size} x {options.size} cells", one, expected.size, "G cells/s")
    frames = [frame(expected)]
    for _ in range(options.frames - 1):
        one()
        now, following = following, now
        expected = step_with_numpy(expected)
        frames.append(frame(np.asarray(now)))
    return gallery.Result([(f"{options.frames} generations", gallery.difference(now, expected), 0)], frames)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("life", __doc__ or "", run, argv, size=128, frames=100)


if __name__ == "__main__":
    sys.exit(main())
