"""Transfers between host memory and device memory that the host cannot access, in pieces, through buffers that both can
access.

While the device copies one piece, threads of the host fill or empty others. The device's lock is taken for each piece
alone, so that other threads can launch during a transfer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.copying import copy_bytes, copy_soon, copying_threads
from vkamp.lang.region import ByteSet, scatter
from vkamp.run.queue import DeviceBuffer
from vkamp.run.vulkan.commands import CopyWork
from vkamp.run.vulkan.memory import Kind, MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.queue import VulkanQueue
    from vkamp.run.vulkan.submissions import Submission


#: The maximum and minimum number of bytes of a piece; a transfer has enough pieces to keep all threads busy.
_PIECE, _MIN_PIECE = 8 << 20, 2 << 20
_PIECES = 16
#: The maximum number of bytes of a download in transit.
_WINDOW = 32 << 20
#: If there are more intervals, they are not copied one by one.
_MAX_INTERVALS = 1024

Buffer = DeviceBuffer[MemorySlot]
_Bytes = NDArray[np.uint8]


class _Copies:
    """Copies in other threads, and the functions that are called after them, in their order."""

    def __init__(self) -> None:
        self._running: deque[tuple[Callable[[], None], Callable[[], None]]] = deque()

    def add(self, target: _Bytes, source: _Bytes, then: Callable[[], None]) -> None:
        """Copies ``source`` to ``target``, and calls ``then`` afterwards in this thread, now or later."""
        while len(self._running) >= copying_threads():
            self._finish_one()
        wait = copy_soon(target, source)
        if wait is None and not self._running:
            then()
        else:
            self._running.append((wait or _nothing, then))

    def _finish_one(self) -> None:
        wait, then = self._running[0]
        wait()
        self._running.popleft()
        then()

    def __enter__(self) -> _Copies:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            while error is None and self._running:
                self._finish_one()
        finally:
            self._wait()

    def _wait(self) -> None:
        """Waits until no thread uses the memory, even after Ctrl-C."""
        interrupt: KeyboardInterrupt | None = None
        while self._running:
            try:
                each = self._running.popleft()  # which keeps the memory alive until the copy has ended
                each[0]()
            except KeyboardInterrupt as raised:
                interrupt = raised
        if interrupt is not None:
            raise interrupt


def _nothing() -> None:
    """Does nothing."""


def send(queue: VulkanQueue, buffer: Buffer, offset: int, data: _Bytes, where: ByteSet | None, kind: Kind) -> None:
    """Makes the device copy ``data`` (the bytes ``where``) into a buffer, from memory that the host fills first."""
    first, last = (0, data.size) if where is None else (where.start, where.stop)
    size = _piece(last - first)
    with queue.device.visit(), _Copies() as copies:
        for start, stop, part in _parts(first, last, size, where):
            staging = queue.take_staging(size if last - first > size else stop - start, kind)
            work = queue.copy_work(staging, buffer, regions_of(part, -start, offset))

            def then(work: CopyWork = work, *, is_full: bool = stop - start == size) -> None:
                queue.append_copy(work, now=is_full)

            target = staging.slot.seen(0, stop - start)
            if last - first > size:
                copies.add(target, data[start:stop], then)
            else:
                copy_bytes(target, data[start:stop])
                then()


def send_whole(queue: VulkanQueue, buffer: Buffer, offset: int, data: _Bytes, where: ByteSet) -> None:
    """Like :func:`send`, of many intervals: the host downloads the whole range, changes it, and uploads it."""
    low, high = where.start, where.stop
    with queue.device.lock:  # no other thread may change the buffer in between
        whole = fetch(queue, buffer, offset + low, high - low, None, None)
        scatter(whole, data[low:high], where, low)
        send(queue, buffer, offset + low, whole, None, "upload")


def has_many(where: ByteSet | None) -> bool:
    """Whether the intervals are too many to be copied one by one."""
    return where is not None and where.count > _MAX_INTERVALS


def fetch(
    queue: VulkanQueue, buffer: Buffer, offset: int, nbytes: int, where: ByteSet | None, out: _Bytes | None
) -> _Bytes:
    """The bytes of a buffer (the bytes ``where``) in a new array, or written to ``out``, whose other bytes keep their
    values."""
    only = None if out is None else where
    out = np.empty(nbytes, np.uint8) if out is None else out
    first, last = 0, nbytes
    if where is not None:
        if not where:
            return out
        first, last = where.start, where.stop
        where = None if has_many(where) else where
    size = _piece(last - first)
    on_their_way: deque[_Fetched] = deque()
    with queue.device.visit(), _Copies() as copies:
        for start, stop, part in _parts(first, last, size, where):
            if len(on_their_way) * size >= _WINDOW:
                on_their_way.popleft().finish(out, only, copies)
            staging = queue.take_staging(size if last - first > size else stop - start, "readback")
            submission = queue.copy_now(buffer, staging, regions_of(part, offset, -start))
            on_their_way.append(_Fetched(queue, submission, staging, start, stop, part))
        for each in on_their_way:
            each.finish(out, only, copies)
    return out


class _Fetched:
    """A piece that the device copies to host-visible memory."""

    def __init__(
        self, queue: VulkanQueue, submission: Submission, staging: Buffer, start: int, stop: int, part: ByteSet
    ) -> None:
        self.queue = queue
        self.submission = submission
        self.staging = staging
        self.start, self.stop = start, stop
        self.part = part

    def finish(self, out: _Bytes, only: ByteSet | None, copies: _Copies) -> None:
        """Copies the piece into ``out``; only the bytes ``only``, unless this is ``None``."""
        self.queue.wait_for(self.submission)
        start, stop = self.start, self.stop
        found = self.staging.slot.seen(0, stop - start)
        part = self.part if only is None else self.part & only
        if part.count == 1 and part.nbytes == stop - start:
            staging = self.staging
            copies.add(out[start:stop], found, lambda: _keep(staging))
        else:
            scatter(out[start:stop], found, part, start)


def _keep(staging: Buffer) -> None:
    """Called when the memory is unused."""


def _piece(total: int) -> int:
    """The bytes of a piece of a transfer."""
    size = _MIN_PIECE
    while size < _PIECE and size * _PIECES < total:
        size *= 2
    return min(size, _PIECE)


def _parts(first: int, last: int, size: int, where: ByteSet | None) -> Iterator[tuple[int, int, ByteSet]]:
    """The pieces of a range, each with the bytes to copy; pieces without any are omitted."""
    for start in range(first, last, size):
        stop = min(start + size, last)
        part = ByteSet.interval(start, stop)
        if where is not None:
            part = where & part
        if part:
            yield start, stop, part


def regions_of(part: ByteSet, source: int, target: int) -> NDArray[np.uint64]:
    """The rows of a copy of ``part``, with ``source`` and ``target`` added to the positions."""
    rows = np.array(list(part.intervals()), np.int64)
    sizes = rows[:, 1] - rows[:, 0]
    regions: NDArray[np.uint64]
    regions = np.stack([rows[:, 0] + source, rows[:, 0] + target, sizes], axis=1).astype(np.uint64)
    return regions
