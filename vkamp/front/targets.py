"""What an assignment cannot change: slices, and fields of objects that are values."""

from __future__ import annotations

import ast

from vkamp.front.context import Context
from vkamp.front.values import TupleValue, Value
from vkamp.front.views import has_slices


def target_value(ctx: Context, target: ast.expr) -> Value:
    """What is at a target before the assignment."""
    if has_slices(target):
        what = "assignments to slices"
        ctx.fail("VKA101", target, what=what, advice="assign the elements: `for i in range(first, last):`")
    if isinstance(target, ast.Attribute):
        owner = _tuple_of(ctx, target.value)
        if owner is not None and target.attr in owner.names:
            names = (f"{ctx.text(target.value)}.{name}" for name in owner.names)
            items = ", ".join("..." if name == ctx.text(target) else name for name in names)
            cls = owner.cls.__name__ if owner.cls is not None else "T"
            why, advised = "named tuples and frozen dataclasses do not change", f"`{cls}({items})`"
            ctx.fail("VKA209", target, text=ctx.text(target), why=why, advice=f"create another one: {advised}")
    return ctx.expr(target)


def _tuple_of(ctx: Context, node: ast.expr) -> TupleValue | None:
    """The tuple that a variable or a field of one is; nothing is evaluated, since a property may have effects."""
    found: Value | None = None
    if isinstance(node, ast.Name) and node.id in ctx.slots:
        found = ctx.slots[node.id].value
    elif isinstance(node, ast.Attribute):
        owner = _tuple_of(ctx, node.value)
        if owner is not None and node.attr in owner.names:
            found = owner.items[owner.names.index(node.attr)]
    return found if isinstance(found, TupleValue) else None
