"""Every public function of ``vkamp.algorithms`` against numpy: a slice of the rows' inputs.

``python -m tests.algorithms`` runs all of them.
"""

from __future__ import annotations

import contextlib
import inspect

import pytest

import vkamp as amp
from tests.algorithms import rows  # noqa: F401
from tests.algorithms.table import ROWS, checked_inputs, compare, inputs
from tests.library_views import direct_view, forced, name_of
from vkamp import algorithms as alg
from vkamp.algorithms import lazy

#: Classes, modules, and what the tests of `stl` cover.
OTHERS = {"counted", "deterministic", "device_scalar", "functional", "lazy", "stl", "trim"}
PARTS = 8
#: Each row runs on one of these, if it is a driver, and in one form there; on any other accelerator in its form.  The
#: reference accelerator, which finds races and indices that are out of bounds, runs all rows.
ROTATION = ("llvmpipe", "reference", "llvmpipe", "swiftshader")
#: In check mode lavapipe runs one row of so many.
CHECKED = 64


def test_every_function_has_a_row():
    public = {name for name in alg.__all__ if name not in OTHERS}
    public |= {f"lazy.{name}" for name in lazy.__all__ if not inspect.isclass(getattr(lazy, name))}
    assert {each.name for each in ROWS} == public


@pytest.mark.parametrize("part", range(PARTS))
def test_against_numpy(accelerator_view, part):
    name = name_of(accelerator_view)
    for number, row in enumerate(ROWS):
        cycle = number // len(ROTATION)
        is_own = name not in ROTATION or name in ("reference", ROTATION[number % len(ROTATION)])
        if cycle % PARTS == part and is_own:
            with form_of(name, cycle):
                for a in inputs(row, cycle, small=name == "reference"):
                    compare(row, a, {"accelerator_view": accelerator_view})


def test_check_mode_finds_nothing(monkeypatch):
    """``python -m tests.algorithms --check`` runs all rows."""
    monkeypatch.setenv("VKAMP_CHECK", "1")
    view = direct_view(amp.accelerator("llvmpipe"))
    for row in ROWS[::CHECKED]:
        for a in checked_inputs(row):
            compare(row, a, {"accelerator_view": view})


def form_of(name, cycle):
    """Every other row runs in tiles on lavapipe; SwiftShader is slow with threads and barriers."""
    if name not in ROTATION:
        return contextlib.nullcontext()
    return forced("tiles" if name == "llvmpipe" and cycle % 2 == 0 else "runs")
