"""Lowering of expressions: names, operators, conditions."""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NoReturn

from vkamp.errors import Note, Span
from vkamp.front import advice, closures, complexes, convert, counters, habits, objects, references, vectors
from vkamp.front.context import Context, Slot, handles
from vkamp.front.convert import OPERATION, SYMBOL, is_zero
from vkamp.front.counters import Counter
from vkamp.front.functions import call_function
from vkamp.front.index_objects import index_arithmetic, is_index, thread_value
from vkamp.front.names import constant_value
from vkamp.front.signature import read_name
from vkamp.front.values import (
    Closure,
    Constant,
    Element,
    Memory,
    Number,
    Object,
    TupleValue,
    Value,
    complex_constant,
    objects_of_any,
)
from vkamp.front.walrus import assigned_after
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import operation
from vkamp.ir.arithmetic import BINARY
from vkamp.ir.types import BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, UINT32, Scalar, Struct, is_object
from vkamp.lang.power import integer_power

# -- literals and names --------------------------------------------------------------------------------------------


@handles(ast.Constant)
def _constant(ctx: Context, node: ast.Constant) -> Value:
    value = node.value
    if isinstance(value, (bool, int, float)):
        return Constant(value)
    if value is None or isinstance(value, str):
        return Object(value)
    if isinstance(value, complex):
        return complex_constant(ctx.span(node), value)
    refused: dict[type, tuple[str, str]] = {
        bytes: ("bytes", "use numbers"),
        type(...): ("`...`", "write one subscript per dimension"),
    }
    what, help_text = refused.get(type(value), ("such literals", "use numbers"))
    ctx.fail("VKA101", node, what=what, advice=help_text)


@handles(ast.Name)
def _name(ctx: Context, node: ast.Name) -> Value:
    slot = ctx.slots.get(node.id)
    if slot is not None:
        if ctx.assigned is not None and node.id not in ctx.assigned:
            _unassigned(ctx, node, slot)
        return closures.completed(ctx, slot.value, node) if isinstance(slot.value, Closure) else slot.value
    if node.id in ctx.local_names:
        _unassigned(ctx, node, None)
    found = ctx.lookup(node.id, ctx.span(node))
    if found is None:
        ctx.fail("VKA201", node, name=node.id, advice=advice.undefined(ctx, node.id))
    return found


def _unassigned(ctx: Context, node: ast.Name, slot: Slot | None) -> NoReturn:
    name = node.id
    if slot is None and name in ctx.ended:
        scope = Note(ctx.ended[name], "the scope begins here")
        ctx.fail("VKA412", node, notes=(scope,), name=name, scope="tile_scope")
    help_text = f"assign it on the other paths too, or before: `{name} = ...`"
    if slot is None:
        help_text = f"assign it before: `{name} = ...`"
        if read_name(ctx.module.stack[-1][0], name) is not None:
            help_text = f"`{name}` of the module is another variable, as this function assigns `{name}`: rename one"
        if any(isinstance(n, ast.FunctionDef) and n.name == name for n in ctx.source.node.body):
            help_text = f"define `{name}` before this line"
    notes = (Note(slot.span, "it is assigned here"),) if slot is not None else ()
    ctx.fail("VKA202", node, notes=notes, name=name, advice=help_text)


# -- operators -----------------------------------------------------------------------------------------------------

_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)


@handles(ast.BinOp)
def _binop(ctx: Context, node: ast.BinOp) -> Value:
    left, right = ctx.operands(node.left, node.right)
    return binary(ctx, node.op, left, right, node, node.left, node.right)


def binary(
    ctx: Context,
    op: ast.operator,
    left: Value,
    right: Value,
    node: ast.AST,
    left_node: ast.expr,
    right_node: ast.expr,
) -> Value:
    """``left op right``; ``node`` is the whole expression, for its span."""
    found = objects.operator(ctx, op, (left, left_node), (right, right_node), node)
    if found is not None:
        return found
    if isinstance(op, ast.MatMult):
        ctx.fail("VKA101", node, what="`@`", advice=habits.DOT)
    if is_index(left) or is_index(right):
        return index_arithmetic(ctx, op, left, right, node)
    joined = _join_tuples(op, left, right)
    if joined is not None:
        return joined
    found = complexes.binary(ctx, op, left, right, node, (left_node, right_node))
    if found is not None:
        return found
    a = convert.number(ctx, left, left_node)
    b = convert.number(ctx, right, right_node)
    if isinstance(a, Constant) and isinstance(b, Constant):
        return _fold(ctx, op, a, b, node)
    if isinstance(op, ast.Pow):
        return _power(ctx, a, b, node, left_node, right_node)
    if isinstance(op, (ast.LShift, ast.RShift)):
        return _shift(ctx, op, a, b, node, left_node, right_node)
    if isinstance(op, ast.Div):
        a, b = _of_quotient(a, b), _of_quotient(b, a)
    x, y, kind, weak = convert.arithmetic(ctx, a, b, left_node, right_node)
    span = ctx.span(node)
    if isinstance(op, ast.Div):
        if kind.kind != "float":
            # As numpy has it: the quotient of 64-bit integers is a float64, where nothing is lost.
            kind = FLOAT64 if kind.bits == 64 else FLOAT32
            x, y = convert.cast(x, kind, x.span), convert.cast(y, kind, y.span)
        return Number(ir.Binary(span, kind, "div", x, y), weak, _in_double("div", a, b, span, weak))
    if isinstance(op, _BITWISE):
        if convert.scalar_type(a) == BOOL and convert.scalar_type(b) == BOOL:
            kind, x, y = (
                BOOL,
                convert.natural(ctx, a, left_node),
                convert.natural(ctx, b, right_node),
            )
        if kind.kind == "float":
            _bad_operands(ctx, op, node, a, b)
        return Number(operation(span, kind, OPERATION[type(op)], x, y), weak)
    if isinstance(op, (ast.FloorDiv, ast.Mod)) and kind.is_integer and is_zero(b, y):
        ctx.fail("VKA310", right_node)
    name = OPERATION[type(op)]
    if kind == FLOAT16 and name in ("floordiv", "floormod"):
        # As numpy does, in float32.
        x, y = convert.cast(x, FLOAT32, x.span), convert.cast(y, FLOAT32, y.span)
        return Number(convert.cast(ir.Binary(span, FLOAT32, name, x, y), FLOAT16, span))
    double = _in_double(name, a, b, span, weak and kind == FLOAT32)
    return Number(operation(span, kind, name, x, y), weak, double)


def _of_quotient(value: Constant | Number, other: Constant | Number) -> Constant | Number:
    """A literal beside an integer in a quotient, which is a float: the integer's type need not hold it."""
    kind = convert.scalar_type(other)
    if not isinstance(value, Constant) or not kind.is_integer or kind.bits > 32:
        return value
    is_short = type(value.value) is int and abs(value.value) <= _MAX_FLOAT_LENGTH
    return Constant(float(value.value)) if is_short else value


#: Literals up to this are floats in a quotient; a larger one is not a float32.
_MAX_FLOAT_LENGTH = 1 << 127


def _join_tuples(op: ast.operator, left: Value, right: Value) -> Value | None:
    """``t + u``, and ``t * n`` for a constant; ``None``: no tuples."""
    if not all(value.has_items for value in (left, right) if isinstance(value, TupleValue)):
        return None
    if isinstance(op, ast.Add) and isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return TupleValue((*left.items, *right.items))
    if isinstance(op, ast.Mult) and isinstance(right, TupleValue):
        left, right = right, left
    if isinstance(op, ast.Mult) and isinstance(left, TupleValue) and isinstance(right, Constant):
        times = right.value
        if isinstance(times, int) and times <= _MAX_TUPLE_LENGTH:
            return TupleValue(left.items * times)
    return None


#: Times that a tuple is repeated.
_MAX_TUPLE_LENGTH = 64


def _in_double(name: Any, a: Constant | Number, b: Constant | Number, span: Span, weak: bool) -> ir.Expr | None:
    """The result of weak numbers, or of a float of the launch, in double precision, which it takes beside a float64."""
    left, right = convert.double_of(a, span), convert.double_of(b, span)
    launched = any(isinstance(value, Number) and value.double is not None for value in (a, b))
    if not (weak or launched) or left is None or right is None:
        return None
    return ir.Binary(span, FLOAT64, name, left, right)


def _bad_operands(ctx: Context, op: ast.AST, node: ast.AST, a: Constant | Number, b: Constant | Number) -> NoReturn:
    left, right = convert.scalar_type(a), convert.scalar_type(b)
    help_text = "convert the operands first, `amp.int32(...)`"
    if isinstance(op, (ast.BitAnd, ast.BitOr)):
        help_text = f"bitwise operators need integers, `amp.int32(...)`; conditions are joined by `{_WORDS[type(op)]}`"
    ctx.fail("VKA302", node, op=SYMBOL[type(op)], what=f"{left} and {right}", advice=help_text)


_WORDS: dict[type[ast.AST], str] = {ast.BitAnd: "and", ast.BitOr: "or"}


def _is_finite(value: float) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


#: Bits of the longest integer that is computed at compile time.
_MAX_LENGTH = 1 << 14


def _fold(ctx: Context, op: ast.operator, a: Constant, b: Constant, node: ast.AST) -> Value:
    right = getattr(node, "right", node)
    apply = operator.pow if isinstance(op, ast.Pow) else BINARY[OPERATION[type(op)]].apply
    if isinstance(a, Counter) or isinstance(b, Counter):
        counter = counters.folded(apply, a, b)
        if counter is not None:
            return counter
    if isinstance(op, (ast.LShift, ast.RShift)) and not 0 <= b.value <= 64:
        ctx.fail("VKA318", right, count=b.value)
    too_long = isinstance(op, ast.Pow) and isinstance(a.value, int) and b.value * a.value.bit_length() > _MAX_LENGTH
    try:
        result = math.inf if too_long else apply(a.value, b.value)
    except ZeroDivisionError:
        ctx.fail("VKA310", right)
    except TypeError:
        _bad_operands(ctx, op, node, a, b)
    except OverflowError:
        result = math.inf
    if result == math.inf and _is_finite(a.value) and _is_finite(b.value):
        kind = convert.scalar_type(a) if isinstance(b.value, int) else FLOAT32
        help_text = "use smaller numbers"
        ctx.fail("VKA303", node, value=ctx.text(node), type=kind, range=advice.phrase(kind), advice=help_text)
    found = None if isinstance(result, complex) else constant_value(result, ctx.span(node))
    if found is None:
        ctx.fail("VKA101", node, what="complex numbers", advice="use real numbers")
    return found


def _shift(
    ctx: Context,
    op: ast.operator,
    a: Constant | Number,
    b: Constant | Number,
    node: ast.AST,
    left_node: ast.expr,
    right_node: ast.expr,
) -> Value:
    kind, count_kind = convert.scalar_type(a), convert.scalar_type(b)
    if kind.kind == "float" or count_kind.kind == "float":
        _bad_operands(ctx, op, node, a, b)
    kind = INT32 if kind == BOOL else kind
    value = convert.convert(ctx, a, kind, left_node)
    count = convert.narrowed(convert.convert(ctx, b, INT32 if count_kind == BOOL else count_kind, right_node))
    if isinstance(b, Counter):
        b.within(0, kind.bits - 1)
    if isinstance(count, ir.Const) and not 0 <= count.value < kind.bits:
        ctx.fail("VKA318", right_node, count=count.value)
    name: Any = "shl" if isinstance(op, ast.LShift) else "shr"
    weak = isinstance(a, Constant) or (a.weak and isinstance(a, Number))
    return Number(
        operation(ctx.span(node), kind, name, value, count),
        weak and isinstance(b, Number) and b.weak,
    )


def _power(
    ctx: Context,
    a: Constant | Number,
    b: Constant | Number,
    node: ast.AST,
    left_node: ast.expr,
    right_node: ast.expr,
) -> Value:
    """``a ** b``: a small whole constant exponent multiplies, a float calls pow, integers multiply in a loop."""
    span = ctx.span(node)
    if isinstance(b, Constant) and isinstance(b.value, int) and 0 <= b.value <= 16:
        kind = convert.scalar_type(a)
        kind = INT32 if kind == BOOL else kind
        base = convert.convert(ctx, a, kind, left_node)
        if b.value == 0:
            return Number(ir.Const(span, kind, 1.0 if kind.kind == "float" else 1))
        if b.value > 1:
            base = ctx.in_local(base, "base")
        result = base
        for _ in range(b.value - 1):
            result = ir.Binary(span, kind, "mul", result, base)
        double = a.double if isinstance(a, Number) else None
        if double is not None:
            factors = [double] * b.value
            double = functools.reduce(lambda x, y: ir.Binary(span, FLOAT64, "mul", x, y), factors)
        return Number(result, double is not None and convert.is_weak(a), double)
    common = convert.common(a, b)
    if common.kind != "float":
        return _integer_power(ctx, a, b, left_node, right_node)
    kind = FLOAT64 if common == FLOAT64 else FLOAT32
    args = (convert.convert(ctx, a, kind, left_node), convert.convert(ctx, b, kind, right_node))
    launched = any(isinstance(value, Number) and value.double is not None for value in (a, b))
    x, y = convert.double_of(a, span), convert.double_of(b, span)
    if kind == FLOAT64 or not launched or x is None or y is None:
        return Number(ir.Builtin(span, kind, "pow", args))
    weak = convert.is_weak(a) and convert.is_weak(b)
    return Number(ir.Builtin(span, kind, "pow", args), weak, ir.Builtin(span, FLOAT64, "pow", (x, y)))


def _integer_power(
    ctx: Context, a: Constant | Number, b: Constant | Number, left_node: ast.expr, right_node: ast.expr
) -> Value:
    """Calls a function of the language, whose loop has one iteration for each bit of the exponent."""
    constant = b.value if isinstance(b, Constant) else b.expr.value if isinstance(b.expr, ir.Const) else 0
    if constant < 0:
        ctx.fail("VKA319", right_node, text=ctx.text(right_node))
    common = convert.common(a, b)
    base = Number(convert.convert(ctx, a, INT32 if common == BOOL else common, left_node))
    call = ast.copy_location(ast.Call(left_node, [], []), right_node)
    return call_function(ctx, integer_power, call, None, ((base, left_node), (_whole_exponent(b), right_node)))


def _whole_exponent(value: Constant | Number) -> Value:
    """A bool as an int; an integer as it is."""
    if convert.scalar_type(value) != BOOL or isinstance(value, Constant):
        return value
    return Number(convert.cast(value.expr, INT32, value.expr.span))


@handles(ast.UnaryOp)
def _unary(ctx: Context, node: ast.UnaryOp) -> Value:
    span = ctx.span(node)
    if isinstance(node.op, ast.Not):
        test = truth_of(ctx, node.operand)
        if isinstance(test, ir.Const):
            return Constant(not test.value)
        return Number(ir.Unary(span, BOOL, "not", test))
    value = ctx.expr(node.operand)
    overloaded = objects.unary(ctx, node.op, (value, node.operand), node)
    if overloaded is not None:
        return overloaded
    value = thread_value(ctx, value, node)
    if isinstance(value, TupleValue) and value.kind != "tuple" and isinstance(node.op, (ast.USub, ast.UAdd)):
        zero = TupleValue(tuple(Constant(0) for _ in value.items), value.kind)
        op: ast.operator = ast.Sub() if isinstance(node.op, ast.USub) else ast.Add()
        return index_arithmetic(ctx, op, zero, value, node)
    vector = vectors.unary(ctx, node.op, value, node)
    if vector is not None:
        return vector
    found = convert.number(ctx, value, node.operand)
    if isinstance(found, Counter) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _fold(ctx, ast.Mult(), found, Constant(-1 if isinstance(node.op, ast.USub) else 1), node)
    if isinstance(found, Constant):
        if isinstance(node.op, ast.Invert) and isinstance(found.value, float):
            ctx.fail("VKA302", node, op="~", what="float32", advice="convert the operand first, `amp.int32(...)`")
        folds: dict[type[ast.unaryop], Callable[[Any], Any]] = {
            ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
        }  # fmt: skip
        result: Any = int(found.value) if isinstance(found.value, bool) else found.value
        return Constant(folds[type(node.op)](result))
    kind = convert.scalar_type(found)
    operand = found.expr
    if kind == BOOL:
        kind, operand = INT32, convert.cast(operand, INT32, span)
    if isinstance(node.op, ast.UAdd):
        return Number(operand, found.weak, found.double)
    if isinstance(node.op, ast.USub):
        if isinstance(operand, ir.Const) and kind.is_integer:
            return Number(operation(span, kind, "sub", ir.Const(span, kind, 0), operand), found.weak)
        double = None if found.double is None else ir.Unary(span, FLOAT64, "neg", found.double)
        return Number(ir.Unary(span, kind, "neg", operand), found.weak, double)
    if kind.kind == "float":
        ctx.fail("VKA302", node, op="~", what=kind, advice="convert the operand first, `amp.int32(...)`")
    if isinstance(operand, ir.Const):
        return Number(operation(span, kind, "bitxor", operand, ir.Const(span, kind, -1)), found.weak)
    return Number(ir.Unary(span, kind, "invert", operand), found.weak)


# -- conditions ----------------------------------------------------------------------------------------------------


@handles(ast.BoolOp)
def _boolop(ctx: Context, node: ast.BoolOp) -> Value:
    """The operand that decides, as in Python."""
    name: Literal["and", "or"] = "and" if isinstance(node.op, ast.And) else "or"
    return _deciding(ctx, name, node.values, node)


def _deciding(ctx: Context, name: Literal["and", "or"], parts: list[ast.expr], node: ast.expr) -> Value:
    """Each operand once, from left to right, until one decides; the last one decides anyway."""
    left = convert.number(ctx, ctx.expr(parts[0]), parts[0])
    if len(parts) == 1:
        return left
    span = ctx.span(node)
    test = convert.condition(ctx, left, parts[0])
    if isinstance(test, ir.Const):
        # Decided at compile time: the other side is not evaluated, so it is not compiled either.
        return left if test.value == (name == "or") else _deciding(ctx, name, parts[1:], node)
    assert isinstance(left, Number)
    with ctx.conditional() as inner:
        right = convert.number(ctx, _deciding(ctx, name, parts[1:], node), parts[1])
    if convert.scalar_type(left) == BOOL and convert.scalar_type(right) == BOOL:
        return decided(ctx, name, left.expr, convert.natural(ctx, right, parts[1]), inner, (parts[0], node))
    kind = _one_type(ctx, name, left, right, parts, node)
    first = convert.convert(ctx, left, kind, parts[0])
    if inner or not _is_short(left.expr):
        # Written before the other operand's effects, and read once.
        first = ctx.temporary("either", first)
        test = convert.truth(first, span)
    if inner:
        assert isinstance(first, ir.Load)
        other = convert.convert(ctx, right, kind, parts[1])
        again = ir.Unary(test.span, BOOL, "not", test) if name == "or" else test
        ctx.emit(ir.If(span, again, (*inner, ir.Assign(span, first.place, other)), ()))
        return Number(first)
    other = convert.convert(ctx, right, kind, parts[1])
    weak = left.weak and (isinstance(right, Constant) or right.weak)
    sides = (first, other) if name == "or" else (other, first)
    return Number(ir.Select(span, kind, test, *sides), weak, _deciding_double(name, left, right, test, span))


def _deciding_double(name: str, left: Number, right: Constant | Number, test: ir.Expr, span: Span) -> ir.Expr | None:
    """The operand that decides the result, in double precision if both operands have that."""
    one, other = left.double, convert.double_of(right, span)
    if one is None or other is None:
        return None
    return ir.Select(span, FLOAT64, test, *((one, other) if name == "or" else (other, one)))


def _is_short(expr: ir.Expr) -> bool:
    """Whether an operand can be read twice."""
    return isinstance(expr, ir.GIVEN) or ir.read_local(expr) is not None


def _one_type(
    ctx: Context,
    name: str,
    left: Number,
    right: Constant | Number,
    parts: list[ast.expr],
    node: ast.expr,
) -> Scalar:
    """The type that both operands have; literals take that of the other one, and so do bools, which are 0 and 1."""
    kind = convert.common(left, right)
    for side in (left, right):
        given = convert.scalar_type(side)
        if given not in (kind, BOOL) and not convert.is_weak(side):
            one, other = (ctx.text(part) for part in parts[:2])
            a, b = convert.scalar_type(left), convert.scalar_type(right)
            help_text = f"convert one: `amp.{b}({one}) {name} {other}`"
            what = f"{advice.with_article(a)} and {advice.with_article(b)}"
            ctx.fail("VKA356", node, text=ctx.text(node), what=what, advice=help_text)
    return kind


def _logical(ctx: Context, name: Literal["and", "or"], parts: list[ast.expr], node: ast.expr) -> Value:
    """Short circuit from left to right; an operand with effects is evaluated under an ``if``."""
    left = truth_of(ctx, parts[0])
    if len(parts) == 1:
        return boolean(left)
    if isinstance(left, ir.Const):
        # Decided at compile time: the other side is not evaluated, so it is not compiled either.
        if left.value == (name == "or"):
            return Constant(bool(left.value))
        return _logical(ctx, name, parts[1:], node)
    with ctx.conditional() as inner:
        right_value = _logical(ctx, name, parts[1:], node)
        right = convert.condition(ctx, right_value, parts[1])
    return decided(ctx, name, left, right, inner, (parts[0], node))


def decided(
    ctx: Context,
    name: Literal["and", "or"],
    left: ir.Expr,
    right: ir.Expr,
    inner: list[ir.Stmt],
    nodes: tuple[ast.expr, ast.expr],
) -> Value:
    """``left and right`` of bools; ``inner`` are the effects of the right side."""
    span, decisive = ctx.span(nodes[1]), ctx.span(nodes[0])
    if not inner:
        return Number(ir.Logical(span, BOOL, name, left, right))
    place = ctx.new_local("decided", BOOL, span)
    ctx.emit(ir.Assign(span, place, left))
    load = ir.Load(span, BOOL, place)
    test: ir.Expr = ir.Load(decisive, BOOL, place)
    if name == "or":
        test = ir.Unary(decisive, BOOL, "not", test)
    ctx.emit(ir.If(span, test, (*inner, ir.Assign(span, place, right)), ()))
    return Number(load)


def truth_of(ctx: Context, node: ast.expr) -> ir.Expr:
    """An expression as a condition: of ``and`` and ``or`` the operands are conditions too."""
    if isinstance(node, ast.BoolOp):
        name: Literal["and", "or"] = "and" if isinstance(node.op, ast.And) else "or"
        return convert.condition(ctx, _logical(ctx, name, node.values, node), node)
    return convert.condition(ctx, ctx.expr(node), node)


def boolean(expr: ir.Expr) -> Value:
    return Constant(bool(expr.value)) if isinstance(expr, ir.Const) else Number(expr)


@handles(ast.IfExp)
def _ifexp(ctx: Context, node: ast.IfExp) -> Value:
    test = truth_of(ctx, node.test)
    if isinstance(test, ir.Const):
        return ctx.expr(node.body if test.value else node.orelse)
    with ctx.conditional() as then_block:
        ctx.assigned = assigned_after(ctx, node.test, True)
        then = thread_value(ctx, ctx.expr(node.body), node.body)
    with ctx.conditional() as else_block:
        ctx.assigned = assigned_after(ctx, node.test, False)
        orelse = thread_value(ctx, ctx.expr(node.orelse), node.orelse)
    span = ctx.span(node)
    if isinstance(then, TupleValue) or isinstance(orelse, TupleValue):
        return _select_tuple(ctx, node, test, then, orelse, then_block, else_block)
    if _are_alike(then, orelse):
        assert isinstance(then, Element) and isinstance(orelse, Element)
        return references.choose(ctx, test, (then, orelse), (then_block, else_block), span)
    a, b, weak, doubles = _meet(ctx, then, orelse, node)
    objects = objects_of_any(then, orelse) if is_object(a.type) else None
    if not then_block and not else_block:
        return replace(_select(span, test, a, b, weak, doubles), objects=objects)
    place = ctx.new_local("chosen", a.type, span)
    ctx.emit(
        ir.If(
            span, test,
            (*then_block, ir.Assign(a.span, place, a)),
            (*else_block, ir.Assign(b.span, place, b)),
        )
    )  # fmt: skip
    return Number(ir.Load(span, a.type, place), objects=objects)


def choose_evaluated(ctx: Context, test: ir.Expr, then: Value, orelse: Value, node: ast.IfExp) -> Value:
    """``then if test else orelse`` of numbers or vectors that are evaluated already, in their common type."""
    a, b, weak, doubles = _meet(ctx, then, orelse, node)
    if isinstance(test, ir.Const):
        return Number(a if test.value else b, weak, doubles and doubles[0 if test.value else 1])
    return _select(ctx.span(node), test, a, b, weak, doubles)


def _are_alike(then: Value, orelse: Value) -> bool:
    """Whether both are structs of one type."""
    return (
        isinstance(then, Element)
        and isinstance(orelse, Element)
        and isinstance(then.place.type, Struct)
        and then.place.type == orelse.place.type
    )


def _select(
    span: Span, test: ir.Expr, a: ir.Expr, b: ir.Expr, weak: bool, doubles: tuple[ir.Expr, ir.Expr] | None
) -> Number:
    double = None if doubles is None else ir.Select(span, FLOAT64, test, *doubles)
    return Number(ir.Select(span, a.type, test, a, b), weak, double)


def _meet(
    ctx: Context, then: Value, orelse: Value, node: ast.IfExp
) -> tuple[ir.Expr, ir.Expr, bool, tuple[ir.Expr, ir.Expr] | None]:
    """Both sides in one type, whether the choice is weak, and both in double precision where they are known in it."""
    pair = vectors.choice(ctx, then, orelse, node)
    if pair is not None:
        return *pair, False, None
    if any(isinstance(v, Memory) for v in (then, orelse)):
        what = f"a choice between {ctx.describe(then)} and {ctx.describe(orelse)}"
        ctx.fail("VKA311", node, text=ctx.text(node), what=what, advice="choose between their elements")
    x, y = convert.number(ctx, then, node.body), convert.number(ctx, orelse, node.orelse)
    if convert.scalar_type(x) == BOOL and convert.scalar_type(y) == BOOL:
        return convert.natural(ctx, x, node.body), convert.natural(ctx, y, node.orelse), False, None
    if convert.are_unsigned((x, y)):
        return convert.convert(ctx, x, UINT32, node.body), convert.convert(ctx, y, UINT32, node.orelse), False, None
    a, b, kind, weak = convert.arithmetic(ctx, x, y, node.body, node.orelse)
    one, other = convert.double_of(x, a.span), convert.double_of(y, b.span)
    doubles = None if kind != FLOAT32 or one is None or other is None else (one, other)
    return a, b, weak and not (isinstance(x, Constant) and isinstance(y, Constant)), doubles


def _select_tuple(
    ctx: Context,
    node: ast.IfExp,
    test: ir.Expr,
    then: Value,
    orelse: Value,
    then_block: list[ir.Stmt],
    else_block: list[ir.Stmt],
) -> Value:
    then, orelse = _tuples(ctx, then, orelse, node)
    if then_block or else_block:
        # A side with statements is evaluated only if it is chosen.
        chosen = _in_chosen_variables(ctx, node, then, orelse, (then_block, else_block))
        ctx.emit(ir.If(ctx.span(node), test, tuple(then_block), tuple(else_block)))
        return chosen
    return _selected_items(ctx, node, ctx.stable(test, "chosen") if len(then.items) > 1 else test, then, orelse)


def _tuples(ctx: Context, then: Value, orelse: Value, node: ast.IfExp) -> tuple[TupleValue, TupleValue]:
    """Both sides of a choice, which are tuples of the same length and names."""
    if (
        not isinstance(then, TupleValue)
        or not isinstance(orelse, TupleValue)
        or len(then.items) != len(orelse.items)
        or then.names != orelse.names
    ):
        what = f"a choice between {ctx.describe(then)} and {ctx.describe(orelse)}"
        ctx.fail("VKA311", node, text=ctx.text(node), what=what, advice="use an `if` statement")
    return then, orelse


def _in_chosen_variables(
    ctx: Context, node: ast.IfExp, then: TupleValue, orelse: TupleValue, blocks: tuple[list[ir.Stmt], list[ir.Stmt]]
) -> TupleValue:
    """A variable for each number of a tuple, which both blocks assign."""
    items: list[Value] = []
    for one, other in zip(then.items, orelse.items, strict=True):
        if isinstance(one, TupleValue) or isinstance(other, TupleValue):
            items.append(_in_chosen_variables(ctx, node, *_tuples(ctx, one, other, node), blocks))
            continue
        if _are_alike(one, other):
            what = f"a choice between {ctx.describe(then)} and {ctx.describe(orelse)}"
            ctx.fail("VKA311", node, text=ctx.text(node), what=what, advice="use an `if` statement")
        a, b, *_ = _meet(ctx, one, other, node)
        place = ctx.new_local("chosen", a.type, ctx.span(node))
        for block, value in zip(blocks, (a, b), strict=True):
            block.append(ir.Assign(value.span, place, value))
        named = then.kind != "tuple" or is_object(a.type)
        items.append(Number(ir.Load(a.span, a.type, place), objects=objects_of_any(one, other) if named else None))
    return _like_both(then, orelse, items)


def _like_both(then: TupleValue, orelse: TupleValue, items: list[Value]) -> TupleValue:
    return TupleValue(tuple(items), then.kind, then.names, then.cls if then.cls is orelse.cls else None)


def _selected_items(ctx: Context, node: ast.IfExp, test: ir.Expr, then: TupleValue, orelse: TupleValue) -> TupleValue:
    items: list[Value] = []
    for one, other in zip(then.items, orelse.items, strict=True):
        if isinstance(one, TupleValue) or isinstance(other, TupleValue):
            items.append(_selected_items(ctx, node, test, *_tuples(ctx, one, other, node)))
            continue
        if _are_alike(one, other):
            assert isinstance(one, Element) and isinstance(other, Element)
            items.append(references.choose(ctx, test, (one, other), ([], []), ctx.span(node)))
            continue
        chosen = _select(ctx.span(node), test, *_meet(ctx, one, other, node))
        if then.kind != "tuple" or is_object(chosen.expr.type):
            chosen = replace(chosen, objects=objects_of_any(one, other))
        items.append(chosen)
    return _like_both(then, orelse, items)
