"""Transfers by the host itself, where it sees the memory that kernels use: see :class:`VulkanDevice`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.copying import copy_bytes
from vkamp.lang.region import ByteSet, scatter
from vkamp.run.queue import DeviceBuffer, taken
from vkamp.run.vulkan import staging
from vkamp.run.vulkan.memory import MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.queue import VulkanQueue

Buffer = DeviceBuffer[MemorySlot]
_Bytes = NDArray[np.uint8]

#: Larger uploads wait for the work that uses the memory. The device copies smaller ones in order.
_SMALL = 256 << 10
#: The most bytes that the host reads from a GPU's own memory: an H200 sends eight bytes in a quarter of a microsecond.
_FEW = 1024


def is_read_by_host(buffer: Buffer, nbytes: int) -> bool:
    """Whether the host reads so many bytes of a buffer faster than the device copies them."""
    kind = buffer.slot.block.kind
    return buffer.slot.mapped is not None and (kind != "visible" or nbytes <= _FEW)


def send(queue: VulkanQueue, buffer: Buffer, offset: int, data: _Bytes, where: ByteSet | None) -> None:
    """Writes ``data`` (the bytes ``where``) into a buffer, after the work that uses it."""
    while True:
        with queue.device.lock:
            is_used = queue.is_used(buffer.slot, writes_only=False)
            if is_used and data.size <= _SMALL and not staging.has_many(where):
                staging.send(queue, buffer, offset, data, where, "upload" if queue.device.staged else "shared")
                return
            blocker = queue.last_use(buffer.slot, writes_only=False) if is_used else None
        if blocker is None:
            break
        queue.wait_for(blocker)
    with queue.device.visit():
        target = buffer.slot.seen(offset, data.size)
        if where is None:
            copy_bytes(target, data)
        else:
            scatter(target, data, where, 0)


def fetch(
    queue: VulkanQueue, buffer: Buffer, offset: int, nbytes: int, where: ByteSet | None, out: _Bytes | None
) -> _Bytes:
    """The bytes of a buffer, as :func:`staging.fetch`."""
    queue.settle(buffer, writes_only=True)
    with queue.device.visit():
        return taken(buffer.slot.seen(offset, nbytes), where, out)
