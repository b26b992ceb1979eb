"""Measurements, their statistics, and their tools: clocks and child processes."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = [
    "ROOT",
    "Measurement",
    "Options",
    "alternately",
    "check",
    "child_environment",
    "child_json",
    "child_seconds",
    "warmly",
]

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Options:
    """The options of the command line; `accelerators` are names as for VKAMP_ACCELERATOR, and the names of the
    measurements contain `only`."""

    runs: int
    accelerators: tuple[str, ...]
    only: str = ""


@dataclass(frozen=True)
class Measurement:
    """The durations of one measurement in seconds, or with `is_ratio` as multiples of its baseline. `target` is the
    maximum that is acceptable, if there is one. Without values it did not run, and the note `missing` says why.
    """

    group: str
    name: str
    values: tuple[float, ...]
    accelerator: str = ""
    target: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    is_ratio: bool = False

    @property
    def median(self) -> float:
        """The values' median."""
        return statistics.median(self.values)

    def with_values(self, values: Sequence[float]) -> Measurement:
        """The same measurement with those of another round."""
        return replace(self, values=(*self.values, *values))

    @property
    def met(self) -> bool | None:
        """Whether the median is within the target; None if there is no target."""
        return None if self.target is None or not self.values else self.median <= self.target


def check(condition: object, what: str) -> None:
    """Ends the run if a result is wrong: no speed counts without it."""
    if not condition:
        sys.exit(f"tools.bench: wrong result: {what}")


def alternately(runs: int, *works: Callable[[], float], seconds: float = math.inf) -> list[tuple[float, ...]]:
    """The results of `runs` alternating calls of each function, so that disturbances affect all; the first calls do not
    count. A function that has used `seconds` in all is not called again once it has one result.
    """
    found: list[list[float]] = [[] for _ in works]
    spent = [0.0] * len(works)
    for number in range(runs + 1):
        for k, work in enumerate(works):
            if number < 2 or spent[k] < seconds:
                started = time.perf_counter()
                found[k].append(work())
                spent[k] += time.perf_counter() - started
    return [tuple(values[1:]) for values in found]


def warmly(
    runs: int,
    *works: Callable[[], float],
    heat: Callable[[], object] | None = None,
    seconds: float = 0.05,
    rounds: int = 3,
) -> list[tuple[float, ...]]:
    """As :func:`alternately`, for what a device does slower when it has just had nothing to do: in each of a few
    rounds a work is called for some `seconds`, and then as often as it counts, without a pause; one that keeps the
    device busy for longer than ten times that is called once a round. `heat` comes before each of them: it keeps the
    device busy until its clocks are up, which works that wait for each launch never do.
    """
    found: list[list[float]] = [[] for _ in works]
    rounds = min(rounds, runs)
    for number in range(rounds):
        for work, values in zip(works, found, strict=True):
            count = runs // rounds + (number < runs % rounds)
            if heat is not None:
                heat()
            started = time.perf_counter()
            while True:
                work()
                spent = time.perf_counter() - started
                if spent >= seconds:
                    break
            values += [work() for _ in range(min(count, 1) if spent > 10 * seconds else count)]
    return [tuple(values) for values in found]


def child_environment(**changes: str) -> dict[str, str]:
    """This process's environment, in which Python caches compiled modules as by default."""
    environment = {**os.environ, **changes}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def child_seconds(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """The wall time of a process from start to end, in seconds."""
    environment = child_environment() if environment is None else environment
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment)
    return time.perf_counter() - started


def child_json(module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    """The output of `python -m module arguments...`, read as JSON."""
    environment = child_environment() if environment is None else environment
    command = [sys.executable, "-m", module, *arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    if result.returncode != 0:
        sys.exit(f"tools.bench: {' '.join(command)} ended with status {result.returncode}")
    return json.loads(result.stdout)
