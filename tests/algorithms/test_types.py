"""The types of results: numpy's, for every type of elements that numpy has."""

from __future__ import annotations

import numpy as np
import pytest

from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy

INTEGERS = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = INTEGERS + FLOATS
ALL = REAL + COMPLEX


def bits(a):
    return a.astype(np.uint8) if a.dtype == np.bool_ else a


#: Each function with numpy's, and the types of elements for which they agree.
FUNCTIONS = {
    "min": (alg.min, np.min, REAL),
    "max of columns": (
        lambda a, **on: alg.max(a.reshape(-1, 8), axis=0, **on),
        lambda a: a.reshape(-1, 8).max(0),
        REAL,
    ),
    "minmax": (lambda a, **on: alg.minmax(a, **on)[1], np.max, REAL),
    "sum": (alg.sum, np.sum, ALL),
    "prod": (lambda a, **on: alg.prod(a[:9], **on), lambda a: np.prod(a[:9]), ALL),
    "mean": (alg.mean, np.mean, (*FLOATS, *COMPLEX)),
    "var": (alg.var, np.var, (*FLOATS, *COMPLEX)),
    "std of columns": (
        lambda a, **on: alg.std(a.reshape(-1, 8), axis=0, **on),
        lambda a: a.reshape(-1, 8).std(0),
        FLOATS,
    ),
    "cumulative_sum": (alg.cumulative_sum, np.cumsum, ALL),
    "cumulative_prod": (lambda a, **on: alg.cumulative_prod(a[:9], **on), lambda a: np.cumprod(a[:9]), ALL),
    "cummax": (alg.cummax, np.maximum.accumulate, REAL),
    "cummin of lines": (
        lambda a, **on: alg.cummin(a.reshape(8, -1), axis=1, **on),
        lambda a: np.minimum.accumulate(a.reshape(8, -1), axis=1),
        REAL,
    ),
    "diff": (lambda a, **on: alg.diff(a, 2, **on), lambda a: np.diff(a, 2), ALL),
    "clip": (lambda a, **on: alg.clip(a, 2, 3, **on), lambda a: np.clip(a, a.dtype.type(2), a.dtype.type(3)), REAL[1:]),
    "where": (lambda a, **on: alg.where(a != 0, a[::-1], a, **on), lambda a: np.where(a != 0, a[::-1], a), ALL),
    "where with a number": (
        lambda a, **on: alg.where(a == 0, 1, a, **on),
        lambda a: np.where(a == 0, a.dtype.type(1), a),
        ALL,
    ),
    "replace": (
        lambda a, **on: alg.replace(a, 1, 0, **on),
        lambda a: np.where(a == 1, a.dtype.type(0), a),
        ALL,
    ),
    "sort": (alg.sort, np.sort, REAL),
    "flip": (alg.flip, np.flip, ALL),
    "copy of a lazy input": (lambda a, **on: alg.copy(lazy.flip(a), **on), np.flip, ALL),
    "nth_element": (lambda a, **on: alg.nth_element(a, 7, **on), lambda a: np.sort(a)[7], REAL),
    "unique": (alg.unique, np.unique, REAL),
    "concat": (lambda a, **on: alg.concat(a, a, **on), lambda a: np.concatenate([a, a]), ALL),
}


def elements(dtype):
    raw = np.random.default_rng(3).integers(0, 5, 904)
    if np.dtype(dtype).kind in "if":
        raw -= 2
    return raw.astype(dtype)


@pytest.mark.sample("llvmpipe", "reference")
@pytest.mark.spread(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_types(accelerator_view, name):
    call, of_numpy, types = FUNCTIONS[name]
    for dtype in types:
        raw = elements(dtype)
        expected = of_numpy(raw)
        found = call(raw, accelerator_view=accelerator_view)
        stored = np.asarray(found.view if isinstance(found, alg.device_scalar) else found).reshape(expected.shape)
        assert stored.dtype == bits(expected).dtype, dtype
        np.testing.assert_allclose(stored, bits(expected), rtol=5e-3 if dtype == "float16" else 1e-5, err_msg=dtype)


@pytest.mark.sample("llvmpipe", "reference")
@pytest.mark.spread(2)
def test_conditions_that_are_computed(accelerator_view, form):
    """They are inputs as arrays of conditions are, and also small integers are combined in their type."""
    raw = elements("int8")
    on = {"accelerator_view": accelerator_view}
    flags = lazy.map(lambda x: x > 0, raw)
    known = raw > 0
    for found, expected in (
        (alg.sum(flags, **on), known.sum()),
        (alg.max(flags, **on), 1),
        (alg.reduce(flags, functional.bit_or, **on), 1),
        (alg.transform_reduce(lambda x: x > 0, lambda x, y: x or y, raw, **on), 1),
        (alg.scan(flags, **on), known.cumsum()),
        (alg.cummin(flags, **on), np.minimum.accumulate(known)),
        (alg.segmented_reduce(flags, 8, **on), known.reshape(-1, 8).sum(1)),
        (alg.sort(flags, **on), np.sort(known)),
        (alg.run_length_encode(flags, **on)[0], known[np.flatnonzero(np.diff(known, prepend=~known[:1]))]),
    ):
        np.testing.assert_array_equal(np.asarray(found), expected)
    few = alg.select(raw, lambda x: x > 1, **on)
    none = alg.select(raw, lambda x: x > 9, **on)
    assert [alg.max(few).dtype, alg.max(few).item(), alg.max(none).item()] == [np.int8, 2, -128]
