"""Sharpens a picture in the frequency domain: fft2, a filter, ifft2, of all three colours at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np
from PIL import Image

import vkamp as amp
from vkamp import algorithms as alg
from vkamp import fft

#: How much the highest frequencies gain, and the fraction of the highest frequency at which half of that is reached.
GAIN, HALF = 1.5, 0.25


@amp.kernel
def emphasize(idx, spectrum, rows, columns):
    """Multiplies each frequency by 1 + GAIN * (1 - a Gaussian of it)."""
    vertical, horizontal = idx[1], idx[2]
    if vertical > rows // 2:
        vertical = vertical - rows
    v = 2.0 * vertical / rows
    h = 2.0 * horizontal / columns
    low = amp.fast_math.exp(-0.693147 * (v * v + h * h) / (HALF * HALF))
    spectrum[idx] = spectrum[idx] * (1.0 + GAIN * (1.0 - low))


def sharpened(view: amp.accelerator_view, planes: Any) -> Any:
    """The planes, of extent (3, rows, columns), with their high frequencies emphasized."""
    _, rows, columns = planes.extent
    spectrum = fft.rfft2(planes)
    amp.parallel_for_each(view, spectrum.extent, emphasize, spectrum, rows, columns)
    return alg.transform(lambda v: min(max(v, 0.0), 255.0), fft.irfft2(spectrum, (rows, columns)))


def in_numpy(planes: Any) -> Any:
    """The same in double precision."""
    rows, columns = planes.shape[1:]
    v, h = 2 * np.fft.fftfreq(rows)[:, None], 2 * np.fft.rfftfreq(columns)[None]
    gain = 1 + GAIN * (1 - np.exp(-0.693147 * (v * v + h * h) / HALF**2))
    return np.clip(np.fft.irfft2(np.fft.rfft2(planes.astype(np.float64)) * gain, (rows, columns)), 0, 255)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    picture = gallery.photo(options).convert("RGB")
    raw = np.ascontiguousarray(np.moveaxis(np.asarray(picture), 2, 0).astype(np.float32))
    planes = amp.array(raw, accelerator_view=view)
    gallery.timed(view, "pixels", lambda: sharpened(view, planes), raw.size, "G values/s")
    found = np.asarray(sharpened(view, planes))
    shown = Image.fromarray(np.moveaxis(found, 0, 2).round().astype(np.uint8))
    sheet = gallery.side_by_side([picture, shown], ("photo", "sharpened"))
    return gallery.Result([("values", gallery.difference(found, in_numpy(raw)), 0.02)], [sheet])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("sharpen", __doc__ or "", run, argv, size=400)


if __name__ == "__main__":
    sys.exit(main())
