"""Large transfers of memory that is not imported: by several threads, through lanes.

A lane is memory that host and device see, and a command buffer. Each thread has two lanes: it fills or empties the
memory of one while a copy engine moves that of the other. Threads wait for nothing else, so that the host's memory
bandwidth or the bus is the limit. The copies run on queues that do nothing else, beside the kernels.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import OutOfMemoryError
from vkamp.lang.copying import in_threads, transfer_threads
from vkamp.run.engine import Statistics
from vkamp.run.vulkan.copy_commands import CopyBuffer, CopyCommands
from vkamp.run.vulkan.memory import Kind, MemoryBlock, MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice


#: The bytes of a lane, and the least that a copy of the device moves unless the transfer ends. Starting a copy takes
#: several calls of the driver, and Python's lock lets one thread at a time make them: with copies of 2 MiB, the threads
#: wait for each other most of the time.
_PIECE, _SMALLEST = 16 << 20, 4 << 20
#: The least pieces of each thread, if they can be smaller than a lane.
_EACH = 2
#: Transfers of fewer bytes go through staging memory.
_MIN = 8 << 20
#: The copies whose commands a lane keeps.
_KEPT = 128
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
    """Memory that host and device see, with the commands that copy to or from it.

    Programs transfer to and from the same places again and again, so that the commands are kept for the last places.
    """

    def __init__(self, device: VulkanDevice, queue: Any, slot: MemorySlot) -> None:
        api = self._api = device.api
        self.slot = slot
        self._commands = CopyCommands(device, queue)
        #: By the serial numbers of the blocks and the offsets of source and target, and the bytes.
        self._recorded: OrderedDict[tuple[int, ...], CopyBuffer] = OrderedDict()
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
        key = source.block.serial, source.offset, target.block.serial, target.offset, nbytes
        found = self._recorded.get(key)
        if found is None:
            # The lane's last copy has ended, so that none of its command buffers is in use.
            found = self._recorded.popitem(last=False)[1] if len(self._recorded) >= _KEPT else self._commands.new()
            self._record(found, source, target, nbytes)
            self._recorded[key] = found
        else:
            self._recorded.move_to_end(key)
        self._commands.submit(found)

    def _record(self, buffer: CopyBuffer, source: _Place, target: _Place, nbytes: int) -> None:
        api, region = self._api, self._region
        region.srcOffset, region.dstOffset, region.size = source.offset, target.offset, nbytes
        commands = self._commands.begin(buffer)
        stages = api.vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, api.vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        api.CmdPipelineBarrier(commands, *stages, 0, 1, self._before, 0, api.null, 0, api.null)
        api.CmdCopyBuffer(commands, source.block.buffer, target.block.buffer, 1, region)
        self._commands.end(buffer)

    def wait(self) -> None:
        """Waits for the copy that was started, if any, even after Ctrl-C."""
        self._commands.wait()

    def destroy(self) -> None:
        """Destroys its objects; no copy is in flight."""
        self._commands.destroy()


#: Copies a piece between the host's data and a lane's memory: the lane, and the piece's two ends.
_Copy = Callable[[Lane, int, int], None]
#: Has the device copy a piece: the lane, and the piece's two ends.
_Begin = Callable[[Lane, int, int], None]
#: The lanes of one thread.
_Pair = tuple[Lane, Lane]


class Lanes:
    """The lanes of one direction, which are created when a thread needs them, and kept."""

    def __init__(self, device: VulkanDevice, queue: Any, kind: Kind) -> None:
        self._device, self._queue, self._kind = device, queue, kind
        self._all: list[Lane] = []
        self._free: deque[_Pair] = deque()

    def send(self, slot: MemorySlot, offset: int, data: _Bytes) -> bool:
        """Copies ``data`` to a slot, which nothing else uses; False, and nothing is done, if there is no memory for the
        lanes. The copy has ended when this returns or raises, even after Ctrl-C."""

        def copy(lane: Lane, start: int, stop: int) -> None:
            np.copyto(lane.slot.seen(0, stop - start), data[start:stop])

        def begin(lane: Lane, start: int, stop: int) -> None:
            lane.empty(slot, offset + start, stop - start)

        return self._run(_Pieces(data.size), lambda pieces, pair: _send(pieces, pair, copy, begin))

    def fetch(self, slot: MemorySlot, offset: int, out: _Bytes) -> bool:
        """Copies bytes of a slot, which nothing else writes, to ``out``; otherwise as :meth:`send`."""

        def copy(lane: Lane, start: int, stop: int) -> None:
            np.copyto(out[start:stop], lane.slot.seen(0, stop - start))

        def begin(lane: Lane, start: int, stop: int) -> None:
            lane.fill(slot, offset + start, stop - start)

        return self._run(_Pieces(out.size), lambda pieces, pair: _fetch(pieces, pair, copy, begin))

    def _run(self, pieces: _Pieces, transfer: Callable[[_Pieces, _Pair], None]) -> bool:
        """Transfers the pieces in several threads. A thread for whose lanes there is no memory does nothing."""
        first = self._take()
        if first is None:
            return False
        ready = deque([first])

        def work() -> None:
            pair = _popped(ready) or self._take()
            if pair is None:
                return  # The thread with the first lanes transfers the pieces.
            try:
                transfer(pieces, pair)
            except BaseException:
                pieces.end()
                raise
            finally:
                try:
                    pair[0].wait()
                finally:
                    pair[1].wait()
                    self._free.append(pair)

        try:
            in_threads(work, min(transfer_threads(), pieces.count), self._kind)
        finally:
            self._free.extend(ready)
        return True

    def _take(self) -> _Pair | None:
        """Two lanes that are not in use; None if there is no memory for them."""
        found = _popped(self._free)
        return self._created() if found is None else found

    def _created(self) -> _Pair | None:
        """Two new lanes; None if there is no memory for them."""
        device = self._device
        with device.lock:
            try:
                slots = [device.take(_PIECE, self._kind, Statistics()) for _ in range(2)]
            except OutOfMemoryError:
                return None
            pair = Lane(device, self._queue, slots[0]), Lane(device, self._queue, slots[1])
            self._all.extend(pair)
        return pair

    def destroy(self) -> None:
        """Destroys their objects; no copy is in flight. The device frees the memory itself."""
        for each in self._all:
            each.destroy()


def _popped(pairs: deque[_Pair]) -> _Pair | None:
    """One of the pairs, which other threads take, too; None if there is none left."""
    try:
        return pairs.popleft()
    except IndexError:
        return None


class _Pieces:
    """The pieces of a transfer: each thread that iterates over them takes the next one."""

    def __init__(self, nbytes: int) -> None:
        self._nbytes, self._size = nbytes, _size_of_piece(nbytes)
        self.count = -(-nbytes // self._size)
        self._numbers = iter(range(self.count))  # whose steps no other thread interrupts
        self._has_ended = False

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for number in self._numbers:
            if self._has_ended:
                return
            start = number * self._size
            yield start, min(start + self._size, self._nbytes)

    def end(self) -> None:
        """Lets no thread take another piece."""
        self._has_ended = True


def _size_of_piece(nbytes: int) -> int:
    """The bytes of a piece of a transfer, chosen so that each thread gets several pieces."""
    size = _SMALLEST
    while 2 * size <= _PIECE and 2 * size * transfer_threads() * _EACH <= nbytes:
        size *= 2
    return size


def _send(pieces: _Pieces, pair: _Pair, copy: _Copy, begin: _Begin) -> None:
    """Transfers pieces to the device; the last copies of the two lanes may still be in flight."""
    for number, (start, stop) in enumerate(pieces):
        lane = pair[number % 2]
        lane.wait()
        copy(lane, start, stop)
        begin(lane, start, stop)


def _fetch(pieces: _Pieces, pair: _Pair, copy: _Copy, begin: _Begin) -> None:
    """Transfers pieces from the device, of which it copies the next one while the host empties a lane."""
    coming: list[tuple[Lane, int, int]] = []
    for number, (start, stop) in enumerate(pieces):
        lane = pair[number % 2]
        begin(lane, start, stop)
        coming.append((lane, start, stop))
        if number:
            _arrived(coming, copy)
    if coming:
        _arrived(coming, copy)


def _arrived(coming: list[tuple[Lane, int, int]], copy: _Copy) -> None:
    """Waits for the first piece that is coming, and copies it."""
    lane, start, stop = coming.pop(0)
    lane.wait()
    copy(lane, start, stop)
