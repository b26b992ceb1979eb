"""Reads the interface of a SPIR-V module: bindings, push constants, local size, tile_static memory."""

from __future__ import annotations

import struct
from dataclasses import field

from vkamp.records import dataclass
from vkamp.spirv.blocks import instructions

_NAME, _MEMBER_NAME, _LINE, _NO_LINE = 5, 6, 8, 317
_EXECUTION_MODE, _EXECUTION_MODE_ID, _LOCAL_SIZE, _LOCAL_SIZE_ID = 16, 331, 17, 38
_TYPE_BOOL, _TYPE_INT, _TYPE_FLOAT, _TYPE_VECTOR, _TYPE_MATRIX = 20, 21, 22, 23, 24
_TYPE_ARRAY, _TYPE_RUNTIME_ARRAY, _TYPE_STRUCT, _TYPE_POINTER = 28, 29, 30, 32
_CONSTANT, _SPEC_CONSTANT, _FUNCTION, _VARIABLE, _DECORATE, _MEMBER_DECORATE = 43, 50, 54, 59, 71, 72
_NON_WRITABLE, _BINDING, _DESCRIPTOR_SET, _OFFSET, _SPEC_ID = 24, 33, 34, 35, 1
_UNIFORM_CONSTANT, _UNIFORM, _WORKGROUP, _PUSH_CONSTANT, _STORAGE_BUFFER = 0, 2, 4, 9, 12

_KINDS = {_UNIFORM_CONSTANT: "image or sampler", _UNIFORM: "uniform buffer", _STORAGE_BUFFER: "storage buffer"}
_VECTOR_PREFIX = {"float": "vec", "int": "ivec", "uint": "uvec", "double": "dvec", "bool": "bvec"}


@dataclass(frozen=True)
class BoundBuffer:
    """A resource that a SPIR-V module declares: where it is bound, what its block is called, whether it can write it.

    ``kind``: ``storage buffer``, or the name of another kind.
    """

    set: int
    binding: int
    name: str
    kind: str
    writable: bool


@dataclass(frozen=True)
class PushMember:
    """A push constant: byte offset, GLSL type and name."""

    offset: int
    type: str
    name: str


@dataclass(frozen=True)
class Interface:
    """What a compiled shader and a launch must agree on, read from its SPIR-V.

    ``local_size`` is ``None`` where it is a specialization constant; ``shared_bytes`` is the tile_static memory.
    """

    local_size: tuple[int, int, int] | None
    buffers: tuple[BoundBuffer, ...]
    push: tuple[PushMember, ...]
    shared_bytes: int


@dataclass
class _Type:
    """A type as GLSL spells it, its size, and the ids that it is made of."""

    text: str
    size: int
    parts: tuple[int, ...] = ()


@dataclass
class _Declarations:
    """A module's instructions before its first function, sorted."""

    types: dict[int, _Type] = field(default_factory=dict)
    constants: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    member_names: dict[tuple[int, int], str] = field(default_factory=dict)
    decorations: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    member_decorations: dict[tuple[int, int, int], tuple[int, ...]] = field(default_factory=dict)
    pointers: dict[int, int] = field(default_factory=dict)
    variables: list[tuple[int, int, int]] = field(default_factory=list)
    local_size: tuple[int, int, int] | None = None


def reflect(spirv: bytes) -> Interface:
    """The interface of a compute module that glslang made. AmpError if it is not a module."""
    found = _Declarations()
    for opcode, operands in instructions(spirv):
        if opcode == _FUNCTION:
            break
        _declare(found, opcode, operands)
    buffers, push, shared = [], [], 0
    for variable, pointer, storage in found.variables:
        pointee = found.pointers[pointer]
        if storage == _WORKGROUP:
            shared += found.types[pointee].size
        elif storage == _PUSH_CONSTANT:
            push += _push(found, pointee)
        elif (variable, _BINDING) in found.decorations:
            buffers.append(_buffer(found, variable, pointee, storage))
    return Interface(
        found.local_size,
        tuple(sorted(buffers, key=lambda each: (each.set, each.binding))),
        tuple(sorted(push, key=lambda each: each.offset)),
        shared,
    )


def _buffer(found: _Declarations, variable: int, pointee: int, storage: int) -> BoundBuffer:
    members = range(len(found.types[pointee].parts)) if pointee in found.types else range(0)
    protected = (variable, _NON_WRITABLE) in found.decorations or (
        len(members) > 0 and all((pointee, k, _NON_WRITABLE) in found.member_decorations for k in members)
    )
    return BoundBuffer(
        set=found.decorations.get((variable, _DESCRIPTOR_SET), (0,))[0],
        binding=found.decorations[variable, _BINDING][0],
        name=found.names.get(pointee, "") or found.names.get(variable, ""),
        kind=_KINDS.get(storage, "resource of another kind"),
        writable=storage == _STORAGE_BUFFER and not protected,
    )


def _push(found: _Declarations, block: int) -> list[PushMember]:
    return [
        PushMember(
            found.member_decorations.get((block, k, _OFFSET), (0,))[0],
            found.types[part].text,
            found.member_names.get((block, k), ""),
        )
        for k, part in enumerate(found.types[block].parts)
    ]


def _declare(found: _Declarations, opcode: int, operands: tuple[int, ...]) -> None:
    """Notes one declaration."""
    if opcode == _NAME:
        found.names[operands[0]] = _text(operands[1:])
    elif opcode == _MEMBER_NAME:
        found.member_names[operands[0], operands[1]] = _text(operands[2:])
    elif opcode == _DECORATE:
        found.decorations[operands[0], operands[1]] = operands[2:]
    elif opcode == _MEMBER_DECORATE:
        found.member_decorations[operands[0], operands[1], operands[2]] = operands[3:]
    elif opcode == _EXECUTION_MODE and operands[1] == _LOCAL_SIZE:
        found.local_size = (operands[2], operands[3], operands[4])
    elif opcode == _EXECUTION_MODE_ID and operands[1] == _LOCAL_SIZE_ID:
        found.local_size = None
    elif opcode in (_CONSTANT, _SPEC_CONSTANT):
        found.constants[operands[1]] = operands[2]
    elif opcode == _TYPE_POINTER:
        found.pointers[operands[0]] = operands[2]
    elif opcode == _VARIABLE:
        found.variables.append((operands[1], operands[0], operands[2]))
    else:
        _declare_type(found, opcode, operands)


def _declare_type(found: _Declarations, opcode: int, operands: tuple[int, ...]) -> None:
    types, number, rest = found.types, operands[0] if operands else 0, operands[1:]
    if opcode == _TYPE_BOOL:
        types[number] = _Type("bool", 4)
    elif opcode == _TYPE_INT:
        signed, width = "" if rest[1] else "u", rest[0]
        types[number] = _Type(f"{signed}int" if width == 32 else f"{signed}int{width}_t", width // 8)
    elif opcode == _TYPE_FLOAT:
        types[number] = _Type({32: "float", 64: "double"}.get(rest[0], f"float{rest[0]}_t"), rest[0] // 8)
    elif opcode in (_TYPE_VECTOR, _TYPE_MATRIX):
        part, count = types[rest[0]], rest[1]
        text = f"{_VECTOR_PREFIX.get(part.text, part.text)}{count}"
        if opcode == _TYPE_MATRIX:
            text = f"mat{count}x{part.text[-1]}"
        # Three components may be as far apart as four.
        types[number] = _Type(text, part.size * (4 if count == 3 else count))
    elif opcode == _TYPE_ARRAY:
        part, count = types[rest[0]], found.constants.get(rest[1], 1)
        types[number] = _Type(f"{part.text}[{count}]", part.size * count)
    elif opcode == _TYPE_RUNTIME_ARRAY:
        types[number] = _Type(f"{types[rest[0]].text}[]", 0)
    elif opcode == _TYPE_STRUCT:
        size = sum(types[part].size for part in rest if part in types)
        types[number] = _Type(found.names.get(number, "struct"), size, rest)


def source_line(spirv: bytes, number: int) -> int | None:
    """The GLSL line of a module's instruction ``number`` (from 1), where it was compiled with line information."""
    line: int | None = None
    for count, (opcode, operands) in enumerate(instructions(spirv), 1):
        if opcode == _LINE:
            line = operands[1]
        elif opcode == _NO_LINE:
            line = None
        if count >= number:
            return line
    return None


def _text(words: tuple[int, ...]) -> str:
    return struct.pack(f"<{len(words)}I", *words).split(b"\0", 1)[0].decode("utf-8", errors="replace")
