"""Comparisons of values and tuples, and chains of them."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

import numpy as np

from vkamp.front import advice, convert, objects, signs, vectors
from vkamp.front.context import Context
from vkamp.front.counters import Counter
from vkamp.front.expressions import boolean, decided
from vkamp.front.index_objects import thread_value
from vkamp.front.values import (
    Constant,
    Element,
    Number,
    Object,
    TupleValue,
    Value,
)
from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import COMPARISONS
from vkamp.ir.types import BOOL, int_range

_COMPARE: dict[type[ast.cmpop], Any] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


def comparison(ctx: Context, node: ast.Compare) -> Value:
    """A comparison of values, or a chain of them."""
    if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)) and _is_none(node.comparators[0]):
        # An argument that a call of a device function leaves out.
        left = ctx.expr(node.left)
        return Constant((left == Object(None)) == isinstance(node.ops[0], ast.Is))
    if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        types = [_type_of(value) for value in ctx.operands(node.left, node.comparators[0])]
        if None not in types:
            return Constant((types[0] == types[1]) == isinstance(node.ops[0], ast.Is))
    for op in node.ops:
        if type(op) not in _COMPARE:
            _no_comparison(ctx, op, node)
    if len(node.ops) == 1:
        left, right = ctx.operands(node.left, node.comparators[0])
        return compare_two(ctx, node.ops[0], left, right, node, node.left, node.comparators[0])
    return _chain(ctx, node)


def _type_of(value: Value) -> Any:
    """The type that a value of the compiler is, if it is one."""
    return value.value if isinstance(value, Object) and isinstance(value.value, (type, np.dtype)) else None


def _no_comparison(ctx: Context, op: ast.cmpop, node: ast.Compare) -> NoReturn:
    word = {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}[type(op)]
    ctx.fail("VKA101", node, what=f"`{word}`", advice="compare with ==, !=, <, <=, > or >=")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _chain(ctx: Context, node: ast.Compare) -> Value:
    """``a < b < c``: every operand once, from left to right; the later ones only while the chain holds."""
    terms = [node.left, *node.comparators]
    span = ctx.span(node)
    left, right = ctx.operands(*terms[:2])
    right = _read_once(ctx, right, terms[1])
    result = convert.condition(ctx, compare_two(ctx, node.ops[0], left, right, node, *terms[:2]), node)
    for k in range(2, len(terms)):
        with ctx.conditional() as inner:
            left, right = right, ctx.expr(terms[k])
            if ctx.has_effects(0):
                left = ctx.keep(left, 0)[0]
            if k < len(terms) - 1:
                right = _read_once(ctx, right, terms[k])
            test = compare_two(ctx, node.ops[k - 1], left, right, node, terms[k - 1], terms[k])
            link = convert.condition(ctx, test, node)
        if inner:
            result = convert.condition(ctx, decided(ctx, "and", result, link, inner, (node.left, node)), node)
        else:
            result = ir.Logical(span, BOOL, "and", result, link)
    return boolean(result)


def _read_once(ctx: Context, value: Value, node: ast.expr) -> Value:
    """An operand of two comparisons."""
    if not isinstance(value, (Number, Element)) or ctx.fields_of(value):
        return value
    vector = convert.vector(ctx, value, node)
    found = convert.number(ctx, value, node) if vector is None else Number(vector)
    assert isinstance(found, Number)
    return Number(ctx.in_local(found.expr), found.weak, found.double)


def compare_two(
    ctx: Context,
    op: ast.cmpop,
    left: Value,
    right: Value,
    node: ast.expr,
    left_node: ast.expr,
    right_node: ast.expr,
) -> Value:
    found = objects.comparison(ctx, op, (left, left_node), (right, right_node), node)
    if found is not None:
        return found
    name = _COMPARE[type(op)]
    left, right = thread_value(ctx, left, node), thread_value(ctx, right, node)
    if isinstance(left, TupleValue) or isinstance(right, TupleValue):
        return _compare_tuples(ctx, name, left, right, node)
    if isinstance(left, Object) and isinstance(right, Object) and name in ("eq", "ne"):
        for side, part in ((left, left_node), (right, right_node)):
            if advice.is_host_object(side.value) and not isinstance(side.value, np.dtype):
                ctx.host_object(side.value, part)
        return Constant(bool(COMPARISONS[name].apply(left.value, right.value)))
    found = vectors.compare(ctx, name, COMPARISONS[name].symbol, left, right, node, (left_node, right_node))
    if found is not None:
        return found
    a, b = convert.number(ctx, left, left_node), convert.number(ctx, right, right_node)
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant(COMPARISONS[name].apply(a.value, b.value))
    span = ctx.span(node)
    mixed = signs.compare(ctx, name, (a, left_node), (b, right_node), span)
    if mixed is not None:
        return Number(mixed)
    if convert.scalar_type(a) == BOOL and convert.scalar_type(b) == BOOL and name in ("eq", "ne"):
        x, y = convert.natural(ctx, a, left_node), convert.natural(ctx, b, right_node)
    else:
        _refuse_known(ctx, name, a, b, node)
        x, y, _, _ = convert.arithmetic(ctx, a, b, left_node, right_node)
    return Number(ir.Compare(span, BOOL, name, x, y))


def _refuse_known(ctx: Context, name: str, a: Constant | Number, b: Constant | Number, node: ast.expr) -> None:
    """Refuses a comparison of an integer with a constant beyond its type, whose result is known."""
    constant, other = (a, b) if isinstance(a, Constant) else (b, a)
    if not isinstance(constant, Constant) or not isinstance(other, Number) or isinstance(constant, Counter):
        return
    if type(constant.value) is not int:
        return
    kind = convert.scalar_type(other)
    if other.weak or not kind.is_integer:
        return
    low, high = int_range(kind)
    if not low <= constant.value <= high:
        # Any value of the type is on the same side of the constant.
        values = (constant.value, low) if constant is a else (low, constant.value)
        result = bool(COMPARISONS[name].apply(*values))
        help_text = f"`{ctx.text(node)}` is always {result}: leave it out, or convert the other operand first"
        convert.misfit(ctx, ctx.span(node), constant.value, kind, help_text)


def _is_ordered(cls: type) -> bool:
    """Whether a dataclass is declared with ``order=True``."""
    return bool(getattr(cls, "__dataclass_params__").order)  # noqa: B009


def _compare_tuples(ctx: Context, name: str, left: Value, right: Value, node: ast.expr) -> Value:
    """``==`` of indices and tuples: all components; ``!=`` is its negation.  Tuples have an order, too.

    Indices of different ranks are an error.
    """
    plain = all(isinstance(v, TupleValue) and v.kind == "tuple" for v in (left, right))
    if plain and isinstance(left, TupleValue) and isinstance(right, TupleValue):
        classes = [value.cls for value in (left, right) if value.cls is not None and not issubclass(value.cls, tuple)]
        if classes and left.cls is not right.cls and name in ("eq", "ne"):
            # Dataclasses are equal to objects of their own class only.
            return Constant(name == "ne")
        if name not in ("eq", "ne") and (not classes or (left.cls is right.cls and _is_ordered(classes[0]))):
            return _order_tuples(ctx, name, left.items, right.items, node)
        if len(left.items) != len(right.items):
            return Constant(name == "ne")
    if name not in ("eq", "ne"):
        ctx.fail("VKA321", node)
    # A one-dimensional index compares with a number, as AMP's converts from one.
    if isinstance(left, TupleValue) and len(left.items) == 1 and not isinstance(right, TupleValue):
        right = TupleValue((right,))
    if isinstance(right, TupleValue) and len(right.items) == 1 and not isinstance(left, TupleValue):
        left = TupleValue((left,))
    if not isinstance(left, TupleValue) or not isinstance(right, TupleValue):
        ctx.fail("VKA309", node, left=ctx.describe(left), right=ctx.describe(right))
    if len(left.items) != len(right.items):
        ctx.fail("VKA309", node, left=ctx.describe(left), right=ctx.describe(right))
    result: ir.Expr | None = None
    span = ctx.span(node)
    for a, b in zip(left.items, right.items, strict=True):
        op: ast.cmpop = ast.Eq() if name == "eq" else ast.NotEq()
        link = convert.condition(ctx, compare_two(ctx, op, a, b, node, node, node), node)
        if result is None:
            result = link
        else:
            result = ir.Logical(span, BOOL, "and" if name == "eq" else "or", result, link)
    # Empty tuples are equal.
    return Constant(name == "eq") if result is None else boolean(result)


def _order_tuples(ctx: Context, name: str, left: tuple[Value, ...], right: tuple[Value, ...], node: ast.expr) -> Value:
    """Compares tuples as Python does: by the first items that differ."""
    if not left or not right:
        return Constant(COMPARISONS[name].apply(len(left), len(right)))
    span = ctx.span(node)
    strict: ast.cmpop = ast.Lt() if name in ("lt", "le") else ast.Gt()
    decided = convert.condition(ctx, compare_two(ctx, strict, left[0], right[0], node, node, node), node)
    equal = convert.condition(ctx, compare_two(ctx, ast.Eq(), left[0], right[0], node, node, node), node)
    rest = convert.condition(ctx, _order_tuples(ctx, name, left[1:], right[1:], node), node)
    open_: ir.Expr = ir.Logical(span, BOOL, "and", equal, rest)
    if isinstance(rest, ir.Const):
        open_ = equal if rest.value else rest
    if isinstance(open_, ir.Const) and not open_.value:
        return boolean(decided)
    if all(isinstance(e, ir.Const) for e in (decided, equal, rest)):
        return Constant(any(isinstance(e, ir.Const) and e.value for e in (decided, open_)))
    return Number(ir.Logical(span, BOOL, "or", decided, open_))
