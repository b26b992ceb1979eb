"""The remaining wait after the host has slept for the duration of its launches; and equal work on several devices."""

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
from tools.bench.measure import Measurement, Options, check, child_json

GROUP = "overlap"
ENGINES = ("kompute", "vulkan")
#: The maximum remaining share of the work's time, and how much longer several devices may take than one.
LEFT, TOGETHER = 0.10, 1.10
#: Seconds that a launch should take.
_SECONDS = 0.1
_SIZE = 1 << 10
_LAUNCHES = 4
#: lavapipe ends all loops of a thread after 65,535 iterations.
_MAX_ROUNDS = 60_000


@amp.kernel
def mix(idx, values, outer):
    x = values[idx]
    for _ in range(outer):
        for _step in amp.static_range(64):
            x = x * 1664525 + 1013904223 + (x >> 7)
    values[idx] = x


def measure(options: Options) -> Iterator[Measurement]:
    """One child process per Vulkan device and engine, and one for all of them together."""
    paths = [
        p for p in dict.fromkeys(path.partition("@")[0] for path in options.accelerators) if p.startswith("vulkan:")
    ]
    for engine in ENGINES:
        for path in paths:
            for name, values in child_json("tools.bench.overlap", str(options.runs), f"{path}@{engine}").items():
                yield Measurement(GROUP, f"{name}, {engine}", tuple(values), path, LEFT, is_ratio=True)
        if len(paths) > 1:
            found = child_json("tools.bench.overlap", str(options.runs), *(f"{path}@{engine}" for path in paths))
            for name, values in found.items():
                yield Measurement(GROUP, f"{name}, {engine}", tuple(values), paths[0], TOGETHER, is_ratio=True)


class _Work:
    """Launches on one device that take about `_SECONDS` each."""

    def __init__(self, path: str) -> None:
        self.view = amp.accelerator(path).default_view
        shape = amp.extent(_SIZE)
        zeros = np.zeros(_SIZE, np.int32)
        self.arrays = [amp.array(shape, amp.int32, zeros, accelerator_view=self.view) for _ in range(_LAUNCHES)]
        self.rounds, seconds = 10, 0.0
        self.full(1)  # compiles
        while seconds < _SECONDS / 2 and self.rounds < _MAX_ROUNDS:
            self.rounds = min(2 * self.rounds, _MAX_ROUNDS)
            seconds = min(self.full(1) for _ in range(2))

    def start(self, count: int, *, dependent: bool = False) -> None:
        for number in range(count):
            values = self.arrays[0 if dependent else number]
            amp.parallel_for_each(self.view, values.extent, mix, values, self.rounds)

    def full(self, count: int, *, dependent: bool = False) -> float:
        started = time.perf_counter()
        self.start(count, dependent=dependent)
        self.view.wait()
        return time.perf_counter() - started

    def left(self, count: int, *, dependent: bool = False) -> float:
        """The part of the work's time that is left after a sleep of as long."""
        full = self.full(count, dependent=dependent)
        self.start(count, dependent=dependent)
        time.sleep(full)
        started = time.perf_counter()
        self.view.wait()
        return (time.perf_counter() - started) / full

    def check(self) -> None:
        """All launches of one array did the same."""
        check((np.asarray(self.arrays[1]) == np.asarray(self.arrays[2])).all(), "overlap")


def _alone(path: str, runs: int) -> dict[str, Any]:
    work = _Work(path)
    rows = [(work.left(1), work.left(_LAUNCHES), work.left(_LAUNCHES, dependent=True)) for _ in range(runs + 1)][1:]
    work.check()
    names = ("left of one launch", f"left of {_LAUNCHES} independent", f"left of {_LAUNCHES} dependent")
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _together(paths: list[str], runs: int) -> dict[str, Any]:
    """The time of the same work on all devices simultaneously, as a multiple of the longest time of one device
    alone."""
    works = [_Work(path) for path in paths]
    values = []
    for _ in range(runs + 1):
        alone = max(work.full(_LAUNCHES) for work in works)
        started = time.perf_counter()
        for work in works:
            work.start(_LAUNCHES)
        for work in works:
            work.view.wait()
        values.append((time.perf_counter() - started) / alone)
    for work in works:
        work.check()
    return {f"{len(paths)} devices, of the time of the slower one": values[1:]}


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(_alone(sys.argv[2], int(sys.argv[1]))))
    else:
        print(json.dumps(_together(sys.argv[2:], int(sys.argv[1]))))
