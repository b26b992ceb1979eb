"""Reductions along several axes against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.library_views import name_of
from vkamp import algorithms as alg
from vkamp.algorithms import functional as fn
from vkamp.algorithms import lazy

#: Of four axes: the first, the last, those in the middle, every other one, all, and none.
AXES = ((0, 1), (-1, 2), (2, 1), (0, 2), (0, -1), (1, 3), (0, 2, 3), (3,), (0, 1, 2, 3), ())
SHAPES = ((2, 3, 5, 7), (3, 1, 70, 33))


def last(x, y):
    return y


def last_of(a, axes):
    """What ``last`` reduces lines along axes to."""
    return a[tuple(-1 if at in [axis % a.ndim for axis in axes] else slice(None) for at in range(a.ndim))]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.spread(2)
def test_several_axes(accelerator_view, form, shape):
    if shape == SHAPES[1] and name_of(accelerator_view) == "reference":
        shape = (3, 1, 4, 5)
    a = np.random.default_rng(5).integers(-50, 50, shape).astype(np.int32)
    k = {"accelerator_view": accelerator_view}
    for axis in AXES:
        assert np.array_equal(alg.sum(a, axis=axis, keepdims=True, **k), a.sum(axis, keepdims=True))
        assert np.array_equal(alg.reduce(a, last, axis=axis, **k), last_of(a, axis))


@pytest.mark.spread(2)
@pytest.mark.parametrize("axis", AXES[3:5])
def test_other_reductions(accelerator_view, axis):
    a = np.random.default_rng(5).integers(-50, 50, SHAPES[0]).astype(np.int32)
    f = (a / 7).astype(np.float32)
    k = {"accelerator_view": accelerator_view}
    assert np.array_equal(alg.max(a, axis=axis, **k), a.max(axis))
    assert np.array_equal(alg.count_nonzero(a > 9, axis=axis, **k), np.count_nonzero(a > 9, axis=axis))
    assert np.array_equal(alg.any(a > 48, axis=axis, **k), (a > 48).any(axis))
    assert np.allclose(alg.mean(f, axis=axis, **k), f.mean(axis), atol=1e-5)
    assert np.allclose(alg.var(f, axis=axis, **k), f.var(axis), rtol=1e-4)
    assert np.allclose(alg.logsumexp(f, axis=axis, **k), np.log(np.exp(f).sum(axis)), rtol=1e-5)
    least, most = alg.minmax(f, axis=axis, **k)
    assert np.array_equal(least, f.min(axis)) and np.array_equal(most, f.max(axis))


@pytest.mark.sample("llvmpipe")
def test_of_lazy_inputs_and_strided_memory(accelerator_view):
    a = np.random.default_rng(6).integers(-50, 50, (6, 8, 10)).astype(np.int32)
    k = {"accelerator_view": accelerator_view}
    assert np.array_equal(alg.sum(lazy.map(fn.multiplies, a, a), axis=(0, 2), **k), (a * a).sum((0, 2)))
    for strided in (a[::2, 1:7, ::-3], a.T, np.flip(a)):
        assert np.array_equal(alg.sum(strided, axis=(0, 2), **k), strided.sum((0, 2)))
        assert np.array_equal(alg.min(strided, axis=(1, 0), **k), strided.min((1, 0)))


def test_of_nothing():
    a = np.zeros((0, 3, 2), np.float32)
    assert np.array_equal(alg.sum(a, axis=(0, 2)), np.zeros(3))
    assert np.array_equal(alg.count_nonzero(a, axis=(0, 2)), np.zeros(3))


def test_axes_that_do_not_exist():
    a = np.ones((3, 4), np.float32)
    with pytest.raises(ValueError, match=r"axis=\(0, -2\) has an axis of extent\(3, 4\) twice"):
        alg.sum(a, axis=(0, -2))
    with pytest.raises(ValueError, match="axis 2 is not one of extent"):
        alg.max(a, axis=(0, 2))
    with pytest.raises(TypeError, match=r"a position is along one axis, not \(0, 1\)"):
        alg.argmax(a, axis=(0, 1))
    with pytest.raises(TypeError, match=r"axis is an integer, not \[0, 1\]"):
        alg.sum(a, axis=[0, 1])


@pytest.mark.parametrize("name", ["sum", "mean", "std", "min", "argmax", "any", "count_nonzero"])
def test_all_axes_give_a_number(accelerator_view, name):
    """As numpy's: no dimension is left."""
    row = np.arange(7, dtype=np.float32)
    cases = [(row, 0), (row, -1)] if name == "argmax" else [(row, 0), (row[:6].reshape(2, 3), (0, 1)), (row, (-1,))]
    for a, axis in cases:
        found = getattr(alg, name)(a, axis=axis, accelerator_view=accelerator_view)
        assert np.asarray(found).shape == ()
        np.testing.assert_allclose(float(found), getattr(np, name)(a, axis=axis), rtol=1e-6)
    kept = getattr(alg, name)(row, axis=0, keepdims=True, accelerator_view=accelerator_view)
    assert np.asarray(kept).shape == (1,)
