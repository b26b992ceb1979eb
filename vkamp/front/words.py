"""``to_words`` and ``from_words``: values of any type as words of 32 bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from vkamp.errors import Span
from vkamp.front import convert, dtypes
from vkamp.front.arity import check_arity
from vkamp.front.context import Context
from vkamp.front.names import member_at
from vkamp.front.sequences import sequence_of
from vkamp.front.values import Constant, Element, Number, TupleValue, Value, loaded
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, FLOAT64, INT32, UINT32, UINT64, Scalar, Struct, Vector, scalar_fields
from vkamp.lang.words import computed

NAMES = ("to_words", "from_words")


def call_words(ctx: Context, name: str, node: ast.Call) -> Value:
    """A call of one of them."""
    usage = "to_words(x)" if name == "to_words" else "from_words(type(x), words)"
    check_arity(ctx, node, 1 if name == "to_words" else 2, ctx.text(node.func), usage)
    return _to_words(ctx, node) if name == "to_words" else _from_words(ctx, node)


# -- a value's words -----------------------------------------------------------------------------------------------


def _to_words(ctx: Context, node: ast.Call) -> Value:
    (value,) = ctx.operands(*node.args)
    span = ctx.span(node)
    words = (word for number in _numbers(ctx, value, node.args[0]) for word in _words_of(number, span))
    return TupleValue(tuple(map(Number, words)))


def _numbers(ctx: Context, value: Value, node: ast.expr) -> Iterator[ir.Expr]:
    """The numbers of a value, in the types that kernels compute with."""
    span = ctx.span(node)
    if isinstance(value, Element) and isinstance(value.place.type, Struct):
        for path, _, _ in scalar_fields(value.place.type):
            yield loaded(member_at(value.place, path), span)
        return
    vector = convert.vector(ctx, value, node)
    if vector is None:
        yield ctx.in_local(convert.natural(ctx, convert.number(ctx, value, node), node))
        return
    assert isinstance(vector.type, Vector)
    whole = ctx.in_local(vector, "vector")
    for letter in vector.type.letters:
        yield ir.Swizzle(span, vector.type.element, whole, letter)


def _words_of(number: ir.Expr, span: Span) -> tuple[ir.Expr, ...]:
    assert isinstance(number.type, Scalar)
    if number.type == BOOL:
        return (convert.cast(number, UINT32, span),)
    number = convert.cast(number, computed(number.type), span)
    if number.type == FLOAT64:
        return tuple(ir.Builtin(span, UINT32, f"double_{half}_word", (number,)) for half in ("low", "high"))
    if number.type.bits == 64:  # type: ignore[union-attr]
        bits = convert.cast(number, UINT64, span)
        high = ir.Binary(span, UINT64, "shr", bits, ir.Const(span, INT32, 32))
        return tuple(convert.cast(half, UINT32, span) for half in (bits, high))
    return (ir.Builtin(span, UINT32, "asuint", (number,)),)


# -- the value of words --------------------------------------------------------------------------------------------


def _from_words(ctx: Context, node: ast.Call) -> Value:
    span, part = ctx.span(node), node.args[1]
    kind = dtypes.element_dtype(ctx, ctx.expr(node.args[0]), node.args[0], bools=True)
    words = sequence_of(ctx, part)
    used = sum(computed(scalar).size // 4 for _, scalar, _ in scalar_fields(kind))
    if words.count != used:
        given = "a sequence " + ("whose length varies" if words.count is None else f"of {words.count}")
        what = f"the second argument of `{ctx.text(node.func)}`"
        help_text = f"{kind} has as many words as `to_words` gives: {used}"
        ctx.fail("VKA317", part, what=what, type=f"a sequence of {used} uint32", given=given, advice=help_text)
    each = (_word(ctx, words.item(Constant(k)), part) for k in range(used))
    if isinstance(kind, Scalar):
        return Number(_number(kind, each, span))
    if isinstance(kind, Vector):
        return Number(ir.Construct(span, kind, tuple(_number(kind.element, each, span) for _ in kind.letters)))
    place = ctx.new_object("from_words", kind, span)
    for path, scalar, _ in scalar_fields(kind):
        ctx.emit(ir.Assign(span, member_at(place, path), convert.cast(_number(scalar, each, span), scalar, span)))
    return Element(place)


def _word(ctx: Context, value: Value, node: ast.expr) -> ir.Expr:
    return convert.convert(ctx, convert.number(ctx, value, node), UINT32, node)


def _number(scalar: Scalar, words: Iterator[ir.Expr], span: Span) -> ir.Expr:
    """A number of the type that kernels compute with, of the next words."""
    if scalar == BOOL:
        return convert.truth(next(words), span)
    kind = computed(scalar)
    if kind.bits == 32:
        word = next(words)
        number = word if kind == UINT32 else ir.Builtin(span, kind, f"as{kind.kind}", (word,))
        return convert.cast(number, scalar, span) if scalar.name == "float16" else number
    low, high = next(words), next(words)
    if kind == FLOAT64:
        return ir.Builtin(span, FLOAT64, "words_as_double", (low, high))
    upper = ir.Binary(span, UINT64, "shl", convert.cast(high, UINT64, span), ir.Const(span, INT32, 32))
    return convert.cast(ir.Binary(span, UINT64, "bitor", upper, convert.cast(low, UINT64, span)), kind, span)
