"""How a call passes its arguments: what the function is specialised for, and the run-time arguments."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vkamp.errors import Span
from vkamp.front import convert, references, views
from vkamp.front.context import Context
from vkamp.front.values import (
    ArrayRef,
    BarrierRef,
    BoundFunction,
    BufferRef,
    Closure,
    Constant,
    Element,
    Functor,
    Memory,
    NoValue,
    Number,
    Object,
    ThreadRef,
    TupleValue,
    Value,
    ViewRef,
    objects_of,
    place_parts,
    view_parts,
    with_place_parts,
    with_root,
    with_view_parts,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import FLOAT32, FLOAT64, INT32, Array, Scalar, Type


@dataclass
class ArgumentPacking:
    """How one call passes its arguments: the identity of the instance, and the run-time arguments."""

    key: list[Any] = field(default_factory=list)
    args: list[ir.Expr | ir.Place] = field(default_factory=list)
    #: For each parameter, a function that declares it in the callee.
    bind: list[tuple[str, Callable[[Context, str, Span], Value]]] = field(default_factory=list)
    #: Structs and private arrays of the caller that parameters stand for, and which of them the call may change.
    outer: list[ir.Place] = field(default_factory=list)
    #: The float types other than float32 that the function computes with: with any, weak floats stay weak.
    weak: frozenset[Scalar] = frozenset()
    #: Elements are passed by value, unless the function needs the elements themselves.
    by_value: bool = True
    #: The elements that were passed by value.
    borrowed: list[ir.Place] = field(default_factory=list)
    #: Objects that several arguments are parts of: each is passed once.
    shared: frozenset[ir.Variable] = frozenset()
    #: The vectors and index objects that arguments are in Python, by the argument's number.
    objects: dict[int, tuple[ir.Local, ...]] = field(default_factory=dict)
    #: Arrays of objects that are passed as copies: for each copy, the statements that store it back.
    after: dict[ir.Variable, list[ir.Assign]] = field(default_factory=dict)

    def inner(self) -> ArgumentPacking:
        """The same call, with parameters that another value binds."""
        return dataclasses.replace(self, bind=[])


def is_weak_float(value: Value) -> bool:
    """Whether an argument is, or contains, a float that takes the type of the other operand."""
    if isinstance(value, TupleValue):
        return any(map(is_weak_float, value.items))
    if isinstance(value, Number):
        return value.weak and value.expr.type == FLOAT32
    return isinstance(value, Constant) and convert.scalar_type(value) == FLOAT32


def specialise(packing: ArgumentPacking, name: str, value: Value) -> None:
    """Makes a compile-time value part of the instance's identity."""
    packing.key.append(_identity(value))
    packing.bind.append((name, lambda c, n, s, v=value: v))  # type: ignore[misc]


def _identity(value: Value) -> Any:
    """A key that differs between 1, 1.0 and True."""
    if isinstance(value, Constant):
        return (type(value.value), value.value)
    if isinstance(value, Number) and isinstance(value.expr, ir.Const):
        return (value.expr.type, value.expr.value)
    if isinstance(value, Object):
        return id(value.value)
    if isinstance(value, TupleValue):
        return (value.kind, value.names, *map(_identity, value.items))
    return type(value).__name__


def pack(ctx: Context, packing: ArgumentPacking, name: str, value: Value, node: ast.expr) -> None:
    """Adds one argument: to the run-time arguments, or to what the function is specialised for."""
    if isinstance(value, (ThreadRef, BarrierRef, Object)):
        specialise(packing, name, value)
    elif isinstance(value, Functor):
        # Its members are the kernel's: every function finds them by their names.
        packing.key.append(("object", value.name))
        packing.bind.append((name, lambda c, n, s, v=value: v))  # type: ignore[misc]
    elif isinstance(value, Closure):
        _pack_closure(ctx, packing, name, value, node)
    elif isinstance(value, BoundFunction):
        _pack_method(ctx, packing, name, value, node)
    elif isinstance(value, BufferRef):
        packing.key.append(("buffer", value.param.name, len(value.prefix)))
        packing.args.extend(convert.cast(p, INT32, p.span) for p in value.prefix)
        packing.bind.append((name, _bind_projection(value)))
    elif isinstance(value, ArrayRef):
        _pack_array(ctx, packing, name, value, node)
    elif isinstance(value, ViewRef):
        _pack_view(ctx, packing, name, value, node)
    elif isinstance(value, TupleValue):
        _pack_tuple(ctx, packing, name, value, node)
    elif isinstance(value, NoValue):
        ctx.fail("VKA223", node, text=ctx.text(node))
    elif isinstance(value, Element) and references.is_struct(value):
        packing.bind.append((name, _pack_struct(ctx, packing, value, node)))
    elif isinstance(value, Constant) and not convert.fits_alone(value):
        specialise(packing, name, value)
    elif packing.weak and is_weak_float(value):
        _pack_weak(ctx, packing, name, value, node)
    else:
        kind = _pack_scalar(ctx, packing, value, node)
        packing.key.append(kind)
        packing.bind.append((name, lambda c, n, s, k=kind: Element(_parameter(c, n, k, s))))  # type: ignore[misc]


def pack_captured(ctx: Context, packing: ArgumentPacking, name: str, value: Value, node: ast.expr) -> None:
    """Adds one captured value: what is known at compile time, or to every function, stays so."""
    if isinstance(value, Constant) or (isinstance(value, Number) and isinstance(value.expr, ir.Const)):
        specialise(packing, name, value)
    elif isinstance(value, Number) and isinstance(value.expr, ir.ScalarValue):
        packing.key.append(("scalar", value.expr.name, value.weak))
        packing.bind.append((name, lambda c, n, s, v=value: v))  # type: ignore[misc]
    else:
        pack(ctx, packing, name, value, node)


def _pack_closure(ctx: Context, packing: ArgumentPacking, name: str, value: Closure, node: ast.expr) -> None:
    """A function as an argument: the callee is specialised for its code, what it captured goes along."""
    packing.key.append(("function", value.code.node))
    inner = packing.inner()
    for captured, item in value.captured:
        pack_captured(ctx, inner, captured, item, node)

    def bind(callee: Context, param: str, span: Span) -> Value:
        return Closure(value.code, tuple((n, b(callee, f"{param}_{n}", span)) for n, b in inner.bind))

    packing.bind.append((name, bind))


def _pack_method(ctx: Context, packing: ArgumentPacking, name: str, value: BoundFunction, node: ast.expr) -> None:
    packing.key.append(("method", id(value.function)))
    inner = packing.inner()
    pack(ctx, inner, name, value.owner, node)
    ((_, bind_owner),) = inner.bind
    packing.bind.append((name, lambda c, n, s: BoundFunction(value.function, bind_owner(c, n, s))))


def _pack_scalar(ctx: Context, packing: ArgumentPacking, value: Value, node: ast.expr) -> Type:
    expr = convert.vector(ctx, value, node) or convert.natural(ctx, convert.number(ctx, value, node), node)
    objects = objects_of(value)
    if objects is not None:
        packing.objects[len(packing.args)] = objects
    packing.args.append(expr)
    return expr.type


def _pack_weak(ctx: Context, packing: ArgumentPacking, name: str, value: Value, node: ast.expr) -> None:
    """A weak float: in float32, and in float64 too if the function computes in it."""
    number = convert.number(ctx, value, node)
    packing.args.append(convert.natural(ctx, number, node))
    packing.key.append("weak")
    if FLOAT64 in packing.weak:
        packing.args.append(convert.convert(ctx, number, FLOAT64, node))

    def bind(callee: Context, param: str, span: Span) -> Value:
        own = _parameter(callee, param, FLOAT32, span)
        double = _parameter(callee, f"{param}_double", FLOAT64, span) if FLOAT64 in packing.weak else None
        # An item of a tuple has the tuple's name and its number.
        names = {param, *(param[:at] for at, letter in enumerate(param) if letter == "_")}
        if any(n in callee.local_names and n not in callee.once_bound for n in names):
            # A variable has one type.
            return Element(own)
        wide = None if double is None else ir.Load(span, FLOAT64, double)
        return Number(ir.Load(span, FLOAT32, own), weak=True, double=wide)

    packing.bind.append((name, bind))


def _pack_struct(
    ctx: Context, packing: ArgumentPacking, value: Element, node: ast.expr
) -> Callable[[Context, str, Span], Value]:
    """A struct: an object by value, and back if the function changes it; an element by its subscripts.

    What only reads an element gets its value instead, which is a simpler function.
    """
    place, span = value.place, ctx.span(node)
    root = ir.root_of(place)
    if references.is_object(place) and isinstance(root, ir.Local):
        if root.variable in packing.shared:
            return _pack_part(packing, place, root, span)
        return _pack_object(packing, references.stable(ctx, place, "argument"), span)
    if packing.by_value:
        number = len(packing.outer)
        packing.outer.append(place)
        packing.borrowed.append(place)
        packing.key.append(("borrowed", place.type))
        packing.args.append(ir.Load(span, place.type, place))

        def bind(callee: Context, param: str, at: Span) -> Value:
            own = _parameter(callee, param, place.type, at, number)
            callee.borrowed.add(own.variable.name)
            return Element(own)

        return bind
    return _pack_part(packing, place, root, span)


def _pack_object(packing: ArgumentPacking, place: ir.Place, span: Span) -> Callable[[Context, str, Span], Value]:
    number = len(packing.outer)
    packing.outer.append(place)
    packing.key.append(place.type)
    packing.args.append(ir.Load(span, place.type, place))

    return lambda callee, param, at: Element(_parameter(callee, param, place.type, at, number))


def _pack_part(
    packing: ArgumentPacking, place: ir.Place, root: ir.Local | ir.BufferElement, span: Span
) -> Callable[[Context, str, Span], Value]:
    """Part of an object that several arguments share, or of memory: the whole once, and this part's subscripts."""
    parts = [convert.cast(p, INT32, p.span) for p in place_parts(place)]
    number: int | None = None
    is_first = False
    if isinstance(root, ir.Local) and root.variable.storage != "tile_static":
        whole = ir.Local(span, root.type, root.variable)
        is_first = whole not in packing.outer
        if is_first:
            packing.outer.append(whole)
            is_array = isinstance(root.type, Array)
            packing.args.append(whole if is_array else ir.Load(span, root.type, whole))
        number = packing.outer.index(whole)
        shape = references.structure(with_root(place, _placeholder(root)))
    else:
        shape = references.structure(place)
    packing.args.extend(parts)
    packing.key.append(("element", shape, number))

    def bind(callee: Context, param: str, at: Span) -> Value:
        inside = place
        if number is not None and isinstance(root, ir.Local):
            if is_first:
                _parameter(callee, root.variable.name, root.type, at, number)
            found = next(p for p in callee.parameters if callee.roots.get(p.name) == number)
            inside = with_root(place, ir.Local(at, root.type, found))
        numbers: list[ir.Expr] = []
        for k in range(len(parts)):
            own = _parameter(callee, f"{param}_index" if len(parts) == 1 else f"{param}_index_{k}", INT32, at)
            callee.subscripts.add(own.variable.name)
            numbers.append(ir.Load(at, INT32, own))
        return Element(with_place_parts(inside, iter(numbers)))

    return bind


def _placeholder(root: ir.Local) -> ir.Local:
    return ir.Local(root.span, root.type, ir.Variable("", root.type, "parameter", root.span))


def _pack_tuple(ctx: Context, packing: ArgumentPacking, name: str, value: TupleValue, node: ast.expr) -> None:
    packing.key.append((value.kind, value.names, value.cls, len(value.items)))
    inner = packing.inner()
    for k, item in enumerate(value.items):
        # A component known at compile time stays so: tile sizes are constants in the callee too.
        if isinstance(item, Constant):
            specialise(inner, str(k), item)
        else:
            pack(ctx, inner, str(k), item, node)

    def bind(callee: Context, param: str, span: Span) -> Value:
        items = [declare(callee, f"{param}_{k}", span) for k, declare in inner.bind]
        if value.kind != "tuple":
            places = (i.place for i in items if isinstance(i, Element))
            callee.index_parameters.update(p.variable.name for p in places if isinstance(p, ir.Local))
        return value.of(items)

    packing.bind.append((name, bind))


def _pack_array(ctx: Context, packing: ArgumentPacking, name: str, value: ArrayRef, node: ast.expr) -> None:
    root = ir.root_of(value.place)
    own = isinstance(root, ir.Local) and root.variable.storage != "tile_static"
    if isinstance(root, ir.Local) and own and not isinstance(root.type, Array):
        value = _copied_array(ctx, packing, value, node)
        root = ir.root_of(value.place)
    parts = [convert.cast(p, INT32, p.span) for p in view_parts(value)]
    packing.key.append(views.structure(value))
    number = len(packing.outer)
    if own:
        packing.outer.append(root)
        packing.args.append(root)
    packing.args.extend(parts)

    def bind(callee: Context, param: str, span: Span) -> Value:
        memory: Memory = value
        if own:
            memory = views.over(value, _parameter(callee, param, root.type, span, number))
        numbers = [_subscript(callee, f"{param}_{k}", span) for k in range(len(parts))]
        return with_view_parts(memory, iter(numbers))

    packing.bind.append((name, bind))


#: Elements of a struct's array that a call copies.
_MAX_COPIED = 256


def _copied_array(ctx: Context, packing: ArgumentPacking, value: ArrayRef, node: ast.expr) -> ArrayRef:
    """A private array with the elements of an object's array: objects are passed by value."""
    kind, span = value.place.type, ctx.span(node)
    assert isinstance(kind, Array)
    if kind.count > _MAX_COPIED:
        ctx.fail("VKA217", node, text=ctx.text(node))
    variable = ctx.new_variable("part", kind, span, "private", temporary=True)
    copy = ir.Local(span, kind, variable)
    ctx.emit(ir.Declare(span, variable))
    back: list[ir.Assign] = []
    for where in np.ndindex(*kind.shape):
        indices = tuple(ir.Const(span, INT32, int(k)) for k in where)
        own = ir.ArrayElement(span, kind.element, value.place, indices)
        other = ir.ArrayElement(span, kind.element, copy, indices)
        ctx.emit(ir.Assign(span, other, ir.Load(span, kind.element, own)))
        back.append(ir.Assign(span, own, ir.Load(span, kind.element, other)))
    packing.after[variable] = back
    return ArrayRef(copy, value.prefix)


def _bind_projection(value: BufferRef) -> Callable[[Context, str, Span], Value]:
    """The callee's view of a container: the same memory, the leading indices as parameters."""
    count = len(value.prefix)

    def bind(callee: Context, param: str, span: Span) -> Value:
        return BufferRef(value.param, tuple(_subscript(callee, f"{param}_{k}", span) for k in range(count)))

    return bind


def _pack_view(ctx: Context, packing: ArgumentPacking, name: str, value: ViewRef, node: ast.expr) -> None:
    """A view: the memory under it as that is passed, its numbers as parameters where the callee can't know them."""
    root = views.root_of(value)
    by_reference: ir.Local | None = None
    if isinstance(root, ArrayRef):
        whole = ir.root_of(root.place)
        if isinstance(whole, ir.Local) and whole.variable.storage != "tile_static":
            if not isinstance(whole.type, Array):
                ctx.fail("VKA217", node, text=ctx.text(node))
            by_reference = whole
            packing.args.append(whole)
            packing.outer.append(whole)
    number_of_root = len(packing.outer) - 1
    parts = [convert.cast(p, INT32, p.span) for p in view_parts(value)]
    known = [p if isinstance(p, (ir.Const, *ir.GIVEN)) else None for p in parts]
    packing.args += [p for p, k in zip(parts, known, strict=True) if k is None]
    packing.key.append(("view", views.structure(value), tuple(known)))

    def bind(callee: Context, param: str, span: Span) -> Value:
        base: Memory = value
        if by_reference is not None:
            base = views.over(value, _parameter(callee, param, by_reference.type, span, number_of_root))
        numbers = [part or _subscript(callee, f"{param}_{k}", span) for k, part in enumerate(known)]
        return with_view_parts(base, iter(numbers))

    packing.bind.append((name, bind))


def _parameter(callee: Context, name: str, kind: Type, span: Span, outer: int | None = None) -> ir.Local:
    """Declares a parameter. ``outer``: its index in ``packing.outer``, if it refers to a place of the caller."""
    variable = callee.new_variable(name, kind, span, "parameter")
    callee.parameters.append(variable)
    if outer is not None:
        callee.roots[variable.name] = outer
    return ir.Local(span, kind, variable)


def _subscript(callee: Context, name: str, span: Span) -> ir.Expr:
    """Declares a parameter for a number of a view or place."""
    return ir.Load(span, INT32, _parameter(callee, name, INT32, span))
