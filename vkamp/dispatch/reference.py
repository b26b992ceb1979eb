"""The reference accelerator as an engine: memory is numpy's, and a dispatch runs the IR in Python.

C++ AMP's model: docs/conformance.md, section 15 (AMP's REF device).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vkamp.artifacts import Executable
from vkamp.dispatch.reference_controls import (
    current_following,
    current_schedule,
    current_subgroup_size,
    reports,
    simulator,
)
from vkamp.errors import AmpError, OutOfMemoryError
from vkamp.lang.kernel import SUBGROUP_SIZES
from vkamp.lang.region import ByteSet, scatter
from vkamp.lang.storage import Descriptor
from vkamp.records import dataclass
from vkamp.run.engine import (
    SUBGROUP_OPERATIONS,
    Buffer,
    DeviceInfo,
    Dispatch,
    Engine,
    Launch,
    Limits,
    Program,
    Queue,
    Sink,
    Statistics,
    Timing,
    Transfer,
)
from vkamp.run.queue import taken

_LIMITS = Limits(
    tile_threads=1024,
    tile_size=(1024, 1024, 64),
    tile_count=(65535, 65535, 65535),
    shared_bytes=32768,
    buffer_bytes=2**32 - 4,
    push_bytes=128,
    buffers=64,
    subgroup_size=32,
    subgroup_operations=frozenset(SUBGROUP_OPERATIONS),
    subgroup_sizes=SUBGROUP_SIZES,
    tile_subgroups=1024,
)

#: Of the optional types it has all.
_TYPES = frozenset({"float16", "float64", "int16", "int64", "int8", "storage16", "storage8"})
_FEATURES = _TYPES | {"int64_atomics", "shared_int64_atomics", "subgroup_extended_types", "subgroup_size_control"}

_INFO = DeviceInfo(
    engine="reference",
    index=0,
    name="reference",
    kind="reference",
    driver="vkamp",
    api_version=(0, 0, 0),
    uuid="",
    memory_bytes=2**32,
    limits=_LIMITS,
    features=_FEATURES,
    engine_features=_FEATURES,
)


class _Buffer(Buffer):
    """Bytes in numpy memory."""

    def __init__(self, nbytes: int, queue: _Queue) -> None:
        if nbytes < 1:
            raise AmpError(f"a buffer has at least 1 byte, not {nbytes}")
        if nbytes > _LIMITS.buffer_bytes:
            raise OutOfMemoryError(
                f"{nbytes} bytes in one allocation is more than the reference accelerator supports: "
                f"{_LIMITS.buffer_bytes} bytes"
            )
        try:
            self.memory: NDArray[np.uint8] = np.zeros((nbytes + 3) // 4 * 4, np.uint8)
        except MemoryError as error:
            raise OutOfMemoryError(f"the host cannot allocate {nbytes} bytes for the reference accelerator") from error
        self._nbytes = nbytes
        self._queue = queue

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def upload(self, offset: int, data: NDArray[np.uint8], where: ByteSet | None = None) -> None:
        everything = ByteSet.interval(0, data.size)
        with self._queue.transfer("up", _moved(data.size, where)):
            scatter(self.memory[offset : offset + data.size], data, everything if where is None else where, 0)

    def download(
        self, offset: int, nbytes: int, where: ByteSet | None = None, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        with self._queue.transfer("down", _moved(nbytes, where)):
            return taken(self.memory[offset : offset + nbytes], where, out)


def _moved(nbytes: int, where: ByteSet | None) -> int:
    return nbytes if where is None else where.nbytes


@dataclass(frozen=True)
class _ReferenceProgram(Program):
    """A kernel's IR."""

    module: Any
    executable: Executable

    @property
    def key(self) -> str:
        return self.executable.key


class _Queue(Queue):
    """Runs each dispatch as it comes."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._statistics = Statistics()
        self.sink: Sink | None = None

    @contextmanager
    def transfer(self, direction: Literal["up", "down"], nbytes: int) -> Iterator[None]:
        """Around a transfer: no launch runs meanwhile."""
        started, numbers = time.perf_counter(), self._statistics
        with self._lock:
            yield
        if direction == "up":
            numbers.uploads += 1
            numbers.uploaded_bytes += nbytes
        else:
            numbers.downloads += 1
            numbers.downloaded_bytes += nbytes
        if self.sink is not None:
            self.sink(Transfer(direction, nbytes, started, time.perf_counter()))

    def profile(self, sink: Sink | None) -> None:
        self.sink = sink

    @property
    def info(self) -> DeviceInfo:
        return _INFO

    @property
    def statistics(self) -> Statistics:
        return Statistics(**vars(self._statistics))

    def allocate(self, nbytes: int) -> Buffer:
        self._statistics.allocations += 1
        return _Buffer(nbytes, self)

    def program(self, executable: Executable) -> Program:
        return _ReferenceProgram(executable.module, executable)

    def enqueue(self, dispatch: Dispatch) -> None:
        launch = dispatch.launch
        program = dispatch.program
        assert launch is not None
        assert isinstance(program, _ReferenceProgram)
        enqueued = time.perf_counter()
        with self._lock:
            self._statistics.dispatches += 1
            arrays = _views(launch.containers) | _never_accessed(program.module, launch)
            started = time.perf_counter()
            self._run(program.module, launch, arrays)
            seen = time.perf_counter()
        if self.sink is not None:
            # There is no other clock than the host's.
            self.sink(Timing(program.key, started, seen - started, launch, enqueued, started, seen))

    def _run(self, kernel: Any, launch: Launch, arrays: dict[str, NDArray[Any]]) -> None:
        sim = simulator()
        schedule, following, found = current_schedule(), current_following(), reports()
        follow = following.follow if following is not None else None
        given = (kernel, launch.domain, arrays, launch.scalars)
        # A kernel that was compiled for one size has that, also where a graph is replayed later.
        size = kernel.subgroup_size or current_subgroup_size()
        if found is None:
            has_it = sim.run(*given, schedule=schedule, follow=follow, subgroup_size=size)
        else:
            report, has_it = sim.check(*given, schedule=schedule, follow=follow, subgroup_size=size)
            found.append(report)
        if following is not None:
            following.found |= has_it

    def flush(self) -> None:
        """Nothing waits here."""

    def wait(self) -> None:
        """Nothing waits here."""

    def mark(self) -> Callable[[], None]:
        """Everything is done already."""
        return self.wait

    def close(self) -> None:
        """Nothing to give back."""


def _views(containers: Mapping[str, Descriptor]) -> dict[str, NDArray[np.generic]]:
    """The containers as numpy arrays over their storage; overlapping ones share memory."""
    out: dict[str, NDArray[np.generic]] = {}
    for name, found in containers.items():
        assert isinstance(found.storage, _Buffer)
        itemsize = found.dtype.itemsize
        out[name] = np.ndarray(
            found.shape,
            found.dtype,
            found.storage.memory,
            found.offset_elements * itemsize,
            tuple(s * itemsize for s in found.strides_elements),
        )
    return out


def _never_accessed(kernel: Any, launch: Launch) -> dict[str, NDArray[np.generic]]:
    """The containers that the kernel uses for their extent alone: arrays of that shape and one element of memory."""
    return {
        param.name: np.broadcast_to(np.zeros((), param.element.dtype), launch.extents[param.name])
        for param in kernel.buffers
        if param.name not in launch.containers
    }


class ReferenceEngine(Engine):
    """One device that needs no driver: slow, and the oracle of every test."""

    name = "reference"

    def devices(self) -> list[DeviceInfo]:
        return [_INFO]

    def open(self, info: DeviceInfo) -> Queue:
        return _Queue()
