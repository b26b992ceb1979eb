"""How fast ``vkamp.stream`` is, compared with reading the file and with the bus; and files larger than the memory.

    python -m tools.streaming --gib 64 --accelerator nvidia
    python -m tools.streaming --gib 30 --accelerator llvmpipe@vulkan     # where the memory is smaller

The input is a sparse file with random rows in it. Results are compared with numpy's.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import vkamp as amp

COLUMNS, PARTS = 4096, 256
_GIB = 1 << 30


@amp.kernel
def row_sums(idx, rows, sums):
    total = 0.0
    for k in range(COLUMNS // PARTS):
        total += rows[idx[0], idx[1] + k * PARTS]
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


def bus(view: Any, nbytes: int = 256 << 20) -> tuple[float, float]:
    """Bytes per second to and from the device, of memory that it has imported."""
    values = np.ones(nbytes // 4, np.float32)
    target = amp.array(amp.extent(values.size), amp.float32, accelerator_view=view)
    best = [float("inf")] * 2
    for _ in range(12):
        for k, pair in enumerate(((values, target), (target, values))):
            started = time.perf_counter()
            amp.copy(*pair)
            view.wait()
            best[k] = min(best[k], time.perf_counter() - started)
    return nbytes / best[0], nbytes / best[1]


def main() -> None:
    """Measures, and compares the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=1.0, help="the size of the file")
    parser.add_argument("--accelerator", default="default")
    parser.add_argument("--block", type=int, default=0, help="MiB of a block; 0: the default")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--runs", type=int, default=2)
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
        random = np.random.default_rng(1)
        chosen = np.unique(np.append(random.integers(0, count, 100), [0, count - 1]))
        stored = np.memmap(path, np.float32, "r+", shape=(count, COLUMNS))
        stored[chosen] = random.random((chosen.size, COLUMNS), np.float32)
        expected = stored[chosen].reshape(-1, COLUMNS // PARTS, PARTS).sum(1)
        stored.flush()
        sums = np.empty((count, PARTS), np.float32)
        for _ in range(given.runs):
            values = np.memmap(path, np.float32, "r", shape=(count, COLUMNS))
            sums[:] = 7
            started = time.perf_counter()
            amp.stream(row_sums, amp.extent(count, PARTS), [values, sums], block=block, accelerator_view=view)
            seconds = time.perf_counter() - started
            print(f"stream: {seconds:.2f} s, {values.nbytes / seconds / 1e9:.1f} GB/s", flush=True)
            np.testing.assert_allclose(sums[chosen], expected, rtol=1e-5)
            sums[chosen] = 0
            assert not sums.any(), "rows of zeros have other sums"
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
