"""Components of short vectors by their numbers: ``v[0]``, and ``v[k]``, which the run time chooses.

A chosen component is read by comparisons of the subscript, and assigned by branches.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from vkamp.errors import Span
from vkamp.front import convert, vectors
from vkamp.front.atomics import fixed_place
from vkamp.front.choices import choose_item, fixed_index
from vkamp.front.context import Context
from vkamp.front.expressions import binary
from vkamp.front.values import Element, Number, TupleValue, Value
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, Vector


@dataclass(frozen=True)
class VectorItem(Number):
    """A component that the run time chooses of a vector in place."""

    places: tuple[ir.Place, ...] = ()
    index: ir.Expr | None = None


def components(ctx: Context, owner: Value, kind: Vector, node: ast.Subscript) -> tuple[Value, ...]:
    """All components of a vector, in place if the vector is."""
    parts = [ast.copy_location(ast.Attribute(node.value, letter, ast.Load()), node) for letter in kind.letters]
    if isinstance(owner, Number) and not isinstance(owner.expr, (ir.Construct, ir.Swizzle)):
        owner = Number(ctx.stable(owner.expr, "vector"))
    return tuple(vectors.attribute(ctx, owner, kind, part.attr, part) for part in parts)


def chosen(ctx: Context, items: tuple[Value, ...], index: ir.Expr, node: ast.Subscript) -> Value:
    """The component that ``index`` chooses."""
    index = fixed_index(ctx, index)
    found = choose_item(ctx, TupleValue(items), index, node)
    places = tuple(item.place for item in items if isinstance(item, Element))
    return VectorItem(found.expr, places=places, index=index) if places and isinstance(found, Number) else found


def augment_chosen(ctx: Context, node: ast.AugAssign, item: VectorItem, result_node: ast.expr) -> None:
    """``v[k] += value``, of the component that ``k`` chooses before the effects of the value."""
    item = replace(item, places=tuple(fixed_place(ctx, place) for place in item.places))
    before = len(ctx.block)
    old: Value = item
    right = ctx.expr(node.value)
    if ctx.has_effects(before):
        assert item.index is not None
        old, at = ctx.keep(item, before)
        item = replace(item, index=ctx.temporary("component", item.index, at))
    result = binary(ctx, node.op, old, right, node, node.target, node.value)
    text = ctx.text(node.target)
    expr = convert.assignable(ctx, result, item.expr.type, result_node, f"`{text}`", None, f"{text} = ")
    store_chosen(ctx, item, expr, ctx.span(node), update=True)


def store_chosen(ctx: Context, item: VectorItem, value: ir.Expr, span: Span, *, update: bool = False) -> None:
    """Assigns the chosen component; the others, which other threads may change, stay as they are."""
    assert item.index is not None
    value = ctx.stable(value, "value")
    branches: ir.Block = (ir.Assign(span, item.places[-1], value, update=update),)
    for k in reversed(range(len(item.places) - 1)):
        test = ir.Compare(span, BOOL, "eq", item.index, ir.Const(span, item.index.type, k))
        branches = (ir.If(span, test, (ir.Assign(span, item.places[k], value, update=update),), branches),)
    for statement in branches:
        ctx.emit(statement)
