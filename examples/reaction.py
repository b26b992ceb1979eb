"""Two substances react and spread (Gray and Scott): patterns grow like corals, as an animation without a window.

    python examples/reaction.py [--size 160] [--frames 60] [--accelerator swiftshader]

The two are the components of a float2; a tile loads its part with a halo of one into tile_static memory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gallery
import numpy as np
from numpy.typing import NDArray
from PIL import Image

import vkamp as amp

SIDE = 16
#: Steps between two frames.
STEPS = 60
FEED, KILL = 0.0545, 0.062


@amp.kernel
def react(t_idx, field, following, feed, kill):
    """One step on a torus."""
    around = amp.tile_static((SIDE + 2, SIDE + 2), amp.float2)
    rows, columns = field.extent
    origin = t_idx.tile_origin
    for row in range(t_idx.local[0], SIDE + 2, SIDE):
        for column in range(t_idx.local[1], SIDE + 2, SIDE):
            around[row, column] = field[(origin[0] + row - 1) % rows, (origin[1] + column - 1) % columns]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    r, c = t_idx.local[0] + 1, t_idx.local[1] + 1
    own = around[r, c]
    sides = around[r - 1, c] + around[r + 1, c] + around[r, c - 1] + around[r, c + 1]
    corners = around[r - 1, c - 1] + around[r - 1, c + 1] + around[r + 1, c - 1] + around[r + 1, c + 1]
    spread = 0.2 * sides + 0.05 * corners - own
    reaction = own.x * own.y * own.y
    if field.extent.contains(t_idx.global_):
        following[t_idx] = amp.float2(
            own.x + spread.x - reaction + feed * (1.0 - own.x),
            own.y + 0.5 * spread.y + reaction - (kill + feed) * own.y,
        )


def react_with_numpy(field: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expected result of `react` for an array (rows, columns, 2)."""

    def moved(*ways: tuple[int, int]) -> NDArray[np.float64]:
        return np.asarray(sum(np.roll(field, way, (0, 1)) for way in ways))

    spread = 0.2 * moved((1, 0), (-1, 0), (0, 1), (0, -1)) + 0.05 * moved((1, 1), (1, -1), (-1, 1), (-1, -1)) - field
    x, y = field[..., 0], field[..., 1]
    reaction = x * y * y
    first = x + spread[..., 0] - reaction + FEED * (1 - x)
    return np.stack([first, y + 0.5 * spread[..., 1] + reaction - (KILL + FEED) * y], axis=2)


def start(size: int) -> NDArray[np.float32]:
    """The first substance everywhere, with scattered drops of the second."""
    field = np.zeros((size, size, 2), np.float32)
    field[..., 0] = 1
    random = np.random.default_rng(4)
    for y, x in random.integers(0, size, (12, 2)):
        field[max(y - 3, 0) : y + 4, max(x - 3, 0) : x + 4] = (0.5, 0.5)
    return field


def frame(field: NDArray[np.float32]) -> Image.Image:
    scale = max(1, 320 // field.shape[0])
    second = np.clip(field[..., 1] / 0.4, 0, 1).repeat(scale, 0).repeat(scale, 1)
    return gallery.coloured(second, "YlGnBu_r", 0, 1).quantize(64)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    raw = start(options.size)
    size = amp.extent(options.size, options.size)
    now, following = (amp.array(size, amp.float2, raw, accelerator_view=view) for _ in range(2))
    domain = size.tile(SIDE, SIDE).pad()

    def step() -> None:
        amp.parallel_for_each(view, domain, react, now, following, FEED, KILL)

    gallery.timed(view, f"a step of {options.size} x {options.size} points", step, raw.size / 2, "G points/s")
    checks, expected, frames = [], raw.astype(np.float64), [frame(raw)]
    for number in range(1, options.frames):
        for _ in range(STEPS):
            step()
            now, following = following, now
        if number == 1:
            for _ in range(STEPS):
                expected = react_with_numpy(expected)
            checks.append((f"{STEPS} steps", gallery.difference(np.asarray(now), expected), 1e-4))
        frames.append(frame(np.asarray(now)))
    return gallery.Result(checks, frames)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("reaction", __doc__ or "", run, argv, size=160, frames=60)


if __name__ == "__main__":
    sys.exit(main())
