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
from vkamp.run.vulkan.direct_copies import DirectCopies
from vkamp.run.vulkan.frames import Frames
from vkamp.run.vulkan.memory import BlockMemory, Kind, MemorySlot
from vkamp.run.vulkan.pipelines import DescriptorSets, Layouts, Pipelines, VulkanProgram
from vkamp.run.vulkan.relay import Relay
from vkamp.run.vulkan.sharing import Sharing

if TYPE_CHECKING:
    from vkamp.run.vulkan.recording import QueueWithRecordings


#: Bytes of transfer memory that are kept, since allocating such memory takes longer than filling it.
_STAGING = 256 << 20
#: Containers of at most so many bytes get memory that the host sees, if the device has any.
_VISIBLE = 64 << 10
#: Seconds in which threads must leave a wait that has ended, at the end of the process.
_LEAVING = 5.0


class VulkanDevice(BaseDevice[MemorySlot]):
    """A logical device; shared by the queues on the device. ``staged``: the host does not see the memory that kernels
    use; with ``visible``, it sees that of small containers, if the device has such memory.
    """

    kind: Kind

    def __init__(self, info: DeviceInfo, *, staged: bool, visible: bool = False) -> None:
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
            #: Transfers between numpy's memory and the device's memory; None where the two are the same or direct
            #: copies are impossible.
            can_copy = staged and self.api.host_alignment and self.api.copy_queues
            self.direct_copies = DirectCopies(self) if can_copy else None
        except BaseException:
            self.api.close()
            raise
        self._has_visible = staged and visible and self.memory.has("visible")
        capacity = self.memory.capacity(self.kind)
        # A GPU takes 50 ms to allocate a gigabyte. The host's memory is scarcer.
        self.pool = Pool(capacity // 4 if staged else min(POOL_CAPACITY, capacity // 4))
        self._staging: Pool[MemorySlot] = Pool(_STAGING)
        #: The host's memory is freed immediately.
        self._imports: Pool[MemorySlot] = Pool(0)
        self.sets = DescriptorSets(self.api, self.layouts)
        #: Queues with submitted work; this set keeps them alive until the work has ended.
        self.busy: dict[int, QueueWithRecordings] = {}
        self._relays: dict[VulkanDevice, Relay | None] = {}
        self._relays_lock = threading.Lock()
        self._frames: list[Frames] = []
        self._spare_frames: list[Frames] = []
        #: Threads that use host-visible memory without the device's lock. The memory must not be freed before they have
        #: finished.
        self._visitors = 0
        #: What CUDA uses of its memory, from the first export on.
        self.sharing: Sharing | None = None

    @property
    def budget(self) -> Any:
        """The bytes that this device has allocated from each heap."""
        return self.memory.budget

    def failed(self, error: VulkanError) -> Exception:
        """The error to raise for a failed call."""
        if error.is_lost:
            return self.lose(str(error))
        if error.is_out_of_memory:
            return OutOfMemoryError(f"out of memory on {self.info.name}: {error}")
        return AmpError(f"{self.info.name}: {error}")

    # -- memory

    def kind_for(self, nbytes: int) -> Kind:
        return "visible" if self._has_visible and nbytes <= _VISIBLE else self.kind

    def _reserve(self, size: int, kind: Hashable, statistics: Statistics) -> str | None:
        shortage = self.memory.reserve(size, cast(Kind, kind), statistics)
        if shortage is not None and kind == "visible":
            # Some devices have little of it, which other programs use, too.
            self._has_visible = False
            shortage = self.memory.reserve(size, self.kind, statistics)
        return shortage

    def _create(self, size: int, kind: Hashable, statistics: Statistics) -> MemorySlot:
        return self.memory.create(self.number(), size)

    def _destroy(self, slot: MemorySlot) -> None:
        empty = self.memory.destroy(slot)
        if empty is not None:
            self.sets.forget_block(empty.serial)
            if self.sharing is not None:
                self.sharing.free(empty)
            self.memory.free(empty)

    def _forget(self, slot: MemorySlot) -> None:
        if self.sharing is not None:
            self.sharing.forget(slot)

    def share_with_cuda(self) -> Sharing:
        """What CUDA uses of the memory; UnsupportedFeatureError with the reason if it can use none."""
        if self.sharing is None:
            self.sharing = Sharing(self)
        return self.sharing

    def lend(self, memory: NDArray[np.uint8], statistics: Statistics) -> MemorySlot | None:
        """The host's memory as memory of the device; None if the device cannot import it, or if kernels may access
        what is behind it."""
        if self.staged or self.memory.kernels_guard:
            return None
        self.collect()
        slot = self.memory.import_host(self.number(), memory)
        if slot is not None:
            statistics.allocations += 1
        return slot

    def relay_to(self, other: VulkanDevice) -> Relay | None:
        """The relay for copies to another device; None if there is no memory that both can import."""
        if not (self.api.host_alignment and other.api.host_alignment):
            return None
        with self._relays_lock:
            found = self._relays.get(other)
            if found.is_lost if found is not None else other not in self._relays:
                found = self._relays[other] = Relay.between(self, other)
            return found

    def tidy(self) -> None:
        """Frees unused objects."""
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

    def program(self, executable: Executable, *, later: bool = False) -> VulkanProgram:
        """The checked program of ``executable``; the driver compiles it at its first launch. ``later``: a thread makes
        all of it, and :meth:`Pipelines.build` raises what is wrong.
        """
        program = self.pipelines.get(executable.key)
        if program is None:
            program = VulkanProgram(self, executable, later=later)
            self.pipelines.add(program)
            if later:
                self.pipelines.start(program)
        return program

    # -- queues

    def take_frames(self) -> Frames:
        """Command buffers and fences for one queue, and the queue of the device that it uses."""
        if self._spare_frames:
            return self._spare_frames.pop()
        made = Frames(self.api, self.api.queues[len(self._frames) % len(self.api.queues)])
        self._frames.append(made)
        return made

    def give_back_frames(self, frames: Frames) -> None:
        """Takes back the frames of a queue that no longer exists; called from finalizers. None of them is running,
        since running work references its queue.
        """
        self._spare_frames.append(frames)

    def settle_queues(self) -> None:
        for queue in list(self.busy.values()):
            queue.settle_running()

    def collect(self) -> None:
        """Puts returned memory into the pool, also that of work whose end was not noticed yet."""
        for queue in list(self.busy.values()):
            queue.retire()
        if self.direct_copies is not None:
            self.direct_copies.arrays.collect()
        super().collect()

    @property
    def visitors(self) -> int:
        """How many threads may use host-visible memory without the device's lock."""
        return self._visitors

    @contextmanager
    def visit(self) -> Iterator[None]:
        """In this context the thread may use host-visible memory without the device's lock."""
        with self.lock:
            self.check()
            self._visitors += 1
        try:
            yield
        finally:
            with self.lock:
                self._visitors -= 1

    def _is_left_by_threads(self) -> bool:
        """Waits for the threads that wait for a fence or use memory, since neither may be destroyed before. All work
        has ended, so they only have to be scheduled. False if some take too long: then nothing is destroyed, and the
        end of the process frees everything.
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
            if self.direct_copies is not None:
                self.direct_copies.destroy()
            self.pipelines.destroy()
            self.sets.destroy()
            self.layouts.destroy()
            if self.sharing is not None:
                self.sharing.close()
            for block in list(self.memory.blocks.values()):
                if self.sharing is not None:
                    self.sharing.free(block)
                self.memory.free(block)
            api.close()
