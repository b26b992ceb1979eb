"""Whether a kernel can run by blocks of its domain: each thread may access only its own row of a container that is cut
into blocks of rows, or the rows just after it.

The analysis follows constants and variables that are assigned once. What it cannot follow counts as outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.traversal import own_nodes, results, walk, walk_statements


class RowAccess(NamedTuple):
    """An access to a container that is cut into blocks, outside of the rows that its thread may access; or one to a
    container that is not cut, at the thread's row in its block."""

    container: str
    is_write: bool
    span: Span


class _RowIndex(NamedTuple):
    """An index: ``threads`` times the thread's row, plus a number from ``low`` to ``high``."""

    threads: int
    low: int
    high: int


def outside_of_blocks(kernel: ir.Kernel, rows: Mapping[str, int]) -> Iterator[RowAccess]:
    """The accesses outside of a thread's rows. ``rows`` gives, by container, the number of rows after its own that the
    thread may read. The other containers are not cut, and the row of a thread in its block means nothing there.
    """
    for function in (*kernel.functions, kernel.body):
        known = _KnownValues(function)
        for statement in walk_statements(function.body):
            written = {id(each) for each in _written(statement)}
            nodes = own_nodes(statement)
            # Their elements are at other indices than those of the container's element that they begin at.
            views = [each for each in nodes if isinstance(each, (ir.Reinterpreted, ir.ViewElement))]
            through_views = {id(inner) for inner in walk(*views)}
            for each in nodes:
                if not isinstance(each, ir.BufferElement):
                    continue
                is_write = id(each) in written
                found = known.rows(each.indices[0])
                most = 0 if is_write else rows.get(each.buffer, 0)
                is_own = found is not None and found.threads == 1 and found.low >= 0 and found.high <= most
                is_right = is_own and id(each) not in through_views
                if not is_right if each.buffer in rows else found is not None and found.threads:
                    yield RowAccess(each.buffer, is_write, statement.span)


def writes_everything(kernel: ir.Kernel) -> frozenset[str]:
    """The containers in which each thread of an untiled kernel certainly writes the element at its own index, and reads
    no element before that."""
    found: set[str] = set()
    read = {each.buffer for function in kernel.functions for s in walk_statements(function.body) for each in _read(s)}
    known = _KnownValues(kernel.body)
    for statement in kernel.body.body if kernel.tile is None else ():
        read |= {each.buffer for inner in walk_statements((statement,)) for each in _read(inner)} - found
        if any(isinstance(each, ir.Return) for each in walk_statements((statement,))):
            break
        if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.BufferElement):
            indices = [known.dimension(each) for each in statement.place.indices]
            if indices == [*range(kernel.rank)] and statement.place.buffer not in read:
                found.add(statement.place.buffer)
    return frozenset(found)


def _written(statement: ir.Stmt) -> list[ir.Place]:
    """The place that a statement writes, and the places that it is a part of."""
    if not isinstance(statement, (ir.Assign, ir.Atomic)):
        return []
    found = [statement.place]
    while isinstance(found[-1], (ir.FieldOf, ir.ComponentsOf, ir.Reinterpreted, ir.ViewElement)):
        found.append(found[-1].base)
    return found


def _read(statement: ir.Stmt) -> list[ir.BufferElement]:
    """The elements that a statement reads, without those of nested blocks."""
    is_plain = isinstance(statement, ir.Assign) and not statement.update
    written = {id(each) for each in _written(statement)} if is_plain else set()
    return [each for each in own_nodes(statement) if isinstance(each, ir.BufferElement) and id(each) not in written]


class _KnownValues:
    """What is known of a function's variables: the values of those that are assigned once."""

    def __init__(self, function: ir.Function) -> None:
        values: dict[str, list[ir.Expr | tuple[ir.Expr, ir.Expr, ir.Expr] | None]] = {}
        for parameter in function.params:
            values.setdefault(parameter.name, []).append(None)
        for statement in walk_statements(function.body):
            if isinstance(statement, ir.For):
                bounds = (statement.start, statement.stop, statement.step)
                values.setdefault(statement.variable.name, []).append(bounds)
            elif isinstance(statement, ir.Assign):
                if isinstance(statement.place, ir.Local):
                    values.setdefault(statement.place.variable.name, []).append(statement.value)
            else:
                for variable in results(statement):
                    values.setdefault(variable.name, []).append(None)
            for place in own_nodes(statement) if isinstance(statement, (ir.Atomic, ir.Call)) else ():
                if isinstance(place, ir.Local):
                    values.setdefault(place.variable.name, []).append(None)
        self._values = {name: found[0] if len(found) == 1 else None for name, found in values.items()}

    def dimension(self, value: ir.Expr) -> int | None:
        """The dimension whose index of the thread in the domain a value is."""
        value = self._resolved(value)
        return value.dim if isinstance(value, ir.ThreadIndex) and value.kind == "global" else None

    def _resolved(self, value: ir.Expr) -> ir.Expr:
        for _ in range(100):
            if not (isinstance(value, ir.Load) and isinstance(value.place, ir.Local)):
                break
            known = self._values.get(value.place.variable.name)
            if not isinstance(known, ir.Expr):
                break
            value = known
        return value

    def rows(self, value: ir.Expr, depth: int = 0) -> _RowIndex | None:
        """An index as the thread's row and a range; None if it is something else."""
        value = self._resolved(value)
        if depth > 50:
            return None
        if isinstance(value, ir.Const) and not isinstance(value.value, float):
            return _RowIndex(0, int(value.value), int(value.value))
        if isinstance(value, ir.ThreadIndex):
            return _RowIndex(1, 0, 0) if value.kind == "global" and value.dim == 0 else None
        if isinstance(value, ir.Cast):
            return self.rows(value.operand, depth + 1)
        if isinstance(value, ir.Load) and isinstance(value.place, ir.Local):
            known = self._values.get(value.place.variable.name)
            return self._range(known, depth) if isinstance(known, tuple) else None
        if isinstance(value, ir.Binary) and value.op in ("add", "sub"):
            left, right = self.rows(value.left, depth + 1), self.rows(value.right, depth + 1)
            if left is None or right is None:
                return None
            if value.op == "add":
                return _RowIndex(left.threads + right.threads, left.low + right.low, left.high + right.high)
            return _RowIndex(left.threads - right.threads, left.low - right.high, left.high - right.low)
        return None

    def _range(self, bounds: tuple[ir.Expr, ir.Expr, ir.Expr], depth: int) -> _RowIndex | None:
        """The variable of a loop over constants."""
        start, stop, step = (self.rows(each, depth + 1) for each in bounds)
        if start is None or stop is None or step is None or step.low != step.high:
            return None
        if start.threads or stop.threads or step.threads:
            return None
        if step.low > 0:
            return _RowIndex(0, start.low, max(start.low, stop.high - 1))
        return _RowIndex(0, min(start.high, stop.low + 1), start.high)
