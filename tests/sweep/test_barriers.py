"""A slice of the table of barriers; ``python -m tools.sweep barriers`` runs it whole (docs/runs.md)."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import vkamp as amp
from tools.sweep.barriers import CONSTRUCTS, check, shapes

#: No multiple of a driver's lanes, in one dimension and as rows.
_SHAPES = ((12,), (5, 3))


@pytest.fixture(autouse=True)
def without_advice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", amp.BarrierWarning)
        yield


@pytest.mark.spread(2)
@pytest.mark.parametrize("lowering", ["threads", "loops"])
@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda construct: construct.name)
def test_barriers(accelerator_view, construct, lowering):
    assert [check(construct, shape, lowering, accelerator_view) for shape in _SHAPES] == ["", ""]


@pytest.mark.parametrize("size", range(1, 41))
def test_sizes(accelerator_view, size):
    construct = CONSTRUCTS[size % len(CONSTRUCTS)]
    assert check(construct, (size,), "threads", accelerator_view) == ""


def test_the_table_has_all_sizes():
    assert {shape[0] for shape in shapes() if len(shape) == 1} == set(range(1, 41))
    assert {len(shape) for shape in shapes()} == {1, 2, 3}


@pytest.mark.accelerators("reference")
def test_a_wrong_oracle_is_noticed(accelerator_view):
    wrong = dataclasses.replace(CONSTRUCTS[0], rounds=lambda flag: 2)
    assert "has 2, not 4" in check(wrong, (3,), "threads", accelerator_view)


def test_rows_that_are_narrow_without_tiles(accelerator_view):
    """Rows of three threads: lanes without one run no loop, which would use up what others may run."""

    @amp.kernel
    def narrow(idx, flags, out):
        w = 0
        while flags[idx] == 0:
            w += 1
        count = 0
        for k in range(flags[idx] + 10):
            count += flags[idx] + k - k
        out[idx] = count + w

    flags, out = amp.array_view(np.int32([[1, 2, 3]] * 50)), amp.array_view(np.zeros((50, 3), np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, narrow, flags, out)
    assert [out[49, k] for k in range(3)] == [11, 24, 39]
