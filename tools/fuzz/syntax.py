"""Walks over Python's syntax trees."""

from __future__ import annotations

import ast

__all__ = ["children", "nodes_of"]

#: Fields that hold no operands and no statements.
_OTHERS = {"ctx", "op", "ops", "id", "attr", "arg", "name", "kind", "type_comment"}
#: The other fields of each class of syntax.
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """As ``ast.iter_child_nodes`` in less time, without operators and contexts."""
    found: list[ast.AST] = []
    names = _FIELDS.get(type(node))
    if names is None:
        names = _FIELDS[type(node)] = tuple(name for name in node._fields if name not in _OTHERS)
    for name in names:
        value = getattr(node, name)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def nodes_of(root: ast.AST) -> list[ast.AST]:
    """A node and everything under it, parents first."""
    found = [root]
    for node in found:
        found += children(node)
    return found
