"""The names of C++ AMP's library: all of them, each on ranges of a few hundred elements."""

# Each call is a line.
# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp.algorithms import functional as fn
from vkamp.algorithms import lazy, stl

RAW = np.random.default_rng(2).integers(-40, 40, 301).astype(np.int32)
SORTED = np.sort(RAW)
LESS = np.sort(RAW[:100])
HEADS = SORTED[np.flatnonzero(np.r_[True, SORTED[1:] != SORTED[:-1]])]
BEFORE = RAW[RAW < 9]


def below_nine(x):
    return x < 9


def increase(values, i):
    values[i] += 1


def pair_by_pair(a, b):
    return np.r_[a[:9], b[9:]]


def is_permutation(found, of):
    return (np.sort(found) == np.sort(of)).all()


#: Name: the calls, on views of RAW, of SORTED, of LESS and of memory, each with what it has to be.  A function of the
#: view and an expected value: the first returns what is compared.
CASES = {
    "adjacent_difference": [(lambda v, s, t, o: stl.adjacent_difference(v, o), np.diff(RAW, prepend=0))],
    "adjacent_find": [
        (lambda v, s, t, o: stl.adjacent_find(s), np.flatnonzero(SORTED[1:] == SORTED[:-1])[0]),
        (lambda v, s, t, o: stl.adjacent_find(v, lambda a, b: b > a + 60), np.flatnonzero(RAW[1:] > RAW[:-1] + 60)[0]),
    ],
    "all_of": [(lambda v, s, t, o: stl.all_of(v, below_nine), False), (lambda v, s, t, o: (stl.all_of(v, lambda x: x < 99, o), o[:1])[1], [1])],
    "any_of": [(lambda v, s, t, o: stl.any_of(v, below_nine), True)],
    "none_of": [(lambda v, s, t, o: stl.none_of(v, below_nine), False), (lambda v, s, t, o: stl.none_of(v, lambda x: x > 99), True)],
    "binary_search": [(lambda v, s, t, o: stl.binary_search(s, int(RAW[5])), True), (lambda v, s, t, o: stl.binary_search(s, 41), False)],
    "copy": [(lambda v, s, t, o: stl.copy(v, o), RAW)],
    "copy_backward": [(lambda v, s, t, o: (stl.copy_backward(v[:298], v[3:]), v)[1], np.r_[RAW[:3], RAW[:-3]])],
    "copy_if": [(lambda v, s, t, o: stl.copy_if(v, o, below_nine), BEFORE)],
    "copy_n": [(lambda v, s, t, o: stl.copy_n(v, 7, o[:7]), RAW[:7])],
    "count": [(lambda v, s, t, o: stl.count(v, 7), (RAW == 7).sum())],
    "count_if": [(lambda v, s, t, o: stl.count_if(v, below_nine), BEFORE.size)],
    "equal": [(lambda v, s, t, o: stl.equal(v, v), True), (lambda v, s, t, o: stl.equal(v, s), False)],
    "equal_range": [(lambda v, s, t, o: [int(at) for at in stl.equal_range(s, 7)], [np.searchsorted(SORTED, 7), np.searchsorted(SORTED, 7, "right")])],
    "fill": [(lambda v, s, t, o: stl.fill(v, 3), np.full(301, 3))],
    "fill_n": [(lambda v, s, t, o: stl.fill_n(v, 5, 3), np.r_[np.full(5, 3), RAW[5:]])],
    "find": [(lambda v, s, t, o: stl.find(v, int(RAW[200])), np.flatnonzero(RAW == RAW[200])[0]), (lambda v, s, t, o: stl.find(v, 99), -1)],
    "find_end": [(lambda v, s, t, o: stl.find_end(v, v[250:252]), 250)],
    "find_first_of": [(lambda v, s, t, o: stl.find_first_of(v, v[10:11]), np.flatnonzero(RAW == RAW[10])[0])],
    "find_if": [(lambda v, s, t, o: stl.find_if(v, below_nine), np.flatnonzero(RAW < 9)[0])],
    "find_if_not": [(lambda v, s, t, o: stl.find_if_not(v, below_nine), np.flatnonzero(RAW >= 9)[0])],
    "for_each": [(lambda v, s, t, o: (stl.for_each(v, increase), v)[1], RAW + 1)],
    "for_each_no_return": [(lambda v, s, t, o: (stl.for_each_no_return(v, increase), v)[1], RAW + 1)],
    "generate": [(lambda v, s, t, o: stl.generate(v, lambda i: i * i), np.arange(301) ** 2)],
    "generate_n": [(lambda v, s, t, o: stl.generate_n(v, 5, lambda i: i * i), np.r_[np.arange(5) ** 2, RAW[5:]])],
    "includes": [(lambda v, s, t, o: stl.includes(s, t), True), (lambda v, s, t, o: stl.includes(t, s), False)],
    "inner_product": [(lambda v, s, t, o: stl.inner_product(v, s, 5), 5 + RAW @ SORTED), (lambda v, s, t, o: stl.inner_product(v, s, -99, fn.max, fn.minus), (RAW - SORTED).max())],
    "inplace_merge": [(lambda v, s, t, o: (stl.copy(s[200:], o[:101]), stl.copy(s[:200], o[101:]), stl.inplace_merge(o, 101))[2], SORTED)],
    "iota": [(lambda v, s, t, o: stl.iota(v, 7), np.arange(7, 308))],
    "is_partitioned": [(lambda v, s, t, o: stl.is_partitioned(s, below_nine), True), (lambda v, s, t, o: stl.is_partitioned(v, below_nine), False)],
    "is_sorted": [(lambda v, s, t, o: stl.is_sorted(s), True), (lambda v, s, t, o: stl.is_sorted(s, fn.greater), False)],
    "is_sorted_until": [(lambda v, s, t, o: stl.is_sorted_until(v), np.flatnonzero(RAW[1:] < RAW[:-1])[0] + 1)],
    "iter_swap": [(lambda v, s, t, o: (stl.iter_swap(v, 0, v, 300), v)[1], np.r_[RAW[300:], RAW[1:300], RAW[:1]])],
    "lexicographical_compare": [(lambda v, s, t, o: stl.lexicographical_compare(t, s), LESS.tolist() < SORTED.tolist())],
    "lower_bound": [(lambda v, s, t, o: stl.lower_bound(s, 7), np.searchsorted(SORTED, 7))],
    "upper_bound": [(lambda v, s, t, o: stl.upper_bound(s, 7), np.searchsorted(SORTED, 7, "right"))],
    "max_element": [(lambda v, s, t, o: stl.max_element(v), RAW.argmax()), (lambda v, s, t, o: stl.max_element(v, fn.greater), RAW.argmin())],
    "min_element": [(lambda v, s, t, o: stl.min_element(v), RAW.argmin())],
    "merge": [(lambda v, s, t, o: stl.merge(s[:100], s[100:], o), SORTED)],
    "minmax": [(lambda v, s, t, o: list(stl.minmax(3, 2)), [2, 3])],
    "minmax_element": [(lambda v, s, t, o: [int(at) for at in stl.minmax_element(v)], [RAW.argmin(), 300 - RAW[::-1].argmax()])],
    "mismatch": [(lambda v, s, t, o: stl.mismatch(v, s), np.flatnonzero(RAW != SORTED)[0])],
    "move": [(lambda v, s, t, o: stl.move(v, o), RAW)],
    "move_backward": [(lambda v, s, t, o: (stl.move_backward(v[:298], v[3:]), v)[1], np.r_[RAW[:3], RAW[:-3]])],
    "nth_element": [(lambda v, s, t, o: stl.nth_element(v, 77)[77:78], SORTED[77:78])],
    "partial_sort": [(lambda v, s, t, o: stl.partial_sort(v, 77)[:77], SORTED[:77]), (lambda v, s, t, o: stl.partial_sort(v, 7, fn.greater)[:7], SORTED[::-1][:7])],
    "partial_sort_copy": [(lambda v, s, t, o: stl.partial_sort_copy(v, o[:20]), SORTED[:20])],
    "partition": [(lambda v, s, t, o: (stl.partition(v, below_nine), v)[1], np.r_[BEFORE, RAW[RAW >= 9]])],
    "partition_point": [(lambda v, s, t, o: stl.partition_point(s, below_nine), BEFORE.size)],
    "random_shuffle": [(lambda v, s, t, o: is_permutation(stl.random_shuffle(v), RAW), True)],
    "reduce": [(lambda v, s, t, o: stl.reduce(v, 5), 5 + RAW.sum()), (lambda v, s, t, o: stl.reduce(v, 0, fn.max), RAW.max())],
    "remove": [(lambda v, s, t, o: (lambda n: v[: int(n)])(stl.remove(v, 7)), RAW[RAW != 7])],
    "remove_copy": [(lambda v, s, t, o: stl.remove_copy(v, o, 7), RAW[RAW != 7])],
    "remove_copy_if": [(lambda v, s, t, o: stl.remove_copy_if(v, o, below_nine), RAW[RAW >= 9])],
    "remove_if": [(lambda v, s, t, o: (lambda n: v[: int(n)])(stl.remove_if(v, below_nine)), RAW[RAW >= 9])],
    "replace": [(lambda v, s, t, o: stl.replace(v, 7, 99), np.where(RAW == 7, 99, RAW))],
    "replace_copy": [(lambda v, s, t, o: stl.replace_copy(v, o, 7, 99), np.where(RAW == 7, 99, RAW))],
    "replace_copy_if": [(lambda v, s, t, o: stl.replace_copy_if(v, o, below_nine, 99), np.where(RAW < 9, 99, RAW))],
    "replace_if": [(lambda v, s, t, o: stl.replace_if(v, below_nine, 99), np.where(RAW < 9, 99, RAW))],
    "reverse": [(lambda v, s, t, o: stl.reverse(v), RAW[::-1])],
    "reverse_copy": [(lambda v, s, t, o: stl.reverse_copy(v, o), RAW[::-1])],
    "rotate": [(lambda v, s, t, o: stl.rotate(v, 5), np.roll(RAW, -5))],
    "rotate_copy": [(lambda v, s, t, o: stl.rotate_copy(v, 5, o), np.roll(RAW, -5))],
    "search": [(lambda v, s, t, o: stl.search(v, v[100:104]), 100)],
    "search_n": [(lambda v, s, t, o: stl.search_n(s, 3, 7), np.searchsorted(SORTED, 7))],
    "set_difference": [(lambda v, s, t, o: np.sort(np.r_[np.asarray(stl.set_difference(s, t)), LESS]), SORTED)],
    "set_intersection": [(lambda v, s, t, o: stl.set_intersection(s, t, o), LESS)],
    "set_symmetric_difference": [(lambda v, s, t, o: np.sort(np.r_[np.asarray(stl.set_symmetric_difference(t, s)), LESS]), SORTED)],
    "set_union": [(lambda v, s, t, o: stl.set_union(s, t), SORTED)],
    "shuffle": [(lambda v, s, t, o: is_permutation(stl.shuffle(v, 3), RAW), True)],
    "sort": [(lambda v, s, t, o: stl.sort(v), SORTED), (lambda v, s, t, o: stl.sort(v, fn.greater), SORTED[::-1])],
    "stable_partition": [(lambda v, s, t, o: stl.stable_partition(v, below_nine), BEFORE.size)],
    "stable_sort": [(lambda v, s, t, o: stl.stable_sort(v), SORTED)],
    "swap": [(lambda v, s, t, o: (amp.parallel_for_each(amp.extent(1), swap_ends, v), v)[1], np.r_[RAW[300:], RAW[1:300], RAW[:1]])],
    "swap_ranges": [(lambda v, s, t, o: (stl.swap_ranges(v, s), v)[1], SORTED)],
    "transform": [(lambda v, s, t, o: stl.transform(v, o, lambda x: 2 * x), 2 * RAW), (lambda v, s, t, o: stl.transform(v, v, fn.minus, s), RAW - SORTED)],
    "unique": [(lambda v, s, t, o: (lambda n: s[: int(n)])(stl.unique(s)), HEADS)],
    "unique_copy": [(lambda v, s, t, o: stl.unique_copy(s, o), HEADS)],
}  # fmt: skip


@amp.kernel
def swap_ends(idx, values):
    if idx[0] == 0:
        stl.swap(values, 0, values.extent[0] - 1)


def test_all_names_are_there_documented_and_tested():
    assert len(stl.__all__) == 78
    assert set(CASES) == set(stl.__all__)
    for name in stl.__all__:
        assert getattr(stl, name).__doc__, name


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("part", range(4))
def test_against_numpy(accelerator_view, part):
    for number, (name, calls) in enumerate(CASES.items()):
        for call, expected in calls if number % 4 == part else []:
            memory = RAW, SORTED, LESS, np.zeros_like(RAW)
            views = [amp.array_view(amp.array(each, accelerator_view=accelerator_view)) for each in memory]
            np.testing.assert_array_equal(np.asarray(call(*views)), expected, err_msg=name)


NONE = np.zeros(0, np.int32)

#: Calls on empty ranges, with what C++ gives.
EMPTY = [
    (lambda: stl.sort(NONE), NONE), (lambda: stl.reverse(NONE), NONE), (lambda: stl.iota(NONE, 7), NONE),
    (lambda: stl.rotate(NONE, 0), NONE), (lambda: stl.generate(NONE, lambda i: i), NONE),
    (lambda: stl.fill_n(NONE, 0, 1), NONE), (lambda: stl.copy_n(NONE, 0, NONE), NONE), (lambda: stl.copy_if(NONE, NONE, below_nine), NONE),
    (lambda: stl.inplace_merge(NONE, 0), NONE), (lambda: stl.partial_sort_copy(NONE, np.full(2, 5)), [5, 5]),
    (lambda: stl.remove(NONE, 7), 0), (lambda: stl.remove_if(NONE, below_nine), 0), (lambda: stl.unique(NONE), 0),
    (lambda: stl.partition(NONE, below_nine), 0), (lambda: stl.max_element(NONE), -1), (lambda: stl.min_element(NONE), -1),
    (lambda: stl.minmax_element(NONE), (-1, -1)), (lambda: stl.lower_bound(NONE, 7), 0), (lambda: stl.equal_range(NONE, 7), (0, 0)),
    (lambda: stl.binary_search(NONE, 7), False), (lambda: stl.find(NONE, 7), -1), (lambda: stl.reduce(NONE, 5), 5),
]  # fmt: skip


def test_empty_ranges():
    for number, (call, expected) in enumerate(EMPTY):
        np.testing.assert_array_equal(np.asarray(call()), expected, err_msg=str(number))


@pytest.mark.accelerators("llvmpipe")
def test_counts_and_positions_at_both_ends(accelerator_view):
    def view():
        return amp.array_view(amp.array(SORTED, accelerator_view=accelerator_view))

    for middle in (0, 301):
        np.testing.assert_array_equal(np.asarray(stl.inplace_merge(view(), middle)), SORTED)
    np.testing.assert_array_equal(np.asarray(stl.fill_n(view(), 0, 99)), SORTED)
    np.testing.assert_array_equal(np.asarray(stl.generate_n(view(), 0, lambda i: i)), SORTED)
    out = np.full(9, 99, np.int32)
    np.testing.assert_array_equal(np.asarray(stl.copy_n(view(), 7, amp.array_view(out))), np.r_[SORTED[:7], 99, 99])
    np.testing.assert_array_equal(np.asarray(stl.copy_n(view(), 0, amp.array_view(out))), out)
    for call in (stl.fill_n, stl.generate_n):
        with pytest.raises(ValueError, match="position 302 is outside of a range of 301 elements"):
            call(view(), 302, below_nine)
    with pytest.raises(ValueError, match="position -1 is outside"):
        stl.copy_n(view(), -1, view())


def test_values_that_no_element_can_have():
    for call in (stl.lower_bound, stl.upper_bound, stl.equal_range, stl.binary_search):
        with pytest.raises(TypeError, match="2.5 is not an element of type int32"):
            call(SORTED, 2.5)
        with pytest.raises(OverflowError, match="300 is out of the range of int8"):
            call(SORTED.astype(np.int8), 300)


@pytest.mark.accelerators("llvmpipe")
def test_ranges_that_overlap(accelerator_view):
    """As far as C++ allows it."""

    def changed(call):
        view = amp.array_view(amp.array(RAW, accelerator_view=accelerator_view))
        call(view)
        return np.asarray(view)

    for call in (stl.copy, stl.move, stl.copy_backward, stl.move_backward):
        np.testing.assert_array_equal(changed(lambda v, call=call: call(v[9:], v[:-9])), np.r_[RAW[9:], RAW[-9:]])
        np.testing.assert_array_equal(changed(lambda v, call=call: call(v[:-9], v[9:])), np.r_[RAW[:9], RAW[:-9]])
    np.testing.assert_array_equal(changed(lambda v: stl.copy_n(v[9:], 20, v)), np.r_[RAW[9:29], RAW[20:]])
    np.testing.assert_array_equal(changed(lambda v: stl.adjacent_difference(v, v)), np.diff(RAW, prepend=0))
    np.testing.assert_array_equal(changed(lambda v: stl.iter_swap(v, 3, v[2:], 1)), RAW)
    numbers = RAW.copy()
    stl.copy(numbers[9:], numbers[:-9])
    np.testing.assert_array_equal(numbers, np.r_[RAW[9:], RAW[-9:]])
    for at in (-1, 301):
        with pytest.raises(ValueError, match=f"position {at} is outside of a range of 301 elements"):
            changed(lambda v, at=at: stl.iter_swap(v, 0, v, at))


def test_bounds_of_numbers_on_the_device():
    ordered, other = amp.array_view(SORTED.copy()), amp.array_view(np.array([7.5, 0, -3], np.float32))
    with amp.capture() as graph:
        largest, number = stl.reduce(ordered, -99, fn.max), stl.reduce(other, -99.0, fn.max)
        found = [*stl.equal_range(ordered, largest), stl.lower_bound(ordered, number)]
        is_there = stl.binary_search(ordered, largest)
    for change in (0, 1):
        amp.copy(SORTED + change, ordered)
        graph.replay()
        places = [np.searchsorted(SORTED, SORTED[-1]), SORTED.size, np.searchsorted(SORTED + change, 7.5)]
        assert [each.item() for each in found] == places
        assert bool(is_there)


def test_lazy_ranges_are_searched():
    doubled = lazy.map(lambda x: 2 * x, amp.array_view(RAW))
    assert [int(at) for at in stl.minmax_element(doubled)] == [RAW.argmin(), 300 - RAW[::-1].argmax()]
    np.testing.assert_array_equal(np.asarray(stl.partial_sort_copy(doubled, np.zeros(9, np.int32))), 2 * SORTED[:9])
    assert int(stl.lower_bound(lazy.map(lambda x: 2 * x, amp.array_view(SORTED)), 15)) == np.searchsorted(
        2 * SORTED, 15
    )
    with pytest.raises(TypeError, match="a lazy input has no memory"):
        stl.copy_n(doubled, 3, np.zeros(3, np.int32))


def test_ranges_have_one_dimension():
    matrix = RAW[:300].reshape(30, 10)
    for call in (stl.sort, lambda m: stl.partial_sort(m, 3), lambda m: stl.nth_element(m, 3)):
        for values in (matrix.copy(), amp.array_view(matrix.copy())):
            with pytest.raises(TypeError, match=r"a range has one dimension, not the shape \(30, 10\)"):
                call(values)
    with pytest.raises(TypeError, match="not list: write np.array"):
        stl.sort([3, 1, 2])
    with pytest.raises(TypeError, match="is not a number"):
        stl.find(RAW, below_nine)


def test_values_that_no_element_has_are_not_replaced():
    small = RAW.astype(np.int8)
    np.testing.assert_array_equal(np.asarray(stl.replace(amp.array_view(small.copy()), 300, 7)), small)
    np.testing.assert_array_equal(np.asarray(stl.replace_copy(small, np.zeros_like(small), 7.5, 9)), small)


def test_readonly_ranges_are_searched():
    ordered = amp.array_view(SORTED, readonly=True)
    assert int(stl.lower_bound(ordered, 7)) == np.searchsorted(SORTED, 7)
    assert bool(stl.binary_search(ordered, int(SORTED[3])))


def test_ranges_of_numpy_are_changed_when_the_call_returns():
    a, out = RAW.copy(), np.zeros_like(RAW)
    found = stl.sort(a)
    assert found is a
    np.testing.assert_array_equal(a, SORTED)
    copied = stl.replace_copy(a, out, 7, 99)
    assert copied is out
    np.testing.assert_array_equal(out, np.where(SORTED == 7, 99, SORTED))
