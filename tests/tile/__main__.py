"""Scans in one launch, of which chosen tiles publish late or never: ``python -m tests.tile NAME... --runs 100000``.

Each run scans other values, of another type and number, by tiles of 8 threads that each drop their publications with
another probability (0 to 100 %) or delay them.  The reference accelerator takes subgroups of 1 to 128 threads in turn,
and random schedules.  It prints the runs that differ from numpy, and returns 1 if any does.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
import time

import numpy as np

import vkamp as amp
from tests.tile.scans import ROWS, same_values, scanned
from vkamp import tile

carry_module = importlib.import_module("vkamp.tile.carry")
publish = carry_module.publish
THREADS = 8
LANES = (1, 4, 8, 32, 64, 128)
#: The rows of values, the last one on devices that have its type.
NAMES = ("int32", "uint2", "segments", "int64")


@amp.func
def disturbed(status, number, value, flag):
    """Publishes late or never, as the last row of the status says: a seed, percents, and rounds of waiting."""
    last = status.extent[0] - 1
    chance = ((amp.uint32(number) + status[last, 0]) * 2654435761 >> 8) % 100
    if chance >= status[last, 1] & 0xFF:
        if chance < status[last, 1] >> 8:
            for _ in range(100):
                amp.atomic_fetch_or(status[number, 0], 0)
        publish(status, number, value, flag)


def run(view: amp.accelerator_view, seed: int, most: int) -> bool:
    """Whether one scan is right."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, most))
    tiles = -(-n // THREADS)
    dropped = int(random.choice([0, 5, 10, 25, 50, 90, 100]))
    late = int(random.choice([0, 0, 50, 100]))
    names = NAMES if "int64" in view.accelerator.features else NAMES[:-1]
    row = ROWS[names[seed % len(names)]]
    status = np.zeros((tiles + 1, tile.carry_words(row.dtype)), np.uint32)
    status[tiles, :2] = random.integers(0, 1 << 32), dropped | late << 8
    raw = row.raw(random, n)
    values = amp.array(amp.extent(n), row.dtype, raw, accelerator_view=view)
    out = amp.array(amp.extent(n), row.dtype, accelerator_view=view)
    counter = amp.array(np.zeros(1, np.uint32), accelerator_view=view)
    words = amp.array(status, accelerator_view=view)
    amp.parallel_for_each(view, amp.extent(tiles * THREADS).tile(THREADS), scanned, values, out, counter, words, row.op)
    return same_values(row, np.asarray(out), row.expected(raw))


def many(name: str, runs: int, seed: int = 0) -> int:
    """How many of so many runs are wrong."""
    view = amp.accelerator(name).default_view
    is_reference = name == "reference"
    wrong = 0
    carry_module.publish = disturbed
    try:
        begin = time.perf_counter()
        for number in range(seed, seed + runs):
            if number > seed and (number - seed) % 1000 == 0:
                print(f"{name}: {number - seed} runs, {wrong} wrong, {time.perf_counter() - begin:.0f} s", flush=True)
            with contextlib.ExitStack() as options:
                if is_reference:
                    options.enter_context(amp.reference_subgroups(LANES[number // 50 % 6]))
                    options.enter_context(amp.reference_schedule("random", seed=number))
                if not run(view, number, 70 if is_reference else 700):
                    wrong += 1
                    print(f"{name}: run {number} differs", flush=True)
    finally:
        carry_module.publish = publish
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tile", description=__doc__)
    parser.add_argument("accelerators", nargs="*", default=["swiftshader", "llvmpipe", "reference"])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    wrong = 0
    for name in arguments.accelerators:
        begin = time.perf_counter()
        wrong += many(name, arguments.runs, arguments.seed)
        print(f"{name}: {arguments.runs} runs, {wrong} wrong, {time.perf_counter() - begin:.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
