"""Subscripts that stay inside their buffers, for drivers that check none.

A subscript of a buffer's array that is not a small constant is limited to the array's last element, as an unsigned
number: a negative subscript becomes the last element, too. The last element is in the padding that engines bind behind
a container (``GUARD``). The array's length is the buffer's, computed once where ``main`` starts, which the driver does
by a division: other functions read it from a variable. The rules are for the modules that glslang makes, in which each
access to a buffer begins at its variable.
"""

from __future__ import annotations

from collections.abc import Iterator

from vkamp.artifacts import GUARD
from vkamp.spirv.blocks import Instruction, Op, SpirvFunction, SpirvModule, parse

_PRIVATE, _STORAGE_BUFFER, _ARRAY_STRIDE = 6, 12, 6
#: GLSL's min of unsigned integers, an instruction of its extended set.
_UMIN = 38


def limit_subscripts(spirv: bytes) -> bytes:
    """The module with such subscripts. AmpError if it is not a module."""
    module = parse(spirv)
    types = _Types(module)
    main = next(e.operands[1] for e in module.declarations if e.op == Op.ENTRY_POINT)
    # Other functions come first: they determine what main stores for them.
    for function in sorted(module.functions, key=lambda function: function.id == main):
        _Limits(types, function, is_main=function.id == main).run()
    return module.data()


class _Types:
    """What a module declares: types, constants, and the variables of buffers."""

    def __init__(self, module: SpirvModule) -> None:
        self.module = module
        declared = module.declarations
        self.glsl = next(e.operands[0] for e in declared if e.op == Op.EXT_INST_IMPORT)
        #: The integers of 32 bits, and whether they are signed.
        self.integers = {e.operands[0]: e.operands[2] for e in declared if e.op == Op.TYPE_INT and e.operands[1] == 32}
        structs = {e.operands[0]: e.operands[1:] for e in declared if e.op == Op.TYPE_STRUCT}
        pointers = {e.operands[0]: e.operands[2] for e in declared if e.op == Op.TYPE_POINTER}
        variables = [e.operands for e in declared if e.op == Op.VARIABLE and e.operands[2] == _STORAGE_BUFFER]
        runtime = {e.operands[0] for e in declared if e.op == Op.TYPE_RUNTIME_ARRAY}
        #: The variables of buffers, and the types of their members that are arrays without a length.
        self.buffers = {
            number: {at: kind for at, kind in enumerate(structs.get(pointers[pointer], ())) if kind in runtime}
            for pointer, number, *_ in variables
        }
        #: The bytes from one element of an array to the next.
        self.strides = {
            e.operands[0]: e.operands[2] for e in declared if e.op == Op.DECORATE and e.operands[1] == _ARRAY_STRIDE
        }
        self.constants = {e.operands[1]: e.operands for e in declared if e.op == Op.CONSTANT}
        #: The variables of the numbers of last elements, by the variable of the buffer and its member.
        self.kept: dict[tuple[int, int], int] = {}
        self._pointer = 0

    def unsigned(self) -> int:
        """The type uint."""
        known = next((number for number, signed in self.integers.items() if not signed), None)
        if known is None:
            known = self.module.new_id()
            self.module.declarations.append(Instruction(Op.TYPE_INT, (known, 32, 0)))
            self.integers[known] = 0
        return known

    def constant(self, value: int) -> int:
        """A constant of the type uint."""
        kind, number = self.unsigned(), self.module.new_id()
        self.module.declarations.append(Instruction(Op.CONSTANT, (kind, number, value & 0xFFFFFFFF)))
        return number

    def variable(self, buffer: int, member: int) -> int:
        """The variable of a uint that each invocation has, for the number of a buffer's last element."""
        if (buffer, member) not in self.kept:
            if not self._pointer:
                self._pointer, kind = self.module.new_id(), self.unsigned()
                self.module.declarations.append(Instruction(Op.TYPE_POINTER, (self._pointer, _PRIVATE, kind)))
            number = self.kept[buffer, member] = self.module.new_id()
            self.module.declarations.append(Instruction(Op.VARIABLE, (self._pointer, number, _PRIVATE)))
        return self.kept[buffer, member]

    def stride(self, buffer: int, member: int) -> int:
        """The bytes from one element of a buffer's array to the next."""
        return self.strides[self.buffers[buffer][member]]

    def value(self, number: int) -> int | None:
        """The value of a constant; ``None`` if it is not a constant."""
        known = self.constants.get(number)
        return None if known is None else known[2]


class _Limits:
    """Limits the subscripts of a function."""

    def __init__(self, types: _Types, function: SpirvFunction, *, is_main: bool) -> None:
        self.types = types
        self.function = function
        self.is_main = is_main
        instructions = [each for block in function.blocks for each in block.body]
        #: The types of the integers.
        self.kinds = {number: operands[0] for number, operands in types.constants.items()}
        for each in (*function.head, *instructions):
            if len(each.operands) > 1 and each.operands[0] in types.integers:
                self.kinds[each.operands[1]] = each.operands[0]
        self.known: dict[tuple[int, int, int], int] = {}
        self.start: list[Instruction] = []

    def run(self) -> None:
        """Changes the function."""
        for block in self.function.blocks:
            block.body = [made for each in block.body for made in self._limited(each)]
        if self.is_main:
            for (variable, member), kept in self.types.kept.items():
                last = self._last(variable, member, self.types.unsigned())
                self.start.append(Instruction(Op.STORE, (kept, last)))
        first = self.function.blocks[0].body
        at = sum(each.op == Op.VARIABLE for each in first)
        first[at:at] = self.start

    def _limited(self, each: Instruction) -> Iterator[Instruction]:
        """The instruction, or the two that are there instead."""
        place = self._place(each)
        if place is not None:
            subscript, kind, last = place
            inside = self.types.module.new_id()
            yield Instruction(Op.EXT_INST, (kind, inside, self.types.glsl, _UMIN, subscript, last))
            each = Instruction(each.op, (*each.operands[:4], inside, *each.operands[5:]))
        yield each

    def _place(self, each: Instruction) -> tuple[int, int, int] | None:
        """The subscript of an access that is to be limited, its type and its limit."""
        if each.op not in (Op.ACCESS_CHAIN, Op.IN_BOUNDS_ACCESS_CHAIN) or len(each.operands) < 5:
            return None
        _, _, variable, member, subscript, *_ = each.operands
        at, constant = self.types.value(member), self.types.value(subscript)
        kind = self.kinds.get(subscript, 0)
        if (
            at is None
            or at not in self.types.buffers.get(variable, ())
            or kind not in self.types.integers
            or (constant is not None and (constant + 1) * self.types.stride(variable, at) <= GUARD)
        ):
            return None
        if (variable, at, kind) not in self.known:
            self.known[variable, at, kind] = self._last(variable, at, kind)
        return subscript, kind, self.known[variable, at, kind]

    def _last(self, variable: int, member: int, kind: int) -> int:
        """The number of the last element, which the function has from where it starts."""
        types, unsigned = self.types, self.types.unsigned()
        if (variable, member, unsigned) not in self.known:
            self.known[variable, member, unsigned] = self._unsigned_last(variable, member)
        last = self.known[variable, member, unsigned]
        if kind != unsigned:
            same = types.module.new_id()
            self.start.append(Instruction(Op.BITCAST, (kind, same, last)))
            return same
        return last

    def _unsigned_last(self, variable: int, member: int) -> int:
        types, unsigned, last = self.types, self.types.unsigned(), self.types.module.new_id()
        if not self.is_main:
            self.start.append(Instruction(Op.LOAD, (unsigned, last, types.variable(variable, member))))
            return last
        more, length = types.constant(-1), types.module.new_id()
        self.start.append(Instruction(Op.ARRAY_LENGTH, (unsigned, length, variable, member)))
        self.start.append(Instruction(Op.ADD, (unsigned, last, length, more)))
        return last
