"""Optional device features: which a Vulkan device has, by vkamp's names, and how a device is made with them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

#: With this extension, programs can demand that infinities, NaN and the sign of zero are kept.
FLOAT_CONTROLS = "VK_KHR_shader_float_controls"

#: With this feature, programs can demand that the threads of a subgroup reconverge.
RECONVERGENCE = "subgroup_uniform_control_flow"

_1_1, _1_2, _1_3 = (1, 1, 0), (1, 2, 0), (1, 3, 0)


class _Part(NamedTuple):
    """A struct of features: its name without "VkPhysicalDevice", the version of Vulkan that contains it, the extension
    that contained it before, and the fields that are enabled. The other fields may cost time, or need more features.
    """

    name: str
    since: tuple[int, int, int] | None
    extension: str
    fields: tuple[str, ...]


#: The last is for CPU drivers only (``vulkan/api.py``).
_PLAIN = ("shaderFloat64", "shaderInt64", "shaderInt16", "robustBufferAccess")
_FLOAT_ATOMICS = tuple(
    f"shader{where}Float{bits}Atomic{what}"
    for where in ("Buffer", "Shared")
    for bits in (32, 64)
    for what in ("s", "Add")
)
# fmt: off
_PARTS = (
    _Part("16BitStorageFeatures", _1_1, "VK_KHR_16bit_storage",
          ("storageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess")),
    _Part("8BitStorageFeatures", _1_2, "VK_KHR_8bit_storage",
          ("storageBuffer8BitAccess", "uniformAndStorageBuffer8BitAccess")),
    _Part("ShaderFloat16Int8Features", _1_2, "VK_KHR_shader_float16_int8", ("shaderFloat16", "shaderInt8")),
    _Part("VulkanMemoryModelFeatures", _1_2, "VK_KHR_vulkan_memory_model",
          ("vulkanMemoryModel", "vulkanMemoryModelDeviceScope")),
    _Part("TimelineSemaphoreFeatures", _1_2, "VK_KHR_timeline_semaphore", ("timelineSemaphore",)),
    _Part("SubgroupSizeControlFeatures", _1_3, "VK_EXT_subgroup_size_control",
          ("subgroupSizeControl", "computeFullSubgroups")),
    _Part("ShaderAtomicFloatFeaturesEXT", None, "VK_EXT_shader_atomic_float", _FLOAT_ATOMICS),
    _Part("ShaderAtomicInt64Features", _1_2, "VK_KHR_shader_atomic_int64",
          ("shaderBufferInt64Atomics", "shaderSharedInt64Atomics")),
    _Part("ShaderSubgroupExtendedTypesFeatures", _1_2, "VK_KHR_shader_subgroup_extended_types",
          ("shaderSubgroupExtendedTypes",)),
    _Part("ShaderIntegerDotProductFeatures", _1_3, "VK_KHR_shader_integer_dot_product", ("shaderIntegerDotProduct",)),
    _Part("ShaderSubgroupUniformControlFlowFeaturesKHR", None, "VK_KHR_shader_subgroup_uniform_control_flow",
          ("shaderSubgroupUniformControlFlow",)),
    _Part("CooperativeMatrixFeaturesKHR", None, "VK_KHR_cooperative_matrix", ("cooperativeMatrix",)),
)
# fmt: on

#: For each of vkamp's features, the fields that a device must have. A type is a feature if the device computes with it
#: and stores it in buffers.
_NEEDED = {
    "float64": ("shaderFloat64",),
    "int64": ("shaderInt64",),
    "int16": ("shaderInt16", "storageBuffer16BitAccess"),
    "float16": ("shaderFloat16", "storageBuffer16BitAccess"),
    "int8": ("shaderInt8", "storageBuffer8BitAccess"),
    "storage16": ("storageBuffer16BitAccess",),
    "storage8": ("storageBuffer8BitAccess",),
    "memory_model": ("vulkanMemoryModel",),
    "subgroup_size_control": ("subgroupSizeControl", "computeFullSubgroups"),
    "float_atomics": ("shaderBufferFloat32AtomicAdd",),
    "shared_float_atomics": ("shaderSharedFloat32AtomicAdd",),
    "float64_atomics": ("shaderBufferFloat64AtomicAdd",),
    "int64_atomics": ("shaderBufferInt64Atomics",),
    "shared_int64_atomics": ("shaderSharedInt64Atomics",),
    "subgroup_extended_types": ("shaderSubgroupExtendedTypes",),
    "integer_dot_product": ("shaderIntegerDotProduct",),
    RECONVERGENCE: ("shaderSubgroupUniformControlFlow",),
    "cooperative_matrix": ("cooperativeMatrix",),
}

#: Everything that can be enabled by an engine that enables features. ``storage16`` and ``storage8``: elements of these
#: sizes in buffers, which the types of these sizes include.
FEATURES = frozenset(_NEEDED)


@cache
def _type_number(name: str) -> str:
    """The name of a struct's type number, by the rules of the specification."""
    words = re.findall(r"\d+Bit|(?:Float|Int)\d+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+", name.removeprefix("Vk"))
    return "VK_STRUCTURE_TYPE_" + "_".join(words).upper()


def struct(vk: Any, name: str) -> Any:
    """A zeroed Vulkan struct with its type number."""
    made = vk.ffi.new(f"{name}*")
    made.sType = getattr(vk, _type_number(name))
    return made


def chain(vk: Any, head: Any, *parts: Any) -> None:
    """Links Vulkan structs by pNext; the caller holds them all."""
    for before, after in zip((head, *parts), parts, strict=False):
        before.pNext = vk.ffi.cast("void*", after)


class FeatureChain:
    """The features of a physical device as Vulkan states them: a chain of structs, which also enables them.

    ``version`` is the version of Vulkan that the device may be used with: the lower one of the device's and the
    instance's. ``extensions`` are those to enable.
    """

    def __init__(self, vk: Any, device: Any, version: tuple[int, int, int], extensions: frozenset[str]) -> None:
        self.extensions: list[str] = []
        #: VkPhysicalDeviceFeatures2, the head of the chain.
        self.head = struct(vk, "VkPhysicalDeviceFeatures2")
        self._structs: list[tuple[Any, tuple[str, ...]]] = [(self.head.features, _PLAIN)]
        if version < _1_1:
            vk.lib.vkGetPhysicalDeviceFeatures(device, vk.ffi.addressof(self.head, "features"))
        else:
            for part in _PARTS:
                is_core = part.since is not None and version >= part.since
                if is_core or part.extension in extensions:
                    self._structs.append((struct(vk, f"VkPhysicalDevice{part.name}"), part.fields))
                    if not is_core:
                        self.extensions.append(part.extension)
            chain(vk, self.head, *(made for made, _ in self._structs[1:]))
            vk.lib.vkGetPhysicalDeviceFeatures2(device, self.head)
        for made, used in self._structs:
            for field in dir(made):
                if field not in (*used, "sType", "pNext"):
                    setattr(made, field, 0)

    def names(self) -> frozenset[str]:
        """vkamp's names of the device's features."""
        has = {field for made, used in self._structs for field in used if getattr(made, field)}
        return frozenset(name for name, fields in _NEEDED.items() if has.issuperset(fields))
