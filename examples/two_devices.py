"""A matrix product on all devices at once: each gets rows in proportion to its speed.

    python examples/two_devices.py [--size 768] [--pieces 6] [--accelerator nvidia]

The devices are those of the chosen one's kind: all GPUs, or all CPU drivers. Each one multiplies a strip of rows, which
measures its speed. The rows are divided by speed, and each device gets its strip in pieces. A launch returns at
once, so that one thread of the host keeps all devices busy. The picture shows when each piece was ready.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import gallery
import numpy as np
from matrix_product import SIDE, blurring, product
from numpy.typing import NDArray

import vkamp as amp

Rows = tuple[int, int]


class Worker:
    """A device with the right factor in its memory."""

    def __init__(self, view: amp.accelerator_view, right: NDArray[np.float32]) -> None:
        self.view = view
        self.right = amp.array(right, accelerator_view=view)

    def multiply(self, left: NDArray[np.float32], result: NDArray[np.float32], rows: Rows) -> amp.array_view:
        """Launches ``result[rows] = left[rows] @ right``; returns the view of the result's rows."""
        source = amp.array_view(left[slice(*rows)], readonly=True)
        target = amp.array_view(result[slice(*rows)])
        target.discard_data()
        amp.parallel_for_each(self.view, target.extent.tile(SIDE, SIDE).pad(), product, source, self.right, target)
        return target

    def speed(self, left: NDArray[np.float32], rows: int) -> float:
        """Rows per second: the second of two strips, since the first one's time includes the compiler's."""
        scratch = np.empty((rows, self.right.extent[1]), np.float32)
        for _ in range(2):
            started = time.perf_counter()
            self.multiply(left, scratch, (0, rows))
            self.view.wait()
        return rows / (time.perf_counter() - started)


def devices_like(chosen: amp.accelerator) -> list[amp.accelerator]:
    """The chosen device first, then the others of its kind that run kernels."""
    alike = [
        each
        for each in amp.accelerator.get_all()
        if each.device_path.startswith("vulkan:") and each.is_emulated == chosen.is_emulated
    ]
    return [chosen, *(each for each in alike if each != chosen)] if chosen in alike else [chosen]


def deal(rows: int, speeds: Sequence[float]) -> list[Rows]:
    """Consecutive strips of the rows, in proportion to the speeds; whole tiles except at the end."""
    tiles = -(-rows // SIDE)
    ends = [round(tiles * part / sum(speeds)) * SIDE for part in accumulate(speeds)]
    return list(pairwise([0, *(min(end, rows) for end in ends)]))


def multiply(
    workers: Sequence[Worker],
    left: NDArray[np.float32],
    result: NDArray[np.float32],
    strips: Sequence[Rows],
    pieces: int,
) -> list[list[float]]:
    """Computes each worker's strip in pieces; returns when each piece was ready, in seconds since the start."""
    ready: list[list[float]] = [[] for _ in workers]
    parts = [[(low + a, low + b) for a, b in deal(high - low, [1.0] * pieces) if a < b] for low, high in strips]
    started = time.perf_counter()
    targets, markers = [], []
    for number in range(pieces):
        for worker, mine, times in zip(workers, parts, ready, strict=True):
            if number < len(mine):
                targets.append(worker.multiply(left, result, mine[number]))
                marker = worker.view.create_marker()
                marker.then(lambda times=times: times.append(time.perf_counter() - started))
                markers.append(marker)
    for marker in markers:
        marker.get()
    for target in targets:
        target.synchronize()
    return ready


def timeline(names: Sequence[str], ready: Sequence[Sequence[float]]) -> Any:
    """A bar for each piece, from the end of the previous piece to its own end."""

    def draw(axes: Any) -> None:
        for row, times in enumerate(ready):
            for number, (begin, end) in enumerate(pairwise([0.0, *sorted(times)])):
                axes.barh(row, (end - begin) * 1e3, left=begin * 1e3, color=("C0", "C9")[number % 2], edgecolor="white")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("milliseconds")
        axes.set_title("pieces of the product, by device")

    return gallery.chart(draw, width=640, height=120 + 60 * len(names))


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    size = options.size
    left = np.random.default_rng(1).random((size, size), np.float32)
    right = blurring(size, 0.02 * size)
    accelerators = devices_like(view.accelerator)
    workers = [Worker(each.default_view, right) for each in accelerators]
    speeds = [worker.speed(left, min(size, max(SIDE, size // 4))) for worker in workers]
    strips = deal(size, speeds)
    for each, speed, (low, high) in zip(accelerators, speeds, strips, strict=True):
        print(f"speed   {each.description}: {speed:.0f} rows a second, gets {high - low} of {size}")
    result = np.zeros((size, size), np.float32)
    multiply(workers, left, result, strips, options.pieces)  # the first use of each container allocates memory
    ready = multiply(workers, left, result, strips, options.pieces)
    for each, speed, times, (low, high) in zip(accelerators, speeds, ready, strips, strict=True):
        if times:
            print(f"run     {each.description}: {max(times) * 1e3:.1f} ms, alone {(high - low) / speed * 1e3:.1f} ms")
    checks = [("product", gallery.difference(result, left @ right), 1e-5 * size)]
    return gallery.Result(checks, [timeline([each.description for each in accelerators], ready)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the devices' result matches numpy's."""
    return gallery.main("two_devices", __doc__ or "", run, argv, size=768, pieces=6)


if __name__ == "__main__":
    sys.exit(main())
