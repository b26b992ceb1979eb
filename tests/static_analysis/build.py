"""Small constructors of IR for the tests of the analyses; every kernel made here passes the verifier."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Sequence

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.fences import FENCES
from vkamp.ir.types import BOOL, FLOAT32, INT32, UINT32, Array, Scalar, Type
from vkamp.ir.verify import verify

NOWHERE = Span("nowhere.py", 1, 0, 1, 1)
Operand = ir.Expr | ir.Variable | ir.Place | int | bool | float


class Source:
    """A Python text that messages can quote; ``at`` finds the spans in it."""

    def __init__(self, name: str, text: str, function: str = "k") -> None:
        text = textwrap.dedent(text).lstrip("\n")
        self.lines = text.splitlines(keepends=True)
        self.name, self.function = name, function
        linecache.cache[name] = (len(text), None, self.lines, name)

    def at(self, line: int, text: str) -> Span:
        """The place of ``text`` in a line (1-based)."""
        column = self.lines[line - 1].index(text)
        return Span(self.name, line, column, line, column + len(text), self.function)


def expr(value: Operand, like: Type = INT32) -> ir.Expr:
    """A literal, or the value of a variable or place."""
    if isinstance(value, ir.Expr):
        return value
    if isinstance(value, ir.Variable):
        value = here(value)
    if isinstance(value, ir.Place):
        return ir.Load(value.span, value.type, value)
    if isinstance(value, bool):
        return ir.Const(NOWHERE, BOOL, value)
    if isinstance(value, float) or like == FLOAT32:
        return ir.Const(NOWHERE, FLOAT32, float(value))
    return ir.Const(NOWHERE, UINT32 if like == UINT32 else INT32, value)


def here(variable: ir.Variable, span: Span = NOWHERE) -> ir.Local:
    """The whole variable as a place."""
    return ir.Local(span, variable.type, variable)


def get(place: ir.Variable | ir.Place, span: Span = NOWHERE) -> ir.Load:
    """Its value, read at ``span``."""
    place = here(place, span) if isinstance(place, ir.Variable) else place
    return ir.Load(span, place.type, place)


def index(kind: str, dim: int = 0, span: Span = NOWHERE) -> ir.ThreadIndex:
    return ir.ThreadIndex(span, INT32, kind, dim)  # type: ignore[arg-type]


def local(dim: int = 0, span: Span = NOWHERE) -> ir.ThreadIndex:
    return index("local", dim, span)


def scalar(name: str = "n", kind: Scalar = INT32) -> ir.ScalarValue:
    return ir.ScalarValue(NOWHERE, kind, name)


def compare(op: str, left: Operand, right: Operand, span: Span = NOWHERE) -> ir.Compare:
    first = expr(left)
    return ir.Compare(span, BOOL, op, first, expr(right, first.type))  # type: ignore[arg-type]


def eq(left: Operand, right: Operand, span: Span = NOWHERE) -> ir.Compare:
    return compare("eq", left, right, span)


def lt(left: Operand, right: Operand, span: Span = NOWHERE) -> ir.Compare:
    return compare("lt", left, right, span)


def binary(op: str, left: Operand, right: Operand, span: Span = NOWHERE) -> ir.Binary:
    first = expr(left)
    return ir.Binary(span, first.type, op, first, expr(right, first.type))  # type: ignore[arg-type]


def add(left: Operand, right: Operand, span: Span = NOWHERE) -> ir.Binary:
    return binary("add", left, right, span)


def both(left: ir.Expr, right: ir.Expr) -> ir.Logical:
    return ir.Logical(NOWHERE, BOOL, "and", left, right)


def select(condition: ir.Expr, then: Operand, orelse: Operand) -> ir.Select:
    return ir.Select(NOWHERE, expr(then).type, condition, expr(then), expr(orelse))


def var(name: str, kind: Type = INT32, span: Span = NOWHERE) -> ir.Variable:
    return ir.Variable(name, kind, "local", span)


def param(name: str, kind: Type = INT32, span: Span = NOWHERE) -> ir.Variable:
    return ir.Variable(name, kind, "parameter", span)


def private(name: str, *shape: int, of: Type = INT32) -> ir.Variable:
    return ir.Variable(name, Array(of, shape), "private", NOWHERE)


def shared(name: str, *shape: int, of: Type = INT32) -> ir.Variable:
    return ir.Variable(name, Array(of, shape), "tile_static", NOWHERE)


def item(array: ir.Variable | ir.Place, *indices: Operand, span: Span = NOWHERE) -> ir.ArrayElement:
    """An element of an array in the kernel."""
    base = here(array, span) if isinstance(array, ir.Variable) else array
    assert isinstance(base.type, Array)
    return ir.ArrayElement(span, base.type.element, base, tuple(map(expr, indices)))


#: The captures of every kernel: containers by name, and the scalar ``n``.
BUFFERS = {
    "data": (INT32, 1),
    "matrix": (FLOAT32, 2),
    "averages": (FLOAT32, 2),
    "counts": (UINT32, 1),
}


def element(buffer: str, *indices: Operand, span: Span = NOWHERE) -> ir.BufferElement:
    """An element of one of :data:`BUFFERS`."""
    return ir.BufferElement(span, BUFFERS[buffer][0], buffer, tuple(map(expr, indices)))


def let(target: ir.Variable | ir.Place, value: Operand, span: Span = NOWHERE, *, update: bool = False) -> ir.Assign:
    place = here(target, span) if isinstance(target, ir.Variable) else target
    return ir.Assign(span, place, expr(value, place.type), update)


def increase(place: ir.Place, value: Operand, span: Span = NOWHERE, op: str = "add") -> ir.Assign:
    """``place op= value``."""
    return let(place, binary(op, place, value), span, update=True)


def when(condition: ir.Expr, *then: ir.Stmt, orelse: Sequence[ir.Stmt] = ()) -> ir.If:
    return ir.If(condition.span, condition, then, tuple(orelse))


def count(
    variable: ir.Variable,
    stop: Operand,
    *body: ir.Stmt,
    start: Operand = 0,
    step: Operand = 1,
    span: Span = NOWHERE,
) -> ir.For:
    return ir.For(span, variable, expr(start), expr(stop), expr(step), body)


def repeat(condition: ir.Expr | bool, *body: ir.Stmt) -> ir.While:
    return ir.While(NOWHERE, expr(condition), body)


def barrier(kind: str = "wait", span: Span = NOWHERE) -> ir.Barrier:
    return ir.Barrier(span, FENCES[kind])


def tile_static_barrier(span: Span = NOWHERE) -> ir.Barrier:
    return barrier("wait_with_tile_static_memory_fence", span)


def leave(span: Span = NOWHERE) -> ir.Break:
    return ir.Break(span)


def skip(span: Span = NOWHERE) -> ir.Continue:
    return ir.Continue(span)


def back(*values: Operand, span: Span = NOWHERE) -> ir.Return:
    return ir.Return(span, tuple(map(expr, values)))


def claim(target: ir.Variable, value: Operand, span: Span = NOWHERE) -> ir.UniformAssert:
    return ir.UniformAssert(span, target, expr(value, target.type))


def fetch_add(place: ir.Place, value: Operand, result: ir.Variable | None = None, span: Span = NOWHERE) -> ir.Atomic:
    return ir.Atomic(span, "atomic_fetch_add", place, (expr(value, place.type),), result)


def call(
    function: ir.Function,
    *args: Operand,
    to: ir.Variable | Sequence[ir.Variable | None] = (),
    span: Span = NOWHERE,
) -> ir.Call:
    passed: list[ir.Expr | ir.Place] = []
    for argument in args:
        by_reference = isinstance(argument, ir.Variable) and isinstance(argument.type, Array)
        passed.append(here(argument) if by_reference else expr(argument))  # type: ignore[arg-type]
    results = (to,) if isinstance(to, ir.Variable) else tuple(to)
    return ir.Call(span, function.name, tuple(passed), results)


def _variables(block: ir.Block) -> list[ir.Variable]:
    """Every variable that occurs, in order."""
    found: dict[ir.Variable, None] = {}

    def note(node: ir.Node) -> None:
        for each in ir.walk(node):
            if isinstance(each, (ir.Local, ir.For, ir.Declare)):
                found.setdefault(each.variable)
            elif isinstance(each, ir.Call):
                found.update((v, None) for v in each.results if v is not None)
            elif isinstance(each, (ir.Atomic, ir.Subgroup)) and each.result is not None:
                found.setdefault(each.result)
            elif isinstance(each, ir.UniformAssert):
                found.setdefault(each.variable)

    for statement in block:
        note(statement)
    return list(found)


def _own(block: ir.Block) -> tuple[ir.Variable, ...]:
    return tuple(v for v in _variables(block) if v.storage in ("local", "private"))


def func(
    name: str,
    params: Sequence[ir.Variable],
    *body: ir.Stmt,
    results: Sequence[Type] = (),
) -> ir.Function:
    """A device function; its locals are those that its body names."""
    return ir.Function(name, name, tuple(params), tuple(results), _own(body), body, NOWHERE)


def kernel(
    *body: ir.Stmt,
    functions: Sequence[ir.Function] = (),
    tile: tuple[int, ...] | None = (4, 3),
    index_name: str = "t_idx",
) -> ir.Kernel:
    """A verified kernel; tile_static memory and locals are those that are named in it."""
    buffers = tuple(
        ir.BufferParam(name, kind, rank, False, True, number, NOWHERE)
        for number, (name, (kind, rank)) in enumerate(BUFFERS.items())
    )
    statics: dict[ir.Variable, None] = {}
    for block in (*(f.body for f in functions), body):
        statics.update((v, None) for v in _variables(block) if v.storage == "tile_static")
    result = ir.Kernel(
        name="k",
        rank=2 if tile is None else len(tile),
        tile=tile,
        index_name=index_name,
        buffers=buffers,
        scalars=(ir.ScalarParam("n", INT32, NOWHERE),),
        tile_statics=tuple(statics),
        functions=tuple(functions),
        body=ir.Function("k", "k", (), (), _own(body), body, NOWHERE),
        precise=False,
        constants=(),
        span=NOWHERE,
    )
    verify(result)
    return result
