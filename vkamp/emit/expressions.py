"""Expressions and places as GLSL text, with the parentheses a person would write.

A text goes with its precedence; an operand is parenthesised where the grammar needs it, and where operators mix that
readers mix up (bit operations, shifts, comparisons).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from vkamp.artifacts import PushWord, Quirk
from vkamp.emit.copy_propagation import Called
from vkamp.emit.helpers import COUNT_NAME, GLSL_TYPES, Helpers
from vkamp.emit.literals import literal
from vkamp.emit.lower_addresses import Bits
from vkamp.emit.narrow_types import Forms, accessor_texts
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.dataflow import own_nodes
from vkamp.ir.ranges import Ranges
from vkamp.ir.requirements import access, uses_subgroups
from vkamp.ir.subgroups import INDICES
from vkamp.ir.types import (
    FLOAT16,
    FLOAT32,
    INT32,
    SMALL,
    UINT32,
    VECTOR_LETTERS,
    Scalar,
    Struct,
    Type,
    Vector,
    int_range,
)

# Precedences of GLSL, loosest first.
_COND, _LOR, _LXOR, _LAND, _OR, _XOR, _AND, _EQ, _REL, _SHIFT, _ADD, _MUL, _UNARY, _POSTFIX = range(14)
_BITWISE = (_SHIFT, _AND, _XOR, _OR)
_COMPARISONS = (_EQ, _REL)

_OPERATORS = {
    "add": ("+", _ADD), "sub": ("-", _ADD), "mul": ("*", _MUL), "div": ("/", _MUL),
    "shl": ("<<", _SHIFT), "shr": (">>", _SHIFT),
    "bitand": ("&", _AND), "bitor": ("|", _OR), "bitxor": ("^", _XOR),
    "eq": ("==", _EQ), "ne": ("!=", _EQ), "lt": ("<", _REL), "le": ("<=", _REL), "gt": (">", _REL), "ge": (">=", _REL),
    "and": ("&&", _LAND), "or": ("||", _LOR),
}  # fmt: skip
_BOOL_OPERATORS = {"bitand": ("&&", _LAND), "bitor": ("||", _LOR), "bitxor": ("^^", _LXOR)}
_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_EXACT = ("add", "sub", "mul", "div")
_DIVISION_HELPERS = {"floordiv": "floor_div", "floormod": "floor_mod", "tdiv": "trunc_div", "trem": "trunc_mod"}


@dataclass(frozen=True)
class Text:
    """GLSL and its precedence."""

    glsl: str
    level: int = _POSTFIX


@dataclass(frozen=True)
class WordValue(ir.Expr):
    """A launch word as an expression: a container's stride or offset, which the IR has no node for."""

    word: PushWord


@dataclass(frozen=True, repr=False)
class Part(ir.Expr):
    """The ``number``-th element of a row of elements of a small type, in a word that it is a part of."""

    word: ir.Expr
    number: ir.Expr


@dataclass(frozen=True, repr=False)
class WithPart(ir.Expr):
    """A word in which such an element has another value."""

    word: ir.Expr
    number: ir.Expr
    value: ir.Expr


#: What the launch or the grid gives.
_GIVEN = (ir.ThreadIndex, ir.SubgroupIndex, ir.BufferExtent, ir.ScalarValue, WordValue)


#: No subgroup has more lanes.
_MAX_LANES = 128
_COUNT = """\
// Some drivers do not count a subgroup that the tile does not fill.
int subgroup_count() {{
    return int(max(gl_NumSubgroups, ({threads}u + gl_SubgroupSize - 1u) / gl_SubgroupSize));
}}
"""


@dataclass
class Globals:
    """What all functions of a shader share: names of globals, the words and helpers that are used."""

    kernel: ir.Kernel
    #: By parameter and the type that its memory is accessed as.
    buffer_names: dict[tuple[str, Type], str]
    #: Of tile_static arrays and thread variables.
    variable_names: dict[str, str]
    function_names: dict[str, str]
    struct_names: dict[Struct, str]
    field_names: dict[Struct, dict[str, str]]
    word_names: dict[PushWord, str]
    #: What the device has of small types, and the functions for those that are parts of words: by container, type, and
    #: "load" or "store".
    forms: Forms = field(default_factory=Forms)
    accessors: dict[tuple[str, Type, str], str] = field(default_factory=dict)
    #: Bytes of the kernel's smallest type, at most 4.
    unit: int = 4
    #: Functions for atomics of floats, by the row's name and the memory's.
    loop_names: dict[tuple[str, str], str] = field(default_factory=dict)
    helpers: Helpers = field(default_factory=Helpers)
    #: The faults of the driver to print around.
    quirks: frozenset[Quirk] = frozenset()
    #: What is true in the lanes of the driver's vectors that have a thread; ``None`` where all have one.
    has_thread: Text | None = None
    words: set[PushWord] = field(default_factory=set)

    @cached_property
    def in_a_row(self) -> bool:
        """Whether the threads of a tile of rank 2 or 3 lie in x alone: only then drivers agree on its subgroups."""
        tile = self.kernel.tile or ()
        return any(n > 1 for n in tile[:-1]) and uses_subgroups(self.kernel)

    @cached_property
    def has_quotients_of_the_least(self) -> bool:
        """Whether a kernel that divides names the integer that has no opposite.

        spirv-opt, which SwiftShader runs, takes ``-(c / x)`` for ``-c / x``, and ``-(x / c)`` for ``x / -c``.
        """
        functions = (*self.kernel.functions, self.kernel.body)
        nodes = [n for f in functions for statement in ir.walk_statements(f.body) for n in own_nodes(statement)]
        return any(isinstance(n, ir.Binary) and n.op in ("tdiv", "floordiv") for n in nodes) and any(
            isinstance(n, ir.Const) and n.value == _least(n) for n in nodes
        )

    @property
    def tile_threads(self) -> int:
        """The threads of a tile."""
        return math.prod(self.kernel.tile or ())

    def word(self, word: PushWord) -> str:
        """The member of the launch words that holds ``word``; it is one from now on."""
        self.words.add(word)
        return self.word_names[word]


def has_float_arithmetic(nodes: Iterable[ir.Node]) -> bool:
    """Whether a compiler could contract something in these expressions."""
    return any(isinstance(n, ir.Binary) and _element(n).kind == "float" for node in nodes for n in ir.walk(node))


def _element(expr: ir.Expr) -> Scalar:
    """The type of a number, or of a vector's components."""
    kind = expr.type
    assert isinstance(kind, (Scalar, Vector))
    return kind.element if isinstance(kind, Vector) else kind


def is_packed(place: ir.Place) -> bool:
    """Whether the vector at a place, or the one whose components it is, is an array of scalars in memory.

    It is where std430 would align it otherwise than numpy does: three components in a buffer, and in structs.
    """
    if isinstance(place, ir.ComponentsOf):
        return is_packed(place.base)
    kind = place.type
    if isinstance(place, ir.ArrayElement):
        place = place.base
    return isinstance(kind, Vector) and (
        isinstance(place, ir.FieldOf) or (isinstance(place, (ir.BufferElement, ir.Reinterpreted)) and kind.count == 3)
    )


def _int(expr: ir.Expr) -> ir.Expr:
    return expr if expr.type == INT32 else ir.Cast(expr.span, INT32, expr)


def _sum(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """``a + b`` without what does nothing."""
    if isinstance(a, ir.Const) and a.value == 0:
        return b
    if isinstance(b, ir.Const) and b.value == 0:
        return a
    return ir.Binary(a.span, INT32, "add", a, b)


def _product(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """``a * b`` without what does nothing."""
    if isinstance(a, ir.Const) and a.value in (0, 1):
        return a if a.value == 0 else b
    return ir.Binary(a.span, INT32, "mul", a, b)


def word_value(kind: str, name: str, dim: int, like: ir.Expr) -> WordValue:
    """An int word of the container ``name``."""
    assert kind in ("extent", "stride", "offset")
    word = PushWord(kind, name, dim, "int32")  # type: ignore[arg-type]
    return WordValue(like.span, INT32, word)


def element_number(buffer: ir.BufferParam, indices: tuple[ir.Expr, ...]) -> ir.Expr:
    """The position of an element in its buffer: row-major where dense, else by offset and strides."""
    if buffer.rank == 1 and buffer.dense:
        return indices[0]
    whole = [_int(i) for i in indices]
    if buffer.dense:
        number = whole[0]
        for dim, index in enumerate(whole[1:], 1):
            number = _sum(_product(number, word_value("extent", buffer.name, dim, index)), index)
        return number
    number = word_value("offset", buffer.name, 0, indices[0])
    for dim, index in enumerate(whole):
        is_unit = buffer.unit and dim == buffer.rank - 1
        step = index if is_unit else _product(index, word_value("stride", buffer.name, dim, index))
        number = _sum(number, step)
    return number


def _scaled(number: ir.Expr, old: int, new: int) -> ir.Expr:
    """``number`` elements of ``old`` bytes, counted in elements of ``new`` bytes; the front end saw that it fits."""
    if isinstance(number, ir.Const):
        return ir.Const(number.span, INT32, int(number.value) * old // new)
    if new > old:
        # Only powers of two, at places that are multiples of them.
        return ir.Binary(number.span, INT32, "shr", number, ir.Const(number.span, INT32, (new // old).bit_length() - 1))
    assert old % new == 0
    factor = ir.Const(number.span, INT32, old // new)
    return number if old == new else ir.Binary(number.span, INT32, "mul", number, factor)


def bits_text(text: str, old: Type, new: Type) -> str:
    """The bits of a scalar of 32 or 64 bits as another scalar."""
    a, b = (GLSL_TYPES[str(kind)] for kind in (old, new))
    if a == b:
        return text
    if "double" in (a, b):
        names = {"double": "Double", "int64_t": "Int64", "uint64_t": "Uint64"}
        return f"{names[a][:1].lower()}{names[a][1:]}BitsTo{names[b]}({text})"
    return f"{a}BitsTo{b.capitalize()}({text})" if "float" in (a, b) else f"{b}({text})"


def memory_name(place: ir.Place) -> str:
    """The container or array that a place lies in."""
    root = ir.root_of(place)
    return root.buffer if isinstance(root, ir.BufferElement) else root.variable.name


class Expressions:
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
        #: A value that goes to memory which is not read, and nowhere else.
        self._only_stored: ir.Expr | None = None

    # -- entry points ------------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr) -> str:
        """The text of a value that is assigned to a variable."""
        return self._text(expr).glsl

    def plain(self, expr: ir.Expr) -> str:
        """The text of a value that decides, indexes or is passed on, where no operator is beside it."""
        return self.operand(expr).glsl

    def operand(self, expr: ir.Expr) -> Text:
        """As :meth:`plain`, for a place beside an operator: :meth:`joined` and :meth:`choice` take it."""
        before, self._apart = self._apart, self._shared.kernel.precise
        text = self._text(expr)
        self._apart = before
        return text

    @staticmethod
    def joined(operation: str, left: Text, right: Text) -> Text:
        """Two operands with an operator between them, in the parentheses that they need."""
        return _joined(*_OPERATORS[operation], left, right)

    @staticmethod
    def choice(condition: Text, then: Text, orelse: Text) -> Text:
        """The conditional operator with its operands, in the parentheses that they need."""
        return Text(f"{_in_parentheses(condition, _LOR)} ? {_in_parentheses(then, _LOR)} : {orelse.glsl}", _COND)

    def place(self, place: ir.Place) -> str:
        """The text of a variable, an element, a member or components (of a packed vector: of one)."""
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
            return f"{base}[{VECTOR_LETTERS.index(place.letters)}]" if is_packed(place) else f"{base}.{place.letters}"
        assert isinstance(place, (ir.BufferElement, ir.Reinterpreted))
        root = ir.root_of(place)
        assert isinstance(root, ir.BufferElement)
        return f"{self._shared.buffer_names[root.buffer, place.type]}[{self.plain(self.number(place))}]"

    def is_part(self, place: ir.Place) -> bool:
        """Whether a place is a part of a word, which only functions reach."""
        return isinstance(place, (ir.BufferElement, ir.Reinterpreted)) and self._shared.forms.packs(place.type)

    def _accessor(self, place: ir.Place, does: str) -> str:
        """The name of the function that loads or stores such a part; the shader has it from now on."""
        root = ir.root_of(place)
        assert isinstance(root, ir.BufferElement) and isinstance(place.type, Scalar)
        name = self._shared.accessors[root.buffer, place.type, does]
        memory = self._shared.buffer_names[root.buffer, UINT32]
        owner = (
            root.buffer
            if self._shared.kernel.buffer(root.buffer).element == place.type
            else (f"{root.buffer} as {place.type}")
        )
        load, store = accessor_texts(self._shared.forms, place.type, memory, owner)
        self._shared.helpers.add(name, (load if does == "load" else store).replace(f"{does}_(", f"{name}("))
        if place.type == FLOAT16:
            self._shared.helpers.use("half_value" if does == "load" else "half_bits")
        return name

    def store(self, place: ir.Place, value: str) -> str:
        """The call that stores a part of a word."""
        assert isinstance(place, (ir.BufferElement, ir.Reinterpreted))
        return f"{self._accessor(place, 'store')}({self._index(place)}, {value})"

    def _index(self, place: ir.BufferElement | ir.Reinterpreted) -> str:
        """The number of a part of a word, as an int."""
        return self.plain(_int(self.number(place)))

    def for_memory(self, place: ir.Place, value: ir.Expr) -> ir.Expr:
        """A value without a conversion to a small integer that storing it makes anyway."""
        root = ir.root_of(place)
        if value.type == FLOAT16 and isinstance(root, ir.BufferElement) and not self.is_part(place):
            self._only_stored = None if access(self._shared.kernel)[root.buffer].reads else value
        if not isinstance(value, ir.Cast) or not isinstance(value.type, Scalar) or value.type.name not in SMALL:
            return value
        if isinstance(place, ir.Local) or not (self.is_part(place) or self._kept_type(place) != "int"):
            return value
        return _int(value.operand)

    def as_kept(self, place: ir.Place, value: str) -> str:
        """A value's text for a place, which may have another type in memory."""
        kind = place.type
        if not isinstance(kind, Scalar) or isinstance(place, ir.Local):
            return value
        made = self._kept_type(place)
        return value if made in (None, self._shared.forms.value(kind)) else f"{made}({value})"

    def _kept_type(self, place: ir.Place) -> str | None:
        """The GLSL type of a small scalar in memory."""
        kind = place.type
        assert isinstance(kind, Scalar)
        forms = self._shared.forms
        in_buffer = isinstance(place, (ir.BufferElement, ir.Reinterpreted))
        return forms.buffered(kind) if in_buffer else forms.kept(kind)

    def number(self, place: ir.BufferElement | ir.Reinterpreted) -> ir.Expr:
        """The position of an element in its buffer, in elements of the place's type."""
        base = place.base if isinstance(place, ir.Reinterpreted) else place
        assert isinstance(base, ir.BufferElement)
        number = element_number(self._shared.kernel.buffer(base.buffer), base.indices)
        if not isinstance(place, ir.Reinterpreted):
            return number
        return _sum(_scaled(_int(number), base.type.size, place.type.size), _int(place.index))

    def variable(self, variable: ir.Variable) -> str:
        """The name of a variable."""
        if variable.storage in ("tile_static", "thread"):
            return self._shared.variable_names[variable.name]
        return self._locals[variable.name]

    def operator(self, expr: ir.Binary) -> tuple[str, ir.Expr] | None:
        """The operator and right operand for ``place op= right``, if ``expr`` is one GLSL operator."""
        if expr.type == FLOAT16 and (expr.op == "div" or self._shared.forms.value(FLOAT16) == "float"):
            return None
        if isinstance(expr.type, Vector):
            sign = None if _divides_by_zero(expr) else self._vector_operator(expr)
            return None if sign is None else (sign[0], _broadcast(expr.right) or expr.right)
        if not isinstance(expr.type, Scalar) or expr.type.kind == "bool" or _divides_by_zero(expr):
            return None
        return self._integer_division(expr) or self._operator(expr)

    # -- expressions -------------------------------------------------------------------------------------------

    def _text(self, expr: ir.Expr) -> Text:
        if isinstance(expr, ir.Const):
            return self._const(expr)
        if isinstance(expr, ir.Load):
            return Text(self._load(expr.place))
        if isinstance(expr, ir.Binary):
            return self._binary(expr)
        if isinstance(expr, ir.Compare):
            return self._compare(expr)
        if isinstance(expr, ir.Logical):
            return self._logical(expr)
        if isinstance(expr, ir.Unary):
            return self._unary(expr)
        if isinstance(expr, ir.Cast):
            return self._cast(expr)
        if isinstance(expr, ir.Select):
            return self._select(expr)
        if isinstance(expr, ir.Builtin):
            return self._builtin(expr)
        if isinstance(expr, ir.Construct):
            return Text(f"{GLSL_TYPES[expr.type.name]}({', '.join(self._text(p).glsl for p in expr.parts)})")  # type: ignore[union-attr]
        if isinstance(expr, ir.Swizzle):
            return self._swizzle(expr)
        if isinstance(expr, Bits):
            return self._bits(expr)
        if isinstance(expr, Part):
            return self._part(expr)
        if isinstance(expr, WithPart):
            return self._with_part(expr)
        if isinstance(expr, Called):
            args = ", ".join(self._text(a).glsl if isinstance(a, ir.Expr) else self.place(a) for a in expr.args)
            return Text(f"{self._shared.function_names[expr.function]}({args})")
        return self._named(expr)

    def _logical(self, expr: ir.Logical) -> Text:
        if expr.op == "and":
            for one, other in ((expr.left, expr.right), (expr.right, expr.left)):
                if self._is_certain(one):
                    return self._text(other)
        return _joined(*_OPERATORS[expr.op], self._text(expr.left), self._text(expr.right))

    def _is_certain(self, expr: ir.Expr) -> bool:
        """Whether it is a test for a number below zero that is none."""
        if not isinstance(expr, ir.Compare) or expr.op != "ge" or not isinstance(expr.right, ir.Const):
            return False
        kind = expr.left.type
        is_integer = isinstance(kind, Scalar) and kind.is_integer
        return is_integer and expr.right.value == 0 and self._ranges.non_negative(expr.left)

    def _swizzle(self, expr: ir.Swizzle) -> Text:
        # What `precise` says of a variable does not reach through a swizzle.
        operand = self.operand(expr.operand)
        return Text(f"{_in_parentheses(operand, _POSTFIX)}.{expr.letters}")

    def _load(self, place: ir.Place) -> str:
        """The value at a place; a packed vector is made of its components."""
        if isinstance(place.type, Scalar) and place.type.bits < 32 and not isinstance(place, ir.Local):
            return self._small(place)
        if not is_packed(place) or isinstance(place.type, Scalar):
            return self.place(place)
        whole, letters = (place.base, f".{place.letters}") if isinstance(place, ir.ComponentsOf) else (place, "")
        assert isinstance(whole.type, Vector)
        letters = "" if letters == f".{whole.type.letters}" else letters
        return f"{self._shared.helpers.convert('to', whole.type)}({self.place(whole)}){letters}"

    def _small(self, place: ir.Place) -> str:
        """The value of a small type in memory."""
        assert isinstance(place.type, Scalar)
        if self.is_part(place):
            assert isinstance(place, (ir.BufferElement, ir.Reinterpreted))
            return f"{self._accessor(place, 'load')}({self._index(place)})"
        value, text = self._shared.forms.value(place.type), self.place(place)
        return text if self._kept_type(place) == value else f"{value}({text})"

    def packed(self, text: str, kind: Vector) -> str:
        """The text of a vector as the array of its components."""
        return f"{self._shared.helpers.convert('from', kind)}({text})"

    def _named(self, expr: ir.Expr) -> Text:
        """A value that the launch or the grid gives."""
        if isinstance(expr, ir.ThreadIndex):
            return Text(self._threads[expr.kind, expr.dim])
        if isinstance(expr, ir.SubgroupIndex):
            if expr.kind == "count" and self._shared.tile_threads % _MAX_LANES:
                self._shared.helpers.add(COUNT_NAME, _COUNT.format(threads=self._shared.tile_threads))
                return Text(f"{COUNT_NAME}()")
            return Text(INDICES[expr.kind].glsl)
        if isinstance(expr, ir.BufferExtent):
            return Text(self._shared.word(PushWord("extent", expr.buffer, expr.dim, "int32")))
        if isinstance(expr, WordValue):
            return Text(self._shared.word(expr.word))
        assert isinstance(expr, ir.ScalarValue) and isinstance(expr.type, Scalar)
        if expr.type.kind == "bool":
            name = self._shared.word(PushWord("scalar", expr.name, 0, "uint32"))
            return Text(f"{name} != 0u", _EQ)
        if expr.type == FLOAT16:
            name = self._shared.word(PushWord("scalar", expr.name, 0, "float32"))
            return Text(name if self._shared.forms.value(FLOAT16) == "float" else f"float16_t({name})")
        return Text(self._shared.word(PushWord("scalar", expr.name, 0, expr.type.name)))  # type: ignore[arg-type]

    def _const(self, expr: ir.Const) -> Text:
        assert isinstance(expr.type, Scalar)
        name = expr.type.name
        if expr.type == FLOAT16 and self._shared.forms.value(FLOAT16) == "float":
            name = "float32"
        if expr.value == 0 and self._shared.kernel.precise and "zero_constants" in self._shared.quirks:
            hidden = self._shared.helpers.zero(name)
            if hidden:
                return Text(f"-{hidden}", _UNARY) if math.copysign(1.0, expr.value) < 0 else Text(hidden)
        text = literal(expr.value, name)
        return Text(text, _UNARY if text.startswith("-") else _POSTFIX)

    def _compare(self, expr: ir.Compare) -> Text:
        left, right = expr.left, expr.right
        if expr.op not in ("eq", "ne") and isinstance(left.type, Scalar) and left.type.kind == "bool":
            # GLSL does not order bools.
            left, right = _int(left), _int(right)
        if isinstance(left.type, Vector) and _is_constant(left) and _is_constant(right):
            # glslang folds `==` of constant vectors to a bool that equals neither true nor false.
            ways = {"eq": ("all", "equal"), "ne": ("any", "notEqual")}
            reduce, compare = ways[expr.op]
            return Text(f"{reduce}({compare}({self._text(left).glsl}, {self._text(right).glsl}))")
        return _joined(*_OPERATORS[expr.op], self._text(left), self._text(right))

    def _unary(self, expr: ir.Unary) -> Text:
        is_bool = isinstance(expr.type, Scalar) and expr.type.kind == "bool"
        if is_bool:
            inner = expr.operand
            if isinstance(inner, ir.Compare) and _has_opposite(inner):
                return self._text(
                    ir.Compare(inner.span, inner.type, _OPPOSITE[inner.op], inner.left, inner.right)  # type: ignore[arg-type]
                )
            return Text(f"!{_in_parentheses(self._text(inner), _UNARY)}", _UNARY)
        operand = self._text(expr.operand)
        if expr.op == "neg" and _element(expr).kind == "int" and self._shared.has_quotients_of_the_least:
            zero = ir.Const(expr.span, _element(expr), 0)
            return _joined("-", _ADD, self._text(zero), operand)
        sign = "-" if expr.op == "neg" else "~"
        # Not "--": that is another operator.
        level = _POSTFIX if operand.glsl.startswith("-") else _UNARY
        return Text(f"{sign}{_in_parentheses(operand, level)}", _UNARY)

    def _cast(self, expr: ir.Cast) -> Text:
        if expr.type == expr.operand.type:
            return self._text(expr.operand)
        if isinstance(expr.type, Vector):
            return self._conversion(self._text(expr.operand), expr.operand.type, expr.type)
        assert isinstance(expr.type, Scalar) and isinstance(expr.operand.type, Scalar)
        if expr.type.kind == "bool":
            zero = ir.Const(expr.span, expr.operand.type, 0)
            return _joined("!=", _EQ, self._text(expr.operand), self._const(zero))
        if isinstance(expr.operand, ir.Const) and expr.operand.type.kind != "float":
            return self._const(ir.Const(expr.span, expr.type, _converted(expr.operand, expr.type)))
        if expr.type.bits < 32:
            return self._narrowed(expr, expr.type, expr.operand)
        return self._conversion(self._text(expr.operand), expr.operand.type, expr.type)

    def _conversion(self, value: Text, source: Type, target: Scalar | Vector) -> Text:
        """A value converted to a type that is no small one, by a function where the driver gets it wrong."""
        assert isinstance(source, (Scalar, Vector))
        given = self._value_type(source) if isinstance(source, Scalar) else GLSL_TYPES[source.name]
        if source == FLOAT16 and isinstance(target, Scalar) and target.is_integer:
            # Exact, and then a conversion like others.
            value, source, given = Text(value.glsl if given == "float" else f"float({value.glsl})"), FLOAT32, "float"
        elif given == "int":
            source = INT32
        name = self._shared.helpers.conversion(self._shared.quirks, source, target)
        if name:
            return Text(f"{name}({value.glsl})")
        wanted = GLSL_TYPES[target.name]
        return value if given == wanted else Text(f"{wanted}({value.glsl})")

    def _value_type(self, kind: Scalar) -> str:
        return self._shared.forms.value(kind) or GLSL_TYPES[kind.name]

    def _half(self, expr: ir.Expr, value: str) -> Text:
        """A float as the device's float16.

        NVIDIA's compiler leaves out such a conversion where the result is converted back: bits it can't see through.
        """
        if expr is self._only_stored:
            return Text(f"float16_t({value})")
        return Text(f"float16_t({self._shared.helpers.use('to_half')}({value}))")

    def _narrowed(self, expr: ir.Cast, kind: Scalar, operand: ir.Expr) -> Text:
        """A value as one of a small type."""
        assert isinstance(operand.type, Scalar)
        text, given, wanted = self._text(operand), self._value_type(operand.type), self._value_type(kind)
        if kind == FLOAT16 and wanted == "float":
            inner = text.glsl if given == "float" else f"float({text.glsl})"
            return Text(f"{self._shared.helpers.use('to_half')}({inner})")
        if kind == FLOAT16 and given in ("float", "double"):
            return self._half(expr, text.glsl if given == "float" else f"float({text.glsl})")
        if kind == FLOAT16:
            return text if given == wanted else Text(f"{wanted}({text.glsl})")
        converted = self._conversion(text, operand.type, INT32)
        if kind.kind == "int":
            return Text(f"bitfieldExtract({converted.glsl}, 0, {kind.bits})")
        return _joined("&", _AND, converted, Text(hex(int_range(kind)[1])))

    def _bits(self, expr: Bits) -> Text:
        text = self._text(expr.operand)
        old, new = expr.operand.type, expr.type
        assert isinstance(old, Scalar) and isinstance(new, Scalar)
        if old.bits < 32:
            return self._small_bits(text, old, new)
        return Text(bits_text(text.glsl, expr.operand.type, expr.type))

    def _part(self, expr: Part) -> Text:
        """A part of a word, as the functions for elements in words have it."""
        assert isinstance(expr.type, Scalar)
        word, start = self._text(expr.word), self._start(expr.number, expr.type)
        if expr.type == FLOAT16 and self._shared.forms.value(FLOAT16) == "float":
            shifted = word if start.glsl == "0" else _joined(">>", _SHIFT, word, start)
            return Text(f"{self._shared.helpers.use('half_value')}({shifted.glsl})")
        if expr.type == FLOAT16:
            number = expr.number
            at = (
                f".{'xy'[int(number.value) & 1]}"
                if isinstance(number, ir.Const)
                else f"[{self._text(number).glsl} & 1]"
            )
            return Text(f"unpackFloat2x16({word.glsl}){at}")
        if expr.type.kind == "int":
            return Text(f"bitfieldExtract(int({word.glsl}), {start.glsl}, {expr.type.bits})")
        return Text(f"int(bitfieldExtract({word.glsl}, {start.glsl}, {expr.type.bits}))")

    def _with_part(self, expr: WithPart) -> Text:
        kind = expr.value.type
        assert isinstance(kind, Scalar)
        word, start = self._text(expr.word), self._start(expr.number, kind)
        value = self._text(expr.value).glsl
        bits = f"uint({value})"
        if kind == FLOAT16 and self._shared.forms.value(FLOAT16) == "float":
            bits = f"{self._shared.helpers.use('half_bits')}({value})"
        elif kind == FLOAT16:
            bits = f"packFloat2x16(f16vec2({value}, 0.0hf))"
        return Text(f"bitfieldInsert({word.glsl}, {bits}, {start.glsl}, {kind.bits})")

    def _start(self, number: ir.Expr, kind: Scalar) -> Text:
        """The first bit of an element in its word."""
        most, by = 32 // kind.bits - 1, kind.bits.bit_length() - 1
        if isinstance(number, ir.Const):
            return Text(str((int(number.value) & most) << by))
        return Text(f"({_in_parentheses(self._text(number), _POSTFIX)} & {most}) << {by}", _SHIFT)

    def _small_bits(self, text: Text, old: Scalar, new: Scalar) -> Text:
        """The bits of a small type as another of its size."""
        helpers, forms = self._shared.helpers, self._shared.forms
        if old == FLOAT16:
            value = text.glsl if forms.value(FLOAT16) == "float" else f"float({text.glsl})"
            text = Text(f"int({helpers.use('half_bits')}({value}))")
        if new == FLOAT16:
            helpers.use("half_value")
            value = f"half_value(uint({text.glsl}))"
            return Text(value if forms.value(FLOAT16) == "float" else f"float16_t({value})")
        if new.kind == "int":
            return Text(f"bitfieldExtract({text.glsl}, 0, {new.bits})")
        return _joined("&", _AND, text, Text(hex(int_range(new)[1])))

    def _select(self, expr: ir.Select) -> Text:
        return self.choice(self._text(expr.condition), self._text(expr.then), self._text(expr.orelse))

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
        text = self._shared.helpers.call(row, kind, [self._text(a).glsl for a in expr.args])
        return Text(text, _UNARY if text.startswith("!") else _POSTFIX)

    def _binary(self, expr: ir.Binary) -> Text:
        if isinstance(expr.type, Vector):
            return self._vector_binary(expr)
        assert isinstance(expr.type, Scalar)
        if expr.type.kind == "bool":
            sign, level = _BOOL_OPERATORS[expr.op]
            return _joined(sign, level, self._text(expr.left), self._text(expr.right))
        if expr.type.kind == "float":
            return self._float_binary(expr)
        if expr.op in _DIVISION_HELPERS and isinstance(expr.right, ir.Const) and expr.right.value == 1:
            # SwiftShader gives 0 for `ivec2(5) | (x % 1)`.
            remains = expr.op in ("floormod", "trem")
            return self._text(ir.Const(expr.span, expr.type, 0) if remains else expr.left)
        division = self._integer_division(expr)
        if division is not None:
            sign, right = division
            level = {"/": _MUL, "%": _MUL, ">>": _SHIFT, "&": _AND}[sign]
            return _joined(sign, level, self._text(expr.left), self._text(right))
        helper = _DIVISION_HELPERS.get(expr.op)
        if helper is not None:
            return self._call(helper, expr)
        return self._arithmetic(expr)

    @staticmethod
    def _vector_operator(expr: ir.Binary) -> tuple[str, int] | None:
        """The operator for an operation on vectors, if GLSL has one."""
        if expr.op not in ("tdiv", "trem"):
            return _OPERATORS[expr.op]
        if _element(expr).kind == "uint":
            return ("%" if expr.op == "trem" else "/"), _MUL
        # Undefined are % of negative operands and -2^31 / -1.
        divisor = _broadcast(expr.right)
        plain = expr.op == "tdiv" and isinstance(divisor, ir.Const) and divisor.value != -1
        return ("/", _MUL) if plain else None

    def _vector_binary(self, expr: ir.Binary) -> Text:
        if _divides_by_zero(expr):
            expr = _times_infinity(expr)
        assert isinstance(expr.type, Vector)
        sign = self._vector_operator(expr)
        exact = self._apart and _element(expr).kind == "float"
        if sign is None or exact:
            helper = _DIVISION_HELPERS[expr.op] if sign is None else f"exact_{expr.op}"
            name = self._shared.helpers.use(helper, expr.type)
            return Text(f"{name}({self._text(expr.left).glsl}, {self._text(expr.right).glsl})")
        left, right = _broadcast(expr.left), _broadcast(expr.right)
        if right is not None:
            return _joined(*sign, self._text(expr.left), self._text(right))
        if left is not None and expr.op not in ("shl", "shr"):
            return _joined(*sign, self._text(left), self._text(expr.right))
        return _joined(*sign, self._text(expr.left), self._text(expr.right))

    def _float_binary(self, expr: ir.Binary) -> Text:
        assert isinstance(expr.type, Scalar)
        if expr.op in ("floordiv", "floormod"):
            return self._call(_DIVISION_HELPERS[expr.op], expr)
        if _divides_by_zero(expr):
            expr = _times_infinity(expr)
        if expr.type == FLOAT16 and self._shared.forms.value(FLOAT16) == "float":
            return Text(f"{self._shared.helpers.use('to_half')}({self._emulated(expr).glsl})")
        if expr.type == FLOAT16 and expr.op == "div":
            # Devices divide by a reciprocal, which overflows for denormal float16 and is off by one for others.
            left, right = self._text(expr.left).glsl, self._text(expr.right).glsl
            return self._half(expr, f"float({left}) / float({right})")
        if self._apart and expr.op in _EXACT:
            kind = _element(expr)
            name = self._shared.helpers.use(f"exact_{expr.op}", kind if kind.bits != 32 else None)
            return Text(f"{name}({self._text(expr.left).glsl}, {self._text(expr.right).glsl})")
        return self._arithmetic(expr)

    def _emulated(self, expr: ir.Binary) -> Text:
        """An operation of float16 in float32; what `precise` says of its result does not reach into the rounding."""
        if not self._shared.kernel.precise or expr.op not in _EXACT:
            return self._arithmetic(expr)
        name = self._shared.helpers.use(f"exact_{expr.op}")
        return Text(f"{name}({self._text(expr.left).glsl}, {self._text(expr.right).glsl})")

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
        level = _OPERATORS[expr.op][1]
        text = self._text(right)
        if sign == "+" and text.level == _ADD and _element(expr).kind != "float":
            # Integers wrap: the order of additions does not matter.
            return Text(f"{_in_parentheses(self._text(expr.left), _ADD)} + {text.glsl}", _ADD)
        return _joined(sign, level, self._text(expr.left), text)

    @staticmethod
    def _operator(expr: ir.Binary) -> tuple[str, ir.Expr] | None:
        """The operator and its right operand; ``x + -1`` is ``x - 1``."""
        if expr.op not in _OPERATORS:
            return None
        right = expr.right
        if expr.op in ("add", "sub") and isinstance(right, ir.Const) and _least(right) < right.value < 0:
            opposite = ir.Const(right.span, right.type, -right.value)
            return ("-" if expr.op == "add" else "+"), opposite
        return _OPERATORS[expr.op][0], right

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


def _least(constant: ir.Const) -> float:
    """The value of an integer type that has no opposite; below every float."""
    kind = constant.type
    return int_range(kind)[0] if isinstance(kind, Scalar) and kind.is_integer else -math.inf


def _divides_by_zero(expr: ir.Binary) -> bool:
    right = _broadcast(expr.right) or expr.right
    return expr.op == "div" and isinstance(right, ir.Const) and right.value == 0


def _times_infinity(expr: ir.Binary) -> ir.Binary:
    """A division by the literal zero: SPIR-V leaves the quotient undefined; the product is the same infinity or NaN."""
    zero = _broadcast(expr.right) or expr.right
    assert isinstance(zero, ir.Const)
    infinity: ir.Expr = ir.Const(zero.span, zero.type, math.copysign(math.inf, zero.value))
    if isinstance(expr.type, Vector):
        infinity = ir.Construct(zero.span, expr.type, (infinity,))
    return ir.Binary(expr.span, expr.type, "mul", expr.left, infinity)


def _converted(constant: ir.Const, kind: Scalar) -> int | float:
    """An integer or bool constant as a number of another type."""
    if kind.kind == "float":
        return float(constant.value)
    bits = int(constant.value) & ((1 << kind.bits) - 1)
    return bits - (1 << kind.bits) if kind.kind == "int" and bits >> (kind.bits - 1) else bits


def _broadcast(expr: ir.Expr) -> ir.Expr | None:
    """The scalar that a vector repeats: beside a vector GLSL takes it as it is."""
    return expr.parts[0] if isinstance(expr, ir.Construct) and len(expr.parts) == 1 else None


def _is_constant(expr: ir.Expr) -> bool:
    """Whether GLSL's compiler may know the value: nothing that a thread, a launch or memory gives."""
    return not any(isinstance(n, (ir.Load, *_GIVEN)) for n in ir.walk(expr))


def _has_opposite(compare: ir.Compare) -> bool:
    """Whether negating a comparison is comparing the other way round (not so with NaN)."""
    return isinstance(compare.left.type, Scalar) and compare.left.type.kind != "float"


def _in_parentheses(text: Text, least: int) -> str:
    """The text, in parentheses if it binds less than ``least``."""
    return text.glsl if text.level >= least else f"({text.glsl})"


def _joined(sign: str, level: int, left: Text, right: Text) -> Text:
    a = _operand(left, level, sign, is_right=False)
    b = _operand(right, level, sign, is_right=True)
    return Text(f"{a} {sign} {b}", level)


def _operand(text: Text, level: int, sign: str, is_right: bool) -> str:
    """An operand of a binary operator, with the parentheses that grammar and readers need."""
    if text.level == level and sign in ("&&", "||"):
        return text.glsl
    needed = text.level < level or (is_right and text.level == level)
    if is_right and sign in ("+", "-") and text.glsl.startswith("-"):
        needed = True
    return f"({text.glsl})" if needed or _is_confusing(text, level, sign) else text.glsl


def _is_confusing(text: Text, level: int, sign: str) -> bool:
    """Whether readers mix up the precedences of an operand and its operator, although the grammar is clear."""
    if text.level >= _UNARY:
        return False
    if level in _BITWISE:
        return text.level != level or f" {sign} " not in text.glsl
    if level in _COMPARISONS:
        return text.level in (*_BITWISE, *_COMPARISONS)
    if level == _MUL:
        return sign == "%" or " % " in text.glsl or (sign == "/" and " / " in text.glsl)
    return level in (_LOR, _LXOR) and text.level == _LAND
