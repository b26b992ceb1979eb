"""Numbers that keep their type: numpy arrays without dimensions, and the int64 numbers of algorithms."""

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional

#: A sum of five is beyond an int32.
LARGE = 1 << 30


@pytest.mark.accelerators("llvmpipe@vulkan", "reference")
def test_an_array_without_dimensions_keeps_its_type(accelerator_view):
    @amp.kernel
    def products(idx, factor, out):
        total = factor
        for _ in range(3):
            total *= factor
        out[idx] = total

    out = amp.array_view(np.zeros(3, np.int64))
    for number in (3000, -50000, 3000):
        amp.parallel_for_each(accelerator_view, out.extent, products, np.array(number), out)
        np.testing.assert_array_equal(out, np.full(3, number**4))


@pytest.mark.accelerators("llvmpipe@vulkan", "reference")
def test_an_object_holds_an_exact_number(accelerator_view):
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        @amp.func
        def __call__(self, x):
            return self.factor * x

    a = np.arange(100_000, 100_010, dtype=np.int32)
    found = alg.transform(Scale(np.array(100_000)), a, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(found, a.astype(np.int64) * 100_000)


@pytest.mark.accelerators("llvmpipe@vulkan", "reference")
def test_a_result_of_int64_is_an_int64(accelerator_view):
    assert amp.result_type(functional.plus, np.int64, np.int64) == np.int64


def test_small_exact_numbers(accelerator_view):
    @amp.kernel
    def add(idx, number, out):
        out[idx] += number

    out = amp.array_view(np.zeros(3, np.float32))
    for number in (np.array(0.5, np.float32), np.array(3, np.uint8), np.array(True), np.array(7, np.int16)):
        amp.parallel_for_each(accelerator_view, out.extent, add, number, out)
    np.testing.assert_array_equal(out, [11.5] * 3)


SCANS = {
    "exclusive": (lambda a, **k: alg.scan(a, inclusive=False, **k), lambda a: np.cumsum(a) - a),
    "init": (lambda a, **k: alg.scan(a, init=5, **k), lambda a: np.cumsum(a) + 5),
    "reverse": (
        lambda a, **k: alg.scan(a, inclusive=False, init=1, reverse=True, **k),
        lambda a: np.cumsum(a[::-1])[::-1] - a + 1,
    ),
    "max": (lambda a, **k: alg.scan(a, functional.max, init=-7, **k), np.maximum.accumulate),
    "segments": (
        lambda a, **k: alg.segmented_scan(a, a.size // 2, inclusive=False, **k),
        lambda a: (np.cumsum(a.reshape(2, -1), 1) - a.reshape(2, -1)).ravel(),
    ),
    "keys": (
        lambda a, **k: alg.scan_by_key(np.zeros(a.size, np.int32), a, inclusive=False, **k),
        lambda a: np.cumsum(a) - a,
    ),
    "reduce": (lambda a, **k: alg.reduce(a, functional.plus, 7, **k).view, lambda a: [a.sum() + 7]),
    "rows": (
        lambda a, **k: alg.scan(a.reshape(2, -1), axis=1, inclusive=False, **k),
        lambda a: np.cumsum(a.reshape(2, -1), 1) - a.reshape(2, -1),
    ),
    "columns": (
        lambda a, **k: alg.scan(a.reshape(-1, 2), axis=0, init=3, **k),
        lambda a: np.cumsum(a.reshape(-1, 2), 0) + 3,
    ),
    "sums of rows": (
        lambda a, **k: alg.reduce(a.reshape(2, -1), functional.plus, 7, axis=1, **k),
        lambda a: a.reshape(2, -1).sum(1) + 7,
    ),
    "segmented_reduce": (
        lambda a, **k: alg.segmented_reduce(a, a.size // 2, functional.plus, 3, **k),
        lambda a: a.reshape(2, -1).sum(1) + 3,
    ),
}


@pytest.mark.accelerators("llvmpipe@vulkan", "reference")
@pytest.mark.parametrize("n", [10, 1002])
@pytest.mark.parametrize("name", SCANS)
def test_first_numbers_of_int64_scans(accelerator_view, name, n):
    function, expected = SCANS[name]
    a = np.full(n, LARGE, np.int64)
    found = np.asarray(function(a, accelerator_view=accelerator_view))
    np.testing.assert_array_equal(found, np.asarray(expected(a)))
    assert found.dtype == np.int64


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("function", [alg.cumulative_sum, alg.cumulative_prod])
def test_cumulative_results_of_int32_in_64_bits(accelerator_view, function, axis):
    a = np.full((40, 50), LARGE, np.int32)
    a[::3] = 3
    of_numpy = np.cumsum if function is alg.cumulative_sum else np.cumprod
    found = function(a, axis=axis, include_initial=True, accelerator_view=accelerator_view)
    first = np.full((1 if axis == 0 else 40, 50 if axis == 0 else 1), int(of_numpy is np.cumprod))
    with np.errstate(over="ignore"):
        rest = of_numpy(a, axis=axis)
    expected = np.r_[first[0], rest] if axis is None else np.concatenate([first, rest], axis)
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint8])
def test_products_of_integers_have_64_bits(accelerator_view, dtype):
    a = np.arange(3, 43).astype(dtype).reshape(4, 10)
    for axis in (None, 0, 1):
        found = np.asarray(alg.prod(a, axis=axis, accelerator_view=accelerator_view))
        with np.errstate(over="ignore"):
            expected = np.asarray(a.prod(axis))
        np.testing.assert_array_equal(found.ravel(), expected.ravel())
        assert found.dtype == expected.dtype


@pytest.mark.accelerators("llvmpipe@vulkan", "reference")
@pytest.mark.parametrize(
    ("dtype", "start", "step"), [(np.int64, -5, LARGE), (np.uint64, 7, 1 << 33), (np.float64, 0.1, 0.1)]
)
def test_progressions_are_computed_in_their_type(accelerator_view, dtype, start, step):
    found = alg.arange(30, start, step, dtype=dtype, accelerator_view=accelerator_view)
    np.testing.assert_allclose(np.asarray(found), np.arange(30).astype(dtype) * dtype(step) + dtype(start), rtol=1e-15)


@pytest.mark.parametrize(
    ("dtype", "number"),
    [(np.uint32, (1 << 32) - 1), (np.uint32, -1), (np.uint8, 1 << 40), (np.int32, -(1 << 31)), (np.int32, 1 << 31)],
)
def test_elements_equal_to_a_large_number(accelerator_view, dtype, number):
    limits = np.iinfo(dtype)
    a = np.array([3, limits.max, limits.min, limits.max], dtype)
    expected = [k for k, x in enumerate(a.tolist()) if x == number]
    assert alg.count(a, number, accelerator_view=accelerator_view) == len(expected)
    assert alg.find(a, number, accelerator_view=accelerator_view) == (expected[0] if expected else -1)


@pytest.mark.accelerators("llvmpipe@vulkan", "reference")
@pytest.mark.parametrize(("dtype", "number"), [(np.int64, -(1 << 62)), (np.uint64, (1 << 64) - 1), (np.int64, 1 << 63)])
def test_elements_equal_to_a_number_of_64_bits(accelerator_view, dtype, number):
    limits = np.iinfo(dtype)
    a = np.array([3, limits.max, 5, -(1 << 62) if dtype is np.int64 else 0], dtype)
    expected = [k for k, x in enumerate(a.tolist()) if x == number]
    assert alg.count(a, number, accelerator_view=accelerator_view) == len(expected)
    assert alg.find(a, number, accelerator_view=accelerator_view) == (expected[0] if expected else -1)
