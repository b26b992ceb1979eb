"""Results where they go: IR -> IR, before printing.

The front end puts the results of calls and atomics into temporaries and copies them on; a person writes the variable
itself.  ``t = f(x); y = t`` becomes ``y = f(x)`` where nothing else uses ``t``, and ``t = f(x); if t > 0`` becomes
``if f(x) > 0`` where ``f`` changes nothing.  Values that were kept in between go with it.  A claim of uniformity is an
assignment to a device; where only the next statement uses it, its value stands there.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from vkamp.ir.access import own_nodes
from vkamp.ir.nodes import (
    Assign,
    Atomic,
    Barrier,
    Block,
    Breakpoint,
    BufferExtent,
    Call,
    Claim,
    Expr,
    For,
    Function,
    Kernel,
    Load,
    Local,
    Node,
    Place,
    Print,
    ScalarValue,
    Stmt,
    Subgroup,
    ThreadIndex,
    Variable,
    While,
    map_blocks,
    map_variables,
    results,
    root_of,
    transform,
    walk,
    walk_statements,
)
from vkamp.ir.types import Array

__all__ = ["Called", "direct_results"]


@dataclasses.dataclass(frozen=True)
class Called(Expr):
    """The result of a function that changes nothing, which the IR has only as a statement."""

    function: str
    args: tuple[Expr | Place, ...]


def direct_results(kernel: Kernel) -> Kernel:
    """The kernel with results where they are used: assigned to a variable at once, or in an expression."""
    # What `precise` says of a variable does not reach into the arguments of a call in an expression; loops over threads
    # have temporaries that are for people.
    pure = None if kernel.precise or kernel.lanes is not None else _pure(kernel)
    return dataclasses.replace(
        kernel,
        functions=tuple(_function(f, pure) for f in kernel.functions),
        body=_function(kernel.body, pure),
    )


def _pure(kernel: Kernel) -> frozenset[str]:
    """The functions that change nothing but their own variables, and wait for nobody."""
    found: set[str] = set()
    for function in kernel.functions:
        if all(_changes_nothing(s, found) for s in walk_statements(function.body)):
            found.add(function.name)
    return frozenset(found)


def _changes_nothing(statement: Stmt, pure: set[str]) -> bool:
    if isinstance(statement, Assign):
        root = root_of(statement.place)
        if not isinstance(root, Local):
            return False
        is_array = isinstance(root.variable.type, Array)
        return root.variable.storage in ("local", "private") or (root.variable.storage == "parameter" and not is_array)
    if isinstance(statement, Call):
        return statement.function in pure
    return not isinstance(statement, (Atomic, Barrier, Breakpoint, Print, Subgroup))


def _function(function: Function, pure: frozenset[str] | None) -> Function:
    uses = Counter(
        node.variable.name
        for statement in walk_statements(function.body)
        for node in own_nodes(statement)
        if isinstance(node, Local)
    )
    return dataclasses.replace(function, body=_block(function.body, uses, pure))


def _block(block: Block, uses: Counter[str], pure: frozenset[str] | None) -> Block:
    out: list[Stmt] = []
    block = _with_values(block, uses, pure)
    index = 0
    while index < len(block):
        statement = map_blocks(block[index], lambda inner: _block(inner, uses, pure))
        index += 1
        if isinstance(statement, (Call, Atomic, Subgroup)):
            targets = _copies(statement, block[index:], uses)
            index += len(targets)
            statement = map_variables(statement, lambda v: targets.get(v.name, v))  # noqa: B023
        out.append(statement)
    return tuple(out)


def _with_values(block: Block, uses: Counter[str], pure: frozenset[str] | None) -> Block:
    """The block with values where they are used: those of claims, of calls of pure functions, and kept ones."""
    out: list[Stmt] = []
    for statement in reversed(block):
        following = out[-1] if out else None
        if isinstance(statement, Claim):
            if statement.variable.temporary and not uses[statement.variable.name]:
                continue
            if following is not None and _is_used_in(following, statement.variable, uses, 1):
                out[-1] = _with_value(following, statement.variable, statement.value)
                continue
            place = Local(statement.span, statement.variable.type, statement.variable)
            statement = Assign(statement.span, place, statement.value)
        elif pure is not None and following is not None and not isinstance(following, For):
            moved = _moved(statement, following, uses, pure)
            if moved is not None:
                out[-1] = moved
                continue
        out.append(statement)
    return tuple(reversed(out))


def _moved(statement: Stmt, following: Stmt, uses: Counter[str], pure: frozenset[str]) -> Stmt | None:
    """The following statement with the value of this one in it, if that is all that there is of it."""
    if isinstance(statement, Call) and statement.function in pure and len(statement.results) == 1:
        (result,) = statement.results
        if result is not None and _is_used_in(following, result, uses, 1):
            called = Called(statement.span, result.type, statement.function, statement.args)
            return _with_value(following, result, called)
    if isinstance(statement, Assign) and isinstance(statement.place, Local) and not _is_constant(statement.value):
        variable = statement.place.variable
        # It names the variable itself.
        if variable.storage == "local" and _is_used_in(following, variable, uses, 2):
            return _with_value(following, variable, statement.value)
    return None


def _is_constant(value: Expr) -> bool:
    """Whether the GLSL compiler would compute a value, which the front end may have kept from it."""
    given = (Load, ScalarValue, ThreadIndex, BufferExtent, Called)
    return not any(isinstance(node, given) for node in walk(value))


def _is_used_in(statement: Stmt, variable: Variable, uses: Counter[str], count: int) -> bool:
    """Whether a temporary is named so often in all, and read there, whole; a ``while`` reads it again and again."""
    if not variable.temporary or uses[variable.name] != count or isinstance(statement, While):
        return False
    # A place may be printed more than once.
    nodes = walk(statement.value) if isinstance(statement, Assign) else own_nodes(statement)
    loads = (node.place for node in nodes if isinstance(node, Load))
    return any(isinstance(place, Local) and place.variable == variable for place in loads)


def _with_value(statement: Stmt, variable: Variable, value: Expr) -> Stmt:
    """The statement with a value in the place of a variable."""

    def change(node: Node) -> Node:
        is_it = isinstance(node, Load) and isinstance(node.place, Local) and node.place.variable == variable
        return value if is_it else node

    changed = transform(statement, change)
    assert isinstance(changed, Stmt)
    return changed


def _copies(statement: Call | Atomic | Subgroup, following: Block, uses: Counter[str]) -> dict[str, Variable]:
    """The variables that the statements right after it copy its results to, by the results' names."""
    own = {r.name for r in results(statement)}
    expected = statement.expected if isinstance(statement, Atomic) else None
    targets: dict[str, Variable] = {}
    for copy in following:
        if not (isinstance(copy, Assign) and isinstance(copy.place, Local)):
            break
        if not (isinstance(copy.value, Load) and isinstance(copy.value.place, Local)):
            break
        source, target = copy.value.place.variable, copy.place.variable
        if source.name not in own or uses[source.name] != 1 or target.storage == "tile_static":
            break
        if expected is not None and target == expected.variable:
            break
        targets[source.name] = target
    return targets
