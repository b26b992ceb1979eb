"""The ``else`` of loops: what runs if no ``break`` left the loop, as statements without it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Container


class _MarkedBreaks(ast.NodeTransformer):
    """Assigns ``name = False`` before each ``break`` of the loop itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found = False

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        self.found = True
        return [_assignment(self.name, False, node), node]

    def _inner(self, node: ast.For | ast.While) -> ast.AST:
        # The breaks of a loop's body are its own; those of its `else` belong to the loop around it.
        node.orelse = [new for old in node.orelse for new in self._statements(old)]
        return node

    def _statements(self, node: ast.stmt) -> list[ast.stmt]:
        new = self.visit(node)
        return new if isinstance(new, list) else [new]

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._inner(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._inner(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node


def _assignment(name: str, value: bool, where: ast.stmt) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), where)
    return ast.copy_location(ast.Assign([target], ast.copy_location(ast.Constant(value), where)), where)


def without_else(node: ast.For | ast.While, taken: Container[str]) -> tuple[list[ast.stmt], ast.If | None]:
    """The statements that replace a loop with ``else``: the loop, and a branch after it if breaks leave the loop.

    ``taken``: names that they must not use.
    """
    # Copies of an unrolled loop around it define the same functions.
    functions = {id(n): n for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.Lambda))}
    loop = copy.deepcopy(node, functions)
    orelse, loop.orelse = loop.orelse, []
    name = next(n for n in ("ended", *(f"ended_{k}" for k in range(2, 1000))) if n not in taken)
    marked = _MarkedBreaks(name)
    loop.body = [new for old in loop.body for new in marked._statements(old)]
    if not marked.found:
        return [loop, *orelse], None
    test = ast.copy_location(ast.Name(name, ast.Load()), orelse[0])
    after = ast.copy_location(ast.If(test, orelse, []), orelse[0])
    after.end_lineno, after.end_col_offset = orelse[-1].end_lineno, orelse[-1].end_col_offset
    return [_assignment(name, True, node), loop], after
