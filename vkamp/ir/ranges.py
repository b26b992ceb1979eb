"""The values that an integer expression can have: an interval analysis, so that ``//`` and ``%`` cost what they must.

Sound and local: an interval always holds the value, and whatever is not obvious (wrapping sums, memory, results of
calls) has its type's whole range.
"""

from __future__ import annotations

from collections.abc import Callable

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import targets
from vkamp.ir.types import INT32, Scalar, Type, int_range

#: The smallest and the largest possible value.
Interval = tuple[int, int]

_INT_MAX = int_range(INT32)[1]
#: The bytes of the largest buffer that anything addresses.
_LARGEST_BUFFER = 2**32
#: No device has tiles of so many threads, nor subgroups of so many lanes.
_SUBGROUP_MAX = 2**16


def _whole(kind: Type) -> Interval:
    """Every value of a scalar type (of floats: nothing is known, and nothing is asked)."""
    if isinstance(kind, Scalar) and kind.is_integer:
        return int_range(kind)
    return (0, 1) if isinstance(kind, Scalar) and kind.kind == "bool" else int_range(INT32)


def _union(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _corners(a: Interval, b: Interval, operation: Callable[[int, int], int]) -> Interval:
    values = [operation(x, y) for x in a for y in b]
    return min(values), max(values)


def _given(statement: ir.Stmt) -> ir.Expr | ir.For | None:
    """What gives the whole variable that a statement changes its value; ``None`` where that is not known."""
    if isinstance(statement, ir.For):
        return statement
    if isinstance(statement, ir.Claim) or (isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local)):
        return statement.value
    return None


class Ranges:
    """Intervals of the expressions of one function of a kernel with tiles of ``tile`` (``None``: untiled).

    ``lanes``: of a kernel whose threads are loops; ``unit``: the bytes of the kernel's smallest type.
    """

    def __init__(
        self,
        function: ir.Function,
        tile: tuple[int, ...] | None,
        lanes: tuple[int, ...] | None = None,
        unit: int = 4,
    ) -> None:
        self._longest = min(_LARGEST_BUFFER // unit, _INT_MAX)
        self._tile = tile
        self._lanes = lanes
        self._values: dict[str, list[ir.Expr | ir.For | None]] = {}
        self._known: dict[str, Interval] = {}
        self._pending: set[str] = set()
        for statement in ir.walk_statements(function.body):
            for variable in targets(statement):
                self._values.setdefault(variable.name, []).append(_given(statement))
        for param in function.params:
            self._values.setdefault(param.name, []).append(None)

    def of(self, expr: ir.Expr) -> Interval:
        """The interval of an integer or bool expression."""
        low, high = self._estimate(expr)
        whole = _whole(expr.type)
        # Outside the type it wraps.
        return (low, high) if whole[0] <= low and high <= whole[1] else whole

    def non_negative(self, expr: ir.Expr) -> bool:
        """Whether the value is never below zero."""
        return self.of(expr)[0] >= 0

    def _estimate(self, expr: ir.Expr) -> Interval:
        if isinstance(expr, ir.Const):
            return int(expr.value), int(expr.value)
        if isinstance(expr, ir.ThreadIndex):
            return self._thread_index(expr)
        if isinstance(expr, ir.BufferExtent):
            return 1, self._longest
        if isinstance(expr, ir.SubgroupIndex):
            return int(expr.kind in ("size", "count")), _SUBGROUP_MAX
        if isinstance(expr, ir.Load) and isinstance(expr.place, ir.Local) and expr.place.variable.storage != "thread":
            return self._variable(expr.place.variable.name, expr.type)
        if isinstance(expr, ir.Select):
            return _union(self.of(expr.then), self.of(expr.orelse))
        if isinstance(expr, ir.Cast):
            return self._cast(expr)
        if isinstance(expr, ir.Unary) and expr.op == "neg":
            low, high = self.of(expr.operand)
            return -high, -low
        if isinstance(expr, ir.Builtin):
            return self._builtin(expr)
        if isinstance(expr, ir.Binary) and isinstance(expr.type, Scalar) and expr.type.is_integer:
            return self._binary(expr)
        return _whole(expr.type)

    def _thread_index(self, expr: ir.ThreadIndex) -> Interval:
        if self._tile is None or expr.kind == "global":
            return 0, _INT_MAX - 1
        if expr.kind == "lane":
            assert self._lanes is not None
            return 0, self._lanes[expr.dim] - 1
        size = self._tile[expr.dim]
        if expr.kind == "local":
            return 0, size - 1
        return (0, _INT_MAX // size - 1) if expr.kind == "tile" else (0, _INT_MAX - size)

    def _variable(self, name: str, kind: Type) -> Interval:
        if name in self._known:
            return self._known[name]
        sources = self._values.get(name)
        if sources is None or name in self._pending:
            return _whole(kind)
        self._pending.add(name)
        parts = [self._source(source, kind) for source in sources]
        self._pending.discard(name)
        result = parts[0]
        for part in parts[1:]:
            result = _union(result, part)
        self._known[name] = result
        return result

    def _source(self, source: ir.Expr | ir.For | None, kind: Type) -> Interval:
        if source is None:
            return _whole(kind)
        if isinstance(source, ir.Expr):
            return self.of(source)
        start, stop, step = self.of(source.start), self.of(source.stop), self.of(source.step)
        up, down = (start[0], max(start[1], stop[1] - 1)), (min(start[0], stop[0] + 1), start[1])
        if step[0] >= 0:
            return up
        return down if step[1] <= 0 else _union(up, down)

    def _cast(self, expr: ir.Cast) -> Interval:
        kind = expr.operand.type
        if isinstance(kind, Scalar) and kind.kind in ("int", "uint", "bool"):
            return self.of(expr.operand)
        return _whole(expr.type)

    def _builtin(self, expr: ir.Builtin) -> Interval:
        # Other rows' arguments may be floats, which have no interval here: infinities are no whole numbers.
        if expr.name not in ("min", "max", "abs") or not isinstance(expr.type, Scalar) or not expr.type.is_integer:
            return _whole(expr.type)
        args = [self.of(a) for a in expr.args]
        if expr.name == "min":
            return min(a[0] for a in args), min(a[1] for a in args)
        if expr.name == "max":
            return max(a[0] for a in args), max(a[1] for a in args)
        low, high = args[0]
        return 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))

    def _binary(self, expr: ir.Binary) -> Interval:
        a, b = self.of(expr.left), self.of(expr.right)
        if expr.op == "add":
            return a[0] + b[0], a[1] + b[1]
        if expr.op == "sub":
            return a[0] - b[1], a[1] - b[0]
        if expr.op == "mul":
            return _corners(a, b, lambda x, y: x * y)
        if expr.op in ("floordiv", "tdiv") and b[0] > 0 and (a[0] >= 0 or expr.op == "floordiv"):
            return _corners(a, b, lambda x, y: x // y)
        if expr.op in ("floormod", "trem") and b[0] > 0 and (a[0] >= 0 or expr.op == "floormod"):
            return 0, min(b[1] - 1, a[1]) if a[0] >= 0 else b[1] - 1
        if expr.op == "shl" and a[0] >= 0 and b[0] >= 0 and b[1] < 32:
            return a[0] << b[0], a[1] << b[1]
        if expr.op == "shr" and b[0] >= 0 and b[1] < 32:
            return _corners(a, b, lambda x, y: x >> y)
        if expr.op == "bitand" and (a[0] >= 0 or b[0] >= 0):
            return 0, min(x[1] for x in (a, b) if x[0] >= 0)
        return _whole(expr.type)
