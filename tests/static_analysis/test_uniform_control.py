"""Barriers under conditions, in loops and after jumps: which are rejected, and which are not."""

from __future__ import annotations

import pytest

from tests.static_analysis.programs import check_accepted, check_refused
from tests.static_analysis.uniform_control import PROGRAMS


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_VERIFY", "1")


@pytest.mark.parametrize("name", PROGRAMS.refused)
def test_refused(name: str) -> None:
    check_refused(*PROGRAMS.refused[name])


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
@pytest.mark.parametrize("name", PROGRAMS.accepted)
def test_accepted(name: str) -> None:
    check_accepted(PROGRAMS.accepted[name])
