"""Calls of rows of the table of builtins."""

from __future__ import annotations

import ast

from vkamp.errors import Span
from vkamp.front import advice, convert, signs
from vkamp.front.context import Context
from vkamp.front.values import Constant, Number, Value
from vkamp.ir import nodes as ir
from vkamp.ir.rows import BuiltinRow
from vkamp.ir.types import BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, SCALARS, VECTORS, Complex, Scalar, Vector


def apply_row(
    ctx: Context, row: BuiltinRow, values: list[Value], nodes: list[ast.expr], node: ast.Call, name: str = ""
) -> Value:
    """A row with its arguments in the common type of their class; ``name``: what a message calls it."""
    vector = convert.vector(ctx, values[0], nodes[0]) if row.of_vectors else None
    if vector is not None:
        return _by_components(ctx, row, vector, nodes[0], node)
    numbers = [convert.number(ctx, v, n) for v, n in zip(values, nodes, strict=True)]
    if row.name in ("min", "max"):
        mixed = signs.extreme(ctx, row.name, (numbers[0], nodes[0]), (numbers[1], nodes[1]), ctx.span(node))
        if mixed is not None:
            return Number(mixed)
    kinds: dict[str, Scalar] = {}
    for letter in set(row.params):
        members = [n for n, p in zip(numbers, row.params, strict=True) if p == letter]
        kind = _common_kind(members, node, ctx)
        if letter == "F":
            kind = FLOAT64 if kind == FLOAT64 else FLOAT32
        elif kind == FLOAT16 and "float16" not in row.types(letter) and not row.typed:
            # Functions compute in the types that C++ AMP has them for.
            kind = FLOAT32
        kind = INT32 if kind == BOOL and letter != "B" else kind
        if kind.name not in row.types(letter):
            wanted = row.types(letter)
            example = f"amp.{wanted[0]}({ctx.text(nodes[row.params.index(letter)])})"
            *others, last = wanted
            accepts = f"{', '.join(others)} or {last}" if others else last
            ctx.fail("VKA315", node, name=name or row.name, accepts=accepts, given=kind, advice=example)
        kinds[letter] = kind
    args = tuple(convert.convert(ctx, n, kinds[p], part) for n, p, part in zip(numbers, row.params, nodes, strict=True))
    result = SCALARS[row.result_name({letter: kind.name for letter, kind in kinds.items()})]
    span = ctx.span(node)
    double = _in_double(row, kinds, numbers, span) if result == FLOAT32 else None
    weak = double is not None and all(map(convert.is_weak, numbers))
    return Number(ir.Builtin(span, result, row.name, args), weak, double)


def apply_to_components(ctx: Context, row: BuiltinRow, values: list[Value], node: ast.Call) -> Value | None:
    """A row of short vectors: the vector of the results for their components; a number is an argument of each.

    ``None``: there is no vector.
    """
    vectors = [convert.vector(ctx, value, part) for value, part in zip(values, node.args, strict=True)]
    found = next((v for v in vectors if v is not None), None)
    if row.of_vectors or found is None or any(v is not None and isinstance(v.type, Complex) for v in vectors):
        return None
    given, span = found.type, ctx.span(node)
    assert isinstance(given, Vector)
    for other, part in zip(vectors, node.args, strict=True):
        if other is not None and (not isinstance(other.type, Vector) or other.type.count != given.count):
            text, help_text = ctx.text(part), f"it is beside a {given}: take as many components of both"
            ctx.fail("VKA311", part, text=text, what=advice.with_article(other.type), advice=help_text)
    parts: list[list[Value]] = []
    for value, vector, part in zip(values, vectors, node.args, strict=True):
        if vector is not None:
            parts.append([Number(component) for component in _components(ctx, vector)])
        else:
            number = convert.number(ctx, value, part)
            if isinstance(number, Number):
                number = Number(ctx.stable(number.expr), number.weak, number.double)
            parts.append([number] * given.count)
    results = [apply_row(ctx, row, list(arguments), node.args, node) for arguments in zip(*parts, strict=True)]
    exprs = tuple(result.expr for result in results if isinstance(result, Number))
    element = exprs[0].type
    kind = Vector(element, given.count) if isinstance(element, Scalar) else None
    if kind not in VECTORS.values():
        text, help_text = ctx.text(node.args[vectors.index(found)]), "take one component after the other"
        ctx.fail("VKA311", node, text=text, what=advice.with_article(given), advice=help_text)
    assert kind is not None
    return Number(ir.Construct(span, kind, exprs))


def _components(ctx: Context, vector: ir.Expr) -> tuple[ir.Expr, ...]:
    """The components of a vector, which is computed once."""
    kind = vector.type
    assert isinstance(kind, Vector)
    if isinstance(vector, ir.Construct) and len(vector.parts) == kind.count:
        return tuple(ctx.stable(part) for part in vector.parts)
    whole = ctx.stable(vector, "vector")
    return tuple(ir.Swizzle(vector.span, kind.element, whole, letter) for letter in kind.letters)


def _by_components(ctx: Context, row: BuiltinRow, vector: ir.Expr, part: ast.expr, node: ast.Call) -> Value:
    """A row of a short vector: the vector of its components' results."""
    given, span = vector.type, ctx.span(node)
    assert isinstance(given, Vector)
    element = SCALARS[row.result_name({row.params[0]: given.element.name})]
    kind = Vector(element, given.count)
    if given.element.name not in row.types(row.params[0]) or kind not in VECTORS.values():
        accepts, advice = "vectors of components of 32 bits", f"{ctx.text(node.func)}({ctx.text(part)}.x)"
        ctx.fail("VKA315", node, name=row.name, accepts=accepts, given=given, advice=advice)
    components: tuple[ir.Expr, ...]
    if isinstance(vector, ir.Construct):
        components = vector.parts
    else:
        whole = ctx.stable(vector, "vector")
        components = tuple(ir.Swizzle(span, given.element, whole, letter) for letter in given.letters)
    return Number(ir.Construct(span, kind, tuple(ir.Builtin(span, element, row.name, (c,)) for c in components)))


def _in_double(
    row: BuiltinRow, kinds: dict[str, Scalar], numbers: list[Constant | Number], span: Span
) -> ir.Expr | None:
    """The result of weak floats in double precision, which it takes beside a float64; ``None`` if it is in float32."""
    wide = {letter: FLOAT64 if kind == FLOAT32 else kind for letter, kind in kinds.items()}
    launched = any(isinstance(n, Number) and n.double is not None for n in numbers)
    args = [convert.double_of(n, span) for n in numbers]
    known = [a for a in args if a is not None]
    fits = set(wide.values()) == {FLOAT64} and all("float64" in row.types(letter) for letter in wide)
    if not launched or len(known) < len(args) or not fits:
        return None
    return ir.Builtin(span, FLOAT64, row.name, tuple(known))


def _common_kind(members: list[Constant | Number], node: ast.Call, ctx: Context) -> Scalar:
    """The type in which the arguments of one class meet."""
    kind = convert.scalar_type(members[0])
    found: Constant | Number = members[0]
    for other in members[1:]:
        kind = convert.common(found, other)
        found = Number(ir.Const(ctx.span(node), kind, 0)) if kind != BOOL else other
    return kind
