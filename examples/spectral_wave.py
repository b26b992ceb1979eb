"""Waves that a lens bends, as an animation: each step computes the derivatives in the frequency domain.

    python examples/spectral_wave.py [--size 192] [--frames 60] [--accelerator swiftshader]

The Laplacian of the waves is the inverse transform of -|k|^2 times their transform: exact for all waves that the points
resolve, where differences of neighbours make short waves too slow. The steps between two frames are captured once and
replayed. In a notebook, `IPython.display.Image("spectral_wave.gif")` shows the animation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np
from numpy.typing import NDArray
from PIL import Image

import vkamp as amp
from vkamp import fft

#: Steps between two frames, which are even; time steps in distances of points; the speed of waves in the lens.
STEPS, TIME, SLOW = 8, 0.4, 0.6


@amp.kernel
def differentiate(idx, spectrum):
    """Multiplies each frequency by -|k|^2."""
    rows, columns = spectrum.extent[0], 2 * (spectrum.extent[1] - 1)
    vertical = idx[0] if 2 * idx[0] <= rows else idx[0] - rows
    ky = 6.2831853 / rows * vertical
    kx = 6.2831853 / columns * idx[1]
    spectrum[idx] = spectrum[idx] * -(ky * ky + kx * kx)


@amp.kernel
def advance(idx, now, laplacian, speed, before):
    """One step of time: `before` becomes the waves after `now`."""
    distance = TIME * speed[idx]
    before[idx] = 2.0 * now[idx] - before[idx] + distance * distance * laplacian[idx]


def advance_with_numpy(now: Any, before: Any, speed: Any) -> Any:
    """The expected result of a step, in double precision."""
    rows, columns = now.shape
    ky, kx = 2 * np.pi * np.fft.fftfreq(rows)[:, None], 2 * np.pi * np.fft.rfftfreq(columns)
    laplacian = np.fft.irfft2(-(ky**2 + kx**2) * np.fft.rfft2(now), (rows, columns))
    return 2 * now - before + (TIME * speed) ** 2 * laplacian


def start(size: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """A packet of waves on its way to the right, the same one step earlier, and the speed: slow in a round lens."""
    y, x = np.indices((size, size)) / size

    def packet(at: float) -> NDArray[np.float32]:
        wave = np.cos(2 * np.pi * 24 * (x - at)) * np.exp(-(((x - at) / 0.06) ** 2)) * np.exp(-(((y - 0.5) / 0.3) ** 6))
        return wave.astype(np.float32)

    edge = (np.hypot(x - 0.5, y - 0.5) - 0.17) * size
    speed = 1 - (1 - SLOW) / (1 + np.exp(np.clip(edge, -30, 30)))
    return packet(0.17), packet(0.17 - TIME / size), speed.astype(np.float32)


def frame(waves: Any, speed: NDArray[np.float32]) -> Image.Image:
    """The waves, with the lens below them."""
    scale = max(1, 384 // speed.shape[0])
    shown = np.asarray(gallery.coloured(waves, "RdBu", -1, 1), np.float32) * (0.82 + 0.18 * speed[..., None])
    picture = Image.fromarray(shown.astype(np.uint8))
    return picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.BICUBIC).quantize(96)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    size = options.size + options.size % 2
    waves, earlier, speeds = start(size)
    now, before, speed = (amp.array(values, accelerator_view=view) for values in (waves, earlier, speeds))

    def steps() -> None:
        ends = [now, before]
        for _ in range(STEPS):
            spectrum = fft.rfft2(ends[0])
            amp.parallel_for_each(view, spectrum.extent, differentiate, spectrum)
            laplacian = fft.irfft2(spectrum, (size, size))
            amp.parallel_for_each(view, ends[0].extent, advance, ends[0], laplacian, speed, ends[1])
            ends.reverse()

    with amp.capture() as graph:
        steps()
    expected, of_before = waves.astype(np.float64), earlier.astype(np.float64)
    checks, frames = [], [frame(waves, speeds)]
    for number in range(1, options.frames):
        graph.replay()
        found = np.asarray(now)
        if number <= 3:
            for _ in range(STEPS):
                expected, of_before = advance_with_numpy(expected, of_before, speeds), expected
            if number in (1, 3):
                checks.append((f"{number * STEPS} steps", gallery.difference(found, expected), 1e-4))
        frames.append(frame(found, speeds))
    gallery.timed(view, f"{STEPS} steps of {size} x {size} points", graph.replay, STEPS * size * size, "G points/s")
    return gallery.Result(checks, frames)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("spectral_wave", __doc__ or "", run, argv, size=192, frames=60)


if __name__ == "__main__":
    sys.exit(main())
