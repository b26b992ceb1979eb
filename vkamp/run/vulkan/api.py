"""Vulkan's functions for one logical device: instance, device, queues, and results as exceptions.

The package ``vulkan`` provides the declarations (cffi). A pointer keeps nothing alive, so every struct that another
points to is stored in a variable until the call returns. Calls release the interpreter's lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any

from vkamp.errors import AmpError
from vkamp.run import devices, libraries
from vkamp.run.engine import DeviceInfo
from vkamp.run.features import FLOAT_CONTROLS, FeatureChain, chain, struct
from vkamp.run.vulkan.held_calls import HeldCalls
from vkamp.run.workarounds import has_quirk

#: VK_ERROR_DEVICE_LOST
LOST = -4
#: The queues that compute. Each takes 20 ms at the start of a program on an H200; views beyond two share them.
_QUEUES = 2
_HOST_MEMORY = "VK_EXT_external_memory_host"
_MEMORY_DESCRIPTORS, _SEMAPHORE_DESCRIPTORS = "VK_KHR_external_memory_fd", "VK_KHR_external_semaphore_fd"
#: The vendors whose devices CUDA runs on, too.
_CUDA_VENDORS = (0x10DE,)


class VulkanError(Exception):
    """An error that a Vulkan function returned."""

    def __init__(self, function: str, code: int, name: str) -> None:
        super().__init__(f"{function} gave {name}")
        self.code = code
        self.name = name

    @property
    def is_lost(self) -> bool:
        """VK_ERROR_DEVICE_LOST."""
        return self.code == LOST

    @property
    def is_out_of_memory(self) -> bool:
        """VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY."""
        return self.code in (-1, -2)


@cache
def _error_names(vk: Any) -> dict[int, str]:
    names = (n for n in dir(vk) if n.startswith("VK_ERROR_"))
    return {v: n for n in sorted(names, reverse=True) if isinstance(v := getattr(vk, n), int)}


def computing_family(flags: Sequence[int]) -> int | None:
    """Which of the queue families, by their ``VkQueueFlags``, to compute with; None if there is none.

    A family without graphics is preferred: a launch takes 3 us less on NVIDIA's, and does not wait for the desktop's
    drawing. Each family that computes can also copy.
    """
    graphics, compute = 1, 2
    families = [number for number, each in enumerate(flags) if each & compute]
    return next((number for number in families if not flags[number] & graphics), families[0] if families else None)


def copying_family(flags: Sequence[int]) -> int | None:
    """Which of the queue families, by their ``VkQueueFlags``, can only copy; None if there is none."""
    graphics, compute, transfer = 1, 2, 4
    return next((n for n, each in enumerate(flags) if each & transfer and not each & (graphics | compute)), None)


class Api:
    """An instance, and a logical device of it with its functions as attributes without ``vk``.

    ``family``, ``queues``: the queue family, and the queues of it. ``copy_family``, ``copy_queues``: the same for
    queues that can only copy, one for each direction if there are two. ``has_budget``: the device reports how much
    memory is free. ``host_alignment``: host memory at multiples of this many bytes can be imported; 0 if the device
    cannot import it. ``exports_memory``, ``exports_semaphores``: CUDA can import the device's memory, and its timeline
    semaphores.
    """

    def __init__(self, info: DeviceInfo) -> None:
        self.vk: Any = libraries.load_vulkan()
        self.ffi: Any = self.vk.ffi
        self.null: Any = self.ffi.NULL
        self.instance: Any = None
        self.device: Any = None
        version = min(libraries.NEWEST, info.api_version, libraries.known.loader_version)
        with self._undone_on_error():
            self.instance, result = libraries.take_instance(self.vk, libraries.packed_version(info.api_version))
            self.check("vkCreateInstance", result)
            self.physical = self._find(info)
            extensions = devices.device_extensions(self.vk, self.physical)
            self.has_budget = "VK_EXT_memory_budget" in extensions
            self.features = FeatureChain(self.vk, self.physical, version, extensions)
            if info.kind != "cpu" or has_quirk(info, "unchecked_bounds"):
                # On GPUs each access could take longer, and none out of bounds reaches the host's memory. In SPIR-V for
                # SwiftShader subscripts are limited, which takes less time than its checks.
                self.features.head.features.robustBufferAccess = 0
            self.properties = self.ffi.new("VkPhysicalDeviceProperties*")
            self.vk.lib.vkGetPhysicalDeviceProperties(self.physical, self.properties)
            self.host_alignment = self._host_alignment(version, extensions, info)
            self.exports_memory = self._can_export_memory(version, extensions)
            self.exports_semaphores = self._can_export_semaphores(version, extensions)
            self.family, count = self._choose_family()
            self.copy_family, copy_count = self._choose_copy_family()
            self.device = self._create_device(extensions, count, copy_count)
            self.queues = self._queues(self.family, count)
            self.copy_queues = [] if self.copy_family is None else self._queues(self.copy_family, copy_count)

    def __getattr__(self, name: str) -> Any:
        """A function of the device by its name without ``vk``; it becomes an attribute at its first use."""
        address = self.vk.lib.vkGetDeviceProcAddr(self.device, f"vk{name}".encode())
        if address == self.null:
            raise AttributeError(f"the driver has no vk{name}")
        found = self.ffi.cast(f"PFN_vk{name}", address)
        setattr(self, name, found)
        return found

    @contextlib.contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _find(self, info: DeviceInfo) -> Any:
        """The physical device that discovery described by ``info``."""
        handles, result = devices.physical_devices(self.vk, self.instance)
        self.check("vkEnumeratePhysicalDevices", result)
        properties = self.ffi.new("VkPhysicalDeviceProperties*")
        same = []
        for index, handle in enumerate(handles):
            self.vk.lib.vkGetPhysicalDeviceProperties(handle, properties)
            name = self.ffi.string(properties.deviceName).decode("utf-8", errors="replace")
            if name == info.name:
                same.append((abs(index - info.index), index, handle))
        if not same:
            raise AmpError(f"{info.name} no longer exists")
        return min(same, key=lambda row: row[:2])[2]

    def _choose_family(self) -> tuple[int, int]:
        """The family of the queues: its number, and how many queues to create."""
        rows = devices.queue_families(self.vk, self.physical)
        number = computing_family([row.queueFlags for row in rows])
        if number is None:
            raise AmpError("the device has no compute queue")
        return number, min(rows[number].queueCount, _QUEUES)

    def _choose_copy_family(self) -> tuple[int | None, int]:
        """The family of the queues that can only copy, and how many queues to create."""
        rows = devices.queue_families(self.vk, self.physical)
        number = copying_family([row.queueFlags for row in rows])
        return number, 0 if number is None else min(rows[number].queueCount, 2)

    def _queues(self, family: int, count: int) -> list[Any]:
        return [self.handle("VkQueue", self.GetDeviceQueue, family, number) for number in range(count)]

    def _host_alignment(self, version: tuple[int, int, int], extensions: frozenset[str], info: DeviceInfo) -> int:
        """The alignment of the beginning and end of host memory that the device can import; 0 if it cannot import
        any."""
        if _HOST_MEMORY not in extensions or version < (1, 1, 0):
            return 0
        vk, usage = self.vk, self.struct("VkPhysicalDeviceExternalBufferInfo")
        usage.usage = self.buffer_usage
        usage.handleType = vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
        found = self.struct("VkExternalBufferProperties")
        vk.lib.vkGetPhysicalDeviceExternalBufferProperties(self.physical, usage, found)
        features = found.externalMemoryProperties.externalMemoryFeatures
        can_import = features & vk.VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT
        if not can_import and not has_quirk(info, "unlisted_imports"):
            return 0
        head = self.struct("VkPhysicalDeviceProperties2")
        host = self.struct("VkPhysicalDeviceExternalMemoryHostPropertiesEXT")
        chain(vk, head, host)
        vk.lib.vkGetPhysicalDeviceProperties2(self.physical, head)
        return int(host.minImportedHostPointerAlignment)

    def _can_export_memory(self, version: tuple[int, int, int], extensions: frozenset[str]) -> bool:
        """Whether the memory of buffers can be exported for CUDA."""
        if self.properties.vendorID not in _CUDA_VENDORS or _MEMORY_DESCRIPTORS not in extensions or version < (1, 1):
            return False
        vk, usage = self.vk, self.struct("VkPhysicalDeviceExternalBufferInfo")
        usage.usage = self.buffer_usage
        usage.handleType = vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
        found = self.struct("VkExternalBufferProperties")
        vk.lib.vkGetPhysicalDeviceExternalBufferProperties(self.physical, usage, found)
        features = int(found.externalMemoryProperties.externalMemoryFeatures)
        # Blocks contain many buffers' memory, so that it cannot be dedicated to one.
        is_dedicated = features & vk.VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT
        return bool(features & vk.VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) and not is_dedicated

    def _can_export_semaphores(self, version: tuple[int, int, int], extensions: frozenset[str]) -> bool:
        """Whether timeline semaphores can be exported for CUDA."""
        if not self.exports_memory or _SEMAPHORE_DESCRIPTORS not in extensions or version < (1, 2):
            return False
        vk, wanted = self.vk, self.struct("VkPhysicalDeviceExternalSemaphoreInfo")
        kind = self.struct("VkSemaphoreTypeCreateInfo")
        kind.semaphoreType = vk.VK_SEMAPHORE_TYPE_TIMELINE
        wanted.handleType = vk.VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
        chain(vk, wanted, kind)
        found = self.struct("VkExternalSemaphoreProperties")
        vk.lib.vkGetPhysicalDeviceExternalSemaphoreProperties(self.physical, wanted, found)
        return bool(found.externalSemaphoreFeatures & vk.VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT)

    @property
    def buffer_usage(self) -> int:
        """The usage flags of all buffers."""
        vk = self.vk
        return int(
            vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
            | vk.VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT
        )

    def _create_device(self, extensions: frozenset[str], count: int, copy_count: int) -> Any:
        ffi, vk = self.ffi, self.vk
        names = [n for n in self.features.extensions if n in extensions]
        if FLOAT_CONTROLS in extensions:
            names.append(FLOAT_CONTROLS)
        if self.has_budget:
            names.append("VK_EXT_memory_budget")
        if self.host_alignment:
            names.append(_HOST_MEMORY)
        names += [_MEMORY_DESCRIPTORS] * self.exports_memory + [_SEMAPHORE_DESCRIPTORS] * self.exports_semaphores
        if "VK_KHR_portability_subset" in extensions:  # must be enabled where it exists
            names.append("VK_KHR_portability_subset")
        texts = [ffi.new("char[]", name.encode()) for name in names]
        texts_array = ffi.new("char*[]", texts)
        families = [(self.family, count)] + ([] if self.copy_family is None else [(self.copy_family, copy_count)])
        priorities = ffi.new("float[]", [1.0] * max(count, copy_count))
        queues = ffi.new("VkDeviceQueueCreateInfo[]", len(families))
        for queue, (family, wanted) in zip(queues, families, strict=True):
            queue.sType = vk.VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO
            queue.queueFamilyIndex = family
            queue.queueCount = wanted
            queue.pQueuePriorities = priorities
        create = struct(vk, "VkDeviceCreateInfo")
        create.queueCreateInfoCount = len(families)
        create.pQueueCreateInfos = queues
        create.enabledExtensionCount = len(names)
        create.ppEnabledExtensionNames = texts_array
        create.pNext = ffi.cast("void*", self.features.head)
        handle = ffi.new("VkDevice*")
        self.check("vkCreateDevice", vk.lib.vkCreateDevice(self.physical, create, self.null, handle))
        return handle[0]

    # -- helpers

    @cached_property
    def held_calls(self) -> HeldCalls:
        """Functions of the device that are called without giving the interpreter's lock away."""
        return HeldCalls(self)

    def check(self, function: str, result: int) -> int:
        """The result, unless it is an error: then :class:`VulkanError`."""
        if result < 0:
            raise VulkanError(function, result, _error_names(self.vk).get(result, f"the error {result}"))
        return result

    def struct(self, name: str) -> Any:
        """A zeroed struct with its type number."""
        return struct(self.vk, name)

    def handle(self, kind: str, function: Any, *arguments: Any) -> Any:
        """The value that a function of the device stores through its last argument."""
        made = self.ffi.new(f"{kind}*")
        result = function(self.device, *arguments, made)
        if result is not None:
            self.check(f"making a {kind}", result)
        return made[0]

    def create(self, kind: str, create_info: Any) -> Any:
        """Creates an object from its create info."""
        function = getattr(self, f"Create{kind.removeprefix('Vk')}")
        return self.handle(kind, function, create_info, self.null)

    def command_pool(self, family: int) -> Any:
        """A pool of command buffers for the queues of a family."""
        create = self.struct("VkCommandPoolCreateInfo")
        create.flags = self.vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
        create.queueFamilyIndex = family
        return self.create("VkCommandPool", create)

    def command_buffer(self, pool: Any) -> Any:
        """An array of one new command buffer."""
        allocate = self.struct("VkCommandBufferAllocateInfo")
        allocate.commandPool = pool
        allocate.level = self.vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY
        allocate.commandBufferCount = 1
        commands = self.ffi.new("VkCommandBuffer[]", 1)
        self.check("vkAllocateCommandBuffers", self.AllocateCommandBuffers(self.device, allocate, commands))
        return commands

    def close(self) -> None:
        """Destroys device and instance."""
        if self.device is not None:
            self.vk.lib.vkDestroyDevice(self.device, self.null)
            self.device = None
        if self.instance is not None:
            self.vk.lib.vkDestroyInstance(self.instance, self.null)
            self.instance = None
