"""Elements that are parts of 32-bit words, where a device's buffers have none of their size: IR -> IR.

A function loads such an element from its word. Another stores it by a compare-exchange of the word, so that what other
threads store beside it is kept.
"""

from __future__ import annotations

import dataclasses

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import as_int, integer, lowest_bits, operation
from vkamp.ir.build import Builder
from vkamp.ir.lowered import BitCast, MemoryElement, PureCall
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.rewrite import Names, nowhere
from vkamp.ir.types import FLOAT64, INT32, UINT16, UINT32, Scalar, Type
from vkamp.legalize.atomic_updates import update


def in_words(kernel: ir.Kernel, types: DeviceTypes) -> ir.Kernel:
    """The kernel with calls for the loads and stores of elements that are parts of words."""
    accessors = _Accessors(kernel, types)
    made = ir.map_kernel(kernel, accessors.change)
    functions = (*(accessors.functions[name] for name in sorted(accessors.functions)), *made.functions)
    # Words that are accessed in pieces are declared once, as the words that they are.
    views = made.views - {(buffer, UINT32) for buffer, _, _ in accessors.names}
    return dataclasses.replace(made, functions=functions, views=views)


def word_part(word: ir.Expr, number: ir.Expr, kind: Scalar) -> ir.Expr:
    """The ``number``-th of a row of elements of a type of 8 or 16 bits; ``word`` is the uint32 that holds it."""
    span, start, count = word.span, _first_bit(number, kind), integer(kind.bits, number)
    if not kind.is_integer:
        return BitCast(span, kind, ir.Cast(span, UINT16, operation(span, UINT32, "shr", word, start)))
    if kind.kind == "int":
        return ir.Cast(span, kind, ir.Builtin(span, INT32, "signed_bits", (as_int(word), start, count)))
    return ir.Cast(span, kind, as_int(ir.Builtin(span, UINT32, "unsigned_bits", (word, start, count))))


def with_word_part(word: ir.Expr, number: ir.Expr, value: ir.Expr, kind: Scalar) -> ir.Expr:
    """``word`` with another value for one of its elements: one of the type ``kind``, or one that such values fit in, of
    which the lowest bits are taken.
    """
    span, count = word.span, integer(kind.bits, number)
    if not kind.is_integer:
        value = BitCast(span, UINT16, value if value.type == kind else ir.Cast(span, kind, value))
    bits = ir.Cast(span, UINT32, value)
    return ir.Builtin(span, UINT32, "with_bits", (word, bits, _first_bit(number, kind), count))


def _first_bit(number: ir.Expr, kind: Scalar) -> ir.Expr:
    """The first bit of an element in its word."""
    most, by = 32 // kind.bits - 1, kind.bits.bit_length() - 1
    place = operation(number.span, INT32, "bitand", number, integer(most, number))
    return operation(number.span, INT32, "shl", place, integer(by, number))


class _Accessors:
    """The functions for the elements of ``kernel`` that are parts of words, made where they are needed."""

    def __init__(self, kernel: ir.Kernel, types: DeviceTypes) -> None:
        self.kernel = kernel
        self.types = types
        self.taken = Names(f.name for f in kernel.functions)
        self.make = Builder(nowhere(kernel.span))
        #: By container, type, and "load" or "store".
        self.names: dict[tuple[str, Scalar, str], str] = {}
        self.functions: dict[str, ir.Function] = {}

    def change(self, node: ir.Node) -> ir.Node:
        """A node whose operands are changed already."""
        if isinstance(node, ir.Load) and self.is_part(node.place):
            name, index = self.accessor(node.place, "load")
            return PureCall(node.span, node.type, name, (index,))
        if isinstance(node, ir.Assign) and self.is_part(node.place):
            name, index = self.accessor(node.place, "store")
            return ir.Call(node.span, name, (index, self.stored(node.value)))
        return node

    def is_part(self, place: ir.Place) -> bool:
        return isinstance(place, MemoryElement) and self.types.packs(place.type)

    def stored(self, value: ir.Expr) -> ir.Expr:
        """A value as the argument of a function that stores it, which converts it."""
        kind = value.type
        assert isinstance(kind, Scalar)
        value = lowest_bits(value, kind.bits)
        # A float64 is rounded once: the conversion remains.
        if isinstance(value, ir.Cast) and value.type == kind and (kind.is_integer or value.operand.type != FLOAT64):
            value = value.operand
        wanted = self.types.value(kind)
        if wanted == INT32:
            return as_int(value)
        return value if value.type == wanted else ir.Cast(value.span, wanted, value)

    def accessor(self, place: ir.Place, does: str) -> tuple[str, ir.Expr]:
        """The name of the function that loads or stores an element, and the argument that says which one."""
        assert isinstance(place, MemoryElement) and isinstance(place.type, Scalar)
        key = place.buffer, place.type, does
        if key not in self.names:
            function = self.loading(*key[:2]) if does == "load" else self.storing(*key[:2])
            self.names[key] = function.name
            self.functions[function.name] = function
        return self.names[key], as_int(place.indices[0])

    def named(self, buffer: str, kind: Scalar, does: str) -> tuple[str, str]:
        """A new function's name, and what its elements are called in comments."""
        is_own = self.kernel.buffer(buffer).element == kind
        name = f"{does}_{buffer}" if is_own else f"{does}_{buffer}_as_{kind}"
        return self.taken.give(name), buffer if is_own else f"{buffer} as {kind}"

    def variable(self, name: str, kind: Type, storage: str = "local") -> ir.Variable:
        return ir.Variable(name, kind, storage, self.make.span)  # type: ignore[arg-type]

    def word(self, buffer: str, kind: Scalar, index: ir.Expr) -> MemoryElement:
        """The word that holds an element."""
        number = self.make.binary("shr", index, self.make.int((32 // kind.bits).bit_length() - 1))
        return MemoryElement(self.make.span, UINT32, buffer, (number,))

    def loading(self, buffer: str, kind: Scalar) -> ir.Function:
        make, index = self.make, self.variable("index", INT32, "parameter")
        name, owner = self.named(buffer, kind, "load")
        part = word_part(make.load(self.word(buffer, kind, make.load(index))), make.load(index), kind)
        doc = f"Loads an element of {owner} from its 32-bit word."
        return make.function(name, doc, (index,), (kind,), (ir.Return(make.span, (part,)),))

    def storing(self, buffer: str, kind: Scalar) -> ir.Function:
        make, index = self.make, self.variable("index", INT32, "parameter")
        value = self.variable("value", self.types.value(kind), "parameter")
        name, owner = self.named(buffer, kind, "store")
        element = self.word(buffer, kind, make.load(index))
        number = self.variable("word", INT32)
        word = dataclasses.replace(element, indices=(make.load(number),))

        def changed(before: ir.Expr) -> tuple[ir.Block, ir.Expr]:
            return (), with_word_part(before, make.load(index), make.load(value), kind)

        body = (make.set(number, element.indices[0]), *update(make, word, changed))
        doc = f"Stores an element of {owner} atomically: other threads may store to the rest of its 32-bit word."
        return make.function(name, doc, (index, value), (), body)
