"""Lowering of the functions of subgroups."""

from __future__ import annotations

import ast
from typing import NoReturn

from vkamp.front import convert
from vkamp.front.context import Context
from vkamp.front.values import Constant, Number, Value
from vkamp.ir import nodes as ir
from vkamp.ir.subgroups import IndexRow, Param, SubgroupRow
from vkamp.ir.types import BOOL, INT32, SCALARS, UINT32, VECTORS, Type
from vkamp.lang.subgroups import SubgroupFunction


def call_subgroup(ctx: Context, function: SubgroupFunction, node: ast.Call) -> Value:
    """A call of one of them; the threads' meeting is a statement."""
    row, span = function.row, ctx.span(node)
    if ctx.module.tile is None:
        ctx.fail("VKA608", node, name=function.__name__)
    if isinstance(row, IndexRow):
        return Number(ir.SubgroupIndex(span, INT32, row.name))
    values = ctx.operands(*node.args)
    args: list[ir.Expr] = []
    for param, value, part in zip(row.params, values, node.args, strict=True):
        args.append(_argument(ctx, row, param, value, part))
    kind: Type = args[0].type if row.result == "value" else (SCALARS | VECTORS)[row.result]
    result = ctx.new_variable(f"subgroup_{row.name}", kind, span, temporary=True)
    ctx.emit(ir.Subgroup(span, row.name, tuple(args), result))
    return Number(ir.Load(span, kind, ir.Local(span, kind, result)))


def _argument(ctx: Context, row: SubgroupRow, param: Param, value: Value, node: ast.expr) -> ir.Expr:
    if param == "ballot":
        return _ballot(ctx, row, value, node)
    number = convert.number(ctx, value, node)
    if param == "predicate":
        return convert.truth(convert.convert(ctx, number, convert.scalar_type(number), node), ctx.span(node))
    if param == "value":
        return _value(ctx, row, number, node)
    if param == "constant lane":
        number = _constant_lane(ctx, row, number, node)
    kind = convert.scalar_type(number)
    if not kind.is_integer:
        _refused(ctx, row, node, "int32 or uint32", kind, f"amp.int32({ctx.text(node)})")
    return convert.convert(ctx, number, UINT32, node)


def _value(ctx: Context, row: SubgroupRow, number: Constant | Number, node: ast.expr) -> ir.Expr:
    kind = convert.scalar_type(number)
    if kind == BOOL and kind.name not in row.types:
        kind = INT32
    if kind.name not in row.types:
        *others, last = row.types
        accepts = f"{', '.join(others)} or {last}"
        _refused(ctx, row, node, accepts, kind, f"amp.{row.types[0]}({ctx.text(node)})")
    return convert.convert(ctx, number, kind, node)


def _ballot(ctx: Context, row: SubgroupRow, value: Value, node: ast.expr) -> ir.Expr:
    found = convert.vector(ctx, value, node)
    if found is not None and found.type == VECTORS["uint4"]:
        return found
    given = found.type if found is not None else convert.scalar_type(convert.number(ctx, value, node))
    _refused(ctx, row, node, "the uint4 of a ballot", given, f"amp.subgroup.ballot({ctx.text(node)})")


def _constant_lane(ctx: Context, row: SubgroupRow, number: Constant | Number, node: ast.expr) -> Constant:
    found = convert.as_constant(ctx, number)
    if isinstance(found, Constant):
        return found
    if isinstance(found, Number) and isinstance(found.expr, ir.Const):
        return Constant(found.expr.value)
    what = f"the lane of `amp.subgroup.{row.name}`"
    advice = f"write `amp.subgroup.shuffle(x, {ctx.text(node)})`, which takes any lane"
    ctx.fail("VKA308", node, what=what, kind="a whole number", text=ctx.text(node), advice=advice)


def _refused(ctx: Context, row: SubgroupRow, node: ast.expr, accepts: str, given: Type, advice: str) -> NoReturn:
    ctx.fail("VKA315", node, name=f"amp.subgroup.{row.name}", accepts=accepts, given=given, advice=advice)
