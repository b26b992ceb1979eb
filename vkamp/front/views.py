"""Views made in kernels: section, projection, view_as and reinterpret_as, resolved to subscripts of the memory that
they view.

A view exists while the kernel is compiled; only its numbers (origins, sizes) exist at run time.  No device checks
them; the reference accelerator checks each subscript against the view's own extent.

C++ AMP's model: docs/conformance.md, sections 6 and 10.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from vkamp.errors import Span
from vkamp.front import convert
from vkamp.front.context import Context
from vkamp.front.dtypes import element_dtype
from vkamp.front.values import (
    ArrayRef,
    BufferRef,
    Constant,
    Memory,
    Number,
    ProjectionView,
    ReinterpretedView,
    SectionView,
    ShapedView,
    TupleValue,
    Value,
    ViewRef,
    view_parts,
    with_root,
    with_view_parts,
)
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import difference, operation, product, sum_of
from vkamp.ir.types import INT32, Array, Scalar, Struct, Type, Vector

#: The methods that make views.
METHODS = ("section", "reinterpret_as", "view_as")
#: The maximum number of elements of a dimension, and of a view of rank 1.
_MAX_SIZE = 2**31 - 1


# -- properties ----------------------------------------------------------------------------------------------------


def element_type(view: Memory) -> Type:
    """The type of the elements."""
    if isinstance(view, BufferRef):
        return view.param.element
    if isinstance(view, ArrayRef):
        assert isinstance(view.place.type, Array)
        return view.place.type.element
    return view.element if isinstance(view, ReinterpretedView) else element_type(view.of)


def size_of(view: Memory, span: Span) -> tuple[ir.Expr, ...]:
    """The extent, as int32 numbers."""
    if isinstance(view, BufferRef):
        dims = range(len(view.prefix), view.param.rank)
        return tuple(ir.BufferExtent(span, INT32, view.param.name, d) for d in dims)
    if isinstance(view, ArrayRef):
        assert isinstance(view.place.type, Array)
        return tuple(ir.Const(span, INT32, n) for n in view.place.type.shape[len(view.prefix) :])
    if isinstance(view, (SectionView, ShapedView)):
        return view.size
    if isinstance(view, ReinterpretedView):
        return (_scaled(_count(view.of, span), element_type(view.of).size, view.element.size, span),)
    return size_of(view.of, span)[1:]


def _count(view: Memory, span: Span) -> ir.Expr:
    total, *rest = size_of(view, span)
    for size in rest:
        total = product(total, size)
    return total


def _scaled(count: ir.Expr, old: int, new: int, span: Span) -> ir.Expr:
    """``count * old / new`` as elements of another size; the bytes are a multiple of both."""
    if old % new == 0:
        return product(count, ir.Const(span, INT32, old // new))
    if new % old:
        count = product(count, ir.Const(span, INT32, old))
        old = 1
    return operation(span, INT32, "tdiv", count, ir.Const(span, INT32, new // old))


def _row_major(indices: Sequence[ir.Expr], size: Sequence[ir.Expr]) -> ir.Expr:
    number = indices[0]
    for index, length in zip(indices[1:], size[1:], strict=True):
        number = sum_of(product(number, length), index)
    return number


# -- elements ------------------------------------------------------------------------------------------------------


def view_element(view: ViewRef, indices: tuple[ir.Expr, ...], span: Span) -> ir.ViewElement:
    """An element, with what the reference accelerator checks."""
    whole = tuple(convert.cast(i, INT32, i.span) for i in indices)
    return ir.ViewElement(span, element_type(view), _place(view, whole, span), whole, size_of(view, span))


def is_out_of_range(place: ir.Place) -> bool:
    """Whether constants make a subscript of the container exceed int32: their sum has wrapped to a negative number."""
    if isinstance(place, ir.Reinterpreted):
        return _is_negative(place.index) or is_out_of_range(place.base)
    return isinstance(place, ir.BufferElement) and any(map(_is_negative, place.indices))


def _is_negative(index: ir.Expr) -> bool:
    return isinstance(index, ir.Const) and index.value < 0


def projection(view: ViewRef, index: ir.Expr) -> ViewRef:
    """Lowers ``view[index]`` for a view of two or more dimensions."""
    return ProjectionView(view, convert.cast(index, INT32, index.span))


def _place(view: Memory, indices: tuple[ir.Expr, ...], span: Span) -> ir.Place:
    """The place of the element at ``indices``."""
    if isinstance(view, BufferRef):
        return ir.BufferElement(span, view.param.element, view.param.name, (*view.prefix, *indices))
    if isinstance(view, ArrayRef):
        return ir.ArrayElement(span, element_type(view), view.place, (*view.prefix, *indices))
    if isinstance(view, SectionView):
        moved = tuple(sum_of(o, i) for o, i in zip(view.origin, indices, strict=True))
        return _place(view.of, moved, span)
    if isinstance(view, ShapedView):
        return _linear(view.of, _row_major(indices, view.size), span)
    if isinstance(view, ProjectionView):
        return _place(view.of, (view.index, *indices), span)
    assert isinstance(view, ReinterpretedView)
    return _reinterpreted(_linear(view.of, ir.Const(span, INT32, 0), span), view.element, indices[0], span)


def _linear(view: Memory, number: ir.Expr, span: Span) -> ir.Place:
    """Element ``number`` of a view of rank 1, or of a container without gaps, in row-major order."""
    rank = view.rank
    if rank == 1:
        return _place(view, (number,), span)
    first = _place(view, (ir.Const(span, INT32, 0),) * rank, span)
    return _reinterpreted(first, element_type(view), number, span)


def _reinterpreted(first: ir.Place, kind: Type, index: ir.Expr, span: Span) -> ir.Place:
    """Element ``index`` of the memory from ``first`` on; one reinterpretation of another is one of the memory."""
    if isinstance(first, ir.Reinterpreted):
        index = sum_of(_scaled(first.index, first.type.size, kind.size, span), index)
        first = first.base
    if first.type == kind and isinstance(first, ir.BufferElement) and len(first.indices) == 1:
        return ir.BufferElement(span, kind, first.buffer, (sum_of(first.indices[0], index),))
    return ir.Reinterpreted(span, kind, first, index)


# -- making views --------------------------------------------------------------------------------------------------


def make_view(ctx: Context, view: Memory, name: str, values: list[Value], node: ast.Call) -> ViewRef:
    """The view that a method gives; ``view_as`` and ``reinterpret_as`` have one argument."""
    if name == "section":
        return _section(ctx, view, values, node)
    if name == "view_as":
        return _view_as(ctx, view, values[0], node)
    return _reinterpret_as(ctx, view, values[0], node)


def make_array_view(ctx: Context, values: list[Value], node: ast.Call) -> Value:
    """``amp.array_view(source)`` and ``amp.array_view(source, extent)``."""
    source = values[0] if values else None
    if node.keywords or len(values) not in (1, 2) or not isinstance(source, Memory):
        ctx.fail("VKA216", node, text=ctx.text(node), name=ctx.text(node.func))
    if len(values) == 1:
        return source
    size = _components(ctx, values[1], node.args[1])
    if len(size) == source.rank:
        origin = tuple(ir.Const(ctx.span(node), INT32, 0) for _ in size)
        return _checked_section(ctx, source, origin, size, node)
    return _view_as(ctx, source, values[1], node)


def _components(ctx: Context, value: Value, node: ast.expr) -> tuple[ir.Expr, ...]:
    items = value.items if isinstance(value, TupleValue) else (value,)
    return tuple(_whole(ctx, item, node) for item in items)


def _whole(ctx: Context, value: Value, node: ast.expr) -> ir.Expr:
    return convert.cast(convert.index_expr(ctx, value, node), INT32, ctx.span(node))


def _section(ctx: Context, view: Memory, values: list[Value], node: ast.Call) -> SectionView:
    """``(index, extent)``, ``(index)``, ``(extent)``, or origin and lengths as integers."""
    rank, span = view.rank, ctx.span(node)
    kinds = [v.kind if isinstance(v, TupleValue) else "number" for v in values]
    whole = size_of(view, span)
    origin: tuple[ir.Expr, ...] = tuple(ir.Const(span, INT32, 0) for _ in range(rank))
    size: tuple[ir.Expr, ...] | None = None
    if kinds == ["number"] * (2 * rank):
        parts = [_whole(ctx, v, n) for v, n in zip(values, node.args, strict=True)]
        origin, size = tuple(parts[:rank]), tuple(parts[rank:])
    elif kinds == ["extent"]:
        size = _components(ctx, values[0], node.args[0])
    elif kinds == ["index"]:
        origin = _components(ctx, values[0], node.args[0])
    elif len(kinds) == 2 and kinds[0] in ("index", "tuple") and kinds[1] in ("extent", "tuple"):
        origin, size = (_components(ctx, v, n) for v, n in zip(values, node.args, strict=True))
    else:
        _bad_section(ctx, rank, node)
    if len(origin) != rank or (size is not None and len(size) != rank):
        _bad_section(ctx, rank, node)
    if size is None:
        size = tuple(difference(n, o) for n, o in zip(whole, origin, strict=True))
    return _checked_section(ctx, view, origin, size, node)


def _bad_section(ctx: Context, rank: int, node: ast.Call) -> NoReturn:
    first, size = (", ".join(letters[:rank]) if rank <= 4 else "..." for letters in ("ijkl", "nmpq"))
    help_text = f"write `{ctx.text(node.func)}(amp.index({first}), amp.extent({size}))`"
    ctx.fail("VKA340", node, rank=rank, count=2 * rank, advice=help_text)


def _checked_section(
    ctx: Context, view: Memory, origin: tuple[ir.Expr, ...], size: tuple[ir.Expr, ...], node: ast.Call
) -> SectionView:
    """A section, refused where its numbers are known and wrong; a device checks no others."""
    for dim, (first, length, whole) in enumerate(zip(origin, size, size_of(view, ctx.span(node)), strict=True)):
        start, count, end = (e.value if isinstance(e, ir.Const) else None for e in (first, length, whole))
        limit = _MAX_SIZE if end is None else end
        if start is not None and not 0 <= start < limit:
            _outside(ctx, node, dim, f"begins at {start}", end)
        if count is not None and count <= 0:
            _outside(ctx, node, dim, f"has length {count}", None)
        if start is not None and count is not None and start + count > limit:
            _outside(ctx, node, dim, f"ends at {start + count}", end)
    for dim, (one, other) in enumerate(zip(view.origin if isinstance(view, SectionView) else (), origin, strict=False)):
        if isinstance(one, ir.Const) and isinstance(other, ir.Const) and one.value + other.value >= _MAX_SIZE:
            _outside(ctx, node, dim, f"begins at {one.value + other.value}", None)
    return _section_of(view, origin, size)


def has_slices(node: ast.expr) -> bool:
    """Whether an expression is ``values[first:last]``."""
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(part, ast.Slice) for part in parts)


def sliced(ctx: Context, view: Memory, parts: list[ast.Slice]) -> SectionView:
    """``view[first:last]``, which ends where the view ends, as in Python. Bounds that are known only at run time
    do not wrap."""
    bounds = [part for each in parts for part in (each.lower, each.upper) if part is not None]
    given = iter(ctx.operands(*bounds))
    origin: list[ir.Expr] = []
    size: list[ir.Expr] = []
    whole = size_of(view, ctx.span(parts[0]))
    for part, length in zip(parts, whole, strict=False):
        if part.step is not None and ctx.expr(part.step) != Constant(1):
            help_text = "loop over the subscripts, `for i in range(first, last, step):`"
            ctx.fail("VKA101", part, what="slices with a step", advice=help_text)
        first, last = (
            None if bound is None else _inside(_whole(ctx, next(given), bound), length)
            for bound in (part.lower, part.upper)
        )
        start = ir.Const(ctx.span(part), INT32, 0) if first is None else first
        origin.append(start)
        size.append(length if last is None and first is None else _at_least_0(difference(last or length, start)))
    origin += [ir.Const(ctx.span(parts[0]), INT32, 0) for _ in whole[len(parts) :]]
    return _section_of(view, tuple(origin), (*size, *whole[len(parts) :]))


def _inside(bound: ir.Expr, length: ir.Expr) -> ir.Expr:
    """A bound of a slice; a negative constant counts from the end."""
    if isinstance(bound, ir.Const) and bound.value < 0:
        return _at_least_0(sum_of(length, bound))
    if isinstance(bound, ir.Const) and isinstance(length, ir.Const):
        return ir.Const(bound.span, INT32, min(int(bound.value), int(length.value)))
    return bound if _is_zero(bound) else ir.Builtin(bound.span, INT32, "min", (bound, length))


def _at_least_0(number: ir.Expr) -> ir.Expr:
    if isinstance(number, ir.Const):
        return ir.Const(number.span, INT32, max(int(number.value), 0))
    return ir.Builtin(number.span, INT32, "max", (number, ir.Const(number.span, INT32, 0)))


def _section_of(view: Memory, origin: tuple[ir.Expr, ...], size: tuple[ir.Expr, ...]) -> SectionView:
    """A section; one of a section becomes one of the container, so that a name in a loop keeps its structure."""
    if isinstance(view, SectionView):
        origin = tuple(sum_of(a, b) for a, b in zip(view.origin, origin, strict=True))
        view = view.of
    return SectionView(view, origin, size)


def _outside(ctx: Context, node: ast.Call, dim: int, what: str, size: Any) -> NoReturn:
    of = f" of size {size}" if size is not None else ""
    ctx.fail("VKA341", node, what=what, dim=dim, of=of)


def _view_as(ctx: Context, view: Memory, value: Value, node: ast.Call) -> ShapedView:
    _needs_one_dimension(ctx, view, "view_as", node)
    span = ctx.span(node)
    size = _components(ctx, value, node.args[-1])
    shaped = ShapedView(view, size)
    have = _count(view, span)
    known = have.value if isinstance(have, ir.Const) else None
    numbers = [n.value for n in size if isinstance(n, ir.Const)]
    wanted = math.prod(numbers) if len(numbers) == len(size) else None
    too_many = wanted is not None and wanted > (_MAX_SIZE if known is None else known)
    if too_many or any(n <= 0 for n in numbers):
        count = f"`{ctx.text(node.args[-1])}`" if wanted is None else wanted
        ctx.fail("VKA342", node, wanted=count, have=known if known is not None else f"`{ctx.text(_source(node))}`")
    return shaped


def _source(node: ast.Call) -> ast.expr:
    """What a view is made of, in the source."""
    return node.func.value if node.args and isinstance(node.func, ast.Attribute) and len(node.args) == 1 else node


def _needs_one_dimension(ctx: Context, view: Memory, name: str, node: ast.Call) -> None:
    """Rank 1, or a whole container without gaps, whose elements count in row-major order."""
    if view.rank == 1 or (isinstance(view, BufferRef) and view.param.dense and not view.prefix):
        return
    indices = ", ".join("ijklmnpqrs"[: max(view.rank - 1, 1)])
    args = ", ".join(map(ctx.text, node.args))
    text = ctx.text(_source(node))
    ctx.fail("VKA343", node, name=name, text=text, what=ctx.describe(view), indices=indices, args=args)


def _reinterpret_as(ctx: Context, view: Memory, dtype: Value, node: ast.Call) -> ReinterpretedView:
    _needs_one_dimension(ctx, view, "reinterpret_as", node)
    kind = element_dtype(ctx, dtype, node.args[0])
    span = ctx.span(node)
    count = _count(view, span)
    old = element_type(view)
    nbytes = int(count.value) * old.size if isinstance(count, ir.Const) else 0
    if nbytes % kind.size:
        help_text = "take a section whose bytes are a multiple of the new element"
        _misfit(ctx, old, kind, f"{nbytes} bytes are not a whole number of these", help_text, node)
    _check_memory(ctx, _linear(view, ir.Const(span, INT32, 0), span), kind, node)
    return ReinterpretedView(view, kind)


def _misfit(ctx: Context, old: Type, new: Type, reason: str, advice: str, node: ast.Call) -> NoReturn:
    ctx.fail("VKA344", node, old=_type_text(old), new=_type_text(new), reason=reason, advice=advice)


def _type_text(kind: Type) -> str:
    return f"structs of {kind.size} bytes" if isinstance(kind, Struct) else f"{kind} elements"


def _check_memory(ctx: Context, first: ir.Place, kind: Type, node: ast.Call) -> None:
    """Refuses what a shader cannot address: elements that may begin between two of the new type."""
    start: ir.Expr | None = None
    old = first.type
    if isinstance(first, ir.Reinterpreted):
        start, first = first.index, first.base
    if not isinstance(first, ir.BufferElement):
        scalar = kind.element if isinstance(kind, Vector) else kind
        same = isinstance(old, Scalar) and isinstance(scalar, Scalar) and old.size == scalar.size
        if not same or not isinstance(ir.root_of(first), ir.Local):
            reason = "in an array, a scalar is read as a scalar of its size or a vector of such scalars"
            if not same:
                _misfit(ctx, old, kind, reason, "use a container, or assign field by field", node)
            _misfit(ctx, old, kind, "an array in a struct keeps its type", "reinterpret the container", node)
        return
    whole = ctx.module.buffers[first.buffer].dense and all(_is_zero(i) for i in first.indices[:-1])
    known = whole and _fits(first.indices[-1], first.type.size, kind.size)
    inside = first.type.size % kind.size == 0
    if not (known or inside) or (start is not None and not _fits(start, old.size, kind.size)):
        reason = "they may begin between two elements of the new type"
        help_text = "reinterpret the whole container first, and take the section of that"
        _misfit(ctx, old, kind, reason, help_text, node)


def _is_zero(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and expr.value == 0


def _fits(number: ir.Expr, old: int, new: int) -> bool:
    """Whether ``number`` elements of ``old`` bytes are certainly a whole number of elements of ``new`` bytes."""
    return old % new == 0 or (isinstance(number, ir.Const) and int(number.value) * old % new == 0)


# -- names for views -----------------------------------------------------------------------------------------------


def root_of(view: Memory) -> BufferRef | ArrayRef:
    """The container or array that a view refers to."""
    while isinstance(view, ViewRef):
        view = view.of
    return view


def over(view: Memory, place: ir.Local) -> Memory:
    """The same view over another array."""
    if isinstance(view, ViewRef):
        return replace(view, of=over(view.of, place))
    assert isinstance(view, ArrayRef)
    return ArrayRef(with_root(view.place, place), view.prefix)


def structure(view: Memory) -> Hashable:
    """What a view is except for its numbers."""
    if isinstance(view, BufferRef):
        return "container", view.param.name, len(view.prefix)
    if isinstance(view, ArrayRef):
        return "array", _place_structure(view.place), view.place.type, len(view.prefix)
    kind = view.element if isinstance(view, ReinterpretedView) else None
    return type(view).__name__, view.rank, kind, structure(view.of)


def _place_structure(place: ir.Place) -> Hashable:
    """The place of an array in its memory without the subscripts; locals are passed."""
    if isinstance(place, ir.Local):
        return place.variable.name if place.variable.storage == "tile_static" else place.type
    if isinstance(place, ir.BufferElement):
        return place.buffer
    assert isinstance(place, (ir.ArrayElement, ir.FieldOf, ir.Reinterpreted, ir.ViewElement))
    name = place.name if isinstance(place, ir.FieldOf) else type(place).__name__
    return name, place.type, _place_structure(place.base)


def same_structure(one: Memory, other: Memory) -> bool:
    """Whether two views of this function differ in nothing but their numbers."""
    first, second = root_of(one), root_of(other)
    if isinstance(first, ArrayRef) and isinstance(second, ArrayRef) and first.place != second.place:
        return False
    return structure(one) == structure(other)


def stable_view(ctx: Context, view: Memory, name: str) -> Memory:
    """The view with every number that could change later kept in a local."""
    return with_view_parts(view, iter([ctx.stable(part, f"{name}_index") for part in view_parts(view)]))


def variable_view(ctx: Context, view: Memory, name: str) -> Memory:
    """The view with variables for its numbers, which another part of the program may change."""
    parts = [ctx.temporary(f"{name}_index", convert.cast(p, INT32, p.span)) for p in view_parts(view)]
    return with_view_parts(view, iter(parts))


def assign_view(ctx: Context, view: Memory, value: Memory, span: Span) -> None:
    """Gives a view with variables the numbers of another one."""
    convert.assign_numbers(ctx, view_parts(view), view_parts(value), span)


def extent_value(view: Memory, span: Span) -> TupleValue:
    """``view.extent``."""
    items = (Constant(int(n.value)) if isinstance(n, ir.Const) else Number(n) for n in size_of(view, span))
    return TupleValue(tuple(items), "extent")
