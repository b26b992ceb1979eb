"""How fast ``vkamp.stream`` is, compared with copying from the file and with the bus; and files larger than the memory.

    python -m tools.streaming --gib 64 --accelerator nvidia
    python -m tools.streaming --gib 30 --accelerator llvmpipe@vulkan     # where the memory is smaller

The input is a sparse file with random rows in it, which is read once, so that it is in the system's cache where it fits
there. The kernel adds up parts of rows. Results are compared with numpy's.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.run.engine import Statistics
from vkamp.run.vulkan.copy_commands import CopyCommands

COLUMNS = 16384
_GIB, _MIB = 1 << 30, 1 << 20


@amp.kernel
def row_sums(idx, rows, sums, *, parts: amp.constant):
    total = 0.0
    for k in range(COLUMNS // parts):
        total += rows[idx[0], idx[1] + k * parts]
    sums[idx] = total


@amp.kernel
def scaled(idx, values, out):
    out[idx] = values[idx] * 2.0 + 1.0


def copying(values: Any, threads: int) -> float:
    """Bytes per second of copying an array in memory to other memory, by several threads."""
    flat = values.reshape(-1).view(np.uint8)
    step = 8 << 20
    into = np.zeros(min(flat.size, _GIB) // step * step or step, np.uint8)

    def copy(number: int) -> None:
        for start in range(number * step, flat.size, threads * step):
            part = flat[start : start + step]
            at = start % into.size
            np.copyto(into[at : at + part.size], part)

    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(copy, range(threads)))
    return float(flat.size / (time.perf_counter() - started))


def transfers(view: Any, nbytes: int = 512 << 20) -> tuple[float, float]:
    """Bytes per second to and from the device, of memory that it has not imported."""
    target = amp.array(amp.extent(nbytes // 4), amp.float32, accelerator_view=view)
    best = [float("inf")] * 2
    for _ in range(4):
        for k in range(2):
            values = np.ones(nbytes // 4, np.float32)  # a new array each time
            pair = (values, target) if k == 0 else (target, values)
            started = time.perf_counter()
            amp.copy(*pair)
            view.wait()
            best[k] = min(best[k], time.perf_counter() - started)
    return nbytes / best[0], nbytes / best[1]


def bus(view: Any, nbytes: int = 4 * _GIB, piece: int = 16 * _MIB) -> tuple[float, float]:
    """Bytes per second to and from the device, by copies of pinned memory that nothing else uses."""
    queue = view._view.queue
    device, api = queue.device, queue.device.api
    target = queue.allocate(32 * piece).slot
    rates = []
    for kind, copies in (("upload", api.copy_queues[0]), ("readback", api.copy_queues[-1])):
        with device.lock:
            pieces = [device.take(piece, kind, Statistics()) for _ in range(8)]
        commands = [CopyCommands(device, copies) for _ in range(3)]
        region = api.ffi.new("VkBufferCopy[1]")
        started = time.perf_counter()
        for number in range(nbytes // piece):
            here, there = (pieces[number % 8], 0), (target, number % 32 * piece)
            (source, first), (into, second) = (here, there) if kind == "upload" else (there, here)
            region[0].srcOffset, region[0].dstOffset = source.offset + first, into.offset + second
            region[0].size = piece
            commands[number % 3].wait()
            commands[number % 3].start(source.block, into.block, region, 1)
        for each in commands:
            each.wait()
        rates.append(nbytes / (time.perf_counter() - started))
        for each in commands:
            each.destroy()
    return rates[0], rates[1]


def read(path: str, nbytes: int, threads: int = 12) -> float:
    """Bytes per second of reading the file by several threads; afterwards the system's cache has it in large pages."""
    starts = iter(range(0, nbytes, 16 * _MIB))

    def work(_: int) -> None:
        into = bytearray(16 * _MIB)
        with open(path, "rb", buffering=0) as file:
            for start in starts:
                file.seek(start)
                file.readinto(into)

    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    return nbytes / (time.perf_counter() - started)


def main() -> None:
    """Measures, and compares the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=1.0, help="the size of the file")
    parser.add_argument("--accelerator", default="default")
    parser.add_argument("--block", type=int, default=0, help="MiB of a block; 0: the default")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--parts", type=int, nargs="+", default=[256], help="the sums of each row of 16384 numbers")
    parser.add_argument("--scale-gib", type=float, default=0.0, help="also stream so much in and out")
    given = parser.parse_args()
    view = amp.accelerator(given.accelerator).default_view
    count = int(given.gib * _GIB) // (4 * COLUMNS)
    block = given.block * (1 << 20) // (4 * COLUMNS) or None
    print(view.accelerator, f"{count} rows, {count * COLUMNS * 4 / _GIB:.1f} GiB", flush=True)
    handle, path = tempfile.mkstemp(dir=given.folder)
    try:
        os.truncate(handle, count * COLUMNS * 4)
        os.close(handle)
        print(f"reading the file once: {read(path, count * COLUMNS * 4) / 1e9:.1f} GB/s", flush=True)
        for parts in given.parts:
            _sum(view, path, (count, COLUMNS), parts, block, given.runs)
        if view.accelerator.is_emulated:
            return
        part: Any = np.memmap(path, np.float32, "r", shape=(count, COLUMNS))[: 4 * _GIB // (4 * COLUMNS)]
        for threads in (1, 4, 8, 12, 16):
            print(f"copying by {threads} threads: {copying(part, threads) / 1e9:.1f} GB/s", flush=True)
        print("transfers: {:.1f} GB/s to the device, {:.1f} from it".format(*(x / 1e9 for x in transfers(view))))
        print("bus: {:.1f} GB/s to the device, {:.1f} from it".format(*(each / 1e9 for each in bus(view))))
        if given.scale_gib:
            _scale(view, int(given.scale_gib * _GIB), block)
    finally:
        Path(path).unlink()


def _sum(view: Any, path: str, shape: tuple[int, int], parts: int, block: int | None, runs: int) -> None:
    """Streams the file, and checks the sums of some rows, which get random numbers, and of all others, which are 0."""
    random = np.random.default_rng(1)
    chosen: Sequence[int] = np.unique(np.append(random.integers(0, shape[0], 100), [0, shape[0] - 1]))
    stored = np.memmap(path, np.float32, "r+", shape=shape)
    stored[chosen] = random.random((len(chosen), COLUMNS), np.float32)
    expected = stored[chosen].reshape(-1, COLUMNS // parts, parts).sum(1)
    sums = np.empty((shape[0], parts), np.float32)
    for _ in range(runs):
        values = np.memmap(path, np.float32, "r", shape=shape)
        sums[:] = 7
        started = time.perf_counter()
        amp.stream(
            row_sums, amp.extent(shape[0], parts), [values, sums], block=block, accelerator_view=view, parts=parts
        )
        seconds = time.perf_counter() - started
        rate = values.nbytes / seconds / 1e9
        print(f"stream, results of 1/{COLUMNS // parts}: {seconds:.2f} s, {rate:.1f} GB/s", flush=True)
        np.testing.assert_allclose(sums[chosen], expected, rtol=1e-5)
        sums[chosen] = 0
        assert not sums.any(), "rows of zeros have other sums"


def _scale(view: Any, nbytes: int, block: int | None) -> None:
    values = np.random.default_rng(2).random((nbytes // (4 * COLUMNS), COLUMNS), np.float32)
    out = np.zeros_like(values)
    for _ in range(2):
        started = time.perf_counter()
        amp.stream(scaled, amp.extent(*values.shape), [values, out], block=block, accelerator_view=view)
        seconds = time.perf_counter() - started
        print(f"in and out: {seconds:.2f} s, {values.nbytes / seconds / 1e9:.1f} GB/s in each direction", flush=True)
    np.testing.assert_array_equal(out, values * np.float32(2) + np.float32(1))


if __name__ == "__main__":
    main()
