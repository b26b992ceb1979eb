"""What statements do with a function's variables: which they name, change, and read before they assign them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vkamp.ir.access import own_nodes
from vkamp.ir.nodes import (
    Assign,
    Atomic,
    Block,
    Break,
    Call,
    Claim,
    Continue,
    Declare,
    Expr,
    For,
    If,
    Local,
    Return,
    Stmt,
    Subgroup,
    Variable,
    While,
    blocks,
    root_of,
    walk,
    walk_statements,
)

__all__ = ["assigned", "certain", "exposed", "named", "read", "read_value", "targets"]


def _own(variable: Variable | None) -> Iterator[Variable]:
    if variable is not None and variable.storage != "tile_static":
        yield variable


def targets(statement: Stmt) -> Iterator[Variable]:
    """The variables of a function that this one statement may change, arrays passed to functions among them."""
    if isinstance(statement, (For, Claim, Declare)):
        yield from _own(statement.variable)
    elif isinstance(statement, Assign):
        root = root_of(statement.place)
        yield from _own(root.variable if isinstance(root, Local) else None)
    elif isinstance(statement, Subgroup):
        yield from _own(statement.result)
    elif isinstance(statement, Atomic):
        yield from _own(statement.result)
        yield from _own(statement.expected.variable if statement.expected else None)
    elif isinstance(statement, Call):
        for result in statement.results:
            yield from _own(result)
        for arg in statement.args:
            if isinstance(arg, Local):
                yield from _own(arg.variable)


def assigned(block: Iterable[Stmt]) -> set[str]:
    """The names of the variables that statements and their nested blocks may change."""
    return {v.name for s in walk_statements(tuple(block)) for v in targets(s)}


def read(statement: Stmt) -> set[str]:
    """The names of the function's variables in the operands of a statement, places among them."""
    nodes = own_nodes(statement)
    return {n.variable.name for n in nodes if isinstance(n, Local) and n.variable.storage != "tile_static"}


def named(block: Iterable[Stmt]) -> set[str]:
    """The names of all variables that statements and their nested blocks read or change."""
    found = set()
    for statement in walk_statements(tuple(block)):
        found |= read(statement)
        found |= {v.name for v in targets(statement)}
    return found


def exposed(block: Block) -> frozenset[str]:
    """The variables that a block may read before it assigns them."""
    found: set[str] = set()
    _flow(block, frozenset(), found)
    return frozenset(found)


def certain(block: Block) -> frozenset[str]:
    """The variables that a block certainly assigns, if its end is reached."""
    defined = _flow(block, frozenset(), set())
    return frozenset(assigned(block)) if defined is None else defined


def _flow(block: Block, defined: frozenset[str], found: set[str]) -> frozenset[str] | None:
    """The variables that are certainly assigned at the end; ``None`` if that is never reached."""
    for statement in block:
        reads = read(statement)
        if isinstance(statement, Assign) and isinstance(statement.place, Local):
            reads = read_value(statement.value)
        found |= reads - defined
        if isinstance(statement, If):
            then, orelse = (_flow(side, defined, found) for side in blocks(statement))
            if then is None and orelse is None:
                return None
            defined = then & orelse if then is not None and orelse is not None else then or orelse or defined
        elif isinstance(statement, For):
            _flow(statement.body, defined | {statement.variable.name}, found)
        elif isinstance(statement, While):
            _flow(statement.body, defined, found)
        elif isinstance(statement, (Break, Continue, Return)):
            return None
        elif isinstance(statement, Declare) or (isinstance(statement, Assign) and isinstance(statement.place, Local)):
            defined |= {v.name for v in targets(statement)}
        elif isinstance(statement, Call):
            defined |= {r.name for r in statement.results if r is not None}
        elif isinstance(statement, (Atomic, Subgroup)) and statement.result is not None:
            defined |= {statement.result.name}
    return defined


def read_value(expr: Expr) -> set[str]:
    """The variables in an expression."""
    return {n.variable.name for n in walk(expr) if isinstance(n, Local) and n.variable.storage != "tile_static"}
