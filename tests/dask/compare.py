"""The command ``python -m tests.dask.compare``: every function of vkamp.dask beside numpy's, on a given accelerator.

    python -m tests.dask.compare --accelerator nvidia --bits 25
    python -m tests.dask.compare --accelerator nvidia --parts cluster

First the suite's cases in this thread, then large arrays in eight uneven blocks, then the suite's cases on a cluster of
one worker; ``--parts`` names some of ``cases``, ``large`` and ``cluster``.
The numbers come from numpy, with a fixed seed, so that equality is exact for sorts, counts and integers.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client

import vkamp as amp
import vkamp.dask as vd
from tests.dask import cases
from tests.dask.cases import Case

PARTS = ("cases", "large", "cluster")


def large(bits: int) -> Iterator[Case]:
    """Cases of ``2**bits`` elements in eight blocks, the last of them shorter."""
    n = 1 << bits
    rng = np.random.default_rng(20)
    floats, words = rng.random(n, np.float32), rng.integers(0, 1 << 32, n, np.uint32)
    few = rng.integers(0, 1000, n, np.int32)
    odd = floats.copy()
    odd[:: n // 97] = np.nan
    chunks = n // 8 + 1001
    f, w, i, o = (da.from_array(each, chunks=chunks) for each in (floats, words, few, odd))
    yield Case("sort of floats", lambda: vd.sort(f), np.sort(floats))
    yield Case("sort of words", lambda: vd.sort(w), np.sort(words))
    yield Case("sort, descending", lambda: vd.sort(f, descending=True), np.sort(floats)[::-1])
    yield Case("sort of many ties", lambda: vd.sort(i), np.sort(few))
    yield Case("sort with NaN", lambda: _numbers(vd.sort(o)), _numbers(np.sort(odd)))
    yield Case("topk", lambda: vd.topk(f, 1000), np.sort(floats)[:-1001:-1])
    yield Case("topk, smallest", lambda: vd.topk(w, -1000), np.sort(words)[:1000])
    yield Case("bincount", lambda: vd.bincount(i, 1000), np.bincount(few, minlength=1000))
    yield Case("histogram", lambda: vd.histogram(i, 250, (0.0, 1000.0))[0], np.histogram(few, 250, (0, 1000))[0])
    yield Case("cumulative_sum", lambda: vd.cumulative_sum(i), np.cumsum(few, dtype=np.int64).astype(np.int32))
    yield Case("cummax", lambda: vd.cummax(f), np.maximum.accumulate(floats))
    yield Case("max", lambda: vd.max(w), words.max())
    yield Case("mean", lambda: vd.mean(f), floats.mean(dtype=np.float64), False)
    yield Case("std", lambda: vd.std(f), floats.std(dtype=np.float64), False)
    yield Case("map", lambda: vd.map_blocks(cases.affine, f, 2.5, dtype="f4", shift=3), 2.5 * floats + 3, False)
    side = 1 << (bits - 3) // 2
    square = floats[: side * side].reshape(side, side)
    s = da.from_array(square, chunks=(side // 2 + 3, side // 3))
    yield Case("matmul", lambda: vd.matmul(s, s) / side, square @ square / side, False)
    yield Case("fft", lambda: vd.fft(s, axis=0) / side, np.fft.fft(square, axis=0) / side, False)
    yield Case("sort of columns", lambda: vd.sort(s, 0), np.sort(square, 0))
    periodic = sum(np.roll(square, shift, axis) for shift in (1, -1) for axis in (0, 1))
    yield Case("overlap", lambda: vd.map_overlap(cases.five_point, s, depth=1, boundary="periodic"), periodic, False)
    yield from _random(n, chunks)


def _numbers(x: Any) -> Any:
    """NaN, which equals nothing, as 2."""
    return da.where(da.isnan(x), np.float32(2), x)


def _random(n: int, chunks: int) -> Iterator[Case]:
    """What holds of uniform floats with steps of 2^-24: each deviation is below five standard deviations."""
    a = n / 2**24
    empty = 2**24 * np.exp(-a)
    spread = np.sqrt(empty * (1 - (1 + a) * np.exp(-a)))

    def distinct(seed: int) -> Callable[[], Any]:
        drawn = vd.default_rng(seed).random(n, chunks=chunks)
        return lambda: da.from_array(
            [abs(np.unique(np.asarray(drawn.compute())).size - (2**24 - empty)) < 5 * spread], chunks=1
        )

    for seed in range(3):
        yield Case(f"distinct random numbers, seed {seed}", distinct(seed), [True])
    drawn = vd.default_rng(3).random(n, chunks=chunks)
    yield Case("sort of random numbers", lambda: vd.sort(drawn), np.sort(np.asarray(drawn.compute())))


def run(found: Iterator[Case]) -> list[str]:
    """Prints a line for each case; the differences."""
    wrong = []
    for case in found:
        started = time.perf_counter()
        difference = cases.difference(case, case.make().compute())
        print(f"{case.name}: {difference or 'equal'}, {time.perf_counter() - started:.2f} s", flush=True)
        wrong += [difference] if difference else []
    return wrong


def main() -> int:
    """1 if a result differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accelerator", default="default")
    parser.add_argument("--bits", type=int, default=22)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    path = amp.accelerator(options.accelerator).device_path
    os.environ["VKAMP_ACCELERATOR"] = path
    print(amp.accelerator(), flush=True)
    wrong = []
    with dask.config.set(scheduler="synchronous"):
        wrong += run(iter(cases.ALL)) if "cases" in options.parts else []
        wrong += run(large(options.bits)) if "large" in options.parts else []
    if "cluster" in options.parts:
        with vd.LocalCluster([path], dashboard_address=None) as cluster, Client(cluster) as client:
            print([*client.run(vd.worker_info).values()], flush=True)
            wrong += run(iter(cases.ALL))
            wrong += run(case for case in large(options.bits - 3) if case.name.startswith(("sort", "map", "overlap")))
    print("\n".join(["different:", *wrong]) if wrong else "all equal")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
