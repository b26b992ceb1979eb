"""Facts from the syntax of a kernel: which parts access shared memory, and what a loop assigns and costs."""

from __future__ import annotations

from collections.abc import Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import targets
from vkamp.ir.requirements import access
from vkamp.ir.types import Array


class Facts:
    """Facts about the statements and expressions of one kernel, each computed once."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self.functions = {f.name: f for f in kernel.functions}
        #: Containers that the kernel changes.
        self.changed = frozenset(name for name, what in access(kernel).items() if what.changes)
        changed = {b.storage for b in kernel.buffers if b.name in self.changed}
        #: Containers whose memory the kernel does not change.
        self.constant = frozenset(b.name for b in kernel.buffers if b.storage not in changed)
        self._arbitrary: frozenset[ir.Variable] | None = None
        self._untouched: dict[int, bool] = {}
        self._assigned: dict[int, frozenset[str]] = {}
        self._costs: dict[int, int] = {}
        self._local_only: dict[int, bool] = {}

    def in_tile_static(self, place: ir.Place) -> bool:
        """Whether a place is in tile_static memory that contains only values from containers."""
        root = ir.root_of(place)
        return isinstance(root, ir.Local) and root.variable in self._filled()

    def _filled(self) -> frozenset[ir.Variable]:
        """The tile_static variables to which only values computed from containers are stored."""
        if self._arbitrary is None:
            stores: dict[ir.Variable, list[ir.Expr | None]] = {}
            for function in (*self.kernel.functions, self.kernel.body):
                for statement in ir.walk_statements(function.body):
                    for variable, value in _stores(statement):
                        stores.setdefault(variable, []).append(value)
            found = set(stores)
            while True:
                less = {v for v in found if all(_from(value, found) for value in stores[v])}
                if less == found:
                    break
                found = less
            self._arbitrary = frozenset(v for v in found if v.storage == "tile_static")
        return self._arbitrary

    def touches_no_shared_memory(self, node: ir.Node) -> bool:
        """Whether evaluating the expression or place does not access shared memory."""
        key = id(node)
        if key not in self._untouched:
            self._untouched[key] = all(map(self.touches_no_shared_memory, ir.children(node))) and not (
                isinstance(node, ir.Load) and _shared(node.place)
            )
        return self._untouched[key]

    def _may_change(self, place: ir.Place) -> bool:
        """Whether a place may be in memory that other threads change."""
        root = ir.root_of(place)
        return not (isinstance(root, ir.BufferElement) and root.buffer in self.constant) and _shared(place)

    def is_local_only(self, statement: ir.Stmt) -> bool:
        """Whether the statement only changes local variables and private arrays, and neither waits nor returns.

        It may read containers whose memory the kernel does not change.
        """
        key = id(statement)
        if key not in self._local_only:
            self._local_only[key] = self._find_local_only(statement)
        return self._local_only[key]

    def reads_containers(self, statement: ir.Stmt) -> bool:
        """Whether it, or a function that it calls, reads a container."""
        for inner in ir.walk_statements((statement,)):
            if isinstance(inner, ir.Call) and any(map(self.reads_containers, self.functions[inner.function].body)):
                return True
            places = [node.place for node in ir.own_nodes(inner) if isinstance(node, ir.Load)]
            if any(isinstance(ir.root_of(place), ir.BufferElement) for place in places):
                return True
        return False

    def _find_local_only(self, statement: ir.Stmt) -> bool:
        for inner in ir.walk_statements((statement,)):
            if isinstance(inner, (ir.Barrier, ir.Atomic, ir.Return, ir.UniformAssert)):
                return False
            if isinstance(inner, ir.Assign) and _shared(inner.place):
                return False
            if isinstance(inner, ir.Call):
                if not all(map(self.is_local_only, self._body(inner))):
                    return False
                if any(isinstance(a, ir.Place) for a in inner.args):
                    return False
            if self._reads_changing(inner):
                return False
        return True

    def _body(self, call: ir.Call) -> Iterator[ir.Stmt]:
        """The callee's statements, except each `return` whose values do not read memory that may change."""
        for statement in self.functions[call.function].body:
            if not (isinstance(statement, ir.Return) and not self._reads_changing(statement)):
                yield statement

    def _reads_changing(self, statement: ir.Stmt) -> bool:
        return any(isinstance(node, ir.Load) and self._may_change(node.place) for node in ir.own_nodes(statement))

    def waits(self, statement: ir.Stmt) -> bool:
        """Whether it may contain a barrier."""
        for inner in ir.walk_statements((statement,)):
            if isinstance(inner, ir.Barrier):
                return True
            if isinstance(inner, ir.Call) and any(map(self.waits, self.functions[inner.function].body)):
                return True
        return False

    def assigned(self, statement: ir.Stmt) -> frozenset[str]:
        """The local variables, by name, that it may change."""
        key = id(statement)
        if key not in self._assigned:
            self._assigned[key] = frozenset(
                variable.name
                for inner in ir.walk_statements((statement,))
                for variable in targets(inner)
                if not isinstance(variable.type, Array)
            )
        return self._assigned[key]

    def cost(self, block: ir.Block) -> int:
        """The number of statements in one run, including those of callees."""
        key = id(block)
        if key not in self._costs:
            total = 0
            for statement in ir.walk_statements(block):
                total += 1
                if isinstance(statement, ir.Call):
                    total += self.cost(self.functions[statement.function].body)
            self._costs[key] = total
        return self._costs[key]


def _shared(place: ir.Place) -> bool:
    """Whether a place may be in memory that other threads can access."""
    root = ir.root_of(place)
    if isinstance(root, ir.BufferElement):
        return True
    variable = root.variable
    return variable.storage == "tile_static" or (variable.storage == "parameter" and isinstance(variable.type, Array))


def _stores(statement: ir.Stmt) -> Iterator[tuple[ir.Variable, ir.Expr | None]]:
    """The variables that a statement changes, and the stored expression if there is one."""
    if isinstance(statement, ir.Declare):
        return
    value = statement.value if isinstance(statement, ir.Assign) else None
    for variable in ir.results(statement):
        yield variable, value
    for place in ir.changed_places(statement):
        root = ir.root_of(place)
        if isinstance(root, ir.Local):
            yield root.variable, value


def _from(value: ir.Expr | None, variables: set[ir.Variable]) -> bool:
    """Whether a value depends on a container, or on one of the variables."""
    for node in ir.walk(value) if value is not None else ():
        if isinstance(node, ir.Load):
            root = ir.root_of(node.place)
            if isinstance(root, ir.BufferElement) or root.variable in variables:
                return True
    return False
