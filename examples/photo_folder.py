"""A filter over a folder of pictures, one task for each picture, with a progress bar.

    python examples/photo_folder.py [--count 24] [--size 256] [--folder pictures] [--scheduler tcp://...]

Without a folder the example makes its own pictures, in a temporary one. A task reads a picture, makes a drawing of it
on its worker's device (the edges by Sobel's operator over the colours in few steps), and writes it beside the picture.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import cluster
import dask
import gallery
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

import vkamp as amp

LEVELS = 5
SUFFIX = ".drawing.png"


@amp.func
def brightness(pixels, y, x):
    """That of the nearest pixel of the picture."""
    r = min(max(y, 0), pixels.extent[1] - 1)
    c = min(max(x, 0), pixels.extent[2] - 1)
    return pixels[0, r, c] + pixels[1, r, c] + pixels[2, r, c]


@amp.kernel
def draw(idx, pixels, out):
    """Colours in LEVELS steps, darkened where Sobel's operator finds an edge; planes of float32 from 0 to 1."""
    y, x = idx[0], idx[1]
    down = brightness(pixels, y + 1, x - 1) + 2.0 * brightness(pixels, y + 1, x) + brightness(pixels, y + 1, x + 1)
    up = brightness(pixels, y - 1, x - 1) + 2.0 * brightness(pixels, y - 1, x) + brightness(pixels, y - 1, x + 1)
    right = brightness(pixels, y - 1, x + 1) + 2.0 * brightness(pixels, y, x + 1) + brightness(pixels, y + 1, x + 1)
    left = brightness(pixels, y - 1, x - 1) + 2.0 * brightness(pixels, y, x - 1) + brightness(pixels, y + 1, x - 1)
    edge = amp.fast_math.sqrt((down - up) * (down - up) + (right - left) * (right - left))
    ink = 1.0 - min(edge * 0.25, 1.0)
    for k in range(3):
        out[k, y, x] = ink * (amp.fast_math.floor(pixels[k, y, x] * (LEVELS - 1.0) + 0.5) / (LEVELS - 1.0))


def draw_with_numpy(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same in numpy."""
    b = np.pad(pixels.sum(0), 1, mode="edge")
    down = b[2:, :-2] + 2 * b[2:, 1:-1] + b[2:, 2:] - b[:-2, :-2] - 2 * b[:-2, 1:-1] - b[:-2, 2:]
    right = b[:-2, 2:] + 2 * b[1:-1, 2:] + b[2:, 2:] - b[:-2, :-2] - 2 * b[1:-1, :-2] - b[2:, :-2]
    ink = 1 - np.minimum(np.sqrt(down**2 + right**2) * 0.25, 1)
    return (ink * np.floor(pixels * (LEVELS - 1) + 0.5) / (LEVELS - 1)).astype(np.float32)


def drawn(path: str) -> str:
    """One task: reads a picture, and writes its drawing."""
    with Image.open(path) as picture:
        planes = np.ascontiguousarray(np.moveaxis(np.asarray(picture.convert("RGB"), np.float32) / 255, 2, 0))
    out = amp.array(amp.extent(planes.shape), amp.float32)
    amp.parallel_for_each(amp.extent(planes.shape[1:]), draw, amp.array_view(planes, readonly=True), out)
    pixels = np.rint(np.moveaxis(np.asarray(out), 0, 2) * 255).astype(np.uint8)
    target = path + SUFFIX
    Image.fromarray(pixels).save(target)
    return target


def make_pictures(folder: Path, count: int, size: int) -> list[Path]:
    """Landscapes of random hills, under random suns."""
    made = []
    for number in range(count):
        random = np.random.default_rng(number)
        height = size * 3 // 4
        picture = Image.new("RGB", (size, height), (90 + number % 5 * 20, 140, 200))
        drawing = ImageDraw.Draw(picture)
        x, y, radius = (int(v) for v in random.uniform((0.2, 0.1, 0.05), (0.8, 0.4, 0.12)) * size)
        drawing.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(250, 220, 120))
        for depth in range(4):
            waves = random.uniform(1, 4, 3), random.uniform(0, 6, 3), random.uniform(0.02, 0.08, 3)
            at = np.arange(size) / size
            hills = sum(a * np.sin(6 * f * at + p) for f, p, a in zip(*waves, strict=True))
            edge = height * (0.45 + 0.13 * depth) - size * hills
            outline = [(0, height), *zip(range(size), edge.tolist(), strict=True), (size, height)]
            drawing.polygon(outline, fill=(60 + 20 * depth, 150 - 25 * depth, 70 + 5 * depth))
        made.append(folder / f"landscape{number:03}.png")
        picture.filter(ImageFilter.GaussianBlur(1)).save(made[-1])
    return made


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    with tempfile.TemporaryDirectory() as temporary, cluster.started(options) as client:
        if options.folder is None:
            found = make_pictures(Path(temporary), options.count, options.size)
        else:
            names = sorted(p for p in options.folder.iterdir() if p.suffix.lower() in (".png", ".jpg", ".jpeg"))
            found = [p for p in names if not p.name.endswith(SUFFIX)]
            if not found:
                raise FileNotFoundError(f"no pictures in {options.folder}")
        started = time.perf_counter()
        targets = cluster.with_progress(client, *(dask.delayed(drawn)(str(path)) for path in found))
        seconds = time.perf_counter() - started
        print(f"run     {len(found)} pictures: {seconds:.2f} s, {len(found) / seconds:.3g} pictures/s")
        worst = 0.0
        pictures = []
        for path, target in zip(found, targets, strict=True):
            with Image.open(path) as before, Image.open(target) as after:
                expected = draw_with_numpy(gallery.planes(before.convert("RGB")))
                worst = max(worst, gallery.different_part(gallery.planes(after), expected, 1.5 / 255))
                pictures += [before.convert("RGB"), after.convert("RGB")] if len(pictures) < 4 else []
    titles = [title for k in range(len(pictures) // 2) for title in (found[k].name, "drawing")]
    checks = [("the largest part of a picture's pixels that differ", worst, 0.01)]
    return gallery.Result(checks, [gallery.side_by_side(pictures, titles)])


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options beside the numbers."""
    cluster.add_options(parser)
    parser.add_argument("--folder", type=Path, help="a folder of pictures (default: pictures that the example makes)")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the drawings match numpy's."""
    return gallery.main("photo_folder", __doc__ or "", run, argv, add_options, count=24, size=256)


if __name__ == "__main__":
    sys.exit(main())
