"""The command that runs the tables whole."""

from __future__ import annotations

import sys

import pytest

from tools.sweep import __main__ as command
from tools.sweep import barriers, operators


@pytest.mark.parametrize("table", ["operators", "barriers"])
def test_a_part_of_a_table(monkeypatch, capsys, table):
    arguments = [table, "--accelerators", "reference", "--part", "3/4000"]
    monkeypatch.setattr(sys, "argv", ["sweep", *arguments])
    assert command.main() == 0
    said = capsys.readouterr().out
    assert said.startswith("reference: ") and " cases, 0 differ, " in said and not said.startswith("reference: 0 ")


def test_what_differs_is_the_status(monkeypatch, capsys):
    monkeypatch.setattr(barriers, "check", lambda *case: "wrong")
    monkeypatch.setattr(sys, "argv", ["sweep", "barriers", "--accelerators", "reference", "--part", "0/5000"])
    assert command.main() == 1
    assert "reference: wrong\n" in capsys.readouterr().out


def test_a_crash_counts(monkeypatch, capsys):
    def crash(*case, **options):
        raise KeyError("int16")

    monkeypatch.setattr(operators, "check", crash)
    monkeypatch.setattr(sys, "argv", ["sweep", "operators", "--accelerators", "reference", "--part", "0/5000"])
    assert command.main() == 1
    assert "KeyError: 'int16'" in capsys.readouterr().out
