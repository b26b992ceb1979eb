"""Names that ``:=`` certainly assigns in a condition, by its result."""

from __future__ import annotations

import ast
from functools import lru_cache

from vkamp.front.context import Context


def assigned_after(ctx: Context, test: ast.expr, result: bool) -> set[str] | None:
    """What is assigned where a condition was evaluated, with this result; ``None`` where control never comes."""
    return None if ctx.assigned is None else ctx.assigned | assigned_by(test, result=result)


# Conditions are lowered for each kind of call of their functions.
@lru_cache(maxsize=4096)
def assigned_by(node: ast.expr, *, result: bool | None = None) -> frozenset[str]:
    """The names that are certainly assigned once an expression was evaluated, with this result if it is known."""
    if isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
        return assigned_by(node.value, result=result) | {node.target.id}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return assigned_by(node.operand, result=None if result is None else not result)
    if isinstance(node, ast.BoolOp):
        # All operands of `and` were evaluated, and are true, if it is true; of `or`, if it is false.
        whole = isinstance(node.op, ast.And)
        if result is not whole:
            return assigned_by(node.values[0])
        return _all(node.values, result)
    if isinstance(node, ast.IfExp):
        sides = assigned_by(node.body, result=result) & assigned_by(node.orelse, result=result)
        return assigned_by(node.test) | sides
    if isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
        return frozenset()
    return _all([part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)], None)


def _all(parts: list[ast.expr], result: bool | None) -> frozenset[str]:
    return frozenset().union(*(assigned_by(part, result=result) for part in parts))
