"""A SPIR-V module as functions and blocks that can be changed, and back."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import field

from vkamp.errors import AmpError
from vkamp.records import dataclass

_MAGIC = 0x07230203
_HEADER_WORDS = 5
#: In the header: the number above all ids.
_BOUND = 3


class Op:
    """The opcodes that matter to control flow and to subscripts."""

    UNDEF, EXT_INST_IMPORT, EXT_INST, ENTRY_POINT = 1, 11, 12, 15
    TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_VECTOR, TYPE_POINTER = 20, 21, 22, 23, 32
    TYPE_RUNTIME_ARRAY, TYPE_STRUCT = 29, 30
    CONSTANT_TRUE, CONSTANT_FALSE, CONSTANT = 41, 42, 43
    DECORATE = 71
    FUNCTION, PARAMETER, FUNCTION_END = 54, 55, 56
    VARIABLE, LOAD, STORE, ACCESS_CHAIN, IN_BOUNDS_ACCESS_CHAIN, ARRAY_LENGTH = 59, 61, 62, 65, 66, 68
    COMPOSITE_CONSTRUCT, COPY_OBJECT = 80, 83
    BITCAST, ADD = 124, 128
    LOGICAL_NOT, SELECT = 168, 169
    PHI, LOOP_MERGE, SELECTION_MERGE = 245, 246, 247
    LABEL, BRANCH, BRANCH_CONDITIONAL, SWITCH = 248, 249, 250, 251
    RETURN, RETURN_VALUE, UNREACHABLE = 253, 254, 255


@dataclass(frozen=True)
class Instruction:
    """An instruction: its opcode and its operands, which begin with the ids of its type and result if it has them."""

    op: int
    operands: tuple[int, ...]


@dataclass
class BasicBlock:
    """A block: what it does, the merge instruction if it is the head of a construct, and how it ends."""

    label: int
    body: list[Instruction]
    merge: Instruction | None
    end: Instruction

    @property
    def merge_label(self) -> int:
        """The label of the block after the construct that this block is the head of; 0 if it is none."""
        return 0 if self.merge is None else self.merge.operands[0]

    @property
    def is_loop(self) -> bool:
        """Whether it is the head of a loop."""
        return self.merge is not None and self.merge.op == Op.LOOP_MERGE

    @property
    def targets(self) -> tuple[int, ...]:
        """The labels that it may branch to."""
        if self.end.op == Op.BRANCH:
            return self.end.operands
        if self.end.op == Op.BRANCH_CONDITIONAL:
            return self.end.operands[1:3]
        if self.end.op == Op.SWITCH:
            return (self.end.operands[1], *self.end.operands[3::2])
        return ()


@dataclass
class SpirvFunction:
    """A function: the instructions before its first block, and its blocks."""

    head: list[Instruction]
    blocks: list[BasicBlock]

    @property
    def type(self) -> int:
        """The id of the type of its result."""
        return self.head[0].operands[0]

    @property
    def id(self) -> int:
        """Its id."""
        return self.head[0].operands[1]

    def by_label(self) -> dict[int, BasicBlock]:
        """The blocks by their labels."""
        return {block.label: block for block in self.blocks}

    def position(self, label: int) -> int:
        """Where a block is in the list."""
        return next(number for number, block in enumerate(self.blocks) if block.label == label)


@dataclass
class SpirvModule:
    """A module: its header, the instructions before its first function, and its functions."""

    header: list[int]
    declarations: list[Instruction] = field(default_factory=list)
    functions: list[SpirvFunction] = field(default_factory=list)

    def new_id(self) -> int:
        """An id that nothing has."""
        self.header[_BOUND] += 1
        return self.header[_BOUND] - 1

    def data(self) -> bytes:
        """The words as bytes."""
        words = list(self.header)
        for each in self._instructions():
            words.append((len(each.operands) + 1) << 16 | each.op)
            words.extend(each.operands)
        return struct.pack(f"<{len(words)}I", *words)

    def _instructions(self) -> Iterator[Instruction]:
        yield from self.declarations
        for function in self.functions:
            yield from function.head
            for block in function.blocks:
                yield Instruction(Op.LABEL, (block.label,))
                yield from block.body
                if block.merge is not None:
                    yield block.merge
                yield block.end
            yield Instruction(Op.FUNCTION_END, ())


def instructions(spirv: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The opcodes and operands of a module. AmpError if the bytes are not a module."""
    if len(spirv) < 4 * _HEADER_WORDS or len(spirv) % 4:
        raise AmpError(f"this is not a SPIR-V module: {len(spirv)} bytes")
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    if words[0] != _MAGIC:
        raise AmpError(f"this is not a SPIR-V module: it begins with {words[0]:#010x}")
    at = _HEADER_WORDS
    while at < len(words):
        length = words[at] >> 16
        if length == 0 or at + length > len(words):
            raise AmpError(f"this SPIR-V module is damaged at word {at}")
        yield words[at] & 0xFFFF, words[at + 1 : at + length]
        at += length


def parse(spirv: bytes) -> SpirvModule:
    """Parses a module from bytes. AmpError if they are not a module."""
    found = [Instruction(op, operands) for op, operands in instructions(spirv)]
    module = SpirvModule(list(struct.unpack(f"<{_HEADER_WORDS}I", spirv[: 4 * _HEADER_WORDS])))
    function: SpirvFunction | None = None
    block: BasicBlock | None = None
    for each in found:
        if each.op == Op.FUNCTION:
            function, block = SpirvFunction([each], []), None
            module.functions.append(function)
        elif function is None:
            module.declarations.append(each)
        elif each.op == Op.LABEL:
            block = BasicBlock(each.operands[0], [], None, Instruction(Op.UNREACHABLE, ()))
            function.blocks.append(block)
        elif block is None:
            function.head.append(each)
        elif each.op in (Op.LOOP_MERGE, Op.SELECTION_MERGE):
            block.merge = each
        elif Op.BRANCH <= each.op <= Op.UNREACHABLE:
            block.end = each
        elif each.op != Op.FUNCTION_END:
            block.body.append(each)
    return module
