"""Lowering of subscripts and attributes."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Mapping
from typing import NoReturn

from vkamp.errors import Span
from vkamp.front import advice, convert, habits, objects, scalars, vector_items, vectors, views
from vkamp.front.choices import choose_item
from vkamp.front.context import Context, handles
from vkamp.front.counters import Counter
from vkamp.front.dtypes import type_object
from vkamp.front.index_objects import ThreadKind, thread_index, thread_value
from vkamp.front.names import attribute_of_object
from vkamp.front.values import (
    ArrayRef,
    BarrierRef,
    BufferRef,
    Constant,
    Element,
    FieldMethod,
    Functor,
    Memory,
    Number,
    Object,
    ThreadRef,
    TupleValue,
    Value,
    ViewRef,
)
from vkamp.ir import nodes as ir
from vkamp.ir.fences import FENCES
from vkamp.ir.types import (
    BOOL,
    INT32,
    Array,
    Complex,
    Fragments,
    Struct,
    Vector,
    int_range,
)

# -- subscripts ----------------------------------------------------------------------------------------------------


@handles(ast.Subscript)
def _subscript(ctx: Context, node: ast.Subscript) -> Value:
    if views.has_slices(node):
        return _slice(ctx, node)
    owner, key = _owner_and_key(ctx, node)
    owner = thread_value(ctx, owner, node)
    own = objects.item(ctx, (owner, node.value), (key, node.slice), node)
    if own is not None:
        return own
    if isinstance(owner, TupleValue) and owner.has_items:
        return _tuple_item(ctx, owner, key, node)
    if isinstance(owner, Element) and isinstance(owner.place.type, Struct):
        if isinstance(key, Object) and isinstance(key.value, str):
            return _field_of(ctx, owner.place, key.value, node)
        _no_field(ctx, owner.place.type, ctx.text(node.slice), ctx.text(node.value), node)
    if isinstance(owner, (BufferRef, ArrayRef)) and isinstance(key, Object) and isinstance(key.value, str):
        _field_of_container(ctx, owner, key.value, node)
    if isinstance(owner, BufferRef):
        indices = _indices(ctx, key, node)
        if len(indices) > owner.rank or (len(indices) < owner.rank and len(indices) != 1):
            _rank_mismatch(ctx, node, owner, len(indices))
        for dim, index in enumerate(indices):
            if isinstance(index, ir.Const) and not 0 <= index.value < 1 << 31:
                _outside(ctx, node, dim, int(index.value))
        return memory_item(owner, indices, ctx.span(node))
    if isinstance(owner, ArrayRef):
        return _array_item(ctx, owner, key, node)
    if isinstance(owner, ViewRef):
        return _view_item(ctx, owner, key, node)
    if isinstance(owner, Object) and advice.is_host_object(owner.value):
        ctx.host_object(owner.value, node.value)
    help_text = (
        "call it with ( )"
        if isinstance(owner, FieldMethod) or callable(getattr(owner, "value", None))
        else "use it as it is"
    )
    if isinstance(owner, TupleValue):
        help_text = advice.fields(owner, ctx.text(node.value))
    vector = ctx.vector_of(owner)
    if isinstance(vector, Complex):
        help_text = f"name a part: `{advice.as_owner(ctx.text(node.value))}.{_part(key)}`"
    elif vector is not None:
        return _vector_item(ctx, owner, vector, key, node)
    ctx.fail("VKA323", node, text=ctx.text(node.value), what=ctx.describe(owner), advice=help_text)


def _owner_and_key(ctx: Context, node: ast.Subscript) -> tuple[Value, Value]:
    """What is subscripted, and the subscript; of a vector that is assigned, the place."""
    if not isinstance(node.ctx, ast.Store):
        owner, key = ctx.operands(node.value, node.slice)
        return owner, key
    owner, before = ctx.expr(node.value), len(ctx.block)
    key = ctx.expr(node.slice)
    if isinstance(owner, Element) and ctx.has_effects(before):
        return Element(ctx.keep_place(owner.place, before)[0]), key
    return ctx.kept(owner, before), key


def _slice(ctx: Context, node: ast.Subscript) -> Value:
    """``values[1:]`` of a tuple, between constants; of memory a view, ``matrix[i, 1:3]`` as well."""
    first, *rest = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not isinstance(first, ast.Slice):
        # The row, and the slices of it.
        row = ast.copy_location(ast.Subscript(node.value, first, ast.Load()), node)
        left = ast.Tuple(rest, ast.Load()) if len(rest) > 1 else rest[0]
        return _slice(ctx, ast.copy_location(ast.Subscript(row, ast.copy_location(left, node), ast.Load()), node))
    owner = thread_value(ctx, ctx.expr(node.value), node)
    if isinstance(owner, Memory) and owner.rank:
        parts = [part if isinstance(part, ast.Slice) else _no_slice(ctx, node, part) for part in (first, *rest)]
        if len(parts) > owner.rank:
            _rank_mismatch(ctx, node, owner, len(parts))
        return views.sliced(ctx, owner, parts)
    if not isinstance(owner, TupleValue) or not owner.has_items or rest:
        letters = vector.letters if (vector := ctx.vector_of(owner)) is not None else ""
        swizzle = f"name the components, such as `{ctx.text(node.value)}.{letters[:2]}`" if letters else ""
        what = f"slices of {ctx.describe(owner)}"
        ctx.fail("VKA101", node, what=what, advice=swizzle or "take slices of tuples, arrays and containers")
    return TupleValue(owner.items[slice_of(ctx, first)])


def _no_slice(ctx: Context, node: ast.Subscript, part: ast.expr) -> NoReturn:
    what = f"subscripts behind slices, as `{ctx.text(part)}` here"
    ctx.fail("VKA101", node, what=what, advice="subscript the elements in a loop over the slice")


def slice_of(ctx: Context, part: ast.Slice) -> slice:
    """A slice between constants."""
    bounds = [
        None if n is None else convert.constant_int(ctx, ctx.expr(n), n, "a bound of a tuple's slice")
        for n in (part.lower, part.upper, part.step)
    ]
    if bounds[2] == 0:
        ctx.fail("VKA112", part)
    return slice(*bounds)


def _outside(ctx: Context, node: ast.Subscript, dim: int, index: int) -> NoReturn:
    """Raises the error for a constant subscript that no container has."""
    text = ctx.text(node.value)
    help_text = "subscripts run from 0 to 2147483647"
    if index < 0:
        help_text = f"negative subscripts do not wrap: write `{text}.extent[{dim}] - {-index}`"
    ctx.fail("VKA324", node, index=index, place=f"dimension {dim} of `{text}`", advice=help_text)


def _part(key: Value) -> str:
    """The part of a complex number that a subscript means."""
    return "imag" if isinstance(key, Constant) and key.value == 1 else "real"


def _vector_item(ctx: Context, owner: Value, kind: Vector, key: Value, node: ast.Subscript) -> Value:
    """``v[0]``, ``v[k]``."""
    found = _item_number(ctx, key, kind.count, node)
    items = vector_items.components(ctx, owner, kind, node)
    if isinstance(found, Constant):
        return items[int(found.value)]
    return vector_items.chosen(ctx, items, found.expr, node)


def _field_of_container(ctx: Context, owner: BufferRef | ArrayRef, name: str, node: ast.Subscript) -> NoReturn:
    """``points["x"][i]``: numpy's way round."""
    text = ctx.text(node.value)
    help_text = f"subscript the element first: `{advice.subscript(ctx, text, owner)}.{name}`"
    ctx.fail("VKA314", node.slice, text=ctx.text(node.slice), given="a string", advice=help_text)


def _array_item(ctx: Context, owner: ArrayRef, key: Value, node: ast.Subscript) -> Value:
    kind = owner.place.type
    assert isinstance(kind, Array)
    indices = _indices(ctx, key, node)
    if isinstance(kind, Fragments) and len(indices) != owner.rank - 1:
        what = f"a matrix has no elements: `{ctx.text(node.value)}` is {ctx.describe(owner)}"
        help_text = "change all elements by `amp.matrix_map`, or store the matrix and read the memory"
        ctx.fail("VKA420", node, what=what, advice=help_text)
    is_matrix = isinstance(kind, Fragments)
    if not is_matrix and (len(indices) > owner.rank or (len(indices) < owner.rank and len(indices) != 1)):
        _rank_mismatch(ctx, node, owner, len(indices))
    found = key.items if isinstance(key, TupleValue) else (key,)
    items = [i for item in found for i in _components(ctx, item, node.slice)]
    for item, size in zip(items, kind.shape[len(owner.prefix) :], strict=False):
        if isinstance(item, Counter):
            item.within(0, size - 1)
    indices = tuple(map(_from_the_end, indices, kind.shape[len(owner.prefix) :]))
    for dim, (index, size) in enumerate(zip((*owner.prefix, *indices), kind.shape, strict=False)):
        if isinstance(index, ir.Const) and not 0 <= index.value < size:
            help_text = f"subscripts run from 0 to {size - 1}, and constant ones from -{size} count from the end"
            ctx.fail("VKA324", node, index=index.value, place=f"dimension {dim} of size {size}", advice=help_text)
    return memory_item(owner, indices, ctx.span(node))


def _from_the_end(index: ir.Expr, size: int) -> ir.Expr:
    """A constant subscript of an array; a negative one counts from the end, as in Python."""
    if isinstance(index, ir.Const) and -size <= index.value < 0:
        return ir.Const(index.span, INT32, int(index.value) + size)
    return index


def _view_item(ctx: Context, owner: ViewRef, key: Value, node: ast.Subscript) -> Value:
    indices = _indices(ctx, key, node)
    if len(indices) != owner.rank and len(indices) != 1:
        _rank_mismatch(ctx, node, owner, len(indices))
    sizes = views.size_of(owner, ctx.span(node))
    help_text = "subscripts run from 0, and negative ones do not wrap"
    for dim, (index, size) in enumerate(zip(indices, sizes, strict=False)):
        end = size.value if isinstance(size, ir.Const) else None
        if isinstance(index, ir.Const) and (index.value < 0 or (end is not None and index.value >= end)):
            place = f"dimension {dim} of `{ctx.text(node.value)}`"
            ctx.fail("VKA324", node, index=index.value, place=place, advice=help_text)
    item = memory_item(owner, indices, ctx.span(node))
    if isinstance(item, Element) and isinstance(item.place, ir.ViewElement) and views.is_out_of_range(item.place.base):
        ctx.fail("VKA324", node, index=ctx.text(node.slice), place=f"`{ctx.text(node.value)}`", advice=help_text)
    return item


def memory_item(owner: Memory, indices: tuple[ir.Expr, ...], span: Span) -> Value:
    """The element at some subscripts, or the remaining dimensions if there are fewer subscripts than dimensions."""
    if isinstance(owner, ViewRef):
        if len(indices) < owner.rank:
            return views.projection(owner, indices[0])
        return Element(views.view_element(owner, indices, span))
    prefix = (*owner.prefix, *indices)
    if isinstance(owner, BufferRef):
        if len(prefix) < owner.param.rank:
            return BufferRef(owner.param, prefix)
        return Element(ir.BufferElement(span, owner.param.element, owner.param.name, prefix))
    kind = owner.place.type
    assert isinstance(kind, Array)
    if len(prefix) < len(kind.shape):
        return ArrayRef(owner.place, prefix)
    return element_of(ir.ArrayElement(span, kind.element, owner.place, prefix))


def element_of(place: ir.Place) -> Value:
    """A place as a value: an array in a struct is an array."""
    return ArrayRef(place) if isinstance(place.type, Array) else Element(place)


def _rank_mismatch(ctx: Context, node: ast.Subscript, owner: Memory, given: int) -> NoReturn:
    text = ctx.text(node.value)
    s, are = ("", "is") if given == 1 else ("s", "are")
    help_text = f"write `{advice.subscript(ctx, text, owner)}`"
    if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == given < owner.rank:
        help_text += f"; a part of it is `{text}{''.join(f'[{ctx.text(e)}]' for e in node.slice.elts)}`"
    ctx.fail("VKA313", node, what=f"`{text}`", rank=owner.rank, given=given, s=s, are=are, advice=help_text)


def _indices(ctx: Context, key: Value, node: ast.Subscript) -> tuple[ir.Expr, ...]:
    """The subscript as integers: numbers, an index object, a tuple of both (``a[idx, 0]``)."""
    key = thread_value(ctx, key, node)
    found = key.items if isinstance(key, TupleValue) else (key,)
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    written = elements if len(elements) == len(found) else [node.slice] * len(found)
    parts = [(i, part) for item, part in zip(found, written, strict=True) for i in _components(ctx, item, part)]
    for item, _ in parts:
        if isinstance(item, Counter):
            item.within(0, int_range(INT32)[1])
    return tuple(convert.index_expr(ctx, item, part) for item, part in parts)


def _components(ctx: Context, item: Value, part: ast.expr) -> tuple[Value, ...]:
    """The components of an index object within a subscript; any other item is one subscript."""
    item = thread_value(ctx, item, part)
    return item.items if isinstance(item, TupleValue) and item.kind == "index" else (item,)


def _tuple_item(ctx: Context, owner: TupleValue, key: Value, node: ast.Subscript) -> Value:
    found = _item_number(ctx, key, len(owner.items), node, from_end=owner.kind == "tuple")
    return owner.items[int(found.value)] if isinstance(found, Constant) else choose_item(ctx, owner, found.expr, node)


def _item_number(
    ctx: Context, key: Value, size: int, node: ast.Subscript, *, from_end: bool = True
) -> Constant | Number:
    """The number of an item; a constant is one of ``size``.  ``from_end``: negative constants count from the end."""
    found = convert.number(ctx, key, node.slice)
    if convert.scalar_type(found) == BOOL:
        # In Python `True` is 1.
        whole = convert.cast(convert.natural(ctx, found, node.slice), INT32, ctx.span(node.slice))
        found = Number(whole)
    if isinstance(found, Number) and not convert.scalar_type(found).is_integer:
        convert.index_expr(ctx, found, node.slice)
    if isinstance(found, Number) and isinstance(found.expr, ir.Const):
        found = Constant(int(found.expr.value))
    if isinstance(found, Constant) and (
        not isinstance(found.value, int) or not (-size if from_end else 0) <= found.value < size
    ):
        s = "" if size == 1 else "s"
        help_text = "components are numbered from 0; negative subscripts do not count from the end"
        if from_end and not size:
            help_text = "it is empty: test its length first, `if len(...) > 0:`"
        elif from_end:
            help_text = f"subscripts run from 0 to {size - 1}, and constant ones from -{size} count from the end"
        ctx.fail("VKA325", node, text=ctx.text(node.value), index=found.value, size=size, s=s, advice=help_text)
    return found


# -- attributes ----------------------------------------------------------------------------------------------------

_THREAD_KINDS: dict[str, ThreadKind] = {
    "global_": "global", "local": "local", "tile": "tile", "tile_origin": "tile_origin",
}  # fmt: skip


@handles(ast.Attribute)
def _attribute(ctx: Context, node: ast.Attribute) -> Value:
    owner = ctx.expr(node.value)
    name = node.attr
    if isinstance(owner, ThreadRef):
        return _thread_attribute(ctx, name, node)
    if isinstance(owner, BarrierRef):
        if name in FENCES and FENCES[name].waits:
            return FieldMethod(owner, name)
        waits = [n for n, row in FENCES.items() if row.waits]
        _no_attribute(ctx, node, "a barrier", waits)
    if isinstance(owner, Object):
        return attribute_of_object(ctx, owner, name, node)
    if isinstance(owner, Memory):
        return _container_attribute(ctx, owner, name, node)
    if isinstance(owner, TupleValue) and name in owner.names:
        return owner.items[owner.names.index(name)]
    if isinstance(owner, TupleValue) and owner.cls is not None:
        if name == "_replace" and issubclass(owner.cls, tuple):
            return FieldMethod(owner, name)
        found = objects.class_attribute(ctx, owner, name, node)
        if found is not None:
            return found
    if isinstance(owner, TupleValue) and owner.kind != "tuple":
        if name == "rank":
            return Constant(len(owner.items))
        if owner.kind == "extent" and name in ("size", "contains"):
            return FieldMethod(owner, name)
    if isinstance(owner, Element) and isinstance(owner.place.type, Struct):
        if owner.place.type.field(name) is None:
            if name == "copy" and not objects.defines(owner, name):
                return FieldMethod(owner, name)
            found = objects.struct_attribute(ctx, owner, name, node)
            if found is not None:
                return found
        return _field_of(ctx, owner.place, name, node)
    vector = convert.vector(ctx, owner, node.value)
    if vector is not None:
        assert isinstance(vector.type, Vector)
        return vectors.attribute(ctx, owner, vector.type, name, node)
    if isinstance(owner, Functor):
        return objects.functor_attribute(ctx, owner, name, node)
    if name in scalars.METHODS and scalars.is_scalar(owner):
        return FieldMethod(owner, name)
    if isinstance(owner, Constant) and name == "value" and _is_of_enum(ctx, node.value):
        return owner
    if isinstance(owner, TupleValue):
        known = _ATTRIBUTES.get(owner.kind, owner.names)
        _no_attribute(
            ctx, node, ctx.describe(owner), known, _axes(len(owner.items), "") if owner.kind != "tuple" else None
        )
    _no_attribute(ctx, node, ctx.describe(owner), ())


def _is_of_enum(ctx: Context, node: ast.expr) -> bool:
    """Whether an expression names a member of an enumeration whose members are numbers."""
    cls = ctx.expr(node.value) if isinstance(node, ast.Attribute) else None
    return isinstance(cls, Object) and isinstance(cls.value, type) and issubclass(cls.value, enum.Enum)


_ATTRIBUTES = {"index": ("rank",), "extent": ("rank", "size", "contains")}


def _no_attribute(
    ctx: Context, node: ast.Attribute, owner: str, known: Iterable[str], spellings: Mapping[str, str] | None = None
) -> NoReturn:
    text = ctx.text(node.value)
    known = list(known)
    if known:
        help_text = advice.attribute(text, node.attr, known, spellings)
    elif owner.startswith("a tuple"):
        help_text = habits.OF_TUPLE.get(node.attr, "use its items").format(text=text)
    elif owner.startswith("a function"):
        help_text = "use the value itself"
    else:
        help_text = habits.of_number(node.attr).format(text=text)
    ctx.fail("VKA206", node, owner=owner, name=node.attr, advice=help_text)


def _thread_attribute(ctx: Context, name: str, node: ast.Attribute) -> Value:
    module = ctx.module
    span = ctx.span(node)
    if module.tile is None:
        if name == "rank":
            return Constant(module.rank)
        if name == "barrier":
            ctx.fail("VKA600", node)
        if name in _THREAD_KINDS or name.startswith("tile"):
            ctx.fail("VKA501", node, text=ctx.text(node), index=ctx.text(node.value))
        _elsewhere(ctx, node, "an index")
        _no_attribute(ctx, node, "an index", ("rank",), _axes(module.rank, ""))
    if name in _THREAD_KINDS:
        return thread_index(ctx, _THREAD_KINDS[name], span)
    if name == "barrier":
        return BarrierRef()
    if name == "tile_extent":
        return TupleValue(tuple(Constant(n) for n in module.tile), "extent")
    if name == "rank":
        return Constant(module.rank)
    for dim, size in enumerate(module.tile):
        if name == f"tile_dim{dim}":
            return Constant(size)
    _elsewhere(ctx, node, f"a tiled_index of rank {module.rank}")
    known = [*_THREAD_KINDS, "barrier", "tile_extent", "rank", *(f"tile_dim{d}" for d in range(module.rank))]
    _no_attribute(ctx, node, f"a tiled_index of rank {module.rank}", known, _axes(module.rank, ".global_"))


def _elsewhere(ctx: Context, node: ast.Attribute, owner: str) -> None:
    """Refuses a name that the thread's index has in another system."""
    found = habits.elsewhere(node.attr)
    if found is not None:
        help_text = found.format(index=ctx.text(node.value), amp=advice.language_alias(ctx), text=ctx.text(node.value))
        ctx.fail("VKA206", node, owner=owner, name=node.attr, advice=help_text)


def _axes(rank: int, owner: str) -> dict[str, str]:
    """x is the last dimension, as in shading languages."""
    return {axis: f"{owner}[{rank - 1 - k}]" for k, axis in enumerate("xyz"[:rank])}


_HOST_ONLY = (
    "copy_to", "synchronize", "synchronize_async", "synchronize_to", "refresh", "discard_data", "data",
    "accelerator_view", "associated_accelerator_view", "source_accelerator_view", "cpu_access_type", "get_ref",
)  # fmt: skip


def _container_attribute(ctx: Context, owner: Memory, name: str, node: ast.Attribute) -> Value:
    span = ctx.span(node)
    if isinstance(owner, ArrayRef) and isinstance(owner.place.type, Array):
        kind = owner.place.type
        if kind.shape == () and isinstance(kind.element, Struct):
            return _field_of(ctx, ir.ArrayElement(span, kind.element, owner.place, ()), name, node)
        if kind.shape == () and isinstance(kind.element, Vector):
            element = Element(ir.ArrayElement(span, kind.element, owner.place, ()))
            return vectors.attribute(ctx, element, kind.element, name, node)
    if name == "extent":
        return views.extent_value(owner, span)
    if name == "rank":
        return Constant(owner.rank)
    if name == "dtype":
        return type_object(views.element_type(owner))
    if name in views.METHODS and owner.rank:
        return FieldMethod(owner, name)
    if name in _HOST_ONLY and not isinstance(owner, ArrayRef):
        ctx.fail("VKA208", node, name=f"{ctx.text(node.value)}.{name}")
    help_text = advice.attribute_of_container(ctx, owner, ctx.text(node.value), name)
    ctx.fail("VKA206", node, owner=ctx.describe(owner), name=name, advice=help_text)


def _no_field(ctx: Context, kind: Struct, name: str, owner: str, node: ast.AST) -> NoReturn:
    known = [f.name for f in kind.fields]
    fields = f"its fields are {', '.join(f'`{n}`' for n in known)}"
    close = advice.near(name, known)
    ctx.fail("VKA312", node, name=name, advice=f"did you mean `{owner}.{close}`? {fields}" if close else fields)


def _field_of(ctx: Context, place: ir.Place, name: str, node: ast.AST) -> Value:
    """A member of a struct in place."""
    assert isinstance(place.type, Struct)
    member = place.type.field(name)
    if member is None:
        owner = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else node
        _no_field(ctx, place.type, name, ctx.text(owner), node)
    return element_of(ir.FieldOf(ctx.span(node), member.type, place, name))
