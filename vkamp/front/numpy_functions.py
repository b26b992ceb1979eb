"""Calls of numpy's functions that are neither rows of the table of builtins nor operators."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.front import advice, convert
from vkamp.front.arity import check_arity, no_keywords
from vkamp.front.context import Context
from vkamp.front.expressions import choose_evaluated
from vkamp.front.functions import call_function
from vkamp.front.reductions import REDUCTIONS
from vkamp.front.table import apply_row
from vkamp.front.values import Constant, Memory, Value
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.types import Vector
from vkamp.lang import python_math
from vkamp.lang.kernel import DeviceFunction

_Handler = Callable[[Context, ast.Call], Value]


def _no_vectors(ctx: Context, values: list[Value], node: ast.Call, instead: str) -> None:
    """Refuses short vectors, of which numpy makes arrays; ``instead``, if there is one, computes each component."""
    for value, part in zip(values, node.args, strict=True):
        if isinstance(ctx.vector_of(value), Vector):
            call = f"{advice.language_alias(ctx)}.{instead}({', '.join(map(ctx.text, node.args))})"
            help_text = f"`{call}` computes each component" if instead else "take one component after the other"
            ctx.fail("VKA311", part, text=ctx.text(part), what=ctx.describe(value), advice=help_text)


def _takes(ctx: Context, node: ast.Call, *names: str) -> None:
    """Refuses keywords, and another number of arguments than that of the names."""
    no_keywords(ctx, node)
    text = ctx.text(node.func)
    check_arity(ctx, node, len(names), text, f"{text}({', '.join(names)})")


def _called(ctx: Context, function: DeviceFunction[..., Any], values: list[Value], node: ast.Call) -> Value:
    """A call of a function that is written in the kernel language, with arguments that are evaluated already."""
    call = ast.copy_location(ast.Call(node.func, [], node.keywords), node)
    return call_function(ctx, function, call, None, tuple(zip(values, node.args, strict=True)))


def _extreme(name: str, function: DeviceFunction[..., Any]) -> _Handler:
    """``np.minimum`` or ``np.maximum``: of integers a builtin, of floats a function that returns NaN for NaN."""

    def handle(ctx: Context, node: ast.Call) -> Value:
        _takes(ctx, node, "x", "y")
        values = ctx.operands(*node.args)
        _no_vectors(ctx, values, node, f"fast_math.f{name}")
        numbers = [convert.number(ctx, value, part) for value, part in zip(values, node.args, strict=True)]
        if all(convert.scalar_type(number).is_integer for number in numbers):
            return apply_row(ctx, BUILTINS[name], list(numbers), node.args, node)
        return _called(ctx, function, values, node)

    return handle


def _clip(ctx: Context, node: ast.Call) -> Value:
    """``np.clip(x, low, high)``: the bounds also by their names, and None."""
    values = ctx.operands(*node.args)
    _no_vectors(ctx, values, node, "direct3d.clamp")
    return _called(ctx, python_math.clip, values, node)


def _sign(ctx: Context, node: ast.Call) -> Value:
    """``np.sign(x)``, in the type of ``x``."""
    _takes(ctx, node, "x")
    values = ctx.operands(*node.args)
    _no_vectors(ctx, values, node, "")
    return _called(ctx, python_math.sign, values, node)


def _where(ctx: Context, node: ast.Call) -> Value:
    """``np.where(condition, x, y)`` of three values, which are all evaluated."""
    _takes(ctx, node, "condition", "x", "y")
    test, x, y = ctx.operands(*node.args)
    condition = convert.condition(ctx, test, node.args[0])
    return choose_evaluated(ctx, condition, x, y, ast.copy_location(ast.IfExp(*node.args), node))


def _round(ctx: Context, node: ast.Call) -> Value:
    """``np.round(x)`` to a whole number; halves go to the even one."""
    text = ctx.text(node.func)
    if len(node.args) == 2 or node.keywords:
        help_text = "scale the number: `np.round(x * 100) / 100`"
        ctx.fail("VKA101", node, what=f"`{text}` to decimals", advice=help_text)
    check_arity(ctx, node, 1, text, f"{text}(x)")
    (value,) = ctx.operands(*node.args)
    _no_vectors(ctx, [value], node, "precise_math.nearbyint")
    number = convert.number(ctx, value, node.args[0])
    if convert.scalar_type(number).kind != "float":
        return number
    if isinstance(number, Constant):
        return Constant(float(np.round(number.value)))
    return apply_row(ctx, BUILTINS["precise_nearbyint"], [number], node.args, node)


def _bit_count(ctx: Context, node: ast.Call) -> Value:
    """``np.bitwise_count(n)``: the method ``n.bit_count()``."""
    _takes(ctx, node, "n")
    method = ast.copy_location(ast.Attribute(node.args[0], "bit_count", ast.Load()), node)
    return ctx.expr(ast.copy_location(ast.Call(method, [], []), node))


def _of_sequence(function: Callable[..., Any]) -> _Handler:
    """``np.sum`` and others of one sequence: as Python's function."""

    def handle(ctx: Context, node: ast.Call) -> Value:
        text = ctx.text(node.func)
        if len(node.args) == 2 or node.keywords:
            what = f"`{text}` with other arguments than a sequence"
            ctx.fail("VKA101", node, what=what, advice="of a row, write `sum(a[i])`; along a column write a loop")
        check_arity(ctx, node, 1, text, f"{text}(x)")
        if isinstance(node.args[0], (ast.Name, ast.Attribute)):
            value = ctx.expr(node.args[0])
            if isinstance(value, Memory) and value.rank > 1:
                name = ctx.text(node.args[0])
                help_text = f"of a row, write `{text}({name}[i])`; of all elements write a loop over the rows"
                ctx.fail("VKA101", node, what=f"`{text}` of {value.rank} dimensions", advice=help_text)
        return REDUCTIONS[id(function)](ctx, node)

    return handle


def _handlers() -> dict[int, _Handler]:
    table: dict[int, _Handler] = {
        id(np.minimum): _extreme("min", python_math.minimum),
        id(np.maximum): _extreme("max", python_math.maximum),
        id(np.clip): _clip,
        id(np.sign): _sign,
        id(np.where): _where,
        id(np.round): _round,
        id(np.around): _round,
        id(np.sum): _of_sequence(sum),
        id(np.prod): _of_sequence(math.prod),
        id(np.any): _of_sequence(any),
        id(np.all): _of_sequence(all),
    }
    if hasattr(np, "bitwise_count"):  # numpy 1 lacks it.
        table[id(np.bitwise_count)] = _bit_count
    return table


#: By the function's identity.
NUMPY_FUNCTIONS = _handlers()
