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


def merged_by_key(e, values, other, values_of_other):
    """The keys of two sorted inputs and their values, in the order of the keys."""
    keys, values = np.r_[e, other], np.r_[values, values_of_other]
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def in_parts(e, ends):
    """The segments of elements that end at the given positions, and at the last one."""
    return np.split(e, np.minimum(ends, len(e)))


def of_width(e, width):
    return in_parts(e, range(width, len(e), width)) if len(e) else []


def of_flags(e):
    return in_parts(e, np.flatnonzero(FLAGS[1 : len(e)]) + 1) if len(e) else []


def joined(function, parts):
    return np.concatenate([np.zeros(0, np.int32), *(function(part) for part in parts)])


def descending(part):
    return np.sort(part)[::-1]


def totals(parts, start=0):
    return np.array([start + part.sum() for part in parts], np.int32)


NUMBERS = np.arange(-9, 99, dtype=np.int32)
OTHER = np.sort(np.random.default_rng(9).integers(0, 60, 301).astype(np.int32))
FLAGS = (np.arange(N) % 11 == 4).astype(np.uint8)
#: Offsets that end after some counts, before others, and with the largest one; two segments are empty.
OFFSETS = np.array([0, 3, 3, 300, 690, 690, N], np.int32)

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
    "merge_by_key": (
        lambda c: (*alg.merge_by_key(c, OTHER, alg.transform(lambda x: x + 9, c), OTHER),
                   *alg.merge_by_key(OTHER, c, OTHER, c, functional.less_equal)),
        lambda e: (*merged_by_key(e, e + 9, OTHER, OTHER), *(np.sort(np.r_[e, OTHER]),) * 2),
    ),
    "includes": (
        lambda c: (alg.includes(c, alg.select(c, lambda x: x > 9)), alg.includes(OTHER, c), alg.includes(c, OTHER)),
        lambda e: (True, not multiset(e, OTHER, lambda n, m: max(n - m, 0)).size, False),
    ),
    "union1d": (lambda c: (alg.union1d(c, OTHER), alg.union1d(OTHER, c)), lambda e: (np.union1d(e, OTHER),) * 2),
    "intersect1d": (
        lambda c: (alg.intersect1d(c, OTHER), alg.intersect1d(OTHER, c)), lambda e: (np.intersect1d(e, OTHER),) * 2,
    ),
    "setdiff1d": (
        lambda c: (alg.setdiff1d(c, OTHER), alg.setdiff1d(OTHER, c)),
        lambda e: (np.setdiff1d(e, OTHER), np.setdiff1d(OTHER, e)),
    ),
    "isin": (
        lambda c: (alg.isin(OTHER, c), alg.isin(c, alg.select(c, lambda x: x < 9))),
        lambda e: (np.isin(OTHER, e), e < 9),
    ),
    "segmented_scan": (
        lambda c: (
            alg.segmented_scan(c, 7), alg.segmented_scan(c, N, functional.max), alg.segmented_scan(c, FLAGS),
            alg.segmented_scan(c, OFFSETS, inclusive=False), alg.segmented_scan(c, 99, first_of_two),
        ),
        lambda e: (
            joined(np.cumsum, of_width(e, 7)), e, joined(np.cumsum, of_flags(e)),
            joined(np.cumsum, in_parts(e, OFFSETS)) - e, joined(lambda part: part * 0 + part[:1], of_width(e, 99)),
        ),
    ),
    "segmented_reduce": (
        lambda c: (
            alg.segmented_reduce(c, 7), alg.segmented_reduce(c, 7, first_of_two),
            alg.segmented_reduce(c, 10**9, init=5), alg.segmented_reduce(c, FLAGS),
            alg.segmented_reduce(c, OFFSETS, init=5),
        ),
        lambda e: (
            totals(of_width(e, 7)), np.array([part[0] for part in of_width(e, 7)]), totals(of_width(e, N), 5),
            totals(of_flags(e)), totals(in_parts(e, OFFSETS)[1:-1], 5),
        ),
    ),
    "segmented_sort": (
        lambda c: (
            alg.segmented_sort(c, 7, descending=True), alg.segmented_sort(c, N, descending=True),
            alg.segmented_sort(c, FLAGS, less=reversed_less), alg.segmented_sort(c, OFFSETS, descending=True),
        ),
        lambda e: (
            joined(descending, of_width(e, 7)), e[::-1],
            joined(descending, of_flags(e)), joined(descending, in_parts(e, OFFSETS)),
        ),
    ),
    "segments of counted offsets": (
        lambda c: (
            alg.segmented_scan(NUMBERS, alg.unique(c)), alg.segmented_reduce(NUMBERS, alg.unique(c)),
            alg.segmented_sort(NUMBERS, alg.unique(c), descending=True),
        ),
        lambda e: (
            joined(np.cumsum, in_parts(NUMBERS, np.unique(e))), totals(in_parts(NUMBERS, np.unique(e))[1:-1]),
            joined(descending, in_parts(NUMBERS, np.unique(e))),
        ),
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


def special(dtype, n):
    """Sorted numbers of a type, with its extremes, and NaN if it has them."""
    if np.dtype(dtype).kind == "f":
        raw = np.random.default_rng(n).integers(-9, 9, n).astype(dtype)
        raw[: n // 4] = np.random.default_rng(n).choice(np.array([np.nan, np.inf, -np.inf, -0.0], dtype), n // 4)
    else:
        limits = np.iinfo(dtype)
        raw = np.random.default_rng(n).choice([limits.min, limits.min + 1, 0, 5, limits.max], n).astype(dtype)
    return np.sort(raw)


def has_all(e, f):
    """Whether sorted numbers have others as often; NaN is equal to NaN."""
    numbers = (np.unique(each, return_counts=True) for each in (e, f))
    (values, often), (others, needed) = numbers
    at = np.searchsorted(values, others)
    return all(
        i < len(values) and not values[i] > x and often[i] >= n for i, x, n in zip(at, others, needed, strict=True)
    )


def first_of(a, count):
    """The first elements of an array, as a counted."""
    return alg.select(a, flags=(np.arange(len(a)) < count).astype(np.uint8))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.int64], ids=lambda each: each.__name__)
@pytest.mark.accelerators("llvmpipe")
def test_types_and_two_counts(accelerator, dtype):
    view = direct_view(accelerator)
    for n, m, counts in ((1, 1, ((0, 0), (1, 0), (1, 1))), (70, 51, ((0, 51), (70, 0), (33, 50), (70, 51)))):
        raw, other = special(dtype, n), special(dtype, m)
        a, b = (amp.array(each, accelerator_view=view) for each in (raw, other))
        for count, count_of_b in counts:
            c, d, e, f = first_of(a, count), first_of(b, count_of_b), raw[:count], other[:count_of_b]
            for name in ("union1d", "intersect1d", "setdiff1d"):
                check(getattr(alg, name)(c, d), getattr(np, name)(e, f))
            order = np.argsort(np.r_[e, f], kind="stable")
            check(alg.merge_by_key(c, d, c, d), (np.r_[e, f][order],) * 2)
            check((alg.isin(a, d), alg.includes(c, d)), (np.isin(raw, f), has_all(e, f)))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.int64], ids=lambda each: each.__name__)
@pytest.mark.accelerators("llvmpipe")
def test_segments_of_types(accelerator, dtype):
    view = direct_view(accelerator)
    for n, counts in ((1, (0, 1)), (60, (0, 1, 33, 60))):
        raw = special(dtype, n)
        np.random.default_rng(n).shuffle(raw)
        a = amp.array(raw, accelerator_view=view)
        for count in counts:
            c, e = first_of(a, count), raw[:count]
            for width in (1, 12, 13):
                parts = of_width(e, width)
                check(alg.segmented_sort(c, width), np.concatenate([e[:0], *map(np.sort, parts)]))
                last = alg.segmented_sort(c, width, descending=True)
                check(last, np.concatenate([e[:0], *map(descending, parts)]))
                check(
                    alg.segmented_scan(c, width, functional.max),
                    np.concatenate([e[:0], *map(np.maximum.accumulate, parts)]),
                )
                found = alg.segmented_reduce(c, width, functional.min)
                check(found, [part.min() for part in parts])
                assert len(found.values) == -(-n // width)


@pytest.mark.sample("llvmpipe", "reference")
def test_targets_and_errors_of_sets_and_segments(accelerator_view):
    a = amp.array(np.arange(12, dtype=np.int32), accelerator_view=accelerator_view)
    c, d = first_of(a, 7), first_of(a, 9)
    out, flags = amp.array(12, np.int32, accelerator_view=accelerator_view), np.ones(12, np.uint8)
    assert (c.view.extent, c.view.dtype, c.view.overlaps(c.values)) == (amp.extent(12), np.int32, True)
    assert alg.segmented_scan(c, 5, out=out).values is out
    check(alg.segmented_sort(c, 5, descending=True, out=out), [4, 3, 2, 1, 0, 6, 5])
    check(alg.segmented_reduce(c, 5, out=amp.array_view(out)[:3]), [10, 11])
    check(alg.segmented_reduce(c, np.array([0, 2, 12], np.int32), out=amp.array_view(out)[:2]), [1, 20])
    check(alg.segmented_reduce(c, d.values, out=amp.array_view(out)[:11]), [*range(7), 0, 0, 0, 0])
    check(alg.union1d(c, d, out=amp.array(24, np.int32, accelerator_view=accelerator_view)), np.arange(9))
    short = alg.intersect1d(c, d, out=amp.array_view(out)[:3])
    assert int(short.count) == 7
    with pytest.raises(amp.AmpError, match="room for 3"):
        alg.includes(c, short)
    for call, error, message in (
        (lambda: alg.segmented_scan(c, 0), ValueError, "segments of 0"),
        (lambda: alg.segmented_reduce(c, [0, 13]), ValueError, "at most 12"),
        (lambda: alg.segmented_sort(c, flags[:7]), amp.AmpError, "12 elements, but 7 flags"),
        (lambda: alg.segmented_scan(c, first_of(flags, 9)), amp.AmpError, "different counts"),
        (lambda: alg.segmented_scan(c, np.ones(12, np.float32)), TypeError, "a width, flags, or offsets"),
        (lambda: alg.merge_by_key(c, d, c, flags[:5].astype(np.int32)), amp.AmpError, "keys, but"),
        (lambda: alg.merge_by_key(c, d, d, d), amp.AmpError, "different counts"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            call()
