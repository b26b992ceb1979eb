"""Blurs a photo with a separable Gaussian: rows first, then columns.

    python examples/gaussian_blur.py [--radius 12] [--size 512] [--photo PICTURE] [--accelerator swiftshader]

A convolution of (2r + 1)^2 weights that is a product of two costs 2 (2r + 1) instead. Each tile loads its strip with
a halo of `radius` at both ends into tile_static memory; beyond the border the last pixel is repeated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp

TILE = 128


@amp.kernel
def convolve_rows(t_idx, source, weights, result, *, radius: amp.constant):
    """Each tile is TILE adjacent pixels of one row; ``result`` is transposed, so that two calls do rows and columns."""
    strip = amp.tile_static(TILE + 2 * radius, amp.float32)
    row, local = t_idx.global_[0], t_idx.local[1]
    width = source.extent[1]
    first = t_idx.tile_origin[1] - radius
    for at in range(local, TILE + 2 * radius, TILE):
        strip[at] = source[row, min(max(first + at, 0), width - 1)]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.global_[1] < width:
        total = 0.0
        for k in range(2 * radius + 1):
            total += weights[k] * strip[local + k]
        result[t_idx.global_[1], row] = total


def blur(view: amp.accelerator_view, plane: amp.array, weights: amp.array) -> amp.array:
    """A blurred copy of one channel."""
    radius = weights.extent[0] // 2
    for _ in range(2):
        rows, columns = plane.extent
        turned = amp.array(amp.extent(columns, rows), amp.float32, accelerator_view=view)
        domain = plane.extent.tile(1, TILE).pad()
        amp.parallel_for_each(view, domain, convolve_rows, plane, weights, turned, radius=radius)
        plane = turned
    return plane


def bell(radius: int) -> NDArray[np.float32]:
    """The weights: a Gaussian that is nearly 0 at both ends, with the sum 1."""
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / (radius / 2.5)) ** 2)
    return np.asarray(weights / weights.sum(), np.float32)


def blur_with_numpy(planes: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """The expected result of `blur` for each channel."""
    radius = len(weights) // 2
    out = planes.astype(np.float64)
    for axis in (1, 2):
        margin = [(radius, radius) if k == axis else (0, 0) for k in range(3)]
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(out, margin, mode="edge"), len(weights), axis)
        out = windows @ weights.astype(np.float64)
    return out


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    picture = gallery.photo(options)
    planes, bells = gallery.planes(picture), bell(options.radius)
    weights = amp.array(amp.array_view(bells), accelerator_view=view)
    sources = [amp.array(amp.array_view(plane), accelerator_view=view) for plane in planes]
    work = 2 * len(bells) * 2 * planes.size
    what = f"{picture.width} x {picture.height}, radius {options.radius}"
    gallery.timed(view, what, lambda: [blur(view, source, weights) for source in sources], work, "GFLOP/s")
    found = np.stack([np.asarray(blur(view, source, weights)) for source in sources])
    checks = [("blurred photo", gallery.difference(found, blur_with_numpy(planes, bells)), 1e-5)]
    titles = ("photo", f"Gaussian of radius {options.radius}")
    return gallery.Result(checks, [gallery.side_by_side([picture, gallery.picture_of(found)], titles)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("gaussian_blur", __doc__ or "", run, argv, radius=12, size=512)


if __name__ == "__main__":
    sys.exit(main())
