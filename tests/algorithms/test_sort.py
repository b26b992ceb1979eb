"""Sorting against numpy: every type, both directions, comparisons, keys, and NaN."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import TYPES, descending_order, numbers_of
from tests.library_views import forced
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy, topk_runs

PAIR = np.dtype([("a", np.int32), ("b", np.float32)])


@pytest.fixture
def many(accelerator_view):
    return 130 if accelerator_view.accelerator.device_path == "reference" else 2311


@pytest.mark.spread(3)
@pytest.mark.parametrize("dtype", TYPES)
def test_types(accelerator_view, dtype, many):
    for n in (2, many):
        raw = numbers_of(dtype, n)
        order = np.argsort(raw, kind="stable")
        np.testing.assert_array_equal(np.asarray(alg.argsort(raw, accelerator_view=accelerator_view)), order)
        # Bit for bit, so that zeros keep their signs.
        assert np.asarray(alg.sort(raw, accelerator_view=accelerator_view)).tobytes() == raw[order].tobytes()
        found = alg.argsort(raw, descending=True, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(found), descending_order(raw))


@pytest.mark.spread(2)
@pytest.mark.parametrize("size", ["two", "many"])
def test_comparisons_and_keys(accelerator_view, size, many):
    n = 2 if size == "two" else many
    raw = np.random.default_rng(n).integers(0, 50, n).astype(np.int32)

    def order(**options):
        return np.asarray(alg.argsort(raw, accelerator_view=accelerator_view, **options))

    backwards = np.argsort(-raw, kind="stable")
    np.testing.assert_array_equal(order(less=lambda x, y: x > y), backwards)
    np.testing.assert_array_equal(order(less=functional.less, descending=True), backwards)
    np.testing.assert_array_equal(order(key=lambda x: (x * 7) % 13), np.argsort((raw * 7) % 13, kind="stable"))
    pairs = np.zeros(n, PAIR)
    pairs["a"], pairs["b"] = raw % 5, np.random.default_rng(n).random(n)
    found = alg.sort(
        pairs, less=lambda x, y: x.a < y.a or (x.a == y.a and x.b < y.b), accelerator_view=accelerator_view
    )
    np.testing.assert_array_equal(np.asarray(found), np.sort(pairs, order=["a", "b"]))
    keys, values, wide = alg.sort_by_key(raw, pairs, raw.astype(np.int64), accelerator_view=accelerator_view)
    by_key = np.argsort(raw, kind="stable")
    np.testing.assert_array_equal(np.asarray(keys), raw[by_key])
    np.testing.assert_array_equal(np.asarray(values), pairs[by_key])
    np.testing.assert_array_equal(np.asarray(wide), raw[by_key])
    k = max(1, n // 3)
    for largest in (True, False):
        elements, at = alg.topk(raw, k, largest=largest, accelerator_view=accelerator_view)
        expected = (backwards if largest else by_key)[:k]
        np.testing.assert_array_equal(np.asarray(at), expected)
        np.testing.assert_array_equal(np.asarray(elements), raw[expected])


@pytest.mark.parametrize("k", [1, 7, 20])
@pytest.mark.spread(2)
def test_the_largest_by_groups(accelerator_view, monkeypatch, k):
    """Ties within and between groups, NaN, zeros of both signs, and a last group with few elements."""
    monkeypatch.setattr(topk_runs, "_FEWEST", 1000)
    random = np.random.default_rng(k)
    n = 2003
    assert topk_runs.group_of(n, k)
    zeros = np.where(random.random(n) < 0.5, np.float32(0), np.float32(-0.0))
    zeros[random.integers(0, n, 5)] = np.nan
    for raw in (
        random.standard_normal(n).astype(np.float32),
        zeros,
        random.integers(-2, 3, n).astype(np.int32),
        random.integers(0, 256, n).astype(np.uint8),
        np.full(n, 9, np.uint32),
    ):
        for largest in (True, False):
            elements, at = alg.topk(raw, k, largest=largest, accelerator_view=accelerator_view)
            order = descending_order(raw) if largest else np.argsort(raw, kind="stable")
            np.testing.assert_array_equal(np.asarray(at), order[:k])
            np.testing.assert_array_equal(np.asarray(elements), raw[order[:k]])


def test_the_largest_of_computed_elements_with_loops(accelerator_view, monkeypatch):
    monkeypatch.setattr(topk_runs, "_FEWEST", 1000)
    raw = np.random.default_rng(1).integers(0, 99, 1501).astype(np.int32)
    found, at = alg.topk(lazy.map(_power, raw), 5, accelerator_view=accelerator_view)
    order = descending_order(raw)[:5]
    np.testing.assert_array_equal(np.asarray(at), order)
    np.testing.assert_array_equal(np.asarray(found), raw[order] ** 3)


def best_along(raw, k, axis, largest):
    """The ``k`` best elements along an axis and their positions, of equal ones the first."""
    if axis is None:
        raw, axis = raw.ravel(), 0
    order = np.apply_along_axis(descending_order, axis, raw) if largest else np.argsort(raw, axis, kind="stable")
    order = np.take(order, range(k), axis)
    return np.take_along_axis(raw, order, axis), order


@pytest.mark.spread(4)
@pytest.mark.parametrize("axis", [None, -1, 0, 1])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_the_largest_along_an_axis(accelerator_view, axis, dtype):
    raw = np.random.default_rng(3).integers(-9, 9, (5, 7, 11)).astype(dtype)
    if dtype == np.float32:
        raw[raw == 3] = np.nan
    for given in (raw, raw[:, ::-1, ::2], raw[:1]):
        for k, largest in ((1, True), (3, False)):
            if axis is not None and given.shape[axis] < k:
                continue
            elements, at = alg.topk(given, k, largest=largest, axis=axis, accelerator_view=accelerator_view)
            expected, order = best_along(given, k, axis, largest)
            np.testing.assert_array_equal(np.asarray(at), order)
            np.testing.assert_array_equal(np.asarray(elements), expected)


@pytest.mark.parametrize("form", ["runs", "tiles"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.spread(2)
def test_the_largest_of_few_long_lines(accelerator_view, monkeypatch, largest, form):
    monkeypatch.setattr(topk_runs, "_FEWEST", 1000)
    forms = dict.fromkeys(("runs", "tiles"), (3, 1000))
    monkeypatch.setattr(sys.modules["vkamp.algorithms.topk"], "_FEW_LONG", forms)
    raw = np.random.default_rng(3).integers(-50, 50, (3, 1401)).astype(np.float32)
    raw[1, 70] = np.nan
    assert topk_runs.group_of(1401, 5)
    # The tiles of the selection have more threads than a quick run of the reference.
    is_slow = form == "tiles" and accelerator_view.accelerator.device_path == "reference"
    raw = raw[:, :130] if is_slow else raw
    with forced(form):
        for given, axis in ((raw, -1), (raw.T, 0)):
            elements, at = alg.topk(given, 5, largest=largest, axis=axis, accelerator_view=accelerator_view)
            expected, order = best_along(given, 5, axis, largest)
            np.testing.assert_array_equal(np.asarray(at), order)
            np.testing.assert_array_equal(np.asarray(elements), expected)


def test_the_largest_in_targets(accelerator_view):
    raw = np.random.default_rng(3).integers(-50, 50, (6, 9)).astype(np.int32)
    wide = amp.array(amp.extent(4, 9), np.float32, accelerator_view=accelerator_view)
    elements, at = amp.array_view(wide)[::2], np.empty((2, 9), np.int32)
    expected, order = best_along(raw, 2, 0, True)
    found, places = alg.topk(raw, 2, axis=0, sorted=False, out=(elements, at), accelerator_view=accelerator_view)
    assert found is elements
    np.testing.assert_array_equal(np.asarray(wide)[::2], expected)
    np.testing.assert_array_equal(np.asarray(places), order)
    found, places = alg.topk(raw, 2, axis=0, out=(None, lazy.discard), accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(found), expected)
    with pytest.raises(TypeError, match="out must be a tuple of 2 targets"):
        alg.topk(raw, 2, out=at)
    with pytest.raises(amp.AmpError, match=r"out has extent\(2, 9\), but the result has extent\(6, 2\)"):
        alg.topk(raw, 2, out=(None, at))
    with pytest.raises(amp.AmpError, match="out overlaps an input"):
        alg.topk(raw, 1, axis=0, out=(None, raw[3:4]), accelerator_view=accelerator_view)


def test_the_largest_of_no_lines():
    found, at = alg.topk(np.zeros((0, 4), np.float32), 3)
    assert found.shape == at.shape == (0, 3) and found.dtype == np.float32 and at.dtype == np.int32
    for a, axis in ((np.zeros((0, 4), np.float32), 0), (np.zeros((0, 4), np.float32), None)):
        with pytest.raises(ValueError, match="cannot find the 2 largest of 0 elements"):
            alg.topk(a, 2, axis=axis)


@amp.func
def _power(x):
    product = x
    for _ in range(2):
        product *= x
    return product


def test_wrong_arguments():
    raw = np.zeros((3, 4), np.int32)
    with pytest.raises(TypeError, match="sorting needs rank 1"):
        alg.sort_by_key(raw, raw)
    with pytest.raises(ValueError, match="axis 2 is not one of extent"):
        alg.sort(raw, axis=2)
    with pytest.raises(TypeError, match="structs have no order, which sort needs: give less= or key="):
        alg.sort(np.zeros(3, PAIR))
    with pytest.raises(ValueError, match="cannot find the 5 largest of 4 elements"):
        alg.topk(raw, 5)
    with pytest.raises(ValueError, match="axis 2 is not one of extent"):
        alg.topk(raw, 1, axis=2)
    with pytest.raises(amp.AmpError, match="keys, but"):
        alg.sort_by_key(raw[0], raw[:, 0])
