"""numpy's methods of scalars: ``x.view(dtype)``, ``x.astype(dtype)``, ``n.bit_count()``, ``x.copy()``."""

from __future__ import annotations

import ast

from vkamp.errors import Span
from vkamp.front import advice, convert
from vkamp.front.context import Context
from vkamp.front.values import Constant, Element, Number, Value
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, FLOAT16, FLOAT32, INT32, UINT32, UINT64, Scalar, promoted

METHODS = ("view", "astype", "bit_count", "copy")


def is_scalar(value: Value) -> bool:
    """Whether a value is one number."""
    if isinstance(value, Element):
        return isinstance(value.place.type, Scalar)
    return isinstance(value, Constant) or (isinstance(value, Number) and isinstance(value.expr.type, Scalar))


def _stored_type(value: Value, found: Constant | Number) -> Scalar:
    """The type of a number before it was promoted, which memory gives it."""
    if isinstance(value, Element) and isinstance(value.place.type, Scalar):
        return value.place.type
    return convert.scalar_type(found)


def view(ctx: Context, value: Value, kind: Scalar, node: ast.expr, part: ast.expr) -> Value:
    """``value.view(kind)``: the bits of a number as a number of another type of its size."""
    found = convert.number(ctx, value, part)
    old, span = _stored_type(value, found), ctx.span(node)
    if old.dtype.itemsize != kind.dtype.itemsize or BOOL in (old, kind):
        text, given = ctx.text(part), advice.with_article(old)
        help_text = f"to convert the value write `amp.{kind}({text})`"
        ctx.fail("VKA335", node, text=text, given=given, type=kind, advice=help_text)
    expr = convert.natural(ctx, found, part)
    if old == kind:
        return Number(expr)
    if kind.is_narrow:
        return Number(_narrow_bits(expr, old, kind, span))
    if isinstance(expr, ir.Const) and FLOAT32 not in (old, kind) and old.is_integer and kind.is_integer:
        return Number(convert.cast(expr, kind, span))
    return Number(ir.Builtin(span, kind, f"as{kind.kind}", (expr,)))


def _narrow_bits(expr: ir.Expr, old: Scalar, kind: Scalar, span: Span) -> ir.Expr:
    """The bits of a number of 8 or 16 bits as another; a float that only memory has is the upper half of a float32."""
    if old == FLOAT16:
        expr = ir.Builtin(span, UINT32, "half_as_bits", (expr,))
    elif old.is_narrow_float:
        expr = ir.Binary(span, UINT32, "shr", ir.Builtin(span, UINT32, "asuint", (expr,)), ir.Const(span, INT32, 16))
    if not kind.is_narrow_float:
        return convert.cast(convert.cast(expr, kind, span), promoted(kind), span)
    expr = convert.cast(expr, UINT32, span)
    if kind == FLOAT16:
        return convert.cast(ir.Builtin(span, FLOAT32, "bits_as_half", (expr,)), FLOAT16, span)
    return ir.Builtin(span, FLOAT32, "asfloat", (ir.Binary(span, UINT32, "shl", expr, ir.Const(span, INT32, 16)),))


def bit_count(ctx: Context, value: Value, node: ast.expr, part: ast.expr) -> Value:
    """``n.bit_count()``: the number of bits that are set in the absolute value, as Python's and numpy's."""
    found = convert.number(ctx, value, part)
    kind, span = convert.scalar_type(found), ctx.span(node)
    if isinstance(found, Constant) and isinstance(found.value, int):
        return Constant(int(found.value).bit_count())
    if kind.kind == "float":
        example = f"amp.int32({ctx.text(part)})"
        ctx.fail("VKA315", node, name="bit_count", accepts="integers", given=kind, advice=example)
    expr = convert.natural(ctx, found, part)
    if kind == BOOL:
        return Number(convert.cast(expr, INT32, span))
    if kind.kind == "int":
        expr = ir.Builtin(span, kind, "abs", (expr,))
    if kind.bits == 32:
        return Number(_bits_set(convert.cast(expr, UINT32, span)))
    expr = ctx.stable(convert.cast(expr, UINT64, span), "bits")
    high = ir.Binary(span, UINT64, "shr", expr, ir.Const(span, INT32, 32))
    parts = (_bits_set(convert.cast(half, UINT32, span)) for half in (expr, high))
    return Number(ir.Binary(span, INT32, "add", *parts))


def _bits_set(expr: ir.Expr) -> ir.Expr:
    return convert.cast(ir.Builtin(expr.span, UINT32, "direct3d_countbits", (expr,)), INT32, expr.span)
