"""Empty arrays give results of the types and ranks that others do."""

from __future__ import annotations

import numpy as np
import pytest

from vkamp import algorithms as alg
from vkamp.algorithms import functional

NO_PLACES, PLACES = np.zeros(0, np.int32), np.zeros(2, np.int32)
CALLS = {
    "adjacent_difference": alg.adjacent_difference,
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
