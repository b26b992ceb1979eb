"""What assignments change, and what they cannot: slices, and fields of objects that are values."""

from __future__ import annotations

import ast

from vkamp.front.context import Context
from vkamp.front.values import Element, Memory, Number, TupleValue, Value, place_parts, view_parts
from vkamp.front.views import has_slices
from vkamp.ir import nodes as ir

#: What an assignment changes: locals, and whether also memory, which anything may read.
Changes = tuple[tuple[ir.Place, ...], bool]


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


def changes(ctx: Context, target: ast.expr) -> Changes:
    """What an assignment to a target changes, its subscripts included."""
    if isinstance(target, (ast.Tuple, ast.List)):
        parts = [changes(ctx, t) for t in target.elts]
        return tuple(p for places, _ in parts for p in places), any(memory for _, memory in parts)
    # Its subscripts may assign names, and call functions that store.
    inner = [n.target for n in ast.walk(target) if isinstance(n, ast.NamedExpr)]
    named = tuple(p for name in inner for p in _places_of_name(ctx, name))
    if isinstance(target, ast.Name):
        return _places_of_name(ctx, target), False
    # A component of a vector or a field of a struct that is a local itself.
    base = target
    while isinstance(base, (ast.Attribute, ast.Subscript)):
        base = base.value
    slot = ctx.slots.get(base.id) if isinstance(base, ast.Name) else None
    root = ir.root_of(slot.value.place) if slot is not None and isinstance(slot.value, Element) else None
    if isinstance(root, ir.Local):
        return (root, *named), any(isinstance(n, ast.Call) for n in ast.walk(target))
    return named, True


def _places_of_name(ctx: Context, name: ast.Name) -> tuple[ir.Place, ...]:
    slot = ctx.slots.get(name.id)
    return () if slot is None else places_of(slot.value)


def places_of(value: Value) -> tuple[ir.Place, ...]:
    if isinstance(value, TupleValue):
        return tuple(p for item in value.items for p in places_of(item))
    if isinstance(value, Memory):
        return tuple(p.place for p in view_parts(value) if isinstance(p, ir.Load))
    return (value.place,) if isinstance(value, Element) else ()


def depends_on(value: Value, places: set[ir.Place], memory: bool) -> bool:
    """Whether a value reads one of some locals, or, with ``memory``, anything but locals."""
    if isinstance(value, TupleValue):
        return any(depends_on(item, places, memory) for item in value.items)
    if isinstance(value, Memory):
        return any(depends_on(Number(part), places, memory) for part in view_parts(value))
    if isinstance(value, Element):
        inside = value.place in places or ir.root_of(value.place) in places
        parts = any(depends_on(Number(part), places, memory) for part in place_parts(value.place))
        return inside or parts or (memory and not isinstance(value.place, ir.Local))
    if not isinstance(value, Number):
        return False
    loads = [n.place for n in ir.walk(value.expr) if isinstance(n, ir.Load)]
    return any(p in places or ir.root_of(p) in places or (memory and not isinstance(p, ir.Local)) for p in loads)
