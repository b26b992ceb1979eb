"""Short vectors in the kernel language: construction, components, operators, comparison.

A vector that has no place is a :class:`~vkamp.front.values.Number` whose expression has a vector's type.

C++ AMP's model: docs/conformance.md, section 14.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from operator import add, mul, sub, truediv
from typing import Any, NoReturn

import numpy as np

from vkamp.errors import Span
from vkamp.front import advice, convert
from vkamp.front.arity import wrong_count
from vkamp.front.context import Context
from vkamp.front.counters import Counter
from vkamp.front.values import ComplexConstant, Constant, Element, FieldMethod, Number, Value, complex_constant
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, COMPLEX, FLOAT64, VECTOR_LETTERS, VECTORS, Complex, Vector
from vkamp.lang.vectors import ShortVector, letters_of

#: The operations of short vectors: `%` is C's, and there is no `//`.
_OPERATION = {**{op: name for op, name in convert.OPERATION.items() if op is not ast.FloorDiv}, ast.Mod: "trem"}
_OF_FLOATS = ("add", "sub", "mul", "div")


def type_of_class(target: Any) -> Vector | None:
    """The type that a class like ``amp.float3`` or ``amp.complex64`` denotes."""
    if isinstance(target, type) and issubclass(target, (ShortVector, np.complexfloating)):
        return VECTORS.get(target.__name__)
    return COMPLEX["complex64"] if target is complex else None


# -- components ----------------------------------------------------------------------------------------------------


def attribute(ctx: Context, owner: Value, kind: Vector, name: str, node: ast.Attribute) -> Value:
    """``v.x``, ``v.zyx``, ``v.rgb``: in place if the vector is; ``v.ref_x`` is a method that gives the component."""
    if name.startswith("ref_") and isinstance(owner, Element) and letters_of(name[4:], kind.count) in tuple("xyzw"):
        return FieldMethod(attribute(ctx, owner, kind, name[4:], node), name)
    if name == "copy" or (isinstance(kind, Complex) and name in ("conj", "conjugate")):
        return FieldMethod(owner, name)
    is_complex = isinstance(kind, Complex)
    letters = {"real": "x", "imag": "y"}.get(name) if is_complex else letters_of(name, kind.count)
    if letters is None and is_complex:
        known = "a complex number has `real`, `imag` and `conjugate()`"
        ctx.fail("VKA206", node, owner=advice.with_article(kind), name=name, advice=known)
    if letters is None:
        families = f"{kind.letters} or {'rgba'[: kind.count]}"
        help_text = f"its components are distinct letters of {families}: `{ctx.text(node.value)}.x`"
        if 2 <= len(name) <= 4 and all(letters_of(letter, kind.count) for letter in name):
            once = name[:1] if len(set(name)) == 1 else name
            parts = ", ".join(f"{ctx.text(node.value)}.{letter}" for letter in once)
            help_text += f"; for these write `{advice.language_alias(ctx)}.{kind.part(name)}({parts})`"
        ctx.fail("VKA206", node, owner=advice.with_article(kind), name=name, advice=help_text)
    span = ctx.span(node)
    if isinstance(owner, Element):
        place = owner.place
        if isinstance(place, ir.ComponentsOf):
            letters = "".join(place.letters[VECTOR_LETTERS.index(letter)] for letter in letters)
            place = place.base
        return Element(ir.ComponentsOf(span, kind.part(letters), place, letters))
    assert isinstance(owner, Number)
    operand = owner.expr
    if isinstance(operand, ir.Swizzle):
        letters = "".join(operand.letters[VECTOR_LETTERS.index(letter)] for letter in letters)
        operand = operand.operand
    if isinstance(operand, ir.Construct):
        return _parts_of(span, kind, operand, letters)
    return Number(ir.Swizzle(span, kind.part(letters), operand, letters))


def _parts_of(span: Span, kind: Vector, whole: ir.Construct, letters: str) -> Value:
    """Components of a vector that is put together: the others need not be made."""
    parts = whole.parts
    if len(parts) > 1:
        parts = tuple(parts[VECTOR_LETTERS.index(letter)] for letter in letters)
    return Number(parts[0] if len(letters) == 1 else ir.Construct(span, kind.part(letters), parts))


def component(ctx: Context, vector: Number, letter: str, node: ast.expr) -> Value:
    """One component of a vector's value."""
    kind = vector.expr.type
    assert isinstance(kind, Vector)
    letter = {"x": "real", "y": "imag"}[letter] if isinstance(kind, Complex) else letter
    return attribute(ctx, vector, kind, letter, ast.copy_location(ast.Attribute(node, letter, ast.Load()), node))


# -- construction --------------------------------------------------------------------------------------------------


def construct(ctx: Context, kind: Vector, node: ast.Call) -> Value:
    """``amp.float3(...)``: zeros, one number for all, each component, or a vector of another scalar type."""
    values = ctx.operands(*node.args)
    span = ctx.span(node)
    if not values:
        zero = ir.Const(span, kind.element, 0.0 if kind.element.kind == "float" else 0)
        return Number(ir.Construct(span, kind, (zero,)))
    if len(values) == 1:
        vector = convert.vector(ctx, values[0], node.args[0])
        if vector is not None:
            return _converted(ctx, kind, vector, node)
    if len(values) not in (1, kind.count):
        text = ctx.text(node.func)
        usage = f"{text}({_parts(ctx, kind, values, node) or ', '.join('xyzw'[: kind.count])})"
        wrong_count(ctx, node, text, f"none, 1 or {kind.count}", usage)
    what = f"a component of {kind}"
    parts = tuple(convert.assignable(ctx, v, kind.element, n, what) for v, n in zip(values, node.args, strict=True))
    if isinstance(kind, Complex) and len(parts) == 1:
        parts = (*parts, ir.Const(span, kind.element, 0.0))
    return Number(ir.Construct(span, kind, parts))


def _parts(ctx: Context, kind: Vector, values: list[Value], node: ast.Call) -> str:
    """The arguments with vectors replaced by their components, if the number of components is right."""
    kinds = [ctx.vector_of(value) for value in values]
    if sum(1 if k is None else k.count for k in kinds) != kind.count:
        return ""
    return ", ".join(("*" if k else "") + ctx.text(n) for k, n in zip(kinds, node.args, strict=True))


def _converted(ctx: Context, kind: Vector, vector: ir.Expr, node: ast.Call) -> Value:
    given = vector.type
    assert isinstance(given, Vector)
    if given.count != kind.count:
        text = ctx.text(node.args[0])
        letters = kind.letters if kind.count < given.count else given.letters
        help_text = f"take its components: `{', '.join(f'{text}.{n}' for n in letters)}`"
        ctx.fail("VKA333", node, text=text, given=advice.with_article(given), type=kind, advice=help_text)
    return Number(vector if given == kind else ir.Cast(ctx.span(node), kind, vector))


# -- complex numbers ------------------------------------------------------------------------------------------------


def complex_type(ctx: Context, values: Sequence[Value], nodes: Sequence[ast.expr]) -> Complex:
    """The type in which numbers meet, one of which is complex: of 128 bits beside a float64."""
    for value, node in zip(values, nodes, strict=True):
        vector = convert.vector(ctx, value, node)
        kind = convert.scalar_type(convert.number(ctx, value, node)) if vector is None else vector.type
        weak = isinstance(value, Number) and value.weak
        if not weak and kind in (FLOAT64, COMPLEX["complex128"]):
            return COMPLEX["complex128"]
    return COMPLEX["complex64"]


def as_complex(ctx: Context, value: Value, kind: Complex, node: ast.expr) -> ir.Expr:
    """A real or complex number as a complex number of a type."""
    span = ctx.span(node)
    if isinstance(value, ComplexConstant):
        return complex_constant(span, value.value, kind).expr
    vector = convert.vector(ctx, value, node)
    if vector is not None:
        return vector if vector.type == kind else ir.Cast(span, kind, vector)
    real = convert.convert(ctx, convert.number(ctx, value, node), kind.element, node)
    return ir.Construct(span, kind, (real, ir.Const(span, kind.element, 0.0)))


def complex_pair(
    ctx: Context, left: Value, right: Value, nodes: tuple[ast.expr, ast.expr]
) -> tuple[ir.Expr, ir.Expr] | None:
    """Both operands as complex numbers of one type; ``None`` if neither is one, or one is another vector."""
    if convert.is_scalar(left) and convert.is_scalar(right):
        return None
    kinds = [v and v.type for v in (convert.vector(ctx, x, n) for x, n in zip((left, right), nodes, strict=True))]
    if not any(isinstance(k, Complex) for k in kinds) or not all(k is None or isinstance(k, Complex) for k in kinds):
        return None
    kind = complex_type(ctx, (left, right), nodes)
    return as_complex(ctx, left, kind, nodes[0]), as_complex(ctx, right, kind, nodes[1])


def _known(value: Value) -> Any:
    """A Python number that is known at compile time."""
    return value.value if isinstance(value, (Constant, ComplexConstant)) else None


# -- operators -----------------------------------------------------------------------------------------------------


def binary(
    ctx: Context, op: ast.operator, left: Value, right: Value, node: ast.AST, nodes: tuple[ast.expr, ast.expr]
) -> Value | None:
    """``left op right``, component by component; a number becomes a vector that repeats it.  ``None``: no vectors."""
    pair = _operands(ctx, convert.SYMBOL[type(op)], left, right, node, nodes)
    if pair is None:
        return None
    x, y = pair
    kind = x.type
    assert isinstance(kind, Vector)
    symbol, name = convert.SYMBOL[type(op)], _OPERATION.get(type(op), "")
    if isinstance(kind, Complex) and name in _OF_FLOATS and None not in (_known(left), _known(right)):
        try:
            known = {"add": add, "sub": sub, "mul": mul, "div": truediv}[name](_known(left), _known(right))
        except ZeroDivisionError:
            ctx.fail("VKA310", nodes[1])
        return complex_constant(ctx.span(node), known)
    if kind.element.kind != "float" and name == "div":
        name = "tdiv"
    if not name or (kind.element.kind == "float" and name not in _OF_FLOATS):
        _no_operator(ctx, symbol, kind, node)
    if not isinstance(op, (ast.Add, ast.Sub, ast.Mult)) and kind.element.is_integer and isinstance(right, Counter):
        right.demand()
    constant = y.parts[0].value if isinstance(y, ir.Construct) and isinstance(y.parts[0], ir.Const) else None
    if name in ("tdiv", "trem") and constant == 0:
        ctx.fail("VKA310", nodes[1])
    if name in ("shl", "shr") and constant is not None and not 0 <= constant < kind.element.bits:
        ctx.fail("VKA318", nodes[1], count=constant)
    return Number(ir.Binary(ctx.span(node), kind, name, x, y))


def _no_operator(ctx: Context, symbol: str, kind: Vector, node: ast.AST) -> NoReturn:
    is_float = kind.element.kind == "float"
    known = "+ - * /" if is_float else "+ - * / % ^ | & ~ << >>"
    help_text = "write `/`, which truncates" if symbol == "//" and not is_float else f"there are {known}"
    ctx.fail("VKA302", node, op=symbol, what=kind, advice=help_text)


def _operands(
    ctx: Context, symbol: str, left: Value, right: Value, node: ast.AST, nodes: tuple[ast.expr, ast.expr]
) -> tuple[ir.Expr, ir.Expr] | None:
    """Both operands as vectors of one type; ``None`` if neither is one."""
    if convert.is_scalar(left) and convert.is_scalar(right):
        return None
    pair = complex_pair(ctx, left, right, nodes)
    if pair is not None:
        return pair
    x, y = convert.vector(ctx, left, nodes[0]), convert.vector(ctx, right, nodes[1])
    if x is None and y is None:
        return None
    if x is None:
        assert y is not None
        return _repeated(ctx, symbol, left, y, node, nodes[0]), y
    if y is None:
        return x, _repeated(ctx, symbol, right, x, node, nodes[1])
    if x.type != y.type:
        assert isinstance(x.type, Vector) and isinstance(y.type, Vector)
        alike = x.type.count == y.type.count
        help_text = f"convert one: `amp.{x.type}({ctx.text(nodes[1])})`" if alike else "take as many components of both"
        ctx.fail("VKA302", node, op=symbol, what=f"{x.type} and {y.type}", advice=help_text)
    return x, y


def _repeated(ctx: Context, symbol: str, value: Value, beside: ir.Expr, node: ast.AST, part: ast.expr) -> ir.Expr:
    """A vector whose components are all the number, which has their type or is a literal that adopts it."""
    kind = beside.type
    assert isinstance(kind, Vector)
    found = convert.number(ctx, value, part)
    given = convert.scalar_type(found)
    weak = given != BOOL and (isinstance(found, Constant) or found.weak)
    if given != kind.element and not (weak and (kind.element.kind == "float" or given.kind != "float")):
        help_text = f"convert it: `amp.{kind.element}({ctx.text(part)})`"
        ctx.fail("VKA302", node, op=symbol, what=f"{kind} and {given}", advice=help_text)
    return ir.Construct(ctx.span(part), kind, (convert.convert(ctx, found, kind.element, part),))


def unary(ctx: Context, op: ast.unaryop, value: Value, node: ast.UnaryOp) -> Value | None:
    """``-v``, ``+v``, ``~v``; ``None``: no vector."""
    vector = convert.vector(ctx, value, node.operand)
    if vector is None:
        return None
    kind = vector.type
    assert isinstance(kind, Vector)
    if isinstance(op, ast.UAdd):
        return Number(vector)
    if isinstance(op, ast.USub) and isinstance(value, ComplexConstant):
        return complex_constant(ctx.span(node), -value.value)
    if isinstance(op, ast.USub):
        if kind.element.kind == "uint":
            ctx.fail("VKA302", node, op="-", what=kind, advice=f"subtract it: `0 - {ctx.text(node.operand)}`")
        return Number(ir.Unary(ctx.span(node), kind, "neg", vector))
    if kind.element.kind == "float":
        ctx.fail("VKA302", node, op="~", what=kind, advice=f"convert it first, `amp.int{kind.count}(...)`")
    return Number(ir.Unary(ctx.span(node), kind, "invert", vector))


def compare(
    ctx: Context, name: Any, symbol: str, left: Value, right: Value, node: ast.expr, nodes: tuple[ast.expr, ast.expr]
) -> Value | None:
    """``==`` and ``!=`` of vectors, as one bool; ``None`` if there are no vectors."""
    pair = _operands(ctx, symbol, left, right, node, nodes)
    if pair is None:
        return None
    if name not in ("eq", "ne"):
        text = ctx.text(nodes[0])
        what, parts, example = "short vectors", "components", f"{text}.x"
        if isinstance(pair[0].type, Complex):
            what, parts, example = "complex numbers", "magnitudes or parts", f"abs({text})"
        ctx.fail("VKA332", node, what=what, parts=parts, example=example, op=symbol)
    return Number(ir.Compare(ctx.span(node), BOOL, name, *pair))


def choice(ctx: Context, then: Value, orelse: Value, node: ast.IfExp) -> tuple[ir.Expr, ir.Expr] | None:
    """Both sides of a conditional expression, of one vector type; ``None``: no vectors."""
    pair = complex_pair(ctx, then, orelse, (node.body, node.orelse))
    if pair is not None:
        return pair
    x, y = convert.vector(ctx, then, node.body), convert.vector(ctx, orelse, node.orelse)
    if x is None and y is None:
        return None
    if x is None or y is None or x.type != y.type:
        what = f"a choice between {ctx.describe(then)} and {ctx.describe(orelse)}"
        ctx.fail("VKA334", node, text=ctx.text(node), what=what)
    return x, y
