"""The types that names, dtypes and strings in the source denote."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

import numpy as np

from vkamp.front import advice, vectors
from vkamp.front.context import Context
from vkamp.front.signature import struct_name
from vkamp.front.values import Object, Value
from vkamp.ir.types import BOOL, FLOAT32, INT32, SMALL, Scalar, Type, Vector, from_dtype, scalar_of_class

#: The concrete types of numpy; a dtype of an abstract one would be some other type.
NUMPY_TYPES = frozenset(np.dtype(code).type for code in np.typecodes["All"] if code not in "OSUVMm")

_PYTHON: dict[type, Scalar] = {int: INT32, float: FLOAT32, bool: BOOL, np.bool_: BOOL}


def type_of_class(cls: type) -> Scalar | None:
    """The scalar type that a Python class converts to."""
    return _PYTHON.get(cls) or scalar_of_class(cls)


def value_type(ctx: Context, value: Value, node: ast.expr) -> Scalar | Vector:
    """The type of values that an annotation names; refuses anything else, and types that only memory has."""
    found = value.value if isinstance(value, Object) else None
    scalar = type_of_class(found) if isinstance(found, type) else None
    if scalar is not None and scalar.name not in SMALL:
        return scalar
    vector = vectors.type_of_class(found)
    if vector is None:
        _no_type(ctx, value, node)
    return vector


def _no_type(ctx: Context, value: Value, node: ast.expr) -> NoReturn:
    """Raises the error for something that is not a type of the language, or one that only some devices have."""
    text = ctx.text(node)
    dtype = _dtype_of(value)
    if dtype is None:
        ctx.fail("VKA110", node, text=text)
    raise advice.refused_dtype(dtype, ctx.span(node), text)


def _dtype_of(value: Value) -> np.dtype[Any] | None:
    """The dtype that a name, a type or a dtype denotes."""
    found = value.value if isinstance(value, Object) else None
    if isinstance(found, type) and issubclass(found, np.generic) and found not in NUMPY_TYPES:
        scalar = scalar_of_class(found)
        return None if scalar is None else scalar.dtype
    try:
        return np.dtype(found) if isinstance(found, (str, type, np.dtype)) else None
    except TypeError:
        return None


def scalar_dtype(value: Value) -> Scalar | None:
    """The scalar type that a type, a dtype or its name stands for; Python's own types are 32 bits wide."""
    found = value.value if isinstance(value, Object) else None
    if isinstance(found, type):
        return type_of_class(found)
    dtype = _dtype_of(value)
    return None if dtype is None else type_of_class(dtype.type)


def type_object(kind: Type) -> Object:
    """What a kernel has for a type: a class of numpy's scalars, or the dtype of a vector or struct."""
    return Object(kind.dtype.type if isinstance(kind, Scalar) else kind.dtype)


def make_dtype(ctx: Context, value: Value, node: ast.expr) -> Value:
    """``np.dtype(x)``."""
    dtype = _dtype_of(value)
    if dtype is None:
        ctx.fail("VKA110", node, text=ctx.text(node))
    return Object(dtype)


def element_dtype(ctx: Context, value: Value, node: ast.expr, *, bools: bool = False) -> Type:
    """The element type that a dtype of the source stands for; ``bools``: where memory is the kernel's own."""
    if not isinstance(value, Object):
        ctx.fail("VKA110", node, text=ctx.text(node))
    scalar = scalar_dtype(value)
    if scalar == BOOL and not bools:
        ctx.fail("VKA305", node)
    if scalar is not None:
        return scalar
    dtype = _dtype_of(value)
    if dtype is None:
        ctx.fail("VKA110", node, text=ctx.text(node))
    try:
        return from_dtype(dtype, struct_name(ctx.module.stack[0][0], dtype))
    except ValueError:
        raise advice.refused_dtype(dtype, ctx.span(node), ctx.text(node)) from None
