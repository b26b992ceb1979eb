"""Large transfers of memory that is not imported: by several threads, each with a lane of its own.

A lane is memory that host and device see, and a command buffer. A thread fills the memory of one of its two lanes while
a copy engine moves that of the other, so that the host's memory bandwidth or the bus is the limit. The copies run on
queues that do nothing else, beside the kernels.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import OutOfMemoryError
from vkamp.lang.copying import copying_threads, in_threads
from vkamp.run.engine import Statistics
from vkamp.run.vulkan.memory import Kind, MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice


#: The bytes of a lane. Starting a copy keeps other threads from running Python for as long as the bus moves 2 MiB.
_PIECE = 8 << 20
#: Transfers of fewer bytes go through staging memory.
_MIN = 32 << 20
#: Lanes of a thread.
_EACH = 2
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
        self._device, self._queue, self.slot = device, queue, slot
        create = api.struct("VkCommandPoolCreateInfo")
        create.flags = api.vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
        create.queueFamilyIndex = api.copy_family
        self._pool = api.create("VkCommandPool", create)
        allocate = api.struct("VkCommandBufferAllocateInfo")
        allocate.commandPool = self._pool
        allocate.level = api.vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY
        allocate.commandBufferCount = 1
        self._commands = api.ffi.new("VkCommandBuffer[]", 1)
        api.check("vkAllocateCommandBuffers", api.AllocateCommandBuffers(api.device, allocate, self._commands))
        self._fences = api.ffi.new("VkFence[]", [api.create("VkFence", api.struct("VkFenceCreateInfo"))])
        self._begin = api.struct("VkCommandBufferBeginInfo")
        self._begin.flags = api.vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
        self._submit = api.struct("VkSubmitInfo")
        self._submit.commandBufferCount = 1
        self._submit.pCommandBuffers = self._commands
        self._region = api.ffi.new("VkBufferCopy*")
        # Waits order all work before a copy already, but validation layers lose track of waits in several threads.
        self._before = api.struct("VkMemoryBarrier")
        self._before.srcAccessMask = api.vk.VK_ACCESS_MEMORY_WRITE_BIT
        self._before.dstAccessMask = api.vk.VK_ACCESS_TRANSFER_READ_BIT | api.vk.VK_ACCESS_TRANSFER_WRITE_BIT
        self._to_host = api.struct("VkMemoryBarrier")
        self._to_host.srcAccessMask = api.vk.VK_ACCESS_TRANSFER_WRITE_BIT
        self._to_host.dstAccessMask = api.vk.VK_ACCESS_HOST_READ_BIT
        #: What vkQueueSubmit returned; empty if no copy is under way.
        self._results: list[int] = []

    def fill(self, slot: MemorySlot, offset: int, nbytes: int) -> None:
        """Starts a copy of a slot's bytes to this lane's memory."""
        self._start(_place(slot, offset), _place(self.slot, 0), nbytes)

    def empty(self, slot: MemorySlot, offset: int, nbytes: int) -> None:
        """Starts a copy of this lane's memory to a slot's bytes."""
        self._start(_place(self.slot, 0), _place(slot, offset), nbytes)

    def _start(self, source: _Place, target: _Place, nbytes: int) -> None:
        api, commands, region = self._api, self._commands[0], self._region
        region.srcOffset, region.dstOffset, region.size = source.offset, target.offset, nbytes
        api.check("vkBeginCommandBuffer", api.BeginCommandBuffer(commands, self._begin))
        copies, host = api.vk.VK_PIPELINE_STAGE_TRANSFER_BIT, api.vk.VK_PIPELINE_STAGE_HOST_BIT
        every = api.vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        api.CmdPipelineBarrier(commands, every, copies, 0, 1, self._before, 0, api.null, 0, api.null)
        api.CmdCopyBuffer(commands, source.buffer, target.buffer, 1, region)
        api.CmdPipelineBarrier(commands, copies, host, 0, 1, self._to_host, 0, api.null, 0, api.null)
        api.check("vkEndCommandBuffer", api.EndCommandBuffer(commands))
        with self._device.lock:
            self._device.check()
            # A KeyboardInterrupt cannot come between the call and the record of it.
            submit = map(api.QueueSubmit, (self._queue,), (1,), (self._submit,), (self._fences[0],))
            self._results.extend(submit)
        result = self._results[0]
        if result < 0:
            self._results.clear()
        api.check("vkQueueSubmit", result)

    def wait(self) -> None:
        """Waits for the copy that was started, if any, even after Ctrl-C."""
        api, interrupt = self._api, None
        while self._results:
            try:
                if api.check("vkWaitForFences", api.WaitForFences(api.device, 1, self._fences, 1, 50_000_000)) == 0:
                    api.check("vkResetFences", api.ResetFences(api.device, 1, self._fences))
                    self._results.clear()
            except KeyboardInterrupt as raised:
                interrupt = raised
        if interrupt is not None:
            raise interrupt

    def destroy(self) -> None:
        """Destroys its objects; no copy is under way."""
        api = self._api
        api.DestroyFence(api.device, self._fences[0], api.null)
        api.DestroyCommandPool(api.device, self._pool, api.null)


class Lanes:
    """The lanes of one direction, which are created for the first transfer and kept."""

    def __init__(self, device: VulkanDevice, queue: Any, kind: Kind) -> None:
        self._device, self._queue, self._kind = device, queue, kind
        self._all: list[Lane] = []
        self._free: deque[Lane] = deque()

    def send(self, slot: MemorySlot, offset: int, data: _Bytes) -> bool:
        """Copies ``data`` to a slot, which nothing else uses; False, and nothing is done, if there is no memory for the
        lanes. The copy has ended when this returns or raises, even after Ctrl-C."""

        def work(lanes: Sequence[Lane], pieces: Iterator[tuple[int, int]]) -> None:
            for lane, (start, stop) in zip(itertools.cycle(lanes), pieces, strict=False):
                lane.wait()
                np.copyto(lane.slot.seen(0, stop - start), data[start:stop])
                lane.empty(slot, offset + start, stop - start)

        return self._run(data.size, work)

    def fetch(self, slot: MemorySlot, offset: int, out: _Bytes) -> bool:
        """Copies bytes of a slot, which nothing else writes, to ``out``; otherwise as :meth:`send`."""

        def work(lanes: Sequence[Lane], pieces: Iterator[tuple[int, int]]) -> None:
            started: deque[tuple[Lane, int, int]] = deque()

            def finish_one() -> None:
                lane, start, stop = started.popleft()
                lane.wait()
                np.copyto(out[start:stop], lane.slot.seen(0, stop - start))

            for lane, (start, stop) in zip(itertools.cycle(lanes), pieces, strict=False):
                lane.fill(slot, offset + start, stop - start)
                started.append((lane, start, stop))
                if len(started) == len(lanes):
                    finish_one()
            while started:
                finish_one()

        return self._run(out.size, work)

    def _run(self, nbytes: int, work: Callable[[Sequence[Lane], Iterator[tuple[int, int]]], None]) -> bool:
        """Runs ``work`` in several threads, each with lanes of its own and the pieces that it gets to do."""
        count = max(1, min(copying_threads(), -(-nbytes // _PIECE)))
        lanes = self._take(count * _EACH)
        if lanes is None:
            return False
        try:
            pieces = _Pieces(nbytes)
            shares = iter([lanes[at : at + _EACH] for at in range(0, len(lanes), _EACH)])

            def one() -> None:
                own = next(shares)
                try:
                    work(own, pieces)
                finally:
                    pieces.end()  # after an error for the other threads, too
                    for each in own:
                        each.wait()

            in_threads(one, count)
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
        """Destroys their objects; no copy is under way. The device frees the memory itself."""
        for each in self._all:
            each.destroy()


class _Pieces(Iterator[tuple[int, int]]):
    """The pieces of a transfer, their beginnings and ends, for several threads."""

    def __init__(self, nbytes: int) -> None:
        self._nbytes = nbytes
        self._starts = iter(range(0, nbytes, _PIECE))  # whose steps no other thread interrupts
        self._has_ended = False

    def end(self) -> None:
        """Gives no further pieces."""
        self._has_ended = True

    def __next__(self) -> tuple[int, int]:
        if self._has_ended:
            raise StopIteration
        start = next(self._starts)
        return start, min(start + _PIECE, self._nbytes)
