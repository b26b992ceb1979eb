"""Functions of elements that have loops, on more elements than lavapipe's limit of iterations allows one invocation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.algorithms.inputs import numbers
from vkamp import algorithms as alg
from vkamp.algorithms import _choose, _loops, lazy

N = 70_001
pytestmark = pytest.mark.accelerators("llvmpipe")


def above(limit, steps):
    def pred(x):
        total = 0
        for _ in range(steps):
            total += x - limit
        return total > 0

    return pred


def less(steps):
    def compare(x, y):
        total = 0
        for _ in range(steps):
            total += y - x
        return total > 0

    return compare


def late_sum(steps):
    """A sum whose second operand is added in many parts."""

    def add(x, y):
        total = x
        for k in range(steps):
            total += y if k == steps // 2 else 0
        return total

    return add


@pytest.fixture
def k(accelerator_view):
    return {"accelerator_view": accelerator_view}


def test_conditions(k):
    a = numbers(N)
    pred = above(30, 300)
    np.testing.assert_array_equal(np.asarray(alg.select(a, pred, **k)), a[a > 30])
    np.testing.assert_array_equal(np.asarray(alg.partition(a, pred, **k)[0]), np.r_[a[a > 30], a[a <= 30]])
    assert int(alg.count_if(a, pred, **k)) == (a > 30).sum()
    last = np.full(N, -1, np.int32)
    last[-1] = 50
    assert int(alg.find_if(last, pred, **k)) == N - 1


def test_operators(k):
    a = numbers(N)
    add = late_sum(300)
    assert int(alg.reduce(a, add, **k)) == a.sum()
    np.testing.assert_array_equal(np.asarray(alg.scan(a, add, **k)), np.cumsum(a))
    np.testing.assert_array_equal(np.asarray(alg.scan(a, add, inclusive=False, init=5, **k)), np.cumsum(a) - a + 5)
    matrix = a[: N // 10 * 10].reshape(2, -1)
    np.testing.assert_array_equal(
        np.asarray(alg.scan(matrix, add, axis=1, reverse=True, **k)), matrix[:, ::-1].cumsum(1)[:, ::-1]
    )
    np.testing.assert_array_equal(np.asarray(alg.scan(matrix, add, axis=1, init=5, **k)), matrix.cumsum(1) + 5)
    np.testing.assert_array_equal(np.asarray(alg.reduce(matrix, add, axis=1, **k)), matrix.sum(1))
    np.testing.assert_array_equal(
        np.asarray(alg.reduce(matrix.reshape(-1, 4), add, axis=0, **k)), matrix.reshape(-1, 4).sum(0)
    )


def test_comparisons(k):
    a = numbers(N)
    compare = less(300)
    assert int(alg.argmin(a, less=compare, **k)) == a.argmin()
    ordered = np.sort(a)
    np.testing.assert_array_equal(np.asarray(alg.merge(ordered, ordered, compare, **k)), np.repeat(ordered, 2))
    np.testing.assert_array_equal(np.asarray(alg.sort(a, key=lambda x: late_sum_of(x, 300), **k)), ordered)


def late_sum_of(x, steps):
    total = 0
    for k in range(steps):
        total += x if k == 7 else 0
    return total


def test_binary_searches(k):
    """Those of the library."""
    a = np.random.default_rng(1).integers(0, 1 << 20, 500_000).astype(np.int32)
    np.testing.assert_array_equal(
        np.asarray(alg.histogram(a, 64, (0, 1 << 20), **k)[0]), np.histogram(a, 64, (0, 1 << 20))[0]
    )
    ordered = np.sort(a)
    assert bool(alg.includes(ordered, ordered[::2], **k))
    assert not bool(alg.includes(ordered, np.r_[ordered[::2], 1 << 21].astype(np.int32), **k))


def test_which_runs_are_short(accelerator_view, k):
    a = lazy.of(numbers(N))
    assert _loops.longest_run(accelerator_view, a, late_sum(9)) == _loops.SHORT_RUN
    assert _loops.longest_run(accelerator_view, a, lambda x, y: x + y) == _choose.LONGEST_RUN
    assert _loops.longest_run(accelerator_view, lazy.map(above(3, 9), a)) == _loops.SHORT_RUN
