"""Tuples, named tuples and frozen dataclasses as constants of kernels and device functions."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import vkamp as amp
from vkamp.dispatch import launch as launching

SIZE = 23


class Stage(NamedTuple):
    radix: int
    weights: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Plan:
    stages: tuple[Stage, ...]
    kind: Any = amp.float32
    op: Any = None


GLOBAL_STAGE = Stage(3, (1.0, 0.5))


@amp.func
def stage_sum(k, *, radix: amp.constant):
    parts = amp.private(radix, amp.int32)
    for i in amp.static_range(radix):
        parts[i] = i + k
    total = 0
    for i in range(radix):
        total += parts[i]
    return total


@amp.kernel
def steps(idx, out, *, radices: amp.constant):
    total = 0
    for k, radix in enumerate(radices):
        total += stage_sum(k, radix=radix) * idx[0]
    for i in amp.static_range(len(radices)):
        total += radices[i]
    first, *rest = radices
    for radix in rest:
        total += radix * first
    out[idx] = total + radices[-1] + sum(radices[1:])


@amp.func
def weighted(x, *, stage: amp.constant):
    total = 0.0
    for w in stage.weights:
        total += x * w
    return total * stage.radix


@amp.kernel
def planned(idx, a, out, *, plan: amp.constant):
    x = plan.kind(a[idx])
    for stage in plan.stages:
        x = plan.op(x, weighted(x, stage=stage))
    out[idx] = x + GLOBAL_STAGE.radix * GLOBAL_STAGE.weights[1]


@amp.kernel
def nested(idx, out, *, table: amp.constant = ((1, 2), (3, (4, 5)))):
    (a, b), (c, (d, e)) = table
    out[idx] = a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * len(table)


@amp.kernel
def chosen(idx, out, *, table: amp.constant):
    out[idx] = table[idx[0] % len(table)]


def stored(view, kernel, size=SIZE, dtype=np.float32, **constants):
    out = amp.array_view(np.zeros(size, dtype))
    amp.parallel_for_each(view, out.extent, kernel, out, **constants)
    return np.asarray(out)


def test_iterated_and_unpacked(accelerator_view):
    for radices in ((4, 2), (8,), (2, 3, 5, 2)):
        expected = []
        for n in range(SIZE):
            total = sum((i + k) * n for k, radix in enumerate(radices) for i in range(radix)) + sum(radices)
            total += sum(radix * radices[0] for radix in radices[1:])
            expected.append(total + radices[-1] + sum(radices[1:]))
        assert stored(accelerator_view, steps, dtype=np.int32, radices=radices).tolist() == expected


def test_named_tuples_dataclasses_and_functions(accelerator_view):
    raw = (np.arange(SIZE) / 4).astype(np.float32)
    for shift in (1.0, 2.0):
        plan = Plan((Stage(2, (0.5, 0.25)), Stage(1, (1.5,))), op=lambda x, y: x - y + shift)  # noqa: B023
        a, out = amp.array_view(raw), amp.array_view(np.zeros(SIZE, np.float32))
        amp.parallel_for_each(accelerator_view, a.extent, planned, a, out, plan=plan)
        x = raw
        for stage in plan.stages:
            x = plan.op(x, x * sum(stage.weights) * stage.radix)
        np.testing.assert_allclose(np.asarray(out), x + 1.5, rtol=1e-5)


def test_nested_and_default(accelerator_view):
    assert set(stored(accelerator_view, nested)) == {254321.0}
    assert set(stored(accelerator_view, nested, table=((0, 2), (0, (0, 1))))) == {210020.0}


def test_chosen_at_run_time(accelerator_view):
    table = (0.5, 2.0, -1.0, 7.0)
    np.testing.assert_array_equal(stored(accelerator_view, chosen, table=table), np.resize(table, SIZE))


def test_a_table_of_uint32_chosen_at_run_time(accelerator_view):
    """The sines of MD5: Python's ints, some beyond int32."""
    table = (0xD76AA478, 0x242070DB, 0xFFFFFFFF, 0)
    assert stored(accelerator_view, chosen, dtype=np.uint32, table=table).tolist() == np.resize(table, SIZE).tolist()


def test_constants_are_told_by_their_types(accelerator_view):
    @amp.kernel
    def halves(idx, out, *, n: amp.constant):
        out[idx] = n[0] // 2 if n[1] else n[0] / 2

    for n in ((5, True), (5.0, True), (5, False), (np.float32(5), True), (5, 1), (-0.0, True), (0.0, True)):
        expected = n[0] // 2 if n[1] else n[0] / 2
        got = stored(accelerator_view, halves, n=n)
        assert set(got) == {expected} and math.copysign(1, got[0]) == math.copysign(1, expected)


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_repeated_launches(accelerator_view, monkeypatch):
    monkeypatch.delenv("VKAMP_CHECK", raising=False)
    prepared = []
    prepare = launching.prepare
    monkeypatch.setattr(launching, "prepare", lambda *given: prepared.append(1) or prepare(*given))
    a, out = amp.array_view(np.ones(SIZE, np.float32)), amp.array_view(np.zeros(SIZE, np.float32))
    for shift in (1.0, 2.0, 3.0):
        plan = Plan((Stage(1, (1.0,)),), op=lambda x, y: x + y + shift)  # noqa: B023
        amp.parallel_for_each(accelerator_view, a.extent, planned, a, out, plan=plan)
        assert set(np.asarray(out)) == {3.5 + shift}
    assert len(prepared) == 1
    amp.parallel_for_each(accelerator_view, a.extent, planned, a, out, plan=dataclasses.replace(plan, stages=()))
    assert len(prepared) == 2 and set(np.asarray(out)) == {2.5}


def test_in_the_shader():
    out = amp.array_view(np.zeros(3, np.int32))
    assert "radices  constant (4, 2)" in steps.inspect(out.extent, out, radices=(4, 2)).glsl


def test_attributes_that_are_none():
    out = amp.array_view(np.zeros(3, np.float32))

    @amp.kernel
    def wrong(idx, out, *, stage: amp.constant):
        out[idx] = stage.radux

    with pytest.raises(amp.CompileError, match=r"(?s)VKA206.*did you mean `stage.radix`\?"):
        wrong.inspect(out.extent, out, stage=GLOBAL_STAGE)
