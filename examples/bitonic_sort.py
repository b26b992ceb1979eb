"""Sorts the pixels of each row of a photo by brightness, all rows in one bitonic sort.

    python examples/bitonic_sort.py [--size 256] [--photo PICTURE] [--accelerator swiftshader]

A bitonic network compares elements whose distance is a power of two. What is near is compared in tile_static memory,
many rounds in one launch; what is far in global memory, a launch for each round.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp

TILE = 256
#: The number of elements that a tile sorts: two for each thread.
SPAN = 2 * TILE


@amp.func
def is_wrong(low: amp.uint32, high: amp.uint32, position: amp.int32, run: amp.int32):
    """Whether two elements must be swapped: runs alternately ascend and descend."""
    return (low > high) == ((position & run) == 0)


@amp.kernel
def near(t_idx, keys, first_run, last_run, first_distance):
    """All rounds at distances below SPAN, of the runs from ``first_run`` to ``last_run``."""
    held = amp.tile_static(SPAN, amp.uint32)
    local = t_idx.local[0]
    start = t_idx.tile[0] * SPAN
    held[local] = keys[start + local]
    held[local + TILE] = keys[start + local + TILE]
    run = first_run
    while run <= last_run:
        distance = min(run // 2, first_distance)
        while distance > 0:
            t_idx.barrier.wait_with_tile_static_memory_fence()
            low = 2 * local - (local & (distance - 1))
            a, b = held[low], held[low + distance]
            if is_wrong(a, b, start + low, run):
                held[low] = b
                held[low + distance] = a
            distance //= 2
        run *= 2
    t_idx.barrier.wait_with_tile_static_memory_fence()
    keys[start + local] = held[local]
    keys[start + local + TILE] = held[local + TILE]


@amp.kernel
def far(idx, keys, run, distance):
    """One round: each thread compares one pair."""
    thread = idx[0]
    low = 2 * thread - (thread & (distance - 1))
    a, b = keys[low], keys[low + distance]
    if is_wrong(a, b, low, run):
        keys[low] = b
        keys[low + distance] = a


def sort(view: amp.accelerator_view, keys: amp.array) -> None:
    """Sorts in place; the number of keys is a power of two, and at least SPAN."""
    count = keys.extent[0]
    threads = amp.extent(count // 2)
    amp.parallel_for_each(view, threads.tile(TILE), near, keys, 2, SPAN, SPAN // 2)
    run = 2 * SPAN
    while run <= count:
        distance = run // 2
        while distance >= SPAN:
            amp.parallel_for_each(view, threads, far, keys, run, distance)
            distance //= 2
        amp.parallel_for_each(view, threads.tile(TILE), near, keys, run, run, SPAN // 2)
        run *= 2


def keys_of(picture: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """A key for each pixel: row, brightness, column; padded to a power of two with keys that sort last."""
    rows, columns, _ = picture.shape
    brightness = np.rint(picture @ np.array([0.299, 0.587, 0.114])).astype(np.uint32)
    row, column = np.indices((rows, columns), np.uint32)
    keys = (row << 20) | (brightness << 12) | column
    size = max(SPAN, 1 << (keys.size - 1).bit_length())
    return np.concatenate([keys.ravel(), np.full(size - keys.size, 0xFFFFFFFF, np.uint32)])


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    picture = np.asarray(gallery.photo(options))
    rows, columns, _ = picture.shape
    if rows > 4095 or columns > 4095:
        raise amp.AmpError("a picture of at most 4095 x 4095 pixels: give a smaller --size")
    raw = keys_of(picture)
    scratch = amp.array(amp.array_view(raw), accelerator_view=view)
    gallery.timed(view, f"{raw.size} keys", lambda: sort(view, scratch), raw.size, "G keys/s")
    keys = amp.array(amp.array_view(raw), accelerator_view=view)
    sort(view, keys)
    found = np.asarray(keys)
    column = (found[: rows * columns] & 0xFFF).reshape(rows, columns)
    result = np.take_along_axis(picture, column[..., None].astype(np.int64), axis=1)
    images = [gallery.picture_of(np.moveaxis(p, 2, 0) / 255) for p in (picture, result)]
    checks = [("sorted keys", gallery.difference(found, np.sort(raw)), 0)]
    return gallery.Result(checks, [gallery.side_by_side(images, ("photo", "rows by brightness"))])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("bitonic_sort", __doc__ or "", run, argv, size=256)


if __name__ == "__main__":
    sys.exit(main())
