"""What passes rewrite kernels with: new names, and copies with other nodes, variables or values."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TypeVar

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import mentioned, targets, uses

_Rewritten = TypeVar("_Rewritten", ir.Expr, ir.Stmt)


class Names:
    """Names that are not ``taken`` yet, such as those for new variables of a function."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    @classmethod
    def of(cls, function: ir.Function, taken: Iterable[str] = ()) -> Names:
        """Free names for variables of a function."""
        return cls([*(v.name for v in (*function.params, *function.variables)), *taken])

    def give(self, wanted: str) -> str:
        """An unused name: ``wanted``, or a similar one."""
        name, number = wanted, 1
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name

    def copy(self) -> Names:
        """The same names, to try some more."""
        return Names(self._taken)


def nowhere(span: Span) -> Span:
    """A location near ``span`` that is not a line of the program, for nodes that only a pass creates."""
    return dataclasses.replace(span, line=0, column=0, end_line=0, end_column=0)


def value_of(variable: ir.Variable, like: ir.Node) -> ir.Load:
    """The value of a whole variable."""
    return ir.Load(like.span, variable.type, ir.Local(like.span, variable.type, variable))


def changed(node: ir.Node, change: Callable[[ir.Node], ir.Node]) -> ir.Expr:
    """An expression with ``change`` applied to every node."""
    new = ir.transform(node, change)
    assert isinstance(new, ir.Expr)
    return new


def with_variables(block: ir.Block, new: Mapping[str, ir.Variable]) -> ir.Block:
    """The block with other variables in the place of a function's own, by name."""

    def of(variable: ir.Variable) -> ir.Variable:
        return variable if variable.storage == "tile_static" else new.get(variable.name, variable)

    return ir.map_block(block, lambda node: ir.map_variables(node, of))


def declaring(function: ir.Function) -> ir.Function:
    """The function with all of its variables that its body names in its list of variables."""
    known = {v.name: v for v in (*function.params, *function.variables)}
    named = (v for s in ir.walk_statements(function.body) for v in mentioned(s) if v.storage in ("local", "private"))
    new = {v.name: v for v in named if v.name not in known}
    return dataclasses.replace(function, variables=(*function.variables, *new.values()))


def contains(block: ir.Block, wanted: Callable[[ir.Stmt], bool]) -> bool:
    """Whether a block or a nested one has such a statement."""
    return any(wanted(s) or any(contains(b, wanted) for b in ir.blocks(s)) for s in block)


def filtered(block: ir.Block, keep: Callable[[ir.Stmt], bool]) -> ir.Block:
    """The block with only some of its statements, in nested blocks too."""
    out: list[ir.Stmt] = []
    for statement in block:
        if keep(statement):
            out.append(ir.map_blocks(statement, lambda inner: filtered(inner, keep)))
    return tuple(out)


def flattened(block: ir.Block) -> ir.Block:
    """The block without conditions that are known, and without what follows a jump."""
    out: list[ir.Stmt] = []
    for statement in block:
        if isinstance(statement, ir.If) and isinstance(statement.condition, ir.Const):
            out += flattened(statement.then if statement.condition.value else statement.orelse)
        else:
            out.append(ir.map_blocks(statement, flattened))
        if out and isinstance(out[-1], ir.JUMPS):
            break
    return tuple(out)


def substituted(node: _Rewritten, values: Mapping[str, ir.Expr]) -> _Rewritten:
    """An expression or statement in which values replace whole variables, by name."""

    def change(node: ir.Node) -> ir.Node:
        local = ir.read_local(node)
        return node if local is None else values.get(local.variable.name, node)

    return ir.transform(node, change)  # type: ignore[return-value]


def fixed_values(block: ir.Block, is_fixed: Callable[[ir.Expr], bool]) -> dict[str, ir.Expr]:
    """The variables that are assigned once in all, by name, whose values ``is_fixed``, with each other in them."""
    times = Counter(v.name for s in ir.walk_statements(block) for v in targets(s))
    found: dict[str, ir.Expr] = {}
    for statement in ir.walk_statements(block):
        if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local):
            name, value = statement.place.variable.name, substituted(statement.value, found)
            if times[name] == 1 and is_fixed(value):
                found[name] = value
    return found


def without_unused(block: ir.Block, candidates: Container[str]) -> ir.Block:
    """The block without assignments to those of some variables that nothing in it reads."""
    while True:
        used = {name for s in ir.walk_statements(block) for name in uses(s)}

        def keep(statement: ir.Stmt, used: set[str] = used) -> bool:
            if not isinstance(statement, ir.Assign) or not isinstance(statement.place, ir.Local):
                return True
            name = statement.place.variable.name
            return name in used or name not in candidates

        smaller = filtered(block, keep)
        if smaller == block:
            return block
        block = smaller
