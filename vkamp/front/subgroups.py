"""Lowering of the functions of subgroups."""

from __future__ import annotations

import ast
import math
from typing import NoReturn

from vkamp.errors import Span
from vkamp.front import convert
from vkamp.front.arity import no_keywords, wrong_count
from vkamp.front.context import Context
from vkamp.front.functions import call_function
from vkamp.front.names import member_at
from vkamp.front.values import Constant, Element, Number, Object, Value
from vkamp.ir import nodes as ir
from vkamp.ir.subgroups import IndexRow, Param, SubgroupRow
from vkamp.ir.types import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INT32,
    SCALARS,
    UINT32,
    VECTORS,
    Complex,
    Scalar,
    Struct,
    Type,
    Vector,
    promoted,
    scalar_fields,
)
from vkamp.lang.subgroup_functions import CLUSTERED
from vkamp.lang.subgroups import SubgroupFunction


def call_subgroup(ctx: Context, function: SubgroupFunction, node: ast.Call) -> Value:
    """A call of one of them; the threads' meeting is a statement.

    Vectors are exchanged number by number, and so are structs in functions that compute nothing.
    """
    row, span = function.row, ctx.span(node)
    if ctx.module.tile is None:
        ctx.fail("VKA608", node, name=function.__name__)
    if isinstance(row, IndexRow):
        if ctx.module.subgroup is not None and row.name in ("size", "count"):
            size = ctx.module.subgroup
            return Constant(size if row.name == "size" else math.prod(ctx.module.tile) // size)
        return Number(ir.SubgroupIndex(span, INT32, row.name))
    values = ctx.operands(*node.args)
    if row.result != "value":
        return Number(_meet(ctx, row, _arguments(ctx, row, values, node), (SCALARS | VECTORS)[row.result], span))
    value, *rest = values
    if isinstance(value, Element) and isinstance(value.place.type, Struct) and row.moves:
        others = [ctx.stable(e) for e in _arguments(ctx, row, rest, node)]
        return _struct(ctx, row, value.place, others, span)
    vector = convert.vector(ctx, value, node.args[0])
    if vector is not None:
        others = [ctx.stable(e) for e in _arguments(ctx, row, rest, node)]
        return Number(_vector(ctx, row, vector, others, node))
    args = _arguments(ctx, row, values, node)
    return Number(_scalar(ctx, row, args[0], args[1:], span))


def of_number(ctx: Context, row: SubgroupRow, value: ir.Expr, span: Span) -> ir.Expr:
    """Calls a row's function with one number, whose type the row supports."""
    return _scalar(ctx, row, value, [], span)


def call_clustered(ctx: Context, function: SubgroupFunction, node: ast.Call) -> Value:
    """``amp.subgroup.add(x, cluster=8)``: the same for each 8 neighbouring lanes."""
    known = CLUSTERED.get(function.row.name)
    if known is None or [keyword.arg for keyword in node.keywords] != ["cluster"]:
        no_keywords(ctx, node)
    assert known is not None
    if ctx.module.tile is None:
        ctx.fail("VKA608", node, name=function.__name__)
    algorithm, operator = known
    if len(node.args) != 1:
        wrong_count(ctx, node, ctx.text(node.func), 1, f"{function.usage[:-1]}, cluster=8)")
    return call_function(ctx, algorithm, node, operands=((Object(operator), node),))


def _meet(ctx: Context, row: SubgroupRow, args: list[ir.Expr], kind: Type, span: Span) -> ir.Expr:
    result = ctx.new_variable(f"subgroup_{row.name}", kind, span, temporary=True)
    ctx.emit(ir.Subgroup(span, row.name, tuple(args), result))
    return ir.Load(span, kind, ir.Local(span, kind, result))


def _scalar(ctx: Context, row: SubgroupRow, value: ir.Expr, others: list[ir.Expr], span: Span) -> ir.Expr:
    """A number; of 16 bits in float32, so that devices need nothing for it, and agree."""
    if value.type == FLOAT16:
        return convert.cast(
            _meet(ctx, row, [convert.cast(value, FLOAT32, span), *others], FLOAT32, span), FLOAT16, span
        )
    return _meet(ctx, row, [value, *others], value.type, span)


def _vector(ctx: Context, row: SubgroupRow, vector: ir.Expr, others: list[ir.Expr], node: ast.Call) -> ir.Expr:
    kind, span = vector.type, ctx.span(node)
    assert isinstance(kind, Vector)
    if not _takes(row, kind.element) or (isinstance(kind, Complex) and not (row.moves or row.is_sum)):
        _refused_value(ctx, row, node.args[0], kind)
    whole = ctx.stable(vector, "vector")
    parts = (ir.Swizzle(span, kind.element, whole, letter) for letter in kind.letters)
    return ir.Construct(span, kind, tuple(_scalar(ctx, row, part, others, span) for part in parts))


def _struct(ctx: Context, row: SubgroupRow, place: ir.Place, others: list[ir.Expr], span: Span) -> Element:
    """A new object with each number of the struct in the lane that the row moves from."""
    kind = place.type
    assert isinstance(kind, Struct)
    moved = ctx.new_object(f"subgroup_{row.name}", kind, span)
    for path, scalar, _ in scalar_fields(kind):
        here = member_at(place, path)
        value = _scalar(ctx, row, convert.cast(ir.Load(span, scalar, here), promoted(scalar), span), others, span)
        ctx.emit(ir.Assign(span, member_at(moved, path), convert.cast(value, scalar, span)))
    return Element(moved)


def _arguments(ctx: Context, row: SubgroupRow, values: list[Value], node: ast.Call) -> list[ir.Expr]:
    """The last ``len(values)`` arguments, in the types that the row takes."""
    at = len(row.params) - len(values)
    return [
        _argument(ctx, row, param, value, part)
        for param, value, part in zip(row.params[at:], values, node.args[at:], strict=True)
    ]


def _argument(ctx: Context, row: SubgroupRow, param: Param, value: Value, node: ast.expr) -> ir.Expr:
    if param == "ballot":
        return _ballot(ctx, row, value, node)
    number = convert.number(ctx, value, node)
    if param == "predicate":
        return convert.truth(convert.convert(ctx, number, convert.scalar_type(number), node), ctx.span(node))
    if param == "value":
        return _value(ctx, row, number, node)
    kind = convert.scalar_type(number)
    if not kind.is_integer:
        _refused(ctx, row, node, "int32 or uint32", kind, f"amp.int32({ctx.text(node)})")
    return convert.convert(ctx, number, UINT32, node)


def _value(ctx: Context, row: SubgroupRow, number: Constant | Number, node: ast.expr) -> ir.Expr:
    kind = convert.scalar_type(number)
    if kind == BOOL and kind.name not in row.types:
        kind = INT32
    if not _takes(row, kind):
        _refused_value(ctx, row, node, kind)
    return convert.convert(ctx, number, kind, node)


def _takes(row: SubgroupRow, kind: Scalar) -> bool:
    """Whether a row's function takes numbers of a type; those of 16 bits are exchanged in float32."""
    return kind.name in row.types or (kind == FLOAT16 and "float32" in row.types)


def _refused_value(ctx: Context, row: SubgroupRow, node: ast.expr, kind: Scalar | Vector) -> NoReturn:
    *others, last = row.types
    _refused(ctx, row, node, f"{', '.join(others)} or {last}", kind, f"amp.{row.types[0]}({ctx.text(node)})")


def _ballot(ctx: Context, row: SubgroupRow, value: Value, node: ast.expr) -> ir.Expr:
    found = convert.vector(ctx, value, node)
    if found is not None and found.type == VECTORS["uint4"]:
        return found
    given = found.type if found is not None else convert.scalar_type(convert.number(ctx, value, node))
    _refused(ctx, row, node, "the uint4 of a ballot", given, f"amp.subgroup.ballot({ctx.text(node)})")


def _refused(ctx: Context, row: SubgroupRow, node: ast.expr, accepts: str, given: Type, advice: str) -> NoReturn:
    ctx.fail("VKA315", node, name=f"amp.subgroup.{row.name}", accepts=accepts, given=given, advice=advice)
