"""The values that an integer expression can have: an interval analysis, so that ``//`` and ``%`` cost what they must.

Sound and local: an interval always holds the value, and whatever is not obvious (wrapping sums, memory, results of
calls) has its type's whole range.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import Interval, interval, union, whole
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.dataflow import targets
from vkamp.ir.lowered import Within
from vkamp.ir.types import INT32, Scalar, Type, int_range

_INT_MAX = int_range(INT32)[1]
#: The bytes of the largest buffer that anything addresses.
_LARGEST_BUFFER = 2**32
#: No device has tiles with so many threads, nor subgroups with so many lanes.
_SUBGROUP_MAX = 2**16


def _given(statement: ir.Stmt) -> ir.Expr | ir.For | None:
    """What gives the whole variable that a statement changes its value; ``None`` where that is not known."""
    if isinstance(statement, ir.For):
        return statement
    if isinstance(statement, ir.UniformAssert) or (
        isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local)
    ):
        return statement.value
    return None


class Ranges:
    """Intervals of the expressions of one function of a kernel with tiles of ``tile`` (``None``: untiled).

    ``lanes``: of a kernel whose threads are loops; ``unit``: the bytes of the kernel's smallest type; ``sizes``: known
    components of extents, by container and dimension.
    """

    def __init__(
        self,
        function: ir.Function,
        tile: tuple[int, ...] | None,
        lanes: tuple[int, ...] | None = None,
        unit: int = 4,
        sizes: Mapping[tuple[str, int], int] = MappingProxyType({}),
    ) -> None:
        self._longest = min(_LARGEST_BUFFER // unit, _INT_MAX)
        self._tile = tile
        self._lanes = lanes
        self._sizes = sizes
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
        every = whole(expr.type)
        # Outside the type it wraps.
        return (low, high) if every[0] <= low and high <= every[1] else every

    def non_negative(self, expr: ir.Expr) -> bool:
        """Whether the value is never below zero."""
        return self.of(expr)[0] >= 0

    def _estimate(self, expr: ir.Expr) -> Interval:
        if isinstance(expr, ir.Const):
            return int(expr.value), int(expr.value)
        if isinstance(expr, ir.ThreadIndex):
            return self._thread_index(expr)
        if isinstance(expr, ir.BufferExtent):
            known = self._sizes.get((expr.buffer, expr.dim))
            return (1, self._longest) if known is None else (known, known)
        if isinstance(expr, ir.SubgroupIndex):
            return int(expr.kind in ("size", "count")), _SUBGROUP_MAX
        if isinstance(expr, ir.Load) and isinstance(expr.place, ir.Local) and expr.place.variable.storage != "thread":
            return self._variable(expr.place.variable.name, expr.type)
        if isinstance(expr, ir.ItemIndex):
            low, high = self.of(expr.index)
            last = expr.extent - 1
            return (max(low, 0), min(high, last)) if low <= last and high >= 0 else (0, last)
        if isinstance(expr, Within):
            return whole(expr.kind)
        if isinstance(expr, ir.Select):
            return union(self.of(expr.then), self.of(expr.orelse))
        if isinstance(expr, ir.Cast):
            return self._cast(expr)
        if isinstance(expr, ir.Unary) and expr.op == "neg":
            low, high = self.of(expr.operand)
            return -high, -low
        if isinstance(expr, ir.Builtin):
            return self._builtin(expr)
        if isinstance(expr, ir.Binary) and isinstance(expr.type, Scalar) and expr.type.is_integer:
            return self._binary(expr)
        return whole(expr.type)

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
            return whole(kind)
        self._pending.add(name)
        parts = [self._source(source, kind) for source in sources]
        self._pending.discard(name)
        self._known[name] = union(*parts)
        return self._known[name]

    def _source(self, source: ir.Expr | ir.For | None, kind: Type) -> Interval:
        if source is None:
            return whole(kind)
        if isinstance(source, ir.Expr):
            return self.of(source)
        start, stop, step = self.of(source.start), self.of(source.stop), self.of(source.step)
        up, down = (start[0], max(start[1], stop[1] - 1)), (min(start[0], stop[0] + 1), start[1])
        if step[0] >= 0:
            return up
        return down if step[1] <= 0 else union(up, down)

    def _cast(self, expr: ir.Cast) -> Interval:
        kind = expr.operand.type
        if isinstance(kind, Scalar) and kind.kind in ("int", "uint", "bool"):
            return self.of(expr.operand)
        return whole(expr.type)

    def _builtin(self, expr: ir.Builtin) -> Interval:
        form = BUILTINS[expr.name].integers
        # The arguments of other rows may be floats, which have no interval here: infinities are not whole numbers.
        if form is None or not isinstance(expr.type, Scalar) or not expr.type.is_integer:
            return whole(expr.type)
        return form.interval(*map(self.of, expr.args))

    def _binary(self, expr: ir.Binary) -> Interval:
        assert isinstance(expr.type, Scalar)
        return interval(expr.op, self.of(expr.left), self.of(expr.right), expr.type.bits) or whole(expr.type)


#: Intervals of expressions where nothing is known of variables and tiles.
NO_VARIABLES = Ranges(ir.Function("", "", (), (), (), (), Span("", 0, 0, 0, 0)), None)
