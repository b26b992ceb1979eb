"""Finds the bright runs of pixels in a picture: a segmented scan and a selection, which the host does not wait for."""

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

LIMIT = 150


def chained(view: amp.accelerator_view, pixels: Any) -> tuple[Any, Any, Any]:
    """For each pixel how many bright ones there are up to it; the positions of the bright ones; the longest run."""
    bright = alg.transform(lambda v: 1 if v > LIMIT else 0, pixels, accelerator_view=view)
    dark = alg.transform(lambda b: 1 - b, bright, dtype=np.uint8)
    # The sum begins again at each dark pixel, whose own flag is 0.
    upto = alg.segmented_scan(bright, dark)
    return upto, alg.nonzero(bright), alg.max(upto)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    picture = gallery.photo(options).convert("L")
    raw = np.asarray(picture).ravel().astype(np.int32)
    pixels = amp.array(raw, accelerator_view=view)
    gallery.timed(view, "pixels", lambda: chained(view, pixels), raw.size, "G pixels/s")
    upto, places, longest = (np.asarray(each) for each in chained(view, pixels))
    bright = raw > LIMIT
    total = np.cumsum(bright)
    expected = total - np.maximum.accumulate(np.where(bright, 0, total))
    shown = (255 * upto.astype(np.float32) / max(int(longest), 1)).astype(np.uint8).reshape(picture.size[::-1])
    sheet = gallery.side_by_side(
        [picture.convert("RGB"), Image.fromarray(shown).convert("RGB")], ("photo", "lengths of bright runs")
    )
    checks = [
        ("lengths", gallery.difference(upto, expected), 0.0),
        ("bright pixels", gallery.difference(places, np.flatnonzero(bright)), 0.0),
        ("longest run", gallery.difference(longest, expected.max()), 0.0),
    ]
    return gallery.Result(checks, [sheet])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("stream_compaction", __doc__ or "", run, argv, size=400)


if __name__ == "__main__":
    sys.exit(main())
