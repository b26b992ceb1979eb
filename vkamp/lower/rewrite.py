"""Small tools of the lowering: new names, and copies with other nodes or variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from vkamp.ir import nodes as ir


class Names:
    """Free names for new variables of a function."""

    def __init__(self, function: ir.Function, taken: Iterable[str] = ()) -> None:
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
