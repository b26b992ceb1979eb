"""Races that the compiler proves absent, finds, or leaves open, in whole tile programs."""

from __future__ import annotations

import linecache
import warnings
from collections import OrderedDict
from typing import Any

import pytest

import tests.static_analysis.races_found
import tests.static_analysis.races_left_open
import tests.static_analysis.races_proved  # noqa: F401 -- these three fill the lists
import vkamp as amp
from tests.static_analysis.race_programs import FOUND, OPEN, PROVED, Program, floats, verdicts
from vkamp.check.race_prover import run as prover
from vkamp.dispatch import preparing


def name_of(item: Any) -> str:
    return getattr(item, "__name__", "")


@pytest.mark.parametrize("program", PROVED, ids=lambda p: p[0].__name__)
def test_proved(program: Program) -> None:
    kernel, domain, args = program
    result = verdicts(kernel, domain, *args)
    assert result.unknown == frozenset()
    assert result.proved


@pytest.mark.parametrize(("program", "what", "source"), FOUND, ids=[f[0][0].__name__ for f in FOUND])
def test_found(program: Program, what: str, source: str) -> None:
    kernel, domain, args = program
    with pytest.raises(amp.CompileError) as caught:
        verdicts(kernel, domain, *args)
    assert str(caught.value).startswith(what)
    span = caught.value.span
    assert span is not None
    assert linecache.getline(span.file, span.line)[span.column : span.end_column] == source


@pytest.mark.parametrize(("program", "names"), OPEN, ids=[o[0][0].__name__ for o in OPEN])
def test_left_open(program: Program, names: set[str]) -> None:
    kernel, domain, args = program
    assert verdicts(kernel, domain, *args).unknown == names


def test_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is an end to the work; what then is open counts as unknown, refused or not."""
    monkeypatch.setattr(prover, "LIMIT", 5)
    monkeypatch.setattr(preparing, "_cache", OrderedDict())
    monkeypatch.setenv("VKAMP_VERIFY", "1")  # No kernels from the disk, which were judged without this limit.
    for kernel, domain, args in (PROVED[0], FOUND[0][0]):
        assert verdicts(kernel, domain, *args).unknown == {"values", "averages"}


# -- barriers that order nothing -----------------------------------------------------------------------------------


@amp.kernel
def barriers_with_use(t_idx, a, n):
    values = amp.tile_static(32, amp.float32)
    for _ in range(n):
        values[t_idx.local] = a[t_idx]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        a[t_idx] = values[31 - t_idx.local[0]]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if n > 3:
        t_idx.barrier.wait()
    a[t_idx] += values[0]


@amp.kernel
def barrier_before_all(t_idx, a, n):
    t_idx.barrier.wait()
    a[t_idx] *= 2.0


@amp.kernel
def barrier_of_other_memory(t_idx, a, n):
    a[t_idx] *= 2.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    a[t_idx] *= 2.0


@amp.kernel
def half_of_a_wait(t_idx, a, n):
    a[t_idx] *= 2.0
    amp.global_memory_fence(t_idx.barrier)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    amp.global_memory_fence(t_idx.barrier)
    a[t_idx] *= 2.0


@amp.kernel
def barrier_in_vain_in_one_iteration(t_idx, a, n):
    for _ in range(n):
        t_idx.barrier.wait_with_global_memory_fence()
        a[t_idx] *= 2.0


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (barriers_with_use, []),
        (barrier_before_all, ["tile_static or global memory before it"]),
        (barrier_of_other_memory, ["tile_static memory before it"]),
        (half_of_a_wait, []),
        (barrier_in_vain_in_one_iteration, []),
    ],
    ids=name_of,
)
def test_barriers_that_order_nothing(kernel: Any, told: list[str]) -> None:
    a = floats(96)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel.inspect(a.extent.tile(32), a, 3)
    assert [w.category for w in caught] == [amp.BarrierWarning] * len(told)
    for warning, text in zip(caught, told, strict=True):
        assert text in str(warning.message)
        assert warning.filename == __file__
