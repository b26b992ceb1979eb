"""What the tests of BLAS share: the forms."""

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
    """Each form of a routine on each device."""
    with forced(request.param):
        yield request.param
