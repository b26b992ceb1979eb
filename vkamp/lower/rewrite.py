"""Small tools of the lowering: new names, and copies with other nodes or variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from vkamp.ir.nodes import (
    Block,
    Expr,
    Function,
    Load,
    Local,
    Node,
    Stmt,
    Variable,
    blocks,
    map_block,
    map_blocks,
    map_variables,
    transform,
)

__all__ = ["Names", "changed", "contains", "filtered", "value_of", "with_variables"]


class Names:
    """Free names for new variables of a function."""

    def __init__(self, function: Function, taken: Iterable[str] = ()) -> None:
        self._taken = {v.name for v in (*function.params, *function.variables)} | set(taken)

    def give(self, wanted: str) -> str:
        """``wanted``, or the nearest to it that is free."""
        name, number = wanted, 1
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name

    def copy(self) -> Names:
        """The same names, to try some more."""
        other = Names.__new__(Names)
        other._taken = set(self._taken)
        return other


def value_of(variable: Variable, like: Node) -> Load:
    """The value of a whole variable."""
    return Load(like.span, variable.type, Local(like.span, variable.type, variable))


def changed(node: Node, change: Callable[[Node], Node]) -> Expr:
    """An expression with ``change`` applied to every node."""
    new = transform(node, change)
    assert isinstance(new, Expr)
    return new


def with_variables(block: Block, new: Mapping[str, Variable]) -> Block:
    """The block with other variables in the place of a function's own, by name."""

    def of(variable: Variable) -> Variable:
        return variable if variable.storage == "tile_static" else new.get(variable.name, variable)

    return map_block(block, lambda node: map_variables(node, of))


def contains(block: Block, wanted: Callable[[Stmt], bool]) -> bool:
    """Whether a block or a nested one has such a statement."""
    return any(wanted(s) or any(contains(b, wanted) for b in blocks(s)) for s in block)


def filtered(block: Block, keep: Callable[[Stmt], bool]) -> Block:
    """The block with only some of its statements, in nested blocks too."""
    out: list[Stmt] = []
    for statement in block:
        if keep(statement):
            out.append(map_blocks(statement, lambda inner: filtered(inner, keep)))
    return tuple(out)
