"""One table of functions of ``counted`` inputs, each with what numpy gives for the elements before the count."""

from __future__ import annotations

import warnings

import numpy as np

import vkamp as amp
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
def last_of_two(x, y):
    return y


@amp.func
def is_small(x):
    return x < 9


@amp.func
def increase(values, i):
    values[i] += 1


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
    """C++'s operations on sorted inputs. An element that occurs ``m`` and ``n`` times in the inputs occurs
    ``wanted(m, n)`` times in the result.
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


def best(e, k, largest):
    order = np.argsort(-e if largest else e, kind="stable")[:k]
    return e[order], order


def nth(e, k):
    """The element at a position in the order, or at the nearest one."""
    return np.sort(e)[min(max(k + len(e) if k < 0 else k, 0), len(e) - 1)] if len(e) else 0


@amp.func
def half(x):
    return amp.float32(x) / 2


def of_numpy(f, e, *args, **named):
    """A statistic in float64; of no elements NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return f(e.astype(np.float64) if len(e) else np.full(1, np.nan), *args, **named)


def sum_of_exponentials(e):
    return np.logaddexp.reduce(e.astype(np.float64), keepdims=True)


def rolled(e, by):
    return np.roll(e, by) if len(e) else e


def permuted(function):
    """Whether a result has the elements of its input in another order."""

    def call(c):
        found = function(c)
        return alg.equal(alg.sort(found), c), alg.all_of(found, is_wanted)

    return call


def changed(c, function):
    """A copy of elements after a function has changed it."""
    copied = alg.copy(c)
    function(copied)
    return copied


def fresh(c, extent=N, number=0):
    out = amp.array(extent, np.int32, accelerator_view=c.values.accelerator_view)
    return alg.fill(out, number)


def place_of(e, part, last=False):
    at = [k for k in range(len(e) - len(part) + 1) if list(e[k : k + len(part)]) == list(part)]
    return at[-1 if last else 0] if at else -1


def stored_at(e, numbers, op=None):
    out = np.full(300, 5, np.int32)
    if op is None:
        out[e] = numbers
    else:
        op.at(out, e, numbers)
    return out


def in_classes(e):
    low, high = e < 9, e >= 30
    return np.r_[e[low], e[high], e[~low & ~high]], low.sum(), high.sum()


NUMBERS = np.arange(-9, 99, dtype=np.int32)
LINES = np.arange(-72, 144, dtype=np.int32).reshape(108, 2)
KEYS = np.random.default_rng(6).integers(0, 300, N).astype(np.int32)


FEW, ONE, ZERO = (np.array(each, np.int32) for each in ([0, 0, 1], [1], [0]))


def columns_at(c):
    return alg.transpose(LINES, accelerator_view=c.values.accelerator_view)


def numbers_at(c):
    return alg.copy(KEYS, accelerator_view=c.values.accelerator_view)


def keys_of(e):
    return np.asarray(KEYS)[: len(e)]


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
    "cumulative sums from the initial one on": (
        lambda c: (
            alg.cumulative_sum(c, include_initial=True), alg.cumulative_prod(c, axis=0, include_initial=True),
            alg.cummax(c, include_initial=True),
        ),
        lambda e: (np.r_[0, np.cumsum(e)], np.r_[1, np.cumprod(e)], np.r_[-(2**31), e]),
    ),
    "flip": (alg.flip, lambda e: e[::-1]),
    "take": (lambda c: alg.take(NUMBERS, c), lambda e: e - 9),
    "take lines": (lambda c: alg.take(LINES, c, 0), lambda e: np.take(LINES, e, 0)),
    "take along the last axis": (
        lambda c: alg.take(columns_at(c), alg.transform(lambda x: -1 - x, c), axis=-1),
        lambda e: np.take(LINES.T, -1 - e, -1),
    ),
    "mean, var, std": (
        lambda c: (alg.mean(c), alg.var(c, ddof=1.5), alg.std(c, correction=2)),
        lambda e: (of_numpy(np.mean, e), of_numpy(np.var, e, ddof=1.5), of_numpy(np.std, e, ddof=2)),
    ),
    "var along an axis": (
        lambda c: (alg.mean(c, keepdims=True), alg.var(c, axis=0, dtype=np.float16)),
        lambda e: (of_numpy(np.mean, e, keepdims=True), np.float16(of_numpy(np.var, e))),
    ),
    "logsumexp": (
        lambda c: (alg.logsumexp(c), alg.logsumexp(c, keepdims=True, dtype=np.float16)),
        lambda e: (sum_of_exponentials(e)[0], sum_of_exponentials(e).astype(np.float16)),
    ),
    "quantile": (
        lambda c: (alg.quantile(c, 0.3), alg.quantile(alg.transform(half, c), (0, 0.4, 1), keepdims=True)),
        lambda e: (of_numpy(np.quantile, e, 0.3), of_numpy(np.quantile, e / 2, (0, 0.4, 1)).reshape(3, 1)),
    ),
    "nth_element": (
        lambda c: (alg.nth_element(c, 3), alg.nth_element(c, -4), alg.nth_element(c, 3, less=reversed_less)),
        lambda e: (nth(e, 3), nth(e, -4), -nth(-e, 3)),
    ),
    "topk": (lambda c: alg.topk(c, 40), lambda e: best(e, 40, True)),
    "smallest of topk": (lambda c: alg.topk(c, 3, largest=False, axis=None), lambda e: best(e, 3, False)),
    "sort_by_key": (lambda c: alg.sort_by_key(c, c, less=reversed_less), lambda e: (e[::-1], e[::-1])),
    "sort_by_key of plain keys": (
        lambda c: alg.sort_by_key(KEYS, c, descending=True),
        lambda e: (best(keys_of(e), N, True)[0], e[best(keys_of(e), N, True)[1]]),
    ),
    "diff": (lambda c: (alg.diff(c), alg.diff(c, 3)), lambda e: (np.diff(e), np.diff(e, 3))),
    "adjacent_difference": (alg.adjacent_difference, lambda e: np.diff(e, prepend=0)),
    "partition3": (lambda c: alg.partition3(c, lambda x: x < 9, lambda x: x >= 30), in_classes),
    "roll": (
        lambda c: (alg.roll(c, 3), alg.roll(c, -N - 2, 0), alg.rotate(c, 0)),
        lambda e: (rolled(e, 3), rolled(e, -N - 2), e),
    ),
    "concat": (
        lambda c: (alg.concat(c, OTHER, alg.select(c, lambda x: x < 9)), alg.concat([OTHER, c])),
        lambda e: (np.r_[e, np.asarray(OTHER), e[e < 9]], np.r_[np.asarray(OTHER), e]),
    ),
    "stack": (
        lambda c: (alg.stack(c, KEYS), alg.stack(c, KEYS, axis=-1)),
        lambda e: (np.stack([e, keys_of(e)]), np.stack([e, keys_of(e)], -1)),
    ),
    "repeat": (lambda c: (alg.repeat(c, 3), alg.tile_repeat(c, 3)), lambda e: (np.repeat(e, 3), np.tile(e, 3))),
    "shuffle": (permuted(lambda c: alg.shuffle(c, 7)), lambda e: (True, True)),
    "where": (
        lambda c: (alg.where(c, KEYS, 4), alg.where(KEYS, c, c)), lambda e: (np.where(e, keys_of(e), 4), e),
    ),
    "transpose": (lambda c: (alg.transpose(c), alg.permute_dims(c, (0,))), lambda e: (e, e)),
    "fill": (
        lambda c: (alg.fill(alg.copy(c), 3), alg.fill(alg.copy(c), alg.max(c))),
        lambda e: (np.full(len(e), 3), np.full(len(e), e.max(initial=0))),
    ),
    "for_each": (lambda c: changed(c, lambda a: alg.for_each(increase, a)), lambda e: e + 1),
    "swap": (lambda c: changed(c, lambda a: alg.swap(a, numbers_at(c))), keys_of),
    "scatter": (
        lambda c: alg.scatter(fresh(c, 300, 5), c, alg.transform(lambda x: 2 * x, c)), lambda e: stored_at(e, 2 * e),
    ),
    "scatter_reduce": (
        lambda c: (
            alg.scatter_reduce(fresh(c, 300, 5), c, KEYS), alg.scatter_reduce(fresh(c, 300, 5), KEYS, c, last_of_two),
        ),
        lambda e: (stored_at(e, keys_of(e), np.add), stored_at(keys_of(e), e)),
    ),
    "find_if_not": (
        lambda c: (alg.find_if_not(c, is_small), alg.is_partitioned(c, is_small), alg.partition_point(c, is_small)),
        lambda e: ((e < 9).sum() if (e >= 9).any() else -1, True, (e < 9).sum()),
    ),
    "search": (
        lambda c: (alg.search(c, FEW), alg.search(OTHER, alg.select(c, is_small)), alg.search(c, c)),
        lambda e: (place_of(e, [0, 0, 1]), place_of(list(np.asarray(OTHER)), e[e < 9]), 0),
    ),
    "find_end": (
        lambda c: (alg.find_end(c, ZERO), alg.find_end(c, c)), lambda e: (place_of(e, [0], True), 0 if len(e) else -1),
    ),
    "find_first_of": (
        lambda c: (alg.find_first_of(c, ONE), alg.find_first_of(ONE, c)),
        lambda e: (place_of(e, [1]), 0 if (e == 1).any() else -1),
    ),
    "search_n": (lambda c: (alg.search_n(c, 4, 9), alg.search_n(c, 1, -5)), lambda e: (place_of(e, [9] * 4), -1)),
    "lexicographical_compare": (
        lambda c: (
            alg.lexicographical_compare(c, OTHER), alg.lexicographical_compare(OTHER, c),
            alg.lexicographical_compare(alg.select(c, is_small), c), alg.lexicographical_compare(c, c),
        ),
        lambda e: (list(e) < list(np.asarray(OTHER)), list(np.asarray(OTHER)) < list(e), (e >= 9).any(), False),
    ),
    "searchsorted": (
        lambda c: (alg.searchsorted(c, OTHER), alg.searchsorted(c, c, "right"), alg.searchsorted(c, 8.5)),
        lambda e: (np.searchsorted(e, np.asarray(OTHER)), np.searchsorted(e, e, "right"), (e < 8.5).sum()),
    ),
    "select by flags": (
        lambda c: (alg.select(KEYS, flags=c), alg.partition(KEYS, flags=c)[0]),
        lambda e: (keys_of(e)[e != 0], np.r_[keys_of(e)[e != 0], keys_of(e)[e == 0]]),
    ),
    "argmin": (
        lambda c: (alg.argmin(c, less=reversed_less), alg.argmax(c, less=reversed_less)),
        lambda e: (e.argmax(), 0) if len(e) else (0, 0),
    ),
    "histogram": (
        lambda c: (alg.histogram(c, 7, (2, 40))[0], alg.histogram(c, 7, (2, 40), c)[0]),
        lambda e: (np.histogram(e, 7, (2, 40))[0], np.histogram(e, 7, (2, 40), weights=e)[0]),
    ),
    "histogram_range": (
        lambda c: (alg.histogram_range(c, [-9, 3, 30]), alg.histogram(c, [3, 9, 10], weights=KEYS)[0]),
        lambda e: (np.histogram(e, [-9, 3, 30])[0], np.histogram(e, [3, 9, 10], weights=keys_of(e))[0]),
    ),
    "bincount": (
        lambda c: (alg.bincount(c, bins=20), alg.bincount(KEYS, weights=c, bins=300)),
        lambda e: (np.bincount(e, minlength=20)[:20], np.bincount(keys_of(e), e, 300)),
    ),
}  # fmt: skip


#: The rows of numbers that are rounded.
ROUNDED = {"mean, var, std", "var along an axis", "logsumexp", "quantile"}
