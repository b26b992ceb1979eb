"""Sorts particles by the cell of a grid and adds up the mass of each cell: a sort by key and a segmented reduction."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np

import vkamp as amp
from vkamp import algorithms as alg

SIDE = 32


@amp.func
def cell_of(x: Any, y: Any) -> Any:
    """The cell of a place in the unit square."""
    return min(int(y * SIDE), SIDE - 1) * SIDE + min(int(x * SIDE), SIDE - 1)


def masses_of(view: amp.accelerator_view, x: Any, y: Any, mass: Any) -> Any:
    """The mass in each cell; cells may be empty."""
    cells = alg.transform(cell_of, x, y, accelerator_view=view)
    ordered, sorted_masses = alg.sort_by_key(cells, mass)
    # Where the particles of each cell begin.
    begins = alg.searchsorted(ordered, np.arange(SIDE * SIDE + 1, dtype=np.int32))
    return alg.segmented_reduce(sorted_masses, begins)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    random = np.random.default_rng(1)
    x, y = random.normal(0.5, 0.15, (2, options.count)).clip(0, 1).astype(np.float32)
    mass = random.integers(1, 9, options.count).astype(np.float32)
    gallery.timed(view, "particles", lambda: masses_of(view, x, y, mass), options.count, "G particles/s")
    found = np.asarray(masses_of(view, x, y, mass)).reshape(SIDE, SIDE)
    expected = np.zeros((SIDE, SIDE), np.float32)
    row, column = (np.minimum((each * np.float32(SIDE)).astype(np.int32), SIDE - 1) for each in (y, x))
    np.add.at(expected, (row, column), mass)

    def draw(axes: Any) -> None:
        axes.imshow(found, origin="lower", cmap="viridis")
        axes.set_axis_off()

    return gallery.Result([("masses", gallery.difference(found, expected), 0.0)], [gallery.chart(draw, 420, 420)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("particle_grid", __doc__ or "", run, argv, count=50_000)


if __name__ == "__main__":
    sys.exit(main())
