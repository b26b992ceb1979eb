"""Command buffers with their fences, recycled: what is submitted at a time is a frame."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from vkamp.errors import AmpError
from vkamp.run.vulkan.api import LOST, Api, VulkanError

#: The maximum duration of a wait inside Vulkan (ns), so that Ctrl-C is noticed.
_SLICE = 50_000_000
_TIMEOUT = 2
#: The maximum number of frames that are made ready during a wait.
_MAX_READY = 64
#: The number of frames that are made before the first submission.
_FIRST = 16


class Commands:
    """A command buffer that is recorded once and submitted many times: ``alone``, or ``behind`` a barrier after all
    earlier work (both are arguments of vkQueueSubmit).
    """

    __slots__ = ("__weakref__", "alone", "behind", "handle")

    def __init__(self, handle: Any, alone: Any, behind: Any) -> None:
        self.handle = handle
        self.alone = alone
        self.behind = behind


class CommandFrame:
    """What is submitted at a time, the fence that says when it is done, and places for timestamps."""

    __slots__ = ("fence", "fences", "is_over", "is_submitted", "own", "queries", "results", "submit", "waiters")

    def __init__(self, fences: Any) -> None:
        #: A command buffer for this submission alone, and the arguments that submit it.
        self.own: tuple[Any, Any] | None = None
        self.fence = fences[0]
        #: An array of the fence.
        self.fences = fences
        #: The arguments of vkQueueSubmit, and what they point to.
        self.submit: Any = None
        #: What vkQueueSubmit returned; empty before.
        self.results: list[int] = []
        #: Whether vkQueueSubmit succeeded.
        self.is_submitted = False
        #: Whether its fence was seen to be signalled.
        self.is_over = False
        #: Threads that wait for the fence without the device's lock. The fence must not be reset before they have
        #: finished.
        self.waiters = 0
        self.queries: Any = None

    @property
    def commands(self) -> Any:
        """The handle of the frame's command buffer; None if it submits recorded commands."""
        return None if self.own is None else self.own[0]


class Frames:
    """The frames of one queue. ``queue`` is the Vulkan queue."""

    def __init__(self, api: Api, queue: Any) -> None:
        self._api = api
        self.queue = queue
        self._pool = api.command_pool(api.family)
        self._made: list[CommandFrame] = []
        self._spare: list[CommandFrame] = []
        self._own: list[tuple[Any, Any]] = []
        self._begin = api.struct("VkCommandBufferBeginInfo")
        self._begin.flags = api.vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
        self._begin_again = api.struct("VkCommandBufferBeginInfo")
        self._begin_again.flags = api.vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
        self._barrier: Any = None
        self._spare_commands: deque[Any] = deque()

    def begin(self) -> CommandFrame:
        """A frame whose command buffer records."""
        api = self._api
        frame = self._take()
        frame.own = self._own.pop() if self._own else self._command_buffer()
        frame.submit = frame.own[1]
        api.check("vkBeginCommandBuffer", api.BeginCommandBuffer(frame.commands, self._begin))
        return frame

    def again(self, commands: Commands, *, behind: bool) -> CommandFrame:
        """A frame that submits recorded commands; with ``behind``, everything before has ended and is visible to
        them."""
        frame = self._take()
        frame.submit = commands.behind if behind else commands.alone
        return frame

    def several(self, handles: list[Any]) -> CommandFrame:
        """A frame that submits recorded commands by their handles, one after the other, among them the ``barrier``."""
        frame = self._take()
        frame.submit = self._submit_info(handles)
        return frame

    @property
    def barrier(self) -> Any:
        """The handle of a barrier after all earlier work."""
        if self._barrier is None:
            self._barrier = self._make_barrier()
        return self._barrier

    def record(self) -> Commands:
        """Commands in the recording state, until :meth:`finish`. They must be kept until their submissions have
        ended."""
        api = self._api
        handle = self._spare_commands.popleft() if self._spare_commands else self._api.command_buffer(self._pool)[0]
        api.check("vkBeginCommandBuffer", api.BeginCommandBuffer(handle, self._begin_again))
        return Commands(handle, self._submit_info([handle]), self._submit_info([self.barrier, handle]))

    def finish(self, commands: Commands) -> None:
        """Ends the recording."""
        api = self._api
        api.check("vkEndCommandBuffer", api.EndCommandBuffer(commands.handle))
        weakref.finalize(commands, self._spare_commands.append, commands.handle).atexit = False

    def _make_barrier(self) -> Any:
        """A command buffer with a barrier between everything before and everything after it."""
        api, vk = self._api, self._api.vk
        handle = self._api.command_buffer(self._pool)[0]
        api.check("vkBeginCommandBuffer", api.BeginCommandBuffer(handle, self._begin_again))
        barrier = api.struct("VkMemoryBarrier")
        barrier.srcAccessMask = vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT
        barrier.dstAccessMask = barrier.srcAccessMask | vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_TRANSFER_READ_BIT
        stages = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        api.CmdPipelineBarrier(handle, stages, stages, 0, 1, barrier, 0, api.null, 0, api.null)
        api.check("vkEndCommandBuffer", api.EndCommandBuffer(handle))
        return handle

    def _take(self) -> CommandFrame:
        """A frame that is not in use."""
        for at, frame in enumerate(self._spare):
            if not frame.waiters:
                del self._spare[at]
                if frame.results:
                    self._reset(frame)
                return frame
        return self._make()

    def _reset(self, *frames: CommandFrame) -> None:
        api = self._api
        fences = frames[0].fences if len(frames) == 1 else api.ffi.new("VkFence[]", [each.fence for each in frames])
        api.check("vkResetFences", api.ResetFences(api.device, len(frames), fences))
        for frame in frames:
            frame.results = []
            frame.is_over = frame.is_submitted = False

    def make_ahead(self, lock: AbstractContextManager[Any], visit: Callable[[], AbstractContextManager[None]]) -> None:
        """Makes a few frames, in a separate thread: one driver of GPUs takes 0.3 ms to create a fence. ``visit``: in
        this context the device is not destroyed.
        """
        while len(self._made) < _FIRST:
            try:
                with visit():
                    frame = self._make()
            except (AmpError, VulkanError):  # It is closed or lost, which the next launch reports.
                return
            with lock:
                self._spare.append(frame)

    @property
    def has_spare(self) -> bool:
        """Whether there is a frame that is not in use."""
        return bool(self._spare)

    def prepare(self, count: int) -> None:
        """Makes frames ready for the next submissions, at least ``count`` of them, while the host waits anyway."""
        used = [each for each in self._spare if each.results and not each.waiters]
        if used:
            self._reset(*used)
        while len(self._spare) < min(count, _MAX_READY):
            self._spare.append(self._make())

    def give_back(self, frame: CommandFrame) -> None:
        """Returns a frame that is done, or was never submitted."""
        if frame.own is not None:
            self._own.append(frame.own)
            frame.own = frame.submit = None
        self._spare.append(frame)

    def _submit_info(self, handles: list[Any]) -> Any:
        """The arguments of vkQueueSubmit, and what they point to."""
        info = self._api.struct("VkSubmitInfo")
        held = self._api.ffi.new("VkCommandBuffer[]", handles)
        info.commandBufferCount = len(handles)
        info.pCommandBuffers = held
        return info, held

    def _make(self) -> CommandFrame:
        # Without a command buffer: most frames submit recorded commands.
        api = self._api
        frame = CommandFrame(api.ffi.new("VkFence[]", [api.create("VkFence", api.struct("VkFenceCreateInfo"))]))
        self._made.append(frame)
        return frame

    def _command_buffer(self) -> tuple[Any, Any]:
        """A command buffer, and the arguments that submit it."""
        handle = self._api.command_buffer(self._pool)[0]
        return handle, self._submit_info([handle])

    def submit(self, frame: CommandFrame) -> None:
        """Submits a recorded frame; does nothing the second time."""
        if not frame.results:
            # A KeyboardInterrupt cannot come between the call and the record of it.
            frame.results.extend(
                map(self._api.QueueSubmit, (self.queue,), (1,), (frame.submit[0],), (frame.fence,)),
            )
        result = frame.results[0]
        if result < 0 and result != LOST:
            frame.results = []  # nothing was submitted; the caller may try again
        self._api.check("vkQueueSubmit", result)
        frame.is_submitted = True

    def is_done(self, frame: CommandFrame) -> bool:
        """Whether a frame was submitted and has ended."""
        if not frame.is_over and frame.results:
            api = self._api
            frame.is_over = api.check("vkGetFenceStatus", api.GetFenceStatus(api.device, frame.fence)) == 0
        return frame.is_over

    def wait(self, frame: CommandFrame, poll: float, check: Callable[[], None], until: float | None = None) -> None:
        """Waits for a submitted frame. It polls for the first ``poll`` seconds, since waking a thread takes longer than
        a short kernel. ``check`` is called at intervals. It may return earlier, at the time ``until``.
        """
        api, length = self._api, _SLICE
        if self.is_done(frame):
            return
        if poll > 0:
            clock, status, device, fence = time.perf_counter, api.GetFenceStatus, api.device, frame.fence
            stop = clock() + poll
            while clock() < stop:
                if api.check("vkGetFenceStatus", status(device, fence)) == 0:
                    frame.is_over = True
                    return
        while True:
            if until is not None:
                length = max(0, min(_SLICE, int((until - time.perf_counter()) * 1e9)))
            if api.check("vkWaitForFences", api.WaitForFences(api.device, 1, frame.fences, 1, length)) != _TIMEOUT:
                break
            check()
            if not length:
                return
        frame.is_over = True

    def queries(self, frame: CommandFrame, count: int) -> Any:
        """The query pool of a frame, for ``count`` timestamps, reset by its commands."""
        api = self._api
        if frame.queries is None or frame.queries[1] < count:
            if frame.queries is not None:
                api.DestroyQueryPool(api.device, frame.queries[0], api.null)
                frame.queries = None
            create = api.struct("VkQueryPoolCreateInfo")
            create.queryType = api.vk.VK_QUERY_TYPE_TIMESTAMP
            create.queryCount = count
            frame.queries = (api.create("VkQueryPool", create), count)
        api.CmdResetQueryPool(frame.commands, frame.queries[0], 0, count)
        return frame.queries[0]

    def ticks(self, frame: CommandFrame, count: int) -> list[int]:
        """The timestamps of a frame that is done."""
        api = self._api
        data = api.ffi.new("uint64_t[]", count)
        flags = api.vk.VK_QUERY_RESULT_64_BIT
        pool = frame.queries[0]
        result = api.GetQueryPoolResults(api.device, pool, 0, count, 8 * count, data, 8, flags)
        api.check("vkGetQueryPoolResults", result)
        return list(data)

    @property
    def has_waiters(self) -> bool:
        """Whether a thread waits for one of the fences."""
        return any(frame.waiters for frame in self._made)

    def destroy(self) -> None:
        """Destroys all of them; none is running."""
        api = self._api
        for frame in self._made:
            api.DestroyFence(api.device, frame.fence, api.null)
            if frame.queries is not None:
                api.DestroyQueryPool(api.device, frame.queries[0], api.null)
        self._made.clear()
        self._spare.clear()
        self._own.clear()
        self._spare_commands.clear()
        self._barrier = None
        api.DestroyCommandPool(api.device, self._pool, api.null)
