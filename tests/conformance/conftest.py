"""Conformance: small programs, one for each row of C++ AMP's model, on every accelerator."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    """The IR's verifier runs after the lowering of every kernel."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")
