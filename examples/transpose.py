"""Transposes a photo in three ways: directly, through a tile, and through a tile with padding.

    python examples/transpose.py [--size 512] [--photo PICTURE] [--accelerator swiftshader]

The direct way reads rows and writes columns, which are far apart in memory. Through a tile in tile_static memory
both are rows. The padding puts the elements of a column into different banks of that memory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp

SIDE = 16


@amp.kernel
def straight(t_idx, source, result):
    if source.extent.contains(t_idx.global_):
        result[t_idx.global_[1], t_idx.global_[0]] = source[t_idx]


@amp.kernel
def through_a_tile(t_idx, source, result, *, padding: amp.constant):
    values = amp.tile_static((SIDE, SIDE + padding), amp.float32)
    row, column = t_idx.local
    if source.extent.contains(t_idx.global_):
        values[row, column] = source[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    # The thread's position in the transposed tile.
    place = amp.index(t_idx.tile_origin[1] + row, t_idx.tile_origin[0] + column)
    if result.extent.contains(place):
        result[place] = values[column, row]


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    photo = gallery.grey(gallery.photo(options))
    source = amp.array(amp.array_view(photo), accelerator_view=view)
    domain = source.extent.tile(SIDE, SIDE).pad()
    checks, result = [], np.empty((0, 0))
    for name, kernel, constants in (
        ("straight", straight, {}),
        ("through a tile", through_a_tile, {"padding": 0}),
        ("through a padded tile", through_a_tile, {"padding": 1}),
    ):
        result, check = _one(view, name, kernel, constants, source, domain, photo)
        checks.append(check)
    pictures = [gallery.picture_of(photo), gallery.picture_of(result)]
    return gallery.Result(checks, [gallery.side_by_side(pictures, ("photo", "transposed"))])


def _one(
    view: amp.accelerator_view,
    name: str,
    kernel: object,
    constants: dict[str, int],
    source: amp.array,
    domain: amp.tiled_extent,
    photo: NDArray[np.float32],
) -> tuple[NDArray[np.float32], tuple[str, float, float]]:
    target = amp.array(amp.extent(*photo.shape[::-1]), amp.float32, accelerator_view=view)

    def launch() -> None:
        amp.parallel_for_each(view, domain, kernel, source, target, **constants)

    gallery.timed(view, name, launch, 2 * photo.nbytes, "GB/s")
    found = np.asarray(target)
    return found, (name, gallery.difference(found, photo.T), 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("transpose", __doc__ or "", run, argv, size=512)


if __name__ == "__main__":
    sys.exit(main())
