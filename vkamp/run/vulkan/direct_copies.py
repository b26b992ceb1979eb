"""Transfers directly to and from numpy's memory, by the device's copy engines.

An array that is transferred repeatedly is imported (``VK_EXT_external_memory_host``) and stays imported while it
exists: then the device copies without the host's threads, at the speed of the bus.  An import takes as long as about
four transfers through staging memory save.  The copies use queues that do nothing else, one for each direction, so that
they overlap with kernels and with each other.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.region import ByteSet
from vkamp.run.plan import access_of
from vkamp.run.vulkan import staging
from vkamp.run.vulkan.api import VulkanError
from vkamp.run.vulkan.copy_commands import CopyCommands
from vkamp.run.vulkan.lanes import Lanes, is_large
from vkamp.run.vulkan.memory import MemorySlot

if TYPE_CHECKING:
    from vkamp.run.vulkan.device import VulkanDevice
    from vkamp.run.vulkan.queue import VulkanQueue


#: Smaller transfers go through staging memory (bytes).
_MIN = 8 << 20
#: Transfers of an array before it is imported.
_TRANSFERS = 4
#: The share of the host's memory that may be imported; it is limited because the system cannot swap imported memory
#: out.
_SHARE = 0.25

Buffer = staging.Buffer
_Bytes = NDArray[np.uint8]


class _Forks:
    """The number of forks of this process. After a fork, an array may have other pages than those that were
    imported."""

    count = 0


def _forked() -> None:
    _Forks.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_forked)


class CopyQueue:
    """A Vulkan queue for copies, one at a time, that the host waits for."""

    def __init__(self, device: VulkanDevice, queue: Any) -> None:
        self._api = device.api
        self._lock = threading.Lock()
        self._commands = CopyCommands(device, queue)

    def copy(self, source: MemorySlot, target: MemorySlot, regions: NDArray[np.uint64]) -> None:
        """Copies ``regions`` (rows of the positions in source and target, and the size) and waits for the end.

        Nothing else may use the memory. The copy has ended when this returns or raises, even after Ctrl-C.
        """
        rows = regions + np.array([source.offset, target.offset, 0], np.uint64)
        with self._lock:
            pointer = self._api.ffi.from_buffer("VkBufferCopy[]", rows)
            try:
                self._commands.start(source.block, target.block, pointer, len(rows))
            finally:
                self._commands.wait()

    def destroy(self) -> None:
        """Destroys its objects; all copies have ended."""
        self._commands.destroy()


class _Transferred:
    """Memory that was transferred: how often, and its import."""

    __slots__ = ("forks", "owner", "slot", "times")

    def __init__(self, owner: weakref.ref[Any]) -> None:
        self.owner = owner
        self.times = 0
        self.slot: MemorySlot | None = None
        #: The number of forks of this process before the import.
        self.forks = 0


_Key = tuple[int, int, int]


class ImportedArrays:
    """The arrays that are transferred repeatedly. The device's lock protects it."""

    def __init__(self, device: VulkanDevice) -> None:
        self._device = device
        self._known: dict[_Key, _Transferred] = {}
        #: The entries of arrays that no longer exist. Their finalizers may run in any thread at any time.
        self._gone: deque[_Key] = deque()
        #: Imports of pages that no longer belong to the arrays; a thread may still copy.
        self._stale: list[MemorySlot] = []
        self._bytes = 0
        self._most = int(_SHARE * _host_memory())

    def slot_of(self, data: _Bytes) -> MemorySlot | None:
        """Imports the memory of ``data`` before a transfer, and returns the import; None if it is not imported."""
        self.collect()
        if data.size < _MIN or not data.flags.c_contiguous:
            return None
        owner = _owner(data)
        key = id(owner), int(data.__array_interface__["data"][0]), data.size
        found = self._known.get(key)
        if found is None:
            gone = self._gone
            try:
                reference = weakref.ref(owner, lambda _: gone.append(key))
            except TypeError:  # as bytes, whose lifetime is unknown
                return None
            found = self._known[key] = _Transferred(reference)
        found.times += 1
        if found.slot is not None and found.forks != _Forks.count:
            self._stale.append(found.slot)
            found.slot = None
        if found.slot is None and found.times > _TRANSFERS and self._bytes + data.size <= self._most:
            if not is_private(data):
                found.times = -1 << 60
                return None
            found.forks = _Forks.count
            found.slot = self._device.memory.import_for_copies(self._device.number(), data)
            if found.slot is None:
                found.times = -1 << 60  # The driver cannot import it.
            else:
                self._bytes += data.size
        return found.slot

    def collect(self) -> None:
        """Releases the imports of arrays that no longer exist."""
        while self._gone:
            key = self._gone.popleft()
            found = self._known.get(key)
            if found is not None and found.owner() is None:
                del self._known[key]
                if found.slot is not None:
                    self._free(found.slot)
        while self._stale and not self._device.visitors:
            self._free(self._stale.pop())

    def _free(self, slot: MemorySlot) -> None:
        self._bytes -= slot.nbytes
        self._device.memory.free(slot.block)


def is_private(data: _Bytes) -> bool:
    """Whether the memory belongs to this process alone, and is not a file: NVIDIA's driver refuses other memory, and
    imports none at all after that."""
    first = int(data.__array_interface__["data"][0])
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return _is_anonymous(maps, first, first + data.size)
    except OSError:  # not Linux
        return True


def _is_anonymous(maps: Iterable[str], first: int, last: int) -> bool:
    """Whether all mappings of a range of addresses are private and have no file; ``maps``: the lines of
    /proc/self/maps."""
    for line in maps:
        addresses, modes, _, _, number = line.split(maxsplit=5)[:5]
        begin, end = (int(each, 16) for each in addresses.split("-"))
        if begin < last and end > first and (modes[3] != "p" or number != "0"):
            return False
    return True


def _owner(data: _Bytes) -> object:
    """The object that owns the memory of ``data``: an array, or the object that gave numpy the memory."""
    found: Any = data
    while isinstance(found, np.ndarray) and found.base is not None:
        found = found.base
    return found


def _host_memory() -> int:
    """The host's memory in bytes; 0 if it is unknown."""
    if not hasattr(os, "sysconf"):
        return 0
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        return 0


class DirectCopies:
    """The copy queues of a device, and the arrays that it has imported."""

    def __init__(self, device: VulkanDevice) -> None:
        self._device = device
        queues = device.api.copy_queues
        self.arrays = ImportedArrays(device)
        self._queues = [CopyQueue(device, queue) for queue in queues]
        self._up, self._down = self._queues[0], self._queues[-1]
        self._lanes_up, self._lanes_down = Lanes(device, queues[0], "upload"), Lanes(device, queues[-1], "readback")

    def send(self, queue: VulkanQueue, buffer: Buffer, offset: int, data: _Bytes, where: ByteSet | None) -> bool:
        """Copies ``data`` (the bytes ``where``) into a buffer, if its memory is imported and the buffer is not in
        use."""
        if data.size < _MIN or staging.has_many(where):
            return False
        with self._device.visit():
            with self._device.lock:
                slot = None if queue.is_used(buffer.slot, writes_only=False) else self._import(data)
            if slot is None:
                return self._send_by_lanes(queue, buffer, offset, data, where)
            part = ByteSet.interval(0, data.size) if where is None else where
            self._copy(self._up, slot, buffer.slot, staging.regions_of(part, 0, offset))
            with self._device.lock:
                queue.note_written(access_of((buffer.slot.id,), (True,)))
        return True

    def fetch(self, queue: VulkanQueue, buffer: Buffer, offset: int, out: _Bytes, where: ByteSet | None) -> bool:
        """Copies bytes of a buffer (the bytes ``where``) to ``out``, if the memory of ``out`` is imported."""
        if out.size < _MIN or staging.has_many(where) or (where is not None and not where):
            return False
        with self._device.visit():
            with self._device.lock:
                slot = self._import(out)
            if slot is None:
                return self._fetch_by_lanes(queue, buffer, offset, out, where)
            queue.settle(buffer, writes_only=True)
            part = ByteSet.interval(0, out.size) if where is None else where
            self._copy(self._down, buffer.slot, slot, staging.regions_of(part, offset, 0))
        return True

    def _send_by_lanes(
        self, queue: VulkanQueue, buffer: Buffer, offset: int, data: _Bytes, where: ByteSet | None
    ) -> bool:
        if where is not None or not is_large(data):
            return False
        queue.settle(buffer, writes_only=False)
        if not self._guarded(lambda: self._lanes_up.send(buffer.slot, offset, data)):
            return False
        with self._device.lock:
            queue.note_copied(data.size)
            queue.note_written(access_of((buffer.slot.id,), (True,)))
        return True

    def _fetch_by_lanes(
        self, queue: VulkanQueue, buffer: Buffer, offset: int, out: _Bytes, where: ByteSet | None
    ) -> bool:
        if where is not None or not is_large(out):
            return False
        queue.settle(buffer, writes_only=True)
        if not self._guarded(lambda: self._lanes_down.fetch(buffer.slot, offset, out)):
            return False
        with self._device.lock:
            queue.note_copied(out.size)
        return True

    def _guarded(self, copy: Callable[[], bool]) -> bool:
        try:
            return copy()
        except VulkanError as error:
            raise self._device.failed(error) from error

    def _import(self, data: _Bytes) -> MemorySlot | None:
        try:
            return self.arrays.slot_of(data)
        except VulkanError as error:
            raise self._device.failed(error) from error

    def _copy(self, queue: CopyQueue, source: MemorySlot, target: MemorySlot, regions: NDArray[np.uint64]) -> None:
        try:
            queue.copy(source, target, regions)
        except VulkanError as error:
            raise self._device.failed(error) from error

    def destroy(self) -> None:
        """Destroys the queues' objects; the device frees its memory itself."""
        for queue in self._queues:
            queue.destroy()
        for lanes in (self._lanes_up, self._lanes_down):
            lanes.destroy()
