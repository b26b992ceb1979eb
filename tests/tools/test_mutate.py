"""Planted faults: each is one that Python can read, at the place it names."""

from __future__ import annotations

import ast

import pytest

from tools import mutate


@pytest.mark.parametrize("room", mutate.ROOMS)
def test_every_mutant_is_another_program(room):
    for path in sorted((mutate.ROOT / "vkamp" / room).rglob("*.py")):
        source = path.read_bytes()
        same = ast.dump(ast.parse(source))
        found = list(mutate.mutants_of(path))
        for mutant in found[:: max(1, len(found) // 3)]:
            changed = mutant.apply(source)
            assert ast.dump(ast.parse(changed)) != same, mutant.name


def test_a_choice_is_fixed_by_its_seed():
    first = [m.name for m in mutate.choose(("emit", "check"), 10, 7)]
    assert first == [m.name for m in mutate.choose(("emit", "check"), 10, 7)]
    assert first != [m.name for m in mutate.choose(("emit", "check"), 10, 8)]
    assert {name.split("/")[1] for name in first} == {"emit", "check"}


def test_a_fault_is_caught_and_a_harmless_change_is_not(tmp_path, monkeypatch):
    (tmp_path / "vkamp" / "check").mkdir(parents=True)
    code = tmp_path / "vkamp" / "check" / "thing.py"
    code.write_text("def half(n):\n    if n == 3:\n        pass\n    return n // 2\n", encoding="utf-8")
    for package in ("vkamp", "vkamp/check"):
        (tmp_path / package / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "tests" / "static_analysis").mkdir(parents=True)
    (tmp_path / "tests" / "static_analysis" / "test_thing.py").write_text(
        "from vkamp.check.thing import half\n\n\ndef test_half():\n    assert half(8) == 4\n", encoding="utf-8"
    )
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    verdicts = {m.kind: mutate.judge(m, [], 60) for m in mutate.mutants_of(code) if m.kind in ("arithmetic", "compare")}
    assert verdicts["arithmetic"].by.startswith("tests/static_analysis/test_thing.py::test_half")
    assert verdicts["compare"].by == ""


def test_tests_that_fail_anyway_catch_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "vkamp" / "check").mkdir(parents=True)
    (tmp_path / "vkamp" / "check" / "thing.py").write_text("SIZE = 3 + 4\n", encoding="utf-8")
    (tmp_path / "tests" / "static_analysis").mkdir(parents=True)
    (tmp_path / "tests" / "static_analysis" / "test_thing.py").write_text(
        "def test_it():\n    assert False\n", encoding="utf-8"
    )
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    assert mutate.main(["--room", "check", "--count", "1", "--near", "--limit", "60"]) == 2
    assert "void: without a fault tests/static_analysis/test_thing.py::test_it fails, too" in capsys.readouterr().out
