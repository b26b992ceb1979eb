"""Names for structs, as Python has them: a name refers to an element or an object until it is rebound.

``p = ps[i]`` evaluates the subscript once; ``p`` is then the element itself, as with numpy's records.  A struct that
a constructor or a call makes is an object, and ``q = p`` makes a second name of it.

A name that branches or loops rebind refers to elements of one array or container, with variables as subscripts; or it
is a variable, into which each assignment copies an object.  Such a copy differs from Python's second name only where
one of the two is changed and the other one is read: ``sharing`` finds that and refuses it.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from functools import lru_cache
from itertools import repeat

from vkamp.errors import Note, Span
from vkamp.front import convert
from vkamp.front.context import Context, Slot
from vkamp.front.reaching import with_one_binding
from vkamp.front.scopes import all_nodes, own_nodes
from vkamp.front.values import (
    ArrayRef,
    BoundFunction,
    BufferRef,
    Closure,
    Element,
    Number,
    TupleValue,
    Value,
    ViewRef,
    loaded,
    place_parts,
    with_place_parts,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32, Array, Struct

_COMPOUND = (ast.If, ast.For, ast.While, ast.Match, ast.With, ast.Try)


def note_bindings(ctx: Context, node: ast.FunctionDef) -> None:
    """Notes how often and where a function binds its names."""
    ctx.discards, ctx.with_one_binding, ctx.once_bound, ctx.rebound = _all_bindings(node)


# Syntax trees are kept, and functions of libraries are lowered for many kernels.
@lru_cache(maxsize=1024)
def _all_bindings(node: ast.FunctionDef) -> tuple[bool, frozenset[str], frozenset[str], frozenset[str]]:
    """Whether ``_`` is never read, the names with one binding, those bound once, and those bound again."""
    names = (n for n in all_nodes(node) if isinstance(n, ast.Name) and n.id == "_")
    discards = all(isinstance(n.ctx, ast.Store) for n in names)
    single = with_one_binding(node.body)
    once, again = _bindings(node)
    return discards, single, once, again - single


def _bindings(node: ast.FunctionDef) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a function binds once, its parameters among them, and those that branches or loops rebind."""
    counts: dict[str, int] = {}
    nested: set[str] = set()
    arguments = node.args
    for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        counts[arg.arg] = 1
    for statement in node.body:
        for item in own_nodes(statement):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                counts[item.id] = counts.get(item.id, 0) + 1
                if isinstance(statement, _COMPOUND):
                    nested.add(item.id)
            elif isinstance(item, ast.Call) and len(item.args) > 1 and isinstance(item.args[1], ast.Name):
                # A compare-and-exchange writes its second argument.
                name = item.func.attr if isinstance(item.func, ast.Attribute) else getattr(item.func, "id", "")
                if name == "atomic_compare_exchange":
                    counts[item.args[1].id] = counts.get(item.args[1].id, 0) + 1
    once = frozenset(n for n, count in counts.items() if count == 1)
    return once, frozenset(n for n in nested if counts[n] > 1)


# -- places --------------------------------------------------------------------------------------------------------


def is_struct(value: Value) -> bool:
    """Whether a value is a struct in place."""
    return isinstance(value, Element) and isinstance(value.place.type, Struct)


def structure(place: ir.Place) -> Hashable:
    """A place except for its subscripts."""
    return with_place_parts(place, repeat(ir.Const(place.span, INT32, 0)))


def is_object(place: ir.Place) -> bool:
    """Whether a place is in a struct of this thread alone, and not in an array or a container."""
    root = ir.root_of(place)
    return isinstance(root, ir.Local) and not isinstance(root.variable.type, Array)


def is_outer(place: ir.Place) -> bool:
    """Whether a place exists outside the function that names it."""
    root = ir.root_of(place)
    return isinstance(root, ir.BufferElement) or root.variable.storage in ("tile_static", "parameter")


def is_new(ctx: Context, place: ir.Place) -> bool:
    """Whether a struct is an object that has no name yet."""
    return isinstance(place, ir.Local) and place.variable.storage == "local" and place.variable.name in ctx.unnamed


def _is_fixed(ctx: Context, part: ir.Expr) -> bool:
    """Whether a subscript is short and never changes while a name that has it can be read."""
    if isinstance(part, (ir.Const, *ir.GIVEN)):
        return True
    local = ir.read_local(part)
    if local is None:
        return False
    variable = local.variable
    if variable.name in ctx.moving:
        return False
    if variable.temporary or variable.name in ctx.subscripts:
        return True
    if ctx.is_unrolled:
        return False
    names = (n for n, s in ctx.slots.items() if s.value == Element(local))
    return any(n in ctx.once_bound for n in names)


def stable(ctx: Context, place: ir.Place, name: str) -> ir.Place:
    """The place with each subscript as it is now."""
    known: dict[ir.Expr, ir.Expr] = {}
    for part in place_parts(place):
        if part not in known:
            known[part] = part if _is_fixed(ctx, part) else ctx.temporary(f"{name}_index", part)
    return with_place_parts(place, iter([known[p] for p in place_parts(place)]))


def _variable_place(ctx: Context, place: ir.Place, name: str) -> ir.Place:
    """The place with variables for its subscripts, which other assignments change."""
    parts = [ctx.temporary(f"{name}_index", convert.cast(p, INT32, p.span)) for p in place_parts(place)]
    ctx.moving.update(local.variable.name for local in map(ir.read_local, parts) if local is not None)
    return with_place_parts(place, iter(parts))


def note_name(ctx: Context, place: ir.Place) -> None:
    """Makes a name refer to an object, or to the object that contains it."""
    root = ir.root_of(place)
    if isinstance(root, ir.Local):
        ctx.unnamed.discard(root.variable.name)


def settled(ctx: Context, place: ir.Place) -> Element:
    """A struct in place that assignments in the same statement must not make another one."""
    if is_object(place):
        root = ir.root_of(place)
        owners = (n for n, s in ctx.slots.items() if isinstance(s.value, Element) and s.value.place == root)
        if any(n in ctx.rebound for n in owners):
            kept = ctx.new_object("value", place.type, place.span)
            _copy_object(ctx, kept, place, place.span, is_shared=True)
            return Element(kept)
    return Element(stable(ctx, place, "value"))


def memory_of(ctx: Context, place: ir.Place) -> Hashable:
    """The memory that contains a place, as far as it decides whether two places can overlap."""
    root = ir.root_of(place)
    if isinstance(root, ir.BufferElement):
        return ctx.module.buffers[root.buffer].storage
    return root.variable


def may_change(ctx: Context, target: ast.expr, place: ir.Place) -> bool:
    """Whether an assignment to a target may change the struct at a place."""
    if isinstance(target, ast.Name):
        return False
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(may_change(ctx, t, place) for t in target.elts)
    if not isinstance(target, ast.Name):
        return True
    value = ctx.expr(target)
    while isinstance(value, ViewRef):
        value = value.of
    if isinstance(value, BufferRef):
        return memory_of(ctx, place) == value.param.storage
    return isinstance(value, (ArrayRef, Element)) and memory_of(ctx, place) == memory_of(ctx, value.place)


# -- names ---------------------------------------------------------------------------------------------------------


def bind(ctx: Context, target: ast.Name, slot: Slot | None, value: Element, node: ast.stmt) -> None:
    """``name = struct``, of the type that the name has."""
    name, span, place = target.id, ctx.span(node), value.place
    known = slot.value.place if slot is not None and isinstance(slot.value, Element) else None
    if name in ctx.rebound or (known is not None and _is_conditional(ctx, name, slot)):
        _bind_anew(ctx, target, slot, value, node)
        return
    if not is_new(ctx, place):
        place = stable(ctx, place, name)
        root = ir.root_of(place)
        if isinstance(root, ir.Local):
            ctx.aliased.add(root.variable.name)
    elif isinstance(place, ir.Local) and not _is_made_for(ctx, place, name):
        own = known if isinstance(known, ir.Local) and _is_sole(ctx, known) else own_object(ctx, name, place.type, span)
        _copy_object(ctx, own, place, span, is_shared=False)
        place = own
    note_name(ctx, place)
    ctx.slots[name] = Slot(Element(place), span if slot is None else slot.span, block=ctx.block)


def own_parameters(ctx: Context, span: Span) -> None:
    """Variables for the parameters that a function rebinds: the caller's objects do not change."""
    for name in sorted(ctx.rebound):
        slot = ctx.slots.get(name)
        if slot is None or not isinstance(slot.value, Element) or not is_struct(slot.value):
            continue
        place = slot.value.place
        if is_object(place):
            own = own_object(ctx, name, place.type, span)
            _copy_object(ctx, own, place, span, is_shared=True)
            place = own
        else:
            locals_ = map(ir.read_local, place_parts(place))
            ctx.moving.update(local.variable.name for local in locals_ if local is not None)
        ctx.slots[name] = Slot(Element(place), slot.span, slot.kind)


def _is_conditional(ctx: Context, name: str, slot: Slot | None) -> bool:
    """Whether a name that one statement binds, in the copies of an unrolled loop, may keep its value."""
    assert slot is not None
    if name in ctx.with_one_binding:
        return False
    return bool(ctx.depth) and slot.block is not ctx.block and (ctx.assigned is None or name in ctx.assigned)


def _is_made_for(ctx: Context, place: ir.Local, name: str) -> bool:
    """Whether a constructor has made an object under the name that it gets."""
    return name not in ctx.slots and place.variable.name in ctx.made_for and ctx.made_for[place.variable.name] == name


def _is_sole(ctx: Context, place: ir.Local) -> bool:
    """Whether no second name refers to an object."""
    variable = place.variable
    return variable.storage == "local" and variable.name not in {*ctx.aliased, *ctx.fixed} and not is_given(ctx, place)


def is_given(ctx: Context, place: ir.Place) -> bool:
    """Whether a place is in a struct that the launch passed, which must not change."""
    root = ir.root_of(place)
    if not isinstance(root, ir.Local):
        return False
    return root.variable in ctx.module.prologue_variables or root.variable.name in ctx.fixed


def own_object(ctx: Context, name: str, kind: object, span: Span) -> ir.Local:
    """A variable for an object."""
    assert isinstance(kind, Struct)
    return ir.Local(span, kind, ctx.new_variable(name, kind, span))


def _copy_object(ctx: Context, target: ir.Local, place: ir.Place, span: Span, *, is_shared: bool) -> None:
    """Copies an object into a variable; ``is_shared``: in Python, the name would refer to the same object."""
    load = ir.Load(span, place.type, place)
    if not is_shared and isinstance(place, ir.Local) and ctx.redirect(place.variable, target.variable):
        return
    ctx.emit(ir.Assign(span, target, load))
    ctx.share(target.variable, span, "named" if is_shared else "moved")


def _bind_anew(ctx: Context, target: ast.Name, slot: Slot | None, value: Element, node: ast.stmt) -> None:
    """A name that branches or loops bind."""
    name, span, place = target.id, ctx.span(node), value.place
    is_shared = not is_new(ctx, place)
    if slot is None:
        if is_shared and not is_object(place):
            ctx.slots[name] = Slot(Element(_variable_place(ctx, place, name)), span, block=ctx.block)
            return
        made = isinstance(place, ir.Local) and not is_shared and _is_made_for(ctx, place, name)
        variable = place if made else own_object(ctx, name, place.type, span)
        assert isinstance(variable, ir.Local)
        if not made:
            _copy_object(ctx, variable, place, span, is_shared=is_shared)
        note_name(ctx, variable)
        ctx.slots[name] = Slot(Element(variable), span, block=ctx.block)
        return
    assert isinstance(slot.value, Element)
    known = slot.value.place
    if isinstance(known, ir.Local) and _is_sole(ctx, known):
        _copy_object(ctx, known, place, span, is_shared=is_shared)
    elif is_shared and _is_movable(ctx, known) and structure(known) == structure(place):
        convert.assign_numbers(ctx, place_parts(known), place_parts(place), span)
    else:
        first, new = _described(known), "a new object" if not is_shared else _described(place)
        notes = (Note(slot.span, f"here it is {first}"),)
        ctx.fail("VKA351", target, notes=notes, name=name, what=new)


def _is_movable(ctx: Context, place: ir.Place) -> bool:
    """Whether the subscripts of a place are variables that assignments change."""
    locals_ = map(ir.read_local, place_parts(place))
    return all(local is not None and local.variable.name in ctx.moving for local in locals_)


def _described(place: ir.Place) -> str:
    if isinstance(place, ir.Local):
        return f"the object `{place.variable.name}`"
    return f"a part of `{ir.place_name(place)}`" if is_object(place) else f"an element of `{ir.place_name(place)}`"


def as_item(ctx: Context, value: Element, owner: str, name: str, span: Span) -> Element:
    """A struct in a tuple that gets a name: what was put in, or a variable if ``owner`` is bound several times."""
    place = value.place
    if owner not in ctx.once_bound or ctx.is_unrolled:
        return Element(own_object(ctx, name, place.type, span))
    note_name(ctx, place)
    place = stable(ctx, place, name)
    root = ir.root_of(place)
    if isinstance(root, ir.Local):
        ctx.aliased.add(root.variable.name)
    return Element(place)


def assign_item(ctx: Context, known: ir.Place, value: Element, span: Span) -> None:
    """An item of a tuple that has a name already."""
    if known == value.place or not isinstance(known, ir.Local):
        return
    _copy_object(ctx, known, value.place, span, is_shared=not is_new(ctx, value.place))


def copy_of(ctx: Context, value: Element, node: ast.expr) -> Value:
    """``p.copy()``: another object."""
    place, span = value.place, ctx.span(node)
    if not isinstance(place.type, Struct):
        return Number(loaded(place, span))
    name = ctx.name_of_result(node)
    variable = ctx.new_object(name or "copy", place.type, span, name)
    ctx.emit(ir.Assign(span, variable, ir.Load(span, place.type, place)))
    return Element(variable)


# -- choices -------------------------------------------------------------------------------------------------------


def choose(
    ctx: Context, test: ir.Expr, sides: tuple[Element, Element], blocks: tuple[list[ir.Stmt], list[ir.Stmt]], span: Span
) -> Element:
    """``p if test else q``: one of two elements of the same array, or a copy of one of two objects."""
    then, orelse = (side.place for side in sides)
    if then == orelse and not any(blocks):
        return sides[0]
    news = [is_new(ctx, place) for place in (then, orelse)]
    if not any(news) and not is_object(then) and structure(then) == structure(orelse):
        return Element(_chosen_element(ctx, test, then, orelse, blocks, span))
    chosen = ctx.new_object("chosen", then.type, span)
    inside: list[tuple[ir.Stmt, ...]] = []
    for place, new, block in zip((then, orelse), news, blocks, strict=True):
        where = place.span
        inside.append((*block, ir.Assign(where, chosen, ir.Load(where, place.type, place))))
        if not new:
            ctx.share(chosen.variable, where)
    ctx.emit(ir.If(span, test, *inside))
    return Element(chosen)


def _chosen_element(
    ctx: Context,
    test: ir.Expr,
    then: ir.Place,
    orelse: ir.Place,
    blocks: tuple[list[ir.Stmt], list[ir.Stmt]],
    span: Span,
) -> ir.Place:
    pairs = list(zip(place_parts(then), place_parts(orelse), strict=True))
    whole = [(convert.cast(a, INT32, a.span), convert.cast(b, INT32, b.span)) for a, b in pairs]
    if not any(blocks):
        several = sum(a != b for a, b in whole) > 1
        test = ctx.stable(test, "chosen") if several else test
        parts: Iterator[ir.Expr] = (a if a == b else ir.Select(span, INT32, test, a, b) for a, b in whole)
        return with_place_parts(then, parts)
    places = [ctx.new_local("chosen", INT32, span) for _ in whole]
    inside = [
        (*block, *(ir.Assign(pair[side].span, place, pair[side]) for place, pair in zip(places, whole, strict=True)))
        for side, block in enumerate(blocks)
    ]
    ctx.emit(ir.If(span, test, *inside))
    return with_place_parts(then, (ir.Load(span, INT32, place) for place in places))


def structs_in(value: Value) -> Iterator[Element]:
    """The structs in a value."""
    if isinstance(value, TupleValue):
        for item in value.items:
            yield from structs_in(item)
    elif isinstance(value, Closure):
        for _, item in value.captured:
            yield from structs_in(item)
    elif isinstance(value, BoundFunction):
        yield from structs_in(value.owner)
    elif isinstance(value, Element) and is_struct(value):
        yield value
