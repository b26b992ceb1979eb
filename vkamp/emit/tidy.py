"""Results where they go: IR -> IR, before printing.

The front end puts the results of calls and atomics into temporaries and copies them on; a person writes the variable
itself.  ``t = f(x); y = t`` becomes ``y = f(x)`` where nothing else uses ``t``.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from vkamp.ir.access import own_nodes
from vkamp.ir.nodes import (
    Assign,
    Atomic,
    Block,
    Call,
    For,
    Function,
    If,
    Kernel,
    Load,
    Local,
    Stmt,
    Variable,
    While,
    walk_statements,
)

__all__ = ["direct_results"]


def direct_results(kernel: Kernel) -> Kernel:
    """The kernel with every result that is only copied to a variable assigned to that variable at once."""
    return dataclasses.replace(
        kernel,
        functions=tuple(_function(f) for f in kernel.functions),
        body=_function(kernel.body),
    )


def _function(function: Function) -> Function:
    uses = Counter(
        node.variable.name
        for statement in walk_statements(function.body)
        for node in own_nodes(statement)
        if isinstance(node, Local)
    )
    return dataclasses.replace(function, body=_block(function.body, uses))


def _block(block: Block, uses: Counter[str]) -> Block:
    out: list[Stmt] = []
    index = 0
    while index < len(block):
        statement = _nested(block[index], uses)
        index += 1
        if isinstance(statement, (Call, Atomic)):
            targets = _copies(statement, block[index:], uses)
            index += len(targets)
            statement = _redirected(statement, targets)
        out.append(statement)
    return tuple(out)


def _nested(statement: Stmt, uses: Counter[str]) -> Stmt:
    if isinstance(statement, If):
        return dataclasses.replace(statement, then=_block(statement.then, uses), orelse=_block(statement.orelse, uses))
    if isinstance(statement, (For, While)):
        return dataclasses.replace(statement, body=_block(statement.body, uses))
    return statement


def _results(statement: Call | Atomic) -> tuple[Variable | None, ...]:
    return statement.results if isinstance(statement, Call) else (statement.result,)


def _copies(statement: Call | Atomic, following: Block, uses: Counter[str]) -> dict[str, Variable]:
    """The variables that the statements right after it copy its results to, by the results' names."""
    results = {r.name for r in _results(statement) if r is not None}
    expected = statement.expected if isinstance(statement, Atomic) else None
    targets: dict[str, Variable] = {}
    for copy in following:
        if not (isinstance(copy, Assign) and isinstance(copy.place, Local)):
            break
        if not (isinstance(copy.value, Load) and isinstance(copy.value.place, Local)):
            break
        source, target = copy.value.place.variable, copy.place.variable
        if source.name not in results or uses[source.name] != 1 or target.storage == "tile_static":
            break
        if expected is not None and target == expected.variable:
            break
        targets[source.name] = target
    return targets


def _redirected(statement: Call | Atomic, targets: dict[str, Variable]) -> Call | Atomic:
    if isinstance(statement, Atomic):
        result = statement.result
        return dataclasses.replace(statement, result=result and targets.get(result.name, result))
    results = tuple(r and targets.get(r.name, r) for r in statement.results)
    return dataclasses.replace(statement, results=results)
