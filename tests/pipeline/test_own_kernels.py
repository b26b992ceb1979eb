"""vkamp's own kernels: they are checked in these tests, their races are judged only where check mode asks, and there is
no advice about them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import direct_view, forced
from vkamp.algorithms import select, sum
from vkamp.dispatch import preparing
from vkamp.pipeline import compiler, own_kernels


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """The names of the kernels whose races are judged; nothing is compiled before."""
    names: list[str] = []
    real = compiler.judge_races

    def judge(kernel: Any, uniformity: Any) -> Any:
        names.append(kernel.name)
        return real(kernel, uniformity)

    monkeypatch.setattr(compiler, "judge_races", judge)
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("VKAMP_VERIFY", raising=False)
    monkeypatch.setattr(preparing, "_cache", OrderedDict())
    return names


def test_races_of_own_kernels_are_judged_on_demand(judged):
    view = direct_view(amp.accelerator("llvmpipe"))
    numbers = np.arange(5003, dtype=np.int32) * 7919 % 1009
    a = amp.array(numbers, accelerator_view=view)
    with forced("tiles"):
        found = select(a, lambda x: x % 5 == 3)
        total = sum(found)
    expected = numbers[numbers % 5 == 3]
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert int(total) == expected.sum()
    assert judged == []

    compiled = [programs.compiled for kept in preparing._cache.values() for programs in kept]
    assert len(compiled) >= 2
    for each in compiled:
        assert each.races.advice == (), each.name
    assert sorted(judged) == sorted(each.name for each in compiled)


def test_races_of_other_kernels_are_judged_at_once(judged):
    def increment(idx, out):
        out[idx] += 1

    out = amp.array_view(np.zeros(10, np.int32))
    amp.parallel_for_each(amp.accelerator("swiftshader").default_view, out.extent, increment, out)
    assert np.asarray(out).tolist() == [1] * 10
    assert judged == ["increment"]


@pytest.fixture
def checked(judged, monkeypatch):
    """The names of the kernels whose control flow is checked outside of these tests."""
    names: list[str] = []
    real = compiler.check_uniformity

    def check(kernel: Any) -> Any:
        names.append(kernel.name)
        return real(kernel)

    monkeypatch.setattr(compiler, "check_uniformity", check)
    monkeypatch.setattr(own_kernels, "are_checked", False)
    return names


@pytest.mark.parametrize("checks", [False, True])
def test_own_kernels_are_checked_by_the_tests_only(checked, monkeypatch, checks):
    monkeypatch.setattr(own_kernels, "are_checked", checks)
    view = direct_view(amp.accelerator("llvmpipe"))
    numbers = np.arange(5003, dtype=np.int32)
    with forced("tiles"):
        assert int(sum(amp.array(numbers, accelerator_view=view))) == numbers.sum()
    compiled = [programs.compiled.name for kept in preparing._cache.values() for programs in kept]
    assert compiled
    assert sorted(checked) == (sorted(compiled) if checks else [])


def test_own_kernels_with_functions_of_the_user_are_checked(checked):
    view = direct_view(amp.accelerator("llvmpipe"))
    numbers = np.arange(5003, dtype=np.int32)
    with forced("tiles"):
        found = select(amp.array(numbers, accelerator_view=view), lambda x: x % 5 == 3)
    np.testing.assert_array_equal(np.asarray(found), numbers[3::5])
    assert checked
