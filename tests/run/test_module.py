"""Programs are looked at before a driver sees them."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

import vkamp as amp
from tests.emit.validation import validate
from tests.run.conftest import spirv
from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.run.module import read_module, with_reconvergence, with_special_values


def test_declarations(runner):
    module = read_module(runner.executable("scale").spirv)
    assert module.features == frozenset()
    assert module.local_size == (64, 1, 1)
    assert module.bindings == {0, 1}
    assert module.sets == {0}
    assert read_module(runner.executable("double").spirv).features == {"float64"}


@pytest.mark.parametrize("text", [b"", b"\0" * 19, b"\0" * 40, b"\x03\x02\x23\x07" + b"\0" * 16])
def test_what_is_no_module_is_refused(runner, text):
    bad = dataclasses.replace(runner.executable("add"), spirv=text)
    with pytest.raises(AmpError, match="SPIR-V"):
        runner.queue.program(bad)


def test_a_damaged_module_is_refused_or_read(runner):
    good = runner.executable("add").spirv
    choose = random.Random(3)
    for _ in range(300):
        damaged = bytearray(good[: choose.randrange(20, len(good) // 4) * 4])
        damaged[choose.randrange(20, len(damaged))] ^= 1 << choose.randrange(8)
        try:
            read_module(bytes(damaged))
        except AmpError:
            continue


def test_another_entry_point_is_refused(runner):
    good = runner.executable("add")
    bad = dataclasses.replace(good, spirv=good.spirv.replace(b"main", b"niam"))
    with pytest.raises(AmpError, match='no compute entry point "main"'):
        runner.queue.program(bad)


def test_what_the_engine_cannot_enable_is_refused(runner, info):
    if "float64" in info.usable_features:
        a = runner.buffer([0, 0])
        runner.launch_words("double", [a], (), groups=(1, 1, 1))
        assert runner.read(a).view(np.float64).tolist() == [1.0]
        return
    with pytest.raises(UnsupportedFeatureError, match="float64") as caught:
        runner.queue.program(runner.executable("double"))
    assert info.name in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"buffers": 1}, "binds"),
        ({"buffers": 2_000_000_000}, "buffers in a kernel"),
        ({"push_bytes": 4096}, "push constants"),
        ({"push_bytes": 7}, "push constants"),
    ],
)
def test_a_program_over_the_limits_is_refused(runner, change, message):
    good = runner.executable("scale")
    # Another word of the generator, so that no program of that key is known from elsewhere.
    new = dataclasses.replace(good, spirv=good.spirv[:8] + b"\x99" + good.spirv[9:])
    with pytest.raises(AmpError, match=message):
        runner.queue.program(dataclasses.replace(new, **change))


_REVERSED = """\
#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
layout(push_constant) uniform P { uint n; uint word; };
void main() { a[gl_GlobalInvocationID.x] = subgroupQuadSwapVertical(subgroupShuffle(word, 0)); }
"""


def test_operations_of_subgroups_that_the_device_lacks_are_refused(runner, engine, info):
    program = dataclasses.replace(runner.executable("add"), spirv=spirv(_REVERSED))
    assert read_module(program.spirv).subgroups >= {"shuffle", "quad"}
    runner.queue.program(program)
    limits = dataclasses.replace(info.limits, subgroup_operations=info.limits.subgroup_operations - {"quad"})
    queue = engine.open(dataclasses.replace(info, limits=limits))
    with pytest.raises(UnsupportedFeatureError, match="it lacks the subgroup operations quad") as caught:
        queue.program(program)
    assert info.name in str(caught.value)


def test_a_tile_over_the_limit_is_refused(runner, engine, info):
    limits = dataclasses.replace(info.limits, tile_threads=63)
    queue = engine.open(dataclasses.replace(info, limits=limits))
    with pytest.raises(AmpError, match=r"does not support tiles of \(64, 1, 1\) threads: the maximum is 63"):
        queue.program(runner.executable("add"))


@amp.kernel
def sums(t_idx, a):
    a[t_idx] = amp.subgroup.add(a[t_idx])


@amp.kernel
def doubles(t_idx, a):
    a[t_idx] = a[t_idx] * amp.float32(2)


def test_modules_with_subgroups_demand_that_threads_reconverge(tmp_path):
    view = amp.accelerator("llvmpipe").default_view
    with_subgroups, without = (
        kernel.inspect(view, amp.extent(64).tile(64), amp.array_view(np.zeros(64, np.float32))).spirv
        for kernel in (sums, doubles)
    )
    changed = with_reconvergence(with_special_values(with_subgroups, frozenset({32})))
    assert b"SPV_KHR_subgroup_uniform_control_flow\0" in changed
    words = np.frombuffer(changed, np.uint32).tolist()
    # OpExecutionMode main SubgroupUniformControlFlowKHR
    assert [w for w in zip(words, words[2:], strict=False) if w == (3 << 16 | 16, 4421)]
    assert read_module(changed) == read_module(with_subgroups)
    validate(changed, tmp_path)
    assert with_reconvergence(changed) == changed
    assert with_reconvergence(without) == without
