"""Chooses where each local variable is declared: at its first assignment if that encloses every use, else before it.

Python's variables live in the whole function; a reader of GLSL expects them in the smallest block.  A statement's
position is its block's path and its index; a path is a tuple of (statement index, nested block number) pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import assigned, exposed

Path = tuple[tuple[int, int], ...]
Position = tuple[Path, int]

#: The index of what happens in a loop's body before its first statement.
BODY_START = -1


@dataclass(frozen=True)
class ScopePlan:
    """The places where declarations are printed.

    ``initialised``: variables that the statement at a position declares while it assigns them.  ``before``: variables
    declared without a value before a statement.  ``headers``: the loops that declare their variable in the ``for``
    statement; other loops use a separate counter.
    """

    initialised: dict[Position, frozenset[str]]
    before: dict[Position, tuple[ir.Variable, ...]]
    headers: frozenset[Position]


@dataclass
class _Use:
    """A variable's use; ``defines``: the statement assigns the whole variable and may declare it too."""

    position: Position
    defines: bool


@dataclass
class _Uses:
    variables: dict[str, ir.Variable] = field(default_factory=dict)
    uses: dict[str, list[_Use]] = field(default_factory=dict)
    loops: dict[str, list[Position]] = field(default_factory=dict)

    def add(self, variable: ir.Variable, position: Position, defines: bool) -> None:
        if variable.storage in ("local", "private"):
            self.variables.setdefault(variable.name, variable)
            self.uses.setdefault(variable.name, []).append(_Use(position, defines))


def _positions(block: ir.Block, path: Path) -> Iterator[tuple[ir.Stmt, Position]]:
    for index, statement in enumerate(block):
        yield statement, (path, index)
        for number, inner in enumerate(ir.blocks(statement)):
            yield from _positions(inner, (*path, (index, number)))


def _collect(function: ir.Function) -> _Uses:
    table = _Uses()
    for statement, position in _positions(function.body, ()):
        target = _defined(statement)
        operands = [node.variable for node in ir.own_nodes(statement) if isinstance(node, ir.Local)]
        if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local):
            # The place itself comes first; what follows is read before it is assigned.
            operands = operands[1:]
        own = () if isinstance(statement, ir.For) else ir.results(statement)
        for variable in (*operands, *(v for v in own if v != target)):
            table.add(variable, position, defines=False)
        if target is not None:
            table.add(target, position, defines=True)
        if isinstance(statement, ir.For):
            # Its variable is assigned in its body.
            table.loops.setdefault(statement.variable.name, []).append(position)
    return table


def _defined(statement: ir.Stmt) -> ir.Variable | None:
    """The variable that a statement assigns as a whole and could declare in the same line."""
    if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local):
        return statement.place.variable
    if isinstance(statement, ir.For) or (isinstance(statement, ir.Call) and len(statement.results) != 1):
        return None
    return next(iter(ir.results(statement)), None)


def _is_inside(position: Position, loop: Position) -> bool:
    """Whether a position is in the body of the loop at ``loop``."""
    path, index = loop
    return position[0][: len(path) + 1] == (*path, (index, 0))


def _own_loops(name: str, table: _Uses, loops: dict[Position, ir.For]) -> bool:
    """Whether each loop over the variable can declare it: nothing else assigns it or sees it after the loop."""
    positions = table.loops[name]
    if any(loops[p].variable.storage != "local" for p in positions):
        return False
    return all(
        not use.defines and any(_is_inside(use.position, loop) for loop in positions)
        for use in table.uses.get(name, ())
    ) and not any(name in assigned(loops[p].body) for p in positions)


def plan(function: ir.Function) -> ScopePlan:
    """The declarations of a function's local variables.

    A variable that several statements use, each for itself, is declared in each of them.
    """
    table = _collect(function)
    statements = {p: s for s, p in _positions(function.body, ())}
    loops = {p: s for p, s in statements.items() if isinstance(s, ir.For)}
    headers: set[Position] = set()
    for name, positions in table.loops.items():
        if _own_loops(name, table, loops):
            headers.update(positions)
            table.uses.pop(name, None)
            continue
        for path, index in positions:
            start = (*path, (index, 0)), BODY_START
            table.add(loops[path, index].variable, start, defines=True)
    initialised: dict[Position, set[str]] = {}
    before: dict[Position, list[ir.Variable]] = {}
    exposures = _Exposures(statements)
    for name, uses in table.uses.items():
        uses.sort(key=lambda use: _order(use.position))
        for group in _apart(name, uses, exposures):
            position = _home([use.position for use in group])
            first = group[0]
            if first.position == position and first.defines:
                initialised.setdefault(position, set()).add(name)
            else:
                before.setdefault(position, []).append(table.variables[name])
    return ScopePlan(
        {p: frozenset(names) for p, names in initialised.items()},
        {p: tuple(variables) for p, variables in before.items()},
        frozenset(headers),
    )


class _Exposures:
    """What each statement reads before it assigns it."""

    def __init__(self, statements: dict[Position, ir.Stmt]) -> None:
        self._statements = statements
        self._known: dict[Position, frozenset[str]] = {}

    def of(self, position: Position) -> frozenset[str]:
        if position not in self._known:
            self._known[position] = exposed((self._statements[position],))
        return self._known[position]


def _apart(name: str, uses: list[_Use], exposures: _Exposures) -> list[list[_Use]]:
    """The uses by the statements of their smallest common block, if each statement can have a separate variable."""
    path, _ = _home([use.position for use in uses])
    groups: dict[int, list[_Use]] = {}
    for use in uses:
        inner = use.position[0]
        if len(inner) == len(path):
            return [uses]
        groups.setdefault(inner[len(path)][0], []).append(use)
    if len(groups) == 1 or any(name in exposures.of((path, index)) for index in groups):
        return [uses]
    parts = [part for group in groups.values() for part in _apart(name, group, exposures)]
    homes = [_home([use.position for use in part])[0] for part in parts]
    # Two declarations in one block would be of one variable.
    return parts if len(set(homes)) == len(homes) else [uses]


def _order(position: Position) -> tuple[int, ...]:
    """Program order (uses of one statement keep theirs: reads come before the assignment)."""
    path, index = position
    return (*(n for step in path for n in step), index)


def _home(positions: list[Position]) -> Position:
    """The smallest block that encloses all positions, and the position of the first one in it."""
    path = positions[0][0]
    for other, _ in positions[1:]:
        while path != other[: len(path)]:
            path = path[:-1]
    first_path, first_index = positions[0]
    return path, first_path[len(path)][0] if len(first_path) > len(path) else first_index
