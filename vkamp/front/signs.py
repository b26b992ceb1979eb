"""A signed and an unsigned integer together: compared by value, as Python and numpy do, where C++ would convert.

``amp.int32(-1) < amp.uint32(5)`` is true.  The smaller of the two always fits the signed type, the larger the unsigned.
"""

from __future__ import annotations

import ast
from typing import Any

from vkamp.errors import Span
from vkamp.front import convert
from vkamp.front.context import Context
from vkamp.front.values import Constant, Number
from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import MIRRORED
from vkamp.ir.ranges import NO_VARIABLES
from vkamp.ir.types import BOOL, INT32, INT64, UINT32, UINT64, Scalar

_Operand = tuple[Constant | Number, ast.expr]


def _pair(left: _Operand, right: _Operand) -> tuple[ir.Expr, ir.Expr, bool] | None:
    """The signed and the unsigned operand, and whether they are the other way round.

    ``None``: there is none of each, or a type that holds both.
    """
    if isinstance(left[0], Constant) or isinstance(right[0], Constant):
        return None
    a, b = left[0].expr, right[0].expr
    kinds = [e.type.kind if isinstance(e.type, Scalar) else "" for e in (a, b)]
    if sorted(kinds) != ["int", "uint"]:
        return None
    signed, unsigned = (a, b) if kinds[0] == "int" else (b, a)
    if convert.common(Number(signed), Number(unsigned)).kind != "uint":
        return None
    return signed, unsigned, kinds[0] == "uint"


def _never_negative(expr: ir.Expr) -> bool:
    """Whether a value is certainly not negative, whatever the function's variables are."""
    return NO_VARIABLES.non_negative(expr)


def compare(ctx: Context, name: Any, left: _Operand, right: _Operand, span: Span) -> ir.Expr | None:
    """``left op right`` by value; ``None``: they meet in a type that holds both."""
    found = _pair(left, right)
    if found is None:
        return None
    signed, unsigned, swapped = found
    op: Any = MIRRORED[name] if swapped else name
    kind = UINT64 if 64 in (signed.type.bits, unsigned.type.bits) else UINT32  # type: ignore[union-attr]
    negative_decides = op in ("ne", "lt", "le")
    if isinstance(signed, ir.Const) and signed.value < 0:
        return ir.Const(span, BOOL, negative_decides)
    known = _never_negative(signed)
    if not known:
        signed = ctx.in_local(signed)
    test = ir.Compare(span, BOOL, op, convert.cast(signed, kind, span), convert.cast(unsigned, kind, span))
    if known:
        return test
    zero = ir.Const(span, signed.type, 0)
    sign = ir.Compare(span, BOOL, "lt" if negative_decides else "ge", signed, zero)
    return ir.Logical(span, BOOL, "or" if negative_decides else "and", sign, test)


def extreme(ctx: Context, name: str, left: _Operand, right: _Operand, span: Span) -> ir.Expr | None:
    """``min`` (signed) or ``max`` (unsigned) by value; ``None``: they meet in a type that holds both."""
    found = _pair(left, right)
    if found is None:
        return None
    signed, unsigned, _ = found
    wide = 64 in (signed.type.bits, unsigned.type.bits)  # type: ignore[union-attr]
    kind = UINT64 if wide else UINT32
    known = _never_negative(signed)
    if not known:
        signed = ctx.in_local(signed)
    other = unsigned if known else ctx.in_local(unsigned)
    both = ir.Builtin(span, kind, name, (convert.cast(signed, kind, span), convert.cast(other, kind, span)))
    result = convert.cast(both, INT64 if wide else INT32, span) if name == "min" else both
    if known:
        return result
    negative = ir.Compare(span, BOOL, "lt", signed, ir.Const(span, signed.type, 0))
    alone = convert.cast(signed if name == "min" else other, result.type, span)  # type: ignore[arg-type]
    return ir.Select(span, result.type, negative, alone, result)
