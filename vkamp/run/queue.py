"""What the queues of all Vulkan engines share: buffers, and the checks before a dispatch."""

from __future__ import annotations

import dataclasses
import time
import weakref
from abc import abstractmethod
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from vkamp.artifacts import Executable
from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.lang.home import INTERRUPTED
from vkamp.lang.region import ByteSet, scatter
from vkamp.run.device import BaseDevice, DeviceProgram
from vkamp.run.driver import Driver
from vkamp.run.engine import Buffer, DeviceInfo, Dispatch, Queue, Sink, Statistics, Transfer
from vkamp.run.plan import Regions
from vkamp.run.pool import PooledBlock
from vkamp.run.work import BoundDispatch

S = TypeVar("S", bound=PooledBlock)
W = TypeVar("W", bound=BoundDispatch[Any, Any])


def moved(nbytes: int, where: ByteSet | None) -> int:
    """The number of bytes that a transfer copies."""
    return nbytes if where is None else where.nbytes


def taken(values: NDArray[np.uint8], where: ByteSet | None, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
    """The bytes for a download: a copy, or in ``out`` those ``where``."""
    if out is None:
        return values.copy()
    scatter(out, values, ByteSet.interval(0, values.size) if where is None else where, 0)
    return out


class DeviceBuffer(Buffer, Generic[S]):
    """A piece of a queue's memory."""

    def __init__(self, queue: BaseQueue[S, Any], slot: S, nbytes: int) -> None:
        self.queue = queue
        self.slot = slot
        self._nbytes = nbytes
        # A finalizer may run in any thread at any time. Work that uses the memory references the buffer.
        weakref.finalize(self, queue.device.give_back, slot).atexit = False

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def upload(self, offset: int, data: NDArray[np.uint8], where: ByteSet | None = None) -> None:
        if data.dtype != np.uint8 or data.ndim != 1:
            raise AmpError(f"upload takes a one-dimensional uint8 array, not {data.ndim}-d {data.dtype}")
        self._check_range("upload", offset, data.nbytes)
        started = time.perf_counter()
        self.queue.upload(self, offset, data, where)
        self.queue.note_transfer("up", moved(data.nbytes, where), started)

    def download(
        self, offset: int, nbytes: int, where: ByteSet | None = None, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        self._check_range("download", offset, nbytes)
        if out is not None and (out.dtype != np.uint8 or out.shape != (nbytes,)):
            raise AmpError(f"download into {out.shape} of {out.dtype}, not {nbytes} bytes")
        started = time.perf_counter()
        found = self.queue.download(self, offset, nbytes, where, out)
        self.queue.note_transfer("down", moved(nbytes, where), started)
        return found

    def take_from(self, offset: int, source: Buffer, source_offset: int, nbytes: int) -> bool:
        self._check_range("take_from", offset, nbytes)
        return self.queue.take_from(self, offset, source, source_offset, nbytes)

    def external(self) -> Any:
        """The buffer as another library's memory (``vkamp.lang.storage.ExternalMemory``), or the reason why it cannot
        be that."""
        return self.queue.external(self)

    def _check_range(self, what: str, offset: int, nbytes: int) -> None:
        if offset < 0 or nbytes < 0 or offset + nbytes > self._nbytes:
            raise AmpError(f"{what} of bytes {offset} to {offset + nbytes}: the buffer has {self._nbytes}")


class BaseQueue(Queue, Generic[S, W]):
    """One in-order queue of a device; ``W`` is the class of its dispatches."""

    def __init__(self, device: BaseDevice[S]) -> None:
        self.device = device
        self._driver = Driver(self)
        #: How much work had been done when the driver thread last found pending work.
        self._seen = -1
        self._statistics = Statistics()
        self._sink: Sink | None = None

    def note_transfer(self, direction: Literal["up", "down"], nbytes: int, started: float) -> None:
        """Reports a finished transfer to the profile."""
        sink = self._sink
        if sink is not None:
            sink(Transfer(direction, nbytes, started, time.perf_counter()))

    def profile(self, sink: Sink | None) -> None:
        if sink is not None and not self.info.tick_bits:
            raise UnsupportedFeatureError(f"{self.info.name} has no timestamps")
        self._check()
        with self.device.lock:
            self.submit()
            self._sink = sink

    @property
    def info(self) -> DeviceInfo:
        return self.device.info

    @property
    def statistics(self) -> Statistics:
        return dataclasses.replace(self._statistics)

    def allocate(self, nbytes: int) -> DeviceBuffer[S]:
        if nbytes < 1:
            raise AmpError(f"a buffer has at least 1 byte, not {nbytes}")
        self._check()
        with self.device.lock:
            return DeviceBuffer(self, self.device.take(nbytes, self.device.kind_for(nbytes), self._statistics), nbytes)

    def program(self, executable: Executable) -> DeviceProgram:
        self._check()
        executable.spirv  # noqa: B018 - compiled before the lock is taken
        with self.device.lock:
            return self.device.program(executable)

    def enqueue(self, dispatch: Dispatch) -> None:
        self.append(self._bind(dispatch))

    def close(self) -> None:
        if not self.is_open or self.device.forked or self.device.closed:
            return
        with self.device.lock:
            if self.device.removed is None:
                self.settle_running()
            self.is_open = False
            self._drop()

    @abstractmethod
    def append(self, work: W) -> None:
        """Enqueues a bound dispatch."""

    @abstractmethod
    def drive(self) -> float | None:
        """Submits the work that the device has room for, without waiting. The caller has the lock.

        Returns the seconds until the next check, or ``None`` if no work is left.
        """

    @abstractmethod
    def settle_running(self) -> None:
        """Waits for all submitted work, and for nothing else."""

    @abstractmethod
    def upload(self, buffer: DeviceBuffer[S], offset: int, data: NDArray[np.uint8], where: ByteSet | None) -> None:
        """Like ``Buffer.upload``, for a range inside the buffer."""

    @abstractmethod
    def download(
        self,
        buffer: DeviceBuffer[S],
        offset: int,
        nbytes: int,
        where: ByteSet | None,
        out: NDArray[np.uint8] | None,
    ) -> NDArray[np.uint8]:
        """Like ``Buffer.download``, for a range inside the buffer."""

    def take_from(
        self, target: DeviceBuffer[S], target_offset: int, source: Buffer, source_offset: int, nbytes: int
    ) -> bool:
        """Like ``Buffer.take_from``, into a range inside the buffer."""
        return False

    def external(self, buffer: DeviceBuffer[S]) -> Any:
        """Like ``DeviceBuffer.external``."""
        return f"the engine {self.info.engine!r} cannot share memory with CUDA"

    @abstractmethod
    def _bind(self, dispatch: Dispatch) -> W:
        """A dispatch, checked, compiled and bound to its memory."""

    def flush(self) -> None:
        self._check()
        with self.device.lock:
            self.submit()

    def submit(self) -> None:
        """Submits what :meth:`flush` submits; the caller has the device's lock."""
        self._submit()

    @abstractmethod
    def _submit(self) -> None:
        """Submits everything enqueued that does not have to wait."""

    @abstractmethod
    def _drop(self) -> None:
        """Drops all work: the queue is closed."""

    def _check(self) -> None:
        """Raises unless a call of the queue may begin."""
        self._check_open()
        if self.device.is_held():
            raise AmpError(INTERRUPTED)

    def _check_open(self) -> None:
        self.device.check()
        if not self.is_open:
            raise AmpError("this queue is closed")

    def _regions(self, dispatch: Dispatch) -> tuple[Regions, ...]:
        """The parts of its buffers that a dispatch accesses, if they matter on this device."""
        return dispatch.regions if self.device.orders_parts else ()

    def _checked(self, dispatch: Dispatch) -> tuple[Any, tuple[S, ...]]:
        """The program and the memory of a dispatch, after checks that drivers do not make."""
        program = dispatch.program
        if not isinstance(program, DeviceProgram) or program.device is not self.device:
            raise AmpError("the program was made for another device")
        if len(dispatch.buffers) != program.buffers or len(dispatch.writes) != program.buffers:
            raise AmpError(f"the program takes {program.buffers} buffers, not {len(dispatch.buffers)}")
        if len(dispatch.push) != program.push_bytes:
            raise AmpError(f"the program takes {program.push_bytes} bytes of push constants, not {len(dispatch.push)}")
        most = self.device.info.limits.tile_count
        if not all(1 <= g <= m for g, m in zip(dispatch.groups, most, strict=True)):
            raise AmpError(f"{self.device.info.name} takes 1 to {most} tiles, not {dispatch.groups}")
        slots = []
        for buffer in dispatch.buffers:
            if not isinstance(buffer, DeviceBuffer) or buffer.queue is not self:
                raise AmpError("a buffer belongs to another queue")
            slots.append(buffer.slot)
        sizes = dispatch.sizes
        if sizes is not None and not (self.takes_sizes and isinstance(sizes, DeviceBuffer) and sizes.queue is self):
            raise AmpError("the size of the grid is in a buffer from which this queue cannot read it")
        return program, tuple(slots)
