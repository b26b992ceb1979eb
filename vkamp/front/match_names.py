"""``match`` whose patterns bind names or match a tuple, as statements that every analysis of names knows.

The subject is evaluated once, into variables for the items of a tuple. Each case is an ``if``, in which ``:=`` binds
the names of a case with a guard.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import TypeAlias

from vkamp.front.scopes import nodes_in

#: A subject: an expression without effects, or the items of a tuple.
_Item: TypeAlias = "ast.expr | list[_Item]"


def with_branches(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with branches for such statements; it changes ``function``."""
    if any(isinstance(node, ast.Match) for node in nodes_in(function)):
        _Rewriter(function).visit(function)
    return function


def unsupported(node: ast.Match) -> ast.pattern | None:
    """The first pattern that no branch can be made of."""
    item: _Item = _shape(node.subject)
    return next((found for case in node.cases for found in _unsupported(case.pattern, item)), None)


def _shape(subject: ast.expr) -> _Item:
    return [_shape(part) for part in subject.elts] if _is_tuple(subject) else subject  # type: ignore[attr-defined]


def _is_tuple(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in node.elts)


def _unsupported(pattern: ast.pattern, item: _Item) -> Iterator[ast.pattern]:
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            yield from _unsupported(pattern.pattern, item)
    elif isinstance(pattern, ast.MatchOr):
        for part in pattern.patterns:
            yield from [part] if any(_names(part)) else _unsupported(part, item)
    elif isinstance(pattern, ast.MatchSequence) and isinstance(item, list):
        if any(isinstance(part, ast.MatchStar) for part in pattern.patterns):
            yield pattern
        for part, inner in zip(pattern.patterns, item, strict=False):
            yield from _unsupported(part, inner)
    elif not isinstance(pattern, ast.MatchValue) or isinstance(item, list):
        yield pattern


def _names(pattern: ast.pattern) -> Iterator[str]:
    """The names that a pattern binds."""
    for node in ast.walk(pattern):
        name = getattr(node, "rest" if isinstance(node, ast.MatchMapping) else "name", None)
        if name is not None:
            yield name


class _Rewriter(ast.NodeTransformer):
    def __init__(self, function: ast.FunctionDef) -> None:
        names = (getattr(node, "id", getattr(node, "arg", None)) for node in ast.walk(function))
        self.taken = {name for name in names if isinstance(name, str)}

    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        bound = {name for case in node.cases for name in _names(case.pattern)}
        if (not bound and not _is_tuple(node.subject)) or unsupported(node) is not None:
            return node
        guards = (part for case in node.cases if case.guard is not None for part in ast.walk(case.guard))
        bound |= {part.target.id for part in guards if isinstance(part, ast.NamedExpr)}
        before: list[ast.stmt] = []
        item = self._kept(node.subject, bound, before)
        return [*before, *_chain(node, item)]

    def _kept(self, node: ast.expr, bound: Set[str], before: list[ast.stmt]) -> _Item:
        """The subject as it is before the first case."""
        if _is_tuple(node):
            return [self._kept(part, bound, before) for part in node.elts]  # type: ignore[attr-defined]
        if isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id not in bound):
            return node
        numbered = (f"subject_{number}" for number in range(2, 10_000))
        name = next(name for name in ("subject", *numbered) if name not in self.taken)
        self.taken.add(name)
        before.append(_assignment(name, node, node))
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def _chain(node: ast.Match, item: _Item) -> list[ast.stmt]:
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        tests: list[ast.expr] = []
        names: dict[str, ast.expr] = {}
        if not _collect(case.pattern, item, tests, names):
            continue
        body = case.body
        if case.guard is None:
            body = [*(_assignment(name, value, case.pattern) for name, value in names.items()), *body]
        else:
            tests += [_binding(name, value, case.pattern) for name, value in names.items()]
            tests.append(case.guard)
        where = case.pattern
        true = ast.copy_location(ast.Constant(True), where)
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests) if tests else true
        branch = ast.copy_location(ast.If(ast.copy_location(test, where), body, chain), where)
        branch.end_lineno, branch.end_col_offset = case.body[-1].end_lineno, case.body[-1].end_col_offset
        chain = [branch]
    return chain


def _collect(pattern: ast.pattern, item: _Item, tests: list[ast.expr], names: dict[str, ast.expr]) -> bool:
    """Adds the conditions and names of a pattern; False if it matches nothing."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None and not _collect(pattern.pattern, item, tests, names):
            return False
        if pattern.name is not None:
            names[pattern.name] = _value(item, pattern)
        return True
    if isinstance(pattern, ast.MatchSequence):
        if not isinstance(item, list) or len(pattern.patterns) != len(item):
            return False
        parts = zip(pattern.patterns, item, strict=True)
        return all(_collect(part, inner, tests, names) for part, inner in parts)
    if isinstance(pattern, ast.MatchOr):
        sides: list[ast.expr] = []
        for part in pattern.patterns:
            side: list[ast.expr] = []
            if _collect(part, item, side, names):
                true = ast.copy_location(ast.Constant(True), part)
                sides.append(side[0] if len(side) == 1 else ast.BoolOp(ast.And(), side) if side else true)
                ast.copy_location(sides[-1], part)
        if sides:
            tests.append(ast.copy_location(ast.BoolOp(ast.Or(), sides), pattern) if len(sides) > 1 else sides[0])
        return bool(sides)
    assert isinstance(pattern, ast.MatchValue)
    compare = ast.Compare(_value(item, pattern), [ast.Eq()], [pattern.value])
    tests.append(ast.copy_location(compare, pattern))
    return True


def _value(item: _Item, where: ast.AST) -> ast.expr:
    """The expression of an item."""
    if isinstance(item, list):
        return ast.copy_location(ast.Tuple([_value(part, where) for part in item], ast.Load()), where)
    copy: ast.expr = ast.Name(item.id, ast.Load()) if isinstance(item, ast.Name) else ast.Constant(item.value)  # type: ignore[attr-defined]
    return ast.copy_location(copy, where)


def _assignment(name: str, value: ast.expr, where: ast.AST) -> ast.Assign:
    target = ast.copy_location(ast.Name(name, ast.Store()), where)
    return ast.copy_location(ast.Assign([target], value), where)


def _binding(name: str, value: ast.expr, where: ast.AST) -> ast.expr:
    """``(name := value, True)[1]``: binds a name, and is true."""
    target = ast.copy_location(ast.Name(name, ast.Store()), where)
    walrus = ast.copy_location(ast.NamedExpr(target, value), where)
    parts = ast.Tuple([walrus, ast.copy_location(ast.Constant(True), where)], ast.Load())
    one = ast.copy_location(ast.Constant(1), where)
    return ast.copy_location(ast.Subscript(ast.copy_location(parts, where), one, ast.Load()), where)
