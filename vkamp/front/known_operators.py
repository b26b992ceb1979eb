"""Reductions and scans over a subgroup by an operator that devices have a function for.

``amp.subgroup.reduce(x, op)`` of integers is lowered to ``amp.subgroup.add(x)`` if ``op`` adds, whatever its name.  The
results are the same: integers wrap, so that the order of the operations does not matter.
"""

from __future__ import annotations

import ast
from typing import Any

from vkamp.errors import CompileError, UnsupportedFeatureError
from vkamp.front import convert
from vkamp.front.context import Context, Slot
from vkamp.front.functions import call_function
from vkamp.front.subgroups import of_number
from vkamp.front.values import Constant, Element, Number, Value
from vkamp.ir import nodes as ir
from vkamp.ir.subgroups import SUBGROUPS
from vkamp.ir.types import Scalar
from vkamp.lang.kernel import DeviceFunction
from vkamp.lang.subgroup_functions import inclusive_scan, reduce

_PREFIXES: dict[DeviceFunction[..., Any], str] = {reduce: "", inclusive_scan: "inclusive_"}
#: The operations of the IR, and what the functions of subgroups call them.
_OPERATIONS = {
    "add": "add", "mul": "mul", "bitand": "bitwise_and", "bitor": "bitwise_or", "bitxor": "bitwise_xor",
    "min": "min", "max": "max",
}  # fmt: skip
#: Names of operands that no program has.
_OPERANDS = ("left operand", "right operand")


def combine(ctx: Context, function: DeviceFunction[..., Any], node: ast.Call) -> Value | None:
    """A reduction or scan with an operator; ``None`` for any other function."""
    prefix = _PREFIXES.get(function)
    if prefix is None or len(node.args) != 2 or ctx.module.tile is None or not _is_whole(ctx, node):
        return None
    x, op = ctx.operands(*node.args)
    kind = _integer(ctx, x, node.args[0])
    operation = None if kind is None else _operation(ctx, kind, node.args[1])
    if kind is None or operation is None:
        left = ast.copy_location(ast.Call(node.func, [], []), node)
        return call_function(ctx, function, left, operands=((x, node.args[0]), (op, node.args[1])))
    value = convert.convert(ctx, convert.number(ctx, x, node.args[0]), kind, node.args[0])
    return Number(of_number(ctx, SUBGROUPS[f"{prefix}{operation}"], value, ctx.span(node)))


def _is_whole(ctx: Context, node: ast.Call) -> bool:
    """Whether a call is for whole subgroups: without ``cluster=``, or with 0."""
    values = [ctx.expr(keyword.value) for keyword in node.keywords if keyword.arg == "cluster"]
    return len(values) == len(node.keywords) and all(isinstance(v, Constant) and v.value == 0 for v in values)


def _integer(ctx: Context, value: Value, node: ast.expr) -> Scalar | None:
    """The type of a value that is an integer."""
    if not isinstance(value, (Constant, Number, Element)) or ctx.vector_of(value) is not None:
        return None
    if isinstance(value, Element) and not isinstance(value.place.type, Scalar):
        return None
    kind = convert.scalar_type(convert.number(ctx, value, node))
    return kind if kind.is_integer else None


def _operation(ctx: Context, kind: Scalar, op: ast.expr) -> str | None:
    """The operation that an operator performs on two integers, found by a call that records it."""
    span = ctx.span(op)
    module, variables, taken, slots = ctx.module.state(), list(ctx.variables), set(ctx.taken), dict(ctx.slots)
    assigned = ctx.assigned
    places = [ir.Local(span, kind, ir.Variable(name, kind, "local", span)) for name in _OPERANDS]
    loads = [ir.Load(span, kind, place) for place in places]
    for name, load in zip(_OPERANDS, loads, strict=True):
        ctx.slots[name] = Slot(Number(load), span, "alias")
    ctx.assigned = None if assigned is None else assigned | {*_OPERANDS}
    call = ast.copy_location(ast.Call(op, [ast.copy_location(ast.Name(n, ast.Load()), op) for n in _OPERANDS], []), op)
    try:
        with ctx.nested() as block:
            found = ctx.expr(call)
        return _name_of(ctx, found, block, loads)
    except (CompileError, UnsupportedFeatureError):
        # The real call says why.
        return None
    finally:
        ctx.module.restore(module)
        ctx.variables[:], ctx.taken, ctx.slots, ctx.assigned = variables, taken, slots, assigned


def _name_of(ctx: Context, found: Value, block: list[ir.Stmt], operands: list[ir.Load]) -> str | None:
    if not isinstance(found, Number):
        return None
    if not block:
        return _of(found.expr, operands)
    (call, *others) = block
    if others or not isinstance(call, ir.Call) or call.args != tuple(operands):
        return None
    function = next(f for f in ctx.module.functions if f.name == call.function)
    (last, *_) = function.body[-1:] or (None,)
    if len(function.body) != 1 or not isinstance(last, ir.Return) or len(last.values) != 1:
        return None
    params = [ir.Load(p.span, p.type, ir.Local(p.span, p.type, p)) for p in function.params]
    return _of(last.values[0], params)


def _of(expr: ir.Expr, operands: list[ir.Load]) -> str | None:
    """The operation of an expression over two variables, each of which it takes once."""
    if isinstance(expr, ir.Binary):
        name, parts = expr.op, (expr.left, expr.right)
    elif isinstance(expr, ir.Builtin) and len(expr.args) == 2:
        name, parts = expr.name, (expr.args[0], expr.args[1])  # type: ignore[assignment]
    else:
        return None
    variables = [_variable(part) for part in parts]
    wanted = [_variable(operand) for operand in operands]
    alike = expr.type == operands[0].type and variables in (wanted, wanted[::-1])
    return _OPERATIONS.get(name) if alike else None


def _variable(expr: ir.Expr) -> ir.Variable | None:
    local = ir.read_local(expr)
    return None if local is None else local.variable
