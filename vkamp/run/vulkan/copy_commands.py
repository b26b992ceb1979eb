"""One command buffer for copies, which the host records, submits and waits for again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice


class CopyCommands:
    """A command buffer of the family for copies, and a fence for its end. ``queue`` is the Vulkan queue."""

    def __init__(self, device: VulkanDevice, queue: Any) -> None:
        api = self._api = device.api
        self._device, self._queue = device, queue
        assert api.copy_family is not None
        self._pool = api.command_pool(api.copy_family)
        self._commands = api.command_buffer(self._pool)
        self._fences = api.ffi.new("VkFence[]", [api.create("VkFence", api.struct("VkFenceCreateInfo"))])
        self._begin = api.struct("VkCommandBufferBeginInfo")
        self._begin.flags = api.vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
        self._submit = api.struct("VkSubmitInfo")
        self._submit.commandBufferCount = 1
        self._submit.pCommandBuffers = self._commands
        self._to_host = api.struct("VkMemoryBarrier")
        self._to_host.srcAccessMask = api.vk.VK_ACCESS_TRANSFER_WRITE_BIT
        self._to_host.dstAccessMask = api.vk.VK_ACCESS_HOST_READ_BIT
        #: The result of vkQueueSubmit; empty if no copy is in flight.
        self._results: list[int] = []

    def begin(self) -> Any:
        """Starts recording and returns the command buffer."""
        self._api.check("vkBeginCommandBuffer", self._api.BeginCommandBuffer(self._commands[0], self._begin))
        return self._commands[0]

    def submit(self) -> None:
        """Makes the copies visible to the host, and submits the commands.

        A copy may be in flight even if this raises: call :meth:`wait` in any case.
        """
        api = self._api
        stages = api.vk.VK_PIPELINE_STAGE_TRANSFER_BIT, api.vk.VK_PIPELINE_STAGE_HOST_BIT
        api.CmdPipelineBarrier(self._commands[0], *stages, 0, 1, self._to_host, 0, api.null, 0, api.null)
        api.check("vkEndCommandBuffer", api.EndCommandBuffer(self._commands[0]))
        with self._device.lock:
            self._device.check()
            api.check("vkResetFences", api.ResetFences(api.device, 1, self._fences))
            # A KeyboardInterrupt cannot come between the call and the record of it.
            self._results.extend(map(api.QueueSubmit, (self._queue,), (1,), (self._submit,), (self._fences[0],)))
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
