"""Calls of Python's module ``operator`` and of numpy's functions for operators: as the operators themselves."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.front import convert
from vkamp.front.arity import check_arity, no_keywords
from vkamp.front.context import Context
from vkamp.front.functions import call_function
from vkamp.front.values import Constant, Number, Value
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL
from vkamp.lang import python_math
from vkamp.lang.kernel import DeviceFunction

_Handler = Callable[[Context, ast.Call], Value]

#: The operators, and the names that ``operator`` and numpy have for them.
_BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("add", "add"), ast.Sub: ("sub", "subtract"), ast.Mult: ("mul", "multiply"),
    ast.Div: ("truediv", "divide"), ast.FloorDiv: ("floordiv", "floor_divide"), ast.Mod: ("mod", "remainder"),
    ast.Pow: ("pow", "power"), ast.LShift: ("lshift", "left_shift"), ast.RShift: ("rshift", "right_shift"),
    ast.BitAnd: ("and_", "bitwise_and"), ast.BitOr: ("or_", "bitwise_or"), ast.BitXor: ("xor", "bitwise_xor"),
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("eq", "equal"), ast.NotEq: ("ne", "not_equal"), ast.Lt: ("lt", "less"), ast.LtE: ("le", "less_equal"),
    ast.Gt: ("gt", "greater"), ast.GtE: ("ge", "greater_equal"),
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], tuple[str, str]] = {
    ast.USub: ("neg", "negative"), ast.UAdd: ("pos", "positive"), ast.Invert: ("invert", "invert"),
    ast.Not: ("not_", "logical_not"),
}  # fmt: skip
_LOGICAL: dict[str, Any] = {"logical_and": "and", "logical_or": "or"}


def _written(count: int, make: Callable[..., ast.expr]) -> _Handler:
    """A call that is short for an expression of its arguments."""

    def handle(ctx: Context, node: ast.Call) -> Value:
        no_keywords(ctx, node)
        name = ctx.text(node.func)
        check_arity(ctx, node, count, name, f"{name}({', '.join('xy'[:count])})")
        return ctx.expr(ast.copy_location(make(*node.args), node))

    return handle


def _applied(function: DeviceFunction[..., Any], count: int) -> _Handler:
    """A call of a function that is written in the kernel language."""

    def handle(ctx: Context, node: ast.Call) -> Value:
        no_keywords(ctx, node)
        name = ctx.text(node.func)
        check_arity(ctx, node, count, name, f"{name}({', '.join('xy'[:count])})")
        return call_function(ctx, function, node)

    return handle


def _logical(name: str) -> _Handler:
    """numpy's logical functions, which evaluate both arguments."""

    def handle(ctx: Context, node: ast.Call) -> Value:
        no_keywords(ctx, node)
        text = ctx.text(node.func)
        check_arity(ctx, node, 2, text, f"{text}(x, y)")
        values, span = ctx.operands(*node.args), ctx.span(node)
        a, b = (convert.condition(ctx, v, n) for v, n in zip(values, node.args, strict=True))
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            return Constant(bool(getattr(np, name)(a.value, b.value)))
        if name == "logical_xor":
            return Number(ir.Compare(span, BOOL, "ne", a, b))
        return Number(ir.Logical(span, BOOL, _LOGICAL[name], a, b))

    return handle


def _handlers() -> dict[int, _Handler]:
    table: dict[int, _Handler] = {}

    def add(names: tuple[str, str], handler: _Handler) -> None:
        table[id(getattr(operator, names[0]))] = handler
        table[id(getattr(np, names[1]))] = handler

    for op, names in _BINARY.items():
        add(names, _written(2, lambda x, y, op=op: ast.BinOp(x, op(), y)))
    table[id(operator.matmul)] = _written(2, lambda x, y: ast.BinOp(x, ast.MatMult(), y))
    for comparison, names in _COMPARISONS.items():
        add(names, _written(2, lambda x, y, op=comparison: ast.Compare(x, [op()], [y])))
    for unary, names in _UNARY.items():
        add(names, _written(1, lambda x, op=unary: ast.UnaryOp(op(), x)))
    for name in (*_LOGICAL, "logical_xor"):
        table[id(getattr(np, name))] = _logical(name)
    table[id(np.square)] = _applied(python_math.square, 1)
    return table


#: By the function's identity.
OPERATORS = _handlers()
