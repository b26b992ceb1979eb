"""The cases of the tests of C++ AMP's algorithm libraries (dbremner/ampalgorithms, test/), by their files' names.

Left out: iterators of views, which are slices here, the tests of the tests' tools, and the direct3d scan's limits.
"""

# Each call is a line.
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.algorithms.cases import case
from vkamp import algorithms as alg
from vkamp.algorithms import functional as fn
from vkamp.algorithms import stl

#: The smallest inputs, those of the original tests, and around a tile and many.
SIZES = (1, 2, 10, 13, 1023, 1024, 1025, 4099)
SMALL = (1, 2, 13, 1025)


def on(view_function):
    """Calls a function with a view of a copy of the input on the device, and an output as large."""

    def call(a, k):
        where = k["accelerator_view"]
        made = [
            amp.array_view(amp.array(np.ascontiguousarray(each), accelerator_view=where))
            for each in (a, np.full_like(a, -2))
        ]
        return view_function(*made)

    return call


def stl_case(suite, what, call, expected, **options):
    case(f"test_amp_stl_algorithms_{suite}", what, on(call), expected, **{"sizes": SIZES, **options})


def part(v, found):
    """The elements before a new end."""
    n = int(found)
    return np.asarray(v)[:n]


def even(x):
    return x % 2 == 0


def first(places, none=-1):
    return next(iter(np.flatnonzero(places)), none)


def heads(a):
    return a[np.r_[True, a[1:] != a[:-1]]]


# -- amp_algorithms.h ----------------------------------------------------------------------------------------------

S = "test_amp_algorithms_reduce"
for name, op, of_numpy in (
    ("sum", fn.plus, np.add),
    ("min", fn.min, np.minimum),
    ("max", fn.max, np.maximum),
    ("bit_xor", fn.bit_xor, np.bitwise_xor),
    ("bit_and", fn.bit_and, np.bitwise_and),
    ("bit_or", fn.bit_or, np.bitwise_or),
):
    dtypes = (np.int32, np.uint32) if name.startswith("bit") else (np.int32, np.uint32, np.float32)
    case(S, name, lambda a, k, op=op: alg.reduce(a, op, **k), lambda a, f=of_numpy: f.reduce(a, dtype=a.dtype), dtypes=dtypes, sizes=(*SIZES, 20007), tolerance=1e-05)
case(S, "deviation of a lazy input", lambda a, k: alg.std(a, **k), np.std, dtypes=(np.float32,), sizes=SIZES, tolerance=0.0001)
case("test_amp_algorithms", "fill", lambda a, k: alg.fill(a.copy(), 7, **k), lambda a: np.full_like(a, 7), sizes=SIZES)
case("test_amp_algorithms", "generate", lambda a, k: alg.generate(a.size, lambda i: 7, **k), lambda a: np.full_like(a, 7), sizes=SIZES)
case("test_amp_algorithms", "transform, unary, of a matrix", lambda a, k: alg.transform(lambda x: 2 * x, a, **k), lambda a: 2 * a, sizes=(1, 16, 257), rank=2)
case("test_amp_algorithms", "transform, binary, of three dimensions", lambda a, k: alg.transform(fn.plus, np.stack([a, a]), np.stack([a, -a]), **k), lambda a: np.stack([a, a]) + np.stack([a, -a]), sizes=(1, 16, 257), rank=2)

S = "test_amp_algorithms_operators"
for name, of_numpy in (
    ("plus", np.add), ("minus", np.subtract), ("multiplies", np.multiply), ("max", np.maximum), ("min", np.minimum),
    ("equal_to", np.equal), ("not_equal_to", np.not_equal), ("greater", np.greater), ("less", np.less),
    ("greater_equal", np.greater_equal), ("less_equal", np.less_equal), ("logical_and", np.logical_and),
    ("logical_or", np.logical_or), ("bit_and", np.bitwise_and), ("bit_or", np.bitwise_or), ("bit_xor", np.bitwise_xor),
):  # fmt: skip
    case(S, name, lambda a, k, name=name: alg.transform(getattr(fn, name), a, np.roll(a, 1) - 1, **k), lambda a, f=of_numpy: f(a, np.roll(a, 1) - 1), sizes=(13,))
for name, of_numpy in (("negate", np.negative), ("logical_not", np.logical_not), ("bit_not", np.invert)):
    case(S, name, lambda a, k, name=name: alg.transform(getattr(fn, name), a, **k), lambda a, f=of_numpy: f(a), sizes=(13,))
case(S, "divides and modulus", lambda a, k: (alg.transform(fn.divides, a, np.full_like(a, 4), **k), alg.transform(fn.modulus, a, np.full_like(a, 7), **k)), lambda a: (a / np.float32(4), a % 7), sizes=(13,))
case(S, "not1, not2", lambda a, k: (alg.transform(fn.not1(even), a, **k), alg.transform(fn.not2(fn.less), a, a[::-1], **k)), lambda a: (a % 2 != 0, a >= a[::-1]), sizes=(13,))

S = "test_amp_algorithms_sort"
for kind in ("random", "sorted", "reversed", "constant", "few", "limits"):
    case(S, f"radix sort, {kind}", lambda a, k: alg.sort(a, **k), np.sort, dtypes=(np.int32, np.uint32, np.float32), sizes=(*SIZES, 16, 255, 256, 257, 65537), kinds=(kind,))
case(S, "by two bits", lambda a, k: alg.sort(a, bits=(0, 2), **k), lambda a: a[np.argsort(a & 3, kind="stable")], dtypes=(np.uint32,), sizes=(4, 8, 16, 32, 256, 1025))
case(S, "by the next two bits", lambda a, k: alg.sort(a, bits=(2, 4), **k), lambda a: a[np.argsort(a >> 2 & 3, kind="stable")], dtypes=(np.uint32,), sizes=(4, 8, 16, 32, 256, 1025))
case(S, "into another view", lambda a, k: alg.sort(a, out=np.empty_like(a), **k), np.sort, sizes=SIZES)

# -- scans: amp_algorithms.h and direct3d::scan --------------------------------------------------------------------

OPS = (
    ("plus", fn.plus, np.add), ("max", fn.max, np.maximum), ("min", fn.min, np.minimum),
    ("multiplies", fn.multiplies, np.multiply), ("bit_xor", fn.bit_xor, np.bitwise_xor),
    ("bit_and", fn.bit_and, np.bitwise_and), ("bit_or", fn.bit_or, np.bitwise_or),
)  # fmt: skip


def identity(name, dtype):
    limits = np.iinfo(dtype)
    return {
        "plus": 0,
        "multiplies": 1,
        "max": limits.min,
        "min": limits.max,
        "bit_and": -1 if limits.min else limits.max,
    }.get(name, 0)


def exclusive(a, of_numpy, name, reverse):
    ordered = a[..., ::-1] if reverse else a
    begin = np.full((*a.shape[:-1], 1), identity(name, a.dtype), a.dtype)
    found = of_numpy.accumulate(np.concatenate([begin, ordered[..., :-1]], -1), -1, dtype=a.dtype)
    return found[..., ::-1] if reverse else found


def inclusive(a, of_numpy, reverse):
    ordered = a[..., ::-1] if reverse else a
    found = of_numpy.accumulate(ordered, -1, dtype=a.dtype)
    return found[..., ::-1] if reverse else found


def flags_of(a):
    """Segments' first elements."""
    return ((np.random.default_rng(a.size).random(a.size) < 0.1) | (np.arange(a.size) == 0)).astype(np.uint8)


def by_flags(function, a):
    return np.concatenate([function(each) for each in np.split(a, np.flatnonzero(flags_of(a))[1:])])


for name, op, of_numpy in OPS:
    common = {"dtypes": (np.int32, np.uint32)}
    for reverse in (False, True):
        way = "backwards" if reverse else "forwards"
        case("test_amp_algorithms_direct3d_scan", f"{name}, {way}", lambda a, k, op=op, r=reverse: alg.scan(a, op, inclusive=False, reverse=r, **k), lambda a, f=of_numpy, n=name, r=reverse: exclusive(a, f, n, r), sizes=(10, 11, 66, 77, 777, 2048, 2049, 12345), **common)
        case("test_amp_algorithms_direct3d_scan", f"multi-scan, {name}, {way}", lambda a, k, op=op, r=reverse: alg.scan(a, op, inclusive=False, reverse=r, axis=1, **k), lambda a, f=of_numpy, n=name, r=reverse: exclusive(a, f, n, r), sizes=(8, 127, 128, 144, 2048, 3333), rank=2, **common)
        case("test_amp_algorithms_scan", f"inclusive, {name}, {way}", lambda a, k, op=op, r=reverse: alg.scan(a, op, reverse=r, **k), lambda a, f=of_numpy, r=reverse: inclusive(a, f, r), sizes=(*SMALL, 4099), **common)
    case("test_amp_algorithms_direct3d_scan", f"segmented, {name}", lambda a, k, op=op: alg.segmented_scan(a, flags_of(a), op, inclusive=False, **k), lambda a, f=of_numpy, n=name: by_flags(lambda p: exclusive(p, f, n, False), a), sizes=(31, 111, 222, 234, 333, 444), **common)
    case("test_amp_algorithms_direct3d_scan", f"in place, {name}", lambda a, k, op=op: _in_place(a, op, k), lambda a, f=of_numpy, n=name: exclusive(a, f, n, False), sizes=(11, 2049), **common)


def _in_place(a, op, k):
    memory = amp.array_view(a.copy())
    return alg.scan(memory, op, inclusive=False, out=memory, **k)


def three_scans(a, k):
    """Two scans of ones, one after the other, then a segmented one from the end."""
    once = alg.scan(np.ones(10, np.uint32), inclusive=False, **k)
    twice = alg.scan(once, inclusive=False, **k)
    flags = np.zeros(10, np.uint8)
    flags[[0, 7]] = 1
    return alg.flip(alg.segmented_scan(alg.flip(twice), flags, inclusive=False, **k))


case("test_amp_algorithms_direct3d_scan", "other", three_scans, lambda a: [1, 1, 0, 116, 110, 100, 85, 64, 36, 0], sizes=(1,))
stl_case("partial_sum", "sum", lambda v, o: alg.scan(v, out=o), lambda a: np.cumsum(a, dtype=a.dtype))
case("test_amp_stl_algorithms_partial_sum", "empty", lambda a, k: alg.scan(a, **k), lambda a: a, sizes=(0,))
case("test_amp_stl_algorithms_partial_sum", "of vectors", lambda a, k: np.asarray(alg.scan(amp.array_view(np.resize(a, (a.size, 4))).reshape(-1).reinterpret_as(amp.int4), **k)).view(np.int32).reshape(-1, 4), lambda a: np.cumsum(np.resize(a, (a.size, 4)), 0, dtype=np.int32), sizes=SMALL)


# -- bit vectors: flags of segments --------------------------------------------------------------------------------

S = "test_amp_algorithms_bitvector"
case(S, "uniform segments", lambda a, k: alg.reduce_by_key(np.arange(1327, dtype=np.int32) // 2, np.ones(1327, np.int32), **k)[1], lambda a: [2] * 663 + [1], sizes=(1,))
case(S, "one segment begins inside", lambda a, k: alg.segmented_reduce(np.ones(1327, np.int32), (np.arange(1327) == 797).astype(np.uint8), **k), lambda a: [797, 530], sizes=(1,))
case(S, "bytes of a word", lambda a, k: alg.transform(lambda x: fn.pack_byte(fn.unpack_byte(x, 2), 1), a, **k), lambda a: (a >> 16 & 255) << 8, dtypes=(np.uint32,), sizes=(13,), kinds=("limits", "random"))

# -- pairs ---------------------------------------------------------------------------------------------------------

PAIR = np.dtype([("first", np.int32), ("second", np.int32)])


def pairs(a):
    found = np.zeros(a.size, PAIR)
    found["first"], found["second"] = a, a[::-1]
    return found


def exchanged(p):
    found = p.copy()
    found.first = p.second
    found.second = p.first
    return found


S = "test_amp_stl_algorithms_pair"
case(S, "members exchanged", lambda a, k: alg.transform(exchanged, pairs(a), **k), lambda a: pairs(a[::-1]), sizes=SMALL)
case(S, "copied", lambda a, k: alg.copy(pairs(a), **k), pairs, sizes=SMALL)
case(S, "sorted by the first member", lambda a, k: alg.sort(pairs(a), less=lambda p, q: p.first < q.first, **k), lambda a: pairs(a)[np.argsort(a, kind="stable")], sizes=SMALL)

# -- amp_stl_algorithms.h ------------------------------------------------------------------------------------------

for suite, name, of_numpy in (
    ("all_of", "all_of", np.all),
    ("any_of", "any_of", np.any),
    ("none_of", "none_of", lambda p: not p.any()),
):
    for what, pred, places in (
        ("some", even, lambda a: a % 2 == 0),
        ("all", lambda x: x < 99, lambda a: a < 99),
        ("none", lambda x: x > 99, lambda a: a > 99),
        ("some large", lambda x: x > 45, lambda a: a > 45),
    ):
        stl_case(suite, what, lambda v, o, name=name, p=pred: getattr(stl, name)(v, p), lambda a, f=of_numpy, q=places: f(q(a)))
    case(f"test_amp_stl_algorithms_{suite}", "empty", lambda a, k, name=name: getattr(stl, name)(a, even), lambda a, name=name: name != "any_of", sizes=(0,))

stl_case("adjacent_difference", "differences", lambda v, o: stl.adjacent_difference(v, o), lambda a: np.diff(a, prepend=0))
stl_case("adjacent_difference", "sums", lambda v, o: stl.adjacent_difference(v, o, fn.plus), lambda a: np.r_[a[:1], a[1:] + a[:-1]])
stl_case("adjacent_find", "equal", lambda v, o: stl.adjacent_find(v), lambda a: first(a[1:] == a[:-1]), kinds=("random", "few", "constant"))
stl_case("adjacent_find", "by a relation", lambda v, o: stl.adjacent_find(v, fn.greater), lambda a: first(a[:-1] > a[1:]), kinds=("random", "sorted"))
stl_case("copy", "all", lambda v, o: stl.copy(v, o), lambda a: a, dtypes=(np.int32, np.float32))
stl_case("copy", "n", lambda v, o: (stl.copy_n(v, (len(o) + 1) // 2, o[:(len(o) + 1) // 2]), o)[1], lambda a: np.r_[a[:(a.size + 1) // 2], np.full(a.size // 2, -2)])
stl_case("copy", "if", lambda v, o: stl.copy_if(v, o, even), lambda a: a[a % 2 == 0], kinds=("random", "few"))
stl_case("copy", "if, none and all", lambda v, o: (np.asarray(stl.copy_if(v, o, lambda x: x > 99)).size, stl.copy_if(v, o, lambda x: x < 99)), lambda a: (0, a))
stl_case("copy", "backward, within a range", lambda v, o: (stl.copy_backward(v[: len(v) - 1], v[1:]), v)[1], lambda a: np.r_[a[:1], a[:-1]], sizes=SIZES[1:])
stl_case("copy", "move", lambda v, o: (stl.move(v[1:], v[: len(v) - 1]), v)[1], lambda a: np.r_[a[1:], a[-1:]], sizes=SIZES[1:])
for value in (7, 99):
    stl_case("count", str(value), lambda v, o, x=value: stl.count(v, x), lambda a, x=value: (a == x).sum(), kinds=("random", "constant"))
    stl_case("find", str(value), lambda v, o, x=value: stl.find(v, x), lambda a, x=value: first(a == x), kinds=("random", "constant"))
stl_case("count_if", "even", lambda v, o: stl.count_if(v, even), lambda a: (a % 2 == 0).sum())
stl_case("find", "if and if not", lambda v, o: (stl.find_if(v, even), stl.find_if_not(v, even)), lambda a: (first(a % 2 == 0), first(a % 2 != 0)))
stl_case("find", "first of", lambda v, o: stl.find_first_of(v, v[len(v) // 2:]), lambda a: first(np.isin(a, a[a.size // 2:])))
stl_case("equal", "equal and not", lambda v, o: (stl.equal(v, v), stl.equal(v, o)), lambda a: (True, False))
stl_case("equal", "by a relation", lambda v, o: stl.equal(v, alg.transform(lambda x: x + 1, v), lambda x, y: x + 1 == y), lambda a: True)
stl_case("fill", "all", lambda v, o: stl.fill(v, 7), lambda a: np.full_like(a, 7), dtypes=(np.int32, np.float32))
stl_case("fill", "n", lambda v, o: stl.fill_n(v, 1, 616), lambda a: np.r_[616, a[1:]])
stl_case("generate", "all and n", lambda v, o: (stl.generate(v, lambda i: 7), stl.generate_n(o, 1, lambda i: 616)), lambda a: (np.full_like(a, 7), np.r_[616, np.full(a.size - 1, -2)]))
stl_case("inner_product", "usual", lambda v, o: stl.inner_product(v, v, 2), lambda a: (a * a).sum(dtype=a.dtype) + a.dtype.type(2))
stl_case("inner_product", "of other operators", lambda v, o: stl.inner_product(v, v, 2, fn.plus, fn.plus), lambda a: (a + a).sum(dtype=a.dtype) + a.dtype.type(2))
stl_case("iota", "from 5", lambda v, o: stl.iota(v, 5), lambda a: np.arange(a.size) + 5)
stl_case("reduce", "sum and maximum", lambda v, o: (stl.reduce(v, 0), stl.reduce(v, 0, fn.max)), lambda a: (a.sum(dtype=a.dtype), max(a.max(), 0)))
stl_case("remove", "a number", lambda v, o: part(v, stl.remove(v, 7)), lambda a: a[a != 7], kinds=("random", "constant"))
stl_case("remove", "if", lambda v, o: part(v, stl.remove_if(v, even)), lambda a: a[a % 2 != 0])
stl_case("remove", "copy and copy if", lambda v, o: (np.asarray(stl.remove_copy(v, o, 7)), stl.remove_copy_if(v, o, even)), lambda a: (a[a != 7], a[a % 2 != 0]))
stl_case("replace", "a number", lambda v, o: stl.replace(v, 7, -1), lambda a: np.where(a == 7, -1, a), kinds=("random", "constant"))
stl_case("replace", "if", lambda v, o: stl.replace_if(v, even, -1), lambda a: np.where(a % 2 == 0, -1, a))
stl_case("replace", "copy, copy if", lambda v, o: (np.asarray(stl.replace_copy(v, o, 7, -1)).copy(), stl.replace_copy_if(v, o, even, -1)), lambda a: (np.where(a == 7, -1, a), np.where(a % 2 == 0, -1, a)))
stl_case("reverse", "in place and copied", lambda v, o: (stl.reverse_copy(v, o), stl.reverse(v)), lambda a: (a[::-1], a[::-1]))
stl_case("rotate", "in place and copied", lambda v, o: (stl.rotate_copy(v, len(v) // 5, o), stl.rotate(v, len(v) // 5)), lambda a: (np.roll(a, -(a.size // 5)),) * 2)
stl_case("swap", "ranges", lambda v, o: (stl.swap_ranges(v, o), v, o)[1:], lambda a: (np.full_like(a, -2), a))
stl_case("swap", "two elements", lambda v, o: (stl.iter_swap(v, 0, o, len(o) - 1), v, o)[1:], lambda a: (np.r_[-2, a[1:]], np.r_[np.full(a.size - 1, -2), a[:1]]))
stl_case("transform", "unary", lambda v, o: stl.transform(v, o, lambda x: 2 * x), lambda a: 2 * a)
stl_case("transform", "binary", lambda v, o: stl.transform(v, o, fn.plus, v), lambda a: a + a)


def by_all(v, sort_kind="stable"):
    return alg.sort(v)


for kind in ("random", "constant", "few"):
    options = {"kinds": (kind,)}
    stl_case("binary_search", f"found and not, {kind}", lambda v, o: (stl.binary_search(by_all(v), int(v[0])), stl.binary_search(by_all(v), 99), stl.binary_search(by_all(v), -99)), lambda a: (True, False, False), sizes=SMALL, **options)
    stl_case("equal_range", kind, lambda v, o: [int(i) for x in (int(v[0]), 99, -99) for i in stl.equal_range(by_all(v), x)], lambda a: [np.searchsorted(np.sort(a), x, s) for x in (a[0], 99, -99) for s in ("left", "right")], sizes=SMALL, **options)
    stl_case("sort", kind, lambda v, o: stl.sort(v), np.sort, **options)
    stl_case("sort", f"by a comparison, {kind}", lambda v, o: stl.stable_sort(v, fn.greater), lambda a: np.sort(a)[::-1], **options)
    stl_case("partition", kind, lambda v, o: (stl.stable_partition(v, even), v), lambda a: ((a % 2 == 0).sum(), np.r_[a[a % 2 == 0], a[a % 2 != 0]]), **options)
    stl_case("partition", f"is_partitioned and partition_point, {kind}", lambda v, o: (stl.is_partitioned(by_all(v), lambda x: x < 5), stl.partition_point(by_all(v), lambda x: x < 5)), lambda a: (True, (a < 5).sum()), **options)
    stl_case("max_element", kind, lambda v, o: (stl.max_element(v), stl.max_element(v, fn.greater)), lambda a: (a.argmax(), a.argmin()), **options)
    stl_case("min_element", kind, lambda v, o: (stl.min_element(v), stl.min_element(v, fn.greater)), lambda a: (a.argmin(), a.argmax()), **options)
    stl_case("minmax_element", kind, lambda v, o: stl.minmax_element(v), lambda a: (a.argmin(), a.size - 1 - a[::-1].argmax()), **options)
    stl_case("merge", kind, lambda v, o: stl.merge(by_all(v), by_all(v), alg.concat(v, v)), lambda a: np.sort(np.r_[a, a]), **options)
    stl_case("merge", f"in place, {kind}", lambda v, o: stl.inplace_merge(alg.concat(by_all(v), by_all(v)), len(v)), lambda a: np.sort(np.r_[a, a]), **options)
    stl_case("nth_element", kind, lambda v, o: np.asarray(stl.nth_element(v, len(o) // 2))[len(o) // 2], lambda a: np.sort(a)[a.size // 2], **options)
    stl_case("sort", f"partial, {kind}", lambda v, o: np.asarray(stl.partial_sort(v, len(o) // 2))[:len(o) // 2], lambda a: np.sort(a)[:a.size // 2], **options)
    stl_case("unique", kind, lambda v, o: (np.asarray(stl.unique_copy(v, o)), part(v, stl.unique(v))), lambda a: (heads(a), heads(a)), **options)
    stl_case("sets", kind, lambda v, o: (stl.set_union(by_all(v), by_all(v)), stl.set_difference(by_all(v), by_all(v)), stl.set_intersection(by_all(v), by_all(v)), stl.includes(by_all(v), by_all(v))), lambda a: (np.sort(a), a[:0], np.sort(a), True), sizes=SMALL, **options)


def concave(a):
    """Rising, then falling."""
    ordered = np.sort(a)
    return np.r_[ordered[: a.size // 2], ordered[a.size // 2 :][::-1]]


case("test_amp_stl_algorithms_sort", "concave and convex", lambda a, k: (alg.sort(concave(a), **k), alg.sort(np.flip(concave(-a)), **k)), lambda a: (np.sort(a), np.sort(-a)), sizes=SIZES)
case("test_amp_stl_algorithms_sort", "empty", lambda a, k: alg.sort(a, **k), lambda a: a, sizes=(0,))
case("test_amp_stl_algorithms_merge", "an empty range", lambda a, k: (alg.merge(np.sort(a), a[:0], **k), alg.merge(a[:0], np.sort(a), **k), alg.merge(a[:0], a[:0], **k)), lambda a: (np.sort(a), np.sort(a), a[:0]), sizes=SMALL)
case("test_amp_stl_algorithms_merge", "one range varies", lambda a, k: (alg.merge(np.sort(a), np.sort(a[:3]), **k), alg.merge(np.sort(a[:1]), np.sort(a), **k)), lambda a: (np.sort(np.r_[a, a[:3]]), np.sort(np.r_[a[:1], a])), sizes=SIZES)
case("test_amp_stl_algorithms_partition", "empty", lambda a, k: alg.partition(a, even, **k), lambda a: (a, 0), sizes=(0,))
case("test_amp_stl_algorithms_partition", "of vectors", lambda a, k: alg.partition(pairs(a), lambda p: p.first < p.second, **k), lambda a: (np.r_[pairs(a)[a < a[::-1]], pairs(a)[a >= a[::-1]]], (a < a[::-1]).sum()), sizes=SMALL)
stl_case("is_sorted", "sorted, reversed, and until", lambda v, o: (stl.is_sorted(by_all(v)), stl.is_sorted(v), stl.is_sorted_until(v), stl.is_sorted(v, fn.greater)), lambda a: (True, not (a[1:] < a[:-1]).any(), first(np.r_[False, a[1:] < a[:-1]], a.size), not (a[1:] > a[:-1]).any()), kinds=("random", "sorted", "reversed", "constant"))
case("test_amp_stl_algorithms_is_sorted", "empty", lambda a, k: (alg.is_sorted(a, **k), alg.is_sorted_until(a, **k)), lambda a: (True, 0), sizes=(0,))


def runs_at(a, n, x):
    return first([(a[i : i + n] == x).all() for i in range(a.size - n + 1)])


for n in (0, 1, 2, 5):
    stl_case("search_n", f"{n} in a row", lambda v, o, n=n: stl.search_n(by_all(v), n, 7), lambda a, n=n: 0 if n == 0 else runs_at(np.sort(a), n, 7), kinds=("random", "constant"), sizes=SMALL)
case("test_amp_stl_algorithms_search_n", "empty", lambda a, k: alg.search_n(a, 1, 7, **k), lambda a: -1, sizes=(0,))
case("test_amp_stl_algorithms_search_n", "interrupted runs", lambda a, k: [int(alg.search_n((np.arange(a.size) % n != 0).astype(np.int32), n, 1, **k)) for n in (1, 2, 5)], lambda a: [runs_at(np.arange(a.size) % n != 0, n, True) for n in (1, 2, 5)], sizes=SMALL)
stl_case("search", "inside, at the end, and not", lambda v, o: (stl.search(v, v[len(v) // 2:]), stl.find_end(v, v[len(v) - 1 :]), stl.search(v, o)), lambda a: (first([(a[i:i + a.size - a.size // 2] == a[a.size // 2:]).all() for i in range(a.size // 2 + 1)]), a.size - 1, -1), sizes=SMALL)
stl_case("mismatch", "at the end, and none", lambda v, o: (stl.mismatch(v, stl.copy(v, o)), stl.mismatch(v, stl.fill(o, 60))), lambda a: (-1, 0))
stl_case("lexicographical_compare", "less, equal, shorter", lambda v, o: (stl.lexicographical_compare(v, alg.transform(lambda x: x + 1, v)), stl.lexicographical_compare(v, v), stl.lexicographical_compare(alg.concat(v, v), v)), lambda a: (True, False, False))
stl_case("shuffle", "is a permutation", lambda v, o: np.sort(np.asarray(stl.shuffle(v, np.random.default_rng(1)))), np.sort)
