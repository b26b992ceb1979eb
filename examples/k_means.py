"""A photo in few colours, found by k-means.

    python examples/k_means.py [--colours 8] [--iterations 20] [--size 512] [--photo FILE] [--accelerator swiftshader]

In each iteration every pixel finds its nearest colour, and each colour becomes the mean of its pixels. A tile adds up
its pixels in tile_static memory, with integer atomics, before it adds to the global sums.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp

TILE = 256
#: The number of pixels that a thread processes.
ROW = 8
#: The maximum number of colours.
MAX = 64


@amp.func
def nearest(pixel: amp.int3, colours: amp.array_view, count: amp.int32):
    """The number of the colour that is nearest to a pixel."""
    best = 0
    least = 0x7FFFFFFF
    for k in range(count):
        way = colours[k] - pixel
        squared = way.x * way.x + way.y * way.y + way.z * way.z
        if squared < least:
            least = squared
            best = k
    return best


@amp.kernel
def add_up(t_idx, pixels, colours, sums, count):
    """Adds red, green, blue and 1 of each pixel to the row of its colour in ``sums``."""
    own = amp.tile_static((MAX, 4), amp.int32)
    local = t_idx.local[0]
    own[local // 4, local % 4] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for load in range(ROW):
        at = (t_idx.tile[0] * ROW + load) * TILE + local
        if at < pixels.extent[0]:
            pixel = pixels[at]
            colour = nearest(pixel, colours, count)
            amp.atomic_fetch_add(own[colour, 0], pixel.x)
            amp.atomic_fetch_add(own[colour, 1], pixel.y)
            amp.atomic_fetch_add(own[colour, 2], pixel.z)
            amp.atomic_fetch_add(own[colour, 3], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if local // 4 < count and own[local // 4, 3] > 0:
        amp.atomic_fetch_add(sums[local // 4, local % 4], own[local // 4, local % 4])


@amp.kernel
def renew(idx, sums, colours):
    """Makes each colour the mean of its pixels; a colour without pixels is unchanged."""
    k = idx[0]
    count = sums[k, 3]
    if count > 0:
        half = count // 2
        colours[k] = amp.int3((sums[k, 0] + half) // count, (sums[k, 1] + half) // count, (sums[k, 2] + half) // count)
    for part in range(4):
        sums[k, part] = 0


@amp.kernel
def paint(idx, pixels, colours, count):
    pixels[idx] = colours[nearest(pixels[idx], colours, count)]


class Palette:
    """Colours and pixels on a device."""

    def __init__(self, view: amp.accelerator_view, pixels: NDArray[np.int32], colours: NDArray[np.int32]) -> None:
        self.view = view
        self.count = len(colours)
        self.pixels = amp.array(amp.extent(len(pixels)), amp.int3, pixels, accelerator_view=view)
        self.colours = amp.array(amp.extent(self.count), amp.int3, colours, accelerator_view=view)
        sums = np.zeros((self.count, 4), np.int32)
        self.sums = amp.array(amp.extent(self.count, 4), amp.int32, sums, accelerator_view=view)

    def iterate(self) -> None:
        tiles = -(-self.pixels.extent[0] // (TILE * ROW))
        domain = amp.extent(tiles * TILE).tile(TILE)
        amp.parallel_for_each(self.view, domain, add_up, self.pixels, self.colours, self.sums, self.count)
        amp.parallel_for_each(self.view, self.colours.extent, renew, self.sums, self.colours)

    def paint(self) -> None:
        amp.parallel_for_each(self.view, self.pixels.extent, paint, self.pixels, self.colours, self.count)


def iterate_with_numpy(pixels: NDArray[np.int32], colours: NDArray[np.int32]) -> NDArray[np.int32]:
    """The expected colours after an iteration."""
    best = ((pixels[:, None] - colours) ** 2).sum(2).argmin(1)
    out = colours.copy()
    for k in range(len(colours)):
        of_it = pixels[best == k]
        if len(of_it):
            out[k] = (of_it.sum(0) + len(of_it) // 2) // len(of_it)
    return out


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    if options.colours > MAX:
        raise amp.AmpError(f"at most {MAX} colours")
    picture = gallery.photo(options)
    pixels = np.asarray(picture).reshape(-1, 3).astype(np.int32)
    colours = np.random.default_rng(2).choice(pixels, options.colours)
    palette = Palette(view, pixels, colours)
    for _ in range(options.iterations):
        palette.iterate()
        colours = iterate_with_numpy(pixels, colours)
    found = np.asarray(palette.colours)
    checks = [
        (f"{options.colours} colours after {options.iterations} iterations", gallery.difference(found, colours), 0)
    ]
    size = f"{picture.width} x {picture.height}"
    gallery.timed(view, f"an iteration over {size} pixels", palette.iterate, len(pixels), "G pixels/s")
    palette.paint()
    painted = np.asarray(palette.pixels).reshape(*np.asarray(picture).shape) / 255
    pictures = [picture, gallery.picture_of(np.moveaxis(painted, 2, 0))]
    return gallery.Result(checks, [gallery.side_by_side(pictures, ("photo", f"in {options.colours} colours"))])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("k_means", __doc__ or "", run, argv, colours=8, iterations=20, size=512)


if __name__ == "__main__":
    sys.exit(main())
