"""Elements that are parts of words, where a device's buffers have none of their size."""

from __future__ import annotations

import pytest

import vkamp as amp
from tests.emit.programs import Program, buffers
from vkamp.artifacts import Target
from vkamp.ir import nodes as ir
from vkamp.ir.lowered import MemoryElement, PureCall
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.types import FLOAT16, FLOAT32, INT8, UINT32
from vkamp.legalize.lower_addresses import memory_elements
from vkamp.legalize.word_parts import in_words
from vkamp.pipeline.passes import shader_of

ARGUMENTS = tuple(buffers(octets=(INT8, 1), halves=(FLOAT16, 1), values=(FLOAT32, 1)))


def scaled(i, octets, halves, values):
    octets[i] = octets[i] * 3
    halves[i] = amp.float16(values[i])


def counted(i, octets, halves, values):
    for _ in range(octets[i]):
        octets[i] -= 1


def memory_types(kernel: ir.Kernel) -> set[str]:
    nodes = (n for s in kernel.statements() for n in ir.walk(s))
    return {str(n.type) for n in nodes if isinstance(n, MemoryElement)}


@pytest.mark.parametrize(
    ("types", "left", "functions"),
    [
        (frozenset(), {"uint32", "float32"}, ["load_octets", "store_halves", "store_octets"]),
        ({"storage8"}, {"int8", "uint32", "float32"}, ["store_halves"]),
        ({"storage8", "storage16"}, {"int8", "float16", "float32"}, []),
    ],
)
def test_only_words_remain_where_the_device_has_no_smaller_elements(types, left, functions):
    kernel = memory_elements(Program(scaled, 1, None, ARGUMENTS).kernel())
    made = in_words(kernel, DeviceTypes(frozenset(types)))
    assert memory_types(made) == left
    assert [f.name for f in made.functions] == functions


def test_a_word_is_updated_by_a_compare_exchange():
    kernel = memory_elements(Program(scaled, 1, None, ARGUMENTS).kernel())
    made = in_words(kernel, DeviceTypes())
    (store,) = (f for f in made.functions if f.name == "store_octets")
    (exchange,) = (s for s in ir.walk_statements(store.body) if isinstance(s, ir.Atomic))
    assert (exchange.name, exchange.place.type) == ("atomic_compare_exchange", UINT32)


def test_a_value_is_rounded_once():
    glsl = shader_of(Program(scaled, 1, None, ARGUMENTS).kernel(), Target()).glsl
    assert "store_halves(i_0, values[i_0]);" in glsl
    assert "to_half" not in glsl


def test_a_loop_over_an_element_evaluates_its_end_once():
    kernel = Program(counted, 1, None, ARGUMENTS).kernel()
    made = in_words(memory_elements(kernel), DeviceTypes())
    assert any(isinstance(n, PureCall) for s in made.body.body for n in ir.walk(s))
    glsl = shader_of(kernel, Target()).glsl
    (loop,) = (line for line in glsl.splitlines() if "for (" in line)
    assert "load_octets" not in loop
