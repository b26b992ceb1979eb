"""Arithmetic of float16 in float32, where a device lacks it."""

from __future__ import annotations

import pytest

import vkamp as amp
from tests.emit.programs import Program, buffers
from vkamp.artifacts import Target
from vkamp.ir import nodes as ir
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.types import FLOAT16, FLOAT32
from vkamp.legalize.narrow_floats import widened
from vkamp.pipeline.passes import shader_of


def scaled(i, halves, values):
    halves[i] = halves[i] * halves[i] / amp.float16(3) + amp.float16(values[i])


def rounded(i, halves, values):
    halves[i] = amp.float16(values[i] * values[i] + 1)


ARGUMENTS = tuple(buffers(halves=(FLOAT16, 1), values=(FLOAT32, 1)))


def operations(kernel: ir.Kernel) -> set[tuple[str, str]]:
    return {(n.op, str(n.type)) for s in kernel.statements() for n in ir.walk(s) if isinstance(n, ir.Binary)}


@pytest.mark.parametrize(
    ("types", "left"),
    [(frozenset(), set()), (frozenset({"float16", "storage16"}), {("mul", "float16"), ("add", "float16")})],
)
def test_only_what_the_device_can_do_stays(types, left):
    kernel = Program(scaled, 1, None, ARGUMENTS).kernel()
    assert operations(kernel) == {(op, "float16") for op in ("mul", "div", "add")}
    made = operations(widened(kernel, DeviceTypes(types)))
    assert {each for each in made if each[1] == "float16"} == left
    assert ("div", "float32") in made


@pytest.mark.parametrize("types", [frozenset(), frozenset({"float16", "storage16"})])
def test_in_a_precise_kernel_nothing_is_contracted_before_it_is_rounded(types):
    kernel = Program(rounded, 1, None, ARGUMENTS, precise=True).kernel()
    text = shader_of(kernel, Target(types=types)).glsl
    assert "exact_add(exact_mul(values[i_0], values[i_0]), 1.0)" in text
