"""Numbers: weak literals, C++'s usual conversions, conditions, assignment.

Source: DESIGN of the language: a Python literal takes the type of the other operand; alone an int is int32 and a float
float32.  Otherwise C++'s usual arithmetic conversions hold.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from vkamp.errors import Note, Span
from vkamp.front import advice
from vkamp.front.context import Context, contains_load
from vkamp.front.counters import Counter, check_divisor
from vkamp.front.values import ArrayRef, Constant, Element, NoValue, Number, Object, Value, loaded
from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import BINARY
from vkamp.ir.constants import converted
from vkamp.ir.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    SMALL,
    Array,
    Complex,
    Scalar,
    Struct,
    Type,
    Vector,
    common_type,
    int_range,
    promoted,
)


def number(ctx: Context, value: Value, node: ast.expr) -> Constant | Number:
    """The value as a number; loads an element, and promotes a small integer; anything else is refused."""
    if isinstance(value, Constant) or (isinstance(value, Number) and isinstance(value.expr.type, Scalar)):
        return value
    if isinstance(value, Element) and isinstance(value.place.type, Scalar):
        return Number(loaded(value.place, ctx.span(node)))
    if isinstance(value, ArrayRef) and isinstance(value.place.type, Array):
        kind = value.place.type
        if kind.shape == () and isinstance(kind.element, Scalar):
            span = ctx.span(node)
            return Number(loaded(ir.ArrayElement(span, kind.element, value.place, ()), span))
    no_number(ctx, value, node)


def vector(ctx: Context, value: Value, node: ast.expr) -> ir.Expr | None:
    """The value if it is a short vector; loads an element."""
    if isinstance(value, Number) and isinstance(value.expr.type, Vector):
        return value.expr
    if isinstance(value, Element) and isinstance(value.place.type, Vector):
        return ir.Load(ctx.span(node), value.place.type, value.place)
    if isinstance(value, ArrayRef) and isinstance(value.place.type, Array):
        kind = value.place.type
        if kind.shape == () and isinstance(kind.element, Vector):
            span = ctx.span(node)
            return ir.Load(span, kind.element, ir.ArrayElement(span, kind.element, value.place, ()))
    return None


def is_scalar(value: Value) -> bool:
    """Whether a value is a number, constant or not, and neither a vector nor complex."""
    if isinstance(value, Number):
        return isinstance(value.expr.type, Scalar)
    return isinstance(value, Constant) or (isinstance(value, Element) and isinstance(value.place.type, Scalar))


def no_number(ctx: Context, value: Value, node: ast.expr) -> NoReturn:
    """Raises the error for something that is not a number where one is needed."""
    text = ctx.text(node)
    if isinstance(value, NoValue):
        ctx.fail("VKA223", node, text=text)
    if isinstance(value, Object) and advice.is_host_object(value.value):
        ctx.host_object(value.value, node)
    ctx.fail("VKA311", node, text=text, what=ctx.describe(value), advice=advice.as_number(ctx, value, text))


def scalar_type(value: Constant | Number) -> Scalar:
    """The type of a number without another operand."""
    if isinstance(value, Number):
        assert isinstance(value.expr.type, Scalar)
        return value.expr.type
    if isinstance(value, Counter):
        return value.kind
    if isinstance(value.value, bool):
        return BOOL
    return INT32 if isinstance(value.value, int) else FLOAT32


def literal(ctx: Context, value: Constant, kind: Scalar, node: ast.AST | Span) -> ir.Expr:
    """A Python number as a constant of ``kind``; refused if the type can't hold it."""
    span = node if isinstance(node, Span) else ctx.span(node)
    if isinstance(value, Counter):
        return value.in_type(kind, span)
    raw = value.value
    if kind == BOOL:
        return ir.Const(span, BOOL, bool(raw))
    if kind.is_integer:
        if isinstance(raw, float):
            misfit(ctx, span, raw, kind, "use a whole number")
        low, high = int_range(kind)
        if not low <= int(raw) <= high:
            misfit(ctx, span, raw, kind, _integer_advice(int(raw), kind))
        return ir.Const(span, kind, int(raw))
    try:
        wide = float(raw)
    except OverflowError:
        wide = math.inf
    rounded = converted(wide, kind)
    assert rounded is not None
    if math.isinf(rounded) and not (isinstance(raw, float) and math.isinf(raw)):
        misfit(ctx, span, raw, kind, "use a smaller number, or math.inf")
    return ir.Const(span, kind, rounded)


def fits_alone(value: Constant) -> bool:
    """Whether the type that a number has alone can hold it."""
    kind = scalar_type(value)
    if isinstance(value, Counter):
        return True
    if kind == INT32:
        low, high = int_range(INT32)
        return low <= value.value <= high
    return kind == BOOL or not math.isfinite(value.value) or math.isfinite(converted(value.value, kind) or 0)


def are_unsigned(values: Sequence[Value]) -> bool:
    """Whether all are Python's ints that fit uint32, and some do not fit int32, as in hash functions."""
    # A counter is a constant, too, but its number is known in the unrolled loop alone.
    known = [v.value for v in values if type(v) is Constant and isinstance(v.value, int)]
    return len(known) == len(values) and min(known) >= 0 and 1 << 31 <= max(known) < 1 << 32


def misfit(ctx: Context, span: Span, raw: bool | int | float, kind: Scalar, help_text: str) -> NoReturn:
    """Raises the error for a number that its type cannot hold."""
    # Python refuses to print very long integers.
    long = isinstance(raw, int) and raw.bit_length() > 256
    value = f"a number of {int(raw).bit_length()} bits" if long else repr(raw)
    ctx.fail("VKA303", span, value=value, type=kind, range=advice.phrase(kind), advice=help_text)


def _integer_advice(value: int, kind: Scalar) -> str:
    if kind.kind == "uint":
        if value == -1:
            return (
                f"for all bits set write 0x{int_range(kind)[1]:X}; to compute below zero convert the other operand, "
                "`amp.int32(...)`"
            )
        return "use a number that fits" + (", or convert the other operand, `amp.int32(...)`" if value < 0 else "")
    if kind.is_narrow:
        return f"use a number that fits, or its lower bits: `amp.{kind}(amp.int32({value}))`"
    if kind == INT32 and 0 <= value < 1 << 32:
        return f"use a number that fits, or compute in uint32: `amp.uint32({value})`"
    if kind.bits < 64 and -(1 << 63) <= value < 1 << 63:
        return f"use a number that fits, or compute in int64 where the device has it: `amp.int64({value})`"
    return "use a number that fits, or a float"


def natural(ctx: Context, value: Constant | Number, node: ast.expr) -> ir.Expr:
    """The number in the type it has alone."""
    if isinstance(value, Number):
        return value.expr
    return literal(ctx, value, scalar_type(value), node)


def cast(expr: ir.Expr, kind: Scalar, span: Span) -> ir.Expr:
    """A conversion as C does it; none if the type is right already; constants are converted here."""
    if expr.type == kind:
        return expr
    if isinstance(expr, ir.Const):
        value = converted(expr.value, kind, expr.type)
        if value is not None:
            return ir.Const(span, kind, value)
    if kind.name in SMALL and "float" in (kind.kind, expr.type.kind):  # type: ignore[union-attr]
        # In two steps: floats have no value in a small integer, and floats of memory are rounded from float32.
        expr = cast(expr, promoted(kind), span)
    return ir.Cast(span, kind, expr)


def convert(ctx: Context, value: Constant | Number, kind: Scalar, node: ast.expr) -> ir.Expr:
    """The number in an operand of type ``kind``: a literal takes the type, anything else is cast."""
    if isinstance(value, Constant):
        if scalar_type(value) == BOOL != kind:
            return literal(ctx, Constant(int(value.value)), kind, node)
        return literal(ctx, value, kind, node)
    if kind == FLOAT64 and value.double is not None:
        return _in_double(ctx, value.double)
    return cast(value.expr, kind, ctx.span(node))


def _in_double(ctx: Context, expr: ir.Expr) -> ir.Expr:
    """Declares the launch's floats that an expression takes in double precision."""
    for node in ir.walk(expr):
        if isinstance(node, ir.ScalarValue) and node.name not in ctx.module.scalars:
            ctx.module.scalars[node.name] = ir.ScalarParam(node.name, FLOAT64, node.span)
    return expr


def double_of(value: Constant | Number, span: Span) -> ir.Expr | None:
    """A constant, a float of the launch or an integer in double precision, for computing in that precision as well."""
    if isinstance(value, Counter):
        return value.in_type(FLOAT64, span)
    if isinstance(value, Constant):
        known = isinstance(value.value, float) or abs(value.value) < 1 << 53
        return ir.Const(span, FLOAT64, float(value.value)) if known else None
    if value.double is None and (scalar_type(value).is_integer or scalar_type(value) == BOOL):
        return cast(value.expr, FLOAT64, span)
    return value.double


def common(left: Constant | Number, right: Constant | Number) -> Scalar:
    """The type in which two operands meet."""
    a, b = scalar_type(left), scalar_type(right)
    weak_a, weak_b = is_weak(left), is_weak(right)
    if weak_a != weak_b:
        weak, strong = (a, b) if weak_a else (b, a)
        if strong == BOOL or (weak.kind == "float" and strong.kind != "float"):
            return common_type(weak, strong)
        return strong
    return common_type(a, b)


def is_weak(value: Constant | Number) -> bool:
    """Whether a number takes the type of the other operand."""
    if isinstance(value, Number):
        return value.weak
    return scalar_type(value) != BOOL


def arithmetic(
    ctx: Context,
    left: Constant | Number,
    right: Constant | Number,
    left_node: ast.expr,
    right_node: ast.expr,
) -> tuple[ir.Expr, ir.Expr, Scalar, bool]:
    """Both operands in their common type, and whether the result is weak."""
    kind = common(left, right)
    return (
        convert(ctx, left, kind, left_node),
        convert(ctx, right, kind, right_node),
        kind,
        is_weak(left) and is_weak(right),
    )


def condition(ctx: Context, value: Value, node: ast.expr) -> ir.Expr:
    """A truth value: a number is true if it is not zero."""
    found = number(ctx, value, node)
    if isinstance(found, Constant):
        return ir.Const(ctx.span(node), BOOL, bool(found.value))
    return truth(found.expr, ctx.span(node))


def truth(expr: ir.Expr, span: Span) -> ir.Expr:
    """``expr != 0`` for a number, the bool itself."""
    if expr.type == BOOL:
        return expr
    assert isinstance(expr.type, Scalar)
    zero: int | float = 0.0 if expr.type.kind == "float" else 0
    return ir.Compare(span, BOOL, "ne", expr, ir.Const(span, expr.type, zero))


def assignable(
    ctx: Context,
    value: Value,
    kind: Type,
    node: ast.expr,
    what: str,
    first: Span | None = None,
    statement: str = "",
) -> ir.Expr:
    """The value to store in a place of type ``kind``; ``what`` names the place, ``first`` where it got its type,
    ``statement`` how the advice begins to write the assignment.

    Integers convert among each other and to float as in C++, bools to numbers; a float to an integer and a number to
    a bool need a cast that the source shows.
    """
    if isinstance(kind, Struct):
        if isinstance(value, Element) and value.place.type == kind:
            return ir.Load(ctx.span(node), kind, value.place)
        place = Element(ir.Local(ctx.span(node), kind, ir.Variable("", kind, "local", ctx.span(node))))
        name, field = what.strip("`"), kind.fields[0].name
        help_text = f"assign its fields one by one: `{name}.{field} = ...`"
        if name.isidentifier() and what.startswith("`"):
            help_text = f"use another name; to change what `{name}` is, assign its fields: `{name}.{field} = ...`"
        ctx.fail("VKA317", node, what=what, type=ctx.describe(place), given=ctx.describe(value), advice=help_text)
    assert not isinstance(kind, Array)
    if isinstance(kind, Vector):
        found_vector = vector(ctx, value, node)
        if found_vector is not None and found_vector.type == kind:
            return found_vector
        if isinstance(kind, Complex) and (found_vector is None or isinstance(found_vector.type, Complex)):
            if found_vector is not None:
                return ir.Cast(ctx.span(node), kind, found_vector)
            real = convert(ctx, number(ctx, value, node), kind.element, node)
            return ir.Construct(real.span, kind, (real, ir.Const(real.span, kind.element, 0.0)))
        given_type = scalar_type(number(ctx, value, node)) if found_vector is None else found_vector.type
        alike = not isinstance(given_type, Vector) or given_type.count == kind.count
        help_text = f"write the conversion: `{statement}amp.{kind}({ctx.text(node)})`"
        ctx.fail(
            "VKA301",
            node,
            notes=(Note(first, f"{what} is {kind} since this line"),) if first is not None else (),
            given=advice.with_article(given_type),
            what=what,
            type=kind,
            advice=help_text if alike else f"give it {kind.count} components",
        )
    found = number(ctx, value, node)
    given = scalar_type(found)
    if (kind.is_integer and given.kind == "float") or (kind == BOOL and given != BOOL):
        notes = (Note(first, f"{what} is {kind} since this line"),) if first is not None else ()
        given_text = advice.with_article(given)
        help_text = _conversion(ctx, found, kind, node, what if first is not None else "", statement)
        ctx.fail("VKA301", node, notes=notes, given=given_text, what=what, type=kind, advice=help_text)
    return convert(ctx, found, kind, node)


def _conversion(
    ctx: Context, found: Constant | Number, kind: Scalar, node: ast.expr, variable: str, statement: str
) -> str:
    """How to store a number in a place of another type; ``variable`` is quoted, and could be of that type itself."""
    text = ctx.text(node)
    if kind == BOOL:
        compared = f"({text})" if isinstance(node, (ast.BoolOp, ast.IfExp)) else text
        write = f"write the comparison: `{statement}{compared} != 0`"
        name = variable.strip("`")
        return f"start with an integer: `{name} = 0`, or `int(...)` of a condition; or {write}" if variable else write
    wider = f"start with a float: `{variable.strip('`')} = 0.0`"
    if isinstance(found, Constant):
        return wider if variable else "use a whole number, or elements of float32"
    write = f"write the conversion: `{statement}amp.{kind}({text})`"
    return f"{wider}; or {write}" if variable else write


class NeededAsConstantError(Exception):
    """A captured number is needed at compile time: lowering starts again with its value."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def as_constant(ctx: Context, value: Value) -> Value:
    """The value itself; a captured Python number makes lowering start again with it as a constant."""
    if isinstance(value, Number) and value.weak:
        for node in ir.walk(value.expr):
            if isinstance(node, ir.ScalarValue) and node.name in ctx.module.constant_values:
                raise NeededAsConstantError(node.name)
    return value


def constant_int(ctx: Context, value: Value, node: ast.expr, what: str) -> int:
    """A compile-time int; a captured Python int becomes one."""
    found = as_constant(ctx, value)
    if isinstance(found, Constant) and isinstance(found.value, int) and not isinstance(found.value, bool):
        return found.value
    if isinstance(found, Number) and isinstance(found.expr, ir.Const) and isinstance(found.expr.value, int):
        return int(found.expr.value)
    no_constant(ctx, found, node, what, "a whole number")


def no_constant(ctx: Context, value: Value, node: ast.expr, what: str, kind: str) -> NoReturn:
    """Raises the error for a value that is needed at compile time and not known then."""
    text = ctx.text(node)
    help_text = "use a number, a global of the module, or a keyword-only parameter annotated `amp.constant`"
    if isinstance(value, (Constant, Object)):
        help_text = _whole_constant(value, node, text)
    elif isinstance(value, Number) and isinstance(value.expr, ir.ScalarValue) and value.expr.name == text:
        if text in ctx.module.elements:
            help_text = f"only the device knows it: wait for it before the launch, `known = int({text})`, and use that"
            ctx.fail("VKA308", node, what=what, kind=kind, text=text, advice=help_text)
        help_text = f"make it a constant of the kernel: `*, {text}: amp.constant` as the last parameter"
    ctx.fail("VKA308", node, what=what, kind=kind, text=text, advice=help_text)


def index_expr(ctx: Context, value: Value, node: ast.expr) -> ir.Expr:
    """A subscript: int32 or uint32."""
    found = number(ctx, value, node)
    kind = scalar_type(found)
    if not kind.is_integer:
        given = advice.with_article(kind)
        ctx.fail("VKA314", node, text=ctx.text(node), given=given, advice=whole_number(ctx, found, node))
    expr = narrowed(natural(ctx, found, node))
    if not isinstance(expr, ir.Const) and all(_is_constant_part(n) for n in ir.walk(expr)):
        # Kept from a compiler of shaders, which would compute it, and refuse the whole shader if it is out of range.
        return ctx.temporary("index", expr)
    return expr


def narrowed(expr: ir.Expr) -> ir.Expr:
    """A subscript or count of 64 bits in 32: what is too large or negative stays so."""
    kind = expr.type
    assert isinstance(kind, Scalar)
    if kind.bits != 64:
        return expr
    if isinstance(expr, ir.Const):
        return ir.Const(expr.span, INT32, min(max(int(expr.value), -1), int_range(INT32)[1]))
    least, most = ir.Const(expr.span, kind, -1), ir.Const(expr.span, kind, int_range(INT32)[1])
    if kind.kind == "int":
        expr = ir.Builtin(expr.span, kind, "max", (expr, least))
    return cast(ir.Builtin(expr.span, kind, "min", (expr, most)), INT32, expr.span)


def assign_numbers(ctx: Context, variables: Sequence[ir.Expr], values: Sequence[ir.Expr], span: Span) -> None:
    """Gives variables of the compiler's own, which are subscripts, new values that may depend on the old ones."""
    values = [cast(value, INT32, value.span) for value in values]
    if len(values) > 1:
        values = [ctx.temporary("value", v) if contains_load(v) else v for v in values]
    for variable, value in zip(variables, values, strict=True):
        assert isinstance(variable, ir.Load)
        if variable != value:
            ctx.emit(ir.Assign(span, variable.place, value))


def _is_constant_part(node: ir.Node) -> bool:
    return not isinstance(node, (ir.Load, *ir.GIVEN))


def whole_number(ctx: Context, value: Constant | Number, node: ast.expr) -> str:
    """How to make an integer from a value that is not one."""
    text = ctx.text(node)
    if scalar_type(value) == BOOL:
        return f"write `if {text}:` before the statement"
    if isinstance(value, Constant):
        return _whole_constant(value, node, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"write `{ctx.text(node.left)} // {ctx.text(node.right)}`"
    if text in ctx.elements_of:
        of = ctx.elements_of[text]
        return f"`{text}` is an element of `{of}`: for its index write `for {text} in range({of}.extent[0]):`"
    return f"write `int({text})`"


def _whole_constant(value: Value, node: ast.expr, text: str) -> str:
    """What to write where a constant is not a whole number; ``math.ceil`` gives a float, as of a variable."""
    if isinstance(node, ast.Call) and isinstance(value, Constant) and math.isfinite(value.value):
        return f"write `int({text})`"
    return "use a whole number"


#: The operations of the IR for Python's operators.
OPERATION: dict[type[ast.AST], Any] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "floormod",
    ast.LShift: "shl", ast.RShift: "shr", ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.BitXor: "bitxor",
}  # fmt: skip
SYMBOL = {**{op: BINARY[name].symbol for op, name in OPERATION.items()}, ast.Pow: "**", ast.MatMult: "@"}


def is_zero(divisor: Value, expr: ir.Expr) -> bool:
    """Whether a divisor is known to be zero."""
    check_divisor(divisor)
    return isinstance(expr, ir.Const) and expr.value == 0
