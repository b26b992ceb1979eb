"""Functions of a kernel that have no effect but their results."""

from __future__ import annotations

from collections.abc import Iterable, Set

from vkamp.ir import nodes as ir
from vkamp.ir.types import Array


def pure_functions(functions: Iterable[ir.Function]) -> frozenset[str]:
    """The functions that change only their variables, and do not wait; each is behind those that it calls."""
    found: set[str] = set()
    for function in functions:
        if all(is_pure(s, found) for s in ir.walk_statements(function.body)):
            found.add(function.name)
    return frozenset(found)


def is_pure(statement: ir.Stmt, pure: Set[str]) -> bool:
    """Whether a statement changes only the function's variables; ``pure``: functions that do so."""
    if isinstance(statement, ir.Assign):
        root = ir.root_of(statement.place)
        if not isinstance(root, ir.Local):
            return False
        is_array = isinstance(root.variable.type, Array)
        return root.variable.storage in ("local", "private") or (root.variable.storage == "parameter" and not is_array)
    if isinstance(statement, ir.Call):
        return statement.function in pure
    if isinstance(statement, ir.UniformAssert):
        return True
    return not isinstance(statement, (ir.Aside, ir.Atomic, ir.Barrier, ir.MatrixOperation, ir.Operation))
