"""The cases of CUB's device-wide tests (NVIDIA/cccl, cub/test/catch2_test_device_*), for this package's functions.

Each suite is named after a test file there.  What has no counterpart is left out: iterators without memory of their
own, allocators and streams, tuning, and inputs of more than 2^31 elements.
"""

# Each call is a line.
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

from itertools import pairwise

import numpy as np

import vkamp as amp
from tests.algorithms.cases import case
from vkamp import algorithms as alg
from vkamp.algorithms import functional as fn
from vkamp.algorithms import lazy

INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)
WIDE = (np.int64, np.uint64)
FLOATS = (np.float32, np.float64)
ALL = (*INTEGERS, np.int64, np.uint64, np.float16, *FLOATS)
FEW = (np.uint8, np.int32, np.uint32, np.float32)
#: Nothing, one, few; around tiles and blocks; and many.
SIZES = (0, 1, 10, 255, 256, 257, 1337, 2047, 2049, 3000, 8160, 10_000)
ONES = tuple(n for n in SIZES if n)
DATA = ("random", "constant")
OFFSETS = (0, 1, 3)


def seeded(a):
    return np.random.default_rng(a.size + 1)


def flags_of(a):
    return (seeded(a).random(a.size) < 0.4).astype(np.uint8)


def keys_of(a):
    """Keys in runs of one to about ten."""
    return np.sort(seeded(a).integers(0, a.size // 5 + 1, a.size)).astype(np.int32)


def heads_of(a):
    return np.flatnonzero(np.r_[True, a[1:] != a[:-1]]) if a.size else np.zeros(0, int)


def by_key(a, keys):
    return np.split(a, heads_of(keys)[1:]) if a.size else []


def offsets_of(a):
    """Segments of random lengths; empty ones at the begin, in the middle and at the end."""
    inside = np.sort(seeded(a).integers(0, a.size + 1, a.size // 7 + 1))
    return np.r_[0, 0, inside, inside[:1] * 0 + a.size, a.size].astype(np.int32)


def sorted_offsets(a):
    return np.sort(offsets_of(a))


def segments(a):
    at = sorted_offsets(a)
    return [a[i:j] for i, j in pairwise(at)]


def joined(function, parts, a):
    return np.concatenate([function(part) for part in parts] + [a[:0]])


def positions(a):
    return np.arange(a.size, dtype=np.int32)


def truth(x):
    return x == x


def falsehood(x):
    return x != x


def below(x):
    return x < 9


def in_new(function):
    """Calls a function with a copy of the input on the device as ``out`` and input."""

    def call(a, k):
        memory = amp.array_view(a.copy())
        return function(memory, k)

    return call


# -- reduce --------------------------------------------------------------------------------------------------------

S = "device_reduce"
for name, op, of_numpy in (("min", fn.min, np.min), ("max", fn.max, np.max)):
    case(S, name, lambda a, k, name=name: getattr(alg, name)(a, **k), of_numpy, dtypes=ALL, sizes=ONES, kinds=(*DATA, "limits", "special"), offsets=OFFSETS)
    case(S, f"reduce, {name}", lambda a, k, op=op: alg.reduce(a, op, **k), of_numpy, dtypes=ALL, sizes=ONES, kinds=("random", "limits"))
case(S, "sum", lambda a, k: alg.sum(a, **k), np.sum, dtypes=(*INTEGERS, *WIDE), sizes=SIZES, kinds=(*DATA, "limits"), offsets=OFFSETS)
case(S, "sum of floats", lambda a, k: alg.sum(a, **k), np.sum, dtypes=(np.float16, *FLOATS), sizes=SIZES, kinds=DATA, tolerance=0.02)
case(S, "sum of NaN and infinities", lambda a, k: alg.sum(a, **k), np.sum, dtypes=FLOATS, sizes=ONES, kinds=("special",), tolerance=0.001)
case(S, "reduce from a number", lambda a, k: alg.reduce(a, fn.plus, 42, **k), lambda a: a.sum(dtype=a.dtype) + a.dtype.type(42), dtypes=(np.int32, np.uint32), sizes=SIZES)
for name in ("argmin", "argmax"):
    case(S, name, lambda a, k, name=name: getattr(alg, name)(a, **k), lambda a, name=name: getattr(np, name)(a), dtypes=ALL, sizes=ONES, kinds=(*DATA, "limits", "special"), offsets=OFFSETS)
    case(S, f"{name} by a comparison", lambda a, k, name=name: getattr(alg, name)(a, less=lambda x, y: abs(x) < abs(y), **k), lambda a, name=name: getattr(np, name)(np.abs(a)), dtypes=(np.int32, np.float32), sizes=ONES)
case(S, "both extremes", lambda a, k: alg.minmax(a, **k), lambda a: (a.min(), a.max()), dtypes=ALL, sizes=ONES, kinds=("random", "special"))
case(S, "-0.0 and 0.0 are equal", lambda a, k: (alg.argmin(a, **k), alg.argmax(a, **k)), lambda a: (0, 0), dtypes=FLOATS, sizes=ONES, kinds=("zeros",))
case(S, "transform_reduce", lambda a, k: alg.transform_reduce(lambda x: x * x, fn.plus, a, **k), lambda a: (a * a).sum(dtype=a.dtype), dtypes=(np.int32, np.uint32), sizes=SIZES)
case(S, "in double precision, the same in every run", lambda a, k: [alg.sum(a, **k).item() == alg.sum(a, **k).item() for _ in range(3)], lambda a: [True] * 3, dtypes=FLOATS, sizes=(257, 10000))

# -- scan ----------------------------------------------------------------------------------------------------------

S = "device_scan"
case(S, "inclusive sum", lambda a, k: alg.scan(a, **k), lambda a: np.cumsum(a, dtype=a.dtype), dtypes=(np.int32, np.uint32, *WIDE), sizes=SIZES, kinds=(*DATA, "limits"), offsets=OFFSETS)
case(S, "inclusive sum in numpy's types", lambda a, k: alg.cumulative_sum(a, **k), np.cumsum, dtypes=(*INTEGERS, *WIDE), sizes=SIZES, kinds=DATA)
case(S, "exclusive sum", lambda a, k: alg.scan(a, inclusive=False, **k), lambda a: np.cumsum(a, dtype=a.dtype) - a, dtypes=(np.int32, np.uint32), sizes=SIZES, kinds=DATA, offsets=OFFSETS)
case(S, "inclusive minimum", lambda a, k: alg.scan(a, fn.min, **k), np.minimum.accumulate, dtypes=ALL, sizes=SIZES, kinds=(*DATA, "special", "limits"))
case(S, "exclusive maximum", lambda a, k: alg.scan(a, fn.max, inclusive=False, init=-3, **k), lambda a: np.maximum.accumulate(np.r_[a.dtype.type(-3), a])[:-1], dtypes=(np.int32, np.float32), sizes=SIZES)
case(S, "inclusive, from a number", lambda a, k: alg.scan(a, fn.plus, init=42, **k), lambda a: np.cumsum(a, dtype=a.dtype) + a.dtype.type(42), dtypes=(np.int32, np.uint32), sizes=SIZES, kinds=DATA)
case(S, "exclusive, from a number", lambda a, k: alg.scan(a, fn.plus, inclusive=False, init=42, **k), lambda a: np.cumsum(a, dtype=a.dtype) - a + a.dtype.type(42), dtypes=(np.int32, np.uint32), sizes=SIZES)
case(S, "from a number on the device", lambda a, k: alg.scan(a, fn.plus, inclusive=False, init=alg.sum(a, dtype=np.int32, **k).item(), **k), lambda a: np.cumsum(a, dtype=a.dtype) - a + a.sum(dtype=a.dtype), sizes=ONES)
case(S, "of floats", lambda a, k: alg.scan(a, **k), np.cumsum, dtypes=FLOATS, sizes=SIZES, kinds=DATA, tolerance=1e-3)


def in_place(**named):
    return in_new(lambda memory, k: alg.scan(memory, **named, out=memory, **k))


case(S, "in place", in_place(), lambda a: np.cumsum(a, dtype=a.dtype), dtypes=(np.int32, np.uint32), sizes=ONES)
case(S, "exclusive, in place", in_place(inclusive=False, init=42), lambda a: np.cumsum(a, dtype=a.dtype) - a + a.dtype.type(42), dtypes=(np.int32, np.uint32), sizes=ONES)
case(S, "backwards, in place", in_place(op=fn.max, reverse=True), lambda a: np.maximum.accumulate(a[::-1])[::-1], dtypes=(np.int32, np.float32), sizes=ONES)
case(S, "of a lazy input", lambda a, k: alg.scan(lazy.map(lambda x: x * 2, a), **k), lambda a: np.cumsum(a * 2, dtype=a.dtype), sizes=ONES)

S = "device_exclusive_scan_noncommutative"
PAIR = np.dtype([("m", np.uint32), ("n", np.uint32)])


@amp.func
def bicyclic(a, b):
    """The bicyclic monoid's product: associative, not commutative."""
    common = min(a.n, b.m)
    found = a.copy()
    found.m = a.m + b.m - common
    found.n = b.n + a.n - common
    return found


def pairs_of(a):
    found = np.zeros(a.size, PAIR)
    found["m"], found["n"] = seeded(a).integers(0, 6, a.size), seeded(a).integers(0, 7, a.size)
    return found


def bicyclic_scan(a, *, inclusive):
    found, m, n = [], 0, 0
    for x in pairs_of(a).tolist():
        common = min(n, x[0])
        before, m, n = (m, n), m + x[0] - common, x[1] + n - common
        found.append((m, n) if inclusive else before)
    return np.array(found, PAIR)


for inclusive in (False, True):
    case(S, f"bicyclic monoid, inclusive={inclusive}", lambda a, k, i=inclusive: alg.scan(pairs_of(a), bicyclic, inclusive=i, init=(0, 0), **k), lambda a, i=inclusive: bicyclic_scan(a, inclusive=i), sizes=ONES)
case(S, "bicyclic monoid, reduce", lambda a, k: alg.reduce(pairs_of(a), bicyclic, **k).item(), lambda a: bicyclic_scan(a, inclusive=True)[-1].item(), sizes=ONES)


def last_write(x, y):
    """The last symbol that is not 7, which only reads."""
    return x if y == 7 and x != 7 else y


def last_writes(a, *, inclusive):
    found, last = [], 3
    for x in writes_of(a):
        before, last = last, x if x != 7 else last
        found.append(last if inclusive else before)
    return np.array(found, np.int32)


def writes_of(a):
    return np.where(positions(a) % 97 == 0, positions(a) % 5, 7).astype(np.int32)


for inclusive in (False, True):
    case(S, f"last write, inclusive={inclusive}", lambda a, k, i=inclusive: alg.scan(writes_of(a), last_write, inclusive=i, init=3, **k), lambda a, i=inclusive: last_writes(a, inclusive=i), sizes=ONES)

# -- by key --------------------------------------------------------------------------------------------------------

S = "device_scan_by_key"
for data in DATA:
    case(S, f"inclusive, {data}", lambda a, k: alg.scan_by_key(keys_of(a), a, **k), lambda a: joined(lambda p: np.cumsum(p, dtype=a.dtype), by_key(a, keys_of(a)), a), dtypes=(np.int32, np.uint32), sizes=SIZES, kinds=(data,))
case(S, "exclusive", lambda a, k: alg.scan_by_key(keys_of(a), a, inclusive=False, init=5, **k), lambda a: joined(lambda p: np.cumsum(p, dtype=a.dtype) - p + a.dtype.type(5), by_key(a, keys_of(a)), a), dtypes=(np.int32, np.uint32), sizes=SIZES)
case(S, "one key", lambda a, k: alg.scan_by_key(np.zeros(a.size, np.uint8), a, fn.max, **k), np.maximum.accumulate, dtypes=FEW[1:], sizes=SIZES)
case(S, "all keys differ", lambda a, k: alg.scan_by_key(positions(a), a, **k), lambda a: a, dtypes=FEW[1:], sizes=SIZES)
case(S, "by an equality", lambda a, k: alg.scan_by_key(keys_of(a), a, fn.min, eq=lambda x, y: x // 4 == y // 4, **k), lambda a: joined(np.minimum.accumulate, by_key(a, keys_of(a) // 4), a), sizes=SIZES)
case(S, "in the memory of the values", in_new(lambda memory, k: alg.scan_by_key(keys_of(np.asarray(memory)), memory, out=memory, **k)), lambda a: joined(lambda p: np.cumsum(p, dtype=a.dtype), by_key(a, keys_of(a)), a), sizes=ONES)

S = "device_reduce_by_key"
case(S, "sum", lambda a, k: alg.reduce_by_key(keys_of(a), a, **k), lambda a: (keys_of(a)[heads_of(keys_of(a))], np.array([p.sum(dtype=a.dtype) for p in by_key(a, keys_of(a))], a.dtype)), dtypes=(np.int32, np.uint32), sizes=SIZES, kinds=DATA)
case(S, "minimum", lambda a, k: alg.reduce_by_key(keys_of(a), a, fn.min, **k), lambda a: (keys_of(a)[heads_of(keys_of(a))], np.array([p.min() for p in by_key(a, keys_of(a))], a.dtype)), dtypes=ALL, sizes=SIZES)
case(S, "one run", lambda a, k: alg.reduce_by_key(a, positions(a), fn.max, **k), lambda a: (a[:1], [a.size - 1]), dtypes=FEW, sizes=ONES, kinds=("constant",))
case(S, "runs of one", lambda a, k: alg.reduce_by_key(positions(a), a, **k), lambda a: (positions(a), a), dtypes=FEW[1:], sizes=SIZES)

S = "device_select_unique_by_key"
case(S, "first of each run", lambda a, k: alg.unique_by_key(keys_of(a), a, **k), lambda a: (keys_of(a)[heads_of(keys_of(a))], a[heads_of(keys_of(a))]), dtypes=ALL, sizes=SIZES)
case(S, "all equal", lambda a, k: alg.unique_by_key(a, positions(a), **k), lambda a: (a[:1], positions(a)[:1]), dtypes=ALL, sizes=ONES, kinds=("constant",))
case(S, "all differ", lambda a, k: alg.unique_by_key(positions(a), a, **k), lambda a: (positions(a), a), dtypes=ALL, sizes=SIZES)
case(S, "by an equality", lambda a, k: alg.unique_by_key(keys_of(a), a, lambda x, y: x // 4 == y // 4, **k), lambda a: (keys_of(a)[heads_of(keys_of(a) // 4)], a[heads_of(keys_of(a) // 4)]), sizes=SIZES)

# -- select and partition ------------------------------------------------------------------------------------------

S = "device_select_if"
case(S, "some", lambda a, k: alg.select(a, below, **k), lambda a: a[a < 9], dtypes=ALL, sizes=SIZES, kinds=("random", "limits", "special"), offsets=OFFSETS)
case(S, "all", lambda a, k: alg.select(a, truth, **k), lambda a: a, dtypes=ALL, sizes=SIZES)
case(S, "none", lambda a, k: alg.select(a, falsehood, **k), lambda a: a[:0], dtypes=ALL, sizes=SIZES)
case(S, "input stays", lambda a, k: (alg.select(a, below, **k), a)[1], lambda a: a.copy(), dtypes=FEW, sizes=SIZES)


def into_more(a, k):
    """What is behind the elements found stays."""
    out = np.full(a.size, 99, a.dtype)
    found = alg.select(a, below, out=out, **k)
    return out, len(found)


case(S, "nothing behind the end", into_more, lambda a: (np.r_[a[a < 9], np.full((a >= 9).sum(), 99, a.dtype)], (a < 9).sum()), dtypes=FEW, sizes=ONES)


def into_less(a, k):
    out = np.full(1, 77, a.dtype)
    return alg.select(a, truth, out=out, **k).count, out


case(S, "too small an output", into_less, lambda a: (a.size, a[:1]), dtypes=FEW, sizes=(2, 255, 3000))
case(S, "another type of output", lambda a, k: alg.select(a, below, out=np.zeros(a.size, np.float32), **k), lambda a: a[a < 9], dtypes=(np.int32, np.uint8), sizes=ONES)
case(S, "into its own memory", in_new(lambda memory, k: alg.select(memory, below, out=memory, **k)), amp.AmpError, sizes=(10,))
case(S, "a selection of a selection", lambda a, k: alg.select(alg.select(a, below, **k), lambda x: x > 3), lambda a: a[(a < 9) & (a > 3)], sizes=ONES)
case(S, "of a struct", lambda a, k: alg.select(pairs_of(a), lambda p: p.m < p.n, **k), lambda a: pairs_of(a)[pairs_of(a)["m"] < pairs_of(a)["n"]], sizes=ONES)

S = "device_select_flagged"
for what, flags in (
    ("some", flags_of),
    ("all", lambda a: np.ones(a.size, np.int32)),
    ("none", lambda a: np.zeros(a.size, np.uint8)),
    ("wide flags", lambda a: flags_of(a).astype(np.int32) * 256),
):
    case(S, what, lambda a, k, f=flags: alg.select(a, flags=f(a), **k), lambda a, f=flags: a[f(a) != 0], dtypes=ALL, sizes=SIZES, offsets=(0, 1))
case("device_select_flagged_if", "a condition of the flags", lambda a, k: alg.select(a, flags=lazy.map(lambda f: f > 2, positions(a) % 5), **k), lambda a: a[positions(a) % 5 > 2], dtypes=ALL, sizes=ONES)

S = "device_select_unique"
for kind in ("few", "constant", "random", "special", "zeros"):
    case(S, kind, lambda a, k: alg.unique_consecutive(a, **k), lambda a: a[heads_of(a)], dtypes=ALL, sizes=SIZES, kinds=(kind,), offsets=(0, 1))
case(S, "by an equality", lambda a, k: alg.unique_consecutive(a, lambda x, y: x // 8 == y // 8, **k), lambda a: a[heads_of(a // 8)], dtypes=(np.int32,), sizes=SIZES)

S = "device_partition_if"
case(S, "some", lambda a, k: alg.partition(a, below, **k), lambda a: (np.r_[a[a < 9], a[~(a < 9)]], (a < 9).sum()), dtypes=ALL, sizes=SIZES, kinds=("random", "limits"))
case(S, "all", lambda a, k: alg.partition(a, truth, **k), lambda a: (a, a.size), dtypes=FEW, sizes=SIZES)
case(S, "none", lambda a, k: alg.partition(a, falsehood, **k), lambda a: (a, 0), dtypes=FEW, sizes=SIZES)
case("device_partition_flagged", "some", lambda a, k: alg.partition(a, flags=flags_of(a), **k), lambda a: (np.r_[a[flags_of(a) != 0], a[flags_of(a) == 0]], (flags_of(a) != 0).sum()), dtypes=ALL, sizes=SIZES)
case("device_partition_flagged", "all and none", lambda a, k: (*alg.partition(a, flags=positions(a) * 0 + 2, **k), *alg.partition(a, flags=positions(a) * 0, **k)), lambda a: (a, a.size, a, 0), dtypes=FEW, sizes=SIZES)
case("device_partition_flagged", "wrong number of flags", lambda a, k: alg.partition(a, flags=flags_of(a)[1:], **k), amp.AmpError, sizes=(10,))


def three(a):
    first, second = a < 9, (a >= 9) & (a < 30)
    return np.r_[a[first], a[second], a[~first & ~second]], first.sum(), second.sum()


S = "device_three_way_partition"
case(S, "some", lambda a, k: alg.partition3(a, below, lambda x: x < 30, **k), three, dtypes=(*INTEGERS, np.float32), sizes=SIZES)
case(S, "all first", lambda a, k: alg.partition3(a, truth, below, **k), lambda a: (a, a.size, 0), dtypes=FEW, sizes=SIZES)
case(S, "all second", lambda a, k: alg.partition3(a, falsehood, truth, **k), lambda a: (a, 0, a.size), dtypes=FEW, sizes=SIZES)
case(S, "all last", lambda a, k: alg.partition3(a, falsehood, falsehood, **k), lambda a: (a, 0, 0), dtypes=FEW, sizes=SIZES)

# -- run lengths ---------------------------------------------------------------------------------------------------


def encoded(a):
    heads = heads_of(a)
    return a[heads], np.diff(np.r_[heads, a.size]) if a.size else np.zeros(0, int)


S = "device_run_length_encode"
for kind in ("few", "constant", "sorted", "random", "special"):
    case(S, kind, lambda a, k: alg.run_length_encode(a, **k), encoded, dtypes=ALL, sizes=SIZES, kinds=(kind,))
case(S, "all differ", lambda a, k: alg.run_length_encode(lazy.arange(max(a.size, 1)), **k), lambda a: (np.arange(max(a.size, 1)), np.ones(max(a.size, 1))), sizes=SIZES)
case(S, "one large run behind a small one", lambda a, k: alg.run_length_encode((positions(a) >= 200).astype(np.int8), **k), lambda a: ([0, 1], [200, a.size - 200]), sizes=(257, 8160))
case(S, "there and back", lambda a, k: alg.run_length_decode(*map(np.asarray, alg.run_length_encode(a, **k)), **k), lambda a: a, dtypes=FEW, sizes=SIZES, kinds=("few",))


def long_runs(a, k):
    _, lengths = alg.run_length_encode(a, **k)
    at = alg.scan(lengths.trim(), inclusive=False)
    return alg.select(at, flags=lazy.map(lambda n: n > 1, lengths.trim())), alg.select(lengths.trim(), lambda n: n > 1)


case("device_run_length_encode_non_trivial_runs", "begins and lengths", long_runs, lambda a: (heads_of(a)[encoded(a)[1] > 1], encoded(a)[1][encoded(a)[1] > 1]), dtypes=FEW, sizes=ONES, kinds=("few", "random", "constant"))

# -- sort ----------------------------------------------------------------------------------------------------------


def order_of(a, descending=False):
    """A stable order; NaN is larger than all numbers."""
    if a.dtype.kind != "f":
        return np.array(sorted(range(a.size), key=lambda i: int(a[i]) * (-1 if descending else 1)), int)
    rank = [(np.isnan(x), 0.0 if np.isnan(x) else float(x)) for x in a]
    return np.array(sorted(range(a.size), key=lambda i: (not rank[i][0], -rank[i][1]) if descending else rank[i]), int)


def bits(a):
    """Elements bit for bit."""
    return np.asarray(a).view(f"u{np.asarray(a).dtype.itemsize}")


for descending in (False, True):
    what = ", descending" * descending
    d = {"descending": descending}
    case("device_radix_sort_keys", f"all types{what}", lambda a, k, d=d: bits(alg.sort(a, **d, **k)), lambda a, d=d: bits(a[order_of(a, **d)]), dtypes=ALL, sizes=SIZES, kinds=("random", "limits", "special", "zeros"), offsets=(0, 1))
    case("device_radix_sort_keys", f"uniform and few values{what}", lambda a, k, d=d: alg.sort(a, **d, **k), lambda a, d=d: a[order_of(a, **d)], dtypes=ALL, sizes=(1, 257, 3000), kinds=("constant", "few", "sorted", "reversed"))
    case("device_radix_sort_pairs", f"all types{what}", lambda a, k, d=d: alg.sort_by_key(a, positions(a), **d, **k), lambda a, d=d: (a[order_of(a, **d)], order_of(a, **d)), dtypes=ALL, sizes=SIZES, kinds=("random", "few", "special"))
    case("device_radix_sort_pairs", f"values of other types{what}", lambda a, k, d=d: alg.sort_by_key(positions(a) % 7, a, **d, **k)[1], lambda a, d=d: a[order_of(positions(a) % 7, **d)], dtypes=ALL, sizes=SIZES)
    case("device_radix_sort_custom", f"by a member{what}", lambda a, k, d=d: alg.sort(pairs_of(a), key=lambda p: p.n, **d, **k), lambda a, d=d: pairs_of(a)[order_of(pairs_of(a)["n"], **d)], sizes=ONES)
    case("device_merge_sort", f"keys, by a comparison{what}", lambda a, k, d=d: alg.sort(a, less=lambda x, y: x // 4 < y // 4, **d, **k), lambda a, d=d: a[order_of(a // 4, **d)], dtypes=(np.int8, np.uint8, np.int32, np.uint32), sizes=SIZES, kinds=("random", "sorted", "reversed", "constant"))
    case("device_merge_sort", f"pairs{what}", lambda a, k, d=d: alg.sort_by_key(a, positions(a), less=fn.less, **d, **k), lambda a, d=d: (a[order_of(a, **d)], order_of(a, **d)), dtypes=(np.int32, np.float32), sizes=SIZES)
    case("device_merge_sort", f"structs{what}", lambda a, k, d=d: alg.sort(pairs_of(a), less=lambda p, q: p.m < q.m, **d, **k), lambda a, d=d: pairs_of(a)[order_of(pairs_of(a)["m"], **d)], sizes=ONES)
case("device_radix_sort_keys", "in place", in_new(lambda memory, k: alg.sort(memory, out=memory, **k)), lambda a: np.sort(a), dtypes=ALL, sizes=ONES)
case("device_radix_sort_pairs", "several values", lambda a, k: alg.sort_by_key(a, positions(a), a, **k)[1:], lambda a: (order_of(a), a[order_of(a)]), dtypes=ALL, sizes=ONES)
case("device_merge_sort", "is stable", lambda a, k: alg.argsort(a % 3, less=fn.less, **k), lambda a: order_of(a % 3), sizes=SIZES)


def by_bits(a, first, end, descending):
    width = 8 * a.dtype.itemsize
    sign = 1 << width - 1 if a.dtype.kind == "i" else 0
    mask = (1 << end) - (1 << first)
    numbers = [((int(x) % (1 << width)) ^ sign) & mask for x in a]
    return np.array(sorted(range(a.size), key=lambda i: -numbers[i] if descending else numbers[i]), int)


def windows(a):
    """The first third, the middle, the last quarter, one bit, and none."""
    w = 8 * a.dtype.itemsize
    marks = (0, w // 3, 3 * w // 4, w)
    return [(i, j, d) for i in marks for j in marks if i <= j for d in (False, True)] + [(w - 1, w, False)]


for number in range(len(windows(np.zeros(1, np.int8)))):
    case("device_radix_sort_keys", f"bit window {number}", lambda a, k, t=number: alg.sort(a, bits=windows(a)[t][:2], descending=windows(a)[t][2], **k), lambda a, t=number: a[by_bits(a, *windows(a)[t])], dtypes=(*INTEGERS, *WIDE), sizes=(0, 1, 257, 2049), kinds=("limits", "random"))
    case("device_radix_sort_pairs", f"bit window {number}", lambda a, k, t=number: alg.sort_by_key(a, positions(a), bits=windows(a)[t][:2], descending=windows(a)[t][2], **k), lambda a, t=number: (a[by_bits(a, *windows(a)[t])], by_bits(a, *windows(a)[t])), dtypes=(np.int8, np.uint16, np.int32, np.uint64), sizes=(1, 257, 2049))
case("device_radix_sort_keys", "bits beyond the type", lambda a, k: alg.sort(a, bits=(0, 33), **k), ValueError, sizes=(10,))
case("device_radix_sort_keys", "bits of floats", lambda a, k: alg.sort(a, bits=(0, 8), **k), TypeError, dtypes=(np.float32,), sizes=(10,))

# -- segments ------------------------------------------------------------------------------------------------------

S = "device_segmented_reduce"
case(S, "sum", lambda a, k: alg.segmented_reduce(a, sorted_offsets(a), **k), lambda a: [p.sum(dtype=a.dtype) for p in segments(a)], dtypes=(np.int32, np.uint32), sizes=SIZES, kinds=DATA)
case(S, "minimum, from a number", lambda a, k: alg.segmented_reduce(a, sorted_offsets(a), fn.min, 5, **k), lambda a: [min([5, *p.tolist()]) for p in segments(a)], dtypes=(np.int32, np.float32), sizes=SIZES)
case(S, "maximum, empty segments have the least number", lambda a, k: alg.segmented_reduce(a, sorted_offsets(a), fn.max, **k), lambda a: [p.max() if p.size else np.iinfo(a.dtype).min for p in segments(a)], dtypes=(np.int32, np.uint32), sizes=SIZES)
case(S, "all segments are empty", lambda a, k: alg.segmented_reduce(a[:0], np.zeros(5, np.int32), **k), lambda a: [0, 0, 0, 0], dtypes=FEW, sizes=(0,))
case(S, "no segments", lambda a, k: alg.segmented_reduce(a[:0], np.zeros(1, np.int32), **k), lambda a: a[:0], dtypes=FEW, sizes=(0,))
for width in (1, 2, 8, 31, 32, 33, 100, 1023, 1024, 1025):
    case("device_segmented_reduce_fixed_size", f"segments of {width}", lambda a, k, w=width: alg.segmented_reduce(np.resize(a, 3 * w), w, **k), lambda a, w=width: np.resize(a, 3 * w).reshape(-1, w).sum(1, dtype=a.dtype), dtypes=(np.int32, np.uint32), sizes=(300,))
    case("device_segmented_scan", f"segments of {width}", lambda a, k, w=width: alg.segmented_scan(np.resize(a, 3 * w), w, fn.max, **k), lambda a, w=width: np.maximum.accumulate(np.resize(a, 3 * w).reshape(-1, w), 1).ravel(), dtypes=(np.int32, np.float32), sizes=(300,))
    case("device_segmented_sort_keys", f"segments of {width}", lambda a, k, w=width: alg.segmented_sort(np.resize(a, 3 * w), w, **k), lambda a, w=width: np.sort(np.resize(a, 3 * w).reshape(-1, w), 1).ravel(), dtypes=(np.uint8, np.int32, np.float32), sizes=(300,))
S = "device_segmented_scan"
case(S, "inclusive", lambda a, k: alg.segmented_scan(a, sorted_offsets(a), **k), lambda a: joined(lambda p: np.cumsum(p, dtype=a.dtype), segments(a), a), dtypes=(np.int32, np.uint32), sizes=SIZES)
case(S, "exclusive", lambda a, k: alg.segmented_scan(a, sorted_offsets(a), inclusive=False, init=3, **k), lambda a: joined(lambda p: np.cumsum(p, dtype=a.dtype) - p + a.dtype.type(3), segments(a), a), dtypes=(np.int32, np.uint32), sizes=SIZES)
case(S, "inclusive, from a number", lambda a, k: alg.segmented_scan(a, sorted_offsets(a), fn.min, init=3, **k), lambda a: np.minimum(joined(np.minimum.accumulate, segments(a), a), 3), dtypes=(np.int32,), sizes=SIZES)
case(S, "in place", in_new(lambda memory, k: alg.segmented_scan(memory, sorted_offsets(np.asarray(memory)), out=memory, **k)), lambda a: joined(lambda p: np.cumsum(p, dtype=a.dtype), segments(a), a), sizes=ONES)
S = "device_segmented_sort_keys"
for descending in (False, True):
    d = {"descending": descending}
    case(S, "random segments" + ", descending" * descending, lambda a, k, d=d: alg.segmented_sort(a, sorted_offsets(a), **d, **k), lambda a, d=d: joined(lambda p: p[order_of(p, **d)], segments(a), a), dtypes=ALL, sizes=SIZES, kinds=("random", "few", "special"))
case(S, "one segment", lambda a, k: alg.segmented_sort(a, [0, a.size], **k), np.sort, dtypes=FEW, sizes=ONES)
case(S, "segments of one element", lambda a, k: alg.segmented_sort(a, np.arange(a.size + 1, dtype=np.int32), **k), lambda a: a, dtypes=FEW, sizes=ONES)
case(S, "by a comparison", lambda a, k: alg.segmented_sort(a, sorted_offsets(a), less=fn.greater, **k), lambda a: joined(lambda p: p[order_of(p, True)], segments(a), a), sizes=ONES)

# -- others --------------------------------------------------------------------------------------------------------

S = "device_topk"
for largest in (True, False):
    for part in (1, 2, 10):
        case(S, f"largest={largest}, a part of {part}", lambda a, k, b=largest, p=part: alg.topk(a, max(a.size // p, 1), largest=b, **k), lambda a, b=largest, p=part: (a[order_of(a, b)][:max(a.size // p, 1)], order_of(a, b)[:max(a.size // p, 1)]), dtypes=ALL, sizes=ONES, kinds=("random", "few", "special"))
case(S, "more than there are", lambda a, k: alg.topk(a, a.size + 1, **k), ValueError, sizes=(0, 10))

S = "device_adjacent_difference"
case(S, "left", lambda a, k: alg.adjacent_difference(a, **k), lambda a: np.r_[a[:1], a[1:] - a[:-1]], dtypes=(np.int32, np.uint32, *FLOATS), sizes=SIZES, kinds=(*DATA, "limits"), offsets=OFFSETS)
case(S, "right", lambda a, k: alg.flip(alg.adjacent_difference(lazy.flip(a), **k)), lambda a: np.r_[a[:-1] - a[1:], a[-1:]], dtypes=(np.int32, np.float32), sizes=ONES)
case(S, "an operator that does not commute", lambda a, k: alg.adjacent_difference(a, lambda x, y: 2 * x - y, **k), lambda a: np.r_[a[:1], 2 * a[1:] - a[:-1]], sizes=SIZES)
case(S, "a small difference of large numbers", lambda a, k: alg.adjacent_difference(lazy.arange(max(a.size, 1), 2 ** 30), **k), lambda a: np.r_[2 ** 30, np.ones(max(a.size, 1) - 1)], sizes=SIZES)
case(S, "in place", in_new(lambda memory, k: alg.adjacent_difference(memory, out=memory, **k)), amp.AmpError, sizes=(10,))

S = "device_histogram"
for bins in (1, 2, 4, 15, 256, 5000):
    case(S, f"even, {bins} bins", lambda a, k, b=bins: alg.histogram(a, b, (-20, 30), **k), lambda a, b=bins: np.histogram(a, b, (-20, 30)), dtypes=(np.int8, np.uint8, np.int16, np.int32, np.float32, np.float64), sizes=SIZES, kinds=("random", "few"))
case(S, "range", lambda a, k: alg.histogram_range(a, [-30, -5, -4, 0, 7, 7.5, 40], **k), lambda a: np.histogram(a, [-30, -5, -4, 0, 7, 7.5, 40])[0], dtypes=ALL, sizes=SIZES, kinds=("random", "limits", "special"), offsets=(0, 1))
case(S, "of rows with gaps", lambda a, k: alg.histogram(a[:, ::2], 7, (-20, 30), **k)[0], lambda a: np.histogram(a[:, ::2], 7, (-20, 30))[0], dtypes=(np.uint8, np.int32, np.float32), sizes=(1, 31, 257, 2049), rank=2)
case(S, "of one of four channels", lambda a, k: [np.asarray(alg.histogram(np.resize(a, (a.size, 4))[:, c], 5, (0, 50), **k)[0]) for c in range(3)], lambda a: [np.histogram(np.resize(a, (a.size, 4))[:, c], 5, (0, 50))[0] for c in range(3)], dtypes=(np.uint8, np.float32), sizes=(1, 257, 3000))
case(S, "all bytes", lambda a, k: alg.bincount(a, bins=256, **k), lambda a: np.bincount(a, minlength=256), dtypes=(np.uint8,), sizes=SIZES, kinds=("random", "limits", "constant"))
case(S, "edges that do not rise", lambda a, k: alg.histogram_range(a, [3, 1, 2], **k), ValueError, sizes=(10,))

S = "device_merge"
for part in (2, 3, 10_000):
    case(S, f"the second input is a part of {part}", lambda a, k, p=part: alg.merge(np.sort(a[a.size // p:]), np.sort(a[:a.size // p]), **k), lambda a: np.sort(a), dtypes=ALL, sizes=SIZES, kinds=("random", "constant"))
case(S, "pairs, stable", lambda a, k: alg.merge_by_key(np.sort(a), np.sort(a), positions(a), positions(a) + a.size, **k), lambda a: (np.sort(np.r_[a, a]), np.argsort(np.r_[np.sort(a), np.sort(a)], kind="stable")), dtypes=ALL, sizes=SIZES)
case(S, "by a comparison", lambda a, k: alg.merge(np.sort(a)[::-1], np.sort(a)[::-1], fn.greater, **k), lambda a: np.sort(np.r_[a, a])[::-1], sizes=ONES)

S = "device_find"
case(S, "if, the first, the last, none", lambda a, k: (alg.find_if(a, truth, **k), alg.find_if(positions(a), lambda x, last=a.size - 1: x == last, **k), alg.find_if(a, falsehood, **k)), lambda a: (0, a.size - 1, -1), dtypes=FEW, sizes=ONES)
for side in ("left", "right"):
    case("device_find_bound_sorted_values", side, lambda a, k, s=side: alg.searchsorted(np.sort(a), a[::3], s, **k), lambda a, s=side: np.searchsorted(np.sort(a), a[::3], s), dtypes=ALL, sizes=SIZES, kinds=("random", "constant"))

S = "device_transform"
case(S, "of three inputs", lambda a, k: alg.transform(lambda x, y, z: x * y - z, a, a[::-1], a, **k), lambda a: a * a[::-1] - a, dtypes=(np.int32, np.uint32, np.float32), sizes=SIZES, offsets=OFFSETS)
case(S, "in place", in_new(lambda memory, k: alg.transform(lambda x: x + x, memory, out=memory, **k)), lambda a: a + a, dtypes=(np.int32, np.float32), sizes=ONES, offsets=OFFSETS)
case(S, "no input", lambda a, k: alg.generate(max(a.size, 1), lambda i: i * 2, **k), lambda a: np.arange(max(a.size, 1)) * 2, sizes=SIZES)
case(S, "fill", in_new(lambda memory, k: alg.fill(memory, 7, **k)), lambda a: np.full_like(a, 7), dtypes=ALL, sizes=ONES, offsets=OFFSETS)
case("device_copy", "of rows with gaps", lambda a, k: alg.copy(a[::2, 1::3], **k), lambda a: a[::2, 1::3], dtypes=ALL, sizes=(31, 257), rank=2)
case("device_copy", "transposed", lambda a, k: alg.transpose(a, **k), np.transpose, dtypes=ALL, sizes=(1, 31, 257), rank=2)


def doubled(a, k):
    memory = amp.array_view(a.copy())
    alg.for_each(_double, memory, **k)
    return memory


@amp.func
def _double(values, i):
    values[i] = values[i] + values[i]


case("device_for_each", "in extents", doubled, lambda a: a + a, dtypes=(np.int32, np.float32), sizes=(1, 31, 257), rank=2)
