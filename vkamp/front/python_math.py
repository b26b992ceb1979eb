"""Calls of those functions of ``math`` that are not rows of the table of builtins."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from vkamp.front import convert
from vkamp.front.arity import check_arity, no_keywords
from vkamp.front.context import Context
from vkamp.front.functions import call_function
from vkamp.front.sequences import sequence_of
from vkamp.front.table import apply_row
from vkamp.front.values import Constant, Number, Value
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.types import BOOL, FLOAT32, FLOAT64, INT32, SCALARS, Scalar
from vkamp.lang import python_math
from vkamp.lang.kernel import DeviceFunction

#: Coordinates of a point.
_MAX_COORDINATES = 64


def _numbers(ctx: Context, node: ast.Call) -> list[Constant | Number]:
    values = ctx.operands(*node.args)
    return [convert.number(ctx, value, part) for value, part in zip(values, node.args, strict=True)]


def _refuse_type(ctx: Context, node: ast.Call, accepts: str, given: Scalar) -> NoReturn:
    example = f"amp.{'int32' if accepts == 'integers' else 'float32'}({ctx.text(node.args[0])})"
    ctx.fail("VKA315", node, name=ctx.text(node.func), accepts=accepts, given=given, advice=example)


def _applied(ctx: Context, function: DeviceFunction[..., Any], node: ast.Call, *values: ir.Expr) -> ir.Expr:
    """A function of the language for numbers that are evaluated already, and the keywords of the call."""
    call = ast.copy_location(ast.Call(node.func, [], node.keywords), node)
    result = call_function(ctx, function, call, None, tuple((Number(v), node) for v in values))
    return convert.natural(ctx, convert.number(ctx, result, node), node)


def _of_divisors(
    function: DeviceFunction[..., Any], target: Callable[..., int]
) -> Callable[[Context, ast.Call], Value]:
    """``math.gcd`` and ``math.lcm``: of the absolute values, which unsigned integers hold."""

    def handle(ctx: Context, node: ast.Call) -> Value:
        no_keywords(ctx, node)
        numbers, span = _numbers(ctx, node), ctx.span(node)
        kind = INT32
        for number in numbers:
            given = convert.scalar_type(number)
            if given.kind == "float":
                _refuse_type(ctx, node, "integers", given)
            kind = convert.common(Number(ir.Const(span, kind, 0), weak=True), number) if given != BOOL else kind
        constants = [n for n in numbers if isinstance(n, Constant)]
        if len(constants) == len(numbers):
            return Constant(target(*(int(n.value) for n in constants)))
        unsigned = SCALARS[f"uint{kind.bits}"]
        parts = [convert.convert(ctx, n, kind, part) for n, part in zip(numbers, node.args, strict=True)]
        if kind.kind == "int":
            parts = [convert.cast(ir.Builtin(span, kind, "abs", (part,)), unsigned, span) for part in parts]
        result = parts[0]
        for part in parts[1:]:
            result = _applied(ctx, function, node, result, part)
        return Number(convert.cast(result, kind, span))

    return handle


def _isclose(ctx: Context, node: ast.Call) -> Value:
    """``math.isclose`` of floats, in their type."""
    if len(node.args) != 2:
        s, are = "s", "is" if len(node.args) == 1 else "are"
        help_text = "write `math.isclose(x, y, rel_tol=1e-5)`"
        ctx.fail("VKA207", node, name=ctx.text(node.func), expected=2, given=len(node.args), s=s, are=are,
                 advice=help_text)  # fmt: skip
    a, b = _numbers(ctx, node)
    kind = convert.common(a, b)
    if kind.kind != "float":
        _refuse_type(ctx, node, "floats", kind)
    x, y = (convert.convert(ctx, n, kind, part) for n, part in zip((a, b), node.args, strict=True))
    return Number(_applied(ctx, python_math.isclose, node, x, y))


def _length(ctx: Context, parts: list[Value], node: ast.Call) -> Value:
    """The length of a vector."""
    if not parts:
        return Constant(0.0)
    if len(parts) == 1:
        found = convert.number(ctx, parts[0], node)
        kind = FLOAT64 if convert.scalar_type(found) == FLOAT64 else FLOAT32
        return apply_row(ctx, BUILTINS["abs"], [Number(convert.convert(ctx, found, kind, node))], [node], node)
    row = next(row for row in BUILTINS.values() if "math.hypot" in row.python)
    total = parts[0]
    for part in parts[1:]:
        total = apply_row(ctx, row, [total, part], [node, node], node)
    return total


def _hypot(ctx: Context, node: ast.Call) -> Value:
    """``math.hypot`` of any number of coordinates."""
    no_keywords(ctx, node)
    numbers = _numbers(ctx, node)
    constants = [n for n in numbers if isinstance(n, Constant)]
    if len(constants) == len(numbers):
        return Constant(math.hypot(*(n.value for n in constants)))
    return _length(ctx, list(numbers), node)


def _dist(ctx: Context, node: ast.Call) -> Value:
    """``math.dist`` of two points, each a tuple, a vector or an array of a known length."""
    no_keywords(ctx, node)
    name, span = ctx.text(node.func), ctx.span(node)
    check_arity(ctx, node, 2, name, f"{name}(p, q)")
    points = [sequence_of(ctx, part) for part in node.args]
    for point, part in zip(points, node.args, strict=True):
        if point.count is None or point.count > _MAX_COORDINATES:
            ctx.fail("VKA124", part, text=ctx.text(part), limit=_MAX_COORDINATES)
    first, second = points
    if first.count != second.count:
        help_text = "give both points as many coordinates"
        ctx.fail("VKA101", node, what=f"`{name}` of {first.count} and {second.count} coordinates", advice=help_text)
    differences: list[Value] = []
    for k in range(first.count or 0):
        a, b = (convert.number(ctx, point.item(Constant(k)), node) for point in points)
        kind = convert.common(a, b)
        kind = kind if kind.kind == "float" else FLOAT32
        x, y = convert.convert(ctx, a, kind, node), convert.convert(ctx, b, kind, node)
        differences.append(Number(ir.Binary(span, kind, "sub", x, y)))
    return _length(ctx, differences, node)


def _of_angle(target: Callable[[float], float]) -> Callable[[Context, ast.Call], Value]:
    """``math.radians`` or ``math.degrees``: a product with a constant."""

    def handle(ctx: Context, node: ast.Call) -> Value:
        no_keywords(ctx, node)
        check_arity(ctx, node, 1, ctx.text(node.func), f"{ctx.text(node.func)}(x)")
        (angle,) = _numbers(ctx, node)
        if isinstance(angle, Constant):
            return Constant(target(angle.value))
        span = ctx.span(node)
        kind = FLOAT64 if convert.scalar_type(angle) == FLOAT64 else FLOAT32
        factor = ir.Const(span, kind, target(1.0))
        return Number(ir.Binary(span, kind, "mul", convert.convert(ctx, angle, kind, node.args[0]), factor))

    return handle


#: By the function's identity.
MATH: dict[int, Callable[[Context, ast.Call], Value]] = {
    id(math.radians): _of_angle(math.radians),
    id(math.degrees): _of_angle(math.degrees),
    id(np.radians): _of_angle(math.radians),
    id(np.deg2rad): _of_angle(math.radians),
    id(np.degrees): _of_angle(math.degrees),
    id(np.rad2deg): _of_angle(math.degrees),
    id(math.gcd): _of_divisors(python_math.gcd, math.gcd),
    id(math.lcm): _of_divisors(python_math.lcm, math.lcm),
    id(np.gcd): _of_divisors(python_math.gcd, math.gcd),
    id(np.lcm): _of_divisors(python_math.lcm, math.lcm),
    id(math.isclose): _isclose,
    id(math.hypot): _hypot,
    id(math.dist): _dist,
}
