"""The thread's index, and the operators of ``index`` and ``extent``."""

from __future__ import annotations

import ast
from typing import Any, Literal, NoReturn

from vkamp.errors import Span
from vkamp.front import advice, convert
from vkamp.front.context import Context
from vkamp.front.convert import OPERATION, SYMBOL, is_zero
from vkamp.front.values import (
    Constant,
    Element,
    Number,
    ThreadRef,
    TupleValue,
    Value,
)
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import operation
from vkamp.ir.types import INT32, Scalar

#: Which of a thread's indices.
ThreadKind = Literal["global", "local", "tile", "tile_origin"]


def thread_index(ctx: Context, kind: ThreadKind, span: Span) -> TupleValue:
    """``t_idx.global_``, ``t_idx.local`` and the other indices of a thread."""
    items = tuple(Number(ir.ThreadIndex(span, INT32, kind, dim)) for dim in range(ctx.module.rank))
    return TupleValue(items, "index")


def thread_value(ctx: Context, value: Value, node: ast.AST) -> Value:
    """The global index of a tiled index that is used as an index."""
    if isinstance(value, ThreadRef):
        return thread_index(ctx, "global", ctx.span(node))
    return value


def is_index(value: Value) -> bool:
    return isinstance(value, ThreadRef) or (isinstance(value, TupleValue) and value.kind != "tuple")


#: Indices and extents divide as C does.
_INDEX_OPS: dict[type[ast.AST], Any] = {
    **{op: OPERATION[op] for op in (ast.Add, ast.Sub, ast.Mult)},
    ast.Div: "tdiv",
    ast.Mod: "trem",
}


def index_arithmetic(ctx: Context, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    """AMP's operators on index and extent: component by component, ``/`` and ``%`` truncate as in C."""
    left, right = thread_value(ctx, left, node), thread_value(ctx, right, node)
    kinds = (
        left.kind if isinstance(left, TupleValue) else "int",
        right.kind if isinstance(right, TupleValue) else "int",
    )
    both = {
        ("index", "index"): "index", ("extent", "extent"): "extent", ("extent", "index"): "extent",
        ("index", "tuple"): "index", ("extent", "tuple"): "extent",
    }  # fmt: skip
    scalar = {("index", "int"), ("int", "index"), ("extent", "int"), ("int", "extent")}
    name = _INDEX_OPS.get(type(op))
    whole = name in ("add", "sub")
    numbers = [v for v in (left, right) if not isinstance(v, TupleValue)]
    if name is None or not (kinds in scalar or (kinds in both and whole)) or not all(map(_is_whole, numbers)):
        _no_index_operator(ctx, op, left, right, node)
    rank = len(left.items) if isinstance(left, TupleValue) else 0
    if isinstance(right, TupleValue):
        if rank and len(right.items) != rank:
            ctx.fail("VKA309", node, left=ctx.describe(left), right=ctx.describe(right))
        rank = len(right.items)
    a_items = left.items if isinstance(left, TupleValue) else (left,) * rank
    b_items = right.items if isinstance(right, TupleValue) else (right,) * rank
    kind = both.get(kinds) or (kinds[0] if kinds[0] != "int" else kinds[1])
    span = ctx.span(node)
    items: list[Value] = []
    for a, b in zip(a_items, b_items, strict=True):
        x = _component(ctx, a, node)
        y = _component(ctx, b, node)
        if name in ("tdiv", "trem") and is_zero(b, y):
            ctx.fail("VKA310", node)
        items.append(Number(operation(span, INT32, name, x, y)))
    return TupleValue(tuple(items), kind)


def _is_whole(value: Value) -> bool:
    """Whether a value may be the int of an operator on indices."""
    if isinstance(value, Element):
        return isinstance(value.place.type, Scalar) and value.place.type.is_integer
    if isinstance(value, Number):
        return isinstance(value.expr.type, Scalar) and value.expr.type.is_integer
    return isinstance(value, Constant) and convert.scalar_type(value).is_integer


def _no_index_operator(ctx: Context, op: ast.operator, left: Value, right: Value, node: ast.AST) -> NoReturn:
    symbol = SYMBOL[type(op)]
    help_text = (
        "compute with their components, such as `idx[0]`; indices and extents have + and - with each other, "
        "and + - * / % with an int"
    )
    if isinstance(op, ast.FloorDiv) and not isinstance(right, TupleValue):
        help_text = f"write `{symbol[:1]}`, which divides each component and truncates"
    ctx.fail("VKA322", node, op=symbol, left=ctx.describe(left), right=ctx.describe(right), advice=help_text)


def _component(ctx: Context, value: Value, node: ast.AST) -> ir.Expr:
    assert isinstance(node, (ast.expr, ast.stmt))
    found = convert.number(ctx, value, node)  # type: ignore[arg-type]
    if not convert.scalar_type(found).is_integer:
        help_text = convert.whole_number(ctx, found, node)  # type: ignore[arg-type]
        given = advice.with_article(convert.scalar_type(found))
        ctx.fail("VKA314", node, text=ctx.text(node), given=given, advice=help_text)
    return convert.convert(ctx, found, INT32, node)  # type: ignore[arg-type]
