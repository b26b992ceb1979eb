"""What the tests of Fourier transforms share: the engine."""

from __future__ import annotations

import pytest

from tests.library_views import direct_view


@pytest.fixture
def accelerator_view(accelerator):
    """The default view through the direct engine, which starts programs sooner."""
    view = direct_view(accelerator)
    yield view
    view.wait()
