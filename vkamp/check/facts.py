"""What the syntax of a kernel says beforehand: which parts touch shared memory, what a loop assigns and costs."""

from __future__ import annotations

from collections.abc import Iterator

from vkamp.ir import nodes
from vkamp.ir.access import access, own_nodes
from vkamp.ir.types import Array

__all__ = ["Facts", "atomic_targets"]


class Facts:
    """Facts of the statements and expressions of one kernel, each found once."""

    def __init__(self, kernel: nodes.Kernel) -> None:
        self.functions = {f.name: f for f in kernel.functions}
        #: Containers that the kernel changes.
        self.changed = frozenset(name for name, what in access(kernel).items() if what.changes)
        self._dull: dict[int, bool] = {}
        self._assigned: dict[int, frozenset[str]] = {}
        self._costs: dict[int, int] = {}
        self._plain: dict[int, bool] = {}

    def dull(self, node: nodes.Node) -> bool:
        """Whether evaluating the expression or place touches no shared memory."""
        key = id(node)
        if key not in self._dull:
            self._dull[key] = all(map(self.dull, nodes.children(node))) and not (
                isinstance(node, nodes.Load) and _shared(node.place)
            )
        return self._dull[key]

    def plain(self, statement: nodes.Stmt) -> bool:
        """Whether the statement changes local variables and private arrays only, and leaves nothing but itself."""
        key = id(statement)
        if key not in self._plain:
            self._plain[key] = self._is_plain(statement)
        return self._plain[key]

    def _is_plain(self, statement: nodes.Stmt) -> bool:
        for inner in nodes.walk_statements((statement,)):
            if isinstance(inner, (nodes.Barrier, nodes.Atomic, nodes.Return)):
                return False
            if isinstance(inner, nodes.Assign) and _shared(inner.place):
                return False
            if isinstance(inner, nodes.Call):
                if not all(map(self.plain, self._body(inner))):
                    return False
                if any(isinstance(a, nodes.Place) for a in inner.args):
                    return False
            if any(isinstance(node, nodes.Load) and _shared(node.place) for node in own_nodes(inner)):
                return False
        return True

    def _body(self, call: nodes.Call) -> Iterator[nodes.Stmt]:
        """The callee's statements but its results, which leave nothing else."""
        for statement in self.functions[call.function].body:
            if not (isinstance(statement, nodes.Return) and all(map(self.dull, statement.values))):
                yield statement

    def waits(self, statement: nodes.Stmt) -> bool:
        """Whether a barrier may stand in it."""
        for inner in nodes.walk_statements((statement,)):
            if isinstance(inner, nodes.Barrier):
                return True
            if isinstance(inner, nodes.Call) and any(map(self.waits, self.functions[inner.function].body)):
                return True
        return False

    def assigned(self, statement: nodes.Stmt) -> frozenset[str]:
        """The local variables, by name, that it may change."""
        key = id(statement)
        if key not in self._assigned:
            self._assigned[key] = frozenset(
                variable.name
                for inner in nodes.walk_statements((statement,))
                for variable in _targets(inner)
                if not isinstance(variable.type, Array)
            )
        return self._assigned[key]

    def cost(self, block: nodes.Block) -> int:
        """Statements run once through, those of callees too."""
        key = id(block)
        if key not in self._costs:
            total = 0
            for statement in nodes.walk_statements(block):
                total += 1
                if isinstance(statement, nodes.Call):
                    total += self.cost(self.functions[statement.function].body)
            self._costs[key] = total
        return self._costs[key]


def _shared(place: nodes.Place) -> bool:
    """Whether a place may lie in memory that other threads see."""
    root = nodes.root_of(place)
    if isinstance(root, nodes.BufferElement):
        return True
    variable = root.variable
    return variable.storage == "tile_static" or (variable.storage == "parameter" and isinstance(variable.type, Array))


def _targets(statement: nodes.Stmt) -> Iterator[nodes.Variable]:
    if isinstance(statement, nodes.For):
        yield statement.variable
    elif isinstance(statement, nodes.Assign):
        root = nodes.root_of(statement.place)
        if isinstance(root, nodes.Local):
            yield root.variable
    elif isinstance(statement, nodes.Atomic):
        yield from atomic_targets(statement)
    elif isinstance(statement, nodes.Call):
        yield from (v for v in statement.results if v is not None)


def atomic_targets(statement: nodes.Atomic) -> Iterator[nodes.Variable]:
    """The variables that an atomic assigns."""
    if statement.result is not None:
        yield statement.result
    if statement.expected is not None:
        yield statement.expected.variable
