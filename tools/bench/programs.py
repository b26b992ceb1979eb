"""Programs with the same result in vkamp, numpy, PyTorch and the form that textbooks have, and their measurements.

Each row of vkamp has its `speed_up` over numpy in the notes, over PyTorch where it is installed, and on CPU devices
over the program of tiles that textbooks have (`tools/bench/textbook.py`); the device's own time for the call, and the
host's for a call on few elements.
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
from tools.bench.heating import heater
from tools.bench.measure import Measurement, Options, alternately, check

#: Calls of one measurement on a GPU, so that waiting does not count.
_CALLS = 10
#: After so many seconds a row has no further runs.
_SECONDS = 2.0
_Heat = Callable[[], None] | None
#: The name of the speed relative to each peer in the notes.
_NAMES = {", numpy": "", ", PyTorch": "_over_torch", ", textbook": "_over_textbook"}


def is_close(found: Any, expected: Any) -> bool:
    """Whether arrays are equal, floats nearly."""
    if found.dtype.kind == "f":
        return np.allclose(found, expected, rtol=1e-3)
    return np.array_equal(found, expected)


@dataclass(frozen=True)
class Program:
    """Functions of vkamp, numpy and PyTorch with the same result, of arrays with `data`."""

    name: str
    data: tuple[Any, ...]
    ours: Callable[..., Any]
    of_numpy: Callable[..., Any]
    of_torch: Callable[..., Any] | None = None
    #: For tiles of threads, as textbooks write it.
    textbook: Callable[..., Any] | None = None
    #: Whether vkamp's result is right, given numpy's.
    agrees: Callable[[Any, Any], bool] = is_close


def measure_programs(
    group: str, options: Options, programs: Callable[[amp.accelerator, Any], Iterator[Program]]
) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; `programs` takes the device, and PyTorch if it is a peer."""
    for path in options.accelerators:
        accelerator = amp.accelerator(path)
        if accelerator.device_path == "reference":
            continue
        torch = None
        if "nvidia" in accelerator.description.lower() and importlib.util.find_spec("torch"):
            torch = importlib.import_module("torch")
        with heater(path) as heat:
            for program in programs(accelerator, torch):
                yield from _rows(group, program, accelerator, path, torch, options.runs, heat)


def _rows(
    group: str, program: Program, accelerator: amp.accelerator, path: str, torch: Any, runs: int, heat: _Heat
) -> Iterator[Measurement]:
    view, calls = accelerator.default_view, 1 if accelerator.is_emulated else _CALLS
    data = [amp.array(raw, accelerator_view=view) for raw in program.data]
    started = time.perf_counter()
    expected = program.of_numpy(*program.data)
    of_numpy = time.perf_counter() - started
    works = {"": _timed(program.ours, data, view.wait, calls, heat)}
    if of_numpy < _SECONDS:
        works[", numpy"] = _timed(program.of_numpy, program.data, None, 1)
    if program.textbook is not None and accelerator.is_emulated:
        works[", textbook"] = _timed(program.textbook, data, view.wait, calls)
    for function in (program.ours, program.textbook if ", textbook" in works else None):
        if function is not None:
            found = np.asarray(function(*data))
            check(program.agrees(found, expected), f"{program.name} on {accelerator.description}")
    if torch is not None and program.of_torch is not None:
        tensors = [torch.from_numpy(raw).cuda() for raw in program.data]
        works[", PyTorch"] = _timed(program.of_torch, tensors, torch.cuda.synchronize, calls, heat)
    times: dict[str, tuple[float, ...]] = {", numpy": (of_numpy,)}
    times |= dict(zip(works, alternately(runs, *works.values(), seconds=_SECONDS), strict=True))
    # The least: other work on a shared machine only adds.
    own = min(times[""])
    notes = {f"speed_up{_NAMES[peer]}": round(min(values) / own, 2) for peer, values in times.items() if peer} | _costs(
        program, view, data, heat
    )
    size = program.data[0].size
    for peer in ("", ", numpy", ", textbook", ", PyTorch"):
        if peer in times:
            yield Measurement(group, f"{program.name}, {size:,}{peer}", times[peer], path, notes={} if peer else notes)


def _costs(program: Program, view: amp.accelerator_view, data: Any, heat: _Heat) -> dict[str, Any]:
    """The device time of a call, and the host time of a call on few elements."""
    device = []
    for _ in range(3):
        if heat is not None:
            heat()
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


def _timed(
    function: Callable[..., Any], data: Any, wait: Callable[[], Any] | None, calls: int, heat: _Heat = None
) -> Callable[[], float]:
    """The seconds of one of a few calls; before, the device's clocks go up."""

    def run() -> float:
        if heat is not None:
            heat()
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
