"""A tiled matrix product: a photo times a matrix that blurs its rows.

    python examples/matrix_product.py [--size 512] [--photo PICTURE] [--accelerator swiftshader]

Each tile of threads computes a tile of the product. In each iteration it loads a tile of both factors into tile_static
memory, so that global memory is read once for each tile and not once for each thread.
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
def product(t_idx, left, right, result):
    """result = left @ right; rows and columns beyond the factors count as 0."""
    left_tile = amp.tile_static((SIDE, SIDE), amp.float32)
    right_tile = amp.tile_static((SIDE, SIDE), amp.float32)
    row, column = t_idx.local
    total = 0.0
    for start in range(0, left.extent[1], SIDE):
        from_left = amp.index(t_idx.global_[0], start + column)
        from_right = amp.index(start + row, t_idx.global_[1])
        left_tile[row, column] = left[from_left] if left.extent.contains(from_left) else 0.0
        right_tile[row, column] = right[from_right] if right.extent.contains(from_right) else 0.0
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in range(SIDE):
            total += left_tile[row, k] * right_tile[k, column]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if result.extent.contains(t_idx.global_):
        result[t_idx] = total


def multiply(view: amp.accelerator_view, left: NDArray[np.float32], right: NDArray[np.float32]) -> amp.array:
    """The product, on the device."""
    result = amp.array(amp.extent(left.shape[0], right.shape[1]), amp.float32, accelerator_view=view)
    domain = result.extent.tile(SIDE, SIDE).pad()
    sources = amp.array_view(left, readonly=True), amp.array_view(right, readonly=True)
    amp.parallel_for_each(view, domain, product, *sources, result)
    return result


def blurring(size: int, width: float) -> NDArray[np.float32]:
    """A matrix whose columns are bell curves around the diagonal, each with the sum 1."""
    along = np.arange(size)
    bells = np.exp(-(((along[:, None] - along) / width) ** 2))
    return np.asarray(bells / bells.sum(0), np.float32)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    photo = gallery.grey(gallery.photo(options))
    rows, columns = photo.shape
    bells = blurring(columns, 0.02 * columns)
    work = 2 * rows * columns * columns
    what = f"{rows} x {columns} by {columns} x {columns}"
    gallery.timed(view, what, lambda: multiply(view, photo, bells), work, "GFLOP/s")
    blurred = np.asarray(multiply(view, photo, bells))
    checks = [("product", gallery.difference(blurred, photo @ bells), 1e-5 * columns)]
    pictures = [gallery.picture_of(photo), gallery.coloured(bells**0.5), gallery.picture_of(blurred)]
    return gallery.Result(checks, [gallery.side_by_side(pictures, ("photo", "bells", "photo @ bells"))])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("matrix_product", __doc__ or "", run, argv, size=512)


if __name__ == "__main__":
    sys.exit(main())
