"""Python functions to typed IR."""

from vkamp.front.arguments import Arguments, collect, make_request
from vkamp.front.lower import Lowered, lower
from vkamp.front.signature import (
    ArgType,
    BufferType,
    IndexType,
    ObjectType,
    Request,
    ScalarType,
    StructType,
    VectorType,
    free_names,
    is_number,
    read_name,
    struct_name,
)

__all__ = [
    "ArgType",
    "Arguments",
    "BufferType",
    "IndexType",
    "Lowered",
    "ObjectType",
    "Request",
    "ScalarType",
    "StructType",
    "VectorType",
    "collect",
    "free_names",
    "is_number",
    "lower",
    "make_request",
    "read_name",
    "struct_name",
]
