"""``type(x)`` and ``isinstance(x, T)`` in kernels."""

from __future__ import annotations

import ast
from types import FunctionType, UnionType
from typing import Any

import numpy as np

from vkamp.front import convert, dtypes
from vkamp.front.arity import check_arity
from vkamp.front.context import Context
from vkamp.front.values import (
    BoundFunction,
    Closure,
    Constant,
    Element,
    Memory,
    Object,
    ThreadRef,
    TupleValue,
    Value,
)
from vkamp.ir import nodes as ir
from vkamp.ir.purity import is_pure, pure_functions
from vkamp.ir.types import Complex, Struct
from vkamp.lang.container import Container
from vkamp.lang.index_space import extent, index, tiled_index
from vkamp.lang.vectors import vector_class


def type_of(ctx: Context, node: ast.Call) -> Value:
    """``type(x)``: a type that converts, or the ``dtype`` of an array; of a small integer int32, as it computes."""
    check_arity(ctx, node, 1, "type", "type(x)")
    return _type_object(ctx, _unused(ctx, node.args[0]), node)


def is_instance(ctx: Context, node: ast.Call) -> Value:
    """``isinstance(x, T)``, a compile-time constant; ``T`` may be a tuple of types."""
    check_arity(ctx, node, 2, "isinstance", "isinstance(x, amp.float32)")
    value = _unused(ctx, node.args[0])
    kind = _class_of(ctx, value, node)
    return Constant(any(_matches(kind, target) for target in _targets(ctx, ctx.expr(node.args[1]), node.args[1])))


def _targets(ctx: Context, value: Value, node: ast.expr) -> list[type]:
    """The types that the second argument of ``isinstance`` names."""
    if isinstance(value, TupleValue):
        parts = node.elts if isinstance(node, ast.Tuple) else [node] * len(value.items)
        return [each for item, part in zip(value.items, parts, strict=True) for each in _targets(ctx, item, part)]
    found = value.value if isinstance(value, Object) else None
    if isinstance(found, UnionType):
        return list(found.__args__)
    found = found.type if isinstance(found, np.dtype) else found
    if not isinstance(found, type):
        help_text = "name a type or a tuple of types, such as `amp.float32`"
        ctx.fail("VKA101", node, what=f"`isinstance` of `{ctx.text(node)}`", advice=help_text)
    if issubclass(found, (Container, np.ndarray)):
        help_text = 'write `hasattr(x, "extent")`, which is true of containers, arrays and their rows'
        ctx.fail("VKA101", node, what=f"`isinstance` of `{ctx.text(node)}`", advice=help_text)
    return [found]


def _class_of(ctx: Context, value: Value, node: ast.Call) -> type:
    """The class that a value has in Python: numbers are of numpy's types."""
    if isinstance(value, Object):
        return type(value.value)
    if isinstance(value, ThreadRef):
        return index if ctx.module.tile is None else tiled_index
    if isinstance(value, TupleValue):
        return {"index": index, "extent": extent}.get(value.kind) or value.cls or tuple
    if isinstance(value, (Closure, BoundFunction)):
        return FunctionType
    if isinstance(value, Memory):
        return Container
    if isinstance(value, Element) and isinstance(value.place.type, Struct):
        return value.place.type.cls or np.void
    found = _type_object(ctx, value, node)
    assert isinstance(found, Object)
    return found.value if isinstance(found.value, type) else found.value.type


#: The kinds of dtypes that Python's number types stand for, whatever their size.
_PYTHON = {int: "iu", float: "f", bool: "b", complex: "c"}


def _matches(kind: type, target: Any) -> bool:
    if target in _PYTHON and issubclass(kind, np.generic):
        return np.dtype(kind).kind in _PYTHON[target]
    return issubclass(kind, target)


def _unused(ctx: Context, node: ast.expr) -> Value:
    """A value of which only the type matters: the shader does not compute it."""
    before = ctx.module.state(), list(ctx.variables), set(ctx.taken), len(ctx.block)
    value = ctx.expr(node)
    if _only_computes(ctx, before[1], before[-1]):
        # The shader needs no value.
        ctx.module.restore(before[0])
        ctx.variables[:], ctx.taken = before[1:3]
        del ctx.block[before[-1] :]
    return value


def _only_computes(ctx: Context, known: list[ir.Variable], at: int) -> bool:
    """Whether the block's statements from ``at`` on do nothing but give values to new temporaries."""
    pure = pure_functions(ctx.module.functions)
    for statement in ctx.block[at:]:
        if not (isinstance(statement, (ir.Assign, ir.Call)) and is_pure(statement, pure)):
            return False
        roots = (
            [ir.root_of(place) for place in ir.changed_places(statement)] if isinstance(statement, ir.Assign) else []
        )
        given = [root.variable for root in roots if isinstance(root, ir.Local)]
        if any(v in known or not v.temporary for v in (*given, *ir.results(statement))):
            return False
    return not any(isinstance(s, ir.Assert) for f in ctx.module.functions for s in ir.walk_statements(f.body))


def _type_object(ctx: Context, value: Value, node: ast.Call) -> Value:
    if isinstance(value, Element) and isinstance(value.place.type, Struct):
        return dtypes.type_object(value.place.type)
    vector = ctx.vector_of(value)
    if vector is not None:
        is_complex = isinstance(vector, Complex)
        return Object(vector.dtype.type if is_complex else vector_class(vector.dtype))
    if isinstance(value, TupleValue) and value.kind == "tuple":
        part, help_text = node.args[0], "use a struct, of a class under @amp.struct, which arrays can hold"
        ctx.fail("VKA311", part, text=ctx.text(part), what=ctx.describe(value), advice=help_text)
    return dtypes.type_object(convert.scalar_type(convert.number(ctx, value, node.args[0])))
