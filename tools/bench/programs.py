"""Programs with the same result in vkamp, numpy, PyTorch and the form that textbooks have, and their measurements.

Each row of vkamp has notes: on CPU devices its `speed_up` over numpy and over the program of tiles that textbooks have
(`tools/bench/textbook.py`); on GPUs that over PyTorch where it is installed, and the device's times of both and of
CuPy; and the host's time for a call on few elements, and for its replay.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench import cub
from tools.bench.heating import ahead
from tools.bench.measure import Measurement, Options, alternately, check

#: Calls of one measurement on a GPU, so that waiting does not count.
_CALLS = 10
#: After so many seconds a row has no further runs.
_SECONDS = 2.0
#: The device's times of a call: the three least are this much alike, unless there are too many.
_ALIKE, _MOST_DEVICE_TIMES = 1.02, 25
#: Calls of a burst, and bursts, by which the host's time is measured.
_BURST, _BURSTS = 4, 25
#: Programs of numpy that compute what is right at the same time.
_THREADS = 8
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
    #: The same of CuPy, which is the first argument.
    of_cupy: Callable[..., Any] | None = None
    #: How many times as fast as PyTorch a GPU should be.
    goal: float | None = None
    #: The row of ``cub.cu`` with the same result, and how many times as fast as CUB a GPU should be.
    cub: tuple[str, float] | None = None


def measure_programs(
    group: str, options: Options, programs: Callable[[amp.accelerator, Any], Iterator[Program]]
) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; `programs` takes the device, and PyTorch if it is a peer."""
    for path in options.accelerators:
        accelerator = amp.accelerator(path)
        if accelerator.device_path == "reference":
            continue
        if accelerator.is_emulated:
            for program in (each for each in programs(accelerator, None) if options.only in each.name):
                yield from _rows_of_cpu(group, program, accelerator, path, options.runs)
            continue
        is_nvidia = "nvidia" in accelerator.description.lower()
        torch = importlib.import_module("torch") if is_nvidia and importlib.util.find_spec("torch") else None
        heat = ahead(accelerator.default_view)
        several = [each for each in programs(accelerator, torch) if options.only in each.name]
        of_cub = cub.device_microseconds() if is_nvidia and any(program.cub for program in several) else {}
        # numpy needs longer than the device by factors of hundreds: several programs at once, which are not timed.
        with ThreadPoolExecutor(_THREADS) as pool:
            expected = list(pool.map(lambda program: program.of_numpy(*program.data), several))
        for program, right in zip(several, expected, strict=True):
            yield from _rows_of_gpu(group, program, accelerator, path, torch, options.runs, heat, right, of_cub)


def _rows_of_cpu(
    group: str, program: Program, accelerator: amp.accelerator, path: str, runs: int
) -> Iterator[Measurement]:
    view = accelerator.default_view
    data = [amp.array(raw, accelerator_view=view) for raw in program.data]
    started = time.perf_counter()
    expected = program.of_numpy(*program.data)
    of_numpy = time.perf_counter() - started
    works = {"": _timed(program.ours, data, view.wait)}
    if of_numpy < _SECONDS:
        works[", numpy"] = _timed(program.of_numpy, program.data, None)
    if program.textbook is not None:
        works[", textbook"] = _timed(program.textbook, data, view.wait)
    for function in (program.ours, program.textbook):
        if function is not None:
            found = np.asarray(function(*data))
            check(program.agrees(found, expected), f"{program.name} on {accelerator.description}")
    times: dict[str, tuple[float, ...]] = {", numpy": (of_numpy,)}
    times |= dict(zip(works, alternately(runs, *works.values(), seconds=_SECONDS), strict=True))
    yield from _measurements(group, program, path, times, _host_costs(program, view))


def _rows_of_gpu(
    group: str,
    program: Program,
    accelerator: amp.accelerator,
    path: str,
    torch: Any,
    runs: int,
    heat: Callable[[], None],
    expected: Any,
    of_cub: dict[str, float],
) -> Iterator[Measurement]:
    view = accelerator.default_view
    data = [amp.array(raw, accelerator_view=view) for raw in program.data]
    found = np.asarray(program.ours(*data))
    check(program.agrees(found, expected), f"{program.name} on {accelerator.description}")
    del found

    def hot() -> None:
        heat()
        view.wait()

    works = {"": _timed(program.ours, data, view.wait, _CALLS, hot)}
    device = {"device_us": _device_seconds(program.ours, data, heat)}
    if torch is not None and program.of_torch is not None:
        tensors = [torch.from_numpy(raw).cuda() for raw in program.data]
        busy = _busy_torch(torch)

        def hot_torch() -> None:
            busy()
            torch.cuda.synchronize()

        works[", PyTorch"] = _timed(program.of_torch, tensors, torch.cuda.synchronize, _CALLS, hot_torch)
        device["torch_device_us"] = _torch_seconds(torch, program.of_torch, tensors, busy)
        if program.of_cupy is not None and importlib.util.find_spec("cupy"):
            device["cupy_device_us"] = _cupy_seconds(program.of_cupy, program.data)
    if program.cub is not None and program.cub[0] in of_cub:
        device["cub_device_us"] = of_cub[program.cub[0]] / 1e6
    times = dict(zip(works, alternately(runs, *works.values(), seconds=_SECONDS), strict=True))
    notes = {name: round(seconds * 1e6, 1) for name, seconds in device.items()}
    yield from _measurements(group, program, path, times, notes | _host_costs(program, view))
    yield from _goals(group, program, path, device)


def _goals(group: str, program: Program, path: str, device: dict[str, float]) -> Iterator[Measurement]:
    """The device's time, with that of each peer divided by the goal as the target."""
    own = device["device_us"]
    for peer, goal in (("torch", program.goal), ("cub", None if program.cub is None else program.cub[1])):
        seconds = device.get(f"{peer}_device_us")
        if seconds is not None and goal is not None:
            ratios = {f"speed_up_over_{peer}": round(seconds / own, 3), "goal": goal}
            yield Measurement(group, f"{program.name}, device", (own,), path, target=seconds / goal, notes=ratios)


def _measurements(
    group: str, program: Program, path: str, times: dict[str, tuple[float, ...]], costs: dict[str, Any]
) -> Iterator[Measurement]:
    # The least: other work on a shared machine only adds.
    own = min(times[""])
    notes = {f"speed_up{_NAMES[peer]}": round(min(values) / own, 2) for peer, values in times.items() if peer} | costs
    size = program.data[0].size
    for peer in ("", ", numpy", ", textbook", ", PyTorch"):
        if peer in times:
            yield Measurement(group, f"{program.name}, {size:,}{peer}", times[peer], path, notes={} if peer else notes)


def _least(seconds: Callable[[], float]) -> float:
    """The least of some measurements, which end when several are about as short: for some tenths of a second after a
    pause, a GPU may take two to four times as long.
    """
    found: list[float] = []
    while len(found) < 4 or (len(found) < _MOST_DEVICE_TIMES and sorted(found)[2] > _ALIKE * min(found)):
        found.append(seconds())
    return min(found)


def _device_seconds(function: Callable[..., Any], data: Any, heat: Callable[[], None]) -> float:
    """The device's time for the launches of a call, which follows another one without a pause, as those of peers."""

    def one() -> float:
        with amp.profile() as profile:
            heat()
            kept = [function(*data) for _ in range(2)]
        kept.clear()
        launches = sorted((each for each in profile.launches if each.kernel != "arithmetic"), key=lambda x: x.queued)
        return sum(launch.seconds for launch in launches[len(launches) // 2 :])

    return _least(one)


def _busy_torch(torch: Any) -> Callable[[], None]:
    """A function that queues products of matrices for some 30 ms."""
    matrix = torch.rand(8192, 8192, device="cuda")

    def queue() -> None:
        product = matrix
        for _ in range(2):
            product = torch.mm(matrix, matrix)
        del product

    return queue


def _torch_seconds(torch: Any, function: Callable[..., Any], tensors: Any, busy: Callable[[], None]) -> float:
    """The device's time of a call by PyTorch, which follows another one without a pause."""

    def one() -> float:
        busy()
        first = function(*tensors)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        kept = function(*tensors)
        end.record()
        end.synchronize()
        del first, kept
        return float(begin.elapsed_time(end)) / 1e3

    return _least(one)


def _cupy_seconds(function: Callable[..., Any], data: Any) -> float:
    """The device's time of a call by CuPy, which follows another one without a pause."""
    cupy = importlib.import_module("cupy")
    arrays = [cupy.asarray(raw) for raw in data]
    matrix = cupy.ones((8192, 8192), cupy.float32)

    def one() -> float:
        for _ in range(2):
            cupy.matmul(matrix, matrix)
        first = function(cupy, *arrays)
        begin, end = (cupy.cuda.Event() for _ in range(2))
        begin.record()
        kept = function(cupy, *arrays)
        end.record()
        end.synchronize()
        del first, kept
        return float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3

    found = _least(one)
    arrays.clear()
    cupy.get_default_memory_pool().free_all_blocks()
    return found


def _host_costs(program: Program, view: amp.accelerator_view) -> dict[str, Any]:
    """The host's time of a call on few elements, and of its replay."""
    small = [
        amp.array(np.resize(raw, (16, 16) if raw.ndim == 2 else 100), accelerator_view=view) for raw in program.data
    ]
    return {
        "host_us": round(_host_seconds(view, program.ours, small) * 1e6, 1),
        "replay_us": round(_replay_seconds(view, program.ours, small) * 1e6, 1),
    }


def _timed(
    function: Callable[..., Any],
    data: Any,
    wait: Callable[[], Any] | None,
    calls: int = 1,
    heat: Callable[[], None] | None = None,
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
    """The seconds until a call on few elements returns, which waits for nothing: the least of some short bursts.

    A longer burst would wait for the device, which runs a few submissions ahead of the host at most.
    """
    for _ in range(5):
        function(*data)
    found = []
    for _ in range(_BURSTS):
        view.wait()
        started = time.perf_counter()
        for _ in range(_BURST):
            function(*data)
        found.append((time.perf_counter() - started) / _BURST)
    view.wait()
    return min(found)
