"""What functions return: one type for all ``return`` statements of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NoReturn

from vkamp.errors import Note, Span
from vkamp.front import convert, references
from vkamp.front.context import Context, NeedsElementsError
from vkamp.front.source import Source
from vkamp.front.values import (
    ArrayRef,
    Constant,
    Element,
    Number,
    Returned,
    TupleValue,
    Value,
    place_parts,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, INT32, Scalar, Struct, Type, common_type


def flatten(ctx: Context, value: Value, node: ast.expr) -> list[ir.Expr]:
    """The run-time values that a returned value consists of."""
    if isinstance(value, TupleValue):
        return [leaf for item in value.items for leaf in flatten(ctx, item, node)]
    if isinstance(value, Element) and isinstance(value.place.type, Struct):
        return [ir.Load(ctx.span(node), value.place.type, value.place)]
    vector = convert.vector(ctx, value, node)
    if vector is not None:
        return [vector]
    if isinstance(value, (Constant, Number, Element)):
        return [convert.natural(ctx, convert.number(ctx, value, node), node)]
    if is_whole_array(value):
        return []
    ctx.fail("VKA212", node, text=ctx.text(node), what=ctx.describe(value))


def is_whole_array(value: Value) -> bool:
    """Whether a value is a private array, which functions return by reference; no part of one."""
    if not isinstance(value, ArrayRef) or value.prefix or not isinstance(value.place, ir.Local):
        return False
    return value.place.variable.storage in ("private", "parameter")


def returned_arrays(value: Value | None) -> list[ir.Variable]:
    """The private arrays of a function that its result consists of: the caller declares them."""
    if isinstance(value, TupleValue):
        return list(dict.fromkeys(array for item in value.items for array in returned_arrays(item)))
    if not isinstance(value, ArrayRef) or not isinstance(value.place, ir.Local):
        return []
    return [value.place.variable] if value.place.variable.storage == "private" else []


def _shape(value: Value) -> Any:
    if isinstance(value, TupleValue):
        return (value.kind, value.names, tuple(_shape(i) for i in value.items))
    return value.place if isinstance(value, ArrayRef) else None


@dataclass(frozen=True)
class Returns:
    """What a function returns: its shape, the types of its numbers, the body, and what its structs may be."""

    result: Value | None
    types: tuple[Type, ...]
    body: ir.Block
    origins: dict[int, tuple[ir.Place, ...]] = field(default_factory=dict)
    #: Where each value of a `return` begins among the numbers that the function returns.
    starts: tuple[int, ...] = ()


def unify_returns(callee: Context, source: Source, body: ir.Block) -> Returns:
    """One result type for all ``return``s of a function; values are converted where they differ."""
    given = [(v, s) for v, s in callee.returns]
    valued = [(v, s) for v, s in given if v is not None]
    if not valued:
        return Returns(None, (), body)
    first, first_span = valued[0]
    missing = next((s for v, s in given if v is None), None)
    if missing is not None or callee.assigned is not None:
        where = missing or callee.span(source.node.body[-1])
        callee.fail("VKA211", where, name=source.name, notes=(Note(first_span, "here it returns a value"),))
    for value, span in valued[1:]:
        if _shape(value) != _shape(first):
            _differ(callee, source, callee.describe(value), callee.describe(first), span, first_span)
    returns = [s for s in ir.walk_statements(body) if isinstance(s, ir.Return)]
    types: list[Type] = [e.type for e in returns[0].values]
    for statement in returns[1:]:
        for k, expr in enumerate(statement.values):
            types[k] = _meet(callee, source, types[k], expr.type, statement.span, first_span)
    results = [_result(callee, [s.values[k] for s in returns], kind) for k, kind in enumerate(types)]

    def change(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Return):
            values = [e for value, result in zip(node.values, results, strict=True) for e in result.values(value)]
            return ir.Return(node.span, tuple(values))
        return node

    new_body = ir.map_block(body, change)
    assert first is not None
    new_types = [kind for result in results for kind in result.types]
    starts = tuple(accumulate((len(r.types) for r in results), initial=0))
    origins = {at: r.origins for at, r in zip(starts, results, strict=False) if r.origins}
    shapes = iter([r.place for r in results])
    return Returns(_reshaped(first, shapes), tuple(new_types), new_body, origins, starts)


@dataclass(frozen=True)
class _Result:
    """One number, vector or struct of what a function returns; ``place``: its place, if it is an element."""

    type: Type
    place: ir.Place | None = None
    origins: tuple[ir.Place, ...] = ()

    @property
    def types(self) -> tuple[Type, ...]:
        if self.place is None:
            return (self.type,)
        return (INT32,) * len(place_parts(self.place))

    def values(self, value: ir.Expr) -> list[ir.Expr]:
        if self.place is not None:
            assert isinstance(value, ir.Load)
            return [convert.cast(p, INT32, p.span) for p in place_parts(value.place)]
        return [convert.cast(value, self.type, value.span) if isinstance(self.type, Scalar) else value]


def _result(callee: Context, values: list[ir.Expr], kind: Type) -> _Result:
    """A struct that exists outside the function is returned by reference, and a new one by value."""
    if not isinstance(kind, Struct):
        return _Result(kind)
    places = [v.place for v in values if isinstance(v, ir.Load)]
    outer = [p for p in places if references.is_outer(p)]
    for place in outer:
        root = ir.root_of(place)
        if isinstance(root, ir.Local) and root.variable.name in callee.borrowed:
            raise NeedsElementsError
    one = references.structure(places[0])
    if len(outer) == len(values) and all(references.structure(p) == one for p in places):
        return _Result(kind, places[0])
    return _Result(kind, None, tuple(outer))


def _reshaped(shape: Value, places: Iterator[ir.Place | None]) -> Value:
    if isinstance(shape, TupleValue):
        return shape.of([_reshaped(i, places) for i in shape.items])
    if isinstance(shape, ArrayRef):
        return shape
    place = next(places)
    return shape if place is None else Returned(place)


def _meet(callee: Context, source: Source, a: Type, b: Type, span: Span, first: Span) -> Type:
    if a == b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar) and BOOL not in (a, b):
        return common_type(a, b)
    words = [callee.describe(Element(ir.Local(span, t, ir.Variable("", t, "local", span)))) for t in (b, a)]
    _differ(callee, source, words[0], words[1], span, first)


def _differ(callee: Context, source: Source, given: str, other: str, span: Span, first: Span) -> NoReturn:
    notes = (Note(first, "the other `return`"),)
    callee.fail("VKA218", span, name=source.name, given=given, other=other, notes=notes)
