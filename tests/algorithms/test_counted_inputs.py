"""Functions of ``counted`` inputs: counts of no element, one, few and all; also in captures, whose counts change."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms import counted_rows
from tests.algorithms.counted_rows import CASES, COUNTS, ROUNDED, N, best, descending, is_wanted, of_width
from tests.library_views import direct_view, forced
from tests.thinned import usual
from vkamp import algorithms as alg
from vkamp.algorithms import functional


def check(found, expected, tolerance=0):
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(np.asarray(one), other, rtol=tolerance, atol=tolerance)


#: The reference accelerator tries these; of functions that compare each element with many, it tries one.
FEW_COUNTS = usual(COUNTS, (0, 5, 700))
ONE_COUNT = dict.fromkeys(("search", "find_end"), usual(COUNTS, (5,)))
#: In the tests on lavapipe alone, a row has counts in tiles, or counts that change in a capture.
NAMES = list(CASES)


def check_each_count(view, name):
    call, expected = CASES[name]
    raw = np.sort(np.random.default_rng(3).integers(0, 50, N).astype(np.int32))
    few = ONE_COUNT.get(name, FEW_COUNTS)
    for count in few if view.accelerator.device_path == "reference" else COUNTS:
        # Elements after the selected ones are small, so that they would come first in the order.
        given = np.where(np.arange(N) < count, raw, -5).astype(np.int32)
        found = call(alg.select(amp.array(given, accelerator_view=view), is_wanted))
        check(found, expected(raw[:count]), 2e-3 if name in ROUNDED else 0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.spread(3)
def test_of_each_count(accelerator, name):
    with forced("runs"):
        check_each_count(direct_view(accelerator), name)


@pytest.mark.parametrize("name", usual(NAMES, NAMES[::2]))
@pytest.mark.accelerators("llvmpipe")
def test_of_each_count_in_tiles(accelerator, name):
    with forced("tiles"):
        check_each_count(direct_view(accelerator), name)


@pytest.mark.parametrize("name", usual(NAMES, NAMES[1::2]))
@pytest.mark.accelerators("llvmpipe")
def test_counts_that_change_in_a_capture(accelerator, name):
    """What earlier counts have left behind the elements has no effect."""
    call, expected = CASES[name]
    raw = np.sort(np.random.default_rng(5).integers(0, 50, N).astype(np.int32))
    view = direct_view(accelerator)
    a = amp.array(raw, accelerator_view=view)
    with pytest.MonkeyPatch.context() as patch:
        for plain in ("FEW", "KEYS", "LINES", "NUMBERS", "ONE", "OTHER", "ZERO"):
            given = getattr(counted_rows, plain)
            patch.setattr(counted_rows, plain, amp.array(given, accelerator_view=view))
        call(alg.select(a, is_wanted))
        with amp.capture() as graph:
            found = call(alg.select(a, is_wanted))
    for count in (N, 0, 700, 1, 5, N):
        amp.copy(np.where(np.arange(N) < count, raw, -5).astype(np.int32), a)
        graph.replay()
        check(found, expected(raw[:count]), 2e-3 if name in ROUNDED else 0)


@pytest.mark.sample("llvmpipe", "reference")
def test_positions_from_the_end_and_different_counts(accelerator_view):
    raw = np.arange(900, dtype=np.int32)
    a = amp.array(raw, accelerator_view=accelerator_view)
    c, other = (alg.select(a, lambda x, most=most: x < most) for most in (300, 299))
    check(alg.take(c, np.array([0, -1, 5], np.int32)), [0, 299, 5])
    check(alg.take(c, alg.transform(lambda x: -1 - x, other)), raw[1:300][::-1])
    check((alg.equal(c, raw[:300]), alg.equal(c, other), alg.mismatch(c, other)), (True, False, 299))
    check(alg.mismatch(raw[:300], c), -1)
    queries = np.array([[5, 1000], [-1, 299]], np.int32)
    check(alg.searchsorted(c, queries), [[5, 300], [0, 299]])
    check(alg.searchsorted(c, queries, out=amp.array_view(np.zeros((2, 4), np.int32))[:, ::2]), [[5, 300], [0, 299]])
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
        (lambda: alg.segmented_sort(c, flags[:7]), amp.AmpError, "12 elements, but another one has 7: pass"),
        (lambda: alg.segmented_scan(c, first_of(flags, 9)), amp.AmpError, "different counts"),
        (lambda: alg.segmented_scan(c, np.ones(12, np.float32)), TypeError, "a width, flags, or offsets"),
        (lambda: alg.merge_by_key(c, d, c, flags[:5].astype(np.int32)), amp.AmpError, "but another one has 5: pass"),
        (lambda: alg.merge_by_key(c, d, d, d), amp.AmpError, "different counts"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            call()


def in_order_of(e, largest):
    """The positions in the order of ``topk``: NaN counts as larger than all numbers."""
    rank = np.argsort(np.argsort(np.where(np.isnan(e), np.inf, e) if e.dtype.kind == "f" else e, kind="stable"))
    rank = np.unique(e, return_inverse=True)[1] if len(e) else rank
    return np.argsort(-rank if largest else rank, kind="stable")


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float16, np.float32, np.int64])
@pytest.mark.parametrize("n", [1, 300])
@pytest.mark.spread(2)
def test_elements_keep_their_type(accelerator_view, dtype, n):
    """Elements after the count are the largest or smallest ones of their type, or NaN."""
    limits = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    raw = (np.random.default_rng(8).integers(0, 90, n) - (0 if np.dtype(dtype).kind == "u" else 40)).astype(dtype)
    edges = [np.nan, np.inf, -np.inf, np.nan] if np.dtype(dtype).kind == "f" else [limits.max, limits.min] * 2
    raw[5:297:4], raw[1:5] = edges[0], edges[: n - 1]
    a = amp.array(raw, accelerator_view=accelerator_view)
    computes = np.dtype(dtype).itemsize < 8 or "int64" in accelerator_view.accelerator.features
    for flags in (np.zeros(n, np.uint8), np.ones(n, np.uint8), np.arange(n, dtype=np.uint8) % 5 == 1):
        c, e = alg.select(a, flags=flags.astype(np.uint8)), raw[flags != 0]
        falling, rising = in_order_of(e, True), in_order_of(e, False)
        found = [
            (alg.topk(c, 30), (e[falling[:30]], falling[:30])),
            (alg.topk(c, n, largest=False), (e[rising], rising)),
            (alg.sort(c, descending=True), e[falling]),
            (alg.argsort(c), rising),
            (alg.sort_by_key(c, c), (e[rising], e[rising])),
            (alg.nth_element(c, -2), e[rising[max(len(e) - 2, 0)]] if len(e) else 0),
            (alg.flip(c), e[::-1]),
        ]
        if computes:
            small = ~(e > 9) & (e < 5)
            parts = np.r_[e[e > 9], e[small], e[~(e > 9) & ~small]]
            found.append((alg.partition3(c, lambda x: x > 9, lambda x: x < 5), (parts, (e > 9).sum(), small.sum())))
            found.append((alg.sort_by_key(c, c, less=sorts_after), (e[falling], e[falling])))
        for one, expected in found:
            check(one, expected)
            values = one[0] if isinstance(one, tuple) else one
            assert values.dtype == (np.int32 if values is found[3][0] else dtype)


@amp.func
def sorts_after(x, y):
    return x > y or (x != x and y == y)


@pytest.mark.sample("llvmpipe", "reference")
def test_targets(accelerator_view):
    raw = np.random.default_rng(2).integers(0, 50, 40).astype(np.int32)
    c, e = alg.select(amp.array(raw, accelerator_view=accelerator_view), lambda x: x < 25), raw[raw < 25]

    def room(n, dtype=np.int32):
        return amp.array(n, dtype, accelerator_view=accelerator_view)

    best_of_all, places = room(60, np.float32), room(60)
    check(alg.topk(c, 60, out=(best_of_all, places)), best(e, 60, True))
    check(best_of_all, [*np.sort(e)[::-1], *np.asarray(best_of_all)[len(e) :]])
    both = alg.copy(c), alg.copy(c)
    in_place = [alg.counted(each.values, c.count) for each in both]
    check(alg.sort_by_key(*in_place, out=tuple(each.values for each in both)), (np.sort(e), np.sort(e)))
    check(both[1].values.section(0, len(e)), np.sort(e))
    for call, extent, dtype, expected in (
        (lambda out: alg.diff(c, 2, out=out), 38, np.float32, np.diff(e, 2)),
        (lambda out: alg.partition3(c, lambda x: x > 9, lambda x: x > 3, out=out)[0], 40, np.int32,
         np.r_[e[e > 9], e[(e > 3) & (e <= 9)], e[e <= 3]]),
        (lambda out: alg.histogram(c, 5, (0, 25), out=out)[0], 5, np.int64, np.histogram(e, 5, (0, 25))[0]),
        (lambda out: alg.bincount(c, bins=9, out=out), 9, np.int32, np.bincount(e, minlength=9)[:9]),
        (lambda out: alg.quantile(c, [0, 1], out=out), 2, np.float32, [e.min(), e.max()]),
        (lambda out: alg.nth_element(c, 1, out=out), 1, np.float32, np.sort(e)[1]),
        (lambda out: alg.logsumexp(c, dtype=np.float32, out=out), 1, np.float32, None),
        (lambda out: alg.take(c, c, 0, out=out), 40, np.int32, None),
    ):  # fmt: skip
        out = room(extent, dtype)
        found = call(out)
        if expected is not None:
            check(found, expected)
        values = found.values if isinstance(found, alg.counted) else getattr(found, "view", found)
        assert values.overlaps(out)
        for wrong in (extent - 1, extent + 1):
            if wrong:
                with pytest.raises(amp.AmpError, match="^out has "):
                    call(room(wrong, dtype))
    for k in (3, 41):
        with pytest.raises(amp.AmpError, match=rf"^out has extent\(2\), but the result has up to {k} elements$"):
            alg.topk(c, k, out=(None, room(2)))


@pytest.mark.sample("llvmpipe")
def test_inputs_that_do_not_fit(accelerator_view):
    a = amp.array(np.arange(9, dtype=np.int32), accelerator_view=accelerator_view)
    c, other = (alg.select(a, lambda x, most=most: x < most) for most in (5, 6))
    for call in (
        lambda: alg.sort_by_key(c, other), lambda: alg.histogram(c, 3, (0, 9), weights=other),
        lambda: alg.bincount(c, other, bins=4), lambda: alg.histogram_range(c, [0, 9], other),
    ):  # fmt: skip
        with pytest.raises(amp.AmpError, match="different counts"):
            call()
    lines = alg.take(alg.generate((9, 2), lambda i: i[0] + i[1], accelerator_view=accelerator_view), c, 0)
    assert repr(lines) == "<counted, at most 9 int32>"
    check(lines.trim(), np.add.outer(np.arange(5), np.arange(2)))
    with pytest.raises(
        TypeError, match=r"^sum takes a counted of one dimension, not of extent\(9, 2\): pass its \.trim"
    ):
        alg.sum(lines)
    for call, error, message in (
        (lambda: alg.topk(c, -1), ValueError, "cannot find the -1 largest elements"),
        (lambda: alg.topk(c, 2, axis=1), ValueError, "axis 1 is not one of"),
        (lambda: alg.diff(c, 0), ValueError, "once or several times, not 0 times"),
        (lambda: alg.mean(c, axis=1), ValueError, "axis 1 is not one of"),
        (lambda: alg.logsumexp(c, dtype=np.int32), TypeError, "logarithms of sums are not computed in int32"),
        (lambda: alg.logsumexp(a, dtype=np.complex64), TypeError, "not computed in complex64"),
    ):
        with pytest.raises(error, match=message):
            call()
    pairs = alg.select(
        amp.array(np.zeros(9, [("x", "i4")]), accelerator_view=accelerator_view), flags=np.ones(9, np.uint8)
    )
    with pytest.raises(TypeError, match="structs have no order, which sort needs: give less= or key=$"):
        alg.sort(pairs)
