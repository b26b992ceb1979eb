"""A random terrain: white noise, filtered in the frequency domain, and lit from one side.

    python examples/terrain.py [--size 512] [--seed 5] [--accelerator swiftshader]

Each frequency k of the noise is weakened by 1/|k|^s, as in the heights of mountains. The left edge of the
terrain fits the right one, and the upper edge the lower one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp import fft, rng

#: The exponent s; the height of the water, in deviations of the heights; how high mountains are for their width.
ROUGHNESS, WATER, STEEPNESS = 2.1, -0.3, 0.06


@amp.kernel
def weaken(idx, spectrum, exponent):
    """Multiplies each frequency by its distance from zero to the power of -exponent; removes the mean."""
    rows = spectrum.extent[0]
    vertical = idx[0] if 2 * idx[0] <= rows else idx[0] - rows
    square = amp.float32(vertical * vertical + idx[1] * idx[1])
    factor = amp.fast_math.exp(-0.5 * exponent * amp.fast_math.log(max(square, 1.0)))
    spectrum[idx] = spectrum[idx] * (factor if square > 0.0 else 0.0)


@amp.func
def between(low, high, share):
    return low + (high - low) * min(max(share, 0.0), 1.0)


@amp.kernel
def light(idx, heights, deviation, picture):
    """The colour of each point: by its height, and by the angle between its slope and the light."""
    rows, columns = heights.extent
    y, x = idx[0], idx[1]
    height = heights[y, x] / deviation
    steepness = STEEPNESS * amp.float32(columns) / deviation
    east = heights[y, (x + 1) % columns] - heights[y, (x - 1 + columns) % columns]
    south = heights[(y + 1) % rows, x] - heights[(y - 1 + rows) % rows, x]
    normal = amp.float3(-steepness * east, -steepness * south, 1.0)
    length = amp.fast_math.sqrt(normal.x * normal.x + normal.y * normal.y + normal.z * normal.z)
    brightness = (-0.55 * normal.x - 0.45 * normal.y + 0.7 * normal.z) / length
    grass, rock, snow = amp.float3(0.36, 0.5, 0.2), amp.float3(0.5, 0.43, 0.36), amp.float3(0.97, 0.97, 1.0)
    above = height - WATER
    land = between(between(grass, rock, 2.5 * above - 0.6), snow, 3.0 * above - 5.0)
    colour = land * between(0.25, 1.25, brightness)
    if above < 0.0:
        colour = between(amp.float3(0.2, 0.45, 0.6), amp.float3(0.05, 0.15, 0.35), -1.2 * above)
    picture[0, y, x], picture[1, y, x], picture[2, y, x] = colour.x, colour.y, colour.z


def heights_of(view: amp.accelerator_view, noise: Any) -> Any:
    """The heights that white noise becomes."""
    rows, columns = noise.extent
    spectrum = fft.rfft2(noise)
    amp.parallel_for_each(view, spectrum.extent, weaken, spectrum, ROUGHNESS)
    return fft.irfft2(spectrum, (rows, columns))


def heights_with_numpy(noise: Any) -> Any:
    """The expected result of `heights_of`."""
    rows, columns = noise.shape
    vertical = np.fft.fftfreq(rows, 1 / rows)[:, None]
    square = vertical**2 + np.arange(columns // 2 + 1) ** 2
    factor = np.where(square > 0, np.maximum(square, 1) ** (-ROUGHNESS / 2), 0)
    return np.fft.irfft2(np.fft.rfft2(noise.astype(np.float64)) * factor, (rows, columns))


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    size = options.size
    random = rng.Generator(rng.Philox(options.seed), view)
    noise = random.standard_normal((size, size))

    def terrain() -> tuple[Any, Any]:
        heights = heights_of(view, noise)
        picture = amp.array(amp.extent(3, size, size), amp.float32, accelerator_view=view)
        # The deviation stays on the device: the kernel reads it there.
        amp.parallel_for_each(view, heights.extent, light, heights, alg.std(heights), picture)
        return heights, picture

    gallery.timed(view, f"{size} x {size} points", terrain, size * size, "G points/s")
    heights, picture = terrain()
    raw, found = np.asarray(noise), np.asarray(heights)
    expected = heights_with_numpy(raw)
    sheet = gallery.side_by_side(
        [
            gallery.coloured(raw, "gray", -3, 3),
            gallery.coloured(found, "terrain"),
            gallery.picture_of(np.asarray(picture)),
        ],
        ("noise", "heights", "terrain"),
    )
    return gallery.Result([("heights", gallery.difference(found, expected) / expected.std(), 1e-4)], [sheet])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("terrain", __doc__ or "", run, argv, size=512, seed=5)


if __name__ == "__main__":
    sys.exit(main())
