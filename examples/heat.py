"""Heat spreads in a plate: a stencil with a halo in tile_static memory.

    python examples/heat.py [--size 256] [--steps 2000] [--accelerator swiftshader]

The plate's border is held at its temperature. Each launch does four steps: a tile loads its part with a halo of four,
and computes in every step what the next one needs, so that global memory is read once instead of four times.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp

#: Steps in a launch, and the halo that they use up.
STEPS = 4
SIDE = 16
#: The points of a tile that are valid after all steps.
CORE = SIDE - 2 * STEPS


@amp.kernel(precise=True)
def spread(t_idx, plate, result, rate):
    """Computes STEPS steps. A tile of SIDE x SIDE threads computes CORE x CORE points; tiles overlap."""
    heat = amp.tile_static((2, SIDE, SIDE), amp.float32)
    rows, columns = plate.extent
    y = t_idx.tile[0] * CORE + t_idx.local[0] - STEPS
    x = t_idx.tile[1] * CORE + t_idx.local[1] - STEPS
    r, c = t_idx.local
    is_on_plate = y >= 0 and y < rows and x >= 0 and x < columns
    is_held = not is_on_plate or y == 0 or y == rows - 1 or x == 0 or x == columns - 1
    heat[0, r, c] = plate[y, x] if is_on_plate else 0.0
    for step in amp.static_range(STEPS):
        now = step % 2
        t_idx.barrier.wait_with_tile_static_memory_fence()
        own = heat[now, r, c]
        if r > 0 and r < SIDE - 1 and c > 0 and c < SIDE - 1 and not is_held:
            around = heat[now, r - 1, c] + heat[now, r + 1, c] + heat[now, r, c - 1] + heat[now, r, c + 1]
            own = own + rate * (around - 4.0 * own)
        heat[1 - now, r, c] = own
    is_core = r >= STEPS and r < SIDE - STEPS and c >= STEPS and c < SIDE - STEPS
    if is_core and is_on_plate:
        result[y, x] = heat[STEPS % 2, r, c]


def spread_with_numpy(plate: NDArray[np.float32], rate: float, steps: int) -> NDArray[np.float32]:
    """The same steps in numpy, with the same rounding."""
    plate, rate32 = plate.copy(), np.float32(rate)
    for _ in range(steps):
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = plate[1:-1, 1:-1] + rate32 * (around - np.float32(4) * plate[1:-1, 1:-1])
    return plate


def heated(size: int) -> NDArray[np.float32]:
    """A cold plate with a hot border on the left, a warm one below, and hot discs."""
    y, x = np.indices((size, size)) / max(size - 1, 1)
    plate = np.zeros((size, size), np.float32)
    for cy, cx, radius, value in ((0.3, 0.35, 0.12, 1.0), (0.65, 0.7, 0.18, 0.8), (0.25, 0.8, 0.06, 1.0)):
        plate[(y - cy) ** 2 + (x - cx) ** 2 < radius**2] = value
    plate[:, 0] = 1
    plate[-1] = 0.5
    return plate


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    raw, rate = heated(options.size), 0.2
    launches = -(-options.steps // STEPS)
    now = amp.array(amp.array_view(raw), accelerator_view=view)
    result = amp.array(now.extent, amp.float32, accelerator_view=view)
    tiles = -(-options.size // CORE)
    domain = amp.extent(tiles * SIDE, tiles * SIDE).tile(SIDE, SIDE)

    def four() -> None:
        amp.parallel_for_each(view, domain, spread, now, result, rate)

    work = STEPS * raw.size
    gallery.timed(view, f"{STEPS} steps of {options.size} x {options.size} points", four, work, "G points/s")
    pictures, titles = [gallery.coloured(raw, "inferno", 0, 1)], ["start"]
    for launch in range(1, launches + 1):
        four()
        now, result = result, now
        if launch in (max(1, launches // 10), launches):
            pictures.append(gallery.coloured(np.asarray(now), "inferno", 0, 1))
            titles.append(f"after {launch * STEPS} steps")
    expected = spread_with_numpy(raw, rate, launches * STEPS)
    checks = [("temperatures", gallery.difference(now, expected), 1e-6)]
    return gallery.Result(checks, [gallery.side_by_side(pictures, titles)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("heat", __doc__ or "", run, argv, size=256, steps=2000)


if __name__ == "__main__":
    sys.exit(main())
