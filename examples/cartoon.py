"""Edges of a photo by Sobel's filter, and a cartoon of it: few colours, smooth areas, black edges.

    python examples/cartoon.py [--size 512] [--shades 5] [--photo PICTURE] [--accelerator swiftshader]

Both filters look at a pixel's neighbours: a tile loads its pixels with a halo of two into tile_static memory. The
halo is loaded by the threads near the tile's border.
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
MARGIN = 2
#: The width of a tile with its halo, in pixels.
WHOLE = SIDE + 2 * MARGIN


@amp.func
def at_border(position: amp.int32, size: amp.int32):
    """A position clamped to the picture."""
    return min(max(position, 0), size - 1)


@amp.kernel
def edges(t_idx, grey, result):
    """The strength of the edge through each pixel."""
    pixels = amp.tile_static((WHOLE, WHOLE), amp.float32)
    origin = t_idx.tile_origin
    for row in range(t_idx.local[0], WHOLE, SIDE):
        for column in range(t_idx.local[1], WHOLE, SIDE):
            y = at_border(origin[0] + row - MARGIN, grey.extent[0])
            x = at_border(origin[1] + column - MARGIN, grey.extent[1])
            pixels[row, column] = grey[y, x]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    r, c = t_idx.local[0] + MARGIN, t_idx.local[1] + MARGIN
    right = pixels[r - 1, c + 1] + 2.0 * pixels[r, c + 1] + pixels[r + 1, c + 1]
    left = pixels[r - 1, c - 1] + 2.0 * pixels[r, c - 1] + pixels[r + 1, c - 1]
    below = pixels[r + 1, c - 1] + 2.0 * pixels[r + 1, c] + pixels[r + 1, c + 1]
    above = pixels[r - 1, c - 1] + 2.0 * pixels[r - 1, c] + pixels[r - 1, c + 1]
    if grey.extent.contains(t_idx.global_):
        result[t_idx] = amp.fast_math.sqrt((right - left) * (right - left) + (below - above) * (below - above))


@amp.kernel
def smooth(t_idx, channel, grey, result):
    """The mean of the neighbours of similar brightness: areas become smooth, edges stay sharp."""
    pixels = amp.tile_static((WHOLE, WHOLE), amp.float32)
    brightness = amp.tile_static((WHOLE, WHOLE), amp.float32)
    origin = t_idx.tile_origin
    for row in range(t_idx.local[0], WHOLE, SIDE):
        for column in range(t_idx.local[1], WHOLE, SIDE):
            y = at_border(origin[0] + row - MARGIN, grey.extent[0])
            x = at_border(origin[1] + column - MARGIN, grey.extent[1])
            pixels[row, column] = channel[y, x]
            brightness[row, column] = grey[y, x]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    own = brightness[t_idx.local[0] + MARGIN, t_idx.local[1] + MARGIN]
    total = 0.0
    count = 0.0
    for row in range(2 * MARGIN + 1):
        for column in range(2 * MARGIN + 1):
            r, c = t_idx.local[0] + row, t_idx.local[1] + column
            if abs(brightness[r, c] - own) < 0.1:
                total += pixels[r, c]
                count += 1.0
    if grey.extent.contains(t_idx.global_):
        result[t_idx] = total / count


@amp.kernel
def draw(idx, channel, edge, result, shades):
    """A channel in few shades, black at edges."""
    shade = (amp.fast_math.floor(channel[idx] * shades) + 0.5) / shades
    result[idx] = shade * (1.0 - min(max(2.0 * edge[idx] - 0.7, 0.0), 1.0))


class Cartoon:
    """A photo on a device, and the results of the kernels."""

    def __init__(self, view: amp.accelerator_view, grey: NDArray[np.float32], planes: NDArray[np.float32]) -> None:
        self.view = view
        self.grey = amp.array(amp.array_view(grey), accelerator_view=view)
        self.planes = [amp.array(amp.array_view(plane), accelerator_view=view) for plane in planes]
        self.edge = self._like()
        self.tiles = self.grey.extent.tile(SIDE, SIDE).pad()

    def _like(self) -> amp.array:
        return amp.array(self.grey.extent, amp.float32, accelerator_view=self.view)

    def find_edges(self) -> amp.array:
        amp.parallel_for_each(self.view, self.tiles, edges, self.grey, self.edge)
        return self.edge

    def draw(self, shades: int, passes: int = 3) -> list[amp.array]:
        """The cartoon's channels; the photo is smoothed ``passes`` times before."""
        self.find_edges()
        out = []
        for plane in self.planes:
            now, then = plane, self._like()
            for _ in range(passes):
                amp.parallel_for_each(self.view, self.tiles, smooth, now, self.grey, then)
                now, then = then, (self._like() if now is plane else now)
            result = self._like()
            amp.parallel_for_each(self.view, self.grey.extent, draw, now, self.edge, result, float(shades))
            out.append(result)
        return out


def edges_with_numpy(grey: NDArray[np.float32]) -> NDArray[np.float64]:
    """The expected result of `edges`."""
    p = np.pad(grey.astype(np.float64), 1, mode="edge")
    across = p[:-2] + 2 * p[1:-1] + p[2:]
    down = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]
    return np.asarray(np.hypot(across[:, 2:] - across[:, :-2], down[2:] - down[:-2]))


def smooth_with_numpy(channel: NDArray[np.float32], grey: NDArray[np.float32]) -> NDArray[np.float64]:
    """The expected result of `smooth`."""
    size = 2 * MARGIN + 1
    windows = np.lib.stride_tricks.sliding_window_view
    near = np.abs(windows(np.pad(grey, MARGIN, mode="edge"), (size, size)) - grey[..., None, None]) < np.float32(0.1)
    pixels = windows(np.pad(channel, MARGIN, mode="edge"), (size, size))
    return np.asarray((pixels * near).sum((2, 3), dtype=np.float64) / near.sum((2, 3)))


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    picture = gallery.photo(options)
    grey, planes = gallery.grey(picture), gallery.planes(picture)
    cartoon = Cartoon(view, grey, planes)
    size = f"{picture.width} x {picture.height}"
    gallery.timed(view, f"edges of {size}", cartoon.find_edges, grey.size, "G pixels/s")
    gallery.timed(view, f"cartoon of {size}", lambda: cartoon.draw(options.shades), grey.size, "G pixels/s")
    edge = np.asarray(cartoon.find_edges())
    drawn = np.stack([np.asarray(channel) for channel in cartoon.draw(options.shades)])
    once = amp.array(cartoon.grey.extent, amp.float32, accelerator_view=view)
    amp.parallel_for_each(view, cartoon.tiles, smooth, cartoon.planes[0], cartoon.grey, once)
    checks = [
        ("edges", gallery.difference(edge, edges_with_numpy(grey)), 1e-5),
        ("one smoothed channel", gallery.difference(once, smooth_with_numpy(planes[0], grey)), 1e-5),
    ]
    pictures = [picture, gallery.picture_of(1 - edge), gallery.picture_of(drawn)]
    return gallery.Result(checks, [gallery.side_by_side(pictures, ("photo", "Sobel's edges", "cartoon"))])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("cartoon", __doc__ or "", run, argv, size=512, shades=5)


if __name__ == "__main__":
    sys.exit(main())
