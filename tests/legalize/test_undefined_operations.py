"""Operations that GLSL lacks or leaves undefined."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.emit.programs import Program, buffers
from vkamp.artifacts import Target
from vkamp.ir import nodes as ir
from vkamp.ir.types import FLOAT32, INT32, from_dtype
from vkamp.legalize.undefined_operations import without_undefined_operations
from vkamp.pipeline.passes import shader_of

ARGUMENTS = tuple(buffers(a=(FLOAT32, 1), v=(from_dtype(amp.float3.dtype), 1), n=(INT32, 1)))


def undefined(i, a, v, n):
    a[i] /= 0.0
    v[i] = v[i] / -0.0
    n[i] = int((a[i] > 1.0) <= (n[i] > 2))


def test_quotients_by_zero_are_products_and_bools_are_ordered_as_ints():
    kernel = Program(undefined, 1, None, ARGUMENTS).kernel()
    nodes = [n for s in without_undefined_operations(kernel).statements() for n in ir.own_nodes(s)]
    assert "div" not in {n.op for n in nodes if isinstance(n, ir.Binary)}
    factors = [n.value for n in nodes if isinstance(n, ir.Const) and n.type == FLOAT32 and abs(n.value) > 1]
    assert sorted(factors) == [-np.inf, np.inf]
    assert {str(n.left.type) for n in nodes if isinstance(n, ir.Compare) and n.op == "le"} == {"int32"}


def test_the_shader_divides_by_no_zero():
    glsl = shader_of(Program(undefined, 1, None, ARGUMENTS).kernel(), Target()).glsl
    assert "/" not in "".join(line for line in glsl.splitlines() if "//" not in line)
