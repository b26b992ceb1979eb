"""Averages a photo in tiles, and saves the result next to the original in one picture.

    python examples/tile_average.py [IMAGE] [--tile 16] [--accelerator swiftshader] [--output tile_average.png]

Each tile of the picture is one tile of threads: every thread loads one pixel into tile_static memory, and after the
barrier one thread of the tile adds them up. numpy does the same for comparison; the exit status is 1 if the results
differ.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps

import vkamp as amp

Planes = NDArray[np.float32]  # (channels, rows, columns)

# Sums of whole numbers are exact in float32 here; the only difference is the rounding of the division.
TOLERANCE = 1e-3


@amp.kernel
def tile_average(t_idx, channel, averages):
    """Each tile's average; padding threads are outside the picture and load nothing."""
    tile_values = amp.tile_static(t_idx.tile_extent, amp.float32)
    if channel.extent.contains(t_idx.global_):
        tile_values[t_idx.local] = channel[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        rows = min(t_idx.tile_dim0, channel.extent[0] - t_idx.tile_origin[0])
        cols = min(t_idx.tile_dim1, channel.extent[1] - t_idx.tile_origin[1])
        total = 0.0
        for row in range(rows):
            for col in range(cols):
                total += tile_values[row, col]
        averages[t_idx.tile] = total / (rows * cols)


def average_tiles(view: amp.accelerator_view, planes: Planes, tile: tuple[int, int]) -> Planes:
    """The averages of all channels, one launch each, on the device of `view`."""
    domain = amp.extent(*planes.shape[1:]).tile(*tile).pad()
    tiles = amp.extent(domain[0] // tile[0], domain[1] // tile[1])
    results = []
    for plane in planes:
        channel = amp.array_view(plane, readonly=True)
        averages = amp.array(tiles, amp.float32, accelerator_view=view)
        amp.parallel_for_each(view, domain, tile_average, channel, averages)
        results.append(averages)
    # This waits for the launches.
    return np.stack([np.asarray(averages) for averages in results])


def average_tiles_with_numpy(planes: Planes, tile: tuple[int, int]) -> NDArray[np.float64]:
    """The expected result of `average_tiles`."""
    total: NDArray[Any] = planes.astype(np.float64)
    count: NDArray[Any] = np.ones(planes.shape[1:])
    for axis, size in enumerate(tile):
        starts = np.arange(0, count.shape[axis], size)
        total = np.add.reduceat(total, starts, axis + 1)
        count = np.add.reduceat(count, starts, axis)
    return total / count


def compile_for(view: amp.accelerator_view, planes: Planes, tile: tuple[int, int]) -> None:
    """Compiles the kernel for these planes to SPIR-V without running it."""
    domain = amp.extent(*planes.shape[1:]).tile(*tile).pad()
    channel = amp.array_view(planes[0], readonly=True)
    averages = amp.array(amp.extent(1, 1), amp.float32, accelerator_view=view)
    _ = tile_average.inspect(view, domain, channel, averages).spirv


def milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """The time that `work` takes, and its result."""
    started = time.perf_counter()
    result = work()
    return (time.perf_counter() - started) * 1e3, result


# -- pictures -----------------------------------------------------------------------------------------------------


def matplotlib_data() -> Path:
    """The data folder of matplotlib, found without importing matplotlib, which is slow."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("matplotlib, whose sample picture is the default, is not installed: name a picture")
    return Path(spec.origin).parent / "mpl-data"


def load(path: Path) -> Image.Image:
    """The picture, upright, in three channels."""
    with Image.open(path) as picture:
        return ImageOps.exif_transpose(picture).convert("RGB")


def to_planes(picture: Image.Image) -> Planes:
    """(channels, rows, columns), contiguous."""
    return np.ascontiguousarray(np.moveaxis(np.asarray(picture, np.float32), 2, 0))


def mosaic(averages: Planes, tile: tuple[int, int], size: tuple[int, int]) -> Image.Image:
    """A picture of (width, height) `size` in which every tile has its average colour."""
    colours = np.moveaxis(np.rint(averages).astype(np.uint8), 0, 2)
    pixels = colours.repeat(tile[0], 0).repeat(tile[1], 1)
    return Image.fromarray(pixels).crop((0, 0, *size))


def font(size: int) -> Any:
    """matplotlib's font, else Pillow's own."""
    try:
        return ImageFont.truetype(str(matplotlib_data() / "fonts" / "ttf" / "DejaVuSans.ttf"), size)
    except OSError:
        return ImageFont.load_default()


def side_by_side(pictures: Sequence[Image.Image], titles: Sequence[str]) -> Image.Image:
    """The pictures side by side on white, each below its title."""
    width, height = pictures[0].size
    unit = max(12, min(width, height) // 28)
    gap, head = unit, 3 * unit
    sheet = Image.new("RGB", (gap + len(pictures) * (width + gap), head + height + gap), "white")
    draw = ImageDraw.Draw(sheet)
    for number, (picture, title) in enumerate(zip(pictures, titles, strict=True)):
        left = gap + number * (width + gap)
        sheet.paste(picture, (left, head))
        draw.text((left + width / 2, head / 2), title, fill=(40, 40, 40), font=font(unit), anchor="mm")
    return sheet


# -- the command --------------------------------------------------------------------------------------------------


def tile_size(text: str) -> tuple[int, int]:
    """`16` or `8x32` as rows and columns."""
    match = re.fullmatch(r"(\d+)(?:x(\d+))?", text)
    size = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if min(size) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no tile size: write 16, or ROWSxCOLUMNS")
    return size


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("image", nargs="?", type=Path, help="the picture (default: matplotlib's grace_hopper.jpg)")
    parser.add_argument("--tile", type=tile_size, default=(16, 16), help="16, or ROWSxCOLUMNS (default: 16)")
    parser.add_argument("--accelerator", default="default", help="a device: its number, or part of its name")
    parser.add_argument("--output", type=Path, default=Path("tile_average.png"), help="(default: %(default)s)")
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> bool:
    """Runs everything; returns whether the device and numpy agree."""
    device = amp.accelerator(options.accelerator)
    view, tile = device.default_view, options.tile
    path = options.image or matplotlib_data() / "sample_data" / "grace_hopper.jpg"
    picture = load(path)
    planes = to_planes(picture)
    size, tile_text = "{} x {}".format(*picture.size), f"{tile[0]} x {tile[1]}"
    print(f"device   {device.description} ({device.device_path})")
    print(f"picture  {path.name}, {size}, in tiles of {tile_text}")

    compiling, _ = milliseconds(lambda: compile_for(view, planes, tile))
    first, averages = milliseconds(lambda: average_tiles(view, planes, tile))
    again, _ = milliseconds(lambda: average_tiles(view, planes, tile))
    print(f"compile  {compiling:.1f} ms to SPIR-V")
    print(f"run      {first:.1f} ms the first time, {again:.1f} ms again (three channels, copies in and out)")

    difference = np.abs(averages - average_tiles_with_numpy(planes, tile)).max()
    right = bool(difference <= TOLERANCE)  # also False for NaN
    print(f"numpy    greatest difference {difference:.2g} of 255: {'the same' if right else 'WRONG'}")

    result = mosaic(averages, tile, picture.size)
    titles = (f"{path.stem}, {size}", f"averaged in tiles of {tile_text}")
    side_by_side([picture, result], titles).save(options.output)
    print(f"wrote    {options.output}")
    return right


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's averages match numpy's."""
    options = parse(argv)
    try:
        return 0 if run(options) else 1
    except (amp.AmpError, OSError) as error:
        print(f"tile_average: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
