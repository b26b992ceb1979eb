"""A slice of the table of operators; ``python -m tools.sweep operators`` runs it whole (docs/runs.md)."""

from __future__ import annotations

import pytest

import vkamp as amp
from tools.sweep.operators import TYPES, cases, check, needs, values
from vkamp.testing.devices import lacking

#: Of so many cases one is run; another for each accelerator.
_OF = 300
_OFFSETS = {"swiftshader": 7, "llvmpipe": 23, "reference": 41}


def _view(name):
    """A view by an engine with all types, where there is one."""
    found = amp.accelerator(name)
    wide = found.device_path != "reference" and "int64" in found._info.features - found._info.usable_features
    return amp.accelerator(f"{name}@vulkan").default_view if wide else found.default_view


def _name(accelerator):
    description = accelerator.description.lower()
    return next((name for name in _OFFSETS if name in description), accelerator.description)


@pytest.mark.parametrize("kind", TYPES)
def test_operators(accelerator, kind):
    name = _name(accelerator)
    view = _view(name)
    usable = view.accelerator._info.usable_features
    mine = [case for case in cases() if case.kind == kind]
    wrong = []
    for case in mine[_OFFSETS.get(name, 0) % _OF :: _OF]:
        if not needs(case) - usable:
            wrong += check(case, view, denormals=not lacking(name, ["denormals"]))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "kind", "left", "right"),
    [
        ("x < y", "int64", "int32", "constant"),
        ("x >= y", "int64", "constant", "int16"),
        ("float32(x)", "uint32", "memory", "none"),
        ("int32(float32(x))", "int32", "memory", "none"),
        ("int64(float64(x))", "int64", "memory", "none"),
        ("float32(int32(x))", "float32", "memory", "none"),
        ("x + 0.0", "float32", "memory", "none"),
        ("x * y", "float32", "memory", "constant"),
        ("x // y", "float32", "memory", "memory"),
        ("abs(x)", "float32", "constant", "none"),
    ],
)
def test_operators_that_a_driver_had_wrong(accelerator, text, kind, left, right):
    name = _name(accelerator)
    view = _view(name)
    case = next(c for c in cases() if (c.text, c.kind, c.left, c.right) == (text, kind, left, right))
    if not needs(case) - view.accelerator._info.usable_features:
        assert check(case, view, denormals=not lacking(name, ["denormals"])) == []


def test_the_table_reaches_all_types_and_sources():
    found = cases()
    assert len({case.name for case in found}) == len(found) > 5000
    for kind in TYPES:
        texts = {case.text for case in found if case.kind == kind}
        assert {"x < y", "x + y", "min(x, y)", "x if x < y else y"} < texts
        assert len({(case.left, case.right) for case in found if case.kind == kind}) > 12
        assert len(values(kind)) > 20


@pytest.mark.accelerators("reference")
def test_a_wrong_oracle_is_noticed(accelerator, monkeypatch):
    case = next(c for c in cases() if c.text == "x + y" and c.kind == "int32")
    monkeypatch.setattr("tools.sweep.operators._in_numpy", lambda text: "x - y")
    assert check(case, accelerator.default_view)
