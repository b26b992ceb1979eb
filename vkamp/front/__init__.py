"""Python functions to typed IR.

What a launch needs of it, to know what it asks for: :mod:`vkamp.front.lower` makes the IR, where that is not known.
"""

from vkamp.front.arguments import Arguments, collect, make_request
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
    "ObjectType",
    "Request",
    "ScalarType",
    "StructType",
    "VectorType",
    "collect",
    "free_names",
    "is_number",
    "make_request",
    "read_name",
    "struct_name",
]
