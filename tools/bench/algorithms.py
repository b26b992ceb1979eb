"""The algorithms of `vkamp.algorithms`, the data on the device, and numpy's on the host.

Each row of vkamp has its `speed_up` over numpy in the notes, and the host's share of a call on 100 elements.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench.measure import Measurement, Options, alternately, check
from vkamp import algorithms as alg

GROUP = "algorithms"


def _programs(count: int) -> list[tuple[str, Any, Callable[[Any], Any], Callable[[Any], Any]]]:
    """Names, data, and what computes the same: vkamp's and numpy's."""
    random = np.random.default_rng(1)
    floats = random.random(count).astype(np.float32)
    small = random.integers(-8, 8, count, dtype=np.int32)
    keys = random.integers(-(1 << 31), 1 << 31, count >> 4, dtype=np.int64).astype(np.int32)
    square = floats[: 1 << (count.bit_length() - 1 >> 1 << 1)]
    side = int(square.size**0.5)
    rows = square[: side * side].reshape(side, side)
    return [
        ("sum of float32", floats, alg.sum, np.sum),
        ("sum of int32 in 64 bits", small, alg.sum, np.sum),
        ("sum of columns", rows, lambda a: alg.sum(a, axis=0), lambda a: a.sum(0)),
        ("sum of rows", rows, lambda a: alg.sum(a, axis=1), lambda a: a.sum(1)),
        ("scan of int32", small, alg.scan, lambda a: np.cumsum(a, dtype=np.int32)),
        ("select half", small, lambda a: alg.select(a, lambda x: x >= 0), lambda a: a[a >= 0]),
        ("argmax", floats, alg.argmax, np.argmax),
        ("sort of int32", keys, alg.sort, lambda a: np.sort(a, kind="stable")),
    ]


def measure(options: Options) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; results are compared with numpy's."""
    for path in options.accelerators:
        accelerator = amp.accelerator(path)
        if accelerator.device_path == "reference":
            continue
        view = accelerator.default_view
        count = 1 << (22 if accelerator.is_emulated else 28)
        for name, raw, ours, of_numpy in _programs(count):
            data = amp.array(raw, accelerator_view=view)
            found, expected = np.asarray(ours(data)), of_numpy(raw)
            close = (
                np.allclose(found, expected, rtol=1e-3) if found.dtype.kind == "f" else np.array_equal(found, expected)
            )
            check(close, f"{name} on {accelerator.description}")
            times = alternately(options.runs, _timed(view, ours, data), _timed(None, of_numpy, raw))
            small = amp.array(np.resize(raw, (10, 10) if raw.ndim == 2 else 100), accelerator_view=view)
            notes = {
                "speed_up": round(statistics.median(times[1]) / statistics.median(times[0]), 2),
                "host_us": round(_host_seconds(view, ours, small) * 1e6, 1),
            }
            yield Measurement(GROUP, f"{name}, {raw.size:,}", times[0], path, notes=notes)
            yield Measurement(GROUP, f"{name}, {raw.size:,}, numpy", times[1], path)


def _timed(view: amp.accelerator_view | None, function: Callable[[Any], Any], data: Any) -> Callable[[], float]:
    def run() -> float:
        started = time.perf_counter()
        kept = function(data)
        if view is not None:
            view.wait()
        del kept
        return time.perf_counter() - started

    run()
    return run


def _host_seconds(view: amp.accelerator_view, function: Callable[[Any], Any], data: Any) -> float:
    """The seconds until a call on few elements returns, which waits for nothing."""
    for _ in range(5):
        function(data)
    view.wait()
    started = time.perf_counter()
    for _ in range(50):
        function(data)
    seconds = (time.perf_counter() - started) / 50
    view.wait()
    return seconds
