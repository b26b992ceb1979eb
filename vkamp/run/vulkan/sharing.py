"""Memory of a device that CUDA uses at the same time, and the order of both sides' work.

The blocks of memory are exported as file descriptors (``VK_KHR_external_memory_fd``) and mapped by CUDA. Each piece of
work that uses shared memory is submitted as soon as it is enqueued, between two operations on timeline semaphores that
both sides have: it waits for the work that CUDA's streams had by then, and their later work waits for it. Both sides'
work on shared memory thus runs in the order in which the host enqueued it. Where CUDA cannot import semaphores, the
host waits instead.
"""

from __future__ import annotations

import time
import weakref
from collections import Counter, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.run.cuda import CUDA, DEFAULT_STREAM, CudaDevice, CudaError, CudaMemory, cuda_device
from vkamp.run.features import chain
from vkamp.run.plan import Access
from vkamp.run.queue import DeviceBuffer
from vkamp.run.vulkan.api import Api
from vkamp.run.vulkan.memory import MemoryBlock, MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice
    from vkamp.run.vulkan.queue import VulkanQueue
    from vkamp.run.vulkan.submissions import Submission

Buffer = DeviceBuffer[MemorySlot]
#: Streams that are never destroyed: the legacy default stream, and the thread's.
_LASTING = {1, 2}
#: How long the host polls for the end of a launch while CUDA is idle (seconds).
_PATIENCE = 2e-4


def memory_descriptor(api: Api, block: MemoryBlock) -> int:
    """A new file descriptor of a block's memory, which was allocated for that."""
    wanted = api.struct("VkMemoryGetFdInfoKHR")
    wanted.memory = block.memory
    wanted.handleType = api.vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
    found = api.ffi.new("int*")
    api.check("vkGetMemoryFdKHR", api.GetMemoryFdKHR(api.device, wanted, found))
    return int(found[0])


class Timeline:
    """A timeline semaphore of both sides, and the last value that either side was asked to set."""

    def __init__(self, api: Api, cuda: CudaDevice) -> None:
        self._api, self._cuda = api, cuda
        vk = api.vk
        create, kind = api.struct("VkSemaphoreCreateInfo"), api.struct("VkSemaphoreTypeCreateInfo")
        export = api.struct("VkExportSemaphoreCreateInfo")
        kind.semaphoreType = vk.VK_SEMAPHORE_TYPE_TIMELINE
        export.handleTypes = vk.VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
        chain(vk, create, kind, export)
        self.handle = api.create("VkSemaphore", create)
        self.value = 0
        try:
            wanted = api.struct("VkSemaphoreGetFdInfoKHR")
            wanted.semaphore = self.handle
            wanted.handleType = export.handleTypes
            found = api.ffi.new("int*")
            api.check("vkGetSemaphoreFdKHR", api.GetSemaphoreFdKHR(api.device, wanted, found))
            self.imported = cuda.import_semaphore(int(found[0]))
        except BaseException:
            api.DestroySemaphore(api.device, self.handle, api.null)
            raise

    def next(self) -> int:
        """The next value."""
        self.value += 1
        return self.value

    def destroy(self) -> None:
        """Destroys it on both sides; nothing waits for it any more."""
        self._cuda.destroy_semaphore(self.imported)
        self._api.DestroySemaphore(self._api.device, self.handle, self._api.null)


class _Order:
    """The semaphores of one queue: one that the queue sets, and one for each stream, which the stream sets."""

    def __init__(self, api: Api, cuda: CudaDevice, queue: Any) -> None:
        self._api, self._cuda, self._queue = api, cuda, queue
        self._done = Timeline(api, cuda)
        self._ready: dict[int, Timeline] = {}

    def before(self, streams: Iterable[int]) -> None:
        """Makes the queue's later work wait for the work that the streams have."""
        waits = []
        for stream in streams:
            timeline = self._ready.get(stream)
            if timeline is None:
                timeline = self._ready[stream] = Timeline(self._api, self._cuda)
            self._cuda.signal(timeline.imported, timeline.next(), stream)
            waits.append(timeline)
        self._submit(waits, [])

    def after(self, streams: Iterable[int]) -> None:
        """Makes the later work of the streams wait for the work that was submitted to the queue."""
        value = self._done.next()
        self._submit([], [self._done])
        for stream in streams:
            self._cuda.wait(self._done.imported, value, stream)

    def _submit(self, waits: list[Timeline], signals: list[Timeline]) -> None:
        """Submits a batch without commands, whose waits hold for all later work and its signals for all earlier."""
        api, ffi, vk = self._api, self._api.ffi, self._api.vk
        batch, values = api.struct("VkSubmitInfo"), api.struct("VkTimelineSemaphoreSubmitInfo")
        held = [
            ffi.new("VkSemaphore[]", [each.handle for each in waits]),
            ffi.new("uint64_t[]", [each.value for each in waits]),
            ffi.new("VkPipelineStageFlags[]", [vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT] * len(waits)),
            ffi.new("VkSemaphore[]", [each.handle for each in signals]),
            ffi.new("uint64_t[]", [each.value for each in signals]),
        ]
        batch.waitSemaphoreCount = values.waitSemaphoreValueCount = len(waits)
        batch.pWaitSemaphores, values.pWaitSemaphoreValues, batch.pWaitDstStageMask = held[:3]
        batch.signalSemaphoreCount = values.signalSemaphoreValueCount = len(signals)
        batch.pSignalSemaphores, values.pSignalSemaphoreValues = held[3:]
        chain(vk, batch, values)
        api.check("vkQueueSubmit", api.QueueSubmit(self._queue, 1, batch, ffi.NULL))

    def destroy(self) -> None:
        """Destroys its semaphores; all work has ended."""
        for each in (self._done, *self._ready.values()):
            each.destroy()


class Sharing:
    """What a device shares with CUDA. The device's lock guards it.

    ``host_waits``: why the host waits instead of semaphores; empty if it does not.
    """

    def __init__(self, device: VulkanDevice) -> None:
        """UnsupportedFeatureError if CUDA cannot use the device."""
        api = device.api
        if not api.exports_memory:
            raise UnsupportedFeatureError(f"{device.info.name} has no memory that CUDA can import")
        self._device = device
        self.cuda = cuda_device(device.info.uuid)
        self.host_waits = "" if api.exports_semaphores else "the device exports no timeline semaphores"
        self._mapped: dict[int, CudaMemory] = {}
        #: The streams that use each slot, and how many exports each has.
        self._streams: dict[int, Counter[int]] = {}
        #: Exports that are no longer used: their finalizers may run in any thread at any time.
        self._ended: deque[tuple[int, int]] = deque()
        self._orders: dict[int, _Order] = {}

    # -- memory

    def address(self, slot: MemorySlot) -> int:
        """CUDA's address of a slot, whose block is mapped if necessary."""
        block = slot.block
        mapped = self._mapped.get(block.serial)
        if mapped is None:
            descriptor = memory_descriptor(self._device.api, block)
            mapped = self._mapped[block.serial] = self.cuda.import_memory(descriptor, block.need[1])
        return mapped.address + slot.offset

    def forget(self, slot: MemorySlot) -> None:
        """Waits for CUDA's work on a slot that is about to be used for something else."""
        streams = self._streams.pop(slot.id, None)
        if streams is not None:
            self._ended_of(frozenset([slot.id]))
            self._finish_all(streams)

    def _finish_all(self, streams: Iterable[int]) -> None:
        """Waits on the host for the work of streams that may have been destroyed."""
        if any(stream not in _LASTING for stream in streams):
            self.cuda.synchronize_all()
            return
        for stream in streams:
            self.cuda.synchronize(stream)

    def free(self, block: MemoryBlock) -> None:
        """Unmaps a block that is about to be freed."""
        mapped = self._mapped.pop(block.serial, None)
        if mapped is not None:
            mapped.free()

    # -- order

    def begin(self, queue: VulkanQueue, slot: MemorySlot, stream: int) -> None:
        """From now on the work of a stream and the queue's work on a slot run in the order of the host's calls. All
        work of the queue was submitted."""
        self._streams.setdefault(slot.id, Counter())[stream] += 1
        self._after(queue, [stream])

    def end(self, slot: MemorySlot, stream: int) -> None:
        """Ends it after the next piece of work; may be called in any thread at any time."""
        self._ended.append((slot.id, stream))

    def concerns(self, access: Access) -> bool:
        """Whether the order with CUDA's work matters for an access."""
        known = self._streams
        return bool(known) and not (known.keys().isdisjoint(access.reads) and known.keys().isdisjoint(access.writes))

    def submit(self, queue: VulkanQueue, submission: Submission) -> None:
        """Submits recorded work, ordered with the work of the streams that share its memory."""
        frames = queue.frames
        if submission.frame.results or not self.concerns(submission.access):
            frames.submit(submission.frame)
            return
        ended = self._ended_of(submission.access.all)
        if ended - _LASTING:
            self._finish_all(ended)
        streams = ended & _LASTING
        for each in submission.access.all:
            streams |= self._streams.get(each, {}).keys()
        if not self.host_waits and all(self.cuda.is_idle(stream) for stream in streams):
            # A semaphore in a stream makes the device change to CUDA's context and back, which takes longer than
            # most launches.
            frames.submit(submission.frame)
            if self._is_short(queue, submission):
                return
        else:
            self.wait_for(queue, streams)
            frames.submit(submission.frame)
        self._after(queue, streams, submission)

    def _is_short(self, queue: VulkanQueue, submission: Submission) -> bool:
        """Whether a submission ends within the time that a change of context takes."""
        until = time.perf_counter() + _PATIENCE
        while not queue.frames.is_done(submission.frame):
            if time.perf_counter() > until:
                return False
        return True

    def wait_for(self, queue: VulkanQueue, streams: Iterable[int]) -> None:
        """Makes the queue's later work wait for the work that the streams have."""
        for stream in streams:
            try:
                if self.host_waits:
                    self.cuda.synchronize(stream)
                else:
                    self._order_of(queue).before([stream])
            except CudaError as error:
                for users in self._streams.values():
                    users.pop(stream, None)
                raise AmpError(
                    f"{self._device.info.name}: the work of CUDA's stream {stream:#x} can no longer be ordered with "
                    f"launches ({error}): keep a stream while it uses exported containers"
                ) from error

    def _after(self, queue: VulkanQueue, streams: Iterable[int], submission: Submission | None = None) -> None:
        try:
            if not self.host_waits:
                self._order_of(queue).after(streams)
            elif submission is not None:
                queue.frames.wait(submission.frame, 0.0, self._device.check)
            else:
                queue.settle_running()
        except CudaError as error:
            raise AmpError(f"{self._device.info.name}: a stream of CUDA cannot wait for launches ({error})") from error

    def _order_of(self, queue: VulkanQueue) -> _Order:
        # Queues of the device share Vulkan's queues, but the semaphores belong to one of them, which is never destroyed
        # before the device.
        key = int(self._device.api.ffi.cast("uintptr_t", queue.frames.queue))
        found = self._orders.get(key)
        if found is None:
            found = self._orders[key] = _Order(self._device.api, self.cuda, queue.frames.queue)
        return found

    def _ended_of(self, slots: frozenset[int]) -> set[int]:
        """Forgets the exports of slots that have ended; returns their streams, whose work may not have ended."""
        found = set()
        for _ in range(len(self._ended)):
            slot, stream = self._ended.popleft()
            if slot not in slots:
                self._ended.append((slot, stream))
                continue
            found.add(stream)
            users = self._streams.get(slot, Counter())
            users[stream] -= 1
            if users[stream] < 1:
                del users[stream]
            if not users:
                self._streams.pop(slot, None)
        return found

    def finish(self, slot: MemorySlot) -> None:
        """Waits on the host for the work of CUDA that may use a slot."""
        with self._device.lock:
            ended = self._ended_of(frozenset([slot.id]))
            streams = {*self._streams.get(slot.id, ())}
        try:
            self._finish_all(ended)
            for stream in streams:
                self.cuda.synchronize(stream)
        except CudaError as error:
            raise AmpError(f"{self._device.info.name}: waiting for a CUDA stream failed: {error}") from error

    def close(self) -> None:
        """Waits for CUDA's work, and destroys the semaphores; the blocks are freed one by one."""
        self.cuda.synchronize_all()
        for order in self._orders.values():
            order.destroy()
        self._orders.clear()


class SharedBuffer:
    """A buffer as CUDA's memory at ``address``; implements ``vkamp.lang.storage.ExternalMemory``."""

    def __init__(self, sharing: Sharing, buffer: Buffer) -> None:
        self._sharing = sharing
        self.storage = buffer
        self.device = (CUDA, sharing.cuda.number)
        self.address = sharing.address(buffer.slot)

    @property
    def order(self) -> str:
        """How both sides' work is ordered, for people."""
        reason = self._sharing.host_waits
        return f"by waits of the host, since {reason}" if reason else "by semaphores"

    def lend(self, stream: int | None) -> object:
        """Orders the work of a stream with the buffer's; the result keeps the memory, and ends that when it is deleted.

        ``stream``: as the array API's ``__dlpack__`` has it: None for the legacy default stream, -1 for no order.
        BufferError for 0.
        """
        if stream == 0:
            raise BufferError("stream 0 is ambiguous: pass 1 for the legacy default stream, or 2 for the thread's")
        lent = _Lent(self.storage)
        if stream != -1:
            handle = DEFAULT_STREAM if stream is None else stream
            queue, slot, sharing = self.storage.queue, self.storage.slot, self._sharing
            with queue.device.lock:
                queue.submit()
                sharing.begin(queue, slot, handle)  # type: ignore[arg-type]
            weakref.finalize(lent, sharing.end, slot, handle).atexit = False
        return lent

    def follow(self) -> None:
        """Makes the buffer's queue wait for the work that the legacy default stream has."""
        queue = self.storage.queue
        with queue.device.lock:
            queue.submit()
            self._sharing.wait_for(queue, [DEFAULT_STREAM])  # type: ignore[arg-type]

    def take(self, source: int, nbytes: int) -> None:
        """Copies bytes from an address of CUDA to the beginning of the buffer, after the work of the legacy default
        stream; waits for the end."""
        queue = self.storage.queue
        queue.wait()
        try:
            self._sharing.cuda.copy(self.address, source, nbytes)
        except CudaError as error:
            raise AmpError(f"{queue.device.info.name}: the copy from CUDA's memory failed: {error}") from error


class _Lent:
    """Somebody's use of a buffer, which it keeps."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
