"""Programs as pipelines, the descriptor sets that bind memory to them, and the driver's pipeline cache."""

from __future__ import annotations

import contextlib
import hashlib
import struct
import weakref
from collections import OrderedDict, deque
from typing import Any

from vkamp.cache import default_cache
from vkamp.errors import AmpError
from vkamp.progress import activity
from vkamp.run.device import DeviceProgram
from vkamp.run.engine import DeviceInfo
from vkamp.run.late_programs import Build
from vkamp.run.vulkan.api import Api, VulkanError
from vkamp.run.vulkan.memory import MemorySlot

#: The maximum numbers of pipelines and descriptor sets; the least recently used ones are dropped first.
_PIPELINES = 512
_SETS = 4096
_SETS_IN_POOL = 64
#: The cache is written to disk after this many new pipelines.
_SAVE_EVERY = 32
_HEADER = struct.Struct("<IIII16s")
#: VK_INCOMPLETE
_INCOMPLETE = 5
#: VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, which the package does not define.
_REQUIRE_FULL_SUBGROUPS = 2


class VulkanProgram(DeviceProgram):
    """A program, and its pipeline after the first launch, or what makes it. Unfinished work references it."""

    def __init__(self, device: Any, executable: Any, *, later: bool = False) -> None:
        super().__init__(device, executable, later=later)
        self.pipeline: Any = None
        self.layout: ProgramLayout | None = None
        self.making: Build[Any] | None = None


class ProgramLayout:
    """The layout of programs with this many buffers and bytes of push constants."""

    def __init__(self, api: Api, sets: Any, buffers: int, push_bytes: int) -> None:
        self.buffers = buffers
        self.push_bytes = push_bytes
        create = api.struct("VkPipelineLayoutCreateInfo")
        handles = api.ffi.new("VkDescriptorSetLayout[]", [sets] if buffers else [])
        create.setLayoutCount = len(handles)
        create.pSetLayouts = handles
        ranges = api.ffi.new("VkPushConstantRange*")
        ranges.stageFlags = api.vk.VK_SHADER_STAGE_COMPUTE_BIT
        ranges.size = push_bytes
        create.pushConstantRangeCount = 1 if push_bytes else 0
        create.pPushConstantRanges = ranges
        self.handle = api.create("VkPipelineLayout", create)


class Layouts:
    """The layouts of a device, created on demand and kept."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._sets: dict[int, Any] = {}
        self._layouts: dict[tuple[int, int], ProgramLayout] = {}

    def set_layout(self, buffers: int) -> Any:
        """The descriptor set layout of ``buffers`` storage buffers, bound at 0, 1, ..."""
        found = self._sets.get(buffers)
        if found is None:
            vk, api = self._api.vk, self._api
            rows = api.ffi.new("VkDescriptorSetLayoutBinding[]", max(1, buffers))
            for number in range(buffers):
                rows[number].binding = number
                rows[number].descriptorType = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                rows[number].descriptorCount = 1
                rows[number].stageFlags = vk.VK_SHADER_STAGE_COMPUTE_BIT
            create = api.struct("VkDescriptorSetLayoutCreateInfo")
            create.bindingCount = buffers
            create.pBindings = rows
            found = self._sets[buffers] = api.create("VkDescriptorSetLayout", create)
        return found

    def layout(self, buffers: int, push_bytes: int) -> ProgramLayout:
        """The layout of programs with these."""
        found = self._layouts.get((buffers, push_bytes))
        if found is None:
            sets = self.set_layout(buffers) if buffers else None
            found = self._layouts[buffers, push_bytes] = ProgramLayout(self._api, sets, buffers, push_bytes)
        return found

    def destroy(self) -> None:
        """Destroys all of them."""
        api = self._api
        for layout in self._layouts.values():
            api.DestroyPipelineLayout(api.device, layout.handle, api.null)
        for made in self._sets.values():
            api.DestroyDescriptorSetLayout(api.device, made, api.null)
        self._layouts.clear()
        self._sets.clear()


class Pipelines:
    """The programs of a device by key, with their pipelines."""

    def __init__(self, api: Api, info: DeviceInfo, layouts: Layouts) -> None:
        self._api = api
        self._info = info
        self._layouts = layouts
        self._programs: OrderedDict[str, VulkanProgram] = OrderedDict()
        self._handles: set[Any] = set()
        self._dead: deque[Any] = deque()
        #: What threads make, for programs without a pipeline.
        self._making: set[Build[Any]] = set()
        self.cache = PipelineCache(api, info)

    def get(self, key: str) -> VulkanProgram | None:
        """Returns the program of ``key`` and marks it as used; ``None`` if there is none."""
        found = self._programs.get(key)
        if found is not None:
            self._programs.move_to_end(key)
        return found

    def add(self, program: VulkanProgram) -> None:
        """Adds a program, and drops the least recently used one if there are too many."""
        self._programs[program.key] = program
        while len(self._programs) > _PIPELINES:
            self._programs.popitem(last=False)
        while self._dead:
            self._destroy(self._dead.popleft())

    def start(self, program: VulkanProgram) -> None:
        """Has a thread make the pipeline of a program, which :meth:`build` takes."""
        layout = self._layouts.layout(program.buffers, program.push_bytes)
        program.making = Build(lambda: self._create(program, layout))
        self._making.add(program.making)

    def build(self, program: VulkanProgram) -> None:
        """Has the driver compile a program, unless a thread does."""
        layout, making = self._layouts.layout(program.buffers, program.push_bytes), program.making
        if making is not None:
            making.wait()
            program.making = None
            self._making.discard(making)
        try:
            made = self._create(program, layout) if making is None else making.result()
        except Exception:
            self._programs.pop(program.key, None)
            raise
        program.layout = layout
        program.pipeline = made
        self._handles.add(made)
        weakref.finalize(program, self._dead.append, made).atexit = False
        self.cache.note_new()

    def _create(self, program: VulkanProgram, layout: ProgramLayout) -> Any:
        """The pipeline of a program; called without the device's lock, too."""
        program.load()
        api, vk = self._api, self._api.vk
        module_info = api.struct("VkShaderModuleCreateInfo")
        code = api.ffi.new("uint32_t[]", len(program.spirv) // 4)
        api.ffi.memmove(code, program.spirv, len(program.spirv))
        module_info.codeSize = len(program.spirv)
        module_info.pCode = code
        module = None
        try:
            module = api.create("VkShaderModule", module_info)
            entry = api.ffi.new("char[]", b"main")
            create = api.struct("VkComputePipelineCreateInfo")
            create.stage.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO
            create.stage.stage = vk.VK_SHADER_STAGE_COMPUTE_BIT
            create.stage.module = module
            create.stage.pName = entry
            required = api.struct("VkPipelineShaderStageRequiredSubgroupSizeCreateInfo")
            if program.subgroup_size is not None:
                required.requiredSubgroupSize = program.subgroup_size
                create.stage.flags = _REQUIRE_FULL_SUBGROUPS
                create.stage.pNext = api.ffi.cast("void*", required)
            create.layout = layout.handle
            made = api.ffi.new("VkPipeline*")
            cache = self.cache.handle
            with activity(f"{self._info.name} compiles {program.name}"):
                result = api.CreateComputePipelines(api.device, cache, 1, create, api.null, made)
            api.check("vkCreateComputePipelines", result)
        except VulkanError as error:
            if error.is_lost:
                raise
            raise AmpError(f"{self._info.name} can't compile the program: {error}") from error
        finally:
            if module is not None:
                api.DestroyShaderModule(api.device, module, api.null)
        return made[0]

    def _destroy(self, pipeline: Any) -> None:
        self._handles.discard(pipeline)
        self._api.DestroyPipeline(self._api.device, pipeline, self._api.null)

    def destroy(self) -> None:
        """Destroys everything. Pipelines that were not saved in the cache are lost."""
        for making in self._making:
            making.wait()
            if making.made is not None:
                self._handles.add(making.made)
        self._making.clear()
        for pipeline in list(self._handles):
            self._destroy(pipeline)
        self._programs.clear()
        self.cache.destroy()


# -- descriptor sets ----------------------------------------------------------------------------


class DescriptorSet:
    """A descriptor set that has been written; ``handles`` points to it. Unfinished work references it."""

    __slots__ = ("__weakref__", "handles")

    def __init__(self, handles: Any) -> None:
        self.handles = handles


_Key = tuple[tuple[int, int, int], ...]


class DescriptorSets:
    """Descriptor sets by the memory that they bind: written once, used many times, recycled."""

    def __init__(self, api: Api, layouts: Layouts) -> None:
        self._api = api
        self._layouts = layouts
        self._pools: list[Any] = []
        self._sets: OrderedDict[_Key, DescriptorSet] = OrderedDict()
        self._by_block: dict[int, set[_Key]] = {}
        self._spare: dict[int, deque[Any]] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def get(self, slots: tuple[MemorySlot, ...]) -> DescriptorSet:
        """The set that binds ``slots`` at 0, 1, ..."""
        key = tuple([slot.place for slot in slots])
        found = self._sets.get(key)
        if found is not None:
            self._sets.move_to_end(key)
            return found
        if len(self._sets) >= _SETS:
            self._forget(next(iter(self._sets)))
        made = self._spare_set(len(slots))
        self._write(made.handles[0], slots)
        self._sets[key] = made
        for slot in slots:
            self._by_block.setdefault(slot.block.serial, set()).add(key)
        return made

    def forget_block(self, serial: int) -> None:
        """Drops the sets that bind memory of a block."""
        for key in self._by_block.pop(serial, ()):
            self._forget(key)

    def _forget(self, key: _Key) -> None:
        if self._sets.pop(key, None) is not None:
            for serial, *_ in key:
                self._by_block.get(serial, set()).discard(key)

    def _spare_set(self, buffers: int) -> DescriptorSet:
        """An unused set: an old one, or one of a new pool."""
        spare = self._spare.setdefault(buffers, deque())
        if not spare:
            spare.extend(self._make(buffers))
        handle = spare.popleft()
        made = DescriptorSet(self._api.ffi.new("VkDescriptorSet[]", [handle]))
        # It becomes free when neither this table nor any work references it.
        weakref.finalize(made, spare.append, handle).atexit = False
        return made

    def _make(self, buffers: int) -> list[Any]:
        api, vk = self._api, self._api.vk
        size = api.ffi.new("VkDescriptorPoolSize*")
        size.type = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        size.descriptorCount = buffers * _SETS_IN_POOL
        create = api.struct("VkDescriptorPoolCreateInfo")
        create.maxSets = _SETS_IN_POOL
        create.poolSizeCount = 1
        create.pPoolSizes = size
        pool = api.create("VkDescriptorPool", create)
        self._pools.append(pool)
        layouts = api.ffi.new("VkDescriptorSetLayout[]", [self._layouts.set_layout(buffers)] * _SETS_IN_POOL)
        allocate = api.struct("VkDescriptorSetAllocateInfo")
        allocate.descriptorPool = pool
        allocate.descriptorSetCount = _SETS_IN_POOL
        allocate.pSetLayouts = layouts
        made = api.ffi.new("VkDescriptorSet[]", _SETS_IN_POOL)
        api.check("vkAllocateDescriptorSets", api.AllocateDescriptorSets(api.device, allocate, made))
        return list(made)

    def _write(self, handle: Any, slots: tuple[MemorySlot, ...]) -> None:
        api, vk = self._api, self._api.vk
        rows = api.ffi.new("VkDescriptorBufferInfo[]", len(slots))
        for number, slot in enumerate(slots):
            rows[number].buffer = slot.block.buffer
            rows[number].offset = slot.offset
            rows[number].range = slot.nbytes + slot.guard
        write = api.struct("VkWriteDescriptorSet")
        write.dstSet = handle
        write.descriptorCount = len(slots)
        write.descriptorType = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        write.pBufferInfo = rows
        api.UpdateDescriptorSets(api.device, 1, write, 0, api.null)

    def destroy(self) -> None:
        """Destroys all of them."""
        for pool in self._pools:
            self._api.DestroyDescriptorPool(self._api.device, pool, self._api.null)
        self._pools.clear()
        self._sets.clear()
        self._by_block.clear()
        self._spare.clear()


# -- the driver's pipeline cache ----------------------------------------------------------------


def cache_header(vendor: int, device: int, uuid: bytes) -> bytes:
    """The header of the data of a pipeline cache, from the Vulkan specification."""
    return _HEADER.pack(_HEADER.size, 1, vendor, device, uuid)


class PipelineCache:
    """A VkPipelineCache with a file in the folder of the SPIR-V cache, shared by many processes.

    Damaged data and data of another driver are never passed to the driver; the cache is then empty at first. Some
    drivers reject data that they have returned; such data are not stored.
    """

    def __init__(self, api: Api, info: DeviceInfo) -> None:
        self._api = api
        plain = api.properties
        uuid = bytes(api.ffi.buffer(plain.pipelineCacheUUID))
        self.header = cache_header(plain.vendorID, plain.deviceID, uuid)
        text = f"{info.driver} {plain.driverVersion}"
        self.key = hashlib.sha256(self.header + text.encode()).hexdigest()
        self.store = default_cache("pipelines")
        self._kept = self._read()
        self._new = 0
        try:
            self.handle = self._make(self._kept)
        except VulkanError:
            # An empty cache gives the same results.
            self._kept = b""
            self.handle = self._make(b"")

    def _read(self) -> bytes:
        """The contents of the file, if this driver wrote them."""
        data = self.store.get(self.key) or b""
        return data if data.startswith(self.header) else b""

    def _make(self, data: bytes) -> Any:
        api = self._api
        create = api.struct("VkPipelineCacheCreateInfo")
        # A copy, which is aligned as the driver's memory and which the driver may change.
        held = api.ffi.new("uint64_t[]", len(data) // 8 + 1)
        api.ffi.memmove(held, data, len(data))
        create.initialDataSize = len(data)
        create.pInitialData = held if data else api.null
        return api.create("VkPipelineCache", create)

    def _takes(self, data: bytes) -> bool:
        """Whether the driver accepts the data that it returned."""
        try:
            made = self._make(data)
        except VulkanError:
            return False
        self._api.DestroyPipelineCache(self._api.device, made, self._api.null)
        return True

    def note_new(self) -> None:
        """Counts a pipeline that was made."""
        self._new += 1
        if self._new >= _SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Writes the cache if it has changed, merged with what other processes have written in the meantime."""
        if not self._new or self.store.folder is None:
            return
        self._new = 0
        theirs = self._read()
        try:
            if theirs and theirs != self._kept:
                with contextlib.suppress(VulkanError):  # data that the driver rejects are replaced
                    self._merge(theirs)
            data = self._data()
        except VulkanError:
            return  # This loses only the time to compile again; a lost device is detected elsewhere.
        if data.startswith(self.header):
            if data != theirs and self._takes(data):
                self.store.put(self.key, data)
            self._kept = data

    def _merge(self, data: bytes) -> None:
        api = self._api
        other = self._make(data)
        try:
            sources = api.ffi.new("VkPipelineCache[]", [other])
            api.check("vkMergePipelineCaches", api.MergePipelineCaches(api.device, self.handle, 1, sources))
        finally:
            api.DestroyPipelineCache(api.device, other, api.null)

    def _data(self) -> bytes:
        api = self._api
        size = api.ffi.new("size_t*")
        while True:
            api.check("vkGetPipelineCacheData", api.GetPipelineCacheData(api.device, self.handle, size, api.null))
            held = api.ffi.new("char[]", max(1, size[0]))
            result = api.GetPipelineCacheData(api.device, self.handle, size, held)
            # It may have grown between the calls, and the first part would be taken for the whole.
            if api.check("vkGetPipelineCacheData", result) != _INCOMPLETE:
                return bytes(api.ffi.buffer(held, size[0]))

    def destroy(self) -> None:
        """Destroys it."""
        self._api.DestroyPipelineCache(self._api.device, self.handle, self._api.null)
