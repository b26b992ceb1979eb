"""Types of 8 and 16 bits as a device's shaders have them: IR -> IR, the last pass.

As values the integers are int32, as C++ promotes them, and the floats float32, rounded after each operation; a device
may have float16. In memory they are elements of their own size, where the device has those: loads and stores convert.
Elements that are parts of words are words by now.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeGuard

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import as_int, lowest_bits
from vkamp.ir.arithmetic import wrapped
from vkamp.ir.build import Builder
from vkamp.ir.lowered import BitCast, PureCall, Within
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.ranges import NO_VARIABLES
from vkamp.ir.requirements import access
from vkamp.ir.rewrite import nowhere
from vkamp.ir.types import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    UINT16,
    UINT32,
    Array,
    Scalar,
    Struct,
    Type,
    Vector,
    int_range,
)

#: Of each float the rows for its bits, for the value of bits, and for the rounding of a float32.
_ROWS = {FLOAT16: ("half_bits", "half_value", "to_half"), BFLOAT16: ("bfloat_bits", "bfloat_value", "to_bfloat")}
#: Floats that GLSL lacks: the integers that shaders declare in memory for their bits.
_IN_INTEGERS = {BFLOAT16: UINT16}


def in_device_types(kernel: ir.Kernel, types: DeviceTypes) -> ir.Kernel:
    """The kernel with values of the types that the device computes with; only memory has others."""
    made = _Legalizer(kernel, types)
    changed = ir.map_functions(kernel, made.function)
    return dataclasses.replace(
        changed,
        functions=(*made.of_vectors.values(), *changed.functions),
        tile_statics=tuple(map(made.variable, kernel.tile_statics)),
    )


def is_narrow(kind: Type) -> TypeGuard[Scalar]:
    """Whether a type is a scalar of 8 or 16 bits."""
    return isinstance(kind, Scalar) and kind.is_narrow


def _cast(kind: Type, expr: ir.Expr) -> ir.Expr:
    """A value as another type; no conversion from uint32 to int32 and back."""
    if expr.type == kind:
        return expr
    if kind == UINT32 and isinstance(expr, ir.Cast) and (expr.type, expr.operand.type) == (INT32, UINT32):
        return expr.operand
    return as_int(expr) if kind == INT32 else ir.Cast(expr.span, kind, expr)


def _row(name: str, kind: Scalar, *args: ir.Expr) -> ir.Expr:
    return ir.Builtin(args[0].span, kind, name, args)


class _Legalizer:
    def __init__(self, kernel: ir.Kernel, types: DeviceTypes) -> None:
        self.types = types
        self.make = Builder(nowhere(kernel.span))
        self.only_written = {name for name, kind in access(kernel).items() if not kind.reads}
        #: The functions that convert vectors, by their names.
        self.of_vectors: dict[str, ir.Function] = {}

    def function(self, function: ir.Function) -> ir.Function:
        return dataclasses.replace(
            function,
            params=tuple(map(self.variable, function.params)),
            results=tuple(map(self.types.value, function.results)),
            variables=tuple(map(self.variable, function.variables)),
            body=self.block(function.body),
        )

    def variable(self, variable: ir.Variable) -> ir.Variable:
        kind = self.types.value(variable.type)
        return variable if kind == variable.type else dataclasses.replace(variable, type=kind)

    def block(self, block: ir.Block) -> ir.Block:
        return tuple(map(self.node, block))

    def node(self, node: Any) -> Any:
        """A node with everything under it."""
        inner = ir.map_blocks(node, self.block) if isinstance(node, ir.Stmt) else node
        operand = self.matrix_operand if isinstance(node, ir.MatrixOperation) else self.node
        made = ir.map_variables(ir.map_operands(inner, operand), self.variable)
        if isinstance(made, ir.Place):
            return self.place(made)
        if isinstance(node, ir.Assign) and isinstance(made, ir.Assign):
            return self.assigned(node, made)
        return self.expression(node, made) if isinstance(made, ir.Expr) else made

    def matrix_operand(self, operand: Any) -> Any:
        """An operand of an operation on matrices: a load says where a matrix is."""
        if not isinstance(operand, ir.Load):
            return self.node(operand)
        place = self.node(operand.place)
        return dataclasses.replace(operand, place=place, type=place.type)

    @staticmethod
    def place(place: ir.Place) -> ir.Place:
        """A place whose base has its type already."""
        kind = place.type
        if isinstance(place, ir.Local):
            kind = place.variable.type
        elif isinstance(place, ir.ArrayElement):
            assert isinstance(place.base.type, (Array, Vector))
            kind = place.base.type.element
        elif isinstance(place, ir.FieldOf):
            assert isinstance(place.base.type, Struct)
            kind = next(field.type for field in place.base.type.fields if field.name == place.name)
        elif isinstance(place, ir.ComponentsOf):
            assert isinstance(place.base.type, Vector)
            kind = place.base.type.part(place.letters)
        return place if kind == place.type else dataclasses.replace(place, type=kind)

    # -- expressions -------------------------------------------------------------------------------------------

    def expression(self, node: ir.Expr, made: ir.Expr) -> ir.Expr:
        """An expression whose operands are done already; ``node`` is what it was."""
        kind = node.type
        if isinstance(made, ir.Load):
            return self.loaded(made, kind)
        if isinstance(node, ir.Cast) and isinstance(made, ir.Cast):
            return self.converted(made.operand, node.operand.type, kind)
        if isinstance(node, BitCast) and isinstance(made, BitCast):
            return self.same_bits(node, made)
        if isinstance(node, ir.ScalarValue) and is_narrow(kind):
            # The launch gives float32.
            return _cast(self.types.value(kind), dataclasses.replace(node, type=FLOAT32))
        value = self.types.value(kind)
        made = made if value == kind else dataclasses.replace(made, type=value)
        return self.within(made, kind) if isinstance(made, PureCall) else made

    @staticmethod
    def within(expr: ir.Expr, kind: Type) -> ir.Expr:
        """An int32 that holds a value of another type."""
        if not isinstance(kind, Scalar) or not kind.is_integer or kind.bits >= 32:
            return expr
        return Within(expr.span, INT32, expr, kind)

    def loaded(self, load: ir.Load, kind: Type) -> ir.Expr:
        """A load of what was of a type ``kind``."""
        kept, value = load.place.type, self.types.value(kind)
        load = load if kept == load.type else dataclasses.replace(load, type=kept)
        if kept == value:
            return self.within(load, kind)
        if kept in _IN_INTEGERS:
            bits = BitCast(load.span, _IN_INTEGERS[kept], load)
            return _row(_ROWS[kept][1], FLOAT32, _cast(UINT32, bits))
        return _cast(value, load)

    def converted(self, value: ir.Expr, source: Type, target: Type) -> ir.Expr:
        """A value that was of a type ``source``, converted."""
        if isinstance(target, Vector):
            return self.converted_vector(value, source, target)
        if source == target:
            return value
        if is_narrow(target):
            if target.kind == "float":
                return self.rounded(value, target)
            return self.wrapped(self.converted(value, source, INT32), target)
        if value.type == FLOAT16 and isinstance(target, Scalar) and target.is_integer:
            # Exact, and then a conversion like others.
            value = _cast(FLOAT32, value)
        return _cast(target, value)

    @staticmethod
    def wrapped(value: ir.Expr, kind: Scalar) -> ir.Expr:
        """An int32 as a narrow integer keeps it."""
        (low, high), (least, most) = NO_VARIABLES.of(value), int_range(kind)
        if least <= low and high <= most:
            return value
        if isinstance(value, ir.Const):
            return ir.Const(value.span, INT32, wrapped(int(value.value), kind))
        make = Builder(value.span)
        if kind.kind == "uint":
            return make.binary("bitand", value, make.int(most))
        return _row("signed_bits", INT32, value, make.int(0), make.int(kind.bits))

    def rounded(self, value: ir.Expr, kind: Scalar, *, only_stored: bool = False) -> ir.Expr:
        """A number as a narrow float.

        NVIDIA's compiler leaves out a conversion whose result is converted back: it is done in integers, which the
        compiler can't see through, unless the result is only stored.
        """
        wanted = self.types.value(kind)
        if wanted == FLOAT16 and value.type not in (FLOAT32, FLOAT64):
            return _cast(wanted, value)
        value = _row("odd_float", FLOAT32, value) if value.type == FLOAT64 else _cast(FLOAT32, value)
        return _cast(wanted, value if only_stored and wanted == FLOAT16 else _row(_ROWS[kind][2], FLOAT32, value))

    def converted_vector(self, value: ir.Expr, source: Type, target: Vector) -> ir.Expr:
        assert isinstance(source, Vector)
        wide = Vector(FLOAT32, target.count)
        if target.element.is_narrow_float:
            given = self.by_components("odd_float", value) if source.element == FLOAT64 else _cast(wide, value)
            return _cast(self.types.value(target), self.by_components("to_half", given))
        return _cast(target, _cast(wide, value) if source.element.is_narrow_float else value)

    def by_components(self, name: str, value: ir.Expr) -> ir.Expr:
        """A call of a function that has a row's value for each component of a vector."""
        make, given = self.make, value.type
        assert isinstance(given, Vector)
        wanted, key = Vector(FLOAT32, given.count), f"{name}{given.count}"
        if key not in self.of_vectors:
            param = ir.Variable("v", given, "parameter", make.span)
            parts = (ir.Swizzle(make.span, given.element, make.load(param), letter) for letter in given.letters)
            made = ir.Construct(make.span, wanted, tuple(_row(name, FLOAT32, part) for part in parts))
            doc = f"{name}() of each component."
            self.of_vectors[key] = make.function(key, doc, [param], (wanted,), (ir.Return(make.span, (made,)),))
        return PureCall(value.span, wanted, key, (value,))

    def same_bits(self, node: BitCast, made: BitCast) -> ir.Expr:
        """The bits of a type of 16 bits as another one, or of 8 bits."""
        old, new, value, given = node.operand.type, node.type, made.operand, node.operand
        if not is_narrow(old):
            return made
        assert isinstance(old, Scalar) and isinstance(new, Scalar)
        exact = (FLOAT32,) if old.is_narrow_float else (INT32, UINT32)
        if isinstance(given, ir.Cast) and given.operand.type in exact:
            # What follows rounds, or takes the lowest bits.
            value = self.node(given.operand)
        if old.is_narrow_float:
            name = "bits_from_half" if value.type == FLOAT16 else _ROWS[old][0]
            value = _cast(INT32, _row(name, UINT32, value))
        if new.is_narrow_float:
            is_own = self.types.computes(new)
            name = "half_from_bits" if is_own else _ROWS[new][1]
            return _row(name, FLOAT16 if is_own else FLOAT32, _cast(UINT32, value))
        is_done = old.is_narrow_float and new == UINT16
        return value if is_done else self.wrapped(_cast(INT32, value), new)

    # -- stores ------------------------------------------------------------------------------------------------

    def assigned(self, node: ir.Assign, made: ir.Assign) -> ir.Assign:
        kept, kind = made.place.type, node.place.type
        if not is_narrow(kind):
            return made
        value = lowest_bits(node.value, kind.bits)
        if isinstance(value, ir.Cast) and value.type == kind:
            value = value.operand
        operand, source = self.node(value), value.type
        if kept == self.types.value(kind):
            root = ir.root_of(node.place)
            is_lost = isinstance(root, ir.BufferElement) and root.buffer in self.only_written
            if is_lost and kind.is_narrow_float and source != kind:
                return dataclasses.replace(made, value=self.rounded(operand, kind, only_stored=True))
            return made
        if kind.is_integer:
            # Storing takes the lowest bits.
            return dataclasses.replace(made, value=_cast(kept, self.converted(operand, source, INT32)))
        # Storing rounds a float32.
        stored = made.value if source == FLOAT64 else _cast(FLOAT32, operand)
        if kind in _IN_INTEGERS:
            bits = _cast(_IN_INTEGERS[kind], _row(_ROWS[kind][0], UINT32, stored))
            return dataclasses.replace(made, value=BitCast(node.span, kind, bits))
        return dataclasses.replace(made, value=_cast(kept, stored))
