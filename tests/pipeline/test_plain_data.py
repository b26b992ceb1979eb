"""What is stored of kernels, as plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.emit.table import PROGRAMS
from vkamp.artifacts import Binding, ContainerAccess, MatrixShape
from vkamp.errors import Span
from vkamp.pipeline.passes import shader_of
from vkamp.pipeline.plain_data import packed, unpacked

OUTER = Span("a.py", 1, 2, 3, 4)
INNER = Span("b.py", 5, 6, 7, 8, "f", OUTER)


def stored(value: object) -> object:
    return unpacked(json.loads(json.dumps(packed({"value": value}))))["value"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0.5,
        "text",
        (1, ("a", None), ()),
        frozenset({("b", 1), ("a", 2)}),
        {"x": INNER, "y": OUTER},
        {MatrixShape(16, 8, 4, "float16", "float16", "float32"): INNER},
        (Binding(0, "a", ("a", "b"), "float3", True, False), ContainerAccess(atomics=True)),
    ],
)
def test_a_value_is_what_it_was(value):
    found = stored(value)
    assert found == value
    assert type(found) is type(value)


def test_spans_are_stored_once():
    assert len(packed({"a": INNER, "b": (INNER, OUTER)})["spans"]) == 2


def test_an_array_is_what_it_was():
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = stored({"table": table})
    assert isinstance(found, dict)
    assert found["table"].dtype == table.dtype
    assert np.array_equal(found["table"], table)


@pytest.mark.parametrize("name", ["views", "float_atomics"])
def test_a_shader_is_what_it_was(name):
    shader = shader_of(PROGRAMS[name].kernel(), PROGRAMS[name].target)
    assert stored(shader) == shader


def test_other_objects_are_refused():
    with pytest.raises((AssertionError, KeyError)):
        packed({"value": object()})
