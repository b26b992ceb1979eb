"""The rows of the table, family by family."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.algorithms.table import FLOAT, FLOATS, INT, NUMBERS, SIGNED, WORDS, row
from vkamp import algorithms as alg
from vkamp.algorithms import functional as fn
from vkamp.algorithms import lazy

# -- functions of each element, and moved elements -----------------------------------------------------------------


def in_new_memory(function):
    """Calls a function that changes its first argument on a copy, and gives the copy."""

    def call(a, k):
        changed = a.copy()
        function(changed, k)
        return changed

    return call


def positions_of(a):
    return np.random.default_rng(a.size).permutation(a.shape[0]).astype(np.int32)


row("transform", lambda a, k: alg.transform(lambda x: x + x, a, **k), lambda a: a + a)
row("for_each", in_new_memory(lambda a, k: alg.for_each(increase, a, **k)), lambda a: a + 1)
row("generate", lambda a, k: alg.generate(a.size, lambda i: i * 3, **k), lambda a: np.arange(a.size) * 3)
row("fill", in_new_memory(lambda a, k: alg.fill(a, 9, **k)), lambda a: np.full_like(a, 9), dtypes=NUMBERS)
row("arange", lambda a, k: alg.arange(a.size, 3, 2, **k), lambda a: 3 + 2 * np.arange(a.size))
row("copy", lambda a, k: alg.copy(a, **k), lambda a: a, dtypes=NUMBERS)
row("flip", lambda a, k: alg.flip(a, -1, **k), lambda a: a[:, ::-1], dtypes=NUMBERS, rank=2)
row("roll", lambda a, k: alg.roll(a, 5, -1, **k), lambda a: np.roll(a, 5, -1), rank=2)
row("replace", lambda a, k: alg.replace(a, 7, 3, **k), lambda a: np.where(a == 7, np.array(3, a.dtype), a))
row(
    "replace_if",
    lambda a, k: alg.replace_if(a, lambda x: x > 9, 3, **k),
    lambda a: np.where(a > 9, np.array(3, a.dtype), a),
)
row("clip", lambda a, k: alg.clip(a, 3, 20, **k), lambda a: np.clip(a, 3, 20), dtypes=NUMBERS, rank=2)
row("where", lambda a, k: alg.where(a > 9, 5, a, **k), lambda a: np.where(a > 9, a.dtype.type(5), a))
row("where", lambda a, k: alg.where(a > 9, a, np.flip(a), **k), lambda a: np.where(a > 9, a, np.flip(a)))
row("take", lambda a, k: alg.take(a, positions_of(a), **k), lambda a: a[positions_of(a)], dtypes=NUMBERS)


def scattered(a):
    found = np.zeros_like(a)
    found[positions_of(a)] = a
    return found


row("scatter", lambda a, k: alg.scatter(np.zeros_like(a), positions_of(a), a, **k), scattered)


def increase(values, i):
    values[i] = values[i] + 1


row(
    "adjacent_difference",
    lambda a, k: alg.adjacent_difference(a, axis=0, **k),
    lambda a: np.concatenate([a[:1], a[1:] - a[:-1]]),
    rank=2,
)
row(
    "adjacent_difference", lambda a, k: alg.adjacent_difference(a, fn.plus, **k), lambda a: np.r_[a[:1], a[1:] + a[:-1]]
)
row("diff", lambda a, k: alg.diff(a, **k), lambda a: np.diff(a), least=2, rank=2)
row("diff", lambda a, k: alg.diff(a, 2, axis=0, **k), lambda a: np.diff(a, 2, axis=0), rank=2)

FACTOR = 3
WHOLE = np.arange(-20, 40, dtype=np.int32).reshape(6, 10)
FRACTIONS = WHOLE.astype(np.float32) / 3
ROW = WHOLE.ravel()
WIDE = WHOLE.astype(np.int64) << 33

# Each with what numpy gives; `k` are the keywords that say where it runs.
CASES = {
    "transform": (lambda k: alg.transform(lambda x: x * FACTOR + 1, WHOLE, **k), WHOLE * 3 + 1),
    "transform of two": (
        lambda k: alg.transform(lambda x, y: x * y, WHOLE, FRACTIONS, **k),
        WHOLE.astype(np.float32) * FRACTIONS,
    ),
    "transform of three": (
        lambda k: alg.transform(lambda x, y, z: x if y > 0 else z, ROW, ROW - 5, -ROW, **k),
        np.where(ROW > 5, ROW, -ROW),
    ),
    "conditions": (lambda k: alg.transform(fn.less, WHOLE, FRACTIONS, **k), (WHOLE < FRACTIONS).astype(np.uint8)),
    "strides": (lambda k: alg.transform(fn.negate, WHOLE[::2, ::-3], **k), -WHOLE[::2, ::-3]),
    "dtype": (lambda k: alg.transform(lambda x: x / 4, WHOLE, dtype=np.float16, **k), (WHOLE / 4).astype(np.float16)),
    "generate": (lambda k: alg.generate(10, lambda i: i * i, **k), np.arange(10) ** 2),
    "generate in 2-D": (
        lambda k: alg.generate((3, 4), lambda i: i[0] * 10 + i[1], **k),
        np.add.outer(np.arange(3) * 10, np.arange(4)),
    ),
    "arange": (lambda k: alg.arange(7, 1.5, 0.5, **k), np.arange(7, dtype=np.float32) * 0.5 + 1.5),
    "copy": (lambda k: alg.copy(WHOLE.astype(np.int8), **k), WHOLE.astype(np.int8)),
    "copy of 64 bits": (lambda k: alg.copy(WIDE, **k), WIDE),
    "copy of a lazy input": (
        lambda k: alg.copy(lazy.map(fn.plus, ROW, lazy.arange(60)), **k),
        ROW + np.arange(60, dtype=np.int32),
    ),
    "flip": (lambda k: alg.flip(WHOLE, **k), WHOLE[::-1, ::-1]),
    "flip of columns": (lambda k: alg.flip(WHOLE, 0, **k), WHOLE[::-1]),
    "flip of two axes": (lambda k: alg.flip(WIDE, (-1, 0), **k), WIDE[::-1, ::-1]),
    "flip of rows": (lambda k: alg.flip(WHOLE, -1, **k), WHOLE[:, ::-1]),
    "flip of a row": (lambda k: alg.flip(WIDE.ravel(), **k), WIDE.ravel()[::-1]),
    "roll": (lambda k: alg.roll(WHOLE, 13, 1, **k), np.roll(WHOLE, 13, 1)),
    "roll of all": (lambda k: alg.roll(WHOLE, 13, **k), np.roll(WHOLE, 13)),
    "roll of all, 64 bits": (lambda k: alg.roll(WIDE, -3, **k), np.roll(WIDE, -3)),
    "roll of two axes": (lambda k: alg.roll(WHOLE, (13, -2), (1, 0), **k), np.roll(WHOLE, (13, -2), (1, 0))),
    "roll back": (lambda k: alg.roll(ROW, -13, **k), np.roll(ROW, -13)),
    "replace": (lambda k: alg.replace(WHOLE, 5, 99, **k), np.where(WHOLE == 5, 99, WHOLE)),
    "replace_if": (
        lambda k: alg.replace_if(FRACTIONS, lambda x: x > 2, -1, **k),
        np.where(FRACTIONS > 2, np.float32(-1), FRACTIONS),
    ),
    "where": (
        lambda k: alg.where((WHOLE % 2).astype(np.uint8), WHOLE, -WHOLE, **k),
        np.where(WHOLE % 2, WHOLE, -WHOLE),
    ),
    "adjacent_difference": (lambda k: alg.adjacent_difference(ROW**2, **k), np.diff(ROW**2, prepend=0)),
    "take from the end": (lambda k: alg.take(ROW, np.array([-1, 3, -60], np.int32), **k), ROW[[-1, 3, -60]]),
    "take by uint8": (lambda k: alg.take(ROW, np.array([5, 59], np.uint8), **k), ROW[[5, 59]]),
    "take": (lambda k: alg.take(ROW, np.array([[3, 1], [59, 0]], np.int32), **k), ROW[[[3, 1], [59, 0]]]),
    "take of lines": (lambda k: alg.take(WIDE, np.array([-1, 0, 1], np.int32), 1, **k), WIDE[:, [-1, 0, 1]]),
    "take by a square": (lambda k: alg.take(WHOLE, np.array([[0, 5]], np.int32), 0, **k), WHOLE[[[0, 5]]]),
    "take of 64 bits": (lambda k: alg.take(WIDE.ravel(), ROW % 60, **k), WIDE.ravel()[ROW % 60]),
}
for name, (call, found) in CASES.items():
    row(
        name.split()[0] if "condition" not in name and name not in ("strides", "dtype") else "transform",
        lambda a, k, call=call: call(k),
        lambda a, found=found: found,
        dtypes=INT, once=True,
    )  # fmt: skip

# -- reductions ----------------------------------------------------------------------------------------------------

row("reduce", lambda a, k: alg.reduce(a, fn.max, **k), lambda a: a.max())
row(
    "reduce", lambda a, k: alg.reduce(a, fn.bit_xor, 5, axis=0, **k), lambda a: np.bitwise_xor.reduce(a) ^ 5, dtypes=INT
)
row(
    "transform_reduce",
    lambda a, k: alg.transform_reduce(fn.minus, fn.max, a, np.flip(a), **k),
    lambda a: (a - np.flip(a)).max(),
)
for name, of_numpy, dtypes, tolerance in (
    ("sum", np.sum, NUMBERS, 1e-2), ("min", np.min, WORDS, 0), ("max", np.max, WORDS, 0),
    ("mean", np.mean, FLOATS, 1e-2),
    ("std", np.std, FLOAT, 1e-4), ("var", np.var, FLOAT, 1e-4), ("any", np.any, WORDS, 0), ("all", np.all, WORDS, 0),
    ("argmin", np.argmin, WORDS, 0), ("argmax", np.argmax, WORDS, 0),
):  # fmt: skip
    for axis in (None, 0, 1):
        row(
            name,
            lambda a, k, name=name, axis=axis: getattr(alg, name)(a, axis=axis, **k),
            lambda a, f=of_numpy, axis=axis: f(a, axis),
            dtypes=dtypes, tolerance=tolerance, rank=2,
        )  # fmt: skip
for name, of_numpy in (("mean", np.mean), ("std", np.std), ("var", np.var)):
    row(
        name,
        lambda a, k, name=name: getattr(alg, name)(a, axis=1, dtype=np.float16, **k),
        lambda a, f=of_numpy: f(a.astype(np.float64), axis=1).astype(np.float16),
        dtypes=INT, tolerance=1e-3, rank=2,
    )  # fmt: skip
row("prod", lambda a, k: alg.prod(a[:4], **k), lambda a: a[:4].prod())
row("prod", lambda a, k: alg.prod(a[:, :9], axis=1, **k), lambda a: a[:, :9].prod(1), dtypes=INT, rank=2)
row("vdot", lambda a, k: alg.vdot(a, np.flip(a), **k), lambda a: np.vdot(a, np.flip(a)), tolerance=1e-5)
for axis in (None, 1):
    row(
        "minmax",
        lambda a, k, axis=axis: alg.minmax(a, axis=axis, **k),
        lambda a, axis=axis: (a.min(axis), a.max(axis)),
        rank=2,
    )


def logsumexp(a, axis):
    largest = np.where(np.isfinite(a.max(axis, keepdims=True)), a.max(axis, keepdims=True), 0).astype(np.float64)
    return (np.log(np.exp(a - largest).sum(axis, keepdims=True)) + largest).squeeze(axis)


for axis in (None, 0, 1):
    row(
        "logsumexp",
        lambda a, k, axis=axis: alg.logsumexp(a, axis=axis, **k),
        lambda a, axis=axis: logsumexp(a, axis),
        dtypes=FLOAT, tolerance=1e-4, rank=2,
    )  # fmt: skip
row(
    "logsumexp",
    lambda a, k: alg.logsumexp(a, axis=1, dtype=np.float16, **k),
    lambda a: logsumexp(a.astype(np.float32), 1).astype(np.float16),
    dtypes=WORDS, tolerance=1e-3, rank=2,
)  # fmt: skip
row("count", lambda a, k: alg.count(a, 7, **k), lambda a: (a == 7).sum())
row("count_if", lambda a, k: alg.count_if(a, lambda x: x > 9, axis=1, **k), lambda a: (a > 9).sum(1), rank=2)
row("count_nonzero", lambda a, k: alg.count_nonzero(a, axis=0, **k), lambda a: np.count_nonzero(a, 0), rank=2)
row("all_of", lambda a, k: alg.all_of(a, lambda x: x > 9, **k), lambda a: (a > 9).all())
row("any_of", lambda a, k: alg.any_of(a, lambda x: x > 9, **k), lambda a: (a > 9).any())
row("none_of", lambda a, k: alg.none_of(a, lambda x: x > 9, **k), lambda a: not (a > 9).any())
row("equal", lambda a, k: alg.equal(a, np.flip(a), **k), lambda a: (a == np.flip(a)).all())

# -- scans ---------------------------------------------------------------------------------------------------------

row("scan", lambda a, k: alg.scan(a, fn.max, **k), lambda a: np.maximum.accumulate(a))
row("scan", lambda a, k: alg.scan(a, inclusive=False, init=3, **k), lambda a: np.cumsum(a) - a + 3, dtypes=INT)
for axis in (0, 1):
    row(
        "scan",
        lambda a, k, axis=axis: alg.scan(a, axis=axis, reverse=True, **k),
        lambda a, axis=axis: np.flip(np.cumsum(np.flip(a, axis), axis), axis),
        dtypes=INT, rank=2,
    )  # fmt: skip
    row(
        "cumulative_prod",
        lambda a, k, axis=axis: alg.cumulative_prod(a % 2 + 1, axis=axis, **k),
        lambda a, axis=axis: (a % 2 + 1).cumprod(axis),
        dtypes=INT, rank=2,
    )  # fmt: skip
    row(
        "cummax",
        lambda a, k, axis=axis: alg.cummax(a, axis=axis, **k),
        lambda a, axis=axis: np.maximum.accumulate(a, axis),
        rank=2,
    )
    row(
        "cummin",
        lambda a, k, axis=axis: alg.cummin(a, axis=axis, **k),
        lambda a, axis=axis: np.minimum.accumulate(a, axis),
        rank=2,
    )


def cumulative_sum(a, axis):
    return np.insert(np.cumsum(a, axis), 0, 0, axis)


for axis in (None, 0, 1):
    row(
        "cumulative_sum",
        lambda a, k, axis=axis: alg.cumulative_sum(a, axis=axis, include_initial=True, **k),
        lambda a, axis=axis: cumulative_sum(a, axis),
        dtypes=(*SIGNED, np.float32), tolerance=1e-4, rank=2,
    )  # fmt: skip

# -- selections and searches ---------------------------------------------------------------------------------------


def heads_of(a):
    return np.flatnonzero(np.r_[True, a[1:] != a[:-1]])


def first(places, none=-1):
    return next(iter(np.flatnonzero(places)), none)


row("select", lambda a, k: alg.select(a, lambda x: x > 9, **k), lambda a: a[a > 9])
row("select", lambda a, k: alg.select(a, flags=a > 9, **k), lambda a: a[a > 9], dtypes=NUMBERS)
row("nonzero", lambda a, k: alg.nonzero(a, **k), np.flatnonzero)
row(
    "partition",
    lambda a, k: alg.partition(a, lambda x: x > 9, **k),
    lambda a: (np.r_[a[a > 9], a[~(a > 9)]], (a > 9).sum()),
)
row("unique_consecutive", lambda a, k: alg.unique_consecutive(a, **k), lambda a: a[heads_of(a)])
row(
    "run_length_encode",
    lambda a, k: alg.run_length_encode(a, **k),
    lambda a: (a[heads_of(a)], np.diff(np.r_[heads_of(a), a.size])),
)
row("find", lambda a, k: alg.find(a, 7, **k), lambda a: first(a == 7))
row("find_if", lambda a, k: alg.find_if(a, lambda x: x > 20, **k), lambda a: first(a > 20))
row("find_if_not", lambda a, k: alg.find_if_not(a, lambda x: x < 20, **k), lambda a: first(~(a < 20)))
row("adjacent_find", lambda a, k: alg.adjacent_find(a, **k), lambda a: first(a[1:] == a[:-1]))
row("mismatch", lambda a, k: alg.mismatch(a, np.flip(a), **k), lambda a: first(a != np.flip(a)))
row("is_sorted", lambda a, k: alg.is_sorted(a, **k), lambda a: not (a[1:] < a[:-1]).any())
row("is_sorted_until", lambda a, k: alg.is_sorted_until(a, **k), lambda a: first(np.r_[False, a[1:] < a[:-1]], a.size))
for side in ("left", "right"):
    row(
        "searchsorted",
        lambda a, k, side=side: alg.searchsorted(np.sort(a), a, side, **k),
        lambda a, side=side: np.searchsorted(np.sort(a), a, side),
    )
for side in ("left", "right"):
    row(
        "searchsorted",
        lambda a, k, side=side: alg.searchsorted(np.sort(a), 7.5, side, **k),
        lambda a, side=side: np.searchsorted(np.sort(a), 7.5, side),
    )

# -- sorting -------------------------------------------------------------------------------------------------------

row("sort", lambda a, k: alg.sort(a, **k), np.sort, dtypes=NUMBERS)
row("argsort", lambda a, k: alg.argsort(a, **k), lambda a: np.argsort(a, kind="stable"), dtypes=NUMBERS)
row(
    "sort_by_key",
    lambda a, k: alg.sort_by_key(a, positions_of(a), **k),
    lambda a: (np.sort(a), positions_of(a)[np.argsort(a, kind="stable")]),
)
row(
    "topk",
    lambda a, k: alg.topk(a, 2, largest=False, **k),
    lambda a: (np.sort(a)[:2], np.argsort(a, kind="stable")[:2]),
    least=2,
)
row(
    "topk",
    lambda a, k: alg.topk(a, 2, largest=False, axis=0, **k),
    lambda a: (np.sort(a, 0)[:2], np.argsort(a, 0, kind="stable")[:2]),
    least=2,
    rank=2,
)

# -- segments and keys ---------------------------------------------------------------------------------------------


def offsets_of(a):
    """Segments of many lengths, empty ones among them."""
    inside = np.sort(np.random.default_rng(a.size).integers(0, a.size + 1, a.size // 3 + 1))
    return np.r_[0, inside, a.size].astype(np.int32)


def flags_of(a):
    return (np.random.default_rng(a.size).random(a.size) < 0.2).astype(np.uint8)


def parts_of(a, offsets):
    return [a[begin:end] for begin, end in pairwise(offsets)]


def by_flags(a):
    return np.split(a, np.flatnonzero(flags_of(a)[1:]) + 1)


def joined(function, parts, a):
    return np.concatenate([function(part) for part in parts] + [a[:0]])


def exclusive(part):
    return np.cumsum(part) - part + 3


row(
    "segmented_scan",
    lambda a, k: alg.segmented_scan(a, offsets_of(a), fn.max, **k),
    lambda a: joined(np.maximum.accumulate, parts_of(a, offsets_of(a)), a),
)
row(
    "segmented_scan",
    lambda a, k: alg.segmented_scan(a, flags_of(a), inclusive=False, init=3, **k),
    lambda a: joined(exclusive, by_flags(a), a),
    dtypes=INT,
)
row(
    "segmented_scan",
    lambda a, k: alg.segmented_scan(a, a.shape[1], **k),
    lambda a: np.cumsum(a, 1).ravel(),
    dtypes=INT, rank=2,
)  # fmt: skip
row(
    "segmented_reduce",
    lambda a, k: alg.segmented_reduce(a, offsets_of(a), fn.max, 5, **k),
    lambda a: [max([5, *part]) for part in parts_of(a, offsets_of(a))],
    dtypes=INT,
)
row(
    "segmented_reduce",
    lambda a, k: alg.segmented_reduce(a, flags_of(a), fn.min, **k),
    lambda a: [part.min() for part in by_flags(a)],
)
row("segmented_reduce", lambda a, k: alg.segmented_reduce(a, a.shape[1], fn.min, **k), lambda a: a.min(1), rank=2)
row(
    "segmented_sort",
    lambda a, k: alg.segmented_sort(a, offsets_of(a), **k),
    lambda a: joined(np.sort, parts_of(a, offsets_of(a)), a),
)
row("segmented_sort", lambda a, k: alg.segmented_sort(a, a.shape[1], **k), lambda a: np.sort(a).ravel(), rank=2)


def names_of(a):
    return np.sort(np.random.default_rng(a.size).integers(0, a.size // 4 + 1, a.size)).astype(np.int32)


def by_key(a):
    return np.split(a, heads_of(names_of(a))[1:])


row(
    "scan_by_key",
    lambda a, k: alg.scan_by_key(names_of(a), a, **k),
    lambda a: joined(np.cumsum, by_key(a), a),
    dtypes=INT,
)
row(
    "scan_by_key",
    lambda a, k: alg.scan_by_key(names_of(a), a, inclusive=False, init=3, **k),
    lambda a: joined(exclusive, by_key(a), a),
    dtypes=INT,
)
row(
    "reduce_by_key",
    lambda a, k: alg.reduce_by_key(names_of(a), a, fn.max, **k),
    lambda a: (np.unique(names_of(a)), [part.max() for part in by_key(a)]),
)
row(
    "unique_by_key",
    lambda a, k: alg.unique_by_key(names_of(a), a, **k),
    lambda a: (np.unique(names_of(a)), a[heads_of(names_of(a))]),
    dtypes=NUMBERS,
)

# -- different elements, merges and sets ---------------------------------------------------------------------------

row(
    "unique",
    lambda a, k: alg.unique(a, return_index=True, return_inverse=True, return_counts=True, **k),
    lambda a: np.unique(a.ravel(), return_index=True, return_inverse=True, return_counts=True),
    dtypes=NUMBERS,
)
row("unique", lambda a, k: alg.unique(a, **k), np.unique, rank=2)


def numbers_of_runs(a):
    return np.cumsum(np.r_[True, a[1:] != a[:-1]]) - 1


row(
    "unique_consecutive",
    lambda a, k: alg.unique_consecutive(a, return_inverse=True, return_counts=True, **k),
    lambda a: (a[heads_of(a)], numbers_of_runs(a), np.diff(np.r_[heads_of(a), a.size])),
)


def lengths_of(a):
    lengths = np.random.default_rng(a.size).integers(0, 4, a.size).astype(np.int32)
    lengths[-1] += 1
    return lengths


row(
    "run_length_decode",
    lambda a, k: alg.run_length_decode(a, lengths_of(a), **k),
    lambda a: np.repeat(a, lengths_of(a)),
    dtypes=NUMBERS,
)


def two(a):
    """Two sorted inputs of different lengths, with repeated elements."""
    middle = a.size // 3 + 1
    return np.sort(a[:middle]), np.sort(np.r_[a[middle:], a[:1]])


row(
    "run_length_decode",
    lambda a, k: alg.run_length_decode(a, lengths_of(a), total=int(lengths_of(a).sum()), **k),
    lambda a: np.repeat(a, lengths_of(a)),
)
row("merge", lambda a, k: alg.merge(*two(a), **k), lambda a: np.sort(np.concatenate(two(a))), dtypes=NUMBERS)


def merged_by_key(a):
    left, right = two(a)
    keys = np.r_[left, right]
    order = np.argsort(keys, kind="stable")
    return keys[order], order


def with_positions(a):
    left, right = two(a)
    return left, right, np.arange(left.size, dtype=np.int32), np.arange(left.size, a.size + 1, dtype=np.int32)


row("merge_by_key", lambda a, k: alg.merge_by_key(*with_positions(a), **k), merged_by_key)


def multiset(a, b, how):
    """C++'s set operations on lists, by counts."""
    found = []
    for x in np.unique(np.r_[a, b]):
        n, m = (a == x).sum(), (b == x).sum()
        found += [x] * {"or": max(n, m), "and": min(n, m), "minus": max(n - m, 0), "xor": abs(n - m)}[how]
    return np.array(found, a.dtype)


for name, how in (
    ("set_union", "or"), ("set_intersection", "and"), ("set_difference", "minus"), ("set_symmetric_difference", "xor"),
):  # fmt: skip
    row(
        name,
        lambda a, k, name=name: getattr(alg, name)(*two(a), **k),
        lambda a, how=how: multiset(*two(a), how),
        nan=False,
    )
row("includes", lambda a, k: alg.includes(*two(a), **k), lambda a: not multiset(*two(a)[::-1], "minus").size, nan=False)
row("includes", lambda a, k: alg.includes(np.sort(a), np.sort(a[::2]), **k), lambda a: True)
for name in ("union1d", "intersect1d", "setdiff1d"):
    row(
        name,
        lambda a, k, name=name: getattr(alg, name)(*two(a)[::-1], **k),
        lambda a, name=name: getattr(np, name)(*two(a)[::-1]),
    )
row("isin", lambda a, k: alg.isin(a, np.flip(a[:2]), **k), lambda a: np.isin(a, a[:2]), rank=2)

# -- counting ------------------------------------------------------------------------------------------------------

row("histogram", lambda a, k: alg.histogram(a, 10, **k), lambda a: np.histogram(a, 10), dtypes=NUMBERS, nan=False)
row(
    "histogram",
    lambda a, k: alg.histogram(a, 7, (-20, 31), **k),
    lambda a: np.histogram(a, 7, (-20, 31)),
    dtypes=NUMBERS,
)
row(
    "histogram",
    lambda a, k: alg.histogram(a, 7, (-20, 31), (a % 5).astype(np.float32), **k)[0],
    lambda a: np.histogram(a, 7, (-20, 31), weights=(a % 5).astype(np.float32))[0],
    dtypes=INT,
)
EDGES = [-30.5, -7, -7, 0.1, 12, 40]
row(
    "histogram_range",
    lambda a, k: alg.histogram_range(a, EDGES, **k),
    lambda a: np.histogram(a, EDGES)[0],
    dtypes=NUMBERS,
)
row("bincount", lambda a, k: alg.bincount(a % 37, **k), lambda a: np.bincount(a % 37), dtypes=(np.uint8, np.int32))
row(
    "bincount",
    lambda a, k: alg.bincount(a % 37, a.astype(np.float32), 50, **k),
    lambda a: np.bincount(a % 37, a.astype(np.float32), 50),
    dtypes=INT,
)
row(
    "bincount",
    lambda a, k: alg.bincount(a % 37, bins=20, **k),
    lambda a: np.bincount(a % 37, minlength=37)[:20],
    dtypes=INT,
)
for right in (False, True):
    for edges in (EDGES, EDGES[::-1]):
        row(
            "digitize",
            lambda a, k, edges=edges, right=right: alg.digitize(a, edges, right, **k),
            lambda a, edges=edges, right=right: np.digitize(a, edges, right),
            dtypes=WORDS, rank=2,
        )  # fmt: skip

# -- places and order ----------------------------------------------------------------------------------------------

row(
    "partition3",
    lambda a, k: alg.partition3(a, lambda x: x > 9, lambda x: x > -9, **k),
    lambda a: (
        np.r_[a[a > 9], a[(a > -9) & ~(a > 9)], a[~(a > -9)]], (a > 9).sum(), ((a > -9) & ~(a > 9)).sum(),
    ),
    dtypes=(np.int32, np.float32),
)  # fmt: skip
row(
    "is_partitioned",
    lambda a, k: alg.is_partitioned(a, lambda x: x < 9, **k),
    lambda a: not ((a[1:] < 9) & ~(a[:-1] < 9)).any(),
)
row("partition_point", lambda a, k: alg.partition_point(np.sort(a), lambda x: x < 9, **k), lambda a: (a < 9).sum())
row("nth_element", lambda a, k: alg.nth_element(a, a.size // 2, **k), lambda a: np.sort(a)[a.size // 2], dtypes=NUMBERS)
row(
    "quantile",
    lambda a, k: alg.quantile(a, [0, 0.3, 0.5, 1], **k),
    lambda a: np.quantile(a, [0, 0.3, 0.5, 1]),
    dtypes=(np.int32, np.float32),
    tolerance=1e-5,
    nan=False,
)
row(
    "search",
    lambda a, k: alg.search(a, a[a.size // 2 :][:3], **k),
    lambda a: found_at(a, a[a.size // 2 :][:3]),
    nan=False,
)
row("find_end", lambda a, k: alg.find_end(a, a[:1], **k), lambda a: np.flatnonzero(a == a[0])[-1], nan=False)
row("search_n", lambda a, k: alg.search_n(a, 2, 7, **k), lambda a: found_at(a, np.full(2, 7)))
row("search_n", lambda a, k: alg.search_n(a // 8, 2, 3, **k), lambda a: found_at(a // 8, np.full(2, 3)), dtypes=INT)
row(
    "find_first_of",
    lambda a, k: alg.find_first_of(a, np.array([9, 7, 50], a.dtype), **k),
    lambda a: first(np.isin(a, [9, 7, 50])),
)


def found_at(a, pattern):
    places = range(a.size - pattern.size + 1)
    return next((i for i in places if (a[i : i + pattern.size] == pattern).all()), -1)


row(
    "lexicographical_compare",
    lambda a, k: alg.lexicographical_compare(a, np.r_[a[:-1], a[-1:] + 1], **k),
    lambda a: a.tolist() < np.r_[a[:-1], a[-1:] + 1].tolist(),
    nan=False,
)
row("lexicographical_compare", lambda a, k: alg.lexicographical_compare(a, a[: a.size // 2 + 1], **k), lambda a: False)

# -- elements in other places --------------------------------------------------------------------------------------

row("transpose", lambda a, k: alg.transpose(a, **k), np.transpose, dtypes=NUMBERS, rank=2)
row(
    "permute_dims",
    lambda a, k: alg.permute_dims(a.reshape(1, *a.shape), (2, 0, 1), **k),
    lambda a: a.reshape(1, *a.shape).transpose(2, 0, 1),
    rank=2,
)
row(
    "stack",
    lambda a, k: alg.stack(a, a[::-1], axis=1, **k),
    lambda a: np.stack([a, a[::-1]], 1),
    dtypes=NUMBERS,
    rank=2,
)
row(
    "concat",
    lambda a, k: alg.concat(a, a[:, :1], a, axis=1, **k),
    lambda a: np.concatenate([a, a[:, :1], a], 1),
    dtypes=NUMBERS,
    rank=2,
)
for axis in (None, 0, 1):
    row(
        "repeat",
        lambda a, k, axis=axis: alg.repeat(a, 3, axis=axis, **k),
        lambda a, axis=axis: np.repeat(a, 3, axis),
        rank=2,
    )
row("repeat", lambda a, k: alg.repeat(a, lengths_of(a), **k), lambda a: np.repeat(a, lengths_of(a)))
row(
    "repeat",
    lambda a, k: alg.repeat(a, lengths_of(a), total=int(lengths_of(a).sum()), **k),
    lambda a: np.repeat(a, lengths_of(a)),
)
row("tile_repeat", lambda a, k: alg.tile_repeat(a, (2, 3), **k), lambda a: np.tile(a, (2, 3)), rank=2)
row(
    "rotate",
    in_new_memory(lambda a, k: alg.rotate(a, a.size // 3, out=a, **k)),
    lambda a: np.roll(a, -(a.size // 3)),
    dtypes=NUMBERS,
)


def swapped(a, k):
    left, right = a.copy(), np.flip(a).copy()
    alg.swap(left, right, **k)
    return left, right


row("swap", swapped, lambda a: (np.flip(a), a), dtypes=NUMBERS)
row("shuffle", lambda a, k: np.sort(alg.shuffle(a, 5, **k)), np.sort, dtypes=NUMBERS)


def combined(a, of_numpy):
    found = np.zeros_like(a)
    of_numpy.at(found, (a % 7).astype(np.int32) % a.size, a)
    return found


for op, of_numpy in ((fn.plus, np.add), (fn.max, np.maximum)):
    row(
        "scatter_reduce",
        lambda a, k, op=op: alg.scatter_reduce(np.zeros_like(a), (a % 7).astype(np.int32) % a.size, a, op, **k),
        lambda a, of_numpy=of_numpy: combined(a, of_numpy),
        nan=False,
    )

# -- lazy inputs ---------------------------------------------------------------------------------------------------

row("lazy.map", lambda a, k: alg.copy(lazy.map(fn.plus, a, a), **k), lambda a: a + a)
row("lazy.arange", lambda a, k: alg.copy(lazy.arange(a.size, 1), **k), lambda a: np.arange(a.size) + 1)
row("lazy.constant", lambda a, k: alg.copy(lazy.constant(3, a.size), **k), lambda a: np.full(a.size, 3))
row("lazy.take", lambda a, k: alg.copy(lazy.take(a, positions_of(a)), **k), lambda a: a[positions_of(a)])
row("lazy.flip", lambda a, k: alg.copy(lazy.flip(a), **k), lambda a: a[::-1])
row(
    "lazy.zip",
    lambda a, k: alg.transform(lambda p: p.first - p.second, lazy.zip(a, lazy.flip(a)), **k),
    lambda a: a - a[::-1],
)
row(
    "lazy.discard",
    lambda a, k: alg.select(a, lambda x: x > 9, out=lazy.discard, **k).count,
    lambda a: (a > 9).sum(),
)
