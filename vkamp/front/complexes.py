"""Complex numbers in the kernel language: literals, operators, functions.

A complex number is a short vector of its parts.  Its products, quotients and functions are functions of the language
(:mod:`vkamp.lang.complex_math`); the mixed arithmetic with real numbers follows numpy, with Python's numbers weak.
"""

from __future__ import annotations

import ast
import cmath
from typing import Any

import numpy as np

from vkamp.front import convert, vectors
from vkamp.front.context import Context
from vkamp.front.functions import call_function
from vkamp.front.values import ComplexConstant, Constant, Number, Value
from vkamp.ir import nodes as ir
from vkamp.ir.rows import BuiltinRow
from vkamp.ir.types import Complex
from vkamp.lang import complex_math

#: By the names of the rows of real functions, without ``precise_``.
_FUNCTIONS: dict[str, Any] = {
    name: getattr(complex_math, f"complex_{name}") for name in ("abs", "exp", "log", "sqrt", "sin", "cos", "pow")
}

#: Functions of other libraries, by identity; conjugates are not calls.
_LIBRARY: dict[int, Any] = {
    **{id(getattr(cmath, name)): _FUNCTIONS[name] for name in ("exp", "log", "sqrt", "sin", "cos")},
    id(cmath.phase): complex_math.complex_phase,
    id(np.angle): complex_math.complex_phase,
    id(np.conjugate): None,
}

_MAX_POWER = 16


def binary(
    ctx: Context, op: ast.operator, left: Value, right: Value, node: ast.AST, nodes: tuple[ast.expr, ast.expr]
) -> Value | None:
    """``left op right`` of complex numbers and of short vectors; ``None``: of neither."""
    pair = vectors.complex_pair(ctx, left, right, nodes)
    known = all(isinstance(value, (ComplexConstant, Constant)) for value in (left, right))
    if pair is None or not isinstance(op, (ast.Mult, ast.Div, ast.Pow)) or known:
        return vectors.binary(ctx, op, left, right, node, nodes)
    x, y = pair
    span, kind = ctx.span(node), x.type
    assert isinstance(kind, Complex)
    if isinstance(op, ast.Pow):
        return _power(ctx, x, y, right, node, nodes)
    of_real = [convert.vector(ctx, value, part) is None for value, part in zip((left, right), nodes, strict=True)]
    name: Any = "mul" if isinstance(op, ast.Mult) else "div"
    if of_real[1] or (of_real[0] and name == "mul"):
        x, y = (_repeated(e) if real else e for e, real in zip((x, y), of_real, strict=True))
        return Number(ir.Binary(span, kind, name, x, y))
    return _call(ctx, getattr(complex_math, f"complex_{name}"), [x, y], nodes, node)


def _repeated(expr: ir.Expr) -> ir.Expr:
    """A real number, which is the first part of ``expr``, as both parts of a factor."""
    assert isinstance(expr, ir.Construct)
    return ir.Construct(expr.span, expr.type, expr.parts[:1])


def _power(
    ctx: Context, base: ir.Expr, exponent: ir.Expr, right: Value, node: ast.AST, nodes: tuple[ast.expr, ast.expr]
) -> Value:
    """A small whole constant exponent multiplies."""
    if not isinstance(right, Constant) or not isinstance(right.value, int) or not 1 <= right.value <= _MAX_POWER:
        return _call(ctx, complex_math.complex_pow, [base, exponent], nodes, node)
    base = ctx.stable(base, "base")
    result: Value = Number(base)
    for _ in range(right.value - 1):
        assert isinstance(result, Number)
        result = _call(ctx, complex_math.complex_mul, [result.expr, base], (nodes[0], nodes[0]), node)
    return result


def _call(ctx: Context, function: Any, args: list[ir.Expr], nodes: Any, node: ast.AST) -> Value:
    call = ast.copy_location(ast.Call(nodes[0], [], []), node)
    return call_function(ctx, function, call, None, tuple((Number(e), n) for e, n in zip(args, nodes, strict=True)))


def function(ctx: Context, row: BuiltinRow, values: list[Value], node: ast.Call) -> Value | None:
    """The complex form of a function of real numbers; ``None`` if no argument is complex, or the function has no
    complex form.
    """
    known = _FUNCTIONS.get(row.name.removeprefix("precise_"))
    if known is None:
        return None
    if len(values) == 2:
        first, second = node.args
        return binary(ctx, ast.Pow(), values[0], values[1], node, (first, second))
    vector = convert.vector(ctx, values[0], node.args[0])
    if vector is None or not isinstance(vector.type, Complex):
        return None
    return _call(ctx, known, [vector], node.args, node)


def of_library(ctx: Context, target: Any, node: ast.Call) -> Value | None:
    """A call of ``cmath`` or ``numpy`` that has no real form here; ``None`` for other functions."""
    if id(target) not in _LIBRARY or len(node.args) != 1:
        return None
    (value,) = ctx.operands(*node.args)
    number = vectors.as_complex(ctx, value, vectors.complex_type(ctx, [value], node.args), node.args[0])
    if _LIBRARY[id(target)] is None:
        return conjugate(ctx, Number(number), node)
    return _call(ctx, _LIBRARY[id(target)], [number], node.args, node)


def conjugate(ctx: Context, value: Value, node: ast.Call) -> Value:
    """``z.conjugate()``, ``z.conj()``."""
    span = ctx.span(node)
    expr = convert.vector(ctx, value, node.func)
    assert expr is not None and isinstance(expr.type, Complex)
    kind = expr.type
    sign = tuple(ir.Const(span, kind.element, s) for s in (1.0, -1.0))
    return Number(ir.Binary(span, kind, "mul", expr, ir.Construct(span, kind, sign)))
