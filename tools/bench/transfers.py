"""Bytes between numpy's memory and devices, and between devices, beside PyTorch (where it is installed) and numpy.

python -m tools.bench --groups transfers --accelerators nvidia
python -m tools.bench.transfers survey vulkan:0     # rates by the number of threads and the size of pieces
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from tools.bench.measure import Measurement, Options, check, child_json
from vkamp.lang import copying
from vkamp.run.vulkan import staging

GROUP = "transfers"
MIB = 1 << 20
#: The target in bytes per second on a GPU; and the maximum time of the pipeline as a multiple of its slowest stage.
AGAIN, BETWEEN, PIPELINE = 25e9, 20e9, 1.15
_STEPS, _STEP_MIB = 16, 64
TORCH = "PyTorch: "

Rows = dict[str, list[float]]


@amp.kernel
def negate(idx, values):
    values[idx] = 0 - values[idx]


def measure(options: Options) -> Iterator[Measurement]:
    """One child process per Vulkan device, and one for each two of them."""
    paths = [p for p in dict.fromkeys(o.partition("@")[0] for o in options.accelerators) if p.startswith("vulkan:")]
    for path in paths:
        gpu = not amp.accelerator(path).is_emulated
        mib, step = (1024, _STEP_MIB) if gpu else (64, 4)
        rows: Rows = child_json("tools.bench.transfers", "one", path, str(options.runs), str(mib), str(step))
        for name, values in rows.items():
            is_ratio = name.startswith("pipeline")
            limit = _limit(name, rows, mib * MIB) if gpu else None
            notes: dict[str, Any] = {} if is_ratio else {"gigabytes_per_second": _rate(name, values, mib, step)}
            yield Measurement(GROUP, name, tuple(values), path, limit, notes, is_ratio=is_ratio)
    for one, other in itertools.pairwise(paths):
        gpu = not (amp.accelerator(one).is_emulated or amp.accelerator(other).is_emulated)
        mib = 1024 if gpu else 64
        rows = child_json("tools.bench.transfers", "two", one, other, str(options.runs), str(mib))
        for name, values in rows.items():
            limit = mib * MIB / BETWEEN if gpu and not name.startswith(TORCH) else None
            notes = {"gigabytes_per_second": round(mib * MIB / statistics.median(values) / 1e9, 2), "to": other}
            yield Measurement(GROUP, f"{name}, {mib} MiB", tuple(values), one, limit, notes)


def _rate(name: str, values: list[float], mib: int, step: int) -> float:
    nbytes = (_STEPS * step if name.startswith("16 ") else mib) * MIB
    return round(nbytes / statistics.median(values) / 1e9, 2)


def _limit(name: str, rows: Rows, nbytes: int) -> float | None:
    """The most that a row may take on a GPU, in its unit."""
    if name.startswith("pipeline"):
        return PIPELINE
    if name in ("numpy's copy",) or name.startswith((TORCH, "16 ")):
        return None
    theirs = rows.get(TORCH + name)
    if name.startswith("upload") and name.endswith("second use"):
        return nbytes / AGAIN
    return None if theirs is None else statistics.median(theirs)


# -- one device ---------------------------------------------------------------------------------------------------


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class _OneDevice:
    """Numbers in new memory of numpy, an array on the device, and one of PyTorch if it is installed."""

    def __init__(self, path: str, mib: int) -> None:
        self.view = amp.accelerator(path, engine="vulkan").default_view
        self.size = mib * MIB // 4
        self.array = amp.array(amp.extent(self.size), amp.int32, accelerator_view=self.view)
        self.torch = _torch() if not self.view.accelerator.is_emulated else None
        self.tensor = None if self.torch is None else self.torch.empty(self.size, dtype=self.torch.int32, device="cuda")
        self.number = 0
        self.rows: Rows = {}

    def new(self) -> NDArray[np.int32]:
        """New memory, filled."""
        self.number += 1
        return np.full(self.size, self.number, np.int32)

    def note(self, name: str, work: Callable[[], object]) -> None:
        """Measures `work` as one more run of a row."""
        self.rows.setdefault(name, []).append(_seconds(work))

    def upload(self, source: NDArray[np.int32]) -> None:
        """All of it, waited for."""
        amp.copy(source, self.array)
        self.view.wait()

    def once(self) -> None:
        """Each row once."""
        view, array = self.view, self.array
        raw, target = self.new(), self.new()
        self.note("numpy's copy", lambda: np.copyto(target, raw))

        self.note("upload, first use", lambda: self.upload(raw))
        raw[-1] = -5
        self.note("upload, second use", lambda: self.upload(raw))
        self.note("download", lambda: amp.copy(array, target))
        check(target[0] == raw[0] and target[-1] == -5, "a copy to an array and back")
        self.note("download to new memory", lambda: np.asarray(array))

        raw = self.new()
        seen = amp.array_view(raw)

        def send() -> None:
            seen.refresh()
            seen.synchronize_to(view)
            view.wait()

        self.note("upload of a view, first use", send)
        raw[-1] = -7
        self.note("upload of a view, second use", send)
        amp.parallel_for_each(view, seen.extent, negate, seen)
        view.wait()
        self.note("download of a view", seen.synchronize)
        check(raw[0] == -self.number and raw[-1] == 7, "a view there and back")
        if self.torch is not None:
            self._once_by_torch(target)

    def _once_by_torch(self, target: NDArray[np.int32]) -> None:
        torch, tensor = self.torch, self.tensor
        assert torch is not None and tensor is not None
        raw = self.new()

        def upload() -> None:
            tensor.copy_(torch.from_numpy(raw))
            torch.cuda.synchronize()

        for name in ("upload, first use", "upload, second use"):
            self.note(TORCH + name, upload)
            for kind in ("upload of a view",):
                self.rows.setdefault(TORCH + name.replace("upload", kind), []).append(self.rows[TORCH + name][-1])
        self.note(TORCH + "download", lambda: torch.from_numpy(target).copy_(tensor))
        self.rows.setdefault(TORCH + "download of a view", []).append(self.rows[TORCH + "download"][-1])
        self.note(TORCH + "download to new memory", tensor.cpu)
        check(target[-1] == raw[-1], "PyTorch's copies")


class _Pipeline:
    """Views, each of which is copied to the device, changed by a kernel, and copied back."""

    def __init__(self, path: str, mib: int) -> None:
        self.view = amp.accelerator(path, engine="vulkan").default_view
        self.raws = [np.arange(1, 1 + mib * MIB // 4, dtype=np.int32) for _ in range(_STEPS)]
        self.views = [amp.array_view(raw) for raw in self.raws]

    def upload(self) -> None:
        for each in self.views:
            each.refresh()
            each.synchronize_to(self.view)
        self.view.wait()

    def compute(self) -> None:
        for each in self.views:
            amp.parallel_for_each(self.view, each.extent, negate, each)
        self.view.wait()

    def download(self) -> None:
        for each in self.views:
            each.synchronize()

    def together(self) -> None:
        coming = []
        for each in self.views:
            each.refresh()
            amp.parallel_for_each(self.view, each.extent, negate, each)
            coming.append(each.synchronize_async())
        for future in coming:
            future.get()

    def once(self, rows: Rows) -> None:
        stages = {"16 uploads": self.upload, "16 kernels": self.compute, "16 downloads": self.download}
        seconds = {name: _seconds(work) for name, work in stages.items()}
        before = int(self.raws[0][-1])
        seconds["16 of each together"] = _seconds(self.together)
        check(all(raw[-1] == -before and raw[0] == (1 if before < 0 else -1) for raw in self.raws), "a pipeline")
        for name, value in seconds.items():
            rows.setdefault(name, []).append(value)
        slowest = max(seconds[name] for name in stages)
        rows.setdefault("pipeline, of the time of its slowest stage", []).append(
            seconds["16 of each together"] / slowest
        )


class _Bus:
    """The same bytes by the copy queues alone, from and to imported arrays: an upper bound for any pipeline."""

    def __init__(self, pipeline: _Pipeline) -> None:
        queue: Any = pipeline.view._queue
        self.direct = queue.device.direct_copies
        for each in (pipeline.upload, pipeline.upload, pipeline.upload, pipeline.upload, pipeline.upload):
            each()  # The fifth transfer imports the memory.
        with queue.device.lock:
            known = self.direct.arrays._known.values()
            self.imported = [found.slot for found in known if found.slot is not None][:_STEPS]
        self.size = pipeline.raws[0].nbytes
        self.buffers = [queue.allocate(self.size) for _ in self.imported]
        self.regions = np.array([[0, 0, self.size]], np.uint64)

    def up(self) -> None:
        for host, buffer in zip(self.imported[::2], self.buffers[::2], strict=True):
            for _ in range(2):
                self.direct._up.copy(host, buffer.slot, self.regions)

    def down(self) -> None:
        for host, buffer in zip(self.imported[1::2], self.buffers[1::2], strict=True):
            for _ in range(2):
                self.direct._down.copy(buffer.slot, host, self.regions)

    def both(self) -> None:
        other = threading.Thread(target=self.down)
        other.start()
        self.up()
        other.join()

    def once(self, rows: Rows) -> None:
        stages = {"16 up, by the bus": self.up, "16 down, by the bus": self.down, "16 of both, by the bus": self.both}
        for name, work in stages.items():
            rows.setdefault(name, []).append(_seconds(work))


def _torch() -> Any:
    """PyTorch, where it is installed and has a GPU."""
    if importlib.util.find_spec("torch") is None:
        return None
    torch: Any = importlib.import_module("torch")
    return torch if torch.cuda.is_available() else None


def _one(path: str, runs: int, mib: int, step_mib: int) -> Rows:
    device = _OneDevice(path, mib)
    for _ in range(runs + 1):
        device.once()
    pipeline = _Pipeline(path, step_mib)
    rows: Rows = {}
    for _ in range(runs + 1):
        pipeline.once(rows)
    queue: Any = pipeline.view._queue
    if queue.device.direct_copies is not None:
        bus = _Bus(pipeline)
        for _ in range(runs + 1):
            bus.once(rows)
    # The first of each makes memory and compiles.
    return {name: values[1:] for name, values in {**device.rows, **rows}.items()}


# -- two devices --------------------------------------------------------------------------------------------------


def _two(one: str, other: str, runs: int, mib: int) -> Rows:
    views = [amp.accelerator(path, engine="vulkan").default_view for path in (one, other)]
    size = mib * MIB // 4
    arrays = [amp.array(amp.extent(size), amp.int32, accelerator_view=view) for view in views]
    seen = amp.array_view(amp.extent(size), amp.int32)
    amp.copy(np.arange(size, dtype=np.int32), arrays[0])
    rows: Rows = {}
    for number in range(runs + 1):

        def copy() -> None:
            amp.copy(*arrays)
            views[1].wait()

        seen.discard_data()
        amp.parallel_for_each(views[0], seen.extent, fill, seen, number)
        views[0].wait()

        def use() -> None:
            seen.synchronize_to(views[1])
            views[1].wait()

        rows.setdefault("between devices, arrays", []).append(_seconds(copy))
        rows.setdefault("between devices, a view", []).append(_seconds(use))
        check(int(seen[size - 1]) == number, "a view on two devices")
    check((np.asarray(arrays[1]) == np.arange(size, dtype=np.int32)).all(), "a copy between devices")
    torch = _torch()
    if torch is not None and torch.cuda.device_count() > 1 and not views[0].accelerator.is_emulated:
        tensors = [torch.zeros(size, dtype=torch.int32, device=f"cuda:{number}") for number in range(2)]
        for _ in range(runs + 1):

            def peer() -> None:
                tensors[1].copy_(tensors[0])
                torch.cuda.synchronize(1)

            rows.setdefault(TORCH + "between devices", []).append(_seconds(peer))
    return {name: values[1:] for name, values in rows.items()}


@amp.kernel
def fill(idx, values, number):
    values[idx] = number


# -- what the numbers of threads and the sizes of pieces do -------------------------------------------------------


def _survey(path: str, mib: int = 1024, runs: int = 5) -> None:
    device = _OneDevice(path, mib)
    raw, target = device.new(), device.new()
    usual = copying._threads, staging._PIECE
    for threads in (1, 2, 4, 6, 8, 12):
        for piece in (2, 4, 8, 16):
            copying._threads, copying._MAX = threads, threads
            copying._pools.clear()
            staging._PIECE = piece * MIB
            up, down = [], []
            for _ in range(runs + 1):
                up.append(_seconds(lambda: device.upload(raw)))
                down.append(_seconds(lambda: amp.copy(device.array, target)))
            rates = [mib * MIB / statistics.median(values[1:]) / 1e9 for values in (up, down)]
            mark = " (as it is)" if (threads, piece * MIB) == usual else ""
            print(f"{threads:3} threads, {piece:3} MiB: up {rates[0]:6.1f} GB/s, down {rates[1]:6.1f} GB/s{mark}")


if __name__ == "__main__":
    if sys.argv[1] == "survey":
        _survey(sys.argv[2], *map(int, sys.argv[3:]))
    elif sys.argv[1] == "one":
        print(json.dumps(_one(sys.argv[2], *map(int, sys.argv[3:]))))
    else:
        print(json.dumps(_two(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))))
