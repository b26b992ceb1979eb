"""The forms of axes in another order, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import forced
from vkamp import algorithms as alg

SHAPES = [
    ((3, 5), (1, 0)),
    ((64, 128), (1, 0)),
    ((130, 70), (1, 0)),
    ((3, 66, 40), (2, 1, 0)),
    ((3, 66, 40), (0, 2, 1)),
    ((2, 3, 33, 65), (3, 2, 0, 1)),
    ((2, 3, 33, 65), (1, 0, 2, 3)),
]


@pytest.fixture(autouse=True)
def tiles():
    with forced("tiles"):
        yield


def check(view, shape, order, dtype):
    raw = (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype)
    found = alg.permute_dims(amp.array(raw, accelerator_view=view), order)
    np.testing.assert_array_equal(np.asarray(found), raw.transpose(order))


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize(("shape", "order"), SHAPES, ids=str)
def test_blocks(accelerator_view, shape, order):
    """Whole blocks, parts of blocks, other axes beside the two, and orders that keep the last axis."""
    for dtype in (np.float32, np.complex64):
        check(accelerator_view, shape, order, dtype)


@pytest.mark.accelerators("reference")
def test_blocks_on_the_reference(accelerator_view):
    check(accelerator_view, (3, 70), (1, 0), np.float32)


@pytest.mark.accelerators("llvmpipe")
def test_other_sources_and_targets(accelerator_view):
    """Small elements, structs, lazy inputs, views with gaps as inputs and targets."""
    check(accelerator_view, (70, 66), (1, 0), np.uint8)
    pairs = np.zeros((5, 7), [("a", np.int32), ("b", np.float32)])
    pairs["a"] = np.arange(35).reshape(5, 7)
    np.testing.assert_array_equal(np.asarray(alg.transpose(pairs, accelerator_view=accelerator_view)), pairs.T)
    raw = np.arange(66 * 80, dtype=np.int32).reshape(66, 80)
    doubled = alg.transpose(alg.lazy.map(lambda x: 2 * x, raw), accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(doubled), 2 * raw.T)
    target = np.zeros((80, 132), np.int32)
    alg.transpose(raw[::-1], out=target[:, ::2], accelerator_view=accelerator_view)
    np.testing.assert_array_equal(target[:, ::2], raw[::-1].T)
    assert not target[:, 1::2].any()
