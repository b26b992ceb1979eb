"""Finds the assignments that each use of a name may see, from the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from vkamp.front.scopes import COMPREHENSIONS, nodes_in, own_nodes

#: For each name, the assignments that may have given its value, by their places.
_Env: TypeAlias = dict[str, frozenset[tuple[int, int]]]

_NONE = frozenset({(0, 0)})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *COMPREHENSIONS)


def with_one_binding(body: list[ast.stmt]) -> frozenset[str]:
    """The names of which each use sees one assignment only, whichever way control took.

    Such a name could have another name from each of its assignments on.
    """
    uses = _ReachingUses()
    uses.block(body, {})
    return frozenset(uses.stored - uses.several)


def _join(*envs: _Env) -> _Env:
    names = {name for env in envs for name in env}
    return {name: frozenset().union(*(env.get(name, _NONE) for env in envs)) for name in names}


def _stores(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    for node in nodes:
        for item in own_nodes(node):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                yield item


class _ReachingUses:
    """The names that are assigned, and those of which a use may see several assignments or none."""

    def __init__(self) -> None:
        self.stored: set[str] = set()
        self.several: set[str] = set()

    def block(self, body: list[ast.stmt], env: _Env) -> _Env:
        for statement in body:
            env = self.statement(statement, env)
        return env

    def statement(self, node: ast.stmt, env: _Env) -> _Env:
        if isinstance(node, ast.If):
            env = self.plain(node.test, env)
            return _join(self.block(node.body, env), self.block(node.orelse, env))
        if isinstance(node, (ast.For, ast.While)):
            return self.loop(node, env)
        if isinstance(node, ast.With):
            return self.block(node.body, env)
        if isinstance(node, (ast.Match, ast.Try, ast.FunctionDef)):
            # What these bind and read is not followed.
            self.several |= {n.id for n in nodes_in(node) if isinstance(n, ast.Name)}
            return env
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.use(node.target.id, env)
        return self.plain(node, env)

    def loop(self, node: ast.For | ast.While, env: _Env) -> _Env:
        """A loop: any assignment in it may be the last one before an iteration and before its end."""
        env = self.plain(node.iter, env) if isinstance(node, ast.For) else env
        inside: _Env = {}
        for name in _stores([node]):
            inside[name.id] = inside.get(name.id, frozenset()) | {(name.lineno, name.col_offset)}
        around = {name: env.get(name, _NONE) | inside.get(name, frozenset()) for name in {*env, *inside}}
        self.block(node.body, self.plain(node.target if isinstance(node, ast.For) else node.test, around))
        return self.block(node.orelse, around)

    def plain(self, node: ast.AST, env: _Env) -> _Env:
        """A statement or expression without statements in it: its uses, then what it assigns."""
        for item in own_nodes(node):
            if isinstance(item, _FUNCTIONS):
                self.several |= {n.id for n in nodes_in(item) if isinstance(n, ast.Name)}
            elif isinstance(item, ast.NamedExpr):
                self.several.add(item.target.id)
            elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
                self.use(item.id, env)
        stored = list(_stores([node]))
        self.stored |= {name.id for name in stored}
        return {**env, **{name.id: frozenset({(name.lineno, name.col_offset)}) for name in stored}}

    def use(self, name: str, env: _Env) -> None:
        if len(env.get(name, _NONE)) > 1 or env.get(name, _NONE) == _NONE:
            self.several.add(name)
