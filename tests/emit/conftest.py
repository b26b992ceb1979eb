"""Kernels are verified after each pass on their way to a shader."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_VERIFY", "1")
