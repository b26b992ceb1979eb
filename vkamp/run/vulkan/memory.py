"""Device memory in large blocks. Each block is one buffer, which is divided into slots."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vkamp.artifacts import GUARD
from vkamp.run import devices
from vkamp.run.engine import DeviceInfo, Statistics
from vkamp.run.memory import HeapBudget, readable
from vkamp.run.vulkan.api import Api, VulkanError
from vkamp.run.vulkan.free_list import FreeList
from vkamp.run.workarounds import has_quirk

#: ``shared``: memory that kernels use and the host sees. ``device``: memory that kernels use and the host does not see.
#: ``visible``: host-visible memory of the device, which the host writes fast and reads slowly. ``upload`` and
#: ``readback``: host memory for copies. ``host``: imported memory of the host.
Kind = Literal["shared", "device", "visible", "upload", "readback", "host"]
#: The kinds that kernels use.
_OF_KERNELS = ("shared", "device", "visible")

#: The minimum alignment of slots, so that no two share a cache line on any device.
_ALIGNMENT = 256
#: Memory types that need features that are not enabled: VK_MEMORY_PROPERTY_PROTECTED_BIT,
#: VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD with VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD.
_PROTECTED, _UNCACHED_AMD = 0x20, 0xC0
#: Smaller arrays of the host are copied instead of imported (bytes).
_MIN_IMPORT = 4096
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 20, 64 << 20


class MemoryBlock:
    """One allocation of the driver, with the buffer that fills it; ``mapped``: its bytes as the host sees them, if it
    does."""

    __slots__ = ("buffer", "kind", "mapped", "memory", "need", "places", "serial")

    def __init__(self, serial: int, kind: Kind, size: int, need: tuple[int, int]) -> None:
        self.serial = serial
        self.kind = kind
        self.need = need
        self.places = FreeList(size)
        self.buffer: Any = None
        self.memory: Any = None
        self.mapped: NDArray[np.uint8] | None = None


class MemorySlot:
    """A range of a block. ``place``: its descriptor."""

    __slots__ = ("block", "group", "guard", "id", "mapped", "nbytes", "offset", "place")

    def __init__(self, number: int, block: MemoryBlock, offset: int, nbytes: int, guard: int) -> None:
        self.id = number
        self.block = block
        self.offset = offset
        #: Bytes behind it that kernels may access.
        self.guard = guard
        self.nbytes = nbytes
        self.group: Hashable = (nbytes, block.kind)
        self.place = (block.serial, offset, nbytes)
        self.mapped = None if block.mapped is None else block.mapped[offset : offset + nbytes]

    def seen(self, start: int, nbytes: int) -> NDArray[np.uint8]:
        """The bytes of memory that the host sees."""
        assert self.mapped is not None
        return self.mapped[start : start + nbytes]


class BlockMemory:
    """The blocks of a device, by kind."""

    def __init__(self, api: Api, info: DeviceInfo) -> None:
        self._api = api
        self._info = info
        #: Bytes behind each slot that kernels may access.
        self.kernels_guard = GUARD if has_quirk(info, "unchecked_bounds") else 0
        self.budget = HeapBudget(info, self._ask)
        self._properties = api.ffi.new("VkPhysicalDeviceMemoryProperties*")
        api.vk.lib.vkGetPhysicalDeviceMemoryProperties(api.physical, self._properties)
        self.alignment: int = max(_ALIGNMENT, api.properties.limits.minStorageBufferOffsetAlignment)
        self.blocks: dict[int, MemoryBlock] = {}
        self._serial = 0
        self._place: tuple[MemoryBlock, int, int] | None = None
        self._heaps: dict[Kind, int] = {}

    def has(self, kind: Kind) -> bool:
        """Whether the device has memory of this kind."""
        return bool(self._types(kind))

    def capacity(self, kind: Kind) -> int:
        """The maximum number of bytes in the heap of this kind."""
        if kind not in self._heaps:
            self._heaps[kind] = self._heap(self._types(kind)[0])
        return self.budget.limit(self._heaps[kind])

    def _ask(self) -> tuple[int, ...] | None:
        return devices.heap_budgets(self._api.vk, self._api.physical) if self._api.has_budget else None

    # -- slots

    def reserve(self, size: int, kind: Kind, statistics: Statistics) -> str | None:
        """Reserves a range for ``create``; returns the reason if there is none."""
        if self._place is not None:  # an interrupted call's
            self._give_back(*self._place)
        length = self._length(size, kind)
        for block in self.blocks.values():
            if block.kind == kind:
                offset = block.places.take(length, self.alignment)
                if offset is not None:
                    self._place = (block, offset, length)
                    return None
        made = self._make_block(length if self._guard(kind) else size, kind)
        if isinstance(made, str):
            return made
        statistics.allocations += 1
        self.blocks[made.serial] = made
        offset = made.places.take(min(length, made.places.size), self.alignment)
        assert offset is not None
        self._place = (made, offset, min(length, made.places.size))
        return None

    def create(self, number: int, size: int) -> MemorySlot:
        """The slot for the reserved range."""
        assert self._place is not None
        block, offset = self._place[:2]
        slot = MemorySlot(number, block, offset, size, self._guard(block.kind))
        self._place = None
        return slot

    def destroy(self, slot: MemorySlot) -> MemoryBlock | None:
        """Frees the range of a slot; returns the block if it is empty now."""
        slot.mapped = None
        block = slot.block
        if block.kind == "host":
            return block
        length = min(self._length(slot.nbytes, block.kind), block.places.size)
        self._give_back(block, slot.offset, length)
        return block if block.places.is_empty else None

    def _give_back(self, block: MemoryBlock, offset: int, length: int) -> None:
        block.places.give_back(offset, length)
        self._place = None

    def _guard(self, kind: Kind) -> int:
        return self.kernels_guard if kind in _OF_KERNELS else 0

    def _length(self, size: int, kind: Kind) -> int:
        return -(-size // self.alignment) * self.alignment + self._guard(kind)

    # -- the host's own memory

    def import_host(self, number: int, memory: NDArray[np.uint8]) -> MemorySlot | None:
        """A slot whose memory is the host's ``memory``, which it keeps alive; None if the device cannot import it.
        Whole pages are imported, as the driver requires, but only the whole words of ``memory`` are bound.
        """
        pages, places = self._api.host_alignment, self._api.properties.limits.minStorageBufferOffsetAlignment
        if not pages or memory.size < _MIN_IMPORT or memory.size > self._info.limits.buffer_bytes:
            return None
        address = int(memory.__array_interface__["data"][0])
        before = address % pages
        if before % places or before % 4 or memory.size % 4:
            return None
        if self._info.kind != "cpu" and (before or memory.size % pages):
            return None  # Bounds are not checked there, so a kernel could access the rest of the pages.
        return self._import_pages(number, memory)

    def import_for_copies(self, number: int, memory: NDArray[np.uint8]) -> MemorySlot | None:
        """Like :meth:`import_host`, but at any address, for copies only; kernels must not use it. It does not keep
        ``memory`` alive."""
        slot = self._import_pages(number, memory) if self._api.host_alignment else None
        if slot is not None:
            slot.mapped = None
        return slot

    def _import_pages(self, number: int, memory: NDArray[np.uint8]) -> MemorySlot | None:
        """A slot in a block of the whole pages of ``memory``."""
        pages = self._api.host_alignment
        address = int(memory.__array_interface__["data"][0])
        before = address % pages
        block = self._import(address - before, -(-(before + memory.size) // pages) * pages)
        if block is None:
            return None
        self.blocks[block.serial] = block
        slot = MemorySlot(number, block, before, memory.size, 0)
        slot.mapped = memory
        return slot

    def _import(self, address: int, size: int) -> MemoryBlock | None:
        """A block of the host's pages; None if the driver cannot import them."""
        api, vk = self._api, self._api.vk
        kind = vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
        pointer = api.ffi.cast("void*", address)
        found = api.struct("VkMemoryHostPointerPropertiesEXT")
        if api.GetMemoryHostPointerPropertiesEXT(api.device, kind, pointer, found) < 0:
            return None
        external = api.struct("VkExternalMemoryBufferCreateInfo")
        external.handleTypes = kind
        source = api.struct("VkImportMemoryHostPointerInfoEXT")
        source.handleType = kind
        source.pHostPointer = pointer
        try:
            made = self._try_block(size, "host", found.memoryTypeBits, external, source)
        except VulkanError as error:
            if error.is_lost:
                raise
            return None
        return made if isinstance(made, MemoryBlock) else None

    # -- blocks

    def _make_block(self, size: int, kind: Kind) -> MemoryBlock | str:
        """A block with room for ``size`` bytes; large requests get a separate block. Returns the reason as text if
        there is no memory."""
        largest = _LARGEST_BLOCK if kind in ("shared", "device") else _LARGEST_BLOCK // 4
        usual = max(_SMALLEST_BLOCK, min(largest, self.capacity(kind) // 64))
        sizes = [usual, size] if size <= usual // 2 else [size]
        problem = ""
        for each in sizes:
            found = self._try_block(each, kind)
            if isinstance(found, MemoryBlock):
                return found
            problem = found
        return problem

    def _try_block(
        self, size: int, kind: Kind, fit: int = ~0, external: Any = None, source: Any = None
    ) -> MemoryBlock | str:
        """A block of the best free memory; the reason as text if there is none. For the host's pages, ``fit`` are their
        possible memory types, and ``external`` and ``source`` the structs that describe them.
        """
        api = self._api
        exported = None
        if kind in ("shared", "device") and api.exports_memory:  # CUDA can import it.
            handle = api.vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
            external, exported = (
                api.struct("VkExternalMemoryBufferCreateInfo"),
                api.struct("VkExportMemoryAllocateInfo"),
            )
            external.handleTypes = exported.handleTypes = handle
        buffer = self._make_buffer(size, external)
        block = None
        try:
            requirements = api.ffi.new("VkMemoryRequirements*")
            api.GetBufferMemoryRequirements(api.device, buffer, requirements)
            types = [t for t in self._types(kind) if requirements.memoryTypeBits & fit & 1 << t]
            if not types or (source is not None and requirements.size > size):
                return f"no memory type of the device is for {kind}"
            shortage = f"the device cannot allocate {readable(size)}"
            for number in types if source is None else types[:1]:
                # Imported pages are already counted as host memory.
                need = (self._heap(number), requirements.size if source is None else 0)
                problem = self.budget.shortage_of([need])
                if problem is None:
                    block = self._allocate(size, kind, need, number, source, exported)
                    if block is not None:
                        break
                shortage = problem or shortage
            else:
                return shortage
            assert block is not None
            api.check("vkBindBufferMemory", api.BindBufferMemory(api.device, buffer, block.memory, 0))
            block.buffer, buffer = buffer, None
            return block
        except VulkanError as error:
            if block is not None:
                self._free(block)
            if error.is_out_of_memory:
                return f"the device cannot allocate {readable(size)} ({error.name})"
            raise
        finally:
            if buffer is not None:
                api.DestroyBuffer(api.device, buffer, api.null)

    def _make_buffer(self, size: int, more: Any = None) -> Any:
        """A buffer without memory; ``more``: a struct with further properties."""
        create = self._api.struct("VkBufferCreateInfo")
        create.size = size
        create.usage = self._api.buffer_usage
        families = self._api.ffi.new("uint32_t[]", [self._api.family, self._api.copy_family or 0])
        if self._api.copy_family not in (None, self._api.family):
            create.sharingMode = self._api.vk.VK_SHARING_MODE_CONCURRENT
            create.queueFamilyIndexCount = len(families)
            create.pQueueFamilyIndices = families
        if more is not None:
            create.pNext = self._api.ffi.cast("void*", more)
        return self._api.create("VkBuffer", create)

    def _allocate(
        self, size: int, kind: Kind, need: tuple[int, int], number: int, source: Any = None, exported: Any = None
    ) -> MemoryBlock | None:
        """Memory of a type, mapped if the host uses it; None if the driver has no more. ``source``: a struct that
        describes the imported pages; ``exported``: one that says how the memory can be exported.
        """
        api = self._api
        create = api.struct("VkMemoryAllocateInfo")
        create.allocationSize = size if source is not None else need[1]
        if source is not None or exported is not None:
            create.pNext = api.ffi.cast("void*", exported if source is None else source)
        create.memoryTypeIndex = number
        memory = api.ffi.new("VkDeviceMemory*")
        result = api.AllocateMemory(api.device, create, api.null, memory)
        if result < 0:
            if VulkanError("", result, "").is_out_of_memory:
                return None
            api.check("vkAllocateMemory", result)
        self._serial += 1
        block = MemoryBlock(self._serial, kind, size, need)
        block.memory = memory[0]
        self.budget.count([need])
        if kind not in ("device", "host"):
            try:
                address = api.ffi.new("void**")
                api.check("vkMapMemory", api.MapMemory(api.device, block.memory, 0, need[1], 0, address))
            except BaseException:
                self._free(block)
                raise
            block.mapped = np.frombuffer(api.ffi.buffer(address[0], size), np.uint8)
        return block

    def free(self, block: MemoryBlock) -> None:
        """Returns an unused block to the driver."""
        self.blocks.pop(block.serial, None)
        block.mapped = None
        self._api.DestroyBuffer(self._api.device, block.buffer, self._api.null)
        self._free(block)

    def _free(self, block: MemoryBlock) -> None:
        self._api.FreeMemory(self._api.device, block.memory, self._api.null)  # also unmaps it
        self.budget.uncount([block.need])

    # -- memory types

    def _heap(self, number: int) -> int:
        return self._info.memory_types[number].heap

    def _types(self, kind: Kind) -> list[int]:
        """The memory types that are suitable for a kind, the best first."""
        vk = self._api.vk
        local, cached = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
        visible = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
        # This excludes memory that needs flushes, and memory that only some commands may use.
        needed = visible | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        if kind == "device":
            needed = local
        elif kind == "visible":
            needed |= local
        unfit = vk.VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | _PROTECTED | _UNCACHED_AMD
        weights: dict[Kind, list[tuple[int, bool]]] = {
            "shared": [(cached, True), (local, True)],
            "device": [(local, True), (visible, False)],
            "visible": [(cached, True)],
            "upload": [(local, False), (cached, False)],
            "readback": [(cached, True), (local, False)],
            "host": [(local, False), (cached, False)],
        }
        rows = []
        for number in range(self._properties.memoryTypeCount):
            flags = self._properties.memoryTypes[number].propertyFlags
            if flags & needed == needed and not flags & unfit:
                score = tuple(bool(flags & flag) != good for flag, good in weights[kind])
                rows.append((score, number))
        return [number for _, number in sorted(rows)]
