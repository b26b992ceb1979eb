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
#: The first row of each function runs on one of these drivers, in one form.  The reference accelerator, which finds
#: races and indices that are out of bounds, runs all rows.  Other accelerators run all rows in their form.
ROTATION = (("llvmpipe", "tiles"), ("swiftshader", "runs"), ("llvmpipe", "runs"), ("swiftshader", "runs"))
#: The suite's accelerators.
USUAL = ("reference", "llvmpipe", "swiftshader")
#: In check mode lavapipe runs one row of so many.
CHECKED = 100


def test_every_function_has_a_row():
    public = {name for name in alg.__all__ if name not in OTHERS}
    public |= {f"lazy.{name}" for name in lazy.__all__ if not inspect.isclass(getattr(lazy, name))}
    assert {each.name for each in ROWS} == public


@pytest.mark.parametrize("part", range(PARTS))
def test_against_numpy(accelerator_view, part):
    name = name_of(accelerator_view)
    functions = list(dict.fromkeys(row.name for row in ROWS))
    for number, row in enumerate(ROWS):
        function = functions.index(row.name)
        driver, form = ROTATION[function % len(ROTATION)]
        if name == "reference":
            form = "runs"
        elif name in USUAL and (name != driver or ROWS[number - 1].name == row.name):
            continue
        if number % PARTS == part:
            with forced(form) if name in USUAL else contextlib.nullcontext():
                for a in inputs(row, number, small=name == "reference"):
                    compare(row, a, {"accelerator_view": accelerator_view})


def test_check_mode_finds_nothing(monkeypatch):
    """``python -m tests.algorithms --check`` runs all rows."""
    monkeypatch.setenv("VKAMP_CHECK", "1")
    view = direct_view(amp.accelerator("llvmpipe"))
    for row in ROWS[::CHECKED]:
        for a in checked_inputs(row):
            compare(row, a, {"accelerator_view": view})
