"""Small constructors of IR for the tests of the reference accelerator."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vkamp import sim
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.fences import FENCES
from vkamp.ir.types import BOOL, FLOAT32, INT32, SCALARS, Array, Scalar, Type
from vkamp.ir.verify import verify

_lines = itertools.count(1)


def at(line: int | None = None) -> Span:
    """A place of its own, or the given line."""
    line = next(_lines) if line is None else line
    return Span("kernel.py", line, 4, line, 9, "kernel")


Value = ir.Expr | ir.Place | ir.Variable | bool | int | float


def value(what: Value, kind: Scalar | None = None) -> ir.Expr:
    """An expression: variables and places are loaded, numbers are constants."""
    if isinstance(what, ir.Expr):
        return what
    if isinstance(what, ir.Variable):
        what = ir.Local(at(), what.type, what)
    if isinstance(what, ir.Place):
        return ir.Load(what.span, what.type, what)
    if kind is None:
        kind = BOOL if isinstance(what, bool) else INT32 if isinstance(what, int) else FLOAT32
    return ir.Const(at(), kind, what)


def binary(op: Any, left: Value, right: Value) -> ir.Binary:
    """``left op right``; a plain number takes the other's type."""
    left, right = _pair(left, right)
    return ir.Binary(at(), left.type, op, left, right)


def compare(op: Any, left: Value, right: Value) -> ir.Compare:
    left, right = _pair(left, right)
    return ir.Compare(at(), BOOL, op, left, right)


def _pair(left: Value, right: Value) -> tuple[ir.Expr, ir.Expr]:
    if isinstance(left, (int, float)) and not isinstance(right, (int, float)):
        right = value(right)
        return value(left, right.type), right
    left = value(left)
    return left, value(right, left.type)


def add(left: Value, right: Value) -> ir.Binary:
    return binary("add", left, right)


def mul(left: Value, right: Value) -> ir.Binary:
    return binary("mul", left, right)


def call(name: str, *args: Value, kind: Scalar) -> ir.Builtin:
    return ir.Builtin(at(), kind, name, tuple(map(value, args)))


def cast(kind: Scalar, what: Value) -> ir.Cast:
    return ir.Cast(at(), kind, value(what))


def index(kind: Any, dim: int = 0) -> ir.ThreadIndex:
    return ir.ThreadIndex(at(), INT32, kind, dim)


G, L, T = index("global"), index("local"), index("tile")


def scalar(name: str, kind: Scalar) -> ir.ScalarValue:
    return ir.ScalarValue(at(), kind, name)


def var(name: str, kind: Type = INT32) -> ir.Variable:
    storage: Any = "private" if isinstance(kind, Array) else "local"
    return ir.Variable(name, kind, storage, at())


def parameter(name: str, kind: Type) -> ir.Variable:
    return ir.Variable(name, kind, "parameter", at())


def static(name: str, kind: Type, *shape: int) -> ir.Variable:
    return ir.Variable(name, Array(kind, shape), "tile_static", at())


def local(variable: ir.Variable) -> ir.Local:
    return ir.Local(at(), variable.type, variable)


def element(base: ir.Variable | ir.Place, *indices: Value, line: int | None = None) -> ir.Place:
    """An element of a kernel array."""
    place = local(base) if isinstance(base, ir.Variable) else base
    assert isinstance(place.type, Array)
    return ir.ArrayElement(at(line), place.type.element, place, tuple(map(value, indices)))


def field(base: ir.Variable | ir.Place, name: str) -> ir.FieldOf:
    place = local(base) if isinstance(base, ir.Variable) else base
    member = place.type.field(name)
    return ir.FieldOf(at(), member.type, place, name)


def buf(name: str, *indices: Value, kind: Type = INT32, line: int | None = None) -> ir.BufferElement:
    return ir.BufferElement(at(line), kind, name, tuple(map(value, indices)))


def put(place: ir.Place | ir.Variable, what: Value, line: int | None = None) -> ir.Assign:
    if isinstance(place, ir.Variable):
        place = local(place)
    kind = place.type if isinstance(place.type, Scalar) else None
    return ir.Assign(at(line), place, value(what, kind))


def if_(condition: Value, then: Sequence[ir.Stmt], orelse: Sequence[ir.Stmt] = ()) -> ir.If:
    return ir.If(at(), value(condition), tuple(then), tuple(orelse))


def for_(variable: ir.Variable, start: Value, stop: Value, step: Value, *body: ir.Stmt) -> ir.For:
    return ir.For(at(), variable, value(start), value(stop), value(step), body)


def while_(condition: Value, *body: ir.Stmt) -> ir.While:
    return ir.While(at(), value(condition), body)


def barrier(name: str = "wait", line: int | None = None) -> ir.Barrier:
    return ir.Barrier(at(line), FENCES[name])


def atomic(
    name: str,
    place: ir.Place,
    *args: Value,
    result: ir.Variable | None = None,
    expected: ir.Variable | None = None,
) -> ir.Atomic:
    values = tuple(value(a, place.type) for a in args)
    return ir.Atomic(at(), name, place, values, result, local(expected) if expected else None)


def returns(*values: Value) -> ir.Return:
    return ir.Return(at(), tuple(map(value, values)))


def function(
    name: str,
    params: Sequence[ir.Variable],
    results: Sequence[Type],
    body: Sequence[ir.Stmt],
    variables: Sequence[ir.Variable] = (),
) -> ir.Function:
    return ir.Function(name, name, tuple(params), tuple(results), tuple(variables), tuple(body), at())


def kernel(
    body: Sequence[ir.Stmt],
    *,
    buffers: Mapping[str, tuple[Type, int]],
    rank: int = 1,
    tile: tuple[int, ...] | None = None,
    scalars: Mapping[str, Scalar] | None = None,
    functions: Sequence[ir.Function] = (),
    checked: bool = True,
) -> ir.Kernel:
    """A kernel over these containers (element type and rank); its variables are those that are used."""
    found: dict[str, ir.Variable] = {}
    statics: dict[str, ir.Variable] = {}
    for part in (*body, *(s for f in functions for s in f.body)):
        for node in ir.walk(part):
            for variable in _variables(node):
                if variable.storage == "tile_static":
                    statics[variable.name] = variable
    for part in body:
        for node in ir.walk(part):
            found.update({v.name: v for v in _variables(node) if v.storage != "tile_static"})
    params = [
        ir.BufferParam(name, kind, rank_, False, False, i, at())
        for i, (name, (kind, rank_)) in enumerate(buffers.items())
    ]
    values = tuple(ir.ScalarParam(n, k, at()) for n, k in (scalars or {}).items())
    main = function("kernel", (), (), body, tuple(found.values()))
    made = ir.Kernel(
        "kernel", rank, tile, "t_idx" if tile else "idx", tuple(params), values,
        tuple(statics.values()), tuple(functions), main, True, (), at(),
    )  # fmt: skip
    if checked:
        verify(made)
    return made


def _variables(node: ir.Node) -> list[ir.Variable]:
    """The variables that a node names; calls' results are locals of the caller too."""
    held = (getattr(node, name, None) for name in ("variable", "result"))
    many = getattr(node, "results", ())
    return [v for v in (*held, *many) if isinstance(v, ir.Variable)]


def compute(what: ir.Expr, **scalars: Any) -> Any:
    """The value of an expression over captured scalars: typed like their numpy values."""
    types = {name: BOOL if type(v) is bool else SCALARS[v.dtype.name] for name, v in scalars.items()}
    kind = INT32 if what.type == BOOL else what.type
    stored = cast(INT32, what) if what.type == BOOL else what
    out = np.zeros(1, kind.dtype)
    made = kernel([put(buf("out", 0, kind=kind), stored)], buffers={"out": (kind, 1)}, scalars=types)
    sim.run(made, (1,), {"out": out}, scalars)
    return bool(out[0]) if what.type == BOOL else out[0]
