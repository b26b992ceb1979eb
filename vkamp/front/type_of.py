"""``type(x)`` in kernels."""

from __future__ import annotations

import ast

from vkamp.front import convert, dtypes
from vkamp.front.arity import check_arity
from vkamp.front.context import Context
from vkamp.front.values import Element, Object, Value
from vkamp.ir import nodes as ir
from vkamp.ir.purity import is_pure, pure_functions
from vkamp.ir.types import Complex, Struct
from vkamp.lang.vectors import vector_class


def type_of(ctx: Context, node: ast.Call) -> Value:
    """``type(x)``: a type that converts, or the ``dtype`` of an array; of a small integer int32, as it computes."""
    check_arity(ctx, node, 1, "type", "type(x)")
    before = ctx.module.state(), list(ctx.variables), set(ctx.taken), len(ctx.block)
    value = ctx.expr(node.args[0])
    found = _type_object(ctx, value, node)
    if _only_computes(ctx, before[1], before[-1]):
        # The shader needs no value.
        ctx.module.restore(before[0])
        ctx.variables[:], ctx.taken = before[1:3]
        del ctx.block[before[-1] :]
    return found


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
    return dtypes.type_object(convert.scalar_type(convert.number(ctx, value, node.args[0])))
