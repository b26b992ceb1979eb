"""The accelerators that have every optional type: those of the session by the direct engine, and the reference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vkamp as amp
from pytest_vkamp import accelerator_names
from tests.conftest import MARKER

#: Those that have none of them.
WITHOUT = ("swiftshader",)


def _names(config: pytest.Config) -> list[str]:
    names = [name.partition("@")[0] for name in accelerator_names(config)]
    names = [name for name in dict.fromkeys(names) if name not in WITHOUT]
    return [name if name == "reference" else f"{name}@vulkan" for name in names]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "typed" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker(MARKER)
        names = _names(metafunc.config)
        if marker is not None and "drivers" in marker.args:
            names = [name for name in names if name != "reference"]
        metafunc.parametrize("typed", names, indirect=True)


@pytest.fixture
def typed(request: pytest.FixtureRequest) -> Iterator[amp.accelerator_view]:
    """A view of each accelerator that has every optional type."""
    view = amp.accelerator(request.param).default_view
    yield view
    view.wait()


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    """The IR's verifier runs after every pass."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")
