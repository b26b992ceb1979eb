"""The direct engine."""

from __future__ import annotations

import dataclasses

from vkamp.run import devices
from vkamp.run.engine import DeviceInfo, Engine
from vkamp.run.features import FEATURES
from vkamp.run.lifetime import OpenDevices, prepare_to_open, refuse_process
from vkamp.run.vulkan.device import VulkanDevice
from vkamp.run.vulkan.queue import VulkanQueue

_open: OpenDevices[VulkanDevice] = OpenDevices()


class VulkanEngine(Engine):
    """Vulkan devices, through Vulkan's functions.

    ``staged`` chooses the kind of memory: the device's own, which the host reaches by copies (True), memory that both
    see (False), or by the device's kind (None): CPU drivers and integrated devices need no copies. With ``visible``,
    the host sees the memory of small containers, where the device has such memory of its own.
    """

    name = "vulkan"

    def __init__(self, *, staged: bool | None = None, visible: bool | None = None) -> None:
        self._staged = staged
        self._visible = staged is None if visible is None else visible

    def devices(self) -> list[DeviceInfo]:
        """The devices in the Vulkan loader's order."""
        refuse_process()
        return [dataclasses.replace(info, engine_features=FEATURES) for info in devices.vulkan_devices()]

    def open(self, info: DeviceInfo) -> VulkanQueue:
        """A new queue on the device; the queues of a device share its memory pool and pipelines."""
        prepare_to_open()
        staged = not devices.shares_memory(info) if self._staged is None else self._staged
        key = info, staged, self._visible
        return VulkanQueue(_open.open(key, lambda: VulkanDevice(info, staged=staged, visible=self._visible)))
