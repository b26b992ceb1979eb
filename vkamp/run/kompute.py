"""The Kompute engine: which devices it has, and how it opens them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vkamp.errors import AmpError
from vkamp.run import devices, libraries
from vkamp.run.engine import DeviceInfo, Engine
from vkamp.run.lifetime import prepare_to_open, refuse_process

if TYPE_CHECKING:
    from vkamp.run.kompute_queue import KomputeQueue


class KomputeEngine(Engine):
    """Vulkan devices through Kompute.

    ``mirrored`` chooses the kind of memory: device memory with a copy that the host sees (True), memory that both see
    (False), or by the device's kind (None): CPU drivers and integrated devices need no second copy.
    """

    name = "kompute"

    def __init__(self, *, mirrored: bool | None = None) -> None:
        self._mirrored = mirrored

    def devices(self) -> list[DeviceInfo]:
        """The devices in the Vulkan loader's order."""
        refuse_process()
        return [devices.as_kompute(info) for info in devices.vulkan_devices()]

    def open(self, info: DeviceInfo) -> KomputeQueue:
        """A new queue on the device; the queues of a device share its memory pool and pipelines."""
        from vkamp.run.kompute_queue import open_queue

        prepare_to_open()
        if info.is_partial:
            # Kompute's instance does not have the device, and it would end the process.
            raise AmpError(f"Kompute can't open {info.name}, whose driver lacks parts of Vulkan: use engine='vulkan'")
        libraries.drop_instance()  # Kompute makes its own.
        mirrored = not devices.shares_memory(info) if self._mirrored is None else self._mirrored
        return open_queue(info, mirrored=mirrored)
