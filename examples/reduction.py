"""Adds up numbers in four versions, each with less idle time than the previous one, and compares their throughput.

    python examples/reduction.py [--count 1048576] [--accelerator swiftshader]

1. interleaved: in every round, threads far apart in the tile add their neighbour; most threads of a subgroup are idle.
2. halves: the first half of the tile adds the second; whole subgroups finish early.
3. two loads: each thread adds two elements while it loads, so that no thread idles from the start.
4. many loads: each thread adds a row of elements first; the tree at the end is a small part of the work.
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
#: The number of elements that a thread adds in the last version.
ROW = 16


@amp.kernel
def interleaved(t_idx, values, sums):
    partial = amp.tile_static(TILE, amp.float32)
    local = t_idx.local[0]
    at = t_idx.global_[0]
    partial[local] = values[at] if at < values.extent[0] else 0.0
    distance = 1
    while distance < TILE:
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if local % (2 * distance) == 0:
            partial[local] += partial[local + distance]
        distance *= 2
    if local == 0:
        sums[t_idx.tile] = partial[0]


@amp.kernel
def halves(t_idx, values, sums, *, loads: amp.constant):
    """Each thread loads ``loads`` elements with a stride of one tile."""
    partial = amp.tile_static(TILE, amp.float32)
    local = t_idx.local[0]
    start = t_idx.tile[0] * TILE * loads + local
    total = 0.0
    for load in range(loads):
        at = start + load * TILE
        if at < values.extent[0]:
            total += values[at]
    partial[local] = total
    half = TILE // 2
    while half > 0:
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if local < half:
            partial[local] += partial[local + half]
        half //= 2
    if local == 0:
        sums[t_idx.tile] = partial[0]


STEPS: tuple[tuple[str, Any, int, dict[str, int]], ...] = (
    ("1 interleaved", interleaved, 1, {}),
    ("2 halves", halves, 1, {"loads": 1}),
    ("3 two loads", halves, 2, {"loads": 2}),
    ("4 many loads", halves, ROW, {"loads": ROW}),
)


def add_up(
    view: amp.accelerator_view, values: amp.array, kernel: Any, loads: int, constants: dict[str, int]
) -> amp.array:
    """The sum, an array of one element: launches until one tile is enough."""
    while values.extent[0] > 1:
        tiles = -(-values.extent[0] // (TILE * loads))
        sums = amp.array(amp.extent(tiles), amp.float32, accelerator_view=view)
        amp.parallel_for_each(view, amp.extent(tiles * TILE).tile(TILE), kernel, values, sums, **constants)
        values = sums
    return values


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    raw = np.random.default_rng(1).random(options.count, np.float32)
    values = amp.array(amp.array_view(raw), accelerator_view=view)
    expected = raw.sum(dtype=np.float64)
    checks, rates = [], []
    for name, *step in STEPS:
        seconds = gallery.timed(view, name, lambda step=step: add_up(view, values, *step), raw.nbytes, "GB/s")
        rates.append(raw.nbytes / seconds / 1e9)
        found = np.asarray(add_up(view, values, *step))[0]
        checks.append((name, abs(float(found) - expected) / expected, 1e-6))

    def draw(axes: Any) -> None:
        axes.barh([name for name, *_ in STEPS][::-1], rates[::-1], color="#4878a8")
        axes.set_xlabel("GB/s")
        axes.set_title(f"the sum of {options.count} numbers on {view.accelerator.description}", fontsize=10)

    return gallery.Result(checks, [gallery.chart(draw, 640, 300)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("reduction", __doc__ or "", run, argv, count=1 << 20)


if __name__ == "__main__":
    sys.exit(main())
