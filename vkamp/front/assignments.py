"""Lowering of assignments: to variables, elements and tuples, of arrays and functions that a kernel declares."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from vkamp.errors import Note, Span
from vkamp.front import advice, closures, convert, dtypes, matrices, references, views
from vkamp.front.atomics import check_writable, fixed_place
from vkamp.front.context import Context, NeedsElementsError, Slot, contains_load, handles
from vkamp.front.declarations import array_type, check_placement
from vkamp.front.expressions import binary
from vkamp.front.index_objects import thread_index
from vkamp.front.names import marked_name, named_callee
from vkamp.front.scopes import nodes_in
from vkamp.front.sequences import is_iterator, items_of, tuple_of
from vkamp.front.subscripts import element_of
from vkamp.front.targets import Changes, changes, depends_on, places_of, target_value
from vkamp.front.values import (
    ArrayRef,
    BarrierRef,
    BoundFunction,
    BufferRef,
    Closure,
    Constant,
    Element,
    Memory,
    NoValue,
    Number,
    Object,
    ThreadRef,
    TupleValue,
    Value,
    ViewRef,
    is_none,
    loaded,
    objects_of,
    view_parts,
)
from vkamp.front.vector_items import VectorItem, augment_chosen, store_chosen
from vkamp.ir import nodes as ir
from vkamp.ir.types import FLOAT32, Array, Scalar, Struct, Type, Vector, is_object


@handles(ast.Assign)
def _assign(ctx: Context, node: ast.Assign) -> None:
    """``target = value``, also of arrays and functions that are declared so."""
    if _declares_array(ctx, node):
        return
    if _defines_function(ctx, node):
        return
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and node.targets[0].id not in ctx.slots:
        ctx.result = (node.value, node.targets[0].id)
    known = matrices.target_of(ctx, node.targets[0]) if len(node.targets) == 1 else None
    ctx.matrix_target = (node.value, known) if known is not None else None
    unpacked = all(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
    value = tuple_of(ctx, node.value) if unpacked and is_iterator(ctx, node.value) else ctx.expr(node.value)
    if isinstance(value, NoValue):
        ctx.fail("VKA223", node.value, text=ctx.text(node.value))
    if len(node.targets) > 1:
        value = settle(ctx, value)
        for item in references.structs_in(value):
            # The first target must not take a new object for itself: the others refer to it too.
            references.note_name(ctx, item.place)
        if isinstance(value, Number) and contains_load(value.expr) and _is_fresh(ctx, value.expr):
            # The first target must not take a call's result for itself: the others read it too.
            value = ctx.held(value, "value")
        # The targets are names of one object.
        value = _in_variables(ctx, value)
    for target in node.targets:
        store(ctx, target, value, node.value, node)


@handles(ast.NamedExpr)
def _named(ctx: Context, node: ast.NamedExpr) -> Value:
    """``(name := value)``."""
    value = ctx.expr(node.value)
    if isinstance(value, NoValue):
        ctx.fail("VKA223", node.value, text=ctx.text(node.value))
    store(ctx, node.target, value, node.value, ast.copy_location(ast.Expr(node), node))
    return ctx.expr(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))


@handles(ast.AnnAssign)
def _ann_assign(ctx: Context, node: ast.AnnAssign) -> None:
    """``name: type = value``."""
    annotation, text = ctx.text(node.annotation), ctx.text(node.target)
    if not isinstance(node.target, ast.Name):
        help_text = f"write `{text} = {ctx.text(node.value) if node.value else '...'}`"
        ctx.fail(
            "VKA109", node, what=f"`{text}` already has a type, and cannot be declared with another", advice=help_text
        )
    if node.value is None:
        help_text = f"write `{text}: {annotation} = ...`, or leave the type to the first assignment"
        ctx.fail("VKA109", node, what=f"`{text}` is declared without a value", advice=help_text)
    declared = ctx.expr(node.annotation)
    kind = dtypes.value_type(ctx, declared, node.annotation)
    value = ctx.expr(node.value)
    expr = convert.assignable(ctx, value, kind, node.value, f"`{node.target.id}`")
    _store_name(ctx, node.target, Number(expr), node.value, node)


@handles(ast.AugAssign)
def _aug_assign(ctx: Context, node: ast.AugAssign) -> None:
    """``target += value`` and the other augmented assignments."""
    target: ast.expr = node.target
    owner = target_value(ctx, target)
    if isinstance(owner, ArrayRef) and isinstance(owner.place.type, Array) and owner.place.type.shape == ():
        kind = owner.place.type.element
        owner = Element(ir.ArrayElement(ctx.span(target), kind, owner.place, ()))
    if isinstance(owner, (TupleValue, ThreadRef)):
        _aug_tuple(ctx, node, owner)
        return
    if isinstance(owner, (Constant, Number)) and isinstance(target, ast.Name):
        _not_assignable(ctx, target)
    if isinstance(owner, VectorItem):
        _check_target(ctx, owner.places[0], target, node)
        augment_chosen(ctx, node, owner, _result_node(node))
        return
    if not isinstance(owner, Element):
        convert.no_number(ctx, owner, target)
    if isinstance(target, ast.Name) and references.is_struct(owner):
        # An operator of its class makes a new object, which the name refers to from here on.
        made = binary(ctx, node.op, owner, ctx.expr(node.value), node, target, node.value)
        _store_name(ctx, target, made, _result_node(node), node)
        return
    place = fixed_place(ctx, owner.place)
    _check_target(ctx, place, target, node)
    span, before = ctx.span(node), len(ctx.block)
    right = ctx.expr(node.value)
    if any(isinstance(part, ast.NamedExpr) for part in nodes_in(node.value)):
        place, before = ctx.keep_place(place, before)
    old: Value = Element(place)
    if ctx.has_effects(before) and isinstance(place.type, (Scalar, Vector)):
        old = Number(ctx.temporary("before", loaded(place, span), before))
    result = binary(ctx, node.op, old, right, node, target, node.value)
    first, statement = _first_span(ctx, target), f"{ctx.text(target)} = "
    expr = convert.assignable(ctx, result, place.type, _result_node(node), _target_text(ctx, target), first, statement)
    ctx.emit(ir.Assign(span, place, expr, update=True))


def _result_node(node: ast.AugAssign) -> ast.expr:
    """The equivalent binary expression, for messages."""
    return ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)


def _aug_tuple(ctx: Context, node: ast.AugAssign, owner: Value) -> None:
    if not isinstance(node.target, ast.Name) or isinstance(owner, ThreadRef):
        _not_assignable(ctx, node.target)
    right = ctx.expr(node.value)
    result = binary(ctx, node.op, owner, right, node, node.value, node.value)
    if isinstance(owner, TupleValue) and owner.kind != "tuple":
        # An index changes in place, for all its names.
        span = ctx.span(node)
        places = (item.place for item in owner.items if isinstance(item, Element))
        ctx.item_changes.update((p.variable.name, span.line, span.column) for p in places if isinstance(p, ir.Local))
    _store_name(ctx, node.target, result, node.value, node)


def store(ctx: Context, target: ast.expr, value: Value, value_node: ast.expr, node: ast.stmt) -> None:
    if isinstance(value, ArrayRef) and matrices.is_matrix(value):
        matrices.store_matrix(ctx, target, value, node, value_node)
        return
    if isinstance(target, ast.Name):
        if target.id != "_" or not ctx.discards:
            _store_name(ctx, target, value, value_node, node)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(ctx, target, value, value_node, node)
    elif isinstance(target, (ast.Subscript, ast.Attribute)):
        _store_place(ctx, target, value, value_node, node)
    else:
        ctx.refuse(target)


def _unpack(ctx: Context, target: ast.Tuple | ast.List, value: Value, value_node: ast.expr, node: ast.stmt) -> None:
    if isinstance(value, ThreadRef):
        value = thread_index(ctx, "global", ctx.span(value_node))
    values = items_of(ctx, value, target, value_node)
    targets = [t.value if isinstance(t, ast.Starred) else t for t in target.elts]
    _check_swap(ctx, values, targets, value_node)
    items = _settle_items(ctx, values, [changes(ctx, t) for t in targets])
    alike = isinstance(value_node, ast.Tuple) and len(value_node.elts) == len(targets) and targets == target.elts
    parts = value_node.elts if isinstance(value_node, ast.Tuple) and alike else [value_node] * len(targets)
    for item, inner, part in zip(items, targets, parts, strict=True):
        store(ctx, inner, item, part, node)


def _check_swap(ctx: Context, items: Sequence[Value], targets: Sequence[ast.expr], value_node: ast.expr) -> None:
    """Refuses ``a[i], a[j] = a[j], a[i]`` of structs: in Python the first assignment changes what the second reads."""
    for at, (item, target) in enumerate(zip(items, targets, strict=True)):
        if isinstance(target, ast.Name) or not isinstance(item, Element) or not references.is_struct(item):
            continue
        for earlier in targets[:at]:
            if references.may_change(ctx, earlier, item.place):
                text = ctx.text(value_node)
                ctx.fail("VKA352", value_node, text=ctx.text(earlier), name=ir.place_name(item.place), value=text)


def _settle_items(ctx: Context, items: tuple[Value, ...], targets: Sequence[Changes]) -> list[Value]:
    """Keeps those values first that an assignment to an earlier target would change."""
    out: list[Value] = []
    changed: set[ir.Place] = set()
    memory = False
    for item, (places, in_memory) in zip(items, targets, strict=True):
        out.append(settle(ctx, item) if depends_on(item, changed, memory) else item)
        changed.update(places)
        memory = memory or in_memory
    return out


def settle(ctx: Context, value: Value, *, in_index: bool = False) -> Value:
    """The current value, kept before assignments change what it reads; ``in_index``: a component of an index."""
    if isinstance(value, TupleValue):
        return value.of(settle(ctx, i, in_index=value.kind != "tuple") for i in value.items)
    if isinstance(value, Memory):
        return views.stable_view(ctx, value, "value")
    if isinstance(value, Element):
        place = value.place
        if isinstance(place.type, Struct):
            return references.settled(ctx, place)
        held = ctx.held(Number(loaded(place, place.span), objects=objects_of(value)), "value", in_index=in_index)
        return _in_place(held) if is_object(place.type) else held
    if isinstance(value, Number) and contains_load(value.expr) and not _is_fresh(ctx, value.expr):
        return ctx.held(value, "value", in_index=in_index)
    return value


def _in_variables(ctx: Context, value: Value, *, in_index: bool = False) -> Value:
    """The value with a variable for each new vector and each component of a new index."""
    if isinstance(value, TupleValue):
        return value.of(_in_variables(ctx, i, in_index=value.kind != "tuple") for i in value.items)
    if isinstance(value, Number) and (in_index or is_object(value.expr.type)):
        return _in_place(ctx.held(value, "value", in_index=in_index))
    return value


def _in_place(held: Number) -> Element:
    """A number in a variable as the variable itself."""
    assert isinstance(held.expr, ir.Load)
    return Element(held.expr.place)


def _is_fresh(ctx: Context, expr: ir.Expr) -> bool:
    """Whether an expression reads a local variable without a Python name."""
    local = ir.read_local(expr)
    return local is not None and not any(s.value == Element(local) for s in ctx.slots.values())


def _store_place(
    ctx: Context,
    target: ast.Subscript | ast.Attribute,
    value: Value,
    value_node: ast.expr,
    node: ast.stmt,
) -> None:
    before = len(ctx.block)
    owner = target_value(ctx, target)
    value = ctx.kept(value, before)
    if isinstance(owner, ArrayRef) and isinstance(owner.place.type, Array) and owner.place.type.shape == ():
        owner = element_of(ir.ArrayElement(ctx.span(target), owner.place.type.element, owner.place, ()))
    if isinstance(owner, Memory):
        _no_element(ctx, owner, target)
    what = _target_text(ctx, target)
    if isinstance(owner, VectorItem):
        _check_target(ctx, owner.places[0], target, node)
        store_chosen(ctx, owner, convert.assignable(ctx, value, owner.expr.type, value_node, what), ctx.span(node))
        return
    if not isinstance(owner, Element):
        _not_assignable(ctx, target)
    _check_target(ctx, owner.place, target, node)
    expr = convert.assignable(ctx, value, owner.place.type, value_node, what)
    ctx.emit(ir.Assign(ctx.span(node), owner.place, expr))


def _no_element(ctx: Context, owner: Memory, target: ast.Subscript | ast.Attribute) -> NoReturn:
    text = ctx.text(target)
    rank = owner.rank
    if isinstance(target, ast.Subscript) and (isinstance(owner, ViewRef) or owner.prefix):
        # The subscripts that are there, and those that are missing.
        there = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        names = "ijklmn"[:rank]
        help_text = f"{ctx.text(target.value)}[{', '.join((*map(ctx.text, there), *names))}]"
    else:
        help_text = advice.subscript(ctx, text, owner)
    ctx.fail("VKA330", target, text=text, what=ctx.describe(owner), advice=f"take one element: `{help_text}`")


def _check_target(ctx: Context, place: ir.Place, target: ast.expr, node: ast.stmt) -> None:
    root = ir.root_of(place)
    if isinstance(root, ir.Local) and root.variable.name in ctx.borrowed:
        raise NeedsElementsError
    if isinstance(target, ast.Subscript) and isinstance(place, ir.Local):
        # A component of an index object: of the one object that all its names refer to, in Python.
        span = ctx.span(node)
        ctx.item_changes.add((place.variable.name, span.line, span.column))
    if references.is_given(ctx, place):
        text, name = ctx.text(target), _owner_of(target)
        why, help_text = "the launch passes it by value", f"change a copy: `new_{name} = {name}.copy()`"
        if not isinstance(root.type, Struct):
            why, help_text = "the function has a copy of it", "return the new value, and assign it where it is called"
        ctx.fail("VKA209", target, text=text, why=why, advice=help_text)
    check_writable(ctx, place, target)


def _target_text(ctx: Context, target: ast.expr) -> str:
    return f"`{ctx.text(target)}`"


def _first_span(ctx: Context, target: ast.expr) -> Span | None:
    slot = ctx.slots.get(target.id) if isinstance(target, ast.Name) else None
    return slot.span if slot is not None else None


def _not_assignable(ctx: Context, target: ast.expr) -> NoReturn:
    text = ctx.text(target)
    slot = ctx.slots.get(target.id) if isinstance(target, ast.Name) else None
    value = slot.value if slot is not None else None
    why, help_text = (
        "the launch passes it by value",
        f"copy it to a variable of another name: `new_{text} = {text}`",
    )
    if isinstance(value, BufferRef):
        why, help_text = (
            "it is a container",
            f"store into its elements: `{advice.subscript(ctx, text, value)} = ...`",
        )
    elif isinstance(value, ThreadRef):
        why, help_text = "it is the thread's index", f"use a variable of another name: `i = {text}[0]`"
    elif isinstance(value, Object):
        why, help_text = "it is an argument of the launch", "use a variable of another name"
    elif not isinstance(target, ast.Name):
        why, help_text = "it is read-only", "copy it to a variable, and change that"
    elif slot is not None and slot.kind != "parameter":
        why, help_text = "it is known at compile time", "use a variable of another name"
    ctx.fail("VKA209", target, text=text, why=why, advice=help_text)


def _owner_of(target: ast.expr) -> str:
    """The name of the struct that a target is part of."""
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else "value"


def _store_name(ctx: Context, target: ast.Name, value: Value, value_node: ast.expr, node: ast.stmt) -> None:
    name = target.id
    slot = ctx.slot_to_assign(name)
    if slot is not None and slot.kind == "parameter":
        _not_assignable(ctx, target)
    if slot is not None and slot.kind == "unrolled" and not ctx.depth:
        # After the loop that was unrolled the name is free again.
        del ctx.slots[name]
        slot = None
    if isinstance(value, NoValue):
        ctx.fail("VKA223", value_node, text=ctx.text(value_node))
    if isinstance(value, Element) and references.is_struct(value):
        _store_struct(ctx, target, slot, value, value_node, node)
    elif isinstance(value, (Number, Element, Constant)):
        _store_variable(ctx, target, slot, value, value_node, node)
    elif isinstance(value, TupleValue):
        _store_tuple(ctx, target, slot, value, value_node, node)
    else:
        if isinstance(value, BoundFunction) and isinstance(value.owner, Element) and references.is_struct(value.owner):
            value = replace(value, owner=Element(references.stable(ctx, value.owner.place, name)))
        _store_alias(ctx, target, slot, value, value_node)
    ctx.note_assigned(name)


def _store_variable(
    ctx: Context,
    target: ast.Name,
    slot: Slot | None,
    value: Number | Element | Constant,
    value_node: ast.expr,
    node: ast.stmt,
) -> None:
    name = target.id
    if slot is None and isinstance(value, Constant) and ctx.depth == 0 and name in ctx.once:
        # Assigned once, at the top level, with a constant: C++'s `const int`.
        ctx.slots[name] = Slot(value, ctx.span(node), "constant")
        return
    if slot is None and isinstance(value, Number) and value.double is not None and ctx.depth == 0 and name in ctx.once:
        ctx.slots[name] = Slot(_constant_float(ctx, value, name, ctx.span(node)), ctx.span(node), "constant")
        return
    if slot is None:
        kind = _type_of(ctx, value, value_node)
        variable = ctx.new_variable(name, kind, ctx.span(node))
        slot = Slot(Element(ir.Local(ctx.span(target), kind, variable)), ctx.span(node))
        ctx.slots[name] = slot
    if not isinstance(slot.value, Element) or slot.kind != "variable":
        changes_kind(ctx, target, slot, value)
    place = slot.value.place
    expr = convert.assignable(ctx, value, place.type, value_node, f"`{name}`", slot.span)
    assert isinstance(place, ir.Local)
    if not _redirect_result(ctx, expr, place):
        ctx.emit(ir.Assign(ctx.span(node), ir.Local(ctx.span(target), place.type, place.variable), expr))
    objects = objects_of(value)
    if is_object(place.type) and objects is not None:
        # In Python another name for the vector, if that has one; of a loop's items each is read once.
        ctx.share(place.variable, ctx.block[-1].span, "moved" if isinstance(node, ast.For) else "named", objects)


def _constant_float(ctx: Context, value: Number, name: str, span: Span) -> Number:
    """A float of the launch, or a weak one, whose name keeps it: it takes the type of the other operand, later too."""
    assert value.double is not None
    double = value.double
    if contains_load(double):
        own = ctx.local_of(f"{name}_double", double)
        double = ir.Load(double.span, double.type, own)
        ctx.doubles.add(own.variable.name)
    place = ir.Local(span, FLOAT32, ctx.new_variable(name, FLOAT32, span))
    ctx.emit(ir.Assign(span, place, value.expr))
    return Number(ir.Load(span, FLOAT32, place), value.weak, double)


def _store_struct(
    ctx: Context, target: ast.Name, slot: Slot | None, value: Element, value_node: ast.expr, node: ast.stmt
) -> None:
    if slot is not None:
        if not isinstance(slot.value, Element):
            changes_kind(ctx, target, slot, value)
        convert.assignable(ctx, value, slot.value.place.type, value_node, f"`{target.id}`", slot.span)
    references.bind(ctx, target, slot, value, node)


def _type_of(ctx: Context, value: Number | Element | Constant, node: ast.expr) -> Type:
    if isinstance(value, Element) and isinstance(value.place.type, Struct):
        return value.place.type
    vector = convert.vector(ctx, value, node)
    if vector is not None:
        return vector.type
    return convert.scalar_type(convert.number(ctx, value, node))


def _redirect_result(ctx: Context, expr: ir.Expr, place: ir.Local) -> bool:
    """``x = call()``: the call's result goes to ``x`` itself, not through a temporary."""
    local = ir.read_local(expr)
    return local is not None and _is_fresh(ctx, expr) and ctx.redirect(local.variable, place.variable)


def changes_kind(ctx: Context, target: ast.Name, slot: Slot, value: Value) -> NoReturn:
    """Refuses a name that was bound to a value of another kind."""
    help_text = "use another name"
    if is_none(slot.value):
        help_text = (
            "assign it outside of loops and of branches decided at run time, or begin with a number that means the "
            "same, such as -1"
        )
    notes = (Note(slot.span, f"`{target.id}` is {ctx.describe(slot.value)} since this line"),)
    ctx.fail("VKA316", target, notes=notes, name=target.id, new=ctx.describe(value), advice=help_text)


def _store_tuple(
    ctx: Context,
    target: ast.Name,
    slot: Slot | None,
    value: TupleValue,
    value_node: ast.expr,
    node: ast.stmt,
) -> None:
    name = target.id
    once = name in ctx.once or (name in ctx.once_bound and isinstance(node, ast.Assign))
    if slot is None and ctx.depth == 0 and once and _is_fixed(value):
        ctx.slots[name] = Slot(value, ctx.span(node), "constant")
        return
    if slot is None:
        slot = Slot(_tuple_variables(ctx, target, name, value, value_node, node), ctx.span(node))
        ctx.slots[name] = slot
    known = slot.value
    if not isinstance(known, TupleValue) or slot.kind != "variable" or not _alike(known, value):
        changes_kind(ctx, target, slot, value)
    assert isinstance(known, TupleValue)
    settled = _settle_items(ctx, value.items, [(places_of(i), False) for i in known.items])
    _assign_items(ctx, known, TupleValue(tuple(settled)), f"`{name}`", slot.span, (value_node, node))


def _is_fixed(value: Value) -> bool:
    """Whether a tuple is known at compile time: numbers, types, functions, and memory that is the same throughout."""
    if isinstance(value, TupleValue):
        return all(map(_is_fixed, value.items))
    if isinstance(value, Memory):
        return not any(contains_load(part) for part in view_parts(value))
    return isinstance(value, (Constant, Object, Closure))


def _tuple_variables(
    ctx: Context, target: ast.Name, name: str, value: TupleValue, value_node: ast.expr, node: ast.stmt
) -> TupleValue:
    """A variable for each number of a tuple, and of the tuples in it."""
    items: list[Value] = []
    for k, item in enumerate(value.items):
        if isinstance(item, TupleValue):
            items.append(_tuple_variables(ctx, target, f"{name}_{k}", item, value_node, node))
            continue
        if not isinstance(item, (Number, Element, Constant)):
            ctx.fail("VKA331", value_node, name=target.id, what=ctx.describe(item))
        if isinstance(item, Element) and references.is_struct(item):
            items.append(references.as_item(ctx, item, target.id, f"{name}_{k}", ctx.span(node)))
            continue
        kind = _type_of(ctx, item, value_node)
        variable = ctx.new_variable(f"{name}_{k}", kind, ctx.span(node))
        items.append(Element(ir.Local(ctx.span(target), kind, variable)))
    return value.of(items)


def _alike(known: Value, value: Value) -> bool:
    """Whether two tuples have the same number of items and names, with nested tuples in the same places."""
    if not isinstance(known, TupleValue) or not isinstance(value, TupleValue):
        return not isinstance(known, TupleValue) and not isinstance(value, TupleValue)
    same = len(known.items) == len(value.items) and known.names == value.names
    return same and all(map(_alike, known.items, value.items))


def _assign_items(
    ctx: Context, known: TupleValue, value: TupleValue, what: str, first: Span, nodes: tuple[ast.expr, ast.stmt]
) -> None:
    for place_value, item in zip(known.items, value.items, strict=True):
        if isinstance(place_value, TupleValue) and isinstance(item, TupleValue):
            _assign_items(ctx, place_value, item, what, first, nodes)
            continue
        assert isinstance(place_value, Element)
        place, span = place_value.place, ctx.span(nodes[1])
        if isinstance(item, Element) and references.is_struct(item) and isinstance(place.type, Struct):
            references.assign_item(ctx, place, item, span)
            continue
        expr = convert.assignable(ctx, item, place.type, nodes[0], what, first)
        named, objects = known.kind != "tuple" or is_object(place.type), objects_of(item)
        if named and objects is not None and isinstance(place, ir.Local):
            ctx.share(place.variable, span, objects=objects)
        ctx.emit(ir.Assign(span, place, expr))


def _store_alias(ctx: Context, target: ast.Name, slot: Slot | None, value: Value, value_node: ast.expr) -> None:
    """A name for a container, an array, a view; for a function or a type, bound once."""
    if isinstance(value, Memory):
        _store_view(ctx, target, slot, value)
        return
    if isinstance(value, Object) and isinstance(value.value, str):
        ctx.fail("VKA101", value_node, what="strings", advice="use numbers")
    if slot is not None and not (is_none(value) and is_none(slot.value)):
        changes_kind(ctx, target, slot, value)
    if ctx.depth and not isinstance(value, (ThreadRef, BarrierRef)):
        help_text = "choose it at the top level, or call one or the other in an `if`"
        new = f"{ctx.describe(value)} in a branch or loop"
        ctx.fail("VKA316", target, name=target.id, new=new, advice=help_text)
    ctx.slots[target.id] = Slot(value, ctx.span(target), "alias")


def _store_view(ctx: Context, target: ast.Name, slot: Slot | None, value: Memory) -> None:
    """A name for memory.  If the same block rebinds the name, it refers to another view from there on. Where branches
    and loops rebind it, the views may differ in their numbers only, which become variables.
    """
    name, span = target.id, ctx.span(target)
    known = slot.value if slot is not None else None
    if slot is not None and not isinstance(known, Memory):
        changes_kind(ctx, target, slot, value)
    if name in ctx.once:
        value = views.stable_view(ctx, value, name)
    elif slot is None or slot.block is ctx.block or ctx.depth == 0:
        value = views.variable_view(ctx, value, name)
    elif isinstance(known, Memory) and views.same_structure(known, value):
        views.assign_view(ctx, known, value, span)
        return
    else:
        new = "a view of something else here"
        help_text = "use another name, or let the branches choose numbers and make one view of them"
        if isinstance(known, ArrayRef) and isinstance(value, ArrayRef):
            new = "another array in a branch or loop"
            help_text = f"give the other array a name, such as `new`, and copy its elements: `{name}[k] = new[k]`"
        notes = (Note(slot.span, f"here it is {ctx.describe(slot.value)}"),)
        ctx.fail("VKA316", target, notes=notes, name=name, new=new, advice=help_text)
    ctx.slots[name] = Slot(value, span, "alias", ctx.block)


# -- functions nested in this one ----------------------------------------------------------------------------------


@handles(ast.FunctionDef)
def _define(ctx: Context, node: ast.FunctionDef) -> None:
    """``def`` inside a kernel."""
    name = ast.copy_location(ast.Name(node.name, ast.Store()), node)
    _store_function(ctx, name, closures.definition(ctx, node))


def _defines_function(ctx: Context, node: ast.Assign) -> bool:
    """``name = lambda ...``."""
    if not isinstance(node.value, ast.Lambda) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return False
    _store_function(ctx, node.targets[0], closures.closure(ctx, node.value, node.targets[0].id))
    return True


def _store_function(ctx: Context, target: ast.Name, value: Closure) -> None:
    slot = ctx.slot_to_assign(target.id)
    if slot is not None:
        # The copies of an unrolled loop define the same function again.
        known = slot.value.code.node if isinstance(slot.value, Closure) else None
        if known is not None and known is not value.code.node:
            notes = (Note(slot.span, f"`{target.id}` is defined here"),)
            help_text = "give the functions different names, and call one or the other in an `if`"
            ctx.fail("VKA316", target, notes=notes, name=target.id, new="another function", advice=help_text)
        if known is None:
            changes_kind(ctx, target, slot, value)
    closures.check_captures(ctx, value)
    ctx.bind(target.id, Slot(value, ctx.span(target), "alias"))


def _declares_array(ctx: Context, node: ast.Assign) -> bool:
    """``name = tile_static(shape, dtype)`` and ``name = private(shape, dtype)``."""
    call = node.value
    storage = marked_name(named_callee(ctx, call.func)) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or storage not in ("tile_static", "private"):
        return False
    if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        ctx.fail("VKA401", call, name=storage)
    target = node.targets[0]
    check_placement(ctx, storage, call)
    kind = Array(*array_type(ctx, storage, call))
    _declare(ctx, target, storage, kind, node)
    return True


def _declare(ctx: Context, target: ast.Name, storage: str, kind: Array, node: ast.Assign) -> None:
    name, span = target.id, ctx.span(node)
    slot = ctx.slot_to_assign(name)
    if slot is not None:
        again = storage == "private" and isinstance(slot.value, ArrayRef) and slot.value.place.type == kind
        if not again:
            changes_kind(
                ctx,
                target,
                slot,
                ArrayRef(ir.Local(span, kind, ir.Variable(name, kind, "local", span))),
            )
        assert isinstance(slot.value, ArrayRef) and isinstance(slot.value.place, ir.Local)
        variable = slot.value.place.variable
    elif storage == "tile_static":
        variable = ir.Variable(ctx.module.unique_tile_static(name), kind, "tile_static", span)
        ctx.module.tile_statics.append(variable)
    else:
        variable = ctx.new_variable(name, kind, span, "private")
    ctx.bind(name, Slot(ArrayRef(ir.Local(span, kind, variable)), span, "alias"))
    ctx.emit(ir.Declare(span, variable))
