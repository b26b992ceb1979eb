"""Whole programs: every kernel here runs on each accelerator of the session and is compared with numpy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vkamp as amp


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    """The IR's verifier runs after the lowering of every kernel."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")


@pytest.fixture(params=[1, 2, 4, 8, 32, 64, 128])
def size_of_the_reference(request: pytest.FixtureRequest) -> Iterator[int]:
    """A size of the reference accelerator's subgroups."""
    with amp.reference_subgroups(request.param):
        yield request.param
