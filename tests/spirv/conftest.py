"""Each test has a cache of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("VKAMP_CACHE_SIZE", raising=False)
    return tmp_path / "cache" / "spirv"
