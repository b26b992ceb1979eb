"""The algorithms of `vkamp.algorithms`, the data on the device, numpy's on the host, and on NVIDIA PyTorch's.

Each row of vkamp has its `speed_up` over numpy in the notes, over PyTorch where it is installed, and on CPU devices
over the program of tiles that textbooks have (`tools/bench/textbook.py`); the device's own time for the call, and the
host's for a call on 100 elements.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench import textbook
from tools.bench.measure import Measurement, Options, alternately, check
from vkamp import algorithms as alg

GROUP = "algorithms"
#: Calls of one measurement on a GPU, so that waiting does not count.
_CALLS = 10
#: After so many seconds a row has no further runs.
_SECONDS = 2.0
#: The name of the speed relative to each peer in the notes.
_NAMES = {", numpy": "", ", PyTorch": "_over_torch", ", textbook": "_over_textbook"}


@dataclass(frozen=True)
class _Program:
    """Functions of vkamp, numpy and PyTorch with the same result, for one or two inputs."""

    name: str
    data: tuple[Any, ...]
    ours: Callable[..., Any]
    of_numpy: Callable[..., Any]
    of_torch: Callable[..., Any] | None = None
    #: For tiles of threads, as textbooks write it.
    textbook: Callable[..., Any] | None = None


def _lengths(a: Any) -> Any:
    begins = np.flatnonzero(np.concatenate([[True], a[1:] != a[:-1]]))
    return np.diff(np.append(begins, a.size))


def _programs(count: int, torch: Any) -> Iterator[_Program]:
    random = np.random.default_rng(1)
    floats = random.random(count, dtype=np.float32)
    small = random.integers(-8, 8, count, dtype=np.int32)
    square = floats[: 1 << (count.bit_length() - 1 >> 1 << 1)]
    side = int(square.size**0.5)
    rows = square[: side * side].reshape(side, side)
    runs = (np.arange(count) // 5).astype(np.int32)
    keys = random.integers(-(1 << 31), 1 << 31, count >> (2 if count > 1 << 24 else 4), dtype=np.int64).astype(np.int32)
    values = np.arange(keys.size, dtype=np.int32)
    yield _Program("transform", (floats,), lambda a: alg.transform(lambda x: 2 * x + 1, a), lambda a: 2 * a + 1)
    yield _Program("sum of float32", (floats,), alg.sum, np.sum, lambda a: torch.sum(a), textbook.total)
    yield _Program("sum of int32 in 64 bits", (small,), alg.sum, np.sum, lambda a: torch.sum(a))
    yield _Program("sum of columns", (rows,), lambda a: alg.sum(a, axis=0), lambda a: a.sum(0), lambda a: a.sum(0))
    yield _Program("sum of rows", (rows,), lambda a: alg.sum(a, axis=1), lambda a: a.sum(1), lambda a: a.sum(1))
    yield _Program(
        "scan of int32", (small,), alg.scan, lambda a: np.cumsum(a, dtype=np.int32),
        lambda a: torch.cumsum(a, 0, dtype=torch.int32), textbook.scan,
    )  # fmt: skip
    yield _Program(
        "select half", (small,), lambda a: alg.select(a, lambda x: x >= 0), lambda a: a[a >= 0], lambda a: a[a >= 0],
        textbook.select,
    )  # fmt: skip
    yield _Program(
        "partition in half", (small,), lambda a: alg.partition(a, lambda x: x >= 0)[0],
        lambda a: np.concatenate([a[a >= 0], a[a < 0]]), lambda a: torch.cat([a[a >= 0], a[a < 0]]),
    )  # fmt: skip
    yield _Program(
        "first of each run of 5", (runs,), alg.unique_consecutive,
        lambda a: a[np.concatenate([[True], a[1:] != a[:-1]])], lambda a: torch.unique_consecutive(a),
    )  # fmt: skip
    yield _Program(
        "lengths of runs of 5", (runs,), lambda a: alg.run_length_encode(a)[1], _lengths,
        lambda a: torch.unique_consecutive(a, return_counts=True),
    )  # fmt: skip
    yield _Program(
        "sum of runs of 5", (runs, floats), lambda a, b: alg.reduce_by_key(a, b)[1],
        lambda a, b: np.add.reduceat(b, np.flatnonzero(np.concatenate([[True], a[1:] != a[:-1]]))),
    )  # fmt: skip
    yield _Program(
        "transpose", (rows,), alg.transpose, lambda a: np.ascontiguousarray(a.T), lambda a: a.T.contiguous(),
        textbook.transpose,
    )  # fmt: skip
    yield _Program("argmax", (floats,), alg.argmax, np.argmax, lambda a: torch.argmax(a))
    yield _Program(
        "sort of int32", (keys,), alg.sort, lambda a: np.sort(a, kind="stable"), lambda a: torch.sort(a, stable=True)
    )
    yield _Program(
        "sort of pairs of int32", (keys, values), lambda a, b: alg.sort_by_key(a, b)[1],
        lambda a, b: b[np.argsort(a, kind="stable")], lambda a, b: torch.sort(a, stable=True),
    )  # fmt: skip


def measure(options: Options) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; results are compared with numpy's."""
    for path in options.accelerators:
        accelerator = amp.accelerator(path)
        if accelerator.device_path == "reference":
            continue
        torch = None
        if "nvidia" in accelerator.description.lower() and importlib.util.find_spec("torch"):
            torch = importlib.import_module("torch")
        for program in _programs(1 << (22 if accelerator.is_emulated else 28), torch):
            yield from _rows(program, accelerator, path, torch, options.runs)


def _rows(program: _Program, accelerator: amp.accelerator, path: str, torch: Any, runs: int) -> Iterator[Measurement]:
    view, calls = accelerator.default_view, 1 if accelerator.is_emulated else _CALLS
    data = [amp.array(raw, accelerator_view=view) for raw in program.data]
    started = time.perf_counter()
    expected = program.of_numpy(*program.data)
    of_numpy = time.perf_counter() - started
    works = {"": _timed(program.ours, data, view.wait, calls)}
    if of_numpy < _SECONDS:
        works[", numpy"] = _timed(program.of_numpy, program.data, None, 1)
    if program.textbook is not None and accelerator.is_emulated:
        works[", textbook"] = _timed(program.textbook, data, view.wait, calls)
    for function in (program.ours, program.textbook if ", textbook" in works else None):
        if function is not None:
            check(_is_close(np.asarray(function(*data)), expected), f"{program.name} on {accelerator.description}")
    if torch is not None and program.of_torch is not None:
        tensors = [torch.from_numpy(raw).cuda() for raw in program.data]
        works[", PyTorch"] = _timed(program.of_torch, tensors, torch.cuda.synchronize, calls)
    times: dict[str, tuple[float, ...]] = {", numpy": (of_numpy,)}
    times |= dict(zip(works, alternately(runs, *works.values(), seconds=_SECONDS), strict=True))
    # The least: other work on a shared machine only adds.
    own = min(times[""])
    notes = {f"speed_up{_NAMES[peer]}": round(min(values) / own, 2) for peer, values in times.items() if peer} | _costs(
        program, view, data
    )
    size = program.data[0].size
    for peer in ("", ", numpy", ", textbook", ", PyTorch"):
        if peer in times:
            yield Measurement(GROUP, f"{program.name}, {size:,}{peer}", times[peer], path, notes={} if peer else notes)


def _is_close(found: Any, expected: Any) -> bool:
    if found.dtype.kind == "f":
        return np.allclose(found, expected, rtol=1e-3)
    return np.array_equal(found, expected)


def _costs(program: _Program, view: amp.accelerator_view, data: Any) -> dict[str, Any]:
    """The device time of a call, and the host time of a call on few elements."""
    device = []
    for _ in range(3):
        with amp.profile() as profile:
            kept = program.ours(*data)
        device.append(sum(launch.seconds for launch in profile.launches))
        del kept
    small = [
        amp.array(np.resize(raw, (16, 16) if raw.ndim == 2 else 100), accelerator_view=view) for raw in program.data
    ]
    return {
        "device_us": round(min(device) * 1e6, 1),
        "host_us": round(_host_seconds(view, program.ours, small) * 1e6, 1),
        "replay_us": round(_replay_seconds(view, program.ours, small) * 1e6, 1),
    }


def _timed(function: Callable[..., Any], data: Any, wait: Callable[[], Any] | None, calls: int) -> Callable[[], float]:
    """The seconds of one of a few calls."""

    def run() -> float:
        started = time.perf_counter()
        for _ in range(calls):
            kept = function(*data)
        if wait is not None:
            wait()
        del kept
        return (time.perf_counter() - started) / calls

    return run


def _replay_seconds(view: amp.accelerator_view, function: Callable[..., Any], data: Any) -> float:
    """The seconds until the replay of a captured call on few elements returns."""
    with amp.capture(view) as graph:
        kept = function(*data)
    seconds = _host_seconds(view, graph.replay, ())
    del kept
    return seconds


def _host_seconds(view: amp.accelerator_view, function: Callable[..., Any], data: Any) -> float:
    """The seconds until a call on few elements returns, which waits for nothing."""
    for _ in range(5):
        function(*data)
    view.wait()
    started = time.perf_counter()
    for _ in range(50):
        function(*data)
    seconds = (time.perf_counter() - started) / 50
    view.wait()
    return seconds
