"""Correct programs that are similar to the ill-formed ones: they compile to SPIR-V.

A program of ``accepted/`` leaves the inspections of its kernels in ``inspections``.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "accepted").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_accepted(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_ACCELERATOR", "reference")
    inspections = runpy.run_path(str(program))["inspections"]
    assert inspections
    for inspection in inspections:
        assert inspection.spirv
