"""Types of 8 and 16 bits as a device's shaders have them."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.emit.programs import Program, buffers
from tests.emit.table import PROGRAMS
from vkamp.artifacts import Target
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.lowered import BitCast, MemoryElement
from vkamp.ir.narrow_floats import NARROW_ROWS
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.types import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT8, INT32, UINT8, Array, Field, Struct, Vector
from vkamp.pipeline.passes import legalized, shader_of

ARGUMENTS = tuple(
    buffers(octets=(UINT8, 1), signed=(INT8, 1), halves=(FLOAT16, 1), brains=(BFLOAT16, 1), wide=(FLOAT64, 1))
)


def mixed(i, octets, signed, halves, brains, wide):
    own = amp.private(2, amp.float16)
    own[i % 2] = halves[i] + amp.float16(octets[i])
    octets[i] = signed[i] * 3
    halves[i] = amp.float16(wide[i]) * own[0]
    brains[i] = amp.float32(brains[i]) + amp.int8(octets[i] + 7)


@pytest.mark.parametrize(
    "features",
    [
        frozenset(),
        frozenset({"storage8", "storage16"}),
        frozenset({"storage8", "storage16", "float16"}),
        frozenset({"storage8", "storage16", "float16", "int8", "int16"}),
    ],
    ids=len,
)
def test_only_memory_has_types_that_the_device_cannot_compute_with(features):
    refuse_narrow_values(Program(mixed, 1, None, ARGUMENTS, target=Target(types=features)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_program_has_values_that_its_device_cannot_compute_with(name):
    refuse_narrow_values(PROGRAMS[name])


def refuse_narrow_values(program: Program) -> None:
    kernel, _ = legalized(program.kernel(), program.target)
    types = DeviceTypes(program.target.types)
    for function in (*kernel.functions, kernel.body):
        for variable in (*function.params, *function.variables):
            assert types.value(variable.type) == variable.type
    for statement in kernel.statements():
        for node in ir.own_nodes(statement):
            if isinstance(node, ir.Expr) and not isinstance(node, (ir.Load, ir.Cast, BitCast)):
                assert types.value(node.type) == node.type
            if isinstance(node, MemoryElement):
                assert not types.packs(node.type)


def stored(i, octets, signed, halves, brains, wide):
    octets[i] = amp.uint8(amp.uint32(wide[i]))
    signed[i] = amp.int8(wide[i])


@pytest.mark.parametrize("features", [frozenset(), frozenset({"storage8", "int8"})], ids=len)
def test_only_conversions_of_integers_are_left_to_the_store(features):
    glsl = shader_of(Program(stored, 1, None, ARGUMENTS).kernel(), Target(types=features)).glsl
    assert "int(uint(wide[i_0]))" in glsl and "int(wide[i_0])" in glsl


def doubled(i, octets, signed, halves, brains, wide):
    octets[i] = amp.uint8(amp.uint8(signed[i] * 2) * 2)
    signed[i] = amp.int8(amp.int8(octets[i]) + 0)
    wide[i] = octets[i] // 3


def test_a_value_is_wrapped_where_it_may_not_fit():
    glsl = shader_of(Program(doubled, 1, None, ARGUMENTS).kernel(), Target()).glsl
    assert glsl.count("& 255") == 1
    assert "load_octets(i_0) / 3" in glsl, "what is loaded is not negative"


def test_a_struct_without_the_types_that_a_device_lacks_is_aligned():
    packed = Struct("mixed", (Field("a", INT8, 0), Field("h", Vector(FLOAT16, 2), 2), Field("d", FLOAT64, 8)), 16)
    made = DeviceTypes().value(Array(packed, (3,)))
    assert isinstance(made, Array)
    assert made.element.fields == (Field("a", INT32, 0), Field("h", Vector(FLOAT32, 2), 4), Field("d", FLOAT64, 16))
    assert made.element.size == 24
    everything = DeviceTypes(frozenset({"int8", "float16", "storage8", "storage16"}))
    assert everything.value(packed) is packed


@pytest.mark.parametrize("row", NARROW_ROWS, ids=lambda row: row.name)
def test_references_of_rows_have_the_types_of_their_rows(row):
    assert BUILTINS[row.name].doc
    for sample in row.samples:
        found = row.reference(*sample)
        assert np.isfinite(float(found)) or sample[0] in (1e30, 31744)


def test_an_odd_float_is_rounded_once():
    row = BUILTINS["odd_float"]
    for x in (1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11 - 2.0**-40, -1 - 2.0**-11 - 2.0**-40, 1.5):
        assert np.float16(row.reference(np.float64(x))) == np.float16(np.float64(x))
