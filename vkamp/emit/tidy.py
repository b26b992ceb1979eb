"""Results where they go: IR -> IR, before printing.

The front end puts the results of calls and atomics into temporaries and copies them on; a person writes the variable
itself.  ``t = f(x); y = t`` becomes ``y = f(x)`` where nothing else uses ``t``.  A claim of uniformity is an assignment
to a device; where only the next statement uses it, its value stands there.
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
    Claim,
    For,
    Function,
    If,
    Kernel,
    Load,
    Local,
    Node,
    Stmt,
    Subgroup,
    Variable,
    While,
    transform,
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
    block = _without_claims(block, uses)
    index = 0
    while index < len(block):
        statement = _nested(block[index], uses)
        index += 1
        if isinstance(statement, (Call, Atomic, Subgroup)):
            targets = _copies(statement, block[index:], uses)
            index += len(targets)
            statement = _redirected(statement, targets)
        out.append(statement)
    return tuple(out)


def _without_claims(block: Block, uses: Counter[str]) -> Block:
    """The block with each claim's value where it is used, or in a plain assignment."""
    out: list[Stmt] = []
    for statement in reversed(block):
        if isinstance(statement, Claim):
            if statement.variable.temporary and not uses[statement.variable.name]:
                continue
            following = out[-1] if out else None
            if following is not None and _is_used_in(following, statement.variable, uses):
                out[-1] = _with_value(following, statement)
                continue
            place = Local(statement.span, statement.variable.type, statement.variable)
            statement = Assign(statement.span, place, statement.value)
        out.append(statement)
    return tuple(reversed(out))


def _is_used_in(statement: Stmt, variable: Variable, uses: Counter[str]) -> bool:
    """Whether a temporary is used once in all, and there; a ``while`` evaluates its condition again and again."""
    if not variable.temporary or uses[variable.name] != 1 or isinstance(statement, While):
        return False
    return any(isinstance(node, Local) and node.variable == variable for node in own_nodes(statement))


def _with_value(statement: Stmt, claim: Claim) -> Stmt:
    """The statement with the claimed value in the place of the variable."""

    def change(node: Node) -> Node:
        is_it = isinstance(node, Load) and isinstance(node.place, Local) and node.place.variable == claim.variable
        return claim.value if is_it else node

    changed = transform(statement, change)
    assert isinstance(changed, Stmt)
    return changed


def _nested(statement: Stmt, uses: Counter[str]) -> Stmt:
    if isinstance(statement, If):
        return dataclasses.replace(statement, then=_block(statement.then, uses), orelse=_block(statement.orelse, uses))
    if isinstance(statement, (For, While)):
        return dataclasses.replace(statement, body=_block(statement.body, uses))
    return statement


def _results(statement: Call | Atomic | Subgroup) -> tuple[Variable | None, ...]:
    return statement.results if isinstance(statement, Call) else (statement.result,)


def _copies(statement: Call | Atomic | Subgroup, following: Block, uses: Counter[str]) -> dict[str, Variable]:
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


def _redirected(statement: Call | Atomic | Subgroup, targets: dict[str, Variable]) -> Call | Atomic | Subgroup:
    if isinstance(statement, Subgroup):
        return dataclasses.replace(statement, result=targets.get(statement.result.name, statement.result))
    if isinstance(statement, Atomic):
        result = statement.result
        return dataclasses.replace(statement, result=result and targets.get(result.name, result))
    results = tuple(r and targets.get(r.name, r) for r in statement.results)
    return dataclasses.replace(statement, results=results)
