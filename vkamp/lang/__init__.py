"""What users name: the index space, element types, containers and copies."""

from vkamp.lang.access import (
    access_type,
    access_type_auto,
    access_type_none,
    access_type_read,
    access_type_read_write,
    access_type_write,
)
from vkamp.lang.arrays import array
from vkamp.lang.completion import completion_future
from vkamp.lang.dtypes import (
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from vkamp.lang.index_space import extent, index, tiled_extent, tiled_index
from vkamp.lang.transfer import copy, copy_async
from vkamp.lang.views import array_view

__all__ = [
    "access_type",
    "access_type_auto",
    "access_type_none",
    "access_type_read",
    "access_type_read_write",
    "access_type_write",
    "array",
    "array_view",
    "bool_",
    "completion_future",
    "copy",
    "copy_async",
    "extent",
    "float16",
    "float32",
    "float64",
    "index",
    "int8",
    "int16",
    "int32",
    "int64",
    "tiled_extent",
    "tiled_index",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
