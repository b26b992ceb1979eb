"""Integer expressions without what can be computed now: constants, neutral operands, affine forms."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import BINARY, COMPARISONS, folded, wrapped
from vkamp.ir.types import BOOL, INT32, Scalar, Type


def operation(span: Span, kind: Type, op: Any, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """``left op right``: the result if both are integer constants, or one operand if the other changes nothing."""
    if isinstance(kind, Scalar) and kind.is_integer:
        if isinstance(left, ir.Const) and isinstance(right, ir.Const):
            value = folded(op, int(left.value), int(right.value), kind)
            if value is not None:
                return ir.Const(span, kind, value)
        elif isinstance(right, ir.Const) and right.value == BINARY[op].right_neutral and left.type == kind:
            return left
        elif isinstance(left, ir.Const) and left.value == BINARY[op].left_neutral and right.type == kind:
            return right
    return ir.Binary(span, kind, op, left, right)


def integer(value: int, like: ir.Node) -> ir.Const:
    """An int32 constant at the place of another node."""
    return ir.Const(like.span, INT32, wrapped(value, INT32))


def as_int(expr: ir.Expr) -> ir.Expr:
    """An index as an int32."""
    if expr.type == INT32:
        return expr
    return integer(int(expr.value), expr) if isinstance(expr, ir.Const) else ir.Cast(expr.span, INT32, expr)


def lowest_bits(expr: ir.Expr, bits: int) -> ir.Expr:
    """An expression whose lowest bits are those of an integer expression: without conversions that keep them."""
    while isinstance(expr, ir.Cast) and _has_bits(expr.type, bits) and _has_bits(expr.operand.type, bits):
        expr = expr.operand
    return expr


def _has_bits(kind: Type, bits: int) -> bool:
    return isinstance(kind, Scalar) and kind.is_integer and kind.bits >= bits


def repeated(expr: ir.Expr) -> ir.Expr | None:
    """The scalar that a vector repeats; ``None``: other expressions."""
    return expr.parts[0] if isinstance(expr, ir.Construct) and len(expr.parts) == 1 else None


def sum_of(left: ir.Expr, right: ir.Expr | int) -> ir.Expr:
    """``left + right`` of int32."""
    other = integer(right, left) if isinstance(right, int) else as_int(right)
    return operation(other.span, INT32, "add", as_int(left), other)


def difference(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """``left - right`` of int32."""
    return operation(right.span, INT32, "sub", as_int(left), as_int(right))


def product(left: ir.Expr, right: ir.Expr | int) -> ir.Expr:
    """``left * right`` of int32."""
    left, other = as_int(left), integer(right, left) if isinstance(right, int) else as_int(right)
    for one in (left, other):
        if isinstance(one, ir.Const) and one.value == 0:
            return one
    return operation(other.span, INT32, "mul", left, other)


# -- affine forms --------------------------------------------------------------------------------------------------


#: Terms with their factors, and a constant.
Affine: TypeAlias = tuple[dict[ir.Expr, int], int]


def affine(expr: ir.Expr, known: Mapping[str, Affine] = MappingProxyType({})) -> Affine:
    """An integer expression as a sum of other expressions, each with its factor, and a constant.

    The sum is right modulo the size of the type, as its integers wrap. ``known``: the values of variables
    that are sums, by name.
    """
    if isinstance(expr, ir.Const):
        return {}, int(expr.value)
    local = ir.read_local(expr)
    if local is not None and local.variable.name in known:
        return known[local.variable.name]
    if isinstance(expr, ir.Binary) and expr.op in ("add", "sub"):
        terms, constant = affine(expr.left, known)
        others, other = affine(expr.right, known)
        sign = 1 if expr.op == "add" else -1
        total = dict(terms)
        for term, factor in others.items():
            total[term] = total.get(term, 0) + sign * factor
        return {t: f for t, f in total.items() if f}, constant + sign * other
    if isinstance(expr, ir.Binary) and expr.op in ("mul", "shl"):
        left, right = expr.left, expr.right
        if isinstance(left, ir.Const) and expr.op == "mul":
            left, right = right, left
        if isinstance(right, ir.Const) and (expr.op == "mul" or 0 <= right.value < 31):
            terms, constant = affine(left, known)
            factor = int(BINARY[expr.op].apply(1, int(right.value)))
            return {t: f * factor for t, f in terms.items() if factor}, constant * factor
    return {expr: 1}, 0


# -- nodes whose operands became constant --------------------------------------------------------------------------


def simplified(node: ir.Node) -> ir.Node:
    """A node whose operands are done already, without comparisons and sums of constants."""
    if isinstance(node, ir.Compare) and isinstance(node.left, ir.Const) and isinstance(node.right, ir.Const):
        if isinstance(node.left.type, Scalar) and node.left.type.is_integer:
            return ir.Const(node.span, BOOL, COMPARISONS[node.op].apply(node.left.value, node.right.value))
    elif isinstance(node, ir.Logical):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ir.Const):
                # What is left out has no effects.
                return other if bool(one.value) == (node.op == "and") else one
    elif isinstance(node, ir.Binary) and node.type == INT32:
        if node.op in ("add", "sub"):
            return _simplified_sum(node)
        if node.op == "floordiv":
            return _simplified_quotient(node)
    return node


def _simplified_sum(node: ir.Binary) -> ir.Expr:
    """A sum with at most one constant, the last."""
    terms, constant = affine(node)
    if not terms:
        return integer(constant, node)
    left, right = node.left, node.right
    inner = left.right if isinstance(left, ir.Binary) and left.op in ("add", "sub") else None
    if isinstance(right, ir.Const) and isinstance(left, ir.Binary) and isinstance(inner, ir.Const):
        signs = {"add": 1, "sub": -1}
        total = signs[left.op] * int(inner.value) + signs[node.op] * int(right.value)
        return operation(node.span, INT32, "add", left.left, integer(total, node))
    return left if isinstance(right, ir.Const) and right.value == 0 else node


def _simplified_quotient(node: ir.Binary) -> ir.Expr:
    """``(x + 8) // 4`` as ``x // 4 + 2``, for an index that does not wrap."""
    left, right = node.left, node.right
    if not isinstance(right, ir.Const) or right.value <= 0:
        return node
    if isinstance(left, ir.Binary) and left.op == "add" and isinstance(left.right, ir.Const):
        index = left.left
        whole, rest = divmod(int(left.right.value), int(right.value))
        local = ir.read_local(index)
        if rest == 0 and local is not None and local.variable.temporary:
            return sum_of(dataclasses.replace(node, left=index), whole)
    return operation(node.span, INT32, "floordiv", left, right) if isinstance(left, ir.Const) else node
