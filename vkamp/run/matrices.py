"""The products of cooperative matrices that a device has, as its driver lists them."""

from __future__ import annotations

from typing import Any

from vkamp.artifacts import MatrixShape
from vkamp.run.features import struct

#: VkComponentTypeKHR, as far as kernels have these types.
_TYPES = {0: "float16", 1: "float32", 3: "int8", 5: "int32", 7: "uint8", 9: "uint32", 1000141000: "bfloat16"}
#: VK_SCOPE_SUBGROUP_KHR
_SUBGROUP = 3
#: glslang 13 has no matrices of these.
_UNPRINTED = "bfloat16"
_QUERY = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"


def matrix_shapes(vk: Any, instance: Any, device: Any) -> tuple[MatrixShape, ...]:
    """Those of subgroups that kernels can use; none if the driver lists none."""
    address = vk.lib.vkGetInstanceProcAddr(instance, _QUERY.encode())
    if address == vk.ffi.NULL:
        return ()
    query = vk.ffi.cast(f"PFN_{_QUERY}", address)
    count = vk.ffi.new("uint32_t*")
    if query(device, count, vk.ffi.NULL) < 0:
        return ()
    rows = vk.ffi.new("VkCooperativeMatrixPropertiesKHR[]", max(1, count[0]))
    empty = struct(vk, "VkCooperativeMatrixPropertiesKHR")
    for row in rows:
        row.sType = empty.sType
    if query(device, count, rows) < 0:
        return ()
    return tuple(shape for row in rows[0 : count[0]] if (shape := _shape(row)) is not None)


def _shape(row: Any) -> MatrixShape | None:
    """A row of the list, if kernels support its product; else None."""
    names = [_TYPES.get(kind, "") for kind in (row.AType, row.BType, row.CType, row.ResultType)]
    if "" in names or names[2] != names[3] or row.scope != _SUBGROUP or row.saturatingAccumulation:
        return None
    if _UNPRINTED in names:
        return None
    return MatrixShape(row.MSize, row.NSize, row.KSize, *names[:3])
