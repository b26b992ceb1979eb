"""Python's functions of whole sequences: ``sum``, ``math.prod``, ``any``, ``all``, ``min``, ``max``, ``tuple``, ``in``.

They are evaluated as Python does, item by item: ``sum`` begins with 0 and adds from left to right, ``any`` and ``all``
stop at the item that decides.  ``min`` and ``max`` compare as those of two numbers do: a number wins over NaN.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

from vkamp.front import convert
from vkamp.front.arity import wrong_count
from vkamp.front.comparisons import compare_two, comparison
from vkamp.front.context import Context, handles
from vkamp.front.expressions import binary
from vkamp.front.sequences import Sequence, each, run, thunks, try_sequence, tuple_of
from vkamp.front.table import apply_row
from vkamp.front.values import Constant, Element, Number, TupleValue, Value
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import operation
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.types import BOOL, Scalar, Type, Vector

Thunk = Callable[[], Value]


def _arguments(ctx: Context, node: ast.Call, names: tuple[str, ...], usage: str) -> dict[str, ast.expr]:
    """The sequence, and the keyword arguments by name."""
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            ctx.refuse(arg)
    given = dict(zip(("sequence", *names), node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            help_text = "write a loop: `for i in range(n):`"
            if keyword.arg == "key":
                help_text = "keep the best item and its key in a loop; of two items write `a if f(a) >= f(b) else b`"
            ctx.fail("VKA122", keyword, name=ctx.text(node.func), keyword=keyword.arg or "**", advice=help_text)
        given[keyword.arg] = keyword.value
    if "sequence" not in given or len(node.args) > 1 + len(names):
        wrong_count(ctx, node, ctx.text(node.func), "1 or 2" if names else 1, usage)
    return given


def _next(ctx: Context, value: Value, item: Thunk) -> tuple[Value, Value]:
    """The next item, and a value that was computed before it as it was then."""
    before = len(ctx.block)
    found = item()
    return ctx.kept(value, before), found


def _load(place: ir.Local) -> ir.Load:
    return ir.Load(place.span, place.type, place)


def _value_of(ctx: Context, value: Value, node: ast.expr) -> ir.Expr:
    return convert.vector(ctx, value, node) or convert.natural(ctx, convert.number(ctx, value, node), node)


# -- sum, math.prod ------------------------------------------------------------------------------------------------


def _sum(ctx: Context, node: ast.Call) -> Value:
    return _accumulated(ctx, node, ast.Add(), 0)


def _product(ctx: Context, node: ast.Call) -> Value:
    return _accumulated(ctx, node, ast.Mult(), 1)


def _accumulated(ctx: Context, node: ast.Call, operator: ast.operator, neutral: int) -> Value:
    """All items and what they begin with, joined from left to right by an operator."""
    given = _arguments(ctx, node, ("start",), f"{ctx.text(node.func)}(x)")
    part = given["sequence"]
    items = thunks(ctx, part)
    start: Value = Constant(neutral)
    if "start" in given:
        start = ctx.expr(given["start"])
        start = start if isinstance(start, Constant) else Number(ctx.stable(_value_of(ctx, start, node), "start"))

    def joined(total: Value, item: Value) -> Value:
        return binary(ctx, operator, total, item, node, node, part)

    if isinstance(items, list):
        total = start
        for item in items:
            total, found = _next(ctx, total, item)
            total = joined(total, found)
        return total
    place: ir.Local | None = None

    def body(item: Value) -> None:
        nonlocal place
        if place is None:
            kind = _value_of(ctx, joined(start, item), node).type
            place = ctx.new_local("total" if neutral == 0 else "product", kind, ctx.span(node))
        result = _value_of(ctx, joined(Element(place), item), node)
        ctx.emit(ir.Assign(place.span, place, result, update=True))

    with ctx.nested() as block:
        _go(ctx, items, part, body)
    if place is None:
        return start
    ctx.emit(ir.Assign(place.span, place, _start(ctx, start, place.type, node)))
    ctx.block.extend(block)
    return Number(_load(place))


def _go(
    ctx: Context,
    items: Sequence | None,
    part: ast.expr,
    body: Callable[[Value], None],
    decided: Callable[[], ir.Expr] | None = None,
) -> None:
    if items is None:
        each(ctx, part, body, decided)
    else:
        run(ctx, items, part, body, "", decided)


def _start(ctx: Context, start: Value, kind: Type, node: ast.expr) -> ir.Expr:
    """The value that a sum begins with, in the sum's type."""
    if isinstance(kind, Vector):
        vector = convert.vector(ctx, start, node)
        if vector is not None:
            return vector
        found = convert.number(ctx, start, node)
        return ir.Construct(ctx.span(node), kind, (convert.convert(ctx, found, kind.element, node),))
    assert isinstance(kind, Scalar)
    return convert.convert(ctx, convert.number(ctx, start, node), kind, node)


# -- any, all ------------------------------------------------------------------------------------------------------


def _any(ctx: Context, node: ast.Call) -> Value:
    part = _arguments(ctx, node, (), f"{ctx.text(node.func)}(x)")["sequence"]
    return _decide(ctx, node, part, thunks(ctx, part), lambda v: convert.condition(ctx, v, part), until=True)


def _all(ctx: Context, node: ast.Call) -> Value:
    part = _arguments(ctx, node, (), f"{ctx.text(node.func)}(x)")["sequence"]
    return _decide(ctx, node, part, thunks(ctx, part), lambda v: convert.condition(ctx, v, part), until=False)


def _decide(
    ctx: Context,
    node: ast.expr,
    part: ast.expr,
    items: list[Thunk] | Sequence | None,
    test: Callable[[Value], ir.Expr],
    *,
    until: bool,
) -> Value:
    """Whether an item's test is ``until``, at which the others are left out."""
    if isinstance(items, list):
        return _decide_short(ctx, node, items, test, until=until)
    place = ctx.new_local("found" if until else "holds", BOOL, ctx.span(node))
    span = place.span

    def body(item: Value) -> None:
        ctx.emit(ir.Assign(span, place, test(item)))

    def decided() -> ir.Expr:
        return _load(place) if until else ir.Unary(span, BOOL, "not", _load(place))

    ctx.emit(ir.Assign(span, place, ir.Const(span, BOOL, not until)))
    _go(ctx, items, part, body, decided)
    return Number(_load(place))


def _decide_short(
    ctx: Context, node: ast.expr, items: list[Thunk], test: Callable[[Value], ir.Expr], *, until: bool
) -> Value:
    tests: list[tuple[list[ir.Stmt], ir.Expr]] = []
    for item in items:
        with ctx.conditional() as block:
            found = test(item())
        if isinstance(found, ir.Const) and not block:
            if bool(found.value) == until:
                tests.append((block, found))
                break
            continue
        tests.append((block, found))
    span = ctx.span(node)
    if not tests:
        return Constant(not until)
    if not any(block for block, _ in tests):
        result = tests[-1][1]
        for _, found in reversed(tests[:-1]):
            result = ir.Logical(span, BOOL, "or" if until else "and", found, result)
        return Constant(bool(result.value)) if isinstance(result, ir.Const) else Number(result)
    place = ctx.new_local("found" if until else "holds", BOOL, ctx.span(node))
    for k, (block, found) in enumerate(tests):
        statements = (*block, ir.Assign(span, place, found))
        if k == 0:
            ctx.block.extend(statements)
            continue
        open_: ir.Expr = ir.Unary(span, BOOL, "not", _load(place)) if until else _load(place)
        ctx.emit(ir.If(span, open_, statements, ()))
    return Number(_load(place))


# -- min, max ------------------------------------------------------------------------------------------------------


def extreme(ctx: Context, node: ast.Call) -> Value:
    """``min(x)`` and ``max(x)`` of one sequence."""
    given = _arguments(ctx, node, ("default",), f"{ctx.text(node.func)}(x)")
    if len(node.args) != 1:
        help_text = "write a loop: `for i in range(n):`"
        ctx.fail("VKA122", node, name=ctx.text(node.func), keyword="default", advice=help_text)
    part = given["sequence"]
    row = BUILTINS["min" if ctx.expr(node.func).value is builtins.min else "max"]  # type: ignore[attr-defined]
    items = thunks(ctx, part)

    def smaller(value: Value, item: Value) -> Value:
        if isinstance(value, Constant) and isinstance(item, Constant):
            return Constant(extreme_constant(row.name, [value.value, item.value]))
        return apply_row(ctx, row, [value, item], [part, part], node)

    if isinstance(items, list):
        if not items:
            return _default(ctx, given, node)
        value = items[0]()
        if len(items) == 1:
            value = Constant(value.value) if isinstance(value, Constant) else Number(_value_of(ctx, value, part))
        for item in items[1:]:
            value, found = _next(ctx, value, item)
            value = smaller(value, found)
        return value
    return _extreme_of_many(ctx, node, part, items, given, smaller)


def extreme_constant(name: str, values: list[Any]) -> Any:
    """The smallest or largest of some numbers, in their common type: a number wins over NaN, as on devices."""
    numbers = [v for v in values if v == v] or values
    common = float if any(isinstance(v, float) for v in values) else int
    return common(min(numbers) if name == "min" else max(numbers))


def _default(ctx: Context, given: dict[str, ast.expr], node: ast.Call) -> Value:
    if "default" not in given:
        ctx.fail("VKA123", node, text=ctx.text(given["sequence"]), name=ctx.text(node.func))
    return ctx.expr(given["default"])


def _extreme_of_many(
    ctx: Context,
    node: ast.Call,
    part: ast.expr,
    items: Sequence | None,
    given: dict[str, ast.expr],
    smaller: Callable[[Value, Value], Value],
) -> Value:
    """Lowers to a loop, which begins with the second item if the sequence cannot be empty."""
    span = ctx.span(node)
    if items is not None and items.count:
        value = items.item(Constant(0))
        kind = _value_of(ctx, smaller(value, value), part).type
        assert isinstance(kind, Scalar)
        place = ctx.new_local("best", kind, ctx.span(node))
        ctx.emit(ir.Assign(span, place, convert.convert(ctx, convert.number(ctx, value, part), kind, part)))

        def better(item: Value) -> None:
            result = _value_of(ctx, smaller(Element(place), item), part)
            ctx.emit(ir.Assign(span, place, result, update=True))

        run(ctx, items, part, better, first=1)
        return Number(_load(place))
    return _extreme_of_some(ctx, node, part, items, given, smaller)


def _extreme_of_some(
    ctx: Context,
    node: ast.Call,
    part: ast.expr,
    items: Sequence | None,
    given: dict[str, ast.expr],
    smaller: Callable[[Value, Value], Value],
) -> Value:
    """Lowers to a loop over a sequence that may be empty; check mode and the reference accelerator report an empty
    one.
    """
    span = ctx.span(node)
    found = ctx.new_local("found", BOOL, ctx.span(node))
    place: ir.Local | None = None

    def body(item: Value) -> None:
        nonlocal place
        expr = _value_of(ctx, item, part)
        expr = ctx.stable(expr, "item")
        kind = _value_of(ctx, smaller(Number(expr), Number(expr)), part).type
        assert isinstance(kind, Scalar)
        if place is None:
            place = ctx.new_local("best", kind, ctx.span(node))
        value = convert.cast(expr, kind, span)
        result = _value_of(ctx, smaller(Element(place), Number(expr)), part)
        ctx.emit(ir.Assign(span, place, ir.Select(span, kind, _load(found), result, value)))
        ctx.emit(ir.Assign(span, found, ir.Const(span, BOOL, True)))

    with ctx.nested() as block:
        _go(ctx, items, part, body)
    if place is None:
        return _default(ctx, given, node)
    kind = place.type
    assert isinstance(kind, Scalar)
    first: ir.Expr = ir.Const(span, kind, 0.0 if kind.kind == "float" else 0)
    if "default" in given:
        default = convert.number(ctx, ctx.expr(given["default"]), given["default"])
        first = convert.convert(ctx, default, kind, given["default"])
    ctx.emit(ir.Assign(span, found, ir.Const(span, BOOL, False)))
    ctx.emit(ir.Assign(span, place, first))
    ctx.block.extend(block)
    if "default" not in given:
        ctx.emit(ir.Assert(span, _load(found), f"{ctx.text(node.func)}() of an empty sequence"))
    return Number(_load(place))


# -- tuple, in -----------------------------------------------------------------------------------------------------


def _tuple(ctx: Context, node: ast.Call) -> Value:
    """``tuple(x)`` of a sequence whose length is known."""
    if not node.args and not node.keywords:
        return TupleValue(())
    part = _arguments(ctx, node, (), f"{ctx.text(node.func)}(x)")["sequence"]
    return tuple_of(ctx, part)


@handles(ast.Compare)
def _compare(ctx: Context, node: ast.Compare) -> Value:
    if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return contains(ctx, node)
    return comparison(ctx, node)


def contains(ctx: Context, node: ast.Compare) -> Value:
    """``x in sequence`` and ``x not in sequence``."""
    right = node.comparators[0]
    left = ctx.expr(node.left)
    before = len(ctx.block)
    sequence = try_sequence(ctx, right)
    if sequence is None:
        ctx.fail("VKA125", right, text=ctx.text(right), what=ctx.describe(ctx.expr(right)))
    found = _within(ctx, ctx.kept(left, before), sequence, node, right)
    if not isinstance(node.ops[0], ast.NotIn):
        return found
    if isinstance(found, Constant):
        return Constant(not found.value)
    return Number(ir.Unary(ctx.span(node), BOOL, "not", convert.condition(ctx, found, node)))


def _within(ctx: Context, left: Value, sequence: Sequence, node: ast.Compare, right: ast.expr) -> Value:
    if sequence.bounds is not None and not isinstance(left, TupleValue):
        return _within_range(ctx, left, sequence.bounds, node)
    if isinstance(left, (Element, Number)):
        left = Number(ctx.stable(_value_of(ctx, left, node.left)))

    def test(item: Value) -> ir.Expr:
        if isinstance(item, TupleValue) and isinstance(left, TupleValue) and len(item.items) != len(left.items):
            return ir.Const(ctx.span(node), BOOL, False)
        return convert.condition(ctx, compare_two(ctx, ast.Eq(), left, item, node, node.left, right), node)

    if sequence.listed:
        count = sequence.count or 0
        items: list[Thunk] = [lambda k=k: sequence.item(Constant(k)) for k in range(count)]  # type: ignore[misc]
        return _decide(ctx, node, right, items, test, until=True)
    return _decide(ctx, node, right, sequence, test, until=True)


def _within_range(ctx: Context, left: Value, bounds: tuple[ir.Expr, ir.Expr, ir.Expr], node: ast.Compare) -> Value:
    """Between the ends, and a whole number of steps from the start."""
    start, stop, step = bounds
    assert isinstance(step, ir.Const) and isinstance(step.type, Scalar)
    found = convert.number(ctx, left, node.left)
    if isinstance(found, Number):
        found = Number(ctx.stable(found.expr), found.weak)
    if not (convert.scalar_type(found).is_integer or convert.scalar_type(found) == BOOL):
        given = str(convert.scalar_type(found))
        ctx.fail("VKA126", node.left, text=ctx.text(node.left), given=given)

    def compared(op: ast.cmpop, end: ir.Expr) -> ir.Expr:
        value = compare_two(ctx, op, found, Number(end), node, node.left, node.comparators[0])
        return convert.condition(ctx, value, node)

    up = int(step.value) > 0
    span = ctx.span(node)
    tests = [compared(ast.GtE() if up else ast.LtE(), start), compared(ast.Lt() if up else ast.Gt(), stop)]
    size = abs(int(step.value))
    if size != 1:
        kind = step.type
        value = convert.convert(ctx, found, kind, node.left)
        low, high = (start, value) if up else (value, start)
        # Both lie between the ends, so that the difference is not negative, though it may wrap.
        unsigned = Scalar(f"uint{kind.bits}", "uint", kind.bits)
        width = convert.cast(operation(span, kind, "sub", high, low), unsigned, span)
        rest = operation(span, unsigned, "trem", width, ir.Const(span, unsigned, size))
        tests.append(ir.Compare(span, BOOL, "eq", rest, ir.Const(span, unsigned, 0)))
    if all(isinstance(t, ir.Const) for t in tests[:2]) and isinstance(found, Constant):
        assert isinstance(start, ir.Const) and isinstance(stop, ir.Const)
        return Constant(int(found.value) in range(int(start.value), int(stop.value), int(step.value)))
    result = tests[-1]
    for test in reversed(tests[:-1]):
        result = ir.Logical(span, BOOL, "and", test, result)
    return Number(result)


#: By identity, what a call of one of Python's functions means.
REDUCTIONS: dict[int, Callable[[Context, ast.Call], Value]] = {
    id(builtins.sum): _sum,
    id(math.prod): _product,
    id(builtins.any): _any,
    id(builtins.all): _all,
    id(builtins.tuple): _tuple,
}
