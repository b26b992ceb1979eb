"""Functions of ``counted`` inputs: counts of no element, one, few and all; also in captures, whose counts change."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import direct_view, forced
from vkamp import algorithms as alg
from vkamp.algorithms import functional

N = 1301
#: How many of the first elements are selected.
COUNTS = (0, 1, 5, 700, N)


@amp.func
def first_of_two(x, y):
    return x


@amp.func
def is_wanted(x):
    return x >= 0


@amp.func
def last_digit(x):
    return x % 10


@amp.func
def reversed_less(x, y):
    return x > y


def runs_of(e):
    heads = np.flatnonzero(np.r_[True, e[1:] != e[:-1]][: len(e)])
    return e[heads], np.diff(np.r_[heads, len(e)])


def sums_of_runs(e):
    values, lengths = runs_of(e)
    return values, np.array([part.sum() for part in np.split(e, np.cumsum(lengths)[:-1])][: len(values)], np.int32)


def by_last_digit(e):
    return e[np.argsort(e % 10, kind="stable")]


def multiset(e, other, wanted):
    """C++'s operations on sorted inputs. ``wanted`` computes how often the result has an element, from how often each
    input has it.
    """
    found = []
    for x in np.union1d(e, other):
        found += [x] * wanted(int((e == x).sum()), int((other == x).sum()))
    return np.array(found, np.int32)


NUMBERS = np.arange(-9, 99, dtype=np.int32)
OTHER = np.sort(np.random.default_rng(9).integers(0, 60, 301).astype(np.int32))

#: A function of a counted input of sorted elements, and the expected results. The elements are not negative.
CASES = {
    "reduce": (lambda c: alg.reduce(c, first_of_two, 7), lambda e: 7),
    "reduce without init": (lambda c: alg.reduce(c, first_of_two), lambda e: e[0] if len(e) else 0),
    "transform_reduce": (
        lambda c: alg.transform_reduce(lambda x: x + 1, first_of_two, c), lambda e: e[0] + 1 if len(e) else 0,
    ),
    "run_length_encode": (alg.run_length_encode, runs_of),
    "unique": (
        lambda c: alg.unique(c, return_index=True, return_inverse=True, return_counts=True),
        lambda e: np.unique(e, return_index=True, return_inverse=True, return_counts=True),
    ),
    "unique_consecutive": (
        lambda c: alg.unique_consecutive(c, return_inverse=True), lambda e: np.unique(e, return_inverse=True),
    ),
    "reduce_by_key": (lambda c: alg.reduce_by_key(c, c), sums_of_runs),
    "unique_by_key": (lambda c: alg.unique_by_key(c, c), lambda e: (np.unique(e), np.unique(e))),
    "scan_by_key": (lambda c: alg.scan_by_key(c, c, functional.max), lambda e: e),
    "is_sorted": (
        lambda c: (alg.is_sorted(c), alg.is_sorted(c, reversed_less)), lambda e: (True, len(np.unique(e)) < 2),
    ),
    "is_sorted_until": (
        lambda c: (alg.is_sorted_until(c), alg.adjacent_find(c)),
        lambda e: (len(e), next((k for k in range(len(e) - 1) if e[k] == e[k + 1]), -1)),
    ),
    "equal": (lambda c: (alg.equal(c, c), alg.equal(c, OTHER)), lambda e: (True, False)),
    "mismatch": (
        lambda c: alg.mismatch(c, alg.select(c, lambda x: x < 9)), lambda e: -1 if (e < 9).all() else (e < 9).sum(),
    ),
    "minmax": (alg.minmax, lambda e: (e.min(), e.max()) if len(e) else (2**31 - 1, -(2**31))),
    "sort": (
        lambda c: (alg.sort(c, less=reversed_less), alg.sort(c, less=functional.less, descending=True)),
        lambda e: (e[::-1], e[::-1]),
    ),
    "sort by key": (lambda c: alg.sort(c, key=last_digit), by_last_digit),
    "argsort": (
        lambda c: (alg.argsort(c, less=reversed_less), alg.argsort(c, key=last_digit, descending=True)),
        lambda e: (np.argsort(-e, kind="stable"), np.argsort(-(e % 10), kind="stable")),
    ),
    "scan": (lambda c: alg.scan(c, reverse=True), lambda e: np.cumsum(e[::-1])[::-1]),
    "scan by another operator": (
        lambda c: (
            alg.scan(c, first_of_two, reverse=True),
            alg.scan(c, first_of_two, init=7, inclusive=False, reverse=True),
        ),
        lambda e: (np.full(len(e), e[-1] if len(e) else 0), np.full(len(e), 7)),
    ),
    "merge": (lambda c: (alg.merge(c, OTHER), alg.merge(OTHER, c)), lambda e: (np.sort(np.r_[e, OTHER]),) * 2),
    "set_union": (lambda c: alg.set_union(c, OTHER), lambda e: multiset(e, OTHER, max)),
    "set_intersection": (lambda c: alg.set_intersection(OTHER, c), lambda e: multiset(e, OTHER, min)),
    "set_difference": (
        lambda c: alg.set_difference(c, OTHER), lambda e: multiset(e, OTHER, lambda n, m: max(n - m, 0)),
    ),
    "set_symmetric_difference": (
        lambda c: alg.set_symmetric_difference(c, c), lambda e: np.zeros(0, np.int32),
    ),
    "partition": (
        lambda c: alg.partition(c, lambda x: x % 2 == 0),
        lambda e: (np.r_[e[e % 2 == 0], e[e % 2 != 0]], (e % 2 == 0).sum()),
    ),
    "flip": (alg.flip, lambda e: e[::-1]),
    "take": (lambda c: alg.take(NUMBERS, c), lambda e: e - 9),
}  # fmt: skip


def check(found, expected):
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


def check_each_count(view, name):
    call, expected = CASES[name]
    raw = np.sort(np.random.default_rng(3).integers(0, 50, N).astype(np.int32))
    for count in COUNTS:
        # Elements after the selected ones are small, so that they would come first in the order.
        given = np.where(np.arange(N) < count, raw, -5).astype(np.int32)
        check(call(alg.select(amp.array(given, accelerator_view=view), is_wanted)), expected(raw[:count]))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.spread(3)
def test_of_each_count(accelerator, name):
    with forced("runs"):
        check_each_count(direct_view(accelerator), name)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.accelerators("llvmpipe")
def test_of_each_count_in_tiles(accelerator, name):
    with forced("tiles"):
        check_each_count(direct_view(accelerator), name)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.accelerators("llvmpipe")
def test_counts_that_change_in_a_capture(accelerator, name):
    """What earlier counts have left behind the elements has no effect."""
    call, expected = CASES[name]
    raw = np.sort(np.random.default_rng(5).integers(0, 50, N).astype(np.int32))
    view = direct_view(accelerator)
    a = amp.array(raw, accelerator_view=view)
    other = amp.array(OTHER, accelerator_view=view)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "OTHER", other)
        patch.setitem(globals(), "NUMBERS", amp.array(NUMBERS, accelerator_view=view))
        call(alg.select(a, is_wanted))
        with amp.capture() as graph:
            found = call(alg.select(a, is_wanted))
    for count in (N, 0, 700, 1, 5, N):
        amp.copy(np.where(np.arange(N) < count, raw, -5).astype(np.int32), a)
        graph.replay()
        check(found, expected(raw[:count]))


@pytest.mark.sample("llvmpipe", "reference")
def test_positions_from_the_end_and_different_counts(accelerator_view):
    raw = np.arange(900, dtype=np.int32)
    a = amp.array(raw, accelerator_view=accelerator_view)
    c, other = (alg.select(a, lambda x, most=most: x < most) for most in (300, 299))
    check(alg.take(c, np.array([0, -1, 5], np.int32)), [0, 299, 5])
    check(alg.take(c, alg.transform(lambda x: -1 - x, other)), raw[1:300][::-1])
    check((alg.equal(c, raw[:300]), alg.equal(c, other), alg.mismatch(c, other)), (True, False, 299))
    check(alg.mismatch(raw[:300], c), -1)
    values = raw[:300].astype(np.float32) / 100
    found = alg.logsumexp(alg.transform(lambda x: x / amp.float32(100), c))
    np.testing.assert_allclose(float(found), np.log(np.exp(values, dtype=np.float64).sum()), rtol=1e-5)
    for call, place in ((alg.is_sorted_until, 300), (alg.adjacent_find, -1)):
        out = amp.array(1, np.int32, accelerator_view=accelerator_view)
        call(c, out=out)
        check(out, [place])
