"""Short vectors where GLSL would align them otherwise than numpy."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.emit.programs import Program, buffers
from vkamp.artifacts import Target
from vkamp.ir import nodes as ir
from vkamp.ir.lowered import MemoryElement
from vkamp.ir.types import FLOAT32, PackedVector, Vector, from_dtype
from vkamp.pipeline.passes import legalized, shader_of

FLOAT3 = Vector(FLOAT32, 3)
PAIR = np.dtype([("position", amp.float2), ("path", amp.float3, (2,))])
MIXED = np.dtype([("number", np.complex64), ("position", amp.float2), ("sum", np.float32)])


def moved(i, points, pairs, sums):
    pair = pairs[i]
    pair.position.yx = points[i].xy
    pair.path[1] = points[i] + 1.0
    points[i + 1] = points[i]
    points[i].z += 2.0
    pairs[i + 1] = pair
    sums[i] = pair.position


PROGRAM = Program(
    moved, 1, None, tuple(buffers(points=(FLOAT3, 1), pairs=(from_dtype(PAIR), 1), sums=(Vector(FLOAT32, 2), 1)))
)


def test_only_loads_and_stores_have_packed_vectors():
    kernel, _ = legalized(PROGRAM.kernel(), Target())
    found = [node for s in kernel.statements() for node in ir.own_nodes(s) if isinstance(node, (ir.Expr, ir.Place))]
    assert {type(node) for node in found if isinstance(node.type, PackedVector)} == {
        ir.Load, ir.Cast, MemoryElement, ir.FieldOf, ir.ArrayElement,
    }  # fmt: skip
    assert not any(isinstance(node, ir.FieldOf) and type(node.type) is Vector for node in found)
    assert {node.type for node in found if isinstance(node, MemoryElement) and isinstance(node.type, Vector)} == {
        PackedVector(FLOAT32, 3),
        Vector(FLOAT32, 2),
    }


def test_a_copy_in_memory_makes_no_vector():
    lines = [line.strip() for line in shader_of(PROGRAM.kernel(), Target()).glsl.splitlines()]
    assert "points[i_0 + 1] = points[i_0];" in lines
    assert "points[i_0][2] += 2.0;" in lines
    assert "pairs[i_0].path[1] = from_vec3(to_vec3(points[i_0]) + 1.0);" in lines


def test_a_kernel_without_such_vectors_stays_as_it_is():
    def doubled(i, values):
        values[i] = values[i] * 2.0

    kernel, _ = legalized(Program(doubled, 1, None, tuple(buffers(values=(Vector(FLOAT32, 4), 1)))).kernel(), Target())
    kinds = {
        node.type for s in kernel.statements() for node in ir.own_nodes(s) if isinstance(node, (ir.Expr, ir.Place))
    }
    assert not any(isinstance(kind, PackedVector) for kind in kinds)


def test_a_struct_may_have_vectors_and_complex_numbers_of_one_size(accelerator_view):
    def added(i, items):
        items[i].sum = items[i].number.real + items[i].position.y
        items[i].number = items[i].number * 2.0
        items[i].position = items[i].position + 1.0

    raw = np.zeros(5, MIXED)
    raw["number"], raw["position"] = np.arange(5) + 1j, np.arange(10, dtype=np.float32).view(amp.float2)
    expected = raw.copy()
    expected["sum"] = np.arange(5) + np.arange(10).reshape(5, 2)[:, 1]
    expected["number"] *= 2
    expected["position"] = (np.arange(10, dtype=np.float32) + 1).view(amp.float2)
    items = amp.array_view(raw)
    amp.parallel_for_each(accelerator_view, items.extent, amp.kernel(added), items)
    items.synchronize()
    assert raw.tobytes() == expected.tobytes()
