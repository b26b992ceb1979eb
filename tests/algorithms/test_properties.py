"""Properties of the algorithms, for inputs that hypothesis chooses.

``VKAMP_TEST_EXAMPLES=200`` tries that many inputs for each, in both forms on each accelerator (docs/runs.md).
"""

from __future__ import annotations

import contextlib
import os
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.algorithms.inputs import AFFINE, composed
from tests.library_views import forced
from vkamp import algorithms as alg

EXAMPLES = int(os.environ.get("VKAMP_TEST_EXAMPLES", 0))
#: Around the sizes of runs, tiles and blocks.
EDGES = (1, 2, 3, 4, 31, 32, 33, 64, 255, 256, 257, 511, 512, 513, 1024, 2049, 4099)
WHOLE = {np.int32: st.integers(-4, 4) | st.integers(-(1 << 31), (1 << 31) - 1)}
KINDS = {**WHOLE, np.float32: st.integers(-4, 4) | st.floats(width=32), np.uint32: st.integers(0, (1 << 32) - 1)}


@st.composite
def arrays(draw, most, kinds=KINDS):
    """Short lists of elements, which repeat to any size: with few or many different ones, in runs or mixed."""
    dtype = draw(st.sampled_from(list(kinds)))
    some = np.array(draw(st.lists(kinds[dtype], min_size=1, max_size=12)), dtype)
    n = draw(st.integers(1, 12) | st.sampled_from([each for each in EDGES if each <= most]))
    how = draw(st.sampled_from(["runs", "cycle", "random"]))
    if how == "runs":
        return np.repeat(some, -(-n // some.size))[:n].copy()
    if how == "cycle":
        return np.resize(some, n)
    return np.random.default_rng(n).choice(some, n)


def whole(most):
    return arrays(most, WHOLE)


def flags_of(a):
    return (np.arange(a.size) * 7 % 5 < 2).astype(np.uint8)


# -- the properties: a function of one or two inputs and of the keywords of the launch -------------------------------


def sorting_is_a_stable_permutation(a, b, k):
    order = np.asarray(alg.argsort(a, **k))
    assert (np.sort(order) == np.arange(a.size)).all()
    for (i, x), (j, y) in pairwise(zip(order.tolist(), a[order], strict=True)):
        # NaN is behind all numbers, and equal to itself.
        equal = x == y or (x != x and y != y)
        assert (equal and i < j) or x < y or (y != y and x == x), (i, x, j, y)
    assert np.asarray(alg.sort(a, **k)).tobytes() == a[order].tobytes()


def sorting_again_changes_nothing(a, b, k):
    once = np.asarray(alg.sort(a, descending=True, **k))
    assert np.asarray(alg.sort(once, descending=True, **k)).tobytes() == once.tobytes()
    assert (np.asarray(alg.argsort(once, descending=True, **k)) == np.arange(a.size)).all()


def runs_are_decoded_again(a, b, k):
    values, lengths = alg.run_length_encode(a, **k)
    assert int(alg.sum(lengths.trim(), **k)) == a.size
    again = alg.run_length_decode(values.trim(), lengths.trim(), total=a.size, **k)
    np.testing.assert_array_equal(np.asarray(again), a)


def different_elements_and_their_inverse(a, b, k):
    values, inverse, counts = (np.asarray(each) for each in alg.unique(a, return_inverse=True, return_counts=True, **k))
    np.testing.assert_array_equal(values[inverse], a)
    np.testing.assert_array_equal(np.bincount(inverse, minlength=values.size), counts)
    ordered = alg.sort(a, **k)
    if not np.isnan(np.asarray(a, np.float64)).any():
        np.testing.assert_array_equal(np.asarray(alg.unique_consecutive(ordered, **k)), values)


def differences_of_a_scan(a, b, k):
    upto = alg.scan(a, **k)
    np.testing.assert_array_equal(np.asarray(alg.adjacent_difference(upto, **k)), a)
    np.testing.assert_array_equal(np.asarray(alg.scan(a, inclusive=False, **k)) + a, np.asarray(upto))
    backwards = np.asarray(alg.scan(a, reverse=True, **k))
    np.testing.assert_array_equal(backwards, np.cumsum(a[::-1], dtype=np.int32)[::-1])


def a_scan_ends_with_the_reduction(a, b, k):
    pairs = np.zeros(a.size, AFFINE)
    pairs["factor"], pairs["offset"] = a | 1, np.resize(b, a.size)
    upto = np.asarray(alg.scan(pairs, composed, **k))
    assert upto[-1].item() == alg.reduce(pairs, composed, **k).item()
    factor = np.multiply.accumulate(pairs["factor"], dtype=np.int32)
    np.testing.assert_array_equal(upto["factor"], factor)


def segments_end_with_their_reductions(a, b, k):
    flags = flags_of(a)
    ends = np.flatnonzero(np.r_[flags[1:], 1])
    upto = np.asarray(alg.segmented_scan(a, flags, **k))
    np.testing.assert_array_equal(upto[ends], np.asarray(alg.segmented_reduce(a, flags, **k)))
    in_order = np.asarray(alg.segmented_sort(a, flags, **k))
    for part, expected in zip(np.split(in_order, ends[:-1] + 1), np.split(a, ends[:-1] + 1), strict=True):
        np.testing.assert_array_equal(part, np.sort(expected))


def a_partition_is_two_selections(a, b, k):
    limit = a[0]
    parts, many = alg.partition(a, lambda x: x < limit, **k)
    chosen = np.asarray(alg.select(a, lambda x: x < limit, **k))
    rest = np.asarray(alg.select(a, flags=~(a < limit), **k))
    assert int(many) == chosen.size == int(alg.count_if(a, lambda x: x < limit, **k))
    np.testing.assert_array_equal(np.asarray(parts), np.r_[chosen, rest])
    places = np.asarray(alg.nonzero((a < limit).astype(np.uint8), **k))
    np.testing.assert_array_equal(a[places], chosen)


def a_merge_is_a_sort(a, b, k):
    a, b = np.sort(a), np.sort(b.astype(a.dtype))
    merged = np.asarray(alg.merge(a, b, **k))
    np.testing.assert_array_equal(merged, np.asarray(alg.sort(np.r_[a, b], **k)))
    assert bool(alg.is_sorted(merged, **k))


def algebra_of_sets(a, b, k):
    a, b = np.sort(a), np.sort(b)
    both, union, left, xor = (
        np.asarray(function(a, b, **k))
        for function in (alg.set_intersection, alg.set_union, alg.set_difference, alg.set_symmetric_difference)
    )
    assert union.size == a.size + b.size - both.size
    np.testing.assert_array_equal(np.sort(np.r_[left, both]), a)
    np.testing.assert_array_equal(np.sort(np.r_[xor, both]), union)
    assert bool(alg.includes(union, a, **k)) and bool(alg.includes(a, left, **k) if left.size else True)
    assert bool(alg.includes(a, b, **k)) == (both.size == b.size)


def groups_of_keys(a, b, k):
    values = np.resize(b, a.size)
    keys, sums = (np.asarray(each) for each in alg.reduce_by_key(a, values, **k))
    groups = [(key, [v for _, v in group]) for key, group in groupby(zip(a, values, strict=True), key=lambda p: p[0])]
    np.testing.assert_array_equal(keys, [key for key, _ in groups])
    np.testing.assert_array_equal(sums, [np.sum(group, dtype=np.int32) for _, group in groups])
    first = np.asarray(alg.unique_by_key(a, values, **k)[1])
    np.testing.assert_array_equal(first, [group[0] for _, group in groups])


def the_largest_come_first_in_the_sort(a, b, k):
    count = 1 + b.size % a.size
    for largest in (True, False):
        found, at = (np.asarray(each) for each in alg.topk(a, count, largest=largest, **k))
        np.testing.assert_array_equal(found, np.asarray(alg.sort(a, descending=largest, **k))[:count])
        assert found.tobytes() == a[at].tobytes()
    np.testing.assert_array_equal(np.asarray(alg.nth_element(a, count - 1, **k)).item(), np.sort(a)[count - 1])


def bins_hold_all_in_the_range(a, b, k):
    low, high = sorted((int(a[0]), int(b[0])))
    counts, edges = alg.histogram(a, 7, (low, high + 1), **k)
    inside = (a >= low) & (a <= high + 1)
    assert np.asarray(counts).sum() == inside.sum() and len(np.asarray(edges)) == 8
    assert np.asarray(alg.bincount(a & 31, **k)).sum() == a.size


def places_are_found_by_bisection(a, b, k):
    a, b = np.sort(a), b.astype(a.dtype)
    left, right = (np.asarray(alg.searchsorted(a, b, side, **k)) for side in ("left", "right"))
    np.testing.assert_array_equal(right - left, [(a == x).sum() for x in b])
    assert ((left == 0) | (a[left - 1] < b)).all()


def elements_move_and_come_back(a, b, k):
    order = np.asarray(alg.shuffle(np.arange(a.size, dtype=np.int32), 3, **k))
    moved = alg.take(a, order, **k)
    back = np.zeros_like(a)
    alg.scatter(back, order, moved, **k)
    assert back.tobytes() == a.tobytes()
    shift = int(b[0]) % 7
    assert np.asarray(alg.roll(alg.roll(a, shift, **k), -shift, **k)).tobytes() == a.tobytes()
    assert np.asarray(alg.flip(alg.flip(a, **k), **k)).tobytes() == a.tobytes()


#: Those of any numbers, and those of integers alone.
OF_NUMBERS = (
    sorting_is_a_stable_permutation, sorting_again_changes_nothing, a_partition_is_two_selections,
    the_largest_come_first_in_the_sort, elements_move_and_come_back,
)  # fmt: skip
OF_INTEGERS = (
    runs_are_decoded_again, different_elements_and_their_inverse, differences_of_a_scan,
    a_scan_ends_with_the_reduction, segments_end_with_their_reductions, a_merge_is_a_sort, algebra_of_sets,
    groups_of_keys, bins_hold_all_in_the_range, places_are_found_by_bisection,
)  # fmt: skip
PROPERTIES = {each.__name__: each for each in (*OF_NUMBERS, *OF_INTEGERS)}


def hold(view, name, form, most, examples):
    """Tries a property with so many inputs of at most so many elements."""
    strategy = arrays if PROPERTIES[name] in OF_NUMBERS else whole

    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy(most), whole(min(most, 300)))
    def tried(a, b):
        with contextlib.nullcontext() if form is None else forced(form), np.errstate(all="ignore"):
            PROPERTIES[name](a, b, {"accelerator_view": view})

    tried()


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("name", PROPERTIES)
def test_properties(accelerator_view, name):
    """A few inputs, on one driver."""
    hold(accelerator_view, name, None, 4099, 4)


if EXAMPLES:

    @pytest.mark.parametrize("form", ["runs", "tiles"])
    @pytest.mark.parametrize("name", PROPERTIES)
    def test_many_examples(accelerator_view, name, form):
        is_slow = accelerator_view.accelerator.device_path == "reference"
        hold(accelerator_view, name, form, 64 if is_slow else 4099, EXAMPLES)
