"""Which function a name belongs to: Python's scopes, for nested functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Comprehension: TypeAlias = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp
COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


def parameters(node: FunctionNode) -> list[ast.arg]:
    """All parameters, in the order of their definition."""
    args = node.args
    positional = [] if args.vararg is None else [args.vararg]
    named = [] if args.kwarg is None else [args.kwarg]
    return [*args.posonlyargs, *args.args, *positional, *args.kwonlyargs, *named]


def _body(node: FunctionNode) -> list[ast.stmt] | list[ast.expr]:
    return [node.body] if isinstance(node, ast.Lambda) else node.body


def _outside(node: FunctionNode) -> list[ast.expr]:
    """What a function's definition evaluates where it is defined: decorators and defaults."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return [*decorators, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]


#: Fields without nodes that an analysis looks for.
_LEAVES = frozenset(("arg", "attr", "ctx", "id", "kind", "op", "ops", "type_comment"))
#: The other fields of each class that has been met.
_fields: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly under a node, without contexts and operators; faster than ``ast.iter_child_nodes``."""
    found: list[ast.AST] = []
    names = _fields.get(type(node))
    if names is None:
        names = _fields[type(node)] = tuple(name for name in node._fields if name not in _LEAVES)
    for name in names:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def nodes_in(root: ast.AST) -> list[ast.AST]:
    """A node and everything under it, breadth first."""
    found = [root]
    for node in found:
        found += children(node)
    return found


@lru_cache(maxsize=1024)
def all_nodes(node: ast.AST) -> tuple[ast.AST, ...]:
    """The node of a function and everything under it."""
    return tuple(nodes_in(node))


# Syntax trees are kept, and several analyses of each function ask for the nodes of each statement.
@lru_cache(maxsize=8192)
def own_nodes(root: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes under ``root``, breadth first, without the bodies of the functions in it."""
    found: list[ast.AST] = []
    level = [root]
    while level:
        below: list[ast.AST] = []
        found += level
        for node in level:
            if isinstance(node, COMPREHENSIONS):
                below.append(node.generators[0].iter)
            else:
                below.extend(_outside(node) if isinstance(node, _NESTED) else children(node))
        level = below
    return tuple(found)


def comprehension_names(node: _Comprehension) -> frozenset[str]:
    """The names that a comprehension binds, which are its own."""
    targets = [item for clause in node.generators for item in nodes_in(clause.target)]
    return frozenset(item.id for item in targets if isinstance(item, ast.Name))


def _inside(node: _Comprehension) -> Iterator[ast.AST]:
    """What a comprehension evaluates in its own scope: all but what its first clause iterates over."""
    results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    iters = [clause.iter for clause in node.generators[1:]]
    for part in (*results, *iters, *(test for clause in node.generators for test in clause.ifs)):
        yield from own_nodes(part)


def bound_names(node: FunctionNode) -> frozenset[str]:
    """The names that are a function's own: its parameters and what it assigns or defines."""
    bound = {a.arg for a in parameters(node)}
    for statement in _body(node):
        for item in own_nodes(statement):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                bound.add(item.id)
            elif isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bound.add(item.name)
    return frozenset(bound)


def free_names(node: FunctionNode) -> tuple[str, ...]:
    """The names that a function takes from around it, in the order of their first use."""
    return tuple(dict.fromkeys(n.id for n in name_nodes(node)))


def name_nodes(node: FunctionNode) -> Iterator[ast.Name]:
    """Every use of a name that a function takes from around it, also in functions nested in it."""
    bound = bound_names(node)
    for statement in _body(node):
        yield from _free(own_nodes(statement), bound)


def _free(nodes: Iterable[ast.AST], bound: frozenset[str]) -> Iterator[ast.Name]:
    """The names among some nodes, and in the scopes that begin there, that are not in ``bound``."""
    for item in nodes:
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load) and item.id not in bound:
            yield item
        elif isinstance(item, _NESTED):
            yield from (n for n in name_nodes(item) if n.id not in bound)
        elif isinstance(item, COMPREHENSIONS):
            yield from _free(_inside(item), bound | comprehension_names(item))


@lru_cache(maxsize=1024)
def assigned_once(node: ast.FunctionDef) -> frozenset[str]:
    """Names that one plain assignment binds and nothing else does."""
    counts = {arg.arg: 1 for arg in parameters(node)}
    plain: set[str] = set()
    for statement in node.body:
        for item in nodes_in(statement):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                counts[item.id] = counts.get(item.id, 0) + 1
            if isinstance(item, ast.Call) and len(item.args) > 1 and isinstance(item.args[1], ast.Name):
                # An atomic may write its second argument, the value that it expects.
                counts[item.args[1].id] = counts.get(item.args[1].id, 0) + _is_exchange(item.func)
            if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
                plain.add(item.targets[0].id)
    return frozenset(n for n in plain if counts[n] == 1)


@lru_cache(maxsize=1024)
def with_default(node: ast.FunctionDef) -> frozenset[str]:
    """Parameters that nothing but ``if name is None:`` at the top level assigns."""
    stores: dict[str, int] = {arg.arg: 0 for arg in parameters(node)}
    for item in (n for statement in node.body for n in own_nodes(statement)):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store) and item.id in stores:
            stores[item.id] += 1
    found: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.If) and (name := _none_name(statement.test)) in stores:
            own = (n for s in statement.body for n in own_nodes(s) if isinstance(n, ast.Name) and n.id == name)
            if sum(isinstance(n.ctx, ast.Store) for n in own) == stores[name]:
                found.add(name)
    return frozenset(found)


def _none_name(test: ast.expr) -> str:
    """The name in ``name is None``; empty for other conditions."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or not isinstance(test.ops[0], ast.Is):
        return ""
    other = test.comparators[0]
    return test.left.id if len(test.ops) == 1 and isinstance(other, ast.Constant) and other.value is None else ""


def _is_exchange(callee: ast.expr) -> bool:
    name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
    return name == "atomic_compare_exchange"
