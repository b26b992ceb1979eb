"""Checks of a SPIR-V module before it is passed to a driver, since drivers crash on an invalid one."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from vkamp.errors import AmpError
from vkamp.records import dataclass

_MAGIC = 0x07230203
_EXTENSION, _ENTRY_POINT, _EXECUTION_MODE, _CAPABILITY, _FUNCTION, _DECORATE = 10, 15, 16, 17, 54, 71
_TYPE_FLOAT, _PRESERVE_CAPABILITY, _PRESERVE_MODE, _UNIFORM_CONTROL_FLOW_MODE = 22, 4466, 4461, 4421
_GL_COMPUTE, _LOCAL_SIZE, _BINDING, _DESCRIPTOR_SET = 5, 17, 33, 34
_HEADER_WORDS = 5

#: The device feature of each capability, by the names of :mod:`vkamp.run.features`. No engine enables the others.
_FEATURES = {
    9: "float16",
    10: "float64",
    11: "int64",
    12: "int64_atomics",
    22: "int16",
    39: "int8",
    4433: "storage16",
    4434: "storage16",
    4435: "16-bit push constants",
    4436: "16-bit inputs",
    4448: "storage8",
    4449: "storage8",
    4450: "8-bit push constants",
    5345: "memory_model",
    5346: "memory_model",
    6018: "integer_dot_product",
    6019: "integer_dot_product",
    6022: "cooperative_matrix",
    6033: "float_atomics",
    6034: "float64_atomics",
    6095: "float16 atomics",
    5612: "float32 minimum and maximum atomics",
    5613: "float64 minimum and maximum atomics",
    5616: "float16 minimum and maximum atomics",
}


#: The subgroup operations of each capability.
_SUBGROUPS = {
    61: "basic",
    62: "vote",
    63: "arithmetic",
    64: "ballot",
    65: "shuffle",
    66: "shuffle_relative",
    67: "clustered",
    68: "quad",
}


@dataclass(frozen=True)
class ModuleDeclarations:
    """What a compute module declares: device features, subgroup operations, tile size (x, y, z), bindings and
    descriptor sets used.
    """

    features: frozenset[str]
    subgroups: frozenset[str]
    local_size: tuple[int, int, int] | None
    bindings: frozenset[int]
    sets: frozenset[int]


def read_module(spirv: bytes) -> ModuleDeclarations:
    """Reads the declarations of ``spirv``. Raises ``AmpError`` if it is not a compute module with an entry "main"."""
    if not isinstance(spirv, bytes) or len(spirv) < 4 * _HEADER_WORDS or len(spirv) % 4:
        raise AmpError(f"this is not a SPIR-V module: {len(spirv)} bytes")
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    if words[0] != _MAGIC:
        raise AmpError(f"this is not a SPIR-V module: it begins with {words[0]:#010x}")
    features, subgroups, bindings, sets = set(), set(), set(), set()
    local_size: tuple[int, int, int] | None = None
    has_main = False
    for opcode, operands in _instructions(words):
        if opcode == _CAPABILITY and operands[0] in _FEATURES:
            features.add(_FEATURES[operands[0]])
        elif opcode == _CAPABILITY and operands[0] in _SUBGROUPS:
            subgroups.add(_SUBGROUPS[operands[0]])
        elif opcode == _ENTRY_POINT:
            has_main |= operands[0] == _GL_COMPUTE and _name(operands[2:]) == "main"
        elif opcode == _EXECUTION_MODE and operands[1] == _LOCAL_SIZE:
            local_size = (operands[2], operands[3], operands[4])
        elif opcode == _DECORATE and operands[1] == _BINDING:
            bindings.add(operands[2])
        elif opcode == _DECORATE and operands[1] == _DESCRIPTOR_SET:
            sets.add(operands[2])
    if not has_main:
        raise AmpError('this SPIR-V module has no compute entry point "main"')
    return ModuleDeclarations(
        frozenset(features), frozenset(subgroups), local_size, frozenset(bindings), frozenset(sets)
    )


def _instructions(words: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Opcode and operands of every instruction before the first function, where all declarations are."""
    at = _HEADER_WORDS
    least = {_CAPABILITY: 2, _ENTRY_POINT: 4, _EXECUTION_MODE: 3, _DECORATE: 3}
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if opcode == _FUNCTION:
            return
        operands = words[at + 1 : at + length]
        need = 6 if opcode == _EXECUTION_MODE and operands[1:2] == (_LOCAL_SIZE,) else 0
        if opcode == _DECORATE and operands[1:2] in ((_BINDING,), (_DESCRIPTOR_SET,)):
            need = 4
        if at + length > len(words) or length < max(1, need, least.get(opcode, 1)):
            raise AmpError(f"this SPIR-V module is damaged at word {at}")
        yield opcode, operands
        at += length
    raise AmpError("this SPIR-V module has no function")


def _name(words: tuple[int, ...]) -> str:
    raw = struct.pack(f"<{len(words)}I", *words)
    return raw.split(b"\0", 1)[0].decode("utf-8", errors="replace")


def with_special_values(spirv: bytes, widths: frozenset[int]) -> bytes:
    """The module with a demand to keep infinities, NaN and signs of zero in floats of these widths (in bits).

    Without that, drivers compile ``x < y ? x : y`` as a minimum, ``x * 0.0`` as 0.0, and ``x - x`` as 0.0.  Needs the
    extension VK_KHR_shader_float_controls, and properties of the device.
    """
    if not widths:
        return spirv
    words, declared = _declarations(spirv)
    used = {operands[1] for opcode, operands in declared if opcode == _TYPE_FLOAT}
    return _with_modes(
        words, declared, "SPV_KHR_float_controls", (_PRESERVE_CAPABILITY,),
        [(_PRESERVE_MODE, width) for width in sorted(used & widths)],
    )  # fmt: skip


def with_reconvergence(spirv: bytes) -> bytes:
    """The module with a demand that threads of a subgroup that enter a branch or a loop together leave it together.

    Only modules that use subgroups get it.  Without it, a driver may let some of the threads continue alone, and a
    function of subgroups misses the others.  Needs the feature of VK_KHR_shader_subgroup_uniform_control_flow.
    """
    words, declared = _declarations(spirv)
    if not any(opcode == _CAPABILITY and operands[0] in _SUBGROUPS for opcode, operands in declared):
        return spirv
    return _with_modes(words, declared, "SPV_KHR_subgroup_uniform_control_flow", (), [(_UNIFORM_CONTROL_FLOW_MODE,)])


def _declarations(spirv: bytes) -> tuple[tuple[int, ...], list[tuple[int, tuple[int, ...]]]]:
    """The words of a module, and its instructions before the first function."""
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    return words, list(_instructions(words))


def _with_modes(
    words: tuple[int, ...],
    declared: list[tuple[int, tuple[int, ...]]],
    extension: str,
    capabilities: tuple[int, ...],
    modes: list[tuple[int, ...]],
) -> bytes:
    """The module with these execution modes (each with its operands), unless it has one of this kind."""
    main, place_of_extension, place_of_modes = 0, _HEADER_WORDS, _HEADER_WORDS
    at = _HEADER_WORDS
    for opcode, operands in declared:
        at += 1 + len(operands)
        if opcode == _CAPABILITY:
            place_of_extension = at
        elif opcode == _ENTRY_POINT:
            main, place_of_modes = operands[1], at
        elif opcode == _EXECUTION_MODE:
            place_of_modes = at
            if modes and operands[1] == modes[0][0]:
                modes = []
    name = extension.encode() + b"\0" * (4 - len(extension) % 4)
    needs = [word for number in capabilities for word in (2 << 16 | _CAPABILITY, number)]
    needs += [len(name) // 4 + 1 << 16 | _EXTENSION, *struct.unpack(f"<{len(name) // 4}I", name)]
    wanted = [word for mode in modes for word in (len(mode) + 2 << 16 | _EXECUTION_MODE, main, *mode)]
    made = (
        *words[:place_of_extension], *(needs if modes else ()), *words[place_of_extension:place_of_modes],
        *wanted, *words[place_of_modes:],
    )  # fmt: skip
    return struct.pack(f"<{len(made)}I", *made)
