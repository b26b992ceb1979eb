"""Compares the engines without the front end: launches that wait for each other or do not, uploads, downloads. They run
alternately in one process on one device, and every result is checked.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.bench.measure import Measurement, Options, alternately, check, child_json

GROUP = "engines"
ENGINES = ("kompute", "vulkan")
SIZE = 64
LAUNCHES = (1, 10, 100)
MIB = (1, 64)


def measure(options: Options) -> Iterator[Measurement]:
    """One child process per Vulkan device; others have no two engines."""
    for accelerator in dict.fromkeys(path.partition("@")[0] for path in options.accelerators):
        if accelerator.startswith("vulkan:"):
            rows = child_json("tools.bench.engines", accelerator, str(options.runs))
            for name, values in rows.items():
                yield Measurement(GROUP, name, tuple(values), accelerator)


@dataclass(frozen=True)
class Program:
    """The parts of a compiled kernel that an engine needs."""

    spirv: bytes
    buffers: int
    push_bytes: int
    local_size: tuple[int, int, int]
    name: str = "increment"
    subgroup_size: None = None

    @property
    def key(self) -> str:
        return hashlib.sha256(self.spirv).hexdigest()


class Engine:
    """One engine's queue, with a program that adds 1 to each of a few numbers."""

    def __init__(self, accelerator: str, engine: str) -> None:
        import vkamp as amp
        from tools.bench.kernels import increment
        from vkamp.run.engine import Dispatch

        view = amp.accelerator(accelerator, engine=engine).default_view
        counts = amp.array(amp.extent(SIZE), amp.int32, np.zeros(SIZE, np.int32), accelerator_view=view)
        code = bytes(increment.inspect(view, counts.extent, counts).spirv)
        self.name = engine
        self.queue = view._queue
        self.program = self.queue.program(Program(code, 1, 4, (64, 1, 1)))  # type: ignore[arg-type]
        self.buffers = [self.queue.allocate(4 * SIZE) for _ in range(max(LAUNCHES))]
        for buffer in self.buffers:
            buffer.upload(0, np.zeros(4 * SIZE, np.uint8))
        push = np.array([SIZE], np.uint32).tobytes()
        self.dispatches = [Dispatch(self.program, (buffer,), push, (1, 1, 1), (True,)) for buffer in self.buffers]
        self.expected = [0] * len(self.buffers)
        self.large = {mib: self.queue.allocate(mib << 20) for mib in MIB}
        self.data = {mib: np.random.default_rng(mib).integers(0, 256, mib << 20, np.uint8) for mib in MIB}

    def launches(self, count: int, *, independent: bool) -> float:
        """The time of a launch, of ``count`` that are waited for together."""
        started = time.perf_counter()
        for number in range(count):
            which = number if independent else 0
            self.expected[which] += 1
            self.queue.enqueue(self.dispatches[which])
        self.queue.wait()
        return (time.perf_counter() - started) / count

    def launch_and_read(self) -> float:
        """One launch, and its result on the host."""
        self.expected[0] += 1
        started = time.perf_counter()
        self.queue.enqueue(self.dispatches[0])
        found = self.buffers[0].download(0, 4 * SIZE)
        seconds = time.perf_counter() - started
        check((found.view(np.uint32) == self.expected[0]).all(), f"a launch through {self.name}")
        return seconds

    def upload(self, mib: int) -> float:
        """Until the device has the data."""
        started = time.perf_counter()
        self.large[mib].upload(0, self.data[mib])
        self.queue.wait()
        return time.perf_counter() - started

    def download(self, mib: int) -> float:
        """Into a new array."""
        started = time.perf_counter()
        found = self.large[mib].download(0, mib << 20)
        seconds = time.perf_counter() - started
        check(np.array_equal(found, self.data[mib]), f"{mib} MiB through {self.name}")
        return seconds

    def check(self) -> None:
        for buffer, expected in zip(self.buffers, self.expected, strict=True):
            found = buffer.download(0, 4 * SIZE).view(np.uint32)
            check((found == expected).all(), f"launches through {self.name}")


def _measure_here(accelerator: str, runs: int) -> dict[str, Any]:
    """In the child: seconds by name."""
    engines = [Engine(accelerator, name) for name in ENGINES]
    for engine in engines:
        for _ in range(20):  # warms clocks and caches
            engine.launches(10, independent=True)
    rows: dict[str, Any] = {}

    def add(name: str, times: int, *works: Any) -> None:
        for engine, values in zip(engines, alternately(times, *works), strict=True):
            rows[f"{name}, {engine.name}"] = values

    for count in LAUNCHES:
        for independent in (False, True) if count > 1 else (False,):
            kind = "" if count == 1 else " independent" if independent else " in a chain"
            works = [lambda e=e, c=count, i=independent: e.launches(c, independent=i) for e in engines]
            add(f"a launch of {count}{kind}, waited", runs * (10 if count == 1 else 2), *works)
    add("launch and read", runs * 10, *(engine.launch_and_read for engine in engines))
    for mib in MIB:
        add(f"upload of {mib} MiB", runs, *(lambda e=e, m=mib: e.upload(m) for e in engines))
        add(f"download of {mib} MiB", runs, *(lambda e=e, m=mib: e.download(m) for e in engines))
    for engine in engines:
        engine.check()
    return rows


if __name__ == "__main__":
    print(json.dumps(_measure_here(sys.argv[1], int(sys.argv[2]))))
