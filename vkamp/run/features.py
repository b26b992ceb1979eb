"""Optional device features: which a Vulkan device has, by vkamp's names, and how a device is made
with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

_1_1, _1_2, _1_3 = (1, 1, 0), (1, 2, 0), (1, 3, 0)

#: Everything that an engine which enables features can enable. ``storage16`` and ``storage8``: elements of
#: these sizes in buffers; the types of these sizes stand for that, too.
FEATURES = frozenset(
    {
        "cooperative_matrix",
        "float16",
        "float64",
        "float64_atomics",
        "float_atomics",
        "int16",
        "int64",
        "int64_atomics",
        "int8",
        "memory_model",
        "shared_int64_atomics",
        "storage16",
        "storage8",
        "subgroup_extended_types",
        "subgroup_size_control",
    }
)


class _Part(NamedTuple):
    """A struct of features: its name and type number, the version of Vulkan that has it, the extension before that, and
    the fields that are enabled. What else there is may cost something, or ask for more.
    """

    name: str
    stype: str
    since: tuple[int, int, int] | None
    extension: str
    fields: tuple[str, ...]


#: The last is for CPU drivers only (``vulkan/api.py``).
_PLAIN = ("shaderFloat64", "shaderInt64", "shaderInt16", "robustBufferAccess")
_PARTS = {
    "store16": _Part(
        "VkPhysicalDevice16BitStorageFeatures",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES",
        _1_1,
        "VK_KHR_16bit_storage",
        ("storageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess"),
    ),
    "store8": _Part(
        "VkPhysicalDevice8BitStorageFeatures",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES",
        _1_2,
        "VK_KHR_8bit_storage",
        ("storageBuffer8BitAccess", "uniformAndStorageBuffer8BitAccess"),
    ),
    "small": _Part(
        "VkPhysicalDeviceShaderFloat16Int8Features",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES",
        _1_2,
        "VK_KHR_shader_float16_int8",
        ("shaderFloat16", "shaderInt8"),
    ),
    "model": _Part(
        "VkPhysicalDeviceVulkanMemoryModelFeatures",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES",
        _1_2,
        "VK_KHR_vulkan_memory_model",
        ("vulkanMemoryModel", "vulkanMemoryModelDeviceScope"),
    ),
    "subgroup": _Part(
        "VkPhysicalDeviceSubgroupSizeControlFeatures",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES",
        _1_3,
        "VK_EXT_subgroup_size_control",
        ("subgroupSizeControl", "computeFullSubgroups"),
    ),
    "atomics": _Part(
        "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT",
        None,
        "VK_EXT_shader_atomic_float",
        tuple(
            f"shader{where}Float{bits}Atomic{what}"
            for where in ("Buffer", "Shared")
            for bits in (32, 64)
            for what in ("s", "Add")
        ),
    ),
    "long_atomics": _Part(
        "VkPhysicalDeviceShaderAtomicInt64Features",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES",
        _1_2,
        "VK_KHR_shader_atomic_int64",
        ("shaderBufferInt64Atomics", "shaderSharedInt64Atomics"),
    ),
    "subgroup_types": _Part(
        "VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES",
        _1_2,
        "VK_KHR_shader_subgroup_extended_types",
        ("shaderSubgroupExtendedTypes",),
    ),
    "matrix": _Part(
        "VkPhysicalDeviceCooperativeMatrixFeaturesKHR",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR",
        None,
        "VK_KHR_cooperative_matrix",
        ("cooperativeMatrix",),
    ),
}


def struct(vk: Any, name: str, stype: str) -> Any:
    """A zeroed Vulkan struct with its type number."""
    made = vk.ffi.new(f"{name}*")
    made.sType = getattr(vk, stype)
    return made


def chain(vk: Any, head: Any, *parts: Any) -> None:
    """Links Vulkan structs by pNext; the caller holds them all."""
    for before, after in zip((head, *parts), parts, strict=False):
        before.pNext = vk.ffi.cast("void*", after)


class FeatureChain:
    """The features of a physical device as Vulkan states them: a chain of structs that also is what
    enables them.

    ``version`` is the version of Vulkan that the device may be used with: the lower one of the
    device's and the instance's. ``extensions`` are those to enable.
    """

    def __init__(self, vk: Any, device: Any, version: tuple[int, int, int], extensions: frozenset[str]) -> None:
        self._vk = vk
        self.extensions: list[str] = []
        #: VkPhysicalDeviceFeatures2, the head of the chain.
        self.head = struct(vk, "VkPhysicalDeviceFeatures2", "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2")
        self._parts: dict[str, Any] = {}
        if version < _1_1:
            vk.lib.vkGetPhysicalDeviceFeatures(device, vk.ffi.addressof(self.head, "features"))
            self._keep_only_what_is_used()
            return
        for name, part in _PARTS.items():
            is_core = part.since is not None and version >= part.since
            if is_core or part.extension in extensions:
                self._parts[name] = struct(vk, part.name, part.stype)
                if not is_core:
                    self.extensions.append(part.extension)
        chain(vk, self.head, *self._parts.values())
        vk.lib.vkGetPhysicalDeviceFeatures2(device, self.head)
        self._keep_only_what_is_used()

    def _keep_only_what_is_used(self) -> None:
        structs: list[tuple[Any, tuple[str, ...]]] = [(self.head.features, _PLAIN)]
        structs += [(made, (*_PARTS[name].fields, "sType", "pNext")) for name, made in self._parts.items()]
        for made, wanted in structs:
            for field in dir(made):
                if field not in wanted:
                    setattr(made, field, 0)

    def _has(self, part: str, field: str) -> bool:
        found = self._parts.get(part)
        return found is not None and bool(getattr(found, field))

    def names(self) -> frozenset[str]:
        """vkamp's names of what the device has: of types, that it computes with them and stores them in buffers."""
        plain = self.head.features
        in16 = self._has("store16", "storageBuffer16BitAccess")
        in8 = self._has("store8", "storageBuffer8BitAccess")
        rows: dict[str, Callable[[], Any]] = {
            "float64": lambda: plain.shaderFloat64,
            "int64": lambda: plain.shaderInt64,
            "int16": lambda: plain.shaderInt16 and in16,
            "float16": lambda: in16 and self._has("small", "shaderFloat16"),
            "int8": lambda: in8 and self._has("small", "shaderInt8"),
            "storage16": lambda: in16,
            "storage8": lambda: in8,
            "memory_model": lambda: self._has("model", "vulkanMemoryModel"),
            "subgroup_size_control": lambda: self._has("subgroup", "subgroupSizeControl"),
            "float_atomics": lambda: self._has("atomics", "shaderBufferFloat32AtomicAdd"),
            "float64_atomics": lambda: self._has("atomics", "shaderBufferFloat64AtomicAdd"),
            "int64_atomics": lambda: self._has("long_atomics", "shaderBufferInt64Atomics"),
            "shared_int64_atomics": lambda: self._has("long_atomics", "shaderSharedInt64Atomics"),
            "subgroup_extended_types": lambda: self._has("subgroup_types", "shaderSubgroupExtendedTypes"),
            "cooperative_matrix": lambda: self._has("matrix", "cooperativeMatrix"),
        }
        return frozenset(name for name, has in rows.items() if has())
