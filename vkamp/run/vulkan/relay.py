"""Copies between the memories of two devices, neither of which sees the other's: through the host's memory, in pieces.
If both devices can import the same pages of the host, one writes pieces while the other reads the previous ones.
Otherwise each has separate host-visible memory, and threads of the host copy between them.
"""

from __future__ import annotations

import mmap
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.region import ByteSet
from vkamp.run.queue import DeviceBuffer
from vkamp.run.vulkan import staging
from vkamp.run.vulkan.memory import MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice
    from vkamp.run.vulkan.queue import VulkanQueue
    from vkamp.run.vulkan.submissions import Submission


#: The number of pieces of the pages that both devices import, and the bytes of one piece.
_PIECES, _PIECE = 8, 8 << 20
#: Fewer bytes go through the existing memory of each device.
_MIN = 1 << 20

Buffer = DeviceBuffer[MemorySlot]


class _RelayPart(DeviceBuffer[MemorySlot]):
    """A part of a relay; it keeps the relay's memory alive."""

    def __init__(self, queue: VulkanQueue, slot: MemorySlot) -> None:
        self.queue = queue
        self.slot = slot
        self._nbytes = slot.nbytes


class Relay:
    """Pages of the host that two devices have imported, for copies in one direction. Its lock guards all uses."""

    def __init__(self, memory: NDArray[np.uint8], slots: tuple[list[MemorySlot], list[MemorySlot]]) -> None:
        self.lock = threading.Lock()
        self.memory = memory
        self.slots = slots
        self.count, self.piece = len(slots[0]), slots[0][0].nbytes
        #: Whether work may still use it after a failed wait.
        self.is_lost = False

    @classmethod
    def between(cls, one: VulkanDevice, other: VulkanDevice) -> Relay | None:
        """New pages; None if one of the devices cannot import them."""
        memory = np.frombuffer(_pages(_PIECES * _PIECE), np.uint8)
        found: tuple[list[MemorySlot], list[MemorySlot]] = ([], [])
        for device, slots in zip((one, other), found, strict=True):
            with device.lock:
                device.check()
                for start in range(0, memory.size, _PIECE):
                    slot = device.memory.import_host(device.number(), memory[start : start + _PIECE])
                    if slot is not None:
                        slots.append(slot)
        if all(len(slots) == _PIECES for slots in found):
            return cls(memory, found)
        for device, slots in zip((one, other), found, strict=True):
            for slot in slots:
                device.give_back(slot)
        return None


def _pages(nbytes: int) -> mmap.mmap:
    """New pages of the process alone, since NVIDIA's driver does not import shared ones."""
    if sys.platform != "win32":
        return mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, nbytes)


def relay(source: Buffer, source_offset: int, target: Buffer, target_offset: int, nbytes: int) -> None:
    """Copies bytes between buffers of two devices, neither of whose memories the host sees."""
    one: VulkanQueue = source.queue  # type: ignore[assignment]
    other: VulkanQueue = target.queue  # type: ignore[assignment]
    found = one.device.relay_to(other.device) if nbytes >= _MIN else None
    if found is None:
        _through_staging(source, source_offset, target, target_offset, nbytes)
        return
    with found.lock, one.device.visit(), other.device.visit():
        _Trip(found, one, other).run(source, source_offset, target, target_offset, nbytes)


class _Trip:
    """One copy through a relay."""

    def __init__(self, relay: Relay, one: VulkanQueue, other: VulkanQueue) -> None:
        self.relay = relay
        self.one, self.other = one, other
        self.coming: deque[tuple[Submission, int, int]] = deque()
        #: For each piece, the last submission that reads it.
        self.readers: dict[int, Submission] = {}

    def run(self, source: Buffer, source_offset: int, target: Buffer, target_offset: int, nbytes: int) -> None:
        with self._ended():
            for number, start in enumerate(range(0, nbytes, self.relay.piece)):
                piece = number % self.relay.count
                if len(self.coming) >= self.relay.count // 2:
                    self._forward(target, target_offset, nbytes)
                if piece in self.readers:
                    self.other.wait_for(self.readers[piece])
                size = min(self.relay.piece, nbytes - start)
                into = _RelayPart(self.one, self.relay.slots[0][piece])
                regions = staging.regions_of(ByteSet.interval(0, size), source_offset + start, 0)
                self.coming.append((self.one.copy_now(source, into, regions), piece, start))
            while self.coming:
                self._forward(target, target_offset, nbytes)

    def _forward(self, target: Buffer, target_offset: int, nbytes: int) -> None:
        """Makes the other device read the oldest piece."""
        submission, piece, start = self.coming[0]
        self.one.wait_for(submission)
        out_of = _RelayPart(self.other, self.relay.slots[1][piece])
        size = min(self.relay.piece, nbytes - start)
        regions = staging.regions_of(ByteSet.interval(0, size), 0, target_offset + start)
        self.readers[piece] = self.other.copy_now(out_of, target, regions)
        self.coming.popleft()

    @contextmanager
    def _ended(self) -> Iterator[None]:
        """Waits until nothing uses the relay; if a wait fails, the relay is not used again."""
        is_over = False
        try:
            yield
            for each in self.readers.values():
                self.other.wait_for(each)
            is_over = True
        finally:
            if not is_over:
                self.relay.is_lost = True


def _through_staging(source: Buffer, source_offset: int, target: Buffer, target_offset: int, nbytes: int) -> None:
    """The same through the memory of each device: pieces are read into that of one device, and sent from there to the
    other."""
    one: VulkanQueue = source.queue  # type: ignore[assignment]
    other: VulkanQueue = target.queue  # type: ignore[assignment]
    for start in range(0, nbytes, _PIECE):
        size = min(_PIECE, nbytes - start)
        with one.device.visit():
            held = one.take_staging(size, "readback")
            regions = staging.regions_of(ByteSet.interval(0, size), source_offset + start, 0)
            one.wait_for(one.copy_now(source, held, regions))
            staging.send(other, target, target_offset + start, held.slot.seen(0, size), None, "upload")
