"""Device discovery: the Vulkan devices with their limits, features and memory, and why there are no others.

Kompute crashes if there is no driver, so the loader is queried first through PyPI's ``vulkan``. The results are kept
for the process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vkamp.artifacts import MATRICES
from vkamp.errors import AmpError
from vkamp.run import libraries
from vkamp.run.compute_units import ComputeUnits
from vkamp.run.engine import SUBGROUP_OPERATIONS, DeviceInfo, DeviceKind, Heap, Limits, MemoryType
from vkamp.run.features import FLOAT_CONTROLS, FeatureChain, chain, struct
from vkamp.run.matrices import matrix_shapes
from vkamp.run.workarounds import has_quirk

#: Kompute's buffer sizes are 32-bit; the last word is excluded so that rounding up cannot wrap.
KOMPUTE_BUFFER_BYTES = 2**32 - 4
_API_1_1 = (1 << 22) | (1 << 12)
_KINDS: dict[int, DeviceKind] = {0: "other", 1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}
_ORDER: dict[DeviceKind, int] = {
    "discrete": 0,
    "integrated": 1,
    "virtual": 2,
    "other": 3,
    "cpu": 4,
    "reference": 5,
}

_NO_DEVICE = (
    "there is no Vulkan device on this machine: {reason}. Install the graphics card's driver, or a "
    "driver that runs on the CPU: {package}; "
    "any Chromium-family browser brings one too (SwiftShader), which vkamp finds automatically. "
    'accelerator("reference") needs no driver'
)


class _KnownDevices:
    """The devices, once they are known."""

    devices: list[DeviceInfo] | None = None


def vulkan_devices(*, search_browsers: bool = False) -> list[DeviceInfo]:
    """The Vulkan devices in the loader's order, asked once per process.

    If the loader has no device, SwiftShader is looked for where browsers install it; ``search_browsers`` does that even
    if there are others. Raises ``AmpError`` which says what to install, if there is no loader or no device.
    """
    with libraries.lock:
        if _KnownDevices.devices is None:
            libraries.known.steps.clear()
            _KnownDevices.devices = _discover()
        if search_browsers and libraries.known.added is None:
            _KnownDevices.devices = _add_swiftshader(_KnownDevices.devices) or _KnownDevices.devices
        return list(_KnownDevices.devices)


def known_devices() -> object:
    """An object that identifies the known devices: another one after a change, None before the first search."""
    return _KnownDevices.devices


def as_kompute(info: DeviceInfo) -> DeviceInfo:
    """The device as the Kompute engine offers it: no feature enabled, and its sizes are 32-bit."""
    largest = min(info.limits.buffer_bytes, KOMPUTE_BUFFER_BYTES)
    return replace(info, engine="kompute", limits=replace(info.limits, buffer_bytes=largest))


def shares_memory(info: DeviceInfo) -> bool:
    """Whether kernels should use memory that the host can also access."""
    return info.kind in ("cpu", "integrated") and any(each.host_coherent for each in info.memory_types)


def free_memory(info: DeviceInfo) -> tuple[int, ...] | None:
    """The bytes that this process can still allocate from each heap of the device; None if the driver does not report
    it."""
    with libraries.lock:
        binding = libraries.load_vulkan()
        with _instance(binding) as (instance, _):
            handles = physical_devices(binding, instance)[0] if instance is not None else []
            if info.index >= len(handles):
                return None
            device = handles[info.index]
            if "VK_EXT_memory_budget" not in device_extensions(binding, device):
                return None
            return heap_budgets(binding, device)


def heap_budgets(binding: Any, device: Any) -> tuple[int, ...]:
    """The bytes that this process can still allocate from each heap of a physical device with VK_EXT_memory_budget."""
    heaps, _types = _memory(binding, device, True)
    return tuple(heap.budget for heap in heaps)


def rank(info: DeviceInfo) -> tuple[int, bool, int, int]:
    """The sort key for the default device: kind, then driver (drivers that end loops too early come last), then
    memory."""
    return (_ORDER[info.kind], has_quirk(info, "ends_loops"), -info.memory_bytes, info.index)


# -- discovery ----------------------------------------------------------------------------------


def _discover() -> list[DeviceInfo]:
    binding = libraries.load_vulkan()
    devices, reason = _ask_loader(binding)
    if not devices and libraries.leave_out_broken_manifests():
        devices, reason = _ask_loader(binding)
    if devices:
        return devices
    restricted = libraries.restricting_variable()
    if restricted is not None:
        reason = f"{restricted}={os.environ[restricted]} names no driver that works"
        libraries.record("SwiftShader of a browser", f"not looked for: {restricted} is set")
    else:
        devices = _add_swiftshader([]) or []
    if not devices:
        raise AmpError(_NO_DEVICE.format(reason=reason, package=libraries.driver_package()))
    return devices


def _add_swiftshader(before: list[DeviceInfo]) -> list[DeviceInfo] | None:
    """The devices with a browser's SwiftShader among them; None if there is none that loads."""
    if libraries.restricting_variable() is not None:
        return None
    if before and libraries.known.loader_version < libraries.ADDS_DRIVERS_SINCE:
        libraries.record("SwiftShader of a browser", "not added: this loader cannot load additional drivers", ok=False)
        return None
    binding = libraries.load_vulkan()
    for manifest in libraries.find_swiftshader():
        libraries.known.added = manifest
        devices, _ = _ask_loader(binding)
        if len(devices) > len(before):
            libraries.record("SwiftShader of a browser", f"added {manifest}")
            return devices
        libraries.record("SwiftShader of a browser", f"{manifest} does not load", ok=False)
    libraries.known.added = None
    return None


# -- asking the loader --------------------------------------------------------------------------


@contextlib.contextmanager
def _instance(vk: Any) -> Iterator[tuple[Any, int]]:
    """A Vulkan instance as Kompute makes it, or None, and the loader's result."""
    instance, result = libraries.create_instance(vk, _API_1_1)
    try:
        yield instance, result
    finally:
        if instance is not None:
            vk.lib.vkDestroyInstance(instance, vk.ffi.NULL)


def physical_devices(vk: Any, instance: Any) -> tuple[list[Any], int]:
    """The physical devices of ``instance``, and the driver's result."""
    ffi, lib = vk.ffi, vk.lib
    count = ffi.new("uint32_t*")
    result = lib.vkEnumeratePhysicalDevices(instance, count, ffi.NULL)
    handles = ffi.new("VkPhysicalDevice[]", max(1, count[0]))
    if result == 0 and count[0]:
        result = lib.vkEnumeratePhysicalDevices(instance, count, handles)
    return [handles[i] for i in range(count[0])] if result >= 0 else [], result


def _ask_loader(vk: Any) -> tuple[list[DeviceInfo], str]:
    """The devices, or why there are none. Their instance is kept for the first one that is opened."""
    version = libraries.packed_version()
    instance, result = libraries.create_instance(vk, version)
    if instance is None:
        reason = "the Vulkan loader finds no driver"
        if result != libraries.INCOMPATIBLE_DRIVER:
            reason = f"vkCreateInstance failed with {result}"
        libraries.record("an instance", reason, ok=False)
        return [], reason
    libraries.keep_instance(instance, version)
    handles, result = physical_devices(vk, instance)
    if not handles:
        libraries.drop_instance()
        reason = "the Vulkan loader has drivers, but they find no device"
        libraries.record("devices", f"{reason} ({result})", ok=False)
        return [], reason
    devices = [_describe(vk, instance, handle, i) for i, handle in enumerate(handles)]
    names = [f"{d.index}: {d.name}" for d in devices]
    libraries.record("devices", f"{len(devices)} found", details=names)
    return devices, ""


def _describe(vk: Any, instance: Any, device: Any, index: int) -> DeviceInfo:
    extensions = device_extensions(vk, device)
    plain = vk.ffi.new("VkPhysicalDeviceProperties*")
    vk.lib.vkGetPhysicalDeviceProperties(device, plain)
    version = libraries.version_of(plain.apiVersion)
    driver = struct(vk, "VkPhysicalDeviceDriverProperties")
    ids = struct(vk, "VkPhysicalDeviceIDProperties")
    subgroup = struct(vk, "VkPhysicalDeviceSubgroupProperties")
    sizes = struct(vk, "VkPhysicalDeviceMaintenance3Properties")
    lanes = struct(vk, "VkPhysicalDeviceSubgroupSizeControlProperties")
    floats = struct(vk, "VkPhysicalDeviceFloatControlsProperties")
    units = ComputeUnits(vk, extensions if version >= (1, 1, 0) else frozenset())
    if version >= (1, 1, 0):
        head = struct(vk, "VkPhysicalDeviceProperties2")
        parts = [ids, subgroup, sizes, *units.parts]
        if version >= (1, 2, 0) or "VK_KHR_driver_properties" in extensions:
            parts.append(driver)
        if version >= (1, 3, 0) or "VK_EXT_subgroup_size_control" in extensions:
            parts.append(lanes)
        if FLOAT_CONTROLS in extensions:
            parts.append(floats)
        chain(vk, head, *parts)
        vk.lib.vkGetPhysicalDeviceProperties2(device, head)
    heaps, types = _memory(vk, device, "VK_EXT_memory_budget" in extensions)
    kind = _KINDS.get(plain.deviceType, "other")
    limits = _limits(vk, plain.limits, subgroup, lanes, sizes.maxMemoryAllocationSize)
    features = FeatureChain(vk, device, version, extensions).names()
    return DeviceInfo(
        engine="vulkan",
        index=index,
        name=_text(vk, plain.deviceName),
        kind=kind,
        driver=_driver_text(vk, driver, plain.driverVersion),
        api_version=version,
        uuid=bytes(vk.ffi.buffer(ids.deviceUUID)).hex(),
        memory_bytes=sum(h.size for h in heaps if h.device_local),
        limits=replace(
            limits,
            compute_units=units.count(is_cpu=kind == "cpu"),
            matrix_shapes=matrix_shapes(vk, instance, device) if MATRICES in features else (),
        ),
        features=features,
        engine_features=frozenset(),
        heaps=heaps,
        memory_types=types,
        max_allocations=plain.limits.maxMemoryAllocationCount,
        special_floats=frozenset(
            width
            for width in (16, 32, 64)
            # SwiftShader takes 1.9 times as long for a matrix product then, and 3.3 times for normal random numbers.
            if kind != "cpu" and getattr(floats, f"shaderSignedZeroInfNanPreserveFloat{width}")
        ),
        tick=plain.limits.timestampPeriod * 1e-9,
        tick_bits=_timestamp_bits(vk, device),
        is_partial="VK_KHR_portability_subset" in extensions,
    )


def queue_families(vk: Any, device: Any) -> Any:
    """The queue families of a physical device, as Vulkan's structs."""
    ask, count = vk.lib.vkGetPhysicalDeviceQueueFamilyProperties, vk.ffi.new("uint32_t*")
    ask(device, count, vk.ffi.NULL)
    rows = vk.ffi.new("VkQueueFamilyProperties[]", count[0])
    ask(device, count, rows)
    return rows


def _timestamp_bits(vk: Any, device: Any) -> int:
    """The valid timestamp bits that all compute queue families have; 0 if one of them has no timestamps."""
    families = (row for row in queue_families(vk, device) if row.queueFlags & vk.VK_QUEUE_COMPUTE_BIT)
    return min((family.timestampValidBits for family in families), default=0)


def _text(vk: Any, chars: Any) -> str:
    raw: bytes = vk.ffi.string(chars)
    return raw.decode("utf-8", errors="replace")


def _driver_text(vk: Any, driver: Any, packed: int) -> str:
    known = f"{_text(vk, driver.driverName)} {_text(vk, driver.driverInfo)}".strip()
    return known or ".".join(map(str, libraries.version_of(packed)))


def device_extensions(vk: Any, device: Any) -> frozenset[str]:
    ffi, lib = vk.ffi, vk.lib
    count = ffi.new("uint32_t*")
    lib.vkEnumerateDeviceExtensionProperties(device, ffi.NULL, count, ffi.NULL)
    rows = ffi.new("VkExtensionProperties[]", max(1, count[0]))
    lib.vkEnumerateDeviceExtensionProperties(device, ffi.NULL, count, rows)
    return frozenset(_text(vk, rows[i].extensionName) for i in range(count[0]))


def _limits(vk: Any, limits: Any, subgroup: Any, lanes: Any, allocation: int) -> Limits:
    size, count = limits.maxComputeWorkGroupSize, limits.maxComputeWorkGroupCount
    largest = min(limits.maxStorageBufferRange, allocation or 2**64)
    return Limits(
        tile_threads=limits.maxComputeWorkGroupInvocations,
        tile_size=(size[0], size[1], size[2]),
        tile_count=(count[0], count[1], count[2]),
        shared_bytes=limits.maxComputeSharedMemorySize,
        buffer_bytes=largest - largest % 4,
        push_bytes=limits.maxPushConstantsSize,
        buffers=min(
            limits.maxPerStageDescriptorStorageBuffers,
            limits.maxDescriptorSetStorageBuffers,
            limits.maxPerStageResources,
        ),
        subgroup_size=max(1, subgroup.subgroupSize),
        subgroup_operations=_subgroup_operations(vk, subgroup),
        subgroup_sizes=_subgroup_sizes(vk, lanes),
        tile_subgroups=lanes.maxComputeWorkgroupSubgroups,
    )


def _subgroup_sizes(vk: Any, lanes: Any) -> tuple[int, ...]:
    """The powers of two that a compute shader can require; none where the struct was not filled."""
    if not lanes.requiredSubgroupSizeStages & vk.VK_SHADER_STAGE_COMPUTE_BIT:
        return ()
    return tuple(1 << k for k in range(8) if lanes.minSubgroupSize <= 1 << k <= lanes.maxSubgroupSize)


def _subgroup_operations(vk: Any, subgroup: Any) -> frozenset[str]:
    if not subgroup.supportedStages & vk.VK_SHADER_STAGE_COMPUTE_BIT:
        return frozenset()
    flags = subgroup.supportedOperations
    return frozenset(
        name for name in SUBGROUP_OPERATIONS if flags & getattr(vk, f"VK_SUBGROUP_FEATURE_{name.upper()}_BIT")
    )


def _memory(vk: Any, device: Any, has_budget: bool) -> tuple[tuple[Heap, ...], tuple[MemoryType, ...]]:
    head = struct(vk, "VkPhysicalDeviceMemoryProperties2")
    budget = struct(vk, "VkPhysicalDeviceMemoryBudgetPropertiesEXT")
    if has_budget:
        chain(vk, head, budget)
    vk.lib.vkGetPhysicalDeviceMemoryProperties2(device, head)
    memory = head.memoryProperties
    heaps = []
    for i in range(memory.memoryHeapCount):
        heap = memory.memoryHeaps[i]
        free = max(0, budget.heapBudget[i] - budget.heapUsage[i]) if has_budget else heap.size
        local = bool(heap.flags & vk.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
        heaps.append(Heap(heap.size, min(free, heap.size), local))
    coherent = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    types = []
    for i in range(memory.memoryTypeCount):
        flags = memory.memoryTypes[i].propertyFlags
        local = bool(flags & vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
        heap_index = memory.memoryTypes[i].heapIndex
        types.append(MemoryType(heap_index, local, flags & coherent == coherent))
    return tuple(heaps), tuple(types)
