"""Complex elements in every function that does not order elements, against numpy."""

# Each call is a line.
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

import numpy as np

from tests.algorithms.cases import COMPLEX, case
from vkamp import algorithms as alg
from vkamp.algorithms import functional as fn
from vkamp.algorithms import lazy

SIZES = (1, 3, 64, 257, 1300)


def one(what, call, expected, *, sizes=SIZES, tolerance=1e-5, **options):
    """A case of complex elements."""
    case("complex", what, call, expected, dtypes=COMPLEX, sizes=sizes, tolerance=tolerance, **options)


def other(a):
    """As many other elements."""
    return np.roll(a, 1, -1) * a.dtype.type(1 - 2j)


def unit(a):
    """Elements whose products stay small."""
    return (np.exp(1j * a.real) * (1 + 1e-4 * (a.imag > 0))).astype(a.dtype)


def places(a):
    return np.random.default_rng(a.size).permutation(a.size).astype(np.int32)


def keys(a):
    return np.sort(np.random.default_rng(a.size).integers(0, a.size // 4 + 1, a.size)).astype(np.int32)


def runs(a):
    """Runs of one to three equal elements."""
    return np.repeat(a, 3)[1 : a.size + 1]


def heads(a):
    return np.flatnonzero(np.r_[True, a[1:] != a[:-1]])


def cut(a, at):
    return np.split(a, at)


def by_key(a):
    return cut(a, heads(keys(a))[1:])


def offsets(a):
    return np.array([0, a.size // 5, a.size // 5, a.size // 2, a.size], np.int32)


def segments(a):
    return cut(a, offsets(a)[1:-1])


def joined(function, parts):
    return np.concatenate([function(part) for part in parts])


def right(z):
    return z.real > 3


def upper(z):
    return z.imag > 0


def by_real(x, y):
    return x.real < y.real


def ordered(a):
    return a[np.argsort(a.real, kind="stable")]


def counts(a):
    return np.random.default_rng(a.size).integers(0, 3, a.size).astype(np.int32) + (np.arange(a.size) == 0)


# -- functions of each element -------------------------------------------------------------------------------------

one("transform", lambda a, k: alg.transform(lambda x, y: x * y.conjugate() + 1j, a, other(a), **k), lambda a: a * other(a).conj() + 1j)
one("transform to real", lambda a, k: alg.transform(lambda x: abs(x), a, **k), np.abs)
one("transform of real", lambda a, k: alg.transform(lambda x: x * 2, a.real.copy(), dtype=a.dtype, **k), lambda a: a.real * 2 + 0j)
one("captured number", lambda a, k: alg.transform(lambda x, c=2 + 1j: x * c, a, **k), lambda a: a * (2 + 1j))
one("fill", lambda a, k: alg.fill(a.copy(), 2 - 3j, **k), lambda a: np.full_like(a, 2 - 3j))
one("copy", lambda a, k: alg.copy(a[::2, ::-1], **k), lambda a: a[::2, ::-1], rank=2)
one("flip", lambda a, k: alg.flip(a, 1, **k), lambda a: a[:, ::-1], rank=2)
one("roll", lambda a, k: alg.roll(a, 5, -1, **k), lambda a: np.roll(a, 5, -1), rank=2)
one("rotate", lambda a, k: alg.rotate(a, a.size // 3, **k), lambda a: np.roll(a, -(a.size // 3)))
one("take", lambda a, k: alg.take(a, places(a), **k), lambda a: a[places(a)])
one("scatter", lambda a, k: alg.scatter(np.zeros_like(a), places(a), a[places(a)], **k), lambda a: a)
one("concat", lambda a, k: alg.concat(a, a[:, :1], axis=1, **k), lambda a: np.c_[a, a[:, :1]], rank=2)
one("repeat", lambda a, k: alg.repeat(a, 3, axis=0, **k), lambda a: np.repeat(a, 3, 0), rank=2)
one("repeat by counts", lambda a, k: alg.repeat(a, counts(a), **k), lambda a: np.repeat(a, counts(a)))
one("tile_repeat", lambda a, k: alg.tile_repeat(a, (2, 2), **k), lambda a: np.tile(a, (2, 2)), rank=2)
one("transpose", lambda a, k: alg.transpose(a, **k), np.transpose, rank=2)
one("where", lambda a, k: alg.where(a.real > 3, a, other(a), **k), lambda a: np.where(a.real > 3, a, other(a)))
one("replace", lambda a, k: alg.replace(a, a[0], 5j, **k), lambda a: np.where(a == a[0], a.dtype.type(5j), a))
one("replace_if", lambda a, k: alg.replace_if(a, right, 5j, **k), lambda a: np.where(a.real > 3, a.dtype.type(5j), a))
one("generate", lambda a, k: alg.generate(a.size, lambda i: i + 1j, **k), lambda a: np.arange(a.size) + 1j)
one("arange", lambda a, k: alg.arange(a.size, 1j, 2 + 1j, **k), lambda a: np.arange(a.size) * (2 + 1j) + 1j)
one("adjacent_difference", lambda a, k: alg.adjacent_difference(a, axis=0, **k), lambda a: np.r_[a[:1], np.diff(a, axis=0)], rank=2)
one("diff", lambda a, k: alg.diff(a, 2, **k), lambda a: np.diff(a, 2), rank=2, sizes=(3, 64, 257))
one("lazy.zip", lambda a, k: alg.transform(lambda p: p.first - p.second, lazy.zip(a, other(a)), **k), lambda a: a - other(a))


def swapped(a, k):
    left, right = a.copy(), other(a)
    alg.swap(left, right, **k)
    return left, right


one("swap", swapped, lambda a: (other(a), a))
one("shuffle", lambda a, k: np.sort(alg.shuffle(a, 5, **k)), np.sort)

# -- reductions ----------------------------------------------------------------------------------------------------

for axis in (None, 0, 1):
    one("sum", lambda a, k, axis=axis: alg.sum(a, axis=axis, **k), lambda a, axis=axis: a.sum(axis), rank=2)
    one("mean", lambda a, k, axis=axis: alg.mean(a, axis=axis, **k), lambda a, axis=axis: a.mean(axis), rank=2)
    one("var", lambda a, k, axis=axis: alg.var(a, axis=axis, **k), lambda a, axis=axis: a.var(axis), rank=2)
    one("prod", lambda a, k, axis=axis: alg.prod(unit(a), axis=axis, **k), lambda a, axis=axis: unit(a).prod(axis), rank=2, tolerance=0.002)
one("std", lambda a, k: alg.std(a, axis=1, ddof=1, **k), lambda a: a.std(1, ddof=1), rank=2, sizes=(3, 64, 257))
one("sum of real numbers", lambda a, k: alg.sum(a.real.copy(), dtype=a.dtype, **k), lambda a: a.real.sum() + 0j)
one("reduce from a number", lambda a, k: alg.reduce(a, fn.plus, 3 + 2j, **k), lambda a: a.sum() + 3 + 2j)
one("reduce by a function", lambda a, k: alg.reduce(unit(a), lambda x, y: x * y, axis=1, **k), lambda a: unit(a).prod(1), rank=2, tolerance=0.002)
one("transform_reduce", lambda a, k: alg.transform_reduce(fn.multiplies, fn.plus, a, other(a), **k), lambda a: (a * other(a)).sum())
one("vdot", lambda a, k: alg.vdot(a, other(a), **k), lambda a: np.vdot(a, other(a)))
one("vdot of real and complex", lambda a, k: alg.vdot(a.real.copy(), a, **k), lambda a: np.vdot(a.real, a))
one("vdot of complex and real", lambda a, k: alg.vdot(a, a.real.copy(), **k), lambda a: np.vdot(a, a.real))
one("count", lambda a, k: alg.count(a, a[0], **k), lambda a: (a == a[0]).sum())
one("count of a fraction", lambda a, k: alg.count(a * a.dtype.type(0.1j), complex((a * a.dtype.type(0.1j))[0]), **k), lambda a: (a == a[0]).sum())
one("count_if", lambda a, k: alg.count_if(a, right, axis=1, **k), lambda a: (a.real > 3).sum(1), rank=2)
one("count_nonzero", lambda a, k: alg.count_nonzero(a, **k), np.count_nonzero)
one("any, all", lambda a, k: (alg.any(a, axis=0, **k), alg.all(a, **k)), lambda a: (a.any(0), a.all()), rank=2)
one("all_of, any_of, none_of", lambda a, k: (alg.all_of(a, right, **k), alg.any_of(a, right, **k), alg.none_of(a, right, **k)), lambda a: ((a.real > 3).all(), (a.real > 3).any(), not (a.real > 3).any()))
one("equal", lambda a, k: (alg.equal(a, a, **k), alg.equal(a, a + (np.arange(a.size) == a.size - 1), **k)), lambda a: (True, False))
one("bincount of weights", lambda a, k: alg.bincount(keys(a), a, bins=9, **k), lambda a: [a[keys(a) == j].sum() for j in range(9)])

# -- scans and segments --------------------------------------------------------------------------------------------

one("scan", lambda a, k: alg.scan(a, **k), np.cumsum)
one("exclusive scan", lambda a, k: alg.scan(a, inclusive=False, init=2j, **k), lambda a: np.cumsum(a) - a + 2j)
one("scan by a function", lambda a, k: alg.scan(unit(a), lambda x, y: x * y, init=1j, **k), lambda a: unit(a).cumprod() * 1j, tolerance=0.002)
one("scan of lines, reverse", lambda a, k: alg.scan(a, axis=1, reverse=True, **k), lambda a: a[:, ::-1].cumsum(1)[:, ::-1], rank=2)
one("cumulative_sum", lambda a, k: alg.cumulative_sum(a, axis=0, include_initial=True, **k), lambda a: np.insert(a.cumsum(0), 0, 0, 0), rank=2)
one("cumulative_prod", lambda a, k: alg.cumulative_prod(unit(a), **k), lambda a: unit(a).cumprod(), tolerance=2e-3)
one("segmented_scan", lambda a, k: alg.segmented_scan(a, offsets(a), **k), lambda a: joined(np.cumsum, segments(a)))
one("exclusive segmented_scan", lambda a, k: alg.segmented_scan(a, offsets(a), inclusive=False, init=1j, **k), lambda a: joined(lambda p: np.cumsum(p) - p + 1j, segments(a)))
one("segmented_scan of rows", lambda a, k: alg.segmented_scan(a, a.shape[1], **k), lambda a: a.cumsum(1).ravel(), rank=2)
one("segmented_reduce", lambda a, k: alg.segmented_reduce(a, offsets(a), init=1j, **k), lambda a: [p.sum() + 1j for p in segments(a)])
one("segmented_reduce of rows", lambda a, k: alg.segmented_reduce(unit(a), a.shape[1], fn.multiplies, **k), lambda a: unit(a).prod(1), rank=2, tolerance=0.002)
one("scan_by_key", lambda a, k: alg.scan_by_key(keys(a), a, **k), lambda a: joined(np.cumsum, by_key(a)))
one("scan_by_key of complex keys", lambda a, k: alg.scan_by_key(runs(a), np.ones(a.size, np.int32), **k), lambda a: joined(lambda p: np.arange(p.size) + 1, cut(runs(a), heads(runs(a))[1:])))
one("reduce_by_key", lambda a, k: alg.reduce_by_key(keys(a), a, **k), lambda a: (np.unique(keys(a)), [p.sum() for p in by_key(a)]))
one("unique_by_key", lambda a, k: alg.unique_by_key(runs(a), a, **k), lambda a: (runs(a)[heads(runs(a))], a[heads(runs(a))]))
one("scatter_reduce", lambda a, k: alg.scatter_reduce(np.zeros(9, a.dtype), keys(a) % 9, a, **k), lambda a: [a[keys(a) % 9 == j].sum() for j in range(9)])

# -- selections and searches ---------------------------------------------------------------------------------------

one("select", lambda a, k: alg.select(a, upper, **k), lambda a: a[a.imag > 0])
one("select by flags", lambda a, k: alg.select(a, flags=a.imag > 0, **k), lambda a: a[a.imag > 0])
one("nonzero", lambda a, k: alg.nonzero(a, **k), np.flatnonzero)
one("partition", lambda a, k: alg.partition(a, upper, **k), lambda a: (np.r_[a[a.imag > 0], a[a.imag <= 0]], (a.imag > 0).sum()))
one("partition3", lambda a, k: alg.partition3(a, upper, right, **k)[0], lambda a: a[np.argsort(np.where(a.imag > 0, 0, np.where(a.real > 3, 1, 2)), kind="stable")])
one("unique_consecutive", lambda a, k: alg.unique_consecutive(runs(a), return_counts=True, **k), lambda a: (runs(a)[heads(runs(a))], np.diff(np.r_[heads(runs(a)), a.size])))
one("run_length_decode", lambda a, k: alg.run_length_decode(a, counts(a), **k), lambda a: np.repeat(a, counts(a)))
one("find", lambda a, k: (alg.find(a, a[-1], **k), alg.find(a, 99j, **k)), lambda a: (np.flatnonzero(a == a[-1])[0], -1))
one("find_if", lambda a, k: alg.find_if(a, lambda z: abs(z) > 50, **k), lambda a: next(iter(np.flatnonzero(abs(a) > 50)), -1))
one("adjacent_find", lambda a, k: alg.adjacent_find(runs(a), **k), lambda a: next(iter(np.flatnonzero(runs(a)[1:] == runs(a)[:-1])), -1))
one("mismatch", lambda a, k: alg.mismatch(a, a + (np.arange(a.size) == a.size // 2), **k), lambda a: a.size // 2)
one("search, find_end", lambda a, k: (alg.search(a, a[-2:], **k), alg.find_end(a, a[-2:], **k)), lambda a: (a.size - 2, a.size - 2), sizes=(2, 64, 257))
one("search_n", lambda a, k: alg.search_n(np.r_[a, [7j] * 3].astype(a.dtype), 3, 7j, **k), lambda a: a.size)
one("find_first_of", lambda a, k: alg.find_first_of(a, a[-1:], **k), lambda a: np.flatnonzero(a == a[-1])[0])

# -- orders of users -----------------------------------------------------------------------------------------------

one("sort by key", lambda a, k: alg.sort(a, key=lambda z: z.real, **k), ordered)
one("sort by less", lambda a, k: alg.sort(a, less=by_real, **k), ordered)
one("sort_by_key, complex values", lambda a, k: alg.sort_by_key(places(a), a, **k)[1], lambda a: a[np.argsort(places(a))])
one("argsort", lambda a, k: alg.argsort(a, key=lambda z: -z.imag, **k), lambda a: np.argsort(-a.imag, kind="stable"))
one("argmin, argmax", lambda a, k: (alg.argmin(a, less=by_real, **k), alg.argmax(a, less=by_real, **k)), lambda a: (a.real.argmin(), a.real.argmax()))
one("is_sorted", lambda a, k: (alg.is_sorted(ordered(a), by_real, **k), alg.is_sorted(ordered(a)[::-1], by_real, **k)), lambda a: (True, False), sizes=(64, 257))
one("searchsorted", lambda a, k: alg.searchsorted(ordered(a), other(a), less=by_real, **k), lambda a: np.searchsorted(ordered(a).real, other(a).real))
one("merge", lambda a, k: alg.merge(ordered(a), ordered(other(a)), by_real, **k), lambda a: ordered(np.r_[ordered(a), ordered(other(a))]))
one("nth_element", lambda a, k: alg.nth_element(a, a.size // 2, less=by_real, **k), lambda a: ordered(a)[a.size // 2])
one("segmented_sort", lambda a, k: alg.segmented_sort(a, a.shape[1], less=by_real, **k), lambda a: joined(ordered, a), rank=2, sizes=(3, 64))


# -- results of other algorithms -----------------------------------------------------------------------------------


def of_selection(a, k):
    chosen = alg.select(a, upper, **k)
    return alg.sum(chosen), alg.mean(chosen), alg.count(chosen, a[-1]), alg.cumulative_sum(chosen)


def of_chosen(a):
    chosen = a[a.imag > 0]
    return (
        chosen.sum(),
        chosen.mean() if chosen.size else np.nan + np.nan * 1j,
        (chosen == a[-1]).sum(),
        chosen.cumsum(),
    )


one("counted", of_selection, of_chosen, sizes=(64, 257))
one("device_scalar", lambda a, k: alg.transform(fn.minus, a, alg.mean(a, **k), **k), lambda a: a - a.mean())
