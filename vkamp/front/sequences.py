"""Sequences: what a ``for`` iterates over.

A tuple's items are known one by one; a range, an array, a container and a view have a length, and an item for each
number below it.  ``enumerate``, ``zip``, ``reversed``, ``map`` and generator expressions make sequences of others.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

from vkamp.errors import Span
from vkamp.front import advice, convert, vectors, views
from vkamp.front.arity import no_keywords, wrong_count
from vkamp.front.choices import choose_item
from vkamp.front.context import Context, Slot, handles
from vkamp.front.expressions import binary
from vkamp.front.index_objects import thread_value
from vkamp.front.names import marked_name, named_callee
from vkamp.front.scopes import COMPREHENSIONS, nodes_in
from vkamp.front.subscripts import memory_item, slice_of
from vkamp.front.values import (
    Constant,
    Element,
    Memory,
    Number,
    Object,
    TupleValue,
    Value,
    loaded,
    objects_of,
)
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import operation
from vkamp.ir.types import BOOL, INT32, Scalar, Vector
from vkamp.lang.device import static_range

#: Items of a sequence that are written one by one, not by a loop.
_SHORT = 8


@dataclass(frozen=True)
class Sequence:
    """``length`` (int32) items; ``item`` gives the one at a Constant or a Number.

    ``listed``: the items are known one by one, and may be of different kinds; the length is a constant then.
    ``bounds``: of a range, its start, stop and step.  ``items``: of a tuple, which are evaluated already.
    ``rebuilt``: makes the same sequence after it has applied a function to each of those from which this one computes
    its items when they are needed.  ``calls``: computing them runs code of the kernel.
    """

    length: ir.Expr
    item: Callable[[Value], Value]
    listed: bool = False
    bounds: tuple[ir.Expr, ir.Expr, ir.Expr] | None = None
    items: tuple[Value, ...] = ()
    rebuilt: Callable[[Callable[[Sequence], Sequence]], Sequence] | None = None
    calls: bool = False

    @property
    def count(self) -> int | None:
        """The length, if it is known at compile time."""
        return int(self.length.value) if isinstance(self.length, ir.Const) else None


def _computed(
    parts: list[Sequence], length: ir.Expr, item: Callable[[list[Sequence], Value], Value], *, calls: bool = False
) -> Sequence:
    """A sequence whose items are computed, when they are needed, from those of others."""
    return Sequence(
        length,
        lambda at: item(parts, at),
        listed=any(p.listed for p in parts) and isinstance(length, ir.Const),
        rebuilt=lambda of: _computed([of(p) for p in parts], length, item, calls=calls),
        calls=calls or any(p.calls for p in parts),
    )


def _at_once(sequence: Sequence) -> Sequence:
    """The same items, all computed before a loop begins."""
    return replace(sequence, rebuilt=None)


# -- what is a sequence --------------------------------------------------------------------------------------------


def try_sequence(ctx: Context, node: ast.expr) -> Sequence | None:
    """The sequence that is an expression's value; ``None`` if the value is not a sequence."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return listed(ctx, tuple(ctx.operands(*spread(ctx, node.elts))), node)
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        return _of_comprehension(ctx, node)
    if isinstance(node, ast.Call):
        maker = _maker(ctx, node)
        if maker is not None:
            return maker(ctx, node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and is_range(ctx, node):
        return _slice_of_range(ctx, node, node.slice)
    return _of_value(ctx, ctx.expr(node), node)


def sequence_of(ctx: Context, node: ast.expr) -> Sequence:
    """The sequence that is an expression's value; anything else is refused."""
    found = try_sequence(ctx, node)
    if found is None:
        no_sequence(ctx, node)
    return found


def no_sequence(ctx: Context, node: ast.expr) -> NoReturn:
    """Raises the error for a loop over something that has no items."""
    value = ctx.expr(node)
    if isinstance(value, Object) and advice.is_host_object(value.value):
        ctx.host_object(value.value, node)
    help_text = "write `for i in range(n):`, or iterate over a tuple, an array or a container"
    if isinstance(value, (Constant, Number)) or (isinstance(value, Element) and ctx.fields_of(value) == ()):
        help_text = f"write `for i in range({ctx.text(node)}):`"
    if isinstance(value, TupleValue) and not value.has_items:
        help_text = advice.fields(value, ctx.text(node))
    ctx.fail("VKA104", node, text=ctx.text(node), advice=help_text)


def _maker(ctx: Context, node: ast.Call) -> Callable[[Context, ast.Call], Sequence] | None:
    callee = named_callee(ctx, node.func)
    return _MAKERS.get(id(callee.value)) if isinstance(callee, Object) else None


def _number(ctx: Context, count: int, node: ast.AST) -> ir.Expr:
    return ir.Const(ctx.span(node), INT32, count)


def listed(ctx: Context, items: tuple[Value, ...], node: ast.expr) -> Sequence:
    """The items of a tuple; one is chosen at run time as far as they are numbers of one type."""

    def item(at: Value) -> Value:
        if isinstance(at, Constant):
            return items[int(at.value)]
        return choose_item(ctx, TupleValue(items), convert.natural(ctx, convert.number(ctx, at, node), node), node)

    return Sequence(_number(ctx, len(items), node), item, listed=True, items=items)


def _of_value(ctx: Context, value: Value, node: ast.expr) -> Sequence | None:
    value = thread_value(ctx, value, node)
    if isinstance(value, TupleValue) and value.has_items:
        return listed(ctx, value.items, node)
    if isinstance(value, Memory) and value.rank:
        return _of_memory(ctx, value, node)
    vector = convert.vector(ctx, value, node)
    if vector is not None:
        assert isinstance(vector.type, Vector)
        whole = Number(ctx.stable(vector, "vector"))
        return listed(ctx, tuple(vectors.component(ctx, whole, n, node) for n in vector.type.letters), node)
    return None


def _of_memory(ctx: Context, value: Memory, node: ast.expr) -> Sequence:
    span = ctx.span(node)
    value = views.stable_view(ctx, value, "at")

    def item(at: Value) -> Value:
        index = convert.natural(ctx, convert.number(ctx, at, node), node)
        return memory_item(value, (index,), span)

    return Sequence(views.size_of(value, span)[0], item)


def _of_comprehension(ctx: Context, node: ast.GeneratorExp | ast.ListComp) -> Sequence:
    """One clause without conditions: each item of its sequence gives one."""
    clause = node.generators[0]
    if len(node.generators) > 1 or clause.ifs:
        ctx.fail("VKA121", node, text=ctx.text(node))
    inner = sequence_of(ctx, clause.iter)

    def item(parts: list[Sequence], at: Value) -> Value:
        with bound(ctx, clause.target, parts[0].item(at)):
            return ctx.expr(node.elt)

    found = _computed([inner], inner.length, item, calls=True)
    return _at_once(found) if isinstance(node, ast.ListComp) else found


# -- ranges --------------------------------------------------------------------------------------------------------


def range_bounds(
    ctx: Context, call: ast.Call, held: Callable[[ir.Expr], ir.Expr] = lambda bound: bound
) -> tuple[tuple[ir.Expr, ir.Expr, ir.Expr], bool]:
    """The start, stop and step of a range in their common type, and whether all its arguments are literals.

    ``held``: what is done with the arguments before they are used.
    """
    args, span = _arguments(ctx, call, 1, 3, "range(n)"), ctx.span(call)
    numbers = [convert.number(ctx, v, n) for v, n in zip(ctx.operands(*args), args, strict=True)]
    kind = _range_type(ctx, numbers, call)
    bounds = [held(convert.convert(ctx, n, kind, part)) for n, part in zip(numbers, args, strict=True)]
    if len(bounds) == 1:
        bounds.insert(0, ir.Const(span, kind, 0))
    if len(bounds) == 2:
        bounds.append(ir.Const(span, kind, 1))
    start, stop, step = bounds
    if isinstance(step, ir.Const) and step.value == 0:
        ctx.fail("VKA112", args[2])
    return (start, stop, step), all(isinstance(n, Constant) for n in numbers)


def static_bounds(ctx: Context, call: ast.Call) -> range:
    """The numbers of a ``static_range``."""
    args = _arguments(ctx, call, 1, 3, f"{ctx.text(call.func)}(n)")
    what = "a bound of static_range"
    bounds = [convert.constant_int(ctx, v, n, what) for v, n in zip(ctx.operands(*args), args, strict=True)]
    if len(bounds) == 3 and bounds[2] == 0:
        ctx.fail("VKA112", args[2])
    return range(*bounds)


def _range_type(ctx: Context, numbers: list[Constant | Number], call: ast.Call) -> Scalar:
    """The type in which the arguments of a range meet."""
    found: Constant | Number = numbers[0]
    for other in numbers[1:]:
        found = Number(ir.Const(ctx.span(call), convert.common(found, other), 0))
    kind = convert.scalar_type(found)
    kind = INT32 if kind == BOOL else kind
    for n, part in zip(numbers, call.args, strict=True):
        if not kind.is_integer:
            given = advice.with_article(convert.scalar_type(n))
            ctx.fail("VKA114", part, text=ctx.text(part), given=given, advice=convert.whole_number(ctx, n, part))
    return kind


def _arguments(ctx: Context, node: ast.Call, least: int, most: int, usage: str) -> list[ast.expr]:
    """The arguments by position, of which there are some."""
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            ctx.refuse(arg)
    no_keywords(ctx, node)
    if not least <= len(node.args) <= most:
        number = least if least == most else f"{least} or more" if most > 9 else f"{least} to {most}"
        wrong_count(ctx, node, ctx.text(node.func), number, usage)
    return node.args


def _static_range(ctx: Context, node: ast.Call) -> Sequence:
    return listed(ctx, tuple(map(Constant, static_bounds(ctx, node))), node)


def _range(ctx: Context, node: ast.Call) -> Sequence:
    (start, stop, step), weak = range_bounds(ctx, node, lambda bound: ctx.stable(bound, "bound"))
    span, kind = ctx.span(node), step.type
    if not isinstance(step, ir.Const):
        convert.no_constant(ctx, Number(step), node.args[2], "the step of this range", "a whole number")
    assert isinstance(kind, Scalar)
    steps: range | None = None
    if isinstance(start, ir.Const) and isinstance(stop, ir.Const):
        steps = range(int(start.value), int(stop.value), int(step.value))
        length: ir.Expr = _number(ctx, len(steps), node)
    else:
        length = _range_length(span, kind, start, stop, int(step.value))

    def item(at: Value) -> Value:
        if isinstance(at, Constant) and steps is not None:
            value = steps[int(at.value)]
            return Constant(value) if weak else Number(ir.Const(span, kind, value))
        number = convert.convert(ctx, convert.number(ctx, at, node), kind, node)
        moved = operation(span, kind, "mul", number, step)
        return Number(operation(span, kind, "add", start, moved))

    return Sequence(length, item, bounds=(start, stop, step))


def _slice_of_range(ctx: Context, node: ast.Subscript, part: ast.Slice) -> Sequence:
    """``range(n)[2:5]``, between constants, of a range whose length is known."""
    inner = sequence_of(ctx, node.value)
    if inner.count is None:
        help_text = "choose the bounds of the range instead"
        ctx.fail("VKA101", node, what="slices of ranges whose length is known only at run time", advice=help_text)
    items = range(inner.count)[slice_of(ctx, part)]

    def item(at: Value) -> Value:
        if isinstance(at, Constant):
            return inner.item(Constant(items[int(at.value)]))
        scaled = binary(ctx, ast.Mult(), Constant(items.step), at, node, node, node)
        return inner.item(binary(ctx, ast.Add(), Constant(items.start), scaled, node, node, node))

    return Sequence(_number(ctx, len(items), node), item)


def _range_length(span: Span, kind: Scalar, start: ir.Expr, stop: ir.Expr, step: int) -> ir.Expr:
    """The number of items, at least 0."""
    low, high = (start, stop) if step > 0 else (stop, start)
    zero = ir.Const(span, kind, 0)
    width = operation(span, kind, "sub", high, low)
    if abs(step) != 1:
        rounded = operation(span, kind, "add", width, ir.Const(span, kind, abs(step) - 1))
        width = operation(span, kind, "tdiv", rounded, ir.Const(span, kind, abs(step)))
    some = ir.Select(span, kind, ir.Compare(span, BOOL, "gt", high, low), width, zero)
    return convert.narrowed(some) if kind.bits == 64 else convert.cast(some, INT32, span)


# -- sequences of others -------------------------------------------------------------------------------------------


def _enumerate(ctx: Context, node: ast.Call) -> Sequence:
    keywords = [k for k in node.keywords if k.arg == "start"]
    plain = ast.copy_location(ast.Call(node.func, [*node.args, *(k.value for k in keywords)], []), node)
    if len(keywords) < len(node.keywords):
        plain.keywords = node.keywords
    args = _arguments(ctx, plain, 1, 2, "enumerate(x)")
    inner = sequence_of(ctx, args[0])
    start: Value = Constant(0)
    if len(args) == 2:
        start = Number(ctx.stable(convert.index_expr(ctx, ctx.expr(args[1]), args[1]), "start"))
        start = Constant(start.expr.value) if isinstance(start.expr, ir.Const) else start

    def item(parts: list[Sequence], at: Value) -> Value:
        number = at if start == Constant(0) else binary(ctx, ast.Add(), start, at, node, node, node)
        return TupleValue((number, parts[0].item(at)))

    return _computed([inner], inner.length, item)


def _sequences(ctx: Context, nodes: list[ast.expr]) -> list[Sequence]:
    """Several sequences, evaluated from left to right; the items of tuples are what they were before later effects."""
    parts: list[Sequence] = []
    for node in nodes:
        before = at = len(ctx.block)
        part = sequence_of(ctx, node)
        for k, earlier in enumerate(parts if ctx.has_effects(before) else ()):
            if earlier.items:
                kept, at = ctx.keep(TupleValue(earlier.items), at)
                assert isinstance(kept, TupleValue)
                parts[k] = listed(ctx, kept.items, nodes[k])
        parts.append(part)
    return parts


def _zip(ctx: Context, node: ast.Call) -> Sequence:
    strict = [k.value for k in node.keywords if k.arg == "strict"]
    plain = ast.copy_location(ast.Call(node.func, node.args, [k for k in node.keywords if k.arg != "strict"]), node)
    args = _arguments(ctx, plain, 1, 1000, "zip(x, y)")
    parts = _sequences(ctx, args)
    length = _shortest(ctx, parts, node)
    if strict and ctx.expr(strict[0]) == Constant(True):
        _alike(ctx, parts, node)
    return _computed(parts, length, lambda parts, at: TupleValue(tuple(p.item(at) for p in parts)))


def _alike(ctx: Context, parts: list[Sequence], node: ast.Call) -> None:
    """``strict=True``: lengths that are known are compared here, others by check mode and the reference accelerator."""
    for part in parts[1:]:
        if part.count is not None and parts[0].count is not None:
            if part.count != parts[0].count:
                ctx.fail("VKA127", node, one=parts[0].count, other=part.count)
            continue
        test = ir.Compare(part.length.span, BOOL, "eq", parts[0].length, part.length)
        ctx.emit(ir.Assert(part.length.span, test, f"{ctx.text(node)}: the lengths differ"))


def _shortest(ctx: Context, parts: list[Sequence], node: ast.expr) -> ir.Expr:
    known = [p.count for p in parts if p.count is not None]
    result = _number(ctx, min(known), node) if known else None
    for part in parts:
        if part.count is None:
            length = part.length
            result = length if result is None else ir.Builtin(length.span, INT32, "min", (result, length))
    assert result is not None
    return result


def _reversed(ctx: Context, node: ast.Call) -> Sequence:
    (arg,) = _arguments(ctx, node, 1, 1, "reversed(x)")
    inner = sequence_of(ctx, arg)
    span = ctx.span(node)
    last = operation(span, INT32, "sub", inner.length, ir.Const(span, INT32, 1))
    end = Constant(int(last.value)) if isinstance(last, ir.Const) else Number(ctx.stable(last, "last"))

    def item(parts: list[Sequence], at: Value) -> Value:
        return parts[0].item(binary(ctx, ast.Sub(), end, at, node, node, node))

    return replace(_computed([inner], inner.length, item), items=inner.items[::-1])


def _map(ctx: Context, node: ast.Call) -> Sequence:
    function, *args = _arguments(ctx, node, 2, 1000, "map(f, x)")
    parts = _sequences(ctx, args)
    length = _shortest(ctx, parts, node)
    # The items get names that no program can contain.
    names = [f"item {k}" for k in range(len(args))]
    targets = [ast.copy_location(ast.Name(name, ast.Load()), arg) for name, arg in zip(names, args, strict=True)]
    call = ast.copy_location(ast.Call(function, list(targets), []), node)

    def item(parts: list[Sequence], at: Value) -> Value:
        items = TupleValue(tuple(part.item(at) for part in parts))
        with bound(ctx, ast.copy_location(ast.Tuple(list(targets), ast.Store()), node), items):
            return ctx.expr(call)

    return _computed(parts, length, item, calls=True)


def _copied(ctx: Context, node: ast.Call) -> Sequence:
    """``tuple(x)`` and ``list(x)`` as sequences."""
    (arg,) = _arguments(ctx, node, 1, 1, f"{ctx.text(node.func)}(x)")
    return _at_once(sequence_of(ctx, arg))


_MAKERS: dict[int, Callable[[Context, ast.Call], Sequence]] = {
    id(builtins.range): _range,
    id(static_range): _static_range,
    id(builtins.enumerate): _enumerate,
    id(builtins.zip): _zip,
    id(builtins.reversed): _reversed,
    id(builtins.map): _map,
    id(builtins.tuple): _copied,
    id(builtins.list): _copied,
}


# -- going over them -----------------------------------------------------------------------------------------------


@contextmanager
def bound(ctx: Context, target: ast.expr, value: Value) -> Iterator[None]:
    """The names of a comprehension's target, bound to an item within the comprehension only."""
    slots, assigned = dict(ctx.slots), ctx.assigned
    ctx.assigned = None if assigned is None else set(assigned)
    _bind(ctx, target, value)
    try:
        yield
    finally:
        # What the expression itself has declared stays.
        for name in _names(target):
            if name in slots:
                ctx.slots[name] = slots[name]
            else:
                ctx.slots.pop(name, None)
        ctx.assigned = assigned


def _names(target: ast.expr) -> list[str]:
    return [n.id for n in nodes_in(target) if isinstance(n, ast.Name)]


def _bind(ctx: Context, target: ast.expr, value: Value) -> None:
    if isinstance(target, ast.Name):
        if not isinstance(value, (Constant, TupleValue)):
            value = _once(ctx, value, target.id)
        ctx.bind(target.id, Slot(value, ctx.span(target), "alias"))
        return
    if not isinstance(target, (ast.Tuple, ast.List)):
        ctx.refuse(target)
    items = items_of(ctx, value, target, target)
    for part, item in zip(target.elts, items, strict=True):
        _bind(ctx, part, item)


def _once(ctx: Context, value: Value, name: str) -> Value:
    """A number in memory is read once for each item."""
    if isinstance(value, Number):
        if ir.read_local(value.expr) is not None:
            return value
        return Number(ctx.stable(value.expr, name), value.weak, value.double)
    place = getattr(value, "place", None)
    if isinstance(place, ir.Place) and isinstance(place.type, (Scalar, Vector)):
        return ctx.held(Number(loaded(place, place.span), objects=objects_of(value)), name)
    return value


def items_of(ctx: Context, value: Value, target: ast.Tuple | ast.List, node: ast.expr) -> tuple[Value, ...]:
    """The items of ``value``, the value of ``node``, for the targets. A starred target takes a tuple of the rest."""
    sequence = _of_value(ctx, value, node)
    if sequence is None or sequence.count is None or sequence.count > _MAX_ITEMS:
        help_text = "unpack a tuple or an index"
        in_loop = node is target or node is ctx.iterated
        if in_loop and sequence is not None and all(isinstance(t, ast.Name) for t in target.elts):
            loops = ": ".join(f"for {ctx.text(t)} in range(...)" for t in target.elts)
            help_text += f"; a loop over a container gives its elements, and `{loops}:` their indices"
        elif not in_loop and isinstance(value, Memory) and value.rank == 1:
            text = ctx.text(node)
            help_text = f"its length is known at run time only: take the elements, `{text}[0]` and so on"
        elif isinstance(value, TupleValue) and not in_loop:
            help_text = advice.fields(value, ctx.text(node))
        if isinstance(node, ast.Call) and marked_name(named_callee(ctx, node.func)) == "atomic_compare_exchange":
            help_text = (
                "read the old value from the variable of the expected one; the result says whether the store was made"
            )
        ctx.fail("VKA328", node, text=ctx.text(node), what=ctx.describe(value), advice=help_text)
    values, targets = sequence.count, len(target.elts)
    stars = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
    if values != targets if not stars else values < targets - 1:
        s, t = "" if values == 1 else "s", "" if targets == 1 else "s"
        ctx.fail("VKA329", target, targets=targets, values=values, s=s, t=t)
    items = [sequence.item(Constant(k)) for k in range(values)]
    if stars:
        first, after = stars[0], targets - stars[0] - 1
        last = values - after
        items = [*items[:first], TupleValue(tuple(items[first:last])), *items[last:]]
    return tuple(items)


#: The number of items of a sequence that is unpacked, or made a tuple.
_MAX_ITEMS = 64


def tuple_of(ctx: Context, node: ast.expr) -> TupleValue:
    """The items of a sequence whose length is known, each computed once, in order."""
    sequence = sequence_of(ctx, node)
    if sequence.count is None or sequence.count > _MAX_ITEMS:
        ctx.fail("VKA124", node, text=ctx.text(node), limit=_MAX_ITEMS)
    values: list[Value] = []
    for k in range(sequence.count):
        before = len(ctx.block)
        value = sequence.item(Constant(k))
        ctx.keep_all(values, before)
        values.append(value)
    return TupleValue(tuple(values))


def is_range(ctx: Context, node: ast.expr) -> bool:
    """Whether an expression is ``range(...)`` or ``amp.static_range(...)``, or a slice of one."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return is_range(ctx, node.value)
    return isinstance(node, ast.Call) and _maker(ctx, node) in (_range, _static_range)


def is_iterator(ctx: Context, node: ast.expr) -> bool:
    """Whether an expression is a sequence that kernels have no value for: a comprehension, ``zip(...)`` and others."""
    return isinstance(node, (ast.GeneratorExp, ast.ListComp)) or (
        isinstance(node, ast.Call) and _maker(ctx, node) not in (None, _copied)
    )


def spread(ctx: Context, nodes: list[ast.expr]) -> list[ast.expr]:
    """Arguments or items with ``*values`` as a name for each of the values."""
    if not any(isinstance(node, ast.Starred) for node in nodes):
        return nodes
    out: list[ast.expr] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            out.append(node)
            continue
        before = len(ctx.block)
        sequence = try_sequence(ctx, node.value)
        count = None if sequence is None else sequence.count
        if sequence is None or count is None or count > _MAX_ITEMS:
            ctx.refuse(node)
        if out and ctx.has_effects(before) and not _may_come_first(ctx, before, out):
            ctx.fail(
                "VKA101", node, what="`*` unpacking between arguments of which one may change another",
                advice="give each of them a name before this line, and pass the names",
            )  # fmt: skip
        for k in range(count):
            # The text of an item is not a name that a program can have.
            name = f"{ctx.text(node.value)}[{k}]"
            ctx.bind(name, Slot(sequence.item(Constant(k)), ctx.span(node), "alias"))
            out.append(ast.copy_location(ast.Name(name, ast.Load()), node))
    return out


def _may_come_first(ctx: Context, before: int, earlier: list[ast.expr]) -> bool:
    """Whether the statements from ``before`` on may run before the earlier operands: neither of them changes a variable
    of the program."""
    calls = (ast.Call, ast.NamedExpr, ast.GeneratorExp, ast.ListComp)
    only_reads = all(
        isinstance(statement, ir.Assign)
        and isinstance(statement.place, ir.Local)
        and statement.place.variable.temporary
        and not statement.update
        for statement in ctx.block[before:]
    )
    return only_reads and not any(isinstance(part, calls) for node in earlier for part in ast.walk(node))


@handles(ast.Tuple)
def _tuple(ctx: Context, node: ast.Tuple) -> Value:
    return TupleValue(tuple(ctx.operands(*spread(ctx, node.elts))))


def thunks(ctx: Context, node: ast.expr) -> list[Callable[[], Value]] | Sequence | None:
    """The items of a sequence that is short or listed, to be evaluated one by one; else the sequence.

    ``None``: a comprehension of several clauses or with conditions.
    """
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)) and (len(node.generators) > 1 or node.generators[0].ifs):
        return None
    sequence = sequence_of(ctx, node)
    count = sequence.count
    if count is None or (count > _SHORT and not sequence.listed):
        return sequence
    return [lambda k=k: sequence.item(Constant(k)) for k in range(count)]  # type: ignore[misc]


def each(
    ctx: Context, node: ast.expr, body: Callable[[Value], None], decided: Callable[[], ir.Expr] | None = None
) -> None:
    """Emits ``body`` for every item of a sequence, or result of a comprehension, until ``decided``."""
    if isinstance(node, COMPREHENSIONS) and isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        _clause(ctx, node, 0, body, decided)
    else:
        run(ctx, sequence_of(ctx, node), node, body, decided=decided)


def _clause(
    ctx: Context,
    node: ast.GeneratorExp | ast.ListComp,
    depth: int,
    body: Callable[[Value], None],
    decided: Callable[[], ir.Expr] | None,
) -> None:
    if depth == len(node.generators):
        body(ctx.expr(node.elt))
        return
    clause = node.generators[depth]
    if clause.is_async:
        ctx.refuse(node)

    def inner(item: Value) -> None:
        with bound(ctx, clause.target, item):
            _filtered(ctx, clause.ifs, lambda: _clause(ctx, node, depth + 1, body, decided))

    name = clause.target.id if isinstance(clause.target, ast.Name) else ""
    run(ctx, sequence_of(ctx, clause.iter), clause.iter, inner, name, decided)


def _filtered(ctx: Context, tests: list[ast.expr], body: Callable[[], None]) -> None:
    if not tests:
        body()
        return
    test = convert.condition(ctx, ctx.expr(tests[0]), tests[0])
    if isinstance(test, ir.Const):
        if test.value:
            _filtered(ctx, tests[1:], body)
        return
    with ctx.nested() as block:
        _filtered(ctx, tests[1:], body)
    if block:
        ctx.emit(ir.If(ctx.span(tests[0]), test, tuple(block), ()))


def run(
    ctx: Context,
    sequence: Sequence,
    node: ast.expr,
    body: Callable[[Value], None],
    name: str = "",
    decided: Callable[[], ir.Expr] | None = None,
    first: int = 0,
) -> None:
    """Emits ``body`` for the items from ``first`` on, until ``decided``: listed ones one by one, others in a loop."""
    span = ctx.span(node)
    if sequence.listed:
        assert sequence.count is not None
        for k in range(first, sequence.count):
            _guarded(ctx, lambda k=k: body(sequence.item(Constant(k))), decided if k > first else None, span)  # type: ignore[misc]
        return
    start, stop, step = sequence.bounds or (_number(ctx, 0, node), sequence.length, _number(ctx, 1, node))
    if first:
        start = operation(span, start.type, "add", start, step)
    variable = ctx.new_variable(name if name and sequence.bounds else f"{name or 'item'}_at", start.type, span)
    counter = Number(ir.Load(span, start.type, ir.Local(span, start.type, variable)))
    with ctx.conditional() as block:
        body(counter if sequence.bounds else sequence.item(counter))
        if decided is not None:
            ctx.emit(ir.If(span, decided(), (ir.Break(span),), ()))
    ctx.emit(ir.For(span, variable, start, stop, step, tuple(block)))


def _guarded(ctx: Context, body: Callable[[], None], decided: Callable[[], ir.Expr] | None, span: Span) -> None:
    if decided is None:
        body()
        return
    with ctx.nested() as block:
        body()
    ctx.emit(ir.If(span, ir.Unary(span, BOOL, "not", decided()), tuple(block), ()))
