"""Python syntax trees that are made from templates and have positions in the kernel's source."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any, cast

from vkamp.errors import Span


@lru_cache(maxsize=512)
def _template(text: str) -> ast.expr:
    return ast.parse(f"({text})", mode="eval").body


def quote(text: str, **parts: ast.expr | int | str) -> ast.expr:
    """An expression from a template; its upper-case names are replaced by trees, integers, names."""
    trees = {name: _part(part) for name, part in parts.items()}
    return cast(ast.expr, _fill(_template(text), trees))


def _part(part: ast.expr | int | str) -> ast.expr:
    if isinstance(part, str):
        return ast.Name(part, ast.Load())
    if isinstance(part, int):
        return ast.Constant(part)
    return part


def _fill(node: ast.AST, parts: dict[str, ast.expr]) -> ast.AST:
    if isinstance(node, ast.Name) and node.id in parts:
        part = parts[node.id]
        # A name that is assigned (the target of `:=`) keeps its context.
        return ast.Name(part.id, node.ctx) if isinstance(part, ast.Name) else part
    made: dict[str, Any] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            value = _fill(value, parts)
        elif isinstance(value, list):
            value = [_fill(v, parts) if isinstance(v, ast.AST) else v for v in value]
        made[name] = value
    return type(node)(**made)


def place_at(tree: ast.AST, span: Span) -> None:
    """Gives a tree the source position of an IR node, where it has none yet."""
    if hasattr(tree, "lineno") or not isinstance(tree, (ast.expr, ast.stmt, ast.arguments, ast.arg)):
        return
    if not isinstance(tree, ast.arguments):
        tree.lineno = max(span.line, 1)
        tree.col_offset = max(span.column, 0)
        tree.end_lineno = max(span.end_line, tree.lineno)
        tree.end_col_offset = max(span.end_column, tree.col_offset)
    for child in ast.iter_child_nodes(tree):
        place_at(child, span)


def name_of(text: str) -> ast.expr:
    return ast.Name(text, ast.Load())


def sum_of(terms: list[ast.expr], constant: int) -> ast.expr:
    total: ast.expr | None = None
    for term in terms:
        total = term if total is None else ast.BinOp(total, ast.Add(), term)
    if total is None:
        return ast.Constant(constant)
    return ast.BinOp(total, ast.Add(), ast.Constant(constant)) if constant else total


def definition(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """A function, for all versions of Python."""
    fields: dict[str, Any] = {"name": name, "args": arguments, "body": body, "decorator_list": []}
    if "type_params" in ast.FunctionDef._fields:
        fields["type_params"] = []
    return ast.FunctionDef(**fields)
