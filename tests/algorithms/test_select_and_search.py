"""Selections and searches against numpy, in every form and at sizes around those of runs and blocks."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import numbers
from tests.thinned import one_of
from vkamp import algorithms as alg
from vkamp.algorithms import functional


@pytest.mark.spread(2)
def test_floats(accelerator_view, form):
    raw = numbers(700).astype(np.float32) / 8
    for function, of_numpy in ((alg.mean, np.mean), (alg.var, np.var)):
        found = function(raw, accelerator_view=accelerator_view)
        assert np.isclose(float(found), of_numpy(raw.astype(np.float64)), rtol=1e-5)
    assert np.isclose(float(alg.var(raw, ddof=1, accelerator_view=accelerator_view)), raw.var(ddof=1), rtol=1e-5)
    deviation = alg.std(raw.reshape(7, 100), axis=1, correction=1, accelerator_view=accelerator_view)
    np.testing.assert_allclose(deviation, raw.reshape(7, 100).std(1, ddof=1), rtol=1e-5)
    assert np.isclose(float(alg.prod(raw[:9] / 8, accelerator_view=accelerator_view)), (raw[:9] / 8).prod(), rtol=1e-5)
    raw[400] = raw[500] = np.nan
    assert alg.argmin(raw, accelerator_view=accelerator_view) == 400
    assert alg.argmax(raw, accelerator_view=accelerator_view) == 400


@pytest.mark.parametrize(
    ("axis", "keepdims"), [(0, False), (1, True), (-1, False), ((0, 2), False), ((1, 2), True), (None, True)]
)
def test_quantiles_along_axes(accelerator_view, axis, keepdims):
    raw = np.random.default_rng(4).normal(size=(5, 6, 7)).astype(np.float32)
    raw[2, 3, 4] = np.nan
    for q in (0.3, [0, 0.5, 1]):
        found = alg.quantile(raw, q, axis=axis, keepdims=keepdims, accelerator_view=accelerator_view)
        expected = np.quantile(raw.astype(np.float64), q, axis=axis, keepdims=keepdims)
        assert np.asarray(found).shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_counted(accelerator_view):
    raw = numbers(100)
    found = alg.select(raw, lambda x: x > 0, accelerator_view=accelerator_view)
    assert len(found) == (raw > 0).sum() == int(found.count) and found.dtype == np.int32
    assert repr(found) == "<counted, at most 100 int32>"
    assert alg.sum(found.trim()) == raw[raw > 0].sum()
    nothing = alg.select(raw, lambda x: x > 100, accelerator_view=accelerator_view)
    assert len(nothing) == 0 and np.asarray(nothing).shape == (0,)
    with pytest.raises(amp.AmpError, match="no element was found"):
        nothing.trim()
    room = amp.array(amp.extent(5), np.int32, [0] * 5, accelerator_view=accelerator_view)
    small = alg.select(raw, lambda x: x > 0, out=room)
    assert small.count == (raw > 0).sum()
    np.testing.assert_array_equal(np.asarray(room), raw[raw > 0][:5])
    with pytest.raises(amp.AmpError, match="elements were found, but out has room for 5"):
        len(small)


#: What part of the elements is chosen, in each part of an input.
DENSITIES = ((0.0,), (1.0,), (0.02,), (0.39, 0.41), (0.0, 1.0, 0.1, 0.6, 0.0), (1.0, 0.0))


@pytest.mark.parametrize(("number", "length"), list(enumerate((1, 33, 4_097, 12_001))))
def test_densities(accelerator_view, form, number, length):
    """Inputs of which few and many elements are chosen, in parts that differ, in new arrays and in small ones."""
    rng = np.random.default_rng(length)
    is_reference = accelerator_view.accelerator.device_path == "reference"
    for k, parts in enumerate(DENSITIES):
        if is_reference and not one_of(4, number + k):
            continue
        which = np.arange(length) * len(parts) // length
        chosen = (rng.random(length) < np.array(parts)[which]).astype(np.int32)
        raw = rng.integers(-9, 9, length).astype(np.int32)
        on = {"accelerator_view": accelerator_view}
        expected = raw[chosen != 0]
        found = alg.select(raw, flags=chosen, **on)
        np.testing.assert_array_equal(np.asarray(found), expected)
        np.testing.assert_array_equal(np.asarray(alg.nonzero(chosen, **on)), np.flatnonzero(chosen))
        apart, count = alg.partition(raw, flags=chosen, **on)
        np.testing.assert_array_equal(np.asarray(apart), np.concatenate([expected, raw[chosen == 0]]))
        assert count == len(expected)
        room = amp.array_view(np.full(max(len(expected) // 2, 1) + 1, 77, np.int32))
        stored = min(len(room) - 1, len(expected))
        alg.select(raw, flags=chosen, out=room[: len(room) - 1], **on)
        np.testing.assert_array_equal(np.asarray(room), np.append(expected[:stored], [77] * (len(room) - stored)))
        keys = np.cumsum(chosen).astype(np.int32)
        begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        np.testing.assert_array_equal(np.asarray(alg.unique_consecutive(keys, **on)), keys[begins])
        first, lengths = alg.run_length_encode(keys, **on)
        np.testing.assert_array_equal(np.asarray(first), keys[begins])
        np.testing.assert_array_equal(np.asarray(lengths), np.diff(np.append(begins, length)))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="give a predicate or flags="):
        alg.select(numbers(5))
    with pytest.raises(amp.AmpError, match=r"there are extent\(5\) elements, but extent\(4\) flags"):
        alg.select(numbers(5), flags=numbers(4))
    with pytest.raises(ValueError, match="side must be 'left' or 'right', not 'middle'"):
        alg.searchsorted(numbers(5), numbers(5), "middle")
    with pytest.raises(amp.AmpError, match="different extents"):
        alg.mismatch(numbers(5), numbers(6), functional.equal_to)


def test_scattering_from_the_end(accelerator_view):
    at = np.array([-1, 2, -5, 2], np.int32)
    for dtype in (np.int32, np.float32):
        found = amp.array_view(np.arange(9).astype(dtype))
        alg.scatter(found, at[:3], np.array([10, 20, 30], dtype), accelerator_view=accelerator_view)
        np.testing.assert_array_equal(found, np.array([0, 1, 20, 3, 30, 5, 6, 7, 10], dtype))
        alg.scatter_reduce(found, at, np.array([1, 2, 3, 4], dtype), accelerator_view=accelerator_view)
        np.testing.assert_array_equal(found, np.array([0, 1, 26, 3, 33, 5, 6, 7, 11], dtype))
    square = amp.array_view(np.zeros((3, 3), np.int32))
    for function in (alg.scatter, alg.scatter_reduce):
        with pytest.raises(TypeError, match=r"needs an out of rank 1, not extent\(3, 3\): give out.reshape"):
            function(square, at[:2], at[:2], accelerator_view=accelerator_view)


def test_a_histogram_by_edges(accelerator_view):
    a = np.arange(10, dtype=np.float32)
    counts, edges = alg.histogram(a, [0, 2.5, 9], accelerator_view=accelerator_view)
    np.testing.assert_array_equal(counts, np.histogram(a, [0, 2.5, 9])[0])
    np.testing.assert_array_equal(edges, [0, 2.5, 9])
