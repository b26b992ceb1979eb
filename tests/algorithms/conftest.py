"""What the tests of algorithms share: the forms, and the sizes at which forms differ."""

from __future__ import annotations

import pytest

from tests.library_views import direct_view, forced


def pytest_collection_modifyitems(config, items):
    """Leaves out the form of GPUs on SwiftShader, which compiles barriers for seconds: lavapipe and the reference
    accelerator run it."""
    left_out = [each for each in items if _is_slow(getattr(each, "callspec", None))]
    if left_out:
        items[:] = [each for each in items if each not in left_out]
        config.hook.pytest_deselected(items=left_out)


def _is_slow(callspec):
    if callspec is None or callspec.params.get("form") != "tiles":
        return False
    return any("swiftshader" in str(each) for each in callspec.params.values())


@pytest.fixture
def accelerator_view(accelerator):
    """The default view through the direct engine, which starts programs sooner."""
    view = direct_view(accelerator)
    yield view
    view.wait()


@pytest.fixture(params=["runs", "tiles"])
def form(request):
    """Each form of an algorithm on each device."""
    with forced(request.param):
        yield request.param


@pytest.fixture
def sizes(accelerator_view):
    """Numbers of elements around the sizes of runs, tiles and blocks."""
    if accelerator_view.accelerator.device_path == "reference":
        return [1, 2, 33, 300]
    return [1, 2, 3, 7, 31, 64, 255, 257, 512, 513, 2047, 2049, 4099, 65_537]
