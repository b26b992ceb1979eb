"""Large transfers of memory that is not imported: by several threads, through lanes.

A lane is memory that host and device see, and a command buffer. Threads fill the memory of one lane together while a
copy engine moves that of the others, so that the host's memory bandwidth or the bus is the limit. The copies run on
queues that do nothing else, beside the kernels.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import OutOfMemoryError
from vkamp.lang.copying import copying_threads, in_threads
from vkamp.run.engine import Statistics
from vkamp.run.vulkan.copy_commands import CopyCommands
from vkamp.run.vulkan.memory import Kind, MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice


#: The bytes of a lane, and the least that a copy of the device moves unless the transfer ends. Starting a copy takes
#: several calls of the driver, at each of which the threads take turns in Python: in copies of 2 MiB, the threads of an
#: H100's host wait for each other most of the time.
_PIECE, _SMALLEST = 32 << 20, 8 << 20
#: The parts of a piece that threads copy. More, smaller ones were slower: after each a thread waits for its turn.
_PARTS = 4
#: Lanes of a transfer.
_LANES = 4
#: Transfers of fewer bytes go through staging memory.
_MIN = 32 << 20
_Bytes = NDArray[np.uint8]


def is_large(data: _Bytes) -> bool:
    """Whether a transfer is worth several threads with lanes."""
    return data.size >= _MIN


class _Place(NamedTuple):
    """A place in a device's memory: a buffer of Vulkan, and the offset in bytes."""

    buffer: Any
    offset: int


def _place(slot: MemorySlot, offset: int) -> _Place:
    return _Place(slot.block.buffer, slot.offset + offset)


class Lane:
    """Memory that host and device see, with the commands that copy to or from it."""

    def __init__(self, device: VulkanDevice, queue: Any, slot: MemorySlot) -> None:
        api = self._api = device.api
        self.slot = slot
        self._commands = CopyCommands(device, queue)
        self._region = api.ffi.new("VkBufferCopy*")
        # Waits order all work before a copy already, but validation layers lose track of waits in several threads.
        self._before = api.struct("VkMemoryBarrier")
        self._before.srcAccessMask = api.vk.VK_ACCESS_MEMORY_WRITE_BIT
        self._before.dstAccessMask = api.vk.VK_ACCESS_TRANSFER_READ_BIT | api.vk.VK_ACCESS_TRANSFER_WRITE_BIT

    def fill(self, slot: MemorySlot, offset: int, nbytes: int) -> None:
        """Starts a copy of a slot's bytes to this lane's memory."""
        self._start(_place(slot, offset), _place(self.slot, 0), nbytes)

    def empty(self, slot: MemorySlot, offset: int, nbytes: int) -> None:
        """Starts a copy of this lane's memory to a slot's bytes."""
        self._start(_place(self.slot, 0), _place(slot, offset), nbytes)

    def _start(self, source: _Place, target: _Place, nbytes: int) -> None:
        api, region = self._api, self._region
        region.srcOffset, region.dstOffset, region.size = source.offset, target.offset, nbytes
        commands = self._commands.begin()
        stages = api.vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, api.vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        api.CmdPipelineBarrier(commands, *stages, 0, 1, self._before, 0, api.null, 0, api.null)
        api.CmdCopyBuffer(commands, source.buffer, target.buffer, 1, region)
        self._commands.submit()

    def wait(self) -> None:
        """Waits for the copy that was started, if any, even after Ctrl-C."""
        self._commands.wait()

    def destroy(self) -> None:
        """Destroys its objects; no copy is in flight."""
        self._commands.destroy()


#: Copies a part between the host's data and a lane's memory: the lane, the place in it, and the part's two ends.
_Copy = Callable[[Lane, int, int, int], None]
#: Has the device copy a piece: the lane, the piece's beginning, and its bytes.
_Begin = Callable[[Lane, int, int], None]


class Lanes:
    """The lanes of one direction, which are created for the first transfer and kept."""

    def __init__(self, device: VulkanDevice, queue: Any, kind: Kind) -> None:
        self._device, self._queue, self._kind = device, queue, kind
        self._all: list[Lane] = []
        self._free: deque[Lane] = deque()

    def send(self, slot: MemorySlot, offset: int, data: _Bytes) -> bool:
        """Copies ``data`` to a slot, which nothing else uses; False, and nothing is done, if there is no memory for the
        lanes. The copy has ended when this returns or raises, even after Ctrl-C."""

        def copy(lane: Lane, at: int, start: int, stop: int) -> None:
            np.copyto(lane.slot.seen(at, stop - start), data[start:stop])

        def begin(lane: Lane, start: int, nbytes: int) -> None:
            lane.empty(slot, offset + start, nbytes)

        return self._run(data.size, copy, begin, to_host=False)

    def fetch(self, slot: MemorySlot, offset: int, out: _Bytes) -> bool:
        """Copies bytes of a slot, which nothing else writes, to ``out``; otherwise as :meth:`send`."""

        def copy(lane: Lane, at: int, start: int, stop: int) -> None:
            np.copyto(out[start:stop], lane.slot.seen(at, stop - start))

        def begin(lane: Lane, start: int, nbytes: int) -> None:
            lane.fill(slot, offset + start, nbytes)

        return self._run(out.size, copy, begin, to_host=True)

    def _run(self, nbytes: int, copy: _Copy, begin: _Begin, *, to_host: bool) -> bool:
        piece = _piece_of(nbytes)
        lanes = self._take(min(_LANES, -(-nbytes // piece)))
        if lanes is None:
            return False
        transfer = _Transfer(lanes, nbytes, piece, copy, begin, to_host=to_host)
        try:
            transfer.begin_first()
            in_threads(transfer.work, max(1, copying_threads()))
        finally:
            transfer.end()  # after an error for the other threads, too
            try:
                for each in lanes:
                    each.wait()
            finally:
                self._free.extend(lanes)
        return True

    def _take(self, count: int) -> list[Lane] | None:
        """Lanes that are not in use; None if there is no memory for them."""
        device = self._device
        with device.lock:
            while len(self._free) < count:
                try:
                    made = Lane(device, self._queue, device.take(_PIECE, self._kind, Statistics()))
                except OutOfMemoryError:
                    return None
                self._all.append(made)
                self._free.append(made)
            return [self._free.popleft() for _ in range(count)]

    def destroy(self) -> None:
        """Destroys their objects; no copy is in flight. The device frees the memory itself."""
        for each in self._all:
            each.destroy()


def _piece_of(nbytes: int) -> int:
    """The bytes of a piece of a transfer, chosen so that each lane gets several pieces."""
    size = _SMALLEST
    while size < _PIECE and 2 * _LANES * size < nbytes:
        size *= 2
    return min(size, _PIECE)


class _Transfer:
    """The pieces of a transfer. Each one has a lane, which had earlier ones before; threads copy its parts.

    To the device, the host copies a piece before the device does, to the host after that.
    """

    def __init__(
        self, lanes: Sequence[Lane], nbytes: int, piece: int, copy: _Copy, begin: _Begin, *, to_host: bool
    ) -> None:
        self._lanes, self._nbytes, self._piece = lanes, nbytes, piece
        self._copy, self._begin, self._to_host = copy, begin, to_host
        self._count = -(-nbytes // piece)
        self._parts = iter(range(self._count * _PARTS))  # whose steps no other thread interrupts
        #: How many parts of each piece the host has not copied.
        self._left = [_PARTS] * self._count
        #: Which pieces the device's copy has been started for.
        self._started = [threading.Event() for _ in range(self._count)]
        self._lock, self._waiting = threading.Lock(), [threading.Lock() for _ in lanes]
        self._has_ended = False

    def begin_first(self) -> None:
        """Starts the device's copies that wait for nothing."""
        if self._to_host:
            for number in range(len(self._lanes)):
                self._start(number)

    def work(self) -> None:
        """Copies parts as long as there are any: what each thread does."""
        step = -(-self._piece // _PARTS)
        try:
            for each in self._parts:
                number, part = divmod(each, _PARTS)
                if not self._wait(number):
                    return
                first = number * self._piece
                start = first + part * step
                stop = min(start + step, first + self._piece, self._nbytes)
                if start < stop:
                    self._copy(self._lanes[number % len(self._lanes)], start - first, start, stop)
                with self._lock:
                    self._left[number] -= 1
                    is_complete = not self._left[number]
                if is_complete:
                    self._start(number + len(self._lanes) if self._to_host else number)
        except BaseException:
            self.end()
            raise

    def _wait(self, number: int) -> bool:
        """Waits until the host may copy a piece; False if the transfer has ended."""
        before = number if self._to_host else number - len(self._lanes)
        if before >= 0:
            self._started[before].wait()
            place = number % len(self._lanes)
            if not self._has_ended:
                with self._waiting[place]:
                    self._lanes[place].wait()
        return not self._has_ended

    def _start(self, number: int) -> None:
        """Starts the device's copy of a piece."""
        if number < self._count and not self._has_ended:
            first = number * self._piece
            self._begin(self._lanes[number % len(self._lanes)], first, min(self._piece, self._nbytes - first))
            self._started[number].set()

    def end(self) -> None:
        """Ends the work of all threads."""
        self._has_ended = True
        for each in self._started:
            each.set()
