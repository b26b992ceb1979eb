"""Functions that only return constants, or what a thread is given, are not called in a shader."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp import tile


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_VERIFY", "1")


@amp.func
def count(*, wide: amp.constant) -> Any:
    return 8 if wide else 4


@amp.func
def count_and_share(*, wide: amp.constant) -> Any:
    return count(wide=wide), 0.5


@amp.func
def row(t: Any) -> Any:
    return t.local[0]


@amp.kernel
def uses(t, out, *, wide: amp.constant):
    many, share = count_and_share(wide=wide)
    count(wide=wide)
    total = 0.0
    for k in range(many):
        total += k * share
    rows = amp.tile_static(3, amp.int32)
    rows[row(t)] = row(t)
    t.barrier.wait()
    out[t] = total * 100 + many + row(t) + rows[2 - row(t)]


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_calls_of_constants(accelerator_view: amp.accelerator_view, lowering: str) -> None:
    kernel = amp.kernel(lowering=lowering)(uses.function)
    for wide, total in ((True, 14.0), (False, 3.0)):
        out = amp.array_view(np.zeros(6, np.float32))
        domain = out.extent.tile(3)
        amp.parallel_for_each(accelerator_view, domain, kernel, out, wide=wide)
        assert np.asarray(out).tolist() == [total * 100 + (8 if wide else 4) + 2] * 6
        glsl = kernel.inspect(accelerator_view, domain, out, wide=wide).glsl
        assert not any(f"int {name}(" in glsl for name in ("count", "count_and_share", "row"))


@amp.func
def of_three(t, x):
    stage = amp.tile_static(4, amp.int32)
    stage[t.local[0]] = x
    t.barrier.wait()
    first, last = stage[0], stage[3]
    t.barrier.wait()
    return first, last, x


@amp.kernel(lowering="loops")
def few_results(t, a, out):
    own = tile.reduce(t, a[t], max)
    _, last, _ = of_three(t, a[t])
    out[t] = own * 100 + last


def test_threads_as_loops_keep_no_constants_and_no_unused_results(accelerator_view: amp.accelerator_view) -> None:
    a, out = amp.array_view(np.arange(8, dtype=np.int32)), amp.array_view(np.zeros(8, np.int32))
    domain = a.extent.tile(4)
    amp.parallel_for_each(accelerator_view, domain, few_results, a, out)
    assert np.asarray(out).tolist() == [303] * 4 + [707] * 4
    program = few_results.inspect(accelerator_view, domain, a, out)
    if program.lowering != "loops":
        return
    glsl = program.glsl
    assert not any(f"int {name}" in glsl for name in ("rank_of(", "threads_of(", "_of_threads_valid"))
    assert "int of_three_last = " in glsl and "int of_three_first = " not in glsl
