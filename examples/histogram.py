"""The histogram of a photo's three channels, counted with atomics in tile_static memory.

    python examples/histogram.py [--photo PICTURE] [--size 600] [--accelerator swiftshader]

Every tile first counts its pixels in its own bins, which are fast to access, then adds them to the global bins.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np

import vkamp as amp

BINS = 256
TILE = 256
#: Pixels that a thread counts.
ROW = 16


@amp.kernel
def count(t_idx, channel, bins):
    """Adds to ``bins`` the numbers of a channel, which are 0 to 255."""
    own = amp.tile_static(BINS, amp.int32)
    local = t_idx.local[0]
    own[local] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    start = t_idx.tile[0] * TILE * ROW + local
    for load in range(ROW):
        at = start + load * TILE
        if at < channel.extent[0]:
            amp.atomic_fetch_add(own[channel[at]], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if own[local] > 0:
        amp.atomic_fetch_add(bins[local], own[local])


def histogram(view: amp.accelerator_view, channel: amp.array) -> amp.array:
    """The number of occurrences of each of the 256 values in a channel."""
    bins = amp.array(amp.extent(BINS), amp.int32, np.zeros(BINS, np.int32), accelerator_view=view)
    tiles = -(-channel.extent[0] // (TILE * ROW))
    amp.parallel_for_each(view, amp.extent(tiles * TILE).tile(TILE), count, channel, bins)
    return bins


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    picture = gallery.photo(options)
    pixels = np.ascontiguousarray(np.asarray(picture).reshape(-1, 3).T.astype(np.int32))
    channels = [amp.array(amp.array_view(row), accelerator_view=view) for row in pixels]
    gallery.timed(view, "three channels", lambda: [histogram(view, c) for c in channels], pixels.size, "G pixels/s")
    found = [np.asarray(histogram(view, channel)) for channel in channels]
    expected = [np.bincount(row, minlength=BINS) for row in pixels]

    def draw(axes: Any) -> None:
        for bins, colour in zip(found, ("#d04040", "#30a050", "#4060d0"), strict=True):
            axes.fill_between(np.arange(BINS), bins, color=colour, alpha=0.45, linewidth=0)
        axes.set_xlim(0, BINS - 1)
        axes.set_ylim(0, max(1, 1.2 * float(np.percentile(found, 99))))
        axes.set_yticks([])

    sheet = gallery.side_by_side([picture, gallery.chart(draw, 560, 420)], ("photo", "how bright its pixels are"))
    return gallery.Result([("three channels", gallery.difference(found, expected), 0)], [sheet])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("histogram", __doc__ or "", run, argv, size=600)


if __name__ == "__main__":
    sys.exit(main())
