"""Large transfers of memory that is not imported: by several threads, through lanes.

A lane is memory that host and device see, and commands. A thread takes the lane whose copy began first, fills or
empties its memory, and has a copy engine move that; meanwhile it goes on with another lane. There are only a few more
lanes than threads, so that the processor's cache can hold them: the copy engines then read what threads have written
from there, and not from the host's memory, whose bandwidth would be the limit. The copies run on queues that do nothing
else, beside the kernels.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import OutOfMemoryError
from vkamp.lang.copying import in_threads, transfer_threads
from vkamp.run.engine import Statistics
from vkamp.run.vulkan.copy_commands import CopyCommands
from vkamp.run.vulkan.memory import Kind, MemoryBlock, MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice


#: The bytes of a lane, and the least that a copy of the device moves unless the transfer ends: to start a copy, a
#: thread needs Python's lock.
_PIECE, _SMALLEST = 16 << 20, 4 << 20
#: The least pieces of a transfer, if they can be smaller than a lane.
_LEAST = 8
#: The bytes for which a transfer gets a thread more while there are other transfers.
_SHARE = 8 << 20
#: The lanes whose copies are in flight while each thread has another one.
_SPARE = 4
#: Transfers of fewer bytes go through staging memory.
_MIN = 8 << 20
_Bytes = NDArray[np.uint8]


def is_large(data: _Bytes) -> bool:
    """Whether a transfer is worth several threads with lanes."""
    return data.size >= _MIN


class _Place(NamedTuple):
    """A place in a device's memory: a block of it, and the offset in bytes."""

    block: MemoryBlock
    offset: int


def _place(slot: MemorySlot, offset: int) -> _Place:
    return _Place(slot.block, slot.offset + offset)


class Lane:
    """Memory that host and device see, with the commands that copy to or from it. ``uses``: how many copies it has
    started or is about to start."""

    def __init__(self, device: VulkanDevice, queue: Any, slot: MemorySlot) -> None:
        self.slot = slot
        self.uses = 0
        self._commands = CopyCommands(device, queue)
        self._region = device.api.ffi.new("VkBufferCopy[1]")
        self._waiting = threading.Lock()

    def fill(self, slot: MemorySlot, offset: int, nbytes: int) -> None:
        """Starts a copy of a slot's bytes to this lane's memory."""
        self._start(_place(slot, offset), _place(self.slot, 0), nbytes)

    def empty(self, slot: MemorySlot, offset: int, nbytes: int) -> None:
        """Starts a copy of this lane's memory to a slot's bytes."""
        self._start(_place(self.slot, 0), _place(slot, offset), nbytes)

    def _start(self, source: _Place, target: _Place, nbytes: int) -> None:
        region = self._region[0]
        region.srcOffset, region.dstOffset, region.size = source.offset, target.offset, nbytes
        self._commands.start(source.block, target.block, self._region, 1)

    def wait(self, use: int | None = None) -> None:
        """Waits for the copy that was started, if any, even after Ctrl-C. With the number of a ``use``, it does not
        wait for later ones."""
        with self._waiting:
            if use in (None, self.uses):
                self._commands.wait()

    @property
    def is_in_flight(self) -> bool:
        """Whether a copy may be in flight."""
        return self._commands.is_in_flight

    def destroy(self) -> None:
        """Destroys its objects; no copy is in flight."""
        self._commands.destroy()


class Lanes:
    """The lanes of one direction, which its transfers share. They are created when needed, and kept."""

    def __init__(self, device: VulkanDevice, queue: Any, kind: Kind) -> None:
        self._device, self._queue, self._kind = device, queue, kind
        self._all: list[Lane] = []
        #: Those that no thread has; the copies of the last ones may be in flight.
        self._free: deque[Lane] = deque()

    def send(self, slot: MemorySlot, offset: int, data: _Bytes) -> bool:
        """Copies ``data`` to a slot, which nothing else uses; False, and nothing is done, if there is no memory for
        lanes. The copy has ended when this returns or raises, even after Ctrl-C."""
        return self._run(_Upload(self, slot, offset, data))

    def fetch(self, slot: MemorySlot, offset: int, out: _Bytes) -> bool:
        """Copies bytes of a slot, which nothing else writes, to ``out``; otherwise as :meth:`send`."""
        return self._run(_Download(self, slot, offset, out))

    def _run(self, transfer: _Transfer) -> bool:
        """Transfers the pieces in several threads. A thread for whose lane there is no memory does nothing."""
        first = self.take()
        if first is None:
            return False
        ready = deque([first])

        def work() -> None:
            lane = _popped(ready) or self.take()
            if lane is None:
                return  # The thread with the first lane transfers the pieces.
            try:
                transfer.work(lane)
            except BaseException:
                transfer.pieces.end()
                raise

        try:
            in_threads(work, self._threads(transfer.pieces), self._kind)
        finally:
            self._free.extend(ready)
            transfer.finish()
        return True

    def _threads(self, pieces: _Pieces) -> int:
        """How many threads transfer the pieces. While there are other transfers, more threads would take the lock of
        the interpreter from theirs."""
        most = -(-pieces.nbytes // _SHARE) if self._device.visitors > 1 else pieces.count
        return min(transfer_threads(), pieces.count, most)

    def take(self) -> Lane | None:
        """A lane that no thread has: a new one, unless so many are free that the copy of the first one has most likely
        ended. None if there is no memory for any."""
        made = self._created() if len(self._free) < _SPARE else None
        return _popped(self._free) if made is None else made

    def exchanged(self, lane: Lane) -> Lane:
        """Another lane instead of this one, whose copy is in flight; the same one if there is no other."""
        found = self.take()
        if found is None:
            return lane
        self._free.append(lane)
        return found

    def give_back(self, lane: Lane) -> None:
        """Takes back a lane; its copy may be in flight."""
        self._free.append(lane)

    def _created(self) -> Lane | None:
        """A new lane; None if there is no memory for it."""
        device = self._device
        with device.lock:
            try:
                slot = device.take(_PIECE, self._kind, Statistics())
            except OutOfMemoryError:
                return None
            made = Lane(device, self._queue, slot)
            self._all.append(made)
        return made

    def destroy(self) -> None:
        """Destroys their objects; no copy is in flight. The device frees the memory itself."""
        for each in self._all:
            each.destroy()


def _popped(lanes: deque[Lane]) -> Lane | None:
    """The first of the lanes, which other threads take, too; None if there is none left."""
    try:
        return lanes.popleft()
    except IndexError:
        return None


class _Pieces:
    """The pieces of a transfer: each thread that iterates over them takes the next one."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes, self._size = nbytes, _size_of_piece(nbytes)
        self.count = -(-nbytes // self._size)
        self._numbers = iter(range(self.count))  # whose steps no other thread interrupts
        self._has_ended = False

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for number in self._numbers:
            if self._has_ended:
                return
            start = number * self._size
            yield start, min(start + self._size, self.nbytes)

    def end(self) -> None:
        """Lets no thread take another piece."""
        self._has_ended = True


def _size_of_piece(nbytes: int) -> int:
    """The bytes of a piece of a transfer, chosen so that there are several pieces."""
    size = _SMALLEST
    while 2 * size <= _PIECE and 2 * size * _LEAST <= nbytes:
        size *= 2
    return size


class _Transfer:
    """A transfer of ``data`` from or to a slot's bytes."""

    def __init__(self, lanes: Lanes, slot: MemorySlot, offset: int, data: _Bytes) -> None:
        self._lanes, self._slot, self._offset, self._data = lanes, slot, offset, data
        self.pieces = _Pieces(data.size)
        #: The lanes of this transfer, each with the number of its last use.
        self._last_uses: dict[Lane, int] = {}

    def work(self, lane: Lane) -> None:
        """Transfers pieces until none is left, in one of several threads. It has a lane at any time, at first this
        one."""
        raise NotImplementedError

    def _use(self, lane: Lane) -> None:
        """Waits for the last copy of a lane, and notes that this transfer uses the lane."""
        lane.wait()
        lane.uses += 1
        self._last_uses[lane] = lane.uses

    def finish(self) -> None:
        """Waits for the copies that are in flight, even after Ctrl-C."""
        interrupt: KeyboardInterrupt | None = None
        for lane, use in self._last_uses.items():
            while True:
                try:
                    lane.wait(use)
                    break
                except KeyboardInterrupt as raised:
                    interrupt = raised
        if interrupt is not None:
            raise interrupt


class _Upload(_Transfer):
    def work(self, lane: Lane) -> None:
        try:
            for start, stop in self.pieces:
                if lane.is_in_flight:
                    lane = self._lanes.exchanged(lane)
                self._use(lane)
                np.copyto(lane.slot.seen(0, stop - start), self._data[start:stop])
                lane.empty(self._slot, self._offset + start, stop - start)
        finally:
            self._lanes.give_back(lane)


class _Download(_Transfer):
    """The device copies some pieces ahead of the threads."""

    def __init__(self, lanes: Lanes, slot: MemorySlot, offset: int, data: _Bytes) -> None:
        super().__init__(lanes, slot, offset, data)
        #: The pieces that the device copies, and the lanes to which it does.
        self._coming: deque[tuple[Lane, int, int]] = deque()

    def work(self, lane: Lane) -> None:
        held = [lane]
        try:
            for start, stop in self.pieces:
                self._use(held[0])
                held[0].fill(self._slot, self._offset + start, stop - start)
                self._coming.append((held.pop(), start, stop))
                another = self._lanes.take() if len(self._coming) <= _SPARE else None
                if another is not None:
                    held.append(another)
                else:
                    self._empty_first(held)  # There is one, since each thread adds one before it takes one.
            while self._empty_first(held):
                pass
        finally:
            for each in held:
                self._lanes.give_back(each)

    def _empty_first(self, held: list[Lane]) -> bool:
        """Copies the piece that comes first to its place, and adds its lane to those that the thread has; False if no
        piece is coming."""
        try:
            lane, start, stop = self._coming.popleft()
        except IndexError:
            return False
        held.append(lane)
        lane.wait()
        np.copyto(self._data[start:stop], lane.slot.seen(0, stop - start))
        return True

    def finish(self) -> None:
        super().finish()
        for lane, _, _ in self._coming:  # none, unless a thread has failed
            self._lanes.give_back(lane)
