"""A Vulkan device with everything that was made on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vkamp.artifacts import Executable
from vkamp.errors import AmpError, OutOfMemoryError
from vkamp.run.device import POOL_CAPACITY, BaseDevice
from vkamp.run.engine import DeviceInfo, Statistics
from vkamp.run.pool import Pool
from vkamp.run.vulkan.api import Api, VulkanError
from vkamp.run.vulkan.frames import Frames
from vkamp.run.vulkan.memory import BlockMemory, Kind, MemorySlot
from vkamp.run.vulkan.pipelines import DescriptorSets, Layouts, Pipelines, VulkanProgram
from vkamp.run.vulkan.relay import Relay

if TYPE_CHECKING:
    from vkamp.run.vulkan.queue import VulkanQueue


#: Bytes that are kept for transfers: to make such memory takes longer than to fill it.
_STAGING = 256 << 20
#: Seconds that threads get, at the end of the process, to leave a wait that is over.
_LEAVING = 5.0


class VulkanDevice(BaseDevice[MemorySlot]):
    """A logical device; shared by the queues on the device. ``staged``: the host does not see the memory that kernels
    use.
    """

    kind: Kind

    def __init__(self, info: DeviceInfo, *, staged: bool) -> None:
        super().__init__(info)
        self.staged = staged
        try:
            self.api = Api(info)
        except VulkanError as error:
            raise AmpError(f"the Vulkan engine can't open {info.name}: {error}") from error
        self.kind = "device" if staged else "shared"
        try:
            self.memory = BlockMemory(self.api, info)
            self.layouts = Layouts(self.api)
            self.pipelines = Pipelines(self.api, info, self.layouts)
        except BaseException:
            self.api.close()
            raise
        self.pool = Pool(min(POOL_CAPACITY, self.memory.capacity(self.kind) // 4))
        self._staging: Pool[MemorySlot] = Pool(_STAGING)
        #: The host's memory is given up at once.
        self._imports: Pool[MemorySlot] = Pool(0)
        self.sets = DescriptorSets(self.api, self.layouts)
        #: Queues with submitted work; what holds them until it is over.
        self.busy: dict[int, VulkanQueue] = {}
        self._relays: dict[VulkanDevice, Relay | None] = {}
        self._relays_lock = threading.Lock()
        self._frames: list[Frames] = []
        self._spare_frames: list[Frames] = []
        #: Threads that use memory that the host sees without the device's lock: it must not be freed until they have
        #: left.
        self._visitors = 0

    @property
    def budget(self) -> Any:
        """What the heaps hold of ours."""
        return self.memory.budget

    def failed(self, error: VulkanError) -> Exception:
        """The error to raise for a failed call."""
        if error.is_lost:
            return self.lose(str(error))
        if error.is_out_of_memory:
            return OutOfMemoryError(f"out of memory on {self.info.name}: {error}")
        return AmpError(f"{self.info.name}: {error}")

    # -- memory

    def _reserve(self, size: int, kind: Hashable, statistics: Statistics) -> str | None:
        return self.memory.reserve(size, cast(Kind, kind), statistics)

    def _create(self, size: int, kind: Hashable, statistics: Statistics) -> MemorySlot:
        return self.memory.create(self.number(), size)

    def _destroy(self, slot: MemorySlot) -> None:
        empty = self.memory.destroy(slot)
        if empty is not None:
            self.sets.forget_block(empty.serial)
            self.memory.free(empty)

    def lend(self, memory: NDArray[np.uint8], statistics: Statistics) -> MemorySlot | None:
        """The host's memory itself as memory of the device; None where it can't be."""
        if self.staged:
            return None
        self.collect()
        slot = self.memory.import_host(self.number(), memory)
        if slot is not None:
            statistics.allocations += 1
        return slot

    def relay_to(self, other: VulkanDevice) -> Relay | None:
        """What copies to another device go through; None if there is no memory that both take."""
        if not (self.api.host_alignment and other.api.host_alignment):
            return None
        with self._relays_lock:
            found = self._relays.get(other)
            if found.is_lost if found is not None else other not in self._relays:
                found = self._relays[other] = Relay.between(self, other)
            return found

    def tidy(self) -> None:
        """Frees what is no longer used."""
        with self.lock:
            if self.is_usable:
                self.collect()

    def _pool_of(self, group: Hashable) -> Pool[MemorySlot]:
        kind = group[1]  # type: ignore[index]
        if kind == "host":
            return self._imports
        return self._staging if kind in ("upload", "readback") else self.pool

    def _empty_pool(self) -> None:
        super()._empty_pool()
        for slot in self._staging.trim():
            self._destroy(slot)

    # -- programs

    def program(self, executable: Executable) -> VulkanProgram:
        """The checked program of ``executable``; the driver compiles it when it is launched."""
        program = self.pipelines.get(executable.key)
        if program is None:
            program = VulkanProgram(self, executable)
            self.pipelines.add(program)
        return program

    # -- queues

    def take_frames(self) -> Frames:
        """Command buffers and fences for one queue, and which of the device's queues it is to use."""
        if self._spare_frames:
            return self._spare_frames.pop()
        made = Frames(self.api, self.api.queues[len(self._frames) % len(self.api.queues)])
        self._frames.append(made)
        return made

    def give_back_frames(self, frames: Frames) -> None:
        """Returns the frames of a queue that is gone; called from finalizers. None of them runs: running work holds its
        queue.
        """
        self._spare_frames.append(frames)

    def settle_queues(self) -> None:
        for queue in list(self.busy.values()):
            queue.settle_running()

    def collect(self) -> None:
        """Puts into the pool what was returned, that of work included which ended unnoticed."""
        for queue in list(self.busy.values()):
            queue.retire()
        super().collect()

    @contextmanager
    def visit(self) -> Iterator[None]:
        """While it lasts, this thread may use memory that the host sees without the device's lock."""
        with self.lock:
            self.check()
            self._visitors += 1
        try:
            yield
        finally:
            with self.lock:
                self._visitors -= 1

    def _is_left_by_threads(self) -> bool:
        """Lets the threads leave that wait for a fence, or use memory: neither may be destroyed while one does.

        All work is over, so they only have to be scheduled. False if some are not in time: then nothing is destroyed,
        and the end of the process frees it.
        """
        deadline = time.monotonic() + _LEAVING
        while self._visitors or any(frames.has_waiters for frames in self._frames):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def close(self) -> None:
        with self.lock:
            if self.closed:
                return
            if self.removed is None:
                self.settle_queues()
            self.closed = True
            self.busy.clear()
            api = self.api
            if self.removed is None:
                api.DeviceWaitIdle(api.device)
                self.pipelines.cache.save()
        if not self._is_left_by_threads():
            return
        with self.lock:
            for frames in self._frames:
                frames.destroy()
            self.pipelines.destroy()
            self.sets.destroy()
            self.layouts.destroy()
            for block in list(self.memory.blocks.values()):
                self.memory.free(block)
            api.close()
