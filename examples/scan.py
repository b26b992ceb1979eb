"""The inclusive scan of random steps: a random walk.

    python examples/scan.py [--count 1000000] [--accelerator swiftshader]

Each tile scans its own part in tile_static memory (Hillis and Steele: in every round each thread adds the element twice
as far away), and stores its sum. The sums are scanned the same way, and added to all later elements.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np

import vkamp as amp

TILE = 256


@amp.kernel
def scan_tiles(t_idx, values, sums):
    """Scans each tile in place; ``sums`` gets the total of each."""
    partial = amp.tile_static((2, TILE), amp.int32)
    local, at = t_idx.local[0], t_idx.global_[0]
    partial[0, local] = values[at] if at < values.extent[0] else 0
    # Two buffers: no thread of a round writes the buffer that the round reads.
    now = 0
    distance = 1
    while distance < TILE:
        t_idx.barrier.wait_with_tile_static_memory_fence()
        total = partial[now, local]
        if local >= distance:
            total += partial[now, local - distance]
        now = 1 - now
        partial[now, local] = total
        distance *= 2
    if at < values.extent[0]:
        values[at] = partial[now, local]
    if local == TILE - 1:
        sums[t_idx.tile] = partial[now, local]


@amp.kernel
def add_sums(t_idx, values, sums):
    """Adds to each tile the scanned sums of all tiles before it."""
    at = t_idx.global_[0]
    if t_idx.tile[0] > 0 and at < values.extent[0]:
        values[at] += sums[t_idx.tile[0] - 1]


def scan(view: amp.accelerator_view, values: amp.array) -> None:
    """Replaces each element by the sum of all elements up to it."""
    count = values.extent[0]
    domain = amp.extent(count).tile(TILE).pad()
    sums = amp.array(amp.extent(domain[0] // TILE), amp.int32, accelerator_view=view)
    amp.parallel_for_each(view, domain, scan_tiles, values, sums)
    if sums.extent[0] > 1:
        scan(view, sums)
        amp.parallel_for_each(view, domain, add_sums, values, sums)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    steps = np.random.default_rng(5).integers(-1, 2, (4, options.count), np.int32)
    walks = []
    for row in steps:
        walk = amp.array(amp.array_view(row), accelerator_view=view)
        scan(view, walk)
        walks.append(np.asarray(walk))
    scratch = amp.array(amp.array_view(steps[0]), accelerator_view=view)
    gallery.timed(view, f"{options.count} steps", lambda: scan(view, scratch), options.count, "G elements/s")
    checks = [("four walks", gallery.difference(walks, np.cumsum(steps, axis=1)), 0)]

    def draw(axes: Any) -> None:
        stride = max(1, options.count // 2000)
        for walk in walks:
            axes.plot(np.arange(1, options.count + 1)[::stride], walk[::stride], linewidth=0.8)
        axes.set_title(f"four random walks of {options.count} steps", fontsize=10)

    return gallery.Result(checks, [gallery.chart(draw, 640, 360)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("scan", __doc__ or "", run, argv, count=1_000_000)


if __name__ == "__main__":
    sys.exit(main())
