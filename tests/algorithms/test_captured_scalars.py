"""Functions given to algorithms that use a device_scalar: its number is not waited for."""

# mypy: disable-error-code="no-untyped-def,no-any-return"

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.noted import compilations, refuse_reads
from vkamp import algorithms as alg
from vkamp.algorithms import lazy

LIMIT: Any = None


def under_limit(x):
    return x < LIMIT


def scaled(x, factor):
    return x * factor


class Near:
    def __init__(self, middle, width) -> None:
        self.middle, self.width = middle, width

    @amp.func
    def __call__(self, x):
        return abs(x - self.middle) < self.width


@pytest.fixture
def raw():
    return (np.arange(3001, dtype=np.int64) * 7919 % 1009 - 500).astype(np.int32)


@pytest.fixture
def a(raw, accelerator_view):
    return amp.array(raw, accelerator_view=accelerator_view)


@pytest.fixture
def unread(monkeypatch):
    """The host reads no device_scalar."""
    refuse_reads(monkeypatch)


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.spread(2)
def test_functions(raw, a, form, monkeypatch):
    m, least, has_any = alg.max(a), alg.min(a), alg.any_of(a, lambda x: x > 100)
    number = alg.count(a, int(raw[5]))
    count = int((raw == raw[5]).sum())
    same(alg.transform(lambda x: x - m, a), raw - raw.max())
    same(alg.transform(lambda x, y: x - m if has_any else y, a, a), raw - raw.max())
    same(alg.select(a, lambda x: x - least > 400), raw[raw - raw.min() > 400])
    same(alg.transform(functools.partial(scaled, factor=number), a), raw * count)
    same(alg.select(a, Near(number, m)), raw[abs(raw - count) < raw.max()])
    same(alg.sort(a, key=lambda x: -abs(x - number)), raw[np.argsort(-abs(raw - count), kind="stable")])
    same(alg.generate(10, lambda i: i * number), np.arange(10) * count)
    assert int(alg.sum(lazy.map(lambda x: x - m, a))) == int((raw.astype(np.int64) - raw.max()).sum())
    assert int(alg.count_if(a, lambda x: x == m)) == int((raw == raw.max()).sum())
    assert int(alg.reduce(a, lambda x, y: min(max(x, y), number + 90))) == min(raw.max(), count + 90)
    monkeypatch.setitem(globals(), "LIMIT", number)
    same(alg.select(a, under_limit), raw[raw < count])


def test_nothing_waits(raw, a, unread):
    m = alg.max(a)
    found = alg.select(a, lambda x, m=m: x > m // 2)
    least = alg.min(found)
    same(alg.transform(lambda x: x - least, a), raw - raw[raw > raw.max() // 2].min())


def test_repeated_calls(raw, a, accelerator_view):
    memory = amp.array(np.zeros(1, np.int32), accelerator_view=accelerator_view)
    m = alg.device_scalar(memory)
    for value in range(8):
        amp.copy(np.array([value], np.int32), memory)
        same(alg.transform(lambda x: x - m, a), raw - value)
        same(alg.select(a, lambda x: x > m), raw[raw > value])
    for k in range(6):
        # The scalar is another one each time, and the array the same.
        least = alg.min(a)
        same(alg.transform(lambda x, least=least: x - least, a), raw - raw.min())
        raw = raw * (k + 2)
        amp.copy(raw, a)


def test_new_scalars_compile_nothing(raw, a, accelerator_view, monkeypatch):
    def call(value, at):
        memory = amp.array(np.full(3, value, np.int32), accelerator_view=accelerator_view)
        m = alg.device_scalar(amp.array_view(memory)[at : at + 1])
        return alg.transform(lambda x: x * m, a)

    same(call(2, 0), raw * 2)
    seen = compilations(monkeypatch)
    for value, at in ((3, 0), (4, 2), (5, 1)):
        same(call(value, at), raw * value)
    assert not seen


def test_captures(raw, accelerator_view):
    a = amp.array(raw, accelerator_view=accelerator_view)
    with amp.capture() as graph:
        m = alg.max(a)
        moved = alg.transform(lambda x: x - m, a)
        large = alg.select(a, lambda x: x * 2 > m)
    for values in (raw, raw[::-1] + 7, raw // 3):
        amp.copy(values.astype(np.int32), a)
        graph.replay()
        same(moved, values - values.max())
        same(large, values[values * 2 > values.max()])


def test_the_target_of_the_result(raw, a, accelerator_view):
    sums = amp.array_view(amp.array(np.zeros(4, np.int32), accelerator_view=accelerator_view))
    m = alg.max(a, out=sums[1:2])
    same(alg.transform(lambda x: x - m, a), raw - raw.max())
    with pytest.raises(amp.AmpError, match=r"takes `source\.f\.m` as a number(.*)writes it as an element of `out"):
        alg.transform(lambda x: x - m, sums[2:], out=sums[:2])
