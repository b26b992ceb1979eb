"""The number of compute units of a device, as far as its driver reports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from vkamp.lang.copying import processors
from vkamp.run.features import struct


class _Source(NamedTuple):
    """An extension that reports the number: its struct of properties, and the number in it."""

    extension: str
    name: str
    count: Callable[[Any], int]


def _of_amd(found: Any) -> int:
    """All units of the chip; some of them may be switched off."""
    return int(found.shaderEngineCount * found.shaderArraysPerEngineCount * found.computeUnitsPerShaderArray)


#: The first that a device has is asked.
_SOURCES = (
    _Source("VK_NV_shader_sm_builtins", "ShaderSMBuiltinsPropertiesNV", lambda found: int(found.shaderSMCount)),
    _Source(
        "VK_AMD_shader_core_properties2",
        "ShaderCoreProperties2AMD",
        lambda found: int(found.activeComputeUnitCount),
    ),
    _Source("VK_AMD_shader_core_properties", "ShaderCorePropertiesAMD", _of_amd),
    _Source(
        "VK_ARM_shader_core_builtins",
        "ShaderCoreBuiltinsPropertiesARM",
        lambda found: int(found.shaderCoreCount),
    ),
)


class ComputeUnits:
    """The question to a device with some extensions.

    ``parts``: the structs to be filled by ``vkGetPhysicalDeviceProperties2``.
    """

    def __init__(self, vk: Any, extensions: frozenset[str]) -> None:
        self._source = next((each for each in _SOURCES if each.extension in extensions), None)
        self.parts = [] if self._source is None else [struct(vk, f"VkPhysicalDevice{self._source.name}")]

    def count(self, *, is_cpu: bool) -> int | None:
        """The number: of a CPU driver, the processors that this process may use; None if the driver reports none."""
        if is_cpu:
            return processors()
        found = None if self._source is None else self._source.count(self.parts[0])
        return found or None
