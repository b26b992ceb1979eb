"""The number of iterations of a kernel's loops: some drivers end all loops after a number of iterations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import affine
from vkamp.ir.arithmetic import COMPARISONS, folded
from vkamp.ir.dataflow import targets
from vkamp.ir.ranges import Ranges
from vkamp.ir.rewrite import contains
from vkamp.ir.types import INT32

#: Components of containers' extents, by container and dimension.
Sizes = Mapping[tuple[str, int], int]

#: So many iterations, or more, are not counted.
_MAX = 1 << 20


def loop_count(kernel: ir.Kernel) -> int:
    """The loops in a kernel's text."""
    return sum(isinstance(s, (ir.For, ir.While)) for s in kernel.statements())


def max_iterations(kernel: ir.Kernel, sizes: Sizes = MappingProxyType({})) -> int | None:
    """The most iterations that all loops of an invocation can have together; ``None`` if that is not known.

    ``sizes``: what is known of the containers' extents.
    """
    counts: dict[str, int] = {}
    for function in (*kernel.functions, kernel.body):
        ranges = Ranges(function, kernel.tile, kernel.lanes, sizes=sizes)
        counts[function.name] = _Counter(function, counts, ranges).block(function.body)
    total = counts[kernel.body.name]
    return total if total < _MAX else None


def sizes_in_loops(kernel: ir.Kernel) -> frozenset[tuple[str, int]]:
    """The components of extents that decide how often a kernel's loops may run."""
    found: set[tuple[str, int]] = set()
    for statement in kernel.statements():
        is_number = isinstance(statement, ir.Assign) and statement.value.type == INT32
        if is_number or isinstance(statement, (ir.For, ir.While)):
            found |= {(n.buffer, n.dim) for n in ir.own_nodes(statement) if isinstance(n, ir.BufferExtent)}
    return frozenset(found)


class _Counter:
    """Counts the iterations in a function whose callees are counted."""

    def __init__(self, function: ir.Function, counts: Mapping[str, int], ranges: Ranges) -> None:
        self.function = function
        self.counts = counts
        self.ranges = ranges

    def block(self, block: ir.Block) -> int:
        total = 0
        for statement in block:
            inner = sum(map(self.block, ir.blocks(statement)))
            if isinstance(statement, ir.For):
                inner = self._times_of_for(statement) * (1 + inner)
            elif isinstance(statement, ir.While):
                inner = _times_of_while(statement, self.function) * (1 + inner)
            elif isinstance(statement, ir.Call):
                inner = self.counts[statement.function]
            total += inner
        return total

    def _times_of_for(self, loop: ir.For) -> int:
        """The iterations of a loop, at most."""
        start, stop, step = (self.ranges.of(bound) for bound in (loop.start, loop.stop, loop.step))
        if step[0] <= 0 <= step[1]:
            return _MAX
        slowest = step[0] if step[0] > 0 else step[1]
        (first, low), (last, high) = affine(loop.start), affine(loop.stop)
        # From a lane's first thread to the end of its row, say. Sums that wrap shorten a loop that is not empty.
        if first != last or (high - low) * slowest < 0:
            low, high = (start[0], stop[1]) if slowest > 0 else (start[1], stop[0])
        return len(range(low, high, slowest))


def _times_of_while(loop: ir.While, function: ir.Function) -> int:
    """Of a loop that counts a variable from a constant to a constant, in equal steps or by equal factors."""
    condition = loop.condition
    if not isinstance(condition, ir.Compare) or not isinstance(condition.right, ir.Const):
        return _MAX
    name = _variable(condition.left)
    assigns = [s for s in ir.walk_statements(function.body) if any(v.name == name for v in targets(s))]
    if name is None or len(assigns) != 2 or contains(loop.body, lambda s: isinstance(s, ir.Continue)):
        return _MAX
    first, update = assigns
    if not (isinstance(first, ir.Assign) and isinstance(first.value, ir.Const) and isinstance(update, ir.Assign)):
        return _MAX
    change = update.value
    if not any(s is update for s in loop.body) or not isinstance(change, ir.Binary):
        return _MAX
    if change.type != INT32 or _variable(change.left) != name or not isinstance(change.right, ir.Const):
        return _MAX
    value, by, end = int(first.value.value), int(change.right.value), int(condition.right.value)
    for count in range(_MAX):
        if not COMPARISONS[condition.op].apply(value, end):
            return count
        following = folded(change.op, value, by, INT32)
        if following is None:
            break
        value = following
    return _MAX


def _variable(expr: ir.Expr) -> str | None:
    local = ir.read_local(expr)
    return None if local is None else local.variable.name
