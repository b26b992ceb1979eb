"""How many iterations the loops of a kernel have: some drivers end all of them after so many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import own_nodes, targets
from vkamp.ir.rewrite import contains
from vkamp.ir.types import INT32
from vkamp.lower.bounds import linear

#: Components of containers' extents, by container and dimension.
Sizes = Mapping[tuple[str, int], int]

#: More iterations of one loop are not counted.
_MAX = 1 << 20

_STEPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else a,
    "shl": lambda a, b: a << min(b, 32),
    "shr": lambda a, b: a >> b,
}
_CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "ne": lambda a, b: a != b,
}


def loop_count(kernel: ir.Kernel) -> int:
    """The loops in a kernel's text."""
    return sum(isinstance(s, (ir.For, ir.While)) for s in kernel.statements())


def turns(kernel: ir.Kernel, sizes: Sizes = MappingProxyType({})) -> int | None:
    """The most iterations that all loops of an invocation have together, ``None`` if that cannot be told.

    ``sizes``: what is known of the containers' extents.
    """
    counts: dict[str, int] = {}
    for function in (*kernel.functions, kernel.body):
        count = _Counter(function, counts, sizes).block(function.body)
        if count is None:
            return None
        counts[function.name] = count
    return counts[kernel.body.name]


def sizes_in_loops(kernel: ir.Kernel) -> frozenset[tuple[str, int]]:
    """The components of extents that decide how often a kernel's loops may run."""
    found: set[tuple[str, int]] = set()
    for function in (*kernel.functions, kernel.body):
        for statement in ir.walk_statements(function.body):
            if isinstance(statement, (ir.For, ir.While)) or (
                isinstance(statement, ir.Assign) and statement.value.type == INT32
            ):
                found |= {(n.buffer, n.dim) for n in own_nodes(statement) if isinstance(n, ir.BufferExtent)}
    return frozenset(found)


class _Counter:
    """Counts the iterations in a function whose callees are counted."""

    def __init__(self, function: ir.Function, counts: Mapping[str, int], sizes: Sizes) -> None:
        self.function = function
        self.counts = counts
        self.sizes = sizes
        self.values: dict[str, list[ir.Expr | None]] = {}
        for statement in ir.walk_statements(function.body):
            value = (
                statement.value if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local) else None
            )
            for variable in targets(statement):
                self.values.setdefault(variable.name, []).append(value)

    def block(self, block: ir.Block) -> int | None:
        total = 0
        for statement in block:
            times = self.times(statement)
            if times is None:
                return None
            inner = 0
            for nested in ir.blocks(statement):
                count = self.block(nested)
                if count is None:
                    return None
                inner += count
            is_loop = isinstance(statement, (ir.For, ir.While))
            total += times * (1 + inner) if is_loop else inner
            if isinstance(statement, ir.Call):
                total += self.counts[statement.function]
        return total

    def times(self, statement: ir.Stmt) -> int | None:
        """The iterations of a loop, at most; of other statements none."""
        if isinstance(statement, ir.While):
            return _times_of_while(statement, self.function)
        if not isinstance(statement, ir.For):
            return 0
        start, stop, step = statement.start, statement.stop, self.value(statement.step)
        if step is None or step == 0:
            return None
        # From a lane's first thread to the end of its row, say.
        (first, low), (last, high) = linear(start), linear(stop)
        if first == last:
            return len(range(low, high, step))
        begin, end = self.value(start), self.value(stop)
        return None if begin is None or end is None else len(range(begin, end, step))

    def value(self, expr: ir.Expr) -> int | None:
        """What an expression is, or is at most for the lane with most to do."""
        if isinstance(expr, ir.Const):
            return int(expr.value)
        if isinstance(expr, ir.ThreadIndex) and expr.kind == "lane":
            return 0
        if isinstance(expr, ir.BufferExtent):
            return self.sizes.get((expr.buffer, expr.dim))
        if isinstance(expr, ir.Load) and isinstance(expr.place, ir.Local):
            given = self.values.get(expr.place.variable.name, [])
            return self.value(given[0]) if len(given) == 1 and given[0] is not None else None
        if isinstance(expr, ir.Builtin) and expr.name == "min":
            # The threads that a condition lets act are not more than there are.
            known = [v for v in map(self.value, expr.args) if v is not None]
            return min(known, default=None)
        if isinstance(expr, ir.Binary) and expr.op in _STEPS and expr.type == INT32:
            left, right = self.value(expr.left), self.value(expr.right)
            return None if left is None or right is None else _STEPS[expr.op](left, right)
        return None


def _times_of_while(loop: ir.While, function: ir.Function) -> int | None:
    """Of a loop that counts a variable from a constant to a constant, in equal steps or by equal factors."""
    condition = loop.condition
    if not isinstance(condition, ir.Compare) or not isinstance(condition.right, ir.Const):
        return None
    name = _variable(condition.left)
    test = _CONDITIONS.get(condition.op)
    assigns = [s for s in ir.walk_statements(function.body) if any(v.name == name for v in targets(s))]
    if name is None or test is None or len(assigns) != 2 or contains(loop.body, lambda s: isinstance(s, ir.Continue)):
        return None
    first, update = assigns
    if not (isinstance(first, ir.Assign) and isinstance(first.value, ir.Const) and isinstance(update, ir.Assign)):
        return None
    change = update.value
    if not any(s is update for s in loop.body) or not isinstance(change, ir.Binary) or change.op not in _STEPS:
        return None
    if change.type != INT32 or _variable(change.left) != name or not isinstance(change.right, ir.Const):
        return None
    value, by, end = int(first.value.value), int(change.right.value), int(condition.right.value)
    count = 0
    while test(value, end):
        count += 1
        value = _STEPS[change.op](value, by)
        if count > _MAX or not -(2**31) <= value < 2**31:
            return None
    return count


def _variable(expr: ir.Expr) -> str | None:
    is_variable = isinstance(expr, ir.Load) and isinstance(expr.place, ir.Local)
    return expr.place.variable.name if is_variable else None  # type: ignore[attr-defined]
