"""Subgroups of tiles whose threads are loops: the lanes that run a tile, kernels that keep their threads, shaders."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vkamp as amp
from tests.edit.support import edit, exported
from tests.ir.samples import kernel_of
from tools.kernels.lowered.programs import PROGRAMS
from vkamp.lower import NotLowerable, loops
from vkamp.lower.shape import Shape
from vkamp.lower.subgroups import subgroup_lanes

SIZES = (1, 2, 4, 8, 16)


def test_each_iteration_runs_one_subgroup() -> None:
    """The threads that the lanes run in an iteration have consecutive numbers, and lane by lane."""
    extents = (1, 2, 3, 4, 5, 8, 12)
    found = 0
    for size, rank in itertools.product(SIZES, (1, 2, 3)):
        for tile in itertools.product(extents, repeat=rank):
            lanes = subgroup_lanes(tile, size)
            if lanes is None:
                continue
            found += 1
            shape = Shape(tile, lanes, tuple(1 for _ in tile))
            threads = math.prod(tile)
            for number, turn in enumerate(itertools.product(*map(range, shape.trips))):
                ran = []
                for lane in itertools.product(*map(range, lanes)):
                    index = [t * step + k for t, step, k in zip(turn, shape.steps, lane, strict=True)]
                    if all(i < n for i, n in zip(index, tile, strict=True)):
                        ran.append(int(np.ravel_multi_index(index, tile)))
                assert ran == list(range(number * size, min(number * size + size, threads))), (tile, size)
    assert found > 500
    for tile in extents:
        assert subgroup_lanes((tile,), 8) == (min(tile, 8),)
    assert subgroup_lanes((3, 5), 8) is None


def test_reasons_for_threads() -> None:
    kernel = kernel_of("out[i] = amp.subgroup.add(out[i])")
    with pytest.raises(NotLowerable, match="the size of this device's subgroups is not known"):
        loops(kernel, 1)
    with pytest.raises(NotLowerable, match="it requires subgroups of 32 lanes, and this device has 8"):
        loops(replace(kernel, subgroup_size=32), 8)


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_an_edited_shader(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    program = PROGRAMS["subgroup_scan"]()
    out = amp.array_view(np.zeros(135, np.int32))

    def run() -> None:
        values = amp.array_view(np.ones(135, np.int32))
        amp.parallel_for_each(accelerator_view, amp.extent(135).tile(45), program.kernel, values, out)

    try:
        (shader,) = exported(tmp_path, run, lowering="loops")
        edit(shader, ("subgroupInclusiveAdd(", "2 * subgroupInclusiveAdd("))
        run()
    finally:
        amp.use_shaders(None)
    np.testing.assert_array_equal(np.asarray(out), 2 * np.tile(np.arange(1, 46), 3))


@pytest.mark.accelerators("drivers")
def test_check_mode_and_graphs(accelerator_view: amp.accelerator_view) -> None:
    """Check mode runs the threads as they were written; a graph replays the loops."""
    program = PROGRAMS["subgroup_control"]()
    arrays = [amp.array_view(array) for array in program.arrays]
    launch = accelerator_view, amp.extent(88).tile(44), program.kernel, *arrays
    assert amp.check(*launch).ok
    checked = np.asarray(arrays[-1]).copy()
    with amp.capture() as graph:
        amp.parallel_for_each(*launch)
    amp.copy(np.zeros(88, np.int32), arrays[-1])
    graph.replay()
    np.testing.assert_array_equal(np.asarray(arrays[-1]), checked)
