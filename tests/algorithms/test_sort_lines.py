"""Sorts along an axis against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import TYPES, descending_order, numbers_of
from tests.library_views import name_of
from tests.thinned import RUNS_ALL
from vkamp import algorithms as alg

#: With one line along the last axis; with more than 256 lines, whose numbers have two digits; with several axes.
SHAPES = ((1, 40), (300, 5), (2, 1, 3, 20))


def small(view, shape):
    return name_of(view) == "reference" and np.prod(shape) > 300


@pytest.mark.spread(3)
@pytest.mark.parametrize("dtype", TYPES)
def test_types(accelerator_view, dtype):
    k = {"accelerator_view": accelerator_view}
    raw = numbers_of(dtype, 231).reshape(7, 33)
    order = np.argsort(raw, axis=-1, kind="stable")
    assert np.array_equal(alg.argsort(raw, **k), order)
    # Bit for bit, so that zeros keep their signs.
    assert np.asarray(alg.sort(raw, **k)).tobytes() == np.take_along_axis(raw, order, -1).tobytes()
    down = np.stack([descending_order(line) for line in raw])
    assert np.array_equal(alg.argsort(raw, descending=True, **k), down)
    assert np.asarray(alg.sort(raw, descending=True, **k)).tobytes() == np.take_along_axis(raw, down, -1).tobytes()


@pytest.mark.spread(2)
def test_axes(accelerator_view, form):
    k = {"accelerator_view": accelerator_view}
    for shape in SHAPES:
        if small(accelerator_view, shape):
            continue
        raw = np.random.default_rng(3).integers(-20, 20, shape).astype(np.int32)
        for axis in (-1, 0) if shape[0] > 1 else (-1, None):
            # Sorts are of the last axis, and the others give orders; in the shape of several axes, the other way round.
            is_sort = (axis == -1) == (len(shape) == 2)
            if is_sort or RUNS_ALL:
                assert np.array_equal(alg.sort(raw, axis=axis, **k), np.sort(raw, axis))
            if not is_sort or RUNS_ALL:
                assert np.array_equal(alg.argsort(raw, axis=axis, **k), np.argsort(raw, axis, kind="stable"))


@pytest.mark.spread(2)
@pytest.mark.parametrize("part", [0, 1])
def test_orders_and_targets(accelerator_view, part):
    k = {"accelerator_view": accelerator_view}
    raw = np.random.default_rng(4).integers(-50, 50, (5, 12)).astype((np.int32, np.float32)[part])
    assert np.array_equal(alg.sort(raw, less=lambda x, y: x > y, **k), -np.sort(-raw))
    by_key = np.take_along_axis(raw, np.argsort(abs(raw), kind="stable"), -1)
    assert np.array_equal(alg.sort(raw, key=lambda x: abs(x), **k), by_key)
    for axis in (0, 1):
        a = amp.array(raw, accelerator_view=accelerator_view)
        assert alg.sort(a, axis=axis, out=a, **k) is a
        assert np.array_equal(a, np.sort(raw, axis))
    assert np.array_equal(alg.sort(raw[::2, ::-1], axis=0, **k), np.sort(raw[::2, ::-1], 0))
    target = np.zeros((5, 24), raw.dtype)
    alg.sort(raw, out=target[:, ::2], **k)
    amp.array_view(target).synchronize()
    assert np.array_equal(target[:, ::2], np.sort(raw)) and not target[:, 1::2].any()
    offsets = np.array([0, 7, 7, 20, 60], np.int32)
    found = alg.segmented_sort(raw.ravel(), offsets, descending=True, **k)
    parts = np.split(raw.ravel(), offsets[1:-1])
    assert np.array_equal(found, np.concatenate([-np.sort(-part) for part in parts]))


def test_of_nothing():
    empty = np.zeros((0, 3), np.float32)
    assert alg.sort(empty).shape == alg.argsort(empty, axis=0).shape == (0, 3)
