"""Expressions and places as GLSL text."""

from __future__ import annotations

import math
from collections.abc import Iterable

from vkamp.artifacts import PushWord
from vkamp.emit.globals import Globals, least, word_type
from vkamp.emit.helpers import GLSL_TYPES
from vkamp.emit.literals import literal
from vkamp.emit.text import (
    ADD,
    AND,
    BOOL_OPERATORS,
    EQ,
    MUL,
    OPERATORS,
    POSTFIX,
    SHIFT,
    UNARY,
    Text,
    choice,
    in_parentheses,
    joined,
    operation,
)
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import repeated
from vkamp.ir.arithmetic import NEGATED
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.lowered import BitCast, LaunchWord, MemoryElement, PureCall, Within
from vkamp.ir.narrow_floats import NARROW_ROWS
from vkamp.ir.ranges import Ranges
from vkamp.ir.subgroups import INDICES
from vkamp.ir.types import (
    INT32,
    VECTOR_LETTERS,
    PackedVector,
    Scalar,
    Struct,
    Type,
    Vector,
    int_range,
)

_EXACT = ("add", "sub", "mul", "div")
_DIVISION_HELPERS = {"floordiv": "floor_div", "floormod": "floor_mod", "tdiv": "trunc_div", "trem": "trunc_mod"}


_OF_NARROW_TYPES = frozenset(row.name for row in NARROW_ROWS)
#: What the launch, the grid or a function gives.
_GIVEN = (*ir.GIVEN, LaunchWord, PureCall)


def has_float_arithmetic(nodes: Iterable[ir.Node]) -> bool:
    """Whether a compiler could contract something in these expressions."""
    return any(isinstance(n, ir.Binary) and _element(n).kind == "float" for node in nodes for n in ir.walk(node))


def _element(expr: ir.Expr) -> Scalar:
    """The type of a number, or of a vector's components."""
    kind = expr.type
    assert isinstance(kind, (Scalar, Vector))
    return kind.element if isinstance(kind, Vector) else kind


def bits_text(text: str, old: Type, new: Type) -> str:
    """The bits of a scalar of 32 or 64 bits as another scalar."""
    a, b = (GLSL_TYPES[str(kind)] for kind in (old, new))
    if a == b:
        return text
    if "double" in (a, b):
        names = {"double": "Double", "int64_t": "Int64", "uint64_t": "Uint64"}
        return f"{names[a][:1].lower()}{names[a][1:]}BitsTo{names[b]}({text})"
    return f"{a}BitsTo{b.capitalize()}({text})" if "float" in (a, b) else f"{b}({text})"


class ExpressionPrinter:
    """Prints the expressions of one function.

    ``locals`` and ``threads`` give the names of its variables and thread indices.  In a precise kernel an expression
    is printed as it stands where it ends up in a ``precise`` variable (:meth:`value`), and with functions that keep
    operations apart elsewhere (:meth:`plain`).
    """

    def __init__(
        self,
        shared: Globals,
        local_names: dict[str, str],
        threads: dict[tuple[str, int], str],
        ranges: Ranges,
    ) -> None:
        self._shared = shared
        self._locals = local_names
        self._threads = threads
        self._ranges = ranges
        self._apart = False

    # -- entry points ------------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr) -> str:
        """The text of a value that is assigned to a variable."""
        return self._text(expr).glsl

    def plain(self, expr: ir.Expr) -> str:
        """The text of a value that decides, indexes or is passed on, where no operator is beside it."""
        return self.operand(expr).glsl

    def operand(self, expr: ir.Expr) -> Text:
        """Like :meth:`plain`, for a place beside an operator: :func:`operation` and :func:`choice` take it."""
        before, self._apart = self._apart, self._shared.kernel.precise
        text = self._text(expr)
        self._apart = before
        return text

    def place(self, place: ir.Place) -> str:
        """The text of a variable, an element, a member or components (of an array of them: one)."""
        if isinstance(place, ir.Local):
            return self.variable(place.variable)
        if isinstance(place, ir.FieldOf):
            struct = place.base.type
            assert isinstance(struct, Struct)
            return f"{self.place(place.base)}.{self._shared.field_names[struct][place.name]}"
        if isinstance(place, ir.ArrayElement):
            indices = "".join(f"[{self.plain(i)}]" for i in place.indices)
            return self.place(place.base) + indices
        if isinstance(place, ir.ComponentsOf):
            base = self.place(place.base)
            is_array = isinstance(place.base.type, PackedVector)
            return f"{base}[{VECTOR_LETTERS.index(place.letters)}]" if is_array else f"{base}.{place.letters}"
        assert isinstance(place, MemoryElement)
        return f"{self._shared.buffer_names[place.buffer, place.type]}[{self.plain(place.indices[0])}]"

    def variable(self, variable: ir.Variable) -> str:
        """The name of a variable."""
        if variable.storage in ("tile_static", "thread"):
            return self._shared.variable_names[variable.name]
        return self._locals[variable.name]

    def operator(self, expr: ir.Binary) -> tuple[str, ir.Expr] | None:
        """The operator and right operand for ``place op= right``, if ``expr`` is one GLSL operator."""
        if isinstance(expr.type, Vector):
            sign = self._vector_operator(expr)
            return None if sign is None else (sign[0], repeated(expr.right) or expr.right)
        if not isinstance(expr.type, Scalar) or expr.type.kind == "bool":
            return None
        return self._integer_division(expr) or self._operator(expr)

    # -- expressions -------------------------------------------------------------------------------------------

    def _text(self, expr: ir.Expr) -> Text:
        text: Text = PRINTERS[type(expr)](self, expr)
        return text

    def _construct(self, expr: ir.Construct) -> Text:
        assert isinstance(expr.type, Vector)
        return Text(f"{GLSL_TYPES[expr.type.name]}({', '.join(self._text(p).glsl for p in expr.parts)})")

    def _pure_call(self, expr: PureCall) -> Text:
        # What `precise` says of the result does not reach into the function.
        args = ", ".join(self.plain(a) if isinstance(a, ir.Expr) else self.place(a) for a in expr.args)
        return Text(f"{self._shared.function_names[expr.function]}({args})")

    def _logical(self, expr: ir.Logical) -> Text:
        if expr.op == "and":
            for one, other in ((expr.left, expr.right), (expr.right, expr.left)):
                if self._is_certain(one):
                    return self._text(other)
        return operation(expr.op, self._text(expr.left), self._text(expr.right))

    def _is_certain(self, expr: ir.Expr) -> bool:
        """Whether it tests a number that cannot be negative for being below zero."""
        if not isinstance(expr, ir.Compare) or expr.op != "ge" or not isinstance(expr.right, ir.Const):
            return False
        kind = expr.left.type
        is_integer = isinstance(kind, Scalar) and kind.is_integer
        return is_integer and expr.right.value == 0 and self._ranges.non_negative(expr.left)

    def _swizzle(self, expr: ir.Swizzle) -> Text:
        # What `precise` says of a variable does not reach through a swizzle.
        operand = self.operand(expr.operand)
        return Text(f"{in_parentheses(operand, POSTFIX)}.{expr.letters}")

    def _item_index(self, expr: ir.ItemIndex) -> Text:
        return self._text(expr.index)

    def _load(self, expr: ir.Load) -> Text:
        return Text(self.place(expr.place))

    def _thread_index(self, expr: ir.ThreadIndex) -> Text:
        return Text(self._threads[expr.kind, expr.dim])

    def _subgroup_index(self, expr: ir.SubgroupIndex) -> Text:
        counting = self._shared.subgroup_count() if expr.kind == "count" else None
        return Text(INDICES[expr.kind].glsl if counting is None else f"{counting}()")

    def _buffer_extent(self, expr: ir.BufferExtent) -> Text:
        return Text(self._shared.word(PushWord("extent", expr.buffer, expr.dim, "int32")))

    def _launch_word(self, expr: LaunchWord) -> Text:
        return Text(self._shared.word(PushWord(expr.kind, expr.name, expr.dim, expr.type.name)))  # type: ignore[union-attr,arg-type]

    def _scalar_value(self, expr: ir.ScalarValue) -> Text:
        assert isinstance(expr.type, Scalar)
        kind = word_type(expr.type)
        name = self._shared.word(PushWord("scalar", expr.name, 0, kind))  # type: ignore[arg-type]
        return Text(f"{name} != 0u", EQ) if expr.type.kind == "bool" else Text(name)

    def _const(self, expr: ir.Const) -> Text:
        assert isinstance(expr.type, Scalar)
        name = expr.type.name
        if expr.value == 0 and self._shared.kernel.precise and "zero_constants" in self._shared.quirks:
            hidden = self._shared.helpers.zero(name)
            if hidden:
                return Text(f"-{hidden}", UNARY) if math.copysign(1.0, expr.value) < 0 else Text(hidden)
        text = literal(expr.value, name)
        return Text(text, UNARY if text.startswith("-") else POSTFIX)

    def _compare(self, expr: ir.Compare) -> Text:
        left, right = expr.left, expr.right
        if isinstance(left.type, Vector) and _is_constant(left) and _is_constant(right):
            # glslang folds `==` of constant vectors to a bool that equals neither true nor false.
            ways = {"eq": ("all", "equal"), "ne": ("any", "notEqual")}
            reduce, compare = ways[expr.op]
            return Text(f"{reduce}({compare}({self._text(left).glsl}, {self._text(right).glsl}))")
        return operation(expr.op, self._text(left), self._text(right))

    def _unary(self, expr: ir.Unary) -> Text:
        is_bool = isinstance(expr.type, Scalar) and expr.type.kind == "bool"
        if is_bool:
            inner = expr.operand
            if isinstance(inner, ir.Compare) and _has_opposite(inner):
                return self._text(
                    ir.Compare(inner.span, inner.type, NEGATED[inner.op], inner.left, inner.right)  # type: ignore[arg-type]
                )
            return Text(f"!{in_parentheses(self._text(inner), UNARY)}", UNARY)
        operand = self._text(expr.operand)
        if expr.op == "neg" and _element(expr).kind == "int" and self._shared.has_quotients_of_the_least:
            zero = ir.Const(expr.span, _element(expr), 0)
            return joined("-", ADD, self._text(zero), operand)
        sign = "-" if expr.op == "neg" else "~"
        # Not "--": that is another operator.
        level = POSTFIX if operand.glsl.startswith("-") else UNARY
        return Text(f"{sign}{in_parentheses(operand, level)}", UNARY)

    def _cast(self, expr: ir.Cast) -> Text:
        if expr.type == expr.operand.type:
            return self._text(expr.operand)
        if isinstance(expr.type, PackedVector):
            # What `precise` says of the result does not reach into the function.
            return Text(f"{self._shared.helpers.pack(expr.type)}({self.plain(expr.operand)})")
        if isinstance(expr.operand.type, PackedVector):
            return Text(f"{self._shared.helpers.unpack(expr.operand.type)}({self._text(expr.operand).glsl})")
        if isinstance(expr.type, Vector):
            return self._conversion(self._text(expr.operand), expr.operand.type, expr.type)
        assert isinstance(expr.type, Scalar) and isinstance(expr.operand.type, Scalar)
        if expr.type.kind == "bool":
            zero = ir.Const(expr.span, expr.operand.type, 0)
            return joined("!=", EQ, self._text(expr.operand), self._const(zero))
        if isinstance(expr.operand, ir.Const) and expr.operand.type.kind != "float" and expr.type.bits >= 32:
            return self._const(ir.Const(expr.span, expr.type, _converted(expr.operand, expr.type)))
        text = self.operand if expr.type.is_narrow_float else self._text
        return self._conversion(text(expr.operand), expr.operand.type, expr.type)

    def _conversion(self, value: Text, source: Type, target: Scalar | Vector) -> Text:
        """A converted value, by a function where the driver gets it wrong."""
        assert isinstance(source, (Scalar, Vector))
        name = self._shared.helpers.conversion(self._shared.quirks, source, target)
        return Text(f"{name or GLSL_TYPES[target.name]}({value.glsl})")

    def _bit_cast(self, expr: BitCast) -> Text:
        return Text(bits_text(self._text(expr.operand).glsl, expr.operand.type, expr.type))

    def _within(self, expr: Within) -> Text:
        return self._text(expr.operand)

    def _select(self, expr: ir.Select) -> Text:
        return choice(self._text(expr.condition), self._text(expr.then), self._text(expr.orelse))

    def _builtin(self, expr: ir.Builtin) -> Text:
        row = BUILTINS[expr.name]
        kind = expr.args[0].type
        assert isinstance(kind, Scalar)
        if expr.name == "abs" and isinstance(expr.args[0], ir.Const) and expr.args[0].value == 0:
            # glslang takes abs(-0.0) for -0.0.
            return self._const(ir.Const(expr.span, kind, 0))
        if expr.name == "abs" and kind.kind == "int" and "halved_magnitudes" in self._shared.quirks:
            name = self._shared.helpers.use("magnitude", kind if kind.bits == 64 else INT32)
            return Text(f"{name}({self._text(expr.args[0]).glsl})")
        if row.native is not None and row.native[0] in self._shared.features:
            self._shared.helpers.add(row.name, row.native[1])
            return Text(row.glsl_for(kind.name).format(*(self._text(a).glsl for a in expr.args)), POSTFIX)
        # What `precise` says of the result does not reach into the rounding.
        argument = self.operand if row.name in _OF_NARROW_TYPES else self._text
        text = self._shared.helpers.call(row, kind, [argument(a).glsl for a in expr.args])
        return Text(text, UNARY if text.startswith("!") else POSTFIX)

    def _binary(self, expr: ir.Binary) -> Text:
        if isinstance(expr.type, Vector):
            return self._vector_binary(expr)
        assert isinstance(expr.type, Scalar)
        if expr.type.kind == "bool":
            sign, level = BOOL_OPERATORS[expr.op]
            return joined(sign, level, self._text(expr.left), self._text(expr.right))
        if expr.type.kind == "float":
            return self._float_binary(expr)
        if expr.op in _DIVISION_HELPERS and isinstance(expr.right, ir.Const) and expr.right.value == 1:
            # SwiftShader gives 0 for `ivec2(5) | (x % 1)`.
            remains = expr.op in ("floormod", "trem")
            return self._text(ir.Const(expr.span, expr.type, 0) if remains else expr.left)
        division = self._integer_division(expr)
        if division is not None:
            sign, right = division
            level = {"/": MUL, "%": MUL, ">>": SHIFT, "&": AND}[sign]
            return joined(sign, level, self._text(expr.left), self._text(right))
        helper = _DIVISION_HELPERS.get(expr.op)
        if helper is not None:
            return self._call(helper, expr)
        return self._arithmetic(expr)

    @staticmethod
    def _vector_operator(expr: ir.Binary) -> tuple[str, int] | None:
        """The operator for an operation on vectors, if GLSL has one."""
        if expr.op not in ("tdiv", "trem"):
            return OPERATORS[expr.op]
        if _element(expr).kind == "uint":
            return ("%" if expr.op == "trem" else "/"), MUL
        # Undefined are % of negative operands and -2^31 / -1.
        divisor = repeated(expr.right)
        plain = expr.op == "tdiv" and isinstance(divisor, ir.Const) and divisor.value != -1
        return ("/", MUL) if plain else None

    def _vector_binary(self, expr: ir.Binary) -> Text:
        assert isinstance(expr.type, Vector)
        sign = self._vector_operator(expr)
        exact = self._apart and _element(expr).kind == "float"
        if sign is None or exact:
            helper = _DIVISION_HELPERS[expr.op] if sign is None else f"exact_{expr.op}"
            name = self._shared.helpers.use(helper, expr.type)
            return Text(f"{name}({self._text(expr.left).glsl}, {self._text(expr.right).glsl})")
        left, right = repeated(expr.left), repeated(expr.right)
        if right is not None:
            return joined(*sign, self._text(expr.left), self._text(right))
        if left is not None and expr.op not in ("shl", "shr"):
            return joined(*sign, self._text(left), self._text(expr.right))
        return joined(*sign, self._text(expr.left), self._text(expr.right))

    def _float_binary(self, expr: ir.Binary) -> Text:
        assert isinstance(expr.type, Scalar)
        if expr.op in ("floordiv", "floormod"):
            return self._call(_DIVISION_HELPERS[expr.op], expr)
        if self._apart and expr.op in _EXACT:
            kind = _element(expr)
            name = self._shared.helpers.use(f"exact_{expr.op}", kind if kind.bits != 32 else None)
            return Text(f"{name}({self._text(expr.left).glsl}, {self._text(expr.right).glsl})")
        return self._arithmetic(expr)

    def helper(self, name: str, kind: Type) -> str:
        """The name under which the shader has a helper function for operands of a scalar type."""
        assert isinstance(kind, Scalar)
        return self._shared.helpers.use(name, kind)

    def _call(self, helper: str, expr: ir.Binary) -> Text:
        assert isinstance(expr.type, Scalar)
        name = self._shared.helpers.use(helper, expr.type)
        return Text(f"{name}({self._text(expr.left).glsl}, {self._text(expr.right).glsl})")

    def _arithmetic(self, expr: ir.Binary) -> Text:
        sign, right = self._operator(expr) or (expr.op, expr.right)
        level = OPERATORS[expr.op][1]
        text = self._text(right)
        if sign == "+" and text.level == ADD and _element(expr).kind != "float":
            # Integers wrap: the order of additions does not matter.
            return Text(f"{in_parentheses(self._text(expr.left), ADD)} + {text.glsl}", ADD)
        return joined(sign, level, self._text(expr.left), text)

    @staticmethod
    def _operator(expr: ir.Binary) -> tuple[str, ir.Expr] | None:
        """The operator and its right operand; ``x + -1`` is ``x - 1``."""
        if expr.op not in OPERATORS:
            return None
        right = expr.right
        if expr.op in ("add", "sub") and isinstance(right, ir.Const) and least(right) < right.value < 0:
            opposite = ir.Const(right.span, right.type, -right.value)
            return ("-" if expr.op == "add" else "+"), opposite
        return OPERATORS[expr.op][0], right

    def _integer_division(self, expr: ir.Binary) -> tuple[str, ir.Expr] | None:
        """The operator for an integer division or remainder that needs no correction, and its right operand."""
        divisions, remainders = ("floordiv", "tdiv"), ("floormod", "trem")
        if expr.op not in (*divisions, *remainders) or not isinstance(expr.type, Scalar):
            return None
        if expr.type.kind == "float":
            return None
        safe = self._ranges.non_negative(expr.left) and self._ranges.non_negative(expr.right)
        floors = expr.op in ("floordiv", "floormod")
        right = expr.right
        if isinstance(right, ir.Const) and right.value > 0 and (safe or floors):
            size = int(right.value)
            if size & (size - 1) == 0 and size > 1:
                # Exact for floors of negative numbers too, and far cheaper than a division on CPU devices.
                if expr.op in divisions:
                    return ">>", ir.Const(right.span, INT32, size.bit_length() - 1)
                return "&", ir.Const(right.span, right.type, size - 1)
        low, high = self._ranges.of(right)
        fits = low >= 0 or high < -1 or self._ranges.of(expr.left)[0] > int_range(expr.type)[0]
        if (expr.op == "tdiv" and fits) or (safe and expr.op == "floordiv"):
            return "/", right
        return ("%", right) if safe else None


def _converted(constant: ir.Const, kind: Scalar) -> int | float:
    """An integer or bool constant as a number of another type."""
    if kind.kind == "float":
        return float(constant.value)
    bits = int(constant.value) & ((1 << kind.bits) - 1)
    return bits - (1 << kind.bits) if kind.kind == "int" and bits >> (kind.bits - 1) else bits


def _is_constant(expr: ir.Expr) -> bool:
    """Whether GLSL's compiler may know the value: nothing that a thread, a launch or memory gives."""
    return not any(isinstance(n, (ir.Load, *_GIVEN)) for n in ir.walk(expr))


def _has_opposite(compare: ir.Compare) -> bool:
    """Whether negating a comparison is comparing the other way round (not so with NaN)."""
    return isinstance(compare.left.type, Scalar) and compare.left.type.kind != "float"


#: How each class of expressions is printed.
PRINTERS = ir.handlers(ExpressionPrinter, ir.Expr)
