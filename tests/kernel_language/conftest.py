"""Whole programs: every kernel here runs on each accelerator of the session and is compared with numpy."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    """The IR's verifier runs after the lowering of every kernel."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")
