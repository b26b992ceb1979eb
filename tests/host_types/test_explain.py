"""explain(): where a view's newest elements are, and what moved when and why."""

from __future__ import annotations

import re

import numpy as np
import pytest

from vkamp import array, array_view, copy, extent, float32, index


@pytest.fixture
def explained(location, other):
    def explain(view):
        text = view.explain().replace(repr(location), "<one>").replace(repr(other), "<other>")
        # The line is this file's, or the fixture's that launches.
        return re.sub(r"(test_explain|conftest)\.py:\d+", "here", text).splitlines()

    return explain


def test_a_host_view(location, other, launch, explained):
    raw = np.arange(15, dtype=np.float32).reshape(3, 5)
    v = array_view(raw)
    assert explained(v) == [
        "array_view(extent(3, 5), float32), 60 bytes of numpy's memory",
        "  host memory: 60 bytes up to date",
    ]
    launch(location, lambda d: d.fill(1), v)
    row = v.section(index(1, 0), extent(1, 2))
    assert row[0, 1] == 1
    assert explained(v) == [
        "array_view(extent(3, 5), float32), 60 bytes of numpy's memory",
        "  host memory: 8 bytes up to date",
        "  <one>: 60 bytes up to date, 52 of them up to date only here",
        "  1. 60 bytes to <one> at here: a launch uses them",
        "  2. 8 bytes from <one> at here: the host reads them",
    ]
    launch(other, lambda d: None, reads=(row,))
    assert explained(row)[-1] == "  3. 8 bytes to <other> at here: a launch uses them"
    # Moves of the other elements are not this view's.
    assert explained(v[2])[4:] == ["  1. 60 bytes to <one> at here: a launch uses them"]


def test_between_devices_and_out(location, other, launch, explained):
    v = array_view(extent(4), float32)
    launch(location, lambda d: d.fill(2), v)
    launch(other, lambda d: None, v)
    copy(v, np.zeros(4, np.float32))
    v.synchronize()
    lines = explained(v)
    assert lines[0] == "array_view(extent(4), float32), 16 bytes of memory of its own"
    assert lines[-4:] == [
        "  1. 16 bytes from <one> at here: <other> needs them",
        "  2. 16 bytes to <other> at here: a launch uses them",
        "  3. 16 bytes from <other> at here: their values are copied elsewhere",
        "  4. 16 bytes from <other> at here: synchronize()",
    ]


def test_an_array(location, explained):
    a = array(extent(4), data=np.ones(4, np.float32))
    v = array_view(a)
    assert explained(v) == [
        "array_view(extent(4), float32), 16 bytes of an array at <one>",
        "  host memory: 0 bytes up to date",
        "  <one>: 16 bytes up to date, 16 of them up to date only here",
        "  1. 16 bytes to <one> at here: their values are replaced by others",
    ]


def test_joined_memory_keeps_its_record(location, launch, explained):
    raw = np.zeros(10, np.float32)
    v = array_view(raw[:5])
    launch(location, lambda d: d.fill(1), v)
    whole = array_view(raw)
    assert explained(whole)[-2:] == [
        "  1. 20 bytes to <one> at here: a launch uses them",
        "  2. 20 bytes from <one> at here: a view of overlapping memory joins them with it",
    ]


def test_a_long_record_forgets(location, explained):
    raw = np.zeros(3, np.float32)
    v = array_view(raw)
    for n in range(70):
        v[0] = n
        v.synchronize_to(location)
    lines = explained(v)
    assert lines[3] == "  (6 earlier transfers are not listed)"
    assert lines[-1] == "  70. 12 bytes to <one> at here: synchronize_to()"
