"""Empty arrays give results of the types and ranks that others do."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy

NO_PLACES, PLACES = np.zeros(0, np.int32), np.zeros(2, np.int32)
CALLS = {
    "adjacent_difference": alg.adjacent_difference,
    "all": lambda a: alg.all(a, keepdims=True),
    "any": lambda a: alg.any(a, axis=0, keepdims=True),
    "argsort": alg.argsort,
    "argsort of all": lambda a: alg.argsort(a, axis=None),
    "clip": lambda a: alg.clip(a, 0, 1),
    "concat": lambda a: alg.concat(a, a),
    "copy": alg.copy,
    "count": lambda a: alg.count(a, 1),
    "count_nonzero": alg.count_nonzero,
    "cummax": alg.cummax,
    "cumulative_prod": alg.cumulative_prod,
    "cumulative_sum": alg.cumulative_sum,
    "cumulative_sum with the initial one": lambda a: alg.cumulative_sum(a, include_initial=True),
    "diff": alg.diff,
    "digitize": lambda a: alg.digitize(a, [1, 2]),
    "flip": alg.flip,
    "flip of a lazy input": lambda a: alg.copy(lazy.flip(a)) if a.ndim == 1 else alg.copy(lazy.map(lambda x: x, a)),
    "histogram by edges": lambda a: alg.histogram(a, [0, 2, 5])[0],
    "histogram of weights": lambda a: alg.histogram(a, 5, (0, 9), a)[0],
    "intersect1d": lambda a: alg.intersect1d(a, a),
    "isin": lambda a: alg.isin(a, a),
    "mean": alg.mean,
    "merge": lambda a: alg.merge(a, a),
    "nonzero": alg.nonzero,
    "partition": lambda a: alg.partition(a, lambda x: x > 1)[0],
    "partition3": lambda a: alg.partition3(a, lambda x: x > 1, lambda x: x < 0)[0],
    "prod": alg.prod,
    "reduce": alg.reduce,
    "reduce with init": lambda a: alg.reduce(a, functional.max, 1),
    "reduce_by_key": lambda a: alg.reduce_by_key(a, a)[1],
    "repeat": lambda a: alg.repeat(a, 2),
    "replace": lambda a: alg.replace(a, 1, 0),
    "roll": lambda a: alg.roll(a, 1),
    "run_length_encode": lambda a: alg.run_length_encode(a)[0],
    "scan": alg.scan,
    "scan along an axis": lambda a: alg.scan(a, axis=0),
    "scan_by_key": lambda a: alg.scan_by_key(a, a),
    "segmented_reduce": lambda a: alg.segmented_reduce(a, 1),
    "segmented_scan": lambda a: alg.segmented_scan(a, 1),
    "segmented_sort": lambda a: alg.segmented_sort(a, 1),
    "select": lambda a: alg.select(a, lambda x: x > 1),
    "setdiff1d": lambda a: alg.setdiff1d(a, a),
    "shuffle": lambda a: alg.shuffle(a, 1),
    "sort": alg.sort,
    "sort of all": lambda a: alg.sort(a, axis=None),
    "stack": lambda a: alg.stack(a, a),
    "sum": alg.sum,
    "transform": lambda a: alg.transform(lambda x: x, a),
    "transform_reduce": lambda a: alg.transform_reduce(lambda x: x + x, functional.plus, a),
    "transpose": alg.transpose,
    "unique": alg.unique,
    "unique_by_key": lambda a: alg.unique_by_key(a, a)[1],
    "var": alg.var,
    "vdot": lambda a: alg.vdot(a, a),
    "where": lambda a: alg.where(a, a, a),
}
#: Functions of one dimension only.
OF_ROWS = {"rotate": lambda a: alg.rotate(a, 0), "searchsorted": lambda a: alg.searchsorted(a, a),
           "sort_by_key": lambda a: alg.sort_by_key(a, a)[1],
           "take": lambda a: alg.take(a, PLACES if a.size else NO_PLACES)}  # fmt: skip


@pytest.mark.accelerators("reference")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", [*CALLS, *OF_ROWS])
def test_types_and_ranks(accelerator_view, name):
    call = CALLS.get(name) or OF_ROWS[name]
    shapes = [((0,), (3,))] + ([((2, 0), (2, 3)), ((0, 2), (3, 2))] if name in CALLS else [])
    for dtype in (np.int8, np.bool_, np.float16, np.uint32, np.float32):
        for empty, full in shapes if dtype is np.float32 else shapes[:1]:
            found, expected = (np.asarray(call(np.zeros(shape, dtype))) for shape in (empty, full))
            assert (found.dtype, found.ndim) == (expected.dtype, expected.ndim), (dtype, empty)


ONES, THREE, SQUARE = np.ones(3, np.int32), np.array([5, 6, 7], np.int16), np.arange(12, dtype=np.float32).reshape(3, 4)
#: Calls that leave no element of an input, and numpy's result.
NOTHING_LEFT = {
    "diff": (lambda: alg.diff(THREE, 3), np.diff(THREE, 3)),
    "diff of one": (lambda: alg.diff(THREE[:1]), np.diff(THREE[:1])),
    "diff of columns": (lambda: alg.diff(SQUARE, 5, axis=0), np.diff(SQUARE, 5, axis=0)),
    "repeat": (lambda: alg.repeat(THREE, 0), THREE[:0]),
    "repeat of a counted": (lambda: alg.repeat(alg.select(THREE, lambda x: x > 5), 0), THREE[:0]),
    "tile_repeat of a counted": (lambda: alg.tile_repeat(alg.select(THREE, lambda x: x > 5), 0), THREE[:0]),
    "repeat rows": (lambda: alg.repeat(SQUARE, 0, axis=0), SQUARE[:0]),
    "repeat by numbers": (lambda: alg.repeat(THREE, ONES - 1), THREE[:0]),
    "repeat with a total": (lambda: alg.repeat(THREE, ONES - 1, total=0), THREE[:0]),
    "repeat of a lazy input": (lambda: alg.repeat(lazy.arange(3), alg.transform(lambda x: x - 1, ONES)), ONES[:0]),
    "run_length_decode": (lambda: alg.run_length_decode(THREE, ONES - 1), THREE[:0]),
    "tile_repeat": (lambda: alg.tile_repeat(SQUARE, (2, 0)), np.tile(SQUARE, (2, 0))),
    "topk": (lambda: alg.topk(THREE, 0)[0], THREE[:0]),
    "positions of topk": (lambda: alg.topk(SQUARE, 0)[1], np.zeros((3, 0), np.int32)),
    "topk of a counted": (lambda: alg.topk(alg.select(THREE, lambda x: x > 5), 0)[0], THREE[:0]),
    "arange": (lambda: alg.arange(0), ONES[:0]),
    "arange of another type": (lambda: alg.arange(0, dtype=np.uint8), np.zeros(0, np.uint8)),
    "generate": (lambda: alg.generate((0, 3), lambda i: i[1] * 0.5), np.zeros((0, 3), np.float32)),
    "lazy map": (lambda: alg.transform(lambda x: x + 1, lazy.map(lambda x: x * 0.5, ONES[:0])), SQUARE[0, :0]),
    "lazy map of rows": (lambda: alg.sum(lazy.map(lambda x: x, SQUARE[:0]), axis=0), np.zeros(4, np.float32)),
    "lazy zip": (lambda: alg.sum(lazy.map(lambda x: x.first, lazy.zip(ONES[:0], ONES[:0]))), np.int64(0)),
    "lazy take": (lambda: alg.copy(lazy.take(THREE, NO_PLACES)), THREE[:0]),
    "lazy flip of bool": (lambda: alg.count_nonzero(lazy.flip(np.zeros(0, bool))), np.int32(0)),
}  # fmt: skip


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("name", NOTHING_LEFT)
def test_calls_that_leave_no_element(accelerator_view, name):
    call, expected = NOTHING_LEFT[name]
    for _ in range(3):  # the second call could be captured, and the third one repeat it
        found = np.asarray(call())
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


#: Calls with a counted input of three elements, and with another one that is empty.
WITH_COUNTED = {
    "concat": (lambda c, e: alg.concat(e, c), THREE),
    "isin": (lambda c, e: alg.isin(c, e), np.zeros(3, np.uint8)),
    "merge": (lambda c, e: alg.merge(c, e), THREE),
    "searchsorted": (lambda c, e: alg.searchsorted(c, e), NO_PLACES),
    "set_difference": (lambda c, e: alg.set_difference(c, e), THREE),
    "set_union": (lambda c, e: alg.set_union(e, c), THREE),
    "set operation of nothing": (
        lambda c, e: alg.set_symmetric_difference(e, alg.select(c, lambda x: x > 9)), THREE[:0],
    ),
    "take": (lambda c, e: alg.take(c, e.astype(np.int32)), THREE[:0]),
    "union1d": (lambda c, e: alg.union1d(c, e), THREE),
}  # fmt: skip


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("name", WITH_COUNTED)
def test_empty_and_counted_inputs(accelerator_view, name):
    call, expected = WITH_COUNTED[name]
    c = alg.select(amp.array(np.r_[THREE, THREE * -1]), lambda x: x > 0)
    found = np.asarray(call(c, THREE[:0]))
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


@pytest.mark.accelerators("reference")
def test_targets_of_no_element(accelerator_view):
    out = np.zeros((3, 0), np.float32)
    assert alg.repeat(SQUARE, 0, axis=1, out=out) is out
    with pytest.raises(amp.AmpError, match=r"out has the shape \(3,\), but the result has \(0,\)"):
        alg.diff(THREE, 3, out=np.zeros(3, np.int16))
    with pytest.raises(ValueError, match="repeated -1 times"):
        alg.repeat(THREE, -1)
    with pytest.raises(ValueError, match="once or several times, not 0 times"):
        alg.diff(THREE, 0)
    with pytest.raises(IndexError, match="positions of an empty input"):
        lazy.take(THREE[:0], PLACES)
