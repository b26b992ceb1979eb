"""The spectrogram of a sound: overlapping windows, one Fourier transform of each, and their decibels.

    python examples/spectrogram.py [--seconds 8] [--window 1024] [--hop 128] [--accelerator swiftshader]

The windows are not stored: the transform loads each of their elements from the sound, by a lazy input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp import fft
from vkamp.algorithms import lazy

#: Samples in a second, and the smallest level that is shown, in decibels below the loudest.
RATE, SILENCE = 16_000, -80.0


@amp.kernel
def level(idx, spectra, levels, loudest):
    """The power of each frequency in decibels; frequencies in rows, the highest first."""
    z = spectra[idx]
    power = (z.real * z.real + z.imag * z.imag) / (loudest * loudest)
    decibels = 4.342945 * amp.precise_math.log(max(power, 1e-12))
    levels[spectra.extent[1] - 1 - idx[1], idx[0]] = max(decibels, SILENCE)


class Windows(lazy.Lazy):
    """The windows of a sound as rows, ``hop`` samples apart, times the window's weights."""

    def __init__(self, sound: Any, weights: Any, hop: int) -> None:
        length = weights.extent[0]
        super().__init__(((sound.extent[0] - length) // hop + 1, length))
        self.sound, self.weights, self.hop = sound, weights, hop

    @amp.func
    def value(self, i):
        """An element of a window."""
        return self.sound[i[0] * self.hop + i[1]] * self.weights[i[1]]


def sound_of(seconds: int) -> NDArray[np.float32]:
    """A siren, a voice with overtones and vibrato, calls of a bird, and some noise."""
    t = np.arange(seconds * RATE) / RATE
    siren = np.sin(2 * np.pi * (1400 * t + 500 / 0.8 * np.cos(0.8 * t)))
    base = np.cumsum(220 * 2 ** (np.floor(t * 1.5) % 5 / 12) + 6 * np.sin(2 * np.pi * 5.5 * t)) / RATE
    voice = sum(np.sin(2 * np.pi * k * base) / k**1.2 for k in range(1, 12))
    call = t % 1.3
    bird = np.sin(2 * np.pi * (4200 * call + 5200 * call**2)) * (np.sin(np.pi * call / 0.28) * (call < 0.28)) ** 2
    noise = np.random.default_rng(3).standard_normal(t.size)
    return (0.3 * siren + 0.3 * voice + 0.5 * bird + 0.003 * noise).astype(np.float32)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    raw, weights = sound_of(options.seconds), np.hanning(options.window + 1)[:-1].astype(np.float32)
    loudest = float(weights.sum() / 2)
    sound, given = (amp.array(values, accelerator_view=view) for values in (raw, weights))
    windows = Windows(sound, given, options.hop)
    levels = amp.array(amp.extent(options.window // 2 + 1, windows.extent[0]), amp.float32, accelerator_view=view)

    def spectrogram() -> None:
        spectra = fft.rfft(windows, accelerator_view=view)
        amp.parallel_for_each(view, spectra.extent, level, spectra, levels, loudest)

    gallery.timed(view, f"{windows.extent[0]} windows", spectrogram, windows.extent.size(), "G values/s")
    found = np.asarray(levels)
    rows = np.lib.stride_tricks.sliding_window_view(raw, options.window)[:: options.hop].astype(np.float64) * weights
    power = np.abs(np.fft.rfft(rows)) ** 2 / loudest**2
    expected = np.maximum(10 * np.log10(np.maximum(power, 1e-12)), SILENCE).T[::-1]

    def draw(axes: Any) -> None:
        extent = (0, raw.size / RATE, 0, RATE / 2000)
        image = axes.imshow(found, aspect="auto", extent=extent, cmap="magma", vmin=SILENCE, vmax=0)
        axes.set(xlabel="seconds", ylabel="kHz")
        axes.figure.colorbar(image, label="dB")

    return gallery.Result([("levels in dB", gallery.difference(found, expected), 0.1)], [gallery.chart(draw, 900, 420)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("spectrogram", __doc__ or "", run, argv, seconds=8, window=1024, hop=128)


if __name__ == "__main__":
    sys.exit(main())
