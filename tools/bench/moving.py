"""Moves numpy's memory to a device, through a kernel and back, compared with copies by numpy; and measures the memory
of an array."""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench.measure import Measurement, Options, check, child_json, warmly

GROUP = "moving"
ENGINES = ("kompute", "vulkan")
MIB = 1 << 20
#: The share of numpy's copying rate that a view should reach on the way to the device and back.
RATE = 0.9
#: The maximum ratio of an array's memory on the device to its size.
MEMORY = {"kompute": 2.05, "vulkan": 1.05}


@amp.kernel
def negate(idx, values):
    values[idx] = 0 - values[idx]


def measure(options: Options) -> Iterator[Measurement]:
    """One child process per Vulkan device."""
    for path in dict.fromkeys(path.partition("@")[0] for path in options.accelerators):
        if not path.startswith("vulkan:"):
            continue
        gpu = not amp.accelerator(path).is_emulated
        rows = child_json("tools.bench.moving", path, str(options.runs), str(256 if gpu else 16))
        copies = sorted(rows["numpy: two copies"])[len(rows["numpy: two copies"]) // 2]
        for name, values in rows.items():
            is_ratio = name.startswith("memory")
            limit = MEMORY[name.rpartition(" ")[2]] if is_ratio else None
            if gpu and name.startswith("there"):
                limit = copies / RATE
            yield Measurement(GROUP, name, tuple(values), path, limit, is_ratio=is_ratio)


class _Trip:
    """A view of numpy's memory, a kernel over it, and home again."""

    def __init__(self, path: str, engine: str, mib: int) -> None:
        self.view = amp.accelerator(path, engine=engine).default_view
        self.raw = np.arange(mib * MIB // 4, dtype=np.int32)
        self.sign = 1

    def __call__(self) -> float:
        started = time.perf_counter()
        values = amp.array_view(self.raw)
        amp.parallel_for_each(self.view, values.extent, negate, values)
        values.synchronize()
        seconds = time.perf_counter() - started
        self.sign = -self.sign
        check(self.raw[1] == self.sign and self.raw[-1] == self.sign * (self.raw.size - 1), "a view there and back")
        return seconds

    def memory(self, mib: int) -> float:
        """The memory of the device (and of the host for it) that an array uses, as a multiple of its size."""
        device: Any = self.view._queue.device  # type: ignore[attr-defined]
        with device.lock:
            device._release_everything()
        before = device.budget.used
        array = amp.array(amp.extent(mib * MIB // 4), amp.int32, accelerator_view=self.view)
        taken = device.budget.used - before
        return float(taken) / (mib * MIB + 0 * len(array))


def _measure_here(path: str, runs: int, mib: int) -> dict[str, Any]:
    """In the child: seconds by name."""
    trips = {name: _Trip(path, name, mib) for name in ENGINES}
    source, target = np.zeros(mib * MIB, np.uint8), np.zeros(mib * MIB, np.uint8)

    def copies() -> float:
        started = time.perf_counter()
        np.copyto(target, source)
        np.copyto(source, target)
        return time.perf_counter() - started

    works = {f"there and back, {mib} MiB, {name}": trip for name, trip in trips.items()}
    found = warmly(runs, copies, *works.values(), seconds=0.5 if runs > 1 else 0.0)
    rows: dict[str, Any] = dict(zip(("numpy: two copies", *works), found, strict=True))
    for name, trip in trips.items():
        rows[f"memory of an array of {mib} MiB, by {name}"] = [trip.memory(mib)]
    return rows


if __name__ == "__main__":
    print(json.dumps(_measure_here(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
