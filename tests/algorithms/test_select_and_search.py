"""Selections and searches against numpy, in every form and at sizes around those of runs and blocks."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.test_reduce import numbers
from vkamp import algorithms as alg
from vkamp.algorithms import functional


def first(places, none=-1):
    return next(iter(np.flatnonzero(places)), none)


def heads_of(raw):
    return np.flatnonzero(np.concatenate([[True], raw[1:] != raw[:-1]]))


def compositions(raw):
    """The functions of selections and searches, with what numpy gives."""
    ordered = np.sort(raw)
    heads, n = heads_of(ordered), raw.size
    other = raw.copy()
    other[n // 2] += 1
    queries = np.arange(-120, 120, 7, dtype=np.int32)
    chosen, flags = raw % 3 == 0, (raw > 0).astype(np.uint8)
    return {
        "select": (lambda k: alg.select(raw, lambda x: x > 3, **k), raw[raw > 3]),
        "select by flags": (lambda k: alg.select(raw, flags=flags, **k), raw[raw > 0]),
        "nonzero": (lambda k: alg.nonzero(raw, **k), np.flatnonzero(raw)),
        "partition": (
            lambda k: alg.partition(raw, lambda x: x % 3 == 0, **k)[0],
            np.concatenate([raw[chosen], raw[~chosen]]),
        ),
        "count of a partition": (lambda k: alg.partition(raw, lambda x: x % 3 == 0, **k)[1], chosen.sum()),
        "unique_consecutive": (lambda k: alg.unique_consecutive(ordered, **k), ordered[heads]),
        "runs": (lambda k: alg.run_length_encode(ordered, **k)[0], ordered[heads]),
        "lengths": (lambda k: alg.run_length_encode(ordered, **k)[1], np.diff(np.append(heads, n))),
        "find": (lambda k: alg.find(raw, 7, **k), first(raw == 7)),
        "find_if_not": (lambda k: alg.find_if_not(raw, lambda x: x < 50, **k), first(raw >= 50)),
        "adjacent_find": (lambda k: alg.adjacent_find(raw, **k), first(raw[1:] == raw[:-1])),
        "is_sorted": (lambda k: alg.is_sorted(ordered, **k), True),
        "is not sorted": (lambda k: alg.is_sorted(raw, **k), bool((raw[1:] >= raw[:-1]).all())),
        "is_sorted_until": (lambda k: alg.is_sorted_until(raw, **k), first(np.append(False, raw[1:] < raw[:-1]), n)),
        "mismatch": (lambda k: alg.mismatch(raw, other, **k), n // 2),
        "equal": (lambda k: alg.equal(raw, raw.copy(), **k), True),
        "not equal": (lambda k: alg.equal(raw, other, **k), False),
        "all_of": (lambda k: alg.all_of(raw, lambda x: x >= -100, **k), True),
        "any_of": (lambda k: alg.any_of(raw, lambda x: x > 100, **k), False),
        "none_of": (lambda k: alg.none_of(raw, lambda x: x > 100, **k), True),
        "argmin": (lambda k: alg.argmin(raw, **k), raw.argmin()),
        "argmax": (lambda k: alg.argmax(raw, **k), raw.argmax()),
        "searchsorted": (lambda k: alg.searchsorted(ordered, queries, **k), np.searchsorted(ordered, queries)),
        "to the right": (
            lambda k: alg.searchsorted(ordered, queries, "right", **k),
            np.searchsorted(ordered, queries, "right"),
        ),
        "count": (lambda k: alg.count(raw, 3, **k), (raw == 3).sum()),
        "count_nonzero": (lambda k: alg.count_nonzero(raw, **k), np.count_nonzero(raw)),
        "vdot": (lambda k: alg.vdot(raw, other, **k), np.vdot(raw.astype(np.int64), other)),
    }


@pytest.mark.parametrize("n", [1, 2, 33, 700, 4099])
def test_against_numpy(accelerator_view, form, n):
    if n > 700 and accelerator_view.accelerator.device_path == "reference":
        n = 300
    for name, (function, expected) in compositions(numbers(n)).items():
        found = np.asarray(function({"accelerator_view": accelerator_view}))
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_floats(accelerator_view, form):
    raw = numbers(700).astype(np.float32) / 8
    for function, of_numpy in ((alg.mean, np.mean), (alg.var, np.var)):
        found = function(raw, accelerator_view=accelerator_view)
        assert np.isclose(float(found), of_numpy(raw.astype(np.float64)), rtol=1e-5)
    assert np.isclose(float(alg.var(raw, ddof=1, accelerator_view=accelerator_view)), raw.var(ddof=1), rtol=1e-5)
    assert np.isclose(float(alg.prod(raw[:9] / 8, accelerator_view=accelerator_view)), (raw[:9] / 8).prod(), rtol=1e-5)
    raw[400] = raw[500] = np.nan
    assert alg.argmin(raw, accelerator_view=accelerator_view) == 400
    assert alg.argmax(raw, accelerator_view=accelerator_view) == 400


def test_counted(accelerator_view):
    raw = numbers(100)
    found = alg.select(raw, lambda x: x > 0, accelerator_view=accelerator_view)
    assert len(found) == (raw > 0).sum() == int(found.count) and found.dtype == np.int32
    assert repr(found) == "<counted, at most 100 int32>"
    assert alg.sum(found.trim()) == raw[raw > 0].sum()
    nothing = alg.select(raw, lambda x: x > 100, accelerator_view=accelerator_view)
    assert len(nothing) == 0 and np.asarray(nothing).shape == (0,)
    with pytest.raises(amp.AmpError, match="nothing was found"):
        nothing.trim()
    room = amp.array(amp.extent(5), np.int32, [0] * 5, accelerator_view=accelerator_view)
    small = alg.select(raw, lambda x: x > 0, out=room)
    assert small.count == (raw > 0).sum()
    np.testing.assert_array_equal(np.asarray(room), raw[raw > 0][:5])
    with pytest.raises(amp.AmpError, match="elements were found, and out has room for 5"):
        len(small)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="give a predicate or flags="):
        alg.select(numbers(5))
    with pytest.raises(amp.AmpError, match=r"extent\(5\) elements have extent\(4\) flags"):
        alg.select(numbers(5), flags=numbers(4))
    with pytest.raises(ValueError, match="side is 'left' or 'right', not 'middle'"):
        alg.searchsorted(numbers(5), numbers(5), "middle")
    with pytest.raises(amp.AmpError, match="different extents"):
        alg.mismatch(numbers(5), numbers(6), functional.equal_to)
