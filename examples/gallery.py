"""Shared code of the examples: options, timing, comparison with numpy, and pictures."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps

import vkamp as amp

Run = Callable[[amp.accelerator_view, argparse.Namespace], "Result"]


@dataclass(frozen=True)
class Result:
    """The results of an example.

    ``checks``: for each result its name, the largest difference from numpy's, and the tolerance for rounding.
    ``pictures``: one, or the frames of an animation.
    """

    checks: list[tuple[str, float, float]]
    pictures: list[Image.Image]


def main(
    name: str,
    doc: str,
    run: Run,
    argv: Sequence[str] | None,
    add_options: Callable[[argparse.ArgumentParser], None] = lambda _: None,
    **numbers: int,
) -> int:
    """Runs an example as a command; ``numbers`` are its integer options and their defaults, ``add_options`` adds more.

    The exit status is 0 if its results match numpy's, 1 if not, and 2 if it cannot run.
    """
    parser = argparse.ArgumentParser(prog=name, description=doc.splitlines()[0])
    for option, default in numbers.items():
        parser.add_argument(f"--{option}", type=_positive, default=default, help="(default: %(default)s)")
    parser.add_argument("--photo", type=Path, help="a picture, where one is used (default: matplotlib's sample)")
    parser.add_argument("--accelerator", default="default", help="a device: its number, or part of its name")
    add_options(parser)
    parser.add_argument("--output", type=Path, help=f"the picture to write (default: {name}.png)")
    options = parser.parse_args(argv)
    try:
        device = amp.accelerator(options.accelerator)
        print(f"device  {device.description}")
        result = run(device.default_view, options)
        right = True
        for what, difference, tolerance in result.checks:
            same = bool(difference <= tolerance)  # also False for NaN
            right = right and same
            print(f"numpy   {what}: greatest difference {difference:.2g}, {'the same' if same else 'WRONG'}")
        first, *rest = result.pictures
        output = options.output or Path(f"{name}.gif" if rest else f"{name}.png")
        if rest:
            first.save(output, save_all=True, append_images=rest, duration=50, loop=0)
        else:
            first.save(output)
        print(f"wrote   {output}")
    except (amp.AmpError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    return 0 if right else 1


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def timed(
    view: amp.accelerator_view, what: str, work: Callable[[], Any], operations: float = 0, unit: str = ""
) -> float:
    """Prints and returns the seconds that ``work`` takes on the device: the median of five runs after compilation.

    ``operations``: how many ``unit`` that is, in thousand millions per second.
    """
    times = []
    for _ in range(6):
        view.wait()
        started = time.perf_counter()
        work()
        view.wait()
        times.append(time.perf_counter() - started)
    seconds = statistics.median(times[1:])
    rate = f", {operations / seconds / 1e9:.3g} {unit}" if operations else ""
    print(f"run     {what}: {seconds * 1e3:.2f} ms{rate}")
    return seconds


def difference(found: Any, expected: Any) -> float:
    """The largest difference between two arrays of the same shape."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        raise ValueError(f"{found.shape} is not {expected.shape}")
    return float(np.abs(found.astype(np.float64) - expected.astype(np.float64)).max())


def different_part(found: Any, expected: Any, tolerance: float) -> float:
    """The fraction of elements that differ by more than ``tolerance``: thresholds enlarge rounding errors."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        raise ValueError(f"{found.shape} is not {expected.shape}")
    return float(np.mean(np.abs(found - expected) > tolerance))


# -- pictures -----------------------------------------------------------------------------------------------------


def _matplotlib_data() -> Path:
    """The data folder of matplotlib, found without importing matplotlib."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("matplotlib, whose sample picture is the default, is not installed: give --photo")
    return Path(spec.origin).parent / "mpl-data"


def photo(options: argparse.Namespace) -> Image.Image:
    """The chosen photo, upright, in three channels; with an option ``size``, its longer side is that at most."""
    path = options.photo or _matplotlib_data() / "sample_data" / "grace_hopper.jpg"
    with Image.open(path) as picture:
        picture = ImageOps.exif_transpose(picture).convert("RGB")
    size = getattr(options, "size", 0)
    if size:
        picture.thumbnail((size, size))
    return picture


def grey(picture: Image.Image) -> NDArray[np.float32]:
    """The brightness of each pixel, 0 to 1: (rows, columns)."""
    return np.ascontiguousarray(np.asarray(picture.convert("L"), np.float32) / 255)


def digits() -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """scikit-learn's 1,797 handwritten digits: 8 x 8 brightnesses from 0 to 1 in each row, and what they are.

    FileNotFoundError if scikit-learn, which is not imported, is not installed.
    """
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            "scikit-learn, whose digits this example reads, is not installed: pip install scikit-learn"
        )
    numbers = np.loadtxt(Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz", np.float32, delimiter=",")
    return np.ascontiguousarray(numbers[:, :64] / 16), numbers[:, 64].astype(np.int32)


def planes(picture: Image.Image) -> NDArray[np.float32]:
    """The three channels, 0 to 1: (3, rows, columns)."""
    return np.ascontiguousarray(np.moveaxis(np.asarray(picture, np.float32) / 255, 2, 0))


def picture_of(values: NDArray[Any]) -> Image.Image:
    """A picture of values from 0 to 1: (rows, columns), or (3, rows, columns)."""
    pixels = np.rint(np.clip(np.nan_to_num(values), 0, 1) * 255).astype(np.uint8)
    return Image.fromarray(pixels if pixels.ndim == 2 else np.moveaxis(pixels, 0, 2)).convert("RGB")


def coloured(
    values: NDArray[Any], colours: str = "magma", low: float | None = None, high: float | None = None
) -> Image.Image:
    """A picture of numbers (rows, columns) by one of matplotlib's colour maps."""
    from matplotlib import colormaps

    values = np.asarray(values, np.float64)
    low = float(np.nanmin(values)) if low is None else low
    high = float(np.nanmax(values)) if high is None else high
    scaled = (values - low) / ((high - low) or 1.0)
    return picture_of(np.moveaxis(colormaps[colours](scaled)[..., :3], 2, 0))


def chart(draw: Callable[[Any], None], width: int = 560, height: int = 420) -> Image.Image:
    """The picture that ``draw`` draws on an ``Axes`` of matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 100, height / 100), dpi=100, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    draw(figure.add_subplot())
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def side_by_side(pictures: Sequence[Image.Image], titles: Sequence[str]) -> Image.Image:
    """The pictures side by side on white, each below its title."""
    unit = max(12, min(min(p.size) for p in pictures) // 28)
    gap, head = unit, 3 * unit
    width = gap + sum(p.width + gap for p in pictures)
    sheet = Image.new("RGB", (width, head + max(p.height for p in pictures) + gap), "white")
    drawing, left = ImageDraw.Draw(sheet), gap
    for picture, title in zip(pictures, titles, strict=True):
        sheet.paste(picture, (left, head))
        drawing.text((left + picture.width / 2, head / 2), title, fill=(40, 40, 40), font=_font(unit), anchor="mm")
        left += picture.width + gap
    return sheet


def stacked(pictures: Sequence[Image.Image]) -> Image.Image:
    """The pictures below each other on white."""
    sheet = Image.new("RGB", (max(p.width for p in pictures), sum(p.height for p in pictures)), "white")
    top = 0
    for picture in pictures:
        sheet.paste(picture, ((sheet.width - picture.width) // 2, top))
        top += picture.height
    return sheet


def _font(size: int) -> Any:
    try:
        return ImageFont.truetype(str(_matplotlib_data() / "fonts" / "ttf" / "DejaVuSans.ttf"), size)
    except OSError:
        return ImageFont.load_default()
