"""Check mode compiles the bodies of unrolled loops once: drivers inline its calls for each access."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import direct_view
from vkamp import algorithms as alg
from vkamp.algorithms import _choose, sort_lines_tiles
from vkamp.ir import nodes as ir
from vkamp.pipeline import checked


@pytest.fixture
def instrumented(monkeypatch):
    """The kernels that check mode has made."""
    kernels = []
    instrument = checked.instrument

    def noted(*args, **named):
        result = instrument(*args, **named)
        kernels.append(result[0].kernel)
        return result

    monkeypatch.setattr(checked, "instrument", noted)
    return kernels


@pytest.mark.accelerators("llvmpipe")
def test_a_sort_of_lines_in_tiles_is_checked(accelerator, monkeypatch, instrumented):
    monkeypatch.setattr(sort_lines_tiles, "_FEW", 8)
    monkeypatch.setenv("VKAMP_CHECK", "1")
    a = np.random.default_rng(1).integers(0, 9, (3, 20)).astype(np.int32)
    view = direct_view(accelerator)
    with _choose.forced("tiles"):
        found = np.asarray(alg.sort(amp.array(a, accelerator_view=view), axis=1))
    assert (found == np.sort(a, axis=1)).all()
    [kernel] = [each for each in instrumented if each.name == "sort_in_tiles"]
    loops = [each for each in kernel.statements() if isinstance(each, ir.For)]
    assert loops
    assert not any(each.unroll for each in loops)
