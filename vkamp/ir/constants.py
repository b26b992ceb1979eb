"""What operations on constants give: each result in its type, rounded as a device rounds it.

GLSL's compiler computes with constants in double precision and does not round between two operations, so that it must
not get any to compute.  The reference accelerator has a separate arithmetic, against which this one is tested.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import operation
from vkamp.ir.arithmetic import BINARY, COMPARISONS, folded, wrapped
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.types import BOOL, SCALARS, VECTOR_LETTERS, Scalar, Type, Vector, int_range

_Value = bool | int | float


def converted(value: _Value, kind: Scalar, given: Type | None = None) -> _Value | None:
    """A constant, of the type ``given``, in another type as C converts it; ``None`` where C does not define that."""
    if kind == BOOL:
        return bool(value)
    if kind.kind == "float":
        # From an integer in one step: by way of a float64 it would be rounded twice.
        exact = np.array(value, given.dtype if isinstance(given, Scalar) and given.is_integer else np.float64)
        with np.errstate(over="ignore"):
            return float(exact.astype(kind.dtype))
    if isinstance(value, float):
        low, high = int_range(kind)
        return int(value) if math.isfinite(value) and low <= int(value) <= high else None
    return int(wrapped(int(value), kind))


def folded_node(node: ir.Node) -> ir.Node:
    """A node whose operands are folded; for an operation on constants, the constant that is its result."""
    if not isinstance(node, ir.Expr):
        return node
    if isinstance(node, ir.Logical) and isinstance(node.left, ir.Const):
        # The right side is evaluated only where the left one does not decide.
        return node.right if bool(node.left.value) == (node.op == "and") else node.left
    if isinstance(node, ir.Select) and isinstance(node.condition, ir.Const):
        return node.then if node.condition.value else node.orelse
    if isinstance(node, ir.Swizzle):
        found = _components(node.operand)
        return node if found is None else _made(node, [found[VECTOR_LETTERS.index(c)] for c in node.letters])
    if isinstance(node, (ir.Unary, ir.Binary, ir.Cast, ir.Compare, ir.Builtin)):
        operands = [_components(child) for child in ir.children(node) if isinstance(child, ir.Expr)]
        if operands and None not in operands:
            node = _of_constants(node, operands)  # type: ignore[arg-type]
    # Of integers, an operand that changes nothing is left out, too.
    return operation(node.span, node.type, node.op, node.left, node.right) if isinstance(node, ir.Binary) else node


def _of_constants(node: ir.Expr, operands: list[list[ir.Const]]) -> ir.Expr:
    """The result of an operation on the components of its operands; the node itself where it has none."""
    count = len(operands[0])
    if isinstance(node, ir.Compare) and count > 1:
        same = all(COMPARISONS["eq"].apply(a.value, b.value) for a, b in zip(*operands, strict=True))
        return ir.Const(node.span, BOOL, same == (node.op == "eq"))
    kind = node.type.element if isinstance(node.type, Vector) else node.type
    if not isinstance(kind, Scalar) or any(len(o) != count for o in operands):
        return node
    results: list[ir.Const] = []
    for part in zip(*operands, strict=True):
        value = _result(node, kind, part)
        if value is None:
            return node
        results.append(ir.Const(node.span, kind, value))
    return _made(node, results)


def _made(node: ir.Expr, parts: list[ir.Const]) -> ir.Expr:
    return ir.Construct(node.span, node.type, tuple(parts)) if isinstance(node.type, Vector) else parts[0]


def _components(expr: ir.Expr) -> list[ir.Const] | None:
    """The constants that a constant consists of, one of a scalar; ``None`` if it is none."""
    if isinstance(expr, ir.Const):
        return [expr]
    if isinstance(expr, ir.Construct) and isinstance(expr.type, Vector):
        parts = [part for part in expr.parts if isinstance(part, ir.Const)]
        if len(parts) == len(expr.parts):
            return parts * expr.type.count if len(parts) == 1 else parts
    return None


def _result(node: ir.Expr, kind: Scalar, operands: tuple[ir.Const, ...]) -> _Value | None:
    """The result of an operation on scalars, in the type ``kind``; ``None`` where no device defines it."""
    given = operands[0].type
    assert isinstance(given, Scalar)
    if isinstance(node, ir.Binary) and kind.is_integer:
        return folded(node.op, int(operands[0].value), int(operands[1].value), kind)
    if "float" in (given.kind, kind.kind) and not {given.name, kind.name} <= SCALARS.keys():
        # A float that only memory has.
        return None
    if isinstance(node, ir.Cast):
        return converted(operands[0].value, kind, given)
    values = [_typed(each) for each in operands]
    with np.errstate(all="ignore"):
        if isinstance(node, ir.Builtin):
            try:
                return _in_type(BUILTINS[node.name].reference_for(given.name)(*values), kind)
            except (ValueError, OverflowError):
                # A NaN that the function takes as a whole number.
                return None
        if isinstance(node, ir.Unary):
            return _unary(node.op, values[0], kind)
        assert isinstance(node, (ir.Binary, ir.Compare))
        table = BINARY if isinstance(node, ir.Binary) else COMPARISONS
        return _in_type(table[node.op].apply(*values), kind)


def _typed(constant: ir.Const) -> Any:
    """The value as numpy computes with floats, and Python with integers."""
    kind = constant.type
    assert isinstance(kind, Scalar)
    return kind.dtype.type(constant.value) if kind.kind == "float" else constant.value


def _unary(op: str, value: Any, kind: Scalar) -> _Value | None:
    if op == "not" or kind == BOOL:
        return not value
    return _in_type((operator.neg if op == "neg" else operator.invert)(value), kind)


def _in_type(value: Any, kind: Scalar) -> _Value | None:
    """A result as a constant of a type; ``None`` for a float that is not an integer."""
    if kind == BOOL:
        return bool(value)
    if kind.is_integer and not np.isfinite(value):
        return None
    return np.asarray(value).astype(kind.dtype).item() if kind.kind == "float" else int(wrapped(int(value), kind))
