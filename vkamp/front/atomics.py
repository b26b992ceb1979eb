"""Atomic operations, and the places that they update."""

from __future__ import annotations

import ast
from typing import Literal, NoReturn

from vkamp.errors import Span
from vkamp.front import advice, convert
from vkamp.front.arity import check_arity
from vkamp.front.context import Context, NeedsElementsError, contains_load
from vkamp.front.values import (
    ArrayRef,
    Constant,
    Element,
    Memory,
    NoValue,
    Number,
    Value,
)
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import ATOMICS
from vkamp.ir.fences import FENCES
from vkamp.ir.types import BOOL, FLOAT32, INT32, UINT32, Array, Complex, Scalar


def atomic(ctx: Context, name: str, node: ast.Call) -> Value:
    row = ATOMICS[name]
    operands = ("expected", "value")[2 - row.operands :]
    check_arity(
        ctx, node, 1 + row.operands, ctx.text(node.func), f"{ctx.text(node.func)}({', '.join(('a[i]', *operands))})"
    )
    target = ctx.expr(node.args[0])
    before = len(ctx.block)
    values = [target, *ctx.operands(*node.args[1:])]
    if isinstance(target, Element) and len(ctx.block) > before:
        # The element is chosen before the effects of the operands.
        effects = ctx.block[before:]
        del ctx.block[before:]
        values[0] = Element(fixed_place(ctx, target.place))
        ctx.block.extend(effects)
    place = _atomic_place(ctx, values[0], name, node.args[0])
    kind = place.type
    assert isinstance(kind, Scalar)
    if kind.name not in row.types:
        *others, last = row.types
        ctx.fail("VKA407", node, name=name, accepts=f"{', '.join(others)} or {last}", given=kind)
    span = ctx.span(node)
    if row.result == "bool":
        return _compare_exchange(ctx, name, place, values, node)
    args = tuple(
        convert.assignable(ctx, v, kind, n, f"the operand of `{name}`")
        for v, n in zip(values[1:], node.args[1:], strict=True)
    )
    return _atomic_result(ctx, name, place, args, kind, None, span)


#: The ordered loads and stores: the atomic that does each, its order, and which arguments come before the order.
ORDERED: dict[str, tuple[str, Literal["acquire", "release"], tuple[str, ...]]] = {
    "atomic_load": ("atomic_fetch_or", "acquire", ("element",)),
    "atomic_store": ("atomic_exchange", "release", ("element", "value")),
}


def ordered_atomic(ctx: Context, name: str, node: ast.Call) -> Value:
    """``atomic_load`` and ``atomic_store``: an atomic, and a fence after an acquire or before a release."""
    row_name, order, _ = ORDERED[name]
    place_node, value_node, is_ordered = _ordered_arguments(ctx, name, node)
    row, span = ATOMICS[row_name], ctx.span(node)
    target, *values = ctx.operands(*(n for n in (place_node, value_node) if n is not None))
    place = _atomic_place(ctx, target, name, place_node)
    kind = place.type
    assert isinstance(kind, Scalar)
    if kind.name not in row.types:
        *others, last = row.types
        ctx.fail("VKA407", node, name=name, accepts=f"{', '.join(others)} or {last}", given=kind)
    fence = ir.Barrier(span, FENCES["all_memory_fence"])
    # GLSL has loads and stores of integers of 32 bits without further extensions.
    is_access = kind in (INT32, UINT32)
    marked: Literal["", "acquire", "release"] = order if is_ordered else ""
    if value_node is None:
        zero = ir.Const(span, kind, 0)
        result = ctx.new_variable("loaded", kind, span, temporary=True)
        ctx.emit(ir.Atomic(span, row_name, place, (zero,), result, order=marked, is_access=is_access))
        if is_ordered:
            ctx.emit(fence)
        return Number(ir.Load(span, kind, ir.Local(span, kind, result)))
    value = convert.assignable(ctx, values[0], kind, value_node, f"the operand of `{name}`")
    if is_ordered:
        ctx.emit(fence)
    ctx.emit(ir.Atomic(span, row_name, place, (value,), order=marked, is_access=is_access))
    return NoValue()


def _ordered_arguments(ctx: Context, name: str, node: ast.Call) -> tuple[ast.expr, ast.expr | None, bool]:
    """The element, the value of a store, and whether there is an order; the arguments may be named."""
    _, order, operands = ORDERED[name]
    names = (*operands, "order", "scope")
    given = dict(zip(names, node.args, strict=False))
    given.update((k.arg, k.value) for k in node.keywords if k.arg is not None)
    reason = ""
    if len(node.args) + len(node.keywords) != len(given) or len(node.args) > len(names):
        reason = "there are too many"
    elif missing := [n for n in operands if n not in given]:
        reason = f"`{missing[0]}` is missing"
    elif unknown := [n for n in given if n not in names]:
        reason = f"there is no `{unknown[0]}`"
    for word, allowed in (("order", (order, "relaxed")), ("scope", ("device", "tile"))):
        chosen = given.get(word)
        if not reason and chosen is not None and not (isinstance(chosen, ast.Constant) and chosen.value in allowed):
            reason = f'`{word}` is "{allowed[0]}" or "{allowed[1]}"'
    if reason:
        advised = f'call it as `amp.{name}({", ".join(operands)}, order="{order}", scope="device")`'
        ctx.fail("VKA222", node, name=name, reason=reason, advice=advised)
    chosen = given.get("order")
    is_ordered = chosen is None or (isinstance(chosen, ast.Constant) and chosen.value == order)
    return given[operands[0]], given.get("value"), is_ordered


def _atomic_result(
    ctx: Context,
    name: str,
    place: ir.Place,
    args: tuple[ir.Expr, ...],
    kind: Scalar,
    expected: ir.Local | None,
    span: Span,
) -> Value:
    result = ctx.new_variable("stored" if kind == BOOL else "before", kind, span, temporary=True)
    ctx.emit(ir.Atomic(span, name, place, args, result, expected))
    return Number(ir.Load(span, kind, ir.Local(span, kind, result)))


def _atomic_place(ctx: Context, value: Value, name: str, node: ast.expr) -> ir.Place:
    if isinstance(value, ArrayRef) and isinstance(value.place.type, Array) and value.place.type.shape == ():
        value = Element(ir.ArrayElement(ctx.span(node), value.place.type.element, value.place, ()))
    root = ir.root_of(value.place) if isinstance(value, Element) else None
    own = isinstance(root, ir.Local) and root.variable.storage != "tile_static"
    if isinstance(root, ir.Local) and root.variable.name in ctx.borrowed:
        raise NeedsElementsError
    if own or (isinstance(value, Constant) and isinstance(node, ast.Name)):
        what, help_text = "private to this thread", "use an ordinary assignment, such as `n += 1`"
        ctx.fail("VKA406", node, name=name, text=ctx.text(node), what=what, advice=help_text)
    if not isinstance(value, Element) or not isinstance(value.place.type, Scalar):
        _no_element(ctx, value, name, node)
    check_writable(ctx, value.place, node)
    what = _beyond_glsl(value.place)
    if what:
        ctx.fail("VKA411", node, name=name, text=ctx.text(node), what=what)
    return value.place


def _beyond_glsl(place: ir.Place) -> str:
    """What a shader cannot update atomically: tile_static memory has one type."""
    if isinstance(ir.root_of(place), ir.BufferElement):
        return ""
    step = place
    while not isinstance(step, (ir.Local, ir.BufferElement)):
        if isinstance(step, ir.Reinterpreted):
            return "a tile_static element that is read as another type"
        if isinstance(step, (ir.ComponentsOf, ir.FieldOf)) and place.type == FLOAT32:
            whole = "struct" if isinstance(step, ir.FieldOf) else "vector"
            return f"a float in a {whole} in tile_static memory"
        assert isinstance(step, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.ViewElement))
        step = step.base
    return ""


def _no_element(ctx: Context, value: Value, name: str, node: ast.expr) -> NoReturn:
    text = ctx.text(node)
    help_text = f"write the element itself as the first argument: `amp.{name}(counts[i], ...)`"
    vector = ctx.vector_of(value)
    if isinstance(vector, Complex):
        help_text = f"update its parts: `amp.{name}({text}.real, ...)`, `amp.{name}({text}.imag, ...)`"
    if isinstance(value, Memory):
        help_text = f"write one element of it: `amp.{name}({advice.subscript(ctx, text, value)}, ...)`"
    ctx.fail("VKA406", node, name=name, text=text, what=ctx.describe(value), advice=help_text)


def fixed_place(ctx: Context, place: ir.Place) -> ir.Place:
    """The place with subscripts that are evaluated once: those that read memory become locals."""

    def once(index: ir.Expr) -> ir.Expr:
        simple = ir.read_local(index) is not None
        return ctx.temporary("at", index) if contains_load(index) and not simple and _reads_memory(index) else index

    if isinstance(place, ir.BufferElement):
        return ir.BufferElement(place.span, place.type, place.buffer, tuple(map(once, place.indices)))
    if isinstance(place, ir.ArrayElement):
        return ir.ArrayElement(place.span, place.type, fixed_place(ctx, place.base), tuple(map(once, place.indices)))
    if isinstance(place, ir.FieldOf):
        return ir.FieldOf(place.span, place.type, fixed_place(ctx, place.base), place.name)
    if isinstance(place, ir.ComponentsOf):
        return ir.ComponentsOf(place.span, place.type, fixed_place(ctx, place.base), place.letters)
    if isinstance(place, ir.Reinterpreted):
        return ir.Reinterpreted(place.span, place.type, fixed_place(ctx, place.base), once(place.index))
    if isinstance(place, ir.ViewElement):
        return _fixed_view_element(ctx, place, tuple(map(once, place.indices)))
    return place


def _fixed_view_element(ctx: Context, place: ir.ViewElement, indices: tuple[ir.Expr, ...]) -> ir.ViewElement:
    """The element's place is made of the view's own subscripts: where these became locals, so they do there."""
    known: dict[ir.Node, ir.Node] = dict(zip(place.indices, indices, strict=True))
    base = ir.transform(place.base, lambda node: known.get(node, node))
    assert isinstance(base, ir.Place)
    return ir.ViewElement(place.span, place.type, fixed_place(ctx, base), indices, place.extent)


def _reads_memory(expr: ir.Expr) -> bool:
    """Whether an expression reads more than local variables."""
    return any(isinstance(n, ir.Load) and not isinstance(n.place, ir.Local) for n in ir.walk(expr))


def check_writable(ctx: Context, place: ir.Place, node: ast.AST) -> None:
    """Refuses a write through a read-only view."""
    root = ir.root_of(place)
    if isinstance(root, ir.BufferElement) and ctx.module.buffers[root.buffer].readonly:
        help_text = "make the view without readonly=True; of read-only memory, view a copy: `np.array(...)`"
        name = _bound_to(ctx, node)
        if name is not None:
            help_text += f", or change a copy: `{name} = ... .copy()`"
        ctx.fail("VKA405", node, name=root.buffer, advice=help_text)


def _bound_to(ctx: Context, node: ast.AST) -> str | None:
    """The name of an element of structs that a part of it is written through."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    slot = ctx.slots.get(node.id) if isinstance(node, ast.Name) else None
    return node.id if isinstance(node, ast.Name) and slot is not None and isinstance(slot.value, Element) else None


def _compare_exchange(ctx: Context, name: str, place: ir.Place, values: list[Value], node: ast.Call) -> Value:
    kind = place.type
    assert isinstance(kind, Scalar)
    expected_node = node.args[1]
    slot = ctx.slots.get(expected_node.id) if isinstance(expected_node, ast.Name) else None
    value = slot.value if slot is not None and slot.kind == "variable" else None
    if not isinstance(value, Element) or not isinstance(value.place, ir.Local) or value.place.type != kind:
        literal = isinstance(expected_node, ast.Constant)
        example = ctx.text(expected_node) if literal else "..."
        ctx.fail("VKA409", expected_node, type=kind, text=ctx.text(expected_node), advice=example)
    new = convert.assignable(ctx, values[2], kind, node.args[2], f"the operand of `{name}`")
    return _atomic_result(ctx, name, place, (new,), BOOL, value.place, ctx.span(node))
