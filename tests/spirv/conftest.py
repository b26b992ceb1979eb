"""Each test has a separate cache and separate compilers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vkamp.spirv import resident


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("VKAMP_CACHE_SIZE", raising=False)
    return tmp_path / "cache" / "spirv"


@pytest.fixture(autouse=True)
def _no_process_from_another_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(resident, "_residents", {})
    yield
    for each in resident._residents.values():
        each.stop()
