"""What statements do with a function's variables: which they name, change, and read before they assign them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.lowered import RepeatWhile
from vkamp.ir.traversal import READ
from vkamp.ir.types import Array


def targets(statement: ir.Stmt) -> Iterator[ir.Variable]:
    """The variables of a function that this one statement may change, arrays passed to functions among them."""
    for variable in (*ir.results(statement), *map(_variable_of, ir.changed_places(statement))):
        if variable is not None and variable.storage != "tile_static":
            yield variable


def _variable_of(place: ir.Place) -> ir.Variable | None:
    """The variable that a place is a part of."""
    root = ir.root_of(place)
    return root.variable if isinstance(root, ir.Local) else None


def mentioned(statement: ir.Stmt) -> Iterator[ir.Variable]:
    """Every variable that this one statement names, as often as it does: in its operands, then as a result."""
    for node in ir.own_nodes(statement):
        if isinstance(node, ir.Local):
            yield node.variable
    yield from ir.results(statement)


def uses(statement: ir.Stmt) -> frozenset[str] | set[str]:
    """The names of the function's variables whose values a statement uses."""
    if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local):
        return read_value(statement.value)
    return read(statement)


def assigned(block: Iterable[ir.Stmt]) -> set[str]:
    """The names of the variables that statements and their nested blocks may change."""
    return {v.name for s in ir.walk_statements(tuple(block)) for v in targets(s)}


def read(statement: ir.Stmt) -> frozenset[str]:
    """The names of the function's variables in the operands of a statement, places among them."""
    found: frozenset[str] | None = statement.__dict__.get(READ)
    if found is None:
        nodes = ir.own_nodes(statement)
        names = [n.variable.name for n in nodes if isinstance(n, ir.Local) and n.variable.storage != "tile_static"]
        found = statement.__dict__[READ] = frozenset(names)
    return found


def named(block: Iterable[ir.Stmt]) -> set[str]:
    """The names of all variables that statements and their nested blocks read or change."""
    found: set[str] = set()
    for statement in ir.walk_statements(tuple(block)):
        found |= read(statement)
        found.update(v.name for v in ir.results(statement) if v.storage != "tile_static")
    return found


def exposed(block: ir.Block) -> frozenset[str]:
    """The variables that a block may read before it assigns them."""
    found: set[str] = set()
    _flow(block, frozenset(), found)
    return frozenset(found)


def certain(block: ir.Block) -> frozenset[str]:
    """The variables that a block certainly assigns, if its end is reached."""
    defined = _flow(block, frozenset(), set())
    return frozenset(assigned(block)) if defined is None else defined


def _flow(block: ir.Block, defined: frozenset[str], found: set[str]) -> frozenset[str] | None:
    """The variables that are certainly assigned at the end; ``None`` if that is never reached."""
    for statement in block:
        found |= uses(statement) - defined
        if isinstance(statement, ir.If):
            then, orelse = (_flow(side, defined, found) for side in ir.blocks(statement))
            if then is None and orelse is None:
                return None
            defined = then & orelse if then is not None and orelse is not None else then or orelse or defined
        elif isinstance(statement, ir.For):
            _flow(statement.body, defined | {statement.variable.name}, found)
        elif isinstance(statement, (ir.While, RepeatWhile)):
            _flow(statement.body, defined, found)
        elif isinstance(statement, ir.JUMPS):
            return None
        else:
            defined |= {v.name for v in ir.definitions(statement)}
    return defined


def read_value(expr: ir.Expr) -> set[str]:
    """The variables in an expression."""
    return {n.variable.name for n in ir.walk(expr) if isinstance(n, ir.Local) and n.variable.storage != "tile_static"}


def changed_parameters(kernel: ir.Kernel) -> dict[str, frozenset[str]]:
    """Per device function, the array parameters that it or its callees may change."""
    table: dict[str, frozenset[str]] = {}
    for function in kernel.functions:
        arrays = {p.name for p in function.params if isinstance(p.type, Array)}
        changed: set[str] = set()
        for statement in ir.walk_statements(function.body):
            if isinstance(statement, ir.Call):
                params = kernel.function(statement.function).params
                passed = zip(params, statement.args, strict=True)
                places = [a for p, a in passed if p.name in table[statement.function] and isinstance(a, ir.Place)]
            else:
                places = list(ir.changed_places(statement))
            changed |= {v.name for v in map(_variable_of, places) if v is not None}
        table[function.name] = frozenset(arrays & changed)
    return table
