"""Command buffers for copies, of which the host submits one at a time and waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice


class CopyBuffer(NamedTuple):
    """A command buffer for copies (an array of it), and what submits it."""

    commands: Any
    submission: Any


class CopyCommands:
    """Command buffers of the family for copies, and a fence for the end of the one that was submitted last. Each can be
    recorded again, or submitted again. ``queue`` is the Vulkan queue.
    """

    def __init__(self, device: VulkanDevice, queue: Any) -> None:
        api = self._api = device.api
        self._device, self._queue = device, queue
        assert api.copy_family is not None
        self._pool = api.command_pool(api.copy_family)
        self._fences = api.ffi.new("VkFence[]", [api.create("VkFence", api.struct("VkFenceCreateInfo"))])
        self._begin = api.struct("VkCommandBufferBeginInfo")
        self._to_host = api.struct("VkMemoryBarrier")
        self._to_host.srcAccessMask = api.vk.VK_ACCESS_TRANSFER_WRITE_BIT
        self._to_host.dstAccessMask = api.vk.VK_ACCESS_HOST_READ_BIT
        #: The result of vkQueueSubmit; empty if no copy is in flight.
        self._results: list[int] = []

    def new(self) -> CopyBuffer:
        """A new command buffer, which lives as long as these objects."""
        commands = self._api.command_buffer(self._pool)
        submission = self._api.struct("VkSubmitInfo")
        submission.commandBufferCount = 1
        submission.pCommandBuffers = commands
        return CopyBuffer(commands, submission)

    def begin(self, buffer: CopyBuffer) -> Any:
        """Starts recording and returns the command buffer of Vulkan."""
        self._api.check("vkBeginCommandBuffer", self._api.BeginCommandBuffer(buffer.commands[0], self._begin))
        return buffer.commands[0]

    def end(self, buffer: CopyBuffer) -> None:
        """Makes the copies visible to the host, and ends recording."""
        api, commands = self._api, buffer.commands[0]
        stages = api.vk.VK_PIPELINE_STAGE_TRANSFER_BIT, api.vk.VK_PIPELINE_STAGE_HOST_BIT
        api.CmdPipelineBarrier(commands, *stages, 0, 1, self._to_host, 0, api.null, 0, api.null)
        api.check("vkEndCommandBuffer", api.EndCommandBuffer(commands))

    def submit(self, buffer: CopyBuffer) -> None:
        """Submits what was recorded. A copy may be in flight even if this raises: call :meth:`wait` in any case."""
        api = self._api
        with self._device.lock:
            self._device.check()
            api.check("vkResetFences", api.ResetFences(api.device, 1, self._fences))
            # A KeyboardInterrupt cannot come between the call and the record of it.
            self._results.extend(map(api.QueueSubmit, (self._queue,), (1,), (buffer.submission,), (self._fences[0],)))
        api.check("vkQueueSubmit", self._results[0])

    def wait(self) -> None:
        """Waits for the copies that were submitted, if any, even after Ctrl-C."""
        api, interrupt = self._api, None
        while self._results:
            try:
                # A negative result means that nothing was submitted.
                if self._results[0] < 0 or api.check("vkWaitForFences", self._wait_a_while()) == 0:
                    self._results.clear()
            except KeyboardInterrupt as raised:
                interrupt = raised
        if interrupt is not None:
            raise interrupt

    def _wait_a_while(self) -> int:
        result: int = self._api.WaitForFences(self._api.device, 1, self._fences, 1, 50_000_000)
        return result

    def destroy(self) -> None:
        """Destroys the objects; no copy is in flight."""
        api = self._api
        api.DestroyFence(api.device, self._fences[0], api.null)
        api.DestroyCommandPool(api.device, self._pool, api.null)
