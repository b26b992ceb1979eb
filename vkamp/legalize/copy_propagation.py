"""Results where they go: IR -> IR, before printing.

The front end puts the results of calls and atomics into temporaries and copies them on; a person writes the variable
itself. ``t = f(x); y = t`` becomes ``y = f(x)`` where nothing else uses ``t``, and ``t = f(x); if t > 0`` becomes ``if
f(x) > 0`` where ``f`` changes nothing. Values that were kept in between go with it. An assertion of uniformity is an
assignment to a device; where only the next statement uses it, its value stands there.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from vkamp.ir import nodes as ir
from vkamp.ir.lowered import PureCall
from vkamp.ir.purity import pure_functions
from vkamp.ir.rewrite import substituted


def direct_results(kernel: ir.Kernel) -> ir.Kernel:
    """Moves results to where they are used: they are assigned to a variable directly, or become part of an
    expression.
    """
    # What `precise` says of a variable does not reach into the arguments of a call in an expression; loops over threads
    # have temporaries that are for people.
    pure = None if kernel.precise or kernel.lanes is not None else pure_functions(kernel.functions)
    return ir.map_functions(kernel, lambda function: _function(function, pure))


def without_uniform_asserts(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with assertions of uniformity as assignments, and nothing else changed."""
    return ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=ir.without_uniform_asserts(f.body)))


def _function(function: ir.Function, pure: frozenset[str] | None) -> ir.Function:
    uses = Counter(
        node.variable.name
        for statement in ir.walk_statements(function.body)
        for node in ir.own_nodes(statement)
        if isinstance(node, ir.Local)
    )
    return dataclasses.replace(function, body=_block(function.body, uses, pure))


def _block(block: ir.Block, uses: Counter[str], pure: frozenset[str] | None) -> ir.Block:
    out: list[ir.Stmt] = []
    block = _with_values(block, uses, pure)
    index = 0
    while index < len(block):
        statement = ir.map_blocks(block[index], lambda inner: _block(inner, uses, pure))
        index += 1
        if isinstance(statement, (ir.Call, ir.Atomic, ir.Operation)):
            targets = _copies(statement, block[index:], uses)
            index += len(targets)
            statement = ir.map_variables(statement, lambda v: targets.get(v.name, v))  # noqa: B023
        out.append(statement)
    return tuple(out)


def _with_values(block: ir.Block, uses: Counter[str], pure: frozenset[str] | None) -> ir.Block:
    """The block with values where they are used: those of assertions of uniformity, of calls of pure functions, and
    kept ones."""
    out: list[ir.Stmt] = []
    for statement in reversed(block):
        following = out[-1] if out else None
        if isinstance(statement, ir.UniformAssert):
            if statement.variable.temporary and not uses[statement.variable.name]:
                continue
            if following is not None and _is_used_in(following, statement.variable, uses, 1):
                out[-1] = substituted(following, {statement.variable.name: statement.value})
                continue
            place = ir.Local(statement.span, statement.variable.type, statement.variable)
            statement = ir.Assign(statement.span, place, statement.value)
        elif pure is not None and following is not None and not isinstance(following, ir.For):
            moved = _moved(statement, following, uses, pure)
            if moved is not None:
                out[-1] = moved
                continue
        out.append(statement)
    return tuple(reversed(out))


def _moved(statement: ir.Stmt, following: ir.Stmt, uses: Counter[str], pure: frozenset[str]) -> ir.Stmt | None:
    """The following statement with the value of this one in it, if that is all that there is of it."""
    if isinstance(statement, ir.Call) and statement.function in pure and len(statement.results) == 1:
        (result,) = statement.results
        if result is not None and _is_used_in(following, result, uses, 1):
            called = PureCall(statement.span, result.type, statement.function, statement.args)
            return substituted(following, {result.name: called})
    if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local) and not _is_constant(statement.value):
        variable = statement.place.variable
        # It names the variable itself.
        if variable.storage == "local" and _is_used_in(following, variable, uses, 2):
            return substituted(following, {variable.name: statement.value})
    return None


def _is_constant(value: ir.Expr) -> bool:
    """Whether the GLSL compiler would compute a value, which the front end may have kept from it."""
    given = (ir.Load, ir.ScalarValue, ir.ThreadIndex, ir.BufferExtent, PureCall)
    return not any(isinstance(node, given) for node in ir.walk(value))


def _is_used_in(statement: ir.Stmt, variable: ir.Variable, uses: Counter[str], count: int) -> bool:
    """Whether a temporary is named so often in all, and read there, whole; a ``while`` reads it again and again."""
    if not variable.temporary or uses[variable.name] != count or isinstance(statement, ir.While):
        return False
    # A place may be printed more than once.
    nodes = ir.walk(statement.value) if isinstance(statement, ir.Assign) else ir.own_nodes(statement)
    loads = (node.place for node in nodes if isinstance(node, ir.Load))
    return any(isinstance(place, ir.Local) and place.variable == variable for place in loads)


def _copies(
    statement: ir.Call | ir.Atomic | ir.Operation, following: ir.Block, uses: Counter[str]
) -> dict[str, ir.Variable]:
    """The variables that the statements right after it copy its results to, by the results' names."""
    own = {r.name for r in ir.results(statement)}
    expected = statement.expected if isinstance(statement, ir.Atomic) else None
    targets: dict[str, ir.Variable] = {}
    for copy in following:
        if not (isinstance(copy, ir.Assign) and isinstance(copy.place, ir.Local)):
            break
        if not (isinstance(copy.value, ir.Load) and isinstance(copy.value.place, ir.Local)):
            break
        source, target = copy.value.place.variable, copy.place.variable
        if source.name not in own or uses[source.name] != 1 or target.storage == "tile_static":
            break
        if expected is not None and target == expected.variable:
            break
        targets[source.name] = target
    return targets
