"""Tile programs of the textbooks on CPU devices: the threads of a tile as threads of the device, and as loops.

Each row of loops has its `speed_up` over threads in the notes, of wall time and of the processor's time, which other
work on the machine disturbs less.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from tools.bench.measure import Measurement, Options, alternately, check

GROUP = "lowering"
_SIDE, _ROW = 16, 256


def product(t_idx, a, b, c):
    rows = amp.tile_static((_SIDE, _SIDE), amp.float32)
    cols = amp.tile_static((_SIDE, _SIDE), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    total = 0.0
    for first in range(0, a.extent[1], _SIDE):
        rows[row, col] = a[t_idx.global_[0], first + col]
        cols[row, col] = b[first + row, t_idx.global_[1]]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in range(_SIDE):
            total += rows[row, k] * cols[k, col]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    c[t_idx] = total


def average(t_idx, matrix, averages):
    values = amp.tile_static((_SIDE, _SIDE), amp.float32)
    values[t_idx.local] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(_SIDE):
            for col in range(_SIDE):
                total += values[row, col]
        averages[t_idx.tile] = total / (_SIDE * _SIDE)


def tree_sum(t_idx, values, sums):
    partial = amp.tile_static(_ROW, amp.float32)
    here = t_idx.local[0]
    partial[here] = values[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    distance = _ROW // 2
    while distance > 0:
        if here < distance:
            partial[here] += partial[here + distance]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        distance //= 2
    if here == 0:
        sums[t_idx.tile] = partial[0]


def scan(t_idx, values, scanned):
    partial = amp.tile_static(_ROW, amp.float32)
    here = t_idx.local[0]
    partial[here] = values[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    distance = 1
    while distance < _ROW:
        left = 0.0
        if here >= distance:
            left = partial[here - distance]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        partial[here] += left
        t_idx.barrier.wait_with_tile_static_memory_fence()
        distance *= 2
    scanned[t_idx] = partial[here]


def transpose(t_idx, matrix, transposed):
    values = amp.tile_static((_SIDE, _SIDE), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    values[row, col] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    transposed[t_idx.tile_origin[1] + row, t_idx.tile_origin[0] + col] = values[col, row]


def stencil(t_idx, heat, warmer):
    values = amp.tile_static((_SIDE + 2, _SIDE + 2), amp.float32)
    y, x = t_idx.global_[0], t_idx.global_[1]
    row, col = t_idx.local[0] + 1, t_idx.local[1] + 1
    values[row, col] = heat[y, x]
    if row == 1:
        values[0, col] = heat[max(y - 1, 0), x]
    if row == _SIDE:
        values[_SIDE + 1, col] = heat[min(y + 1, heat.extent[0] - 1), x]
    if col == 1:
        values[row, 0] = heat[y, max(x - 1, 0)]
    if col == _SIDE:
        values[row, _SIDE + 1] = heat[y, min(x + 1, heat.extent[1] - 1)]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    around = values[row - 1, col] + values[row + 1, col] + values[row, col - 1] + values[row, col + 1]
    warmer[t_idx] = 0.2 * (values[row, col] + around)


@dataclass(frozen=True)
class Program:
    """A tile program on float32, and its result."""

    name: str
    function: Callable[..., Any]
    tile: tuple[int, ...]
    domain: tuple[int, ...]
    inputs: tuple[NDArray[Any], ...]
    expected: NDArray[Any]


def _programs() -> Iterator[Program]:
    random = np.random.default_rng(1)

    def floats(*shape: int) -> NDArray[Any]:
        return random.random(shape, np.float32)

    square, row = (_SIDE, _SIDE), (_ROW,)
    a, b = floats(512, 512), floats(512, 512)
    yield Program("tiled product, 512", product, square, a.shape, (a, b), a @ b)
    matrix = floats(4096, 4096)
    means = matrix.reshape(256, _SIDE, 256, _SIDE).mean((1, 3))
    yield Program("tile average, 4096^2", average, square, matrix.shape, (matrix,), means)
    values = floats(2**22)
    tiles = values.reshape(-1, _ROW)
    yield Program("sum of tiles as a tree, 2^22", tree_sum, row, values.shape, (values,), tiles.sum(1))
    yield Program("Hillis-Steele scan of tiles, 2^22", scan, row, values.shape, (values,), tiles.cumsum(1).ravel())
    image = floats(2048, 2048)
    yield Program("transpose, 2048^2", transpose, square, image.shape, (image,), image.T)
    edge = np.pad(image, 1, mode="edge")
    around = edge[:-2, 1:-1] + edge[2:, 1:-1] + edge[1:-1, :-2] + edge[1:-1, 2:]
    yield Program("5-point stencil, 2048^2", stencil, square, image.shape, (image,), 0.2 * (image + around))


def measure(options: Options) -> Iterator[Measurement]:
    """Wall time of a launch with its wait, the data on the device; results are compared with numpy's."""
    return measured(GROUP, options, _programs)


def measured(group: str, options: Options, programs: Callable[[], Iterator[Program]]) -> Iterator[Measurement]:
    """Each program as threads and as loops, alternately."""
    for accelerator in options.accelerators:
        for program in programs():
            processor: dict[str, list[float]] = {"threads": [], "loops": []}
            works = [_work(program, accelerator, form, times) for form, times in processor.items()]
            rows = alternately(options.runs, *works)
            median = {form: statistics.median(times[1:]) for form, times in processor.items()}
            wall = statistics.median(rows[0]) / statistics.median(rows[1])
            for form, row in zip(processor, rows, strict=True):
                notes = {"processor_seconds": round(median[form], 6)}
                if form == "loops":
                    notes["speed_up"] = round(wall, 2)
                    notes["speed_up_of_processor"] = round(median["threads"] / median["loops"], 2)
                yield Measurement(group, f"{program.name}, {form}", row, accelerator, notes=notes)


def _work(program: Program, accelerator: str, form: str, processor: list[float]) -> Callable[[], float]:
    """A launch, checked once. Returns its duration, and records its processor time (seconds)."""
    view = amp.accelerator(accelerator).default_view
    kernel: Any = amp.kernel(lowering=form)(program.function)
    inputs = [amp.array(amp.extent(a.shape), amp.float32, data=a, accelerator_view=view) for a in program.inputs]
    result = amp.array(amp.extent(program.expected.shape), amp.float32, accelerator_view=view)
    domain = amp.extent(program.domain).tile(*program.tile)

    def run() -> float:
        started, used = time.perf_counter(), time.process_time()
        amp.parallel_for_each(view, domain, kernel, *inputs, result)
        view.wait()
        processor.append(time.process_time() - used)
        return time.perf_counter() - started

    run()
    processor.clear()
    right = np.allclose(np.asarray(result), program.expected, rtol=1e-3, atol=1e-3)
    check(right, f"{program.name} as {form} on {accelerator}")
    return run
