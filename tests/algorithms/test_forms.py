"""The form of each function on SwiftShader: there, threads that wait at barriers are slow."""

from __future__ import annotations

import pytest

from tests.algorithms import rows  # noqa: F401
from tests.algorithms.table import ROWS, data, shape_of
from vkamp.dispatch import launch_cache, preparing

PARTS = 2


@pytest.mark.accelerators("swiftshader")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_threads_wait(accelerator_view, part, monkeypatch):
    """No launch of a function on more than 2^12 elements has a barrier of threads: ``loops``, or no barrier at all."""
    found = {}
    make = preparing._made

    def record(view, *args, **named):
        made = make(view, *args, **named)
        found[made.programs.compiled.name] = made.executable
        return made

    monkeypatch.setattr(preparing, "_made", record)
    # Every launch is prepared, whatever other tests have launched.
    monkeypatch.setattr(launch_cache, "repeat", lambda *_: False)
    monkeypatch.setattr(launch_cache, "launch_alike", lambda *_: False)
    for row in list({each.name: each for each in ROWS}.values())[part::PARTS]:
        dtype = next(each for each in row.dtypes if each().itemsize == 4 or len(row.dtypes) == 1)
        row.call(data("random", dtype, shape_of(row, 4099)), {"accelerator_view": accelerator_view})
    waiting = {name for name, each in found.items() if each.lowering != "loops" and waits(each.shader.glsl)}
    assert not waiting
    assert len(found) > 10


def waits(glsl):
    return any(statement.strip() == "barrier()" for statement in glsl.replace("{", ";").split(";"))
