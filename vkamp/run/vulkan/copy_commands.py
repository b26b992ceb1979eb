"""Commands for copies, of which the host submits one buffer at a time and waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice
    from vkamp.run.vulkan.memory import MemoryBlock


class CopyCommands:
    """A command buffer of the family for copies, and a fence for its end. It can be recorded again and again.
    ``queue`` is the Vulkan queue.

    The calls that only take microseconds keep the interpreter's lock.
    """

    def __init__(self, device: VulkanDevice, queue: Any) -> None:
        api = self._api = device.api
        calls = self._calls = api.held_calls
        self._device = device
        assert api.copy_family is not None
        self._pool = api.command_pool(api.copy_family)
        self._fences = api.ffi.new("VkFence[]", [api.create("VkFence", api.struct("VkFenceCreateInfo"))])
        self._buffers = api.command_buffer(self._pool)
        self._begin = api.struct("VkCommandBufferBeginInfo")
        self._submission = api.struct("VkSubmitInfo")
        self._submission.commandBufferCount = 1
        self._submission.pCommandBuffers = self._buffers
        # Waits order all work before a copy already, but validation layers lose track of waits in several threads.
        self._before = self._barrier(
            api.vk.VK_ACCESS_MEMORY_WRITE_BIT,
            api.vk.VK_ACCESS_TRANSFER_READ_BIT | api.vk.VK_ACCESS_TRANSFER_WRITE_BIT,
        )
        self._to_host = self._barrier(api.vk.VK_ACCESS_TRANSFER_WRITE_BIT, api.vk.VK_ACCESS_HOST_READ_BIT)
        address = calls.address
        everything, copies = api.vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, api.vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        self._barrier_before = everything, copies, 0, 1, address(self._before), 0, None, 0, None
        host = api.vk.VK_PIPELINE_STAGE_HOST_BIT
        self._barrier_to_host = copies, host, 0, 1, address(self._to_host), 0, None, 0, None
        self._commands, self._fence = address(self._buffers[0]), address(self._fences[0])
        self._reset = calls.device, 1, address(self._fences)
        self._submit = (address(queue),), (1,), (address(self._submission),), (self._fence,)
        self._begin_address = address(self._begin)
        #: The result of vkQueueSubmit; empty if no copy is in flight.
        self._results: list[int] = []

    def _barrier(self, source: int, target: int) -> Any:
        made = self._api.struct("VkMemoryBarrier")
        made.srcAccessMask, made.dstAccessMask = source, target
        return made

    def start(self, source: MemoryBlock, target: MemoryBlock, regions: Any, count: int) -> None:
        """Submits copies: ``regions``, an array of ``count`` VkBufferCopy. They may be in flight even if this raises:
        call :meth:`wait` in any case, and before another start."""
        api, calls, commands = self._api, self._calls, self._commands
        api.check("vkBeginCommandBuffer", calls.BeginCommandBuffer(commands, self._begin_address))
        calls.CmdPipelineBarrier(commands, *self._barrier_before)
        places = calls.address(source.buffer), calls.address(target.buffer)
        calls.CmdCopyBuffer(commands, *places, count, calls.address(regions))
        # Makes the copies visible to the host.
        calls.CmdPipelineBarrier(commands, *self._barrier_to_host)
        api.check("vkEndCommandBuffer", calls.EndCommandBuffer(commands))
        with self._device.lock:
            self._device.check()
            api.check("vkResetFences", calls.ResetFences(*self._reset))
            # A KeyboardInterrupt cannot come between the call and the record of it.
            self._results.extend(map(calls.QueueSubmit, *self._submit))
        api.check("vkQueueSubmit", self._results[0])

    def wait(self) -> None:
        """Waits for the copies that were started, if any, even after Ctrl-C."""
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
        calls, api = self._calls, self._api
        status: int = calls.GetFenceStatus(calls.device, self._fence)
        return status if status <= 0 else int(api.WaitForFences(api.device, 1, self._fences, 1, 50_000_000))

    @property
    def is_in_flight(self) -> bool:
        """Whether copies may be in flight."""
        return bool(self._results)

    def destroy(self) -> None:
        """Destroys the objects; no copy is in flight."""
        api = self._api
        api.DestroyFence(api.device, self._fences[0], api.null)
        api.DestroyCommandPool(api.device, self._pool, api.null)
