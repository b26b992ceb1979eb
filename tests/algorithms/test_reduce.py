"""Reductions against numpy: every form, size, kind of input and type."""

from __future__ import annotations

import asyncio
import copy
import importlib
import operator

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import AFFINE, affine, composed, numbers
from tests.library_views import direct_view, forced
from vkamp import algorithms as alg
from vkamp.algorithms import _last, functional, lazy

#: The function of the same name hides the module.
reducing = importlib.import_module("vkamp.algorithms.reduce")


@amp.func
def square(x):
    return x * x


@amp.func
def is_large(x):
    return x > 50


@pytest.mark.spread(2)
def test_sizes(accelerator_view, form, sizes):
    for n in sizes:
        raw = numbers(n)
        assert alg.sum(raw, accelerator_view=accelerator_view) == raw.sum(), n
        assert alg.max(raw, accelerator_view=accelerator_view) == raw.max(), n
        assert alg.count_if(raw, is_large, accelerator_view=accelerator_view) == (raw > 50).sum(), n


@pytest.mark.spread(2)
def test_operators_that_do_not_commute(accelerator_view, form, sizes):
    for n in sizes:
        raw = affine(n)
        found = alg.reduce(raw, composed, accelerator_view=accelerator_view)
        factor, offset = 1, 0
        for f, o in raw.tolist():
            factor, offset = f * factor, f * offset + o
        assert found.item() == (factor, offset), n


@pytest.mark.spread(2)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, np.float32])
def test_types_of_sums(accelerator_view, form, dtype):
    raw = numbers(700, dtype)
    found = alg.sum(raw, accelerator_view=accelerator_view)
    expected = raw.sum()
    assert found.dtype == expected.dtype
    assert found == expected if raw.dtype.kind != "f" else np.isclose(found.item(), float(expected), rtol=1e-3)


@pytest.mark.spread(2)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_sums_beyond_32_bits(accelerator_view, form, dtype):
    raw = np.full(3001, np.iinfo(dtype).max, dtype)
    assert alg.sum(raw, accelerator_view=accelerator_view).item() == int(raw.sum())
    if dtype == np.int32:
        assert alg.sum(-raw, accelerator_view=accelerator_view).item() == int((-raw).sum())


@pytest.mark.spread(2)
def test_inputs(accelerator_view, form):
    raw = numbers(60).reshape(6, 10)
    for each in (raw, raw[::2], raw[:, ::-3], raw.T, raw.reshape(3, 2, 10)[:, ::-1, ::2]):
        assert alg.sum(each, accelerator_view=accelerator_view) == each.sum()
    array = amp.array(raw, accelerator_view=accelerator_view)
    assert alg.min(array) == raw.min()
    assert alg.sum(amp.array_view(array).section(1, 2, 3, 5)) == raw[1:4, 2:7].sum()
    assert alg.sum(lazy.map(square, raw), accelerator_view=accelerator_view) == (raw**2).sum()
    assert alg.sum(lazy.arange(100, 5, 2), accelerator_view=accelerator_view) == np.arange(5, 205, 2).sum()
    assert alg.sum(lazy.constant(3, (5, 7)), accelerator_view=accelerator_view) == 105
    flat = raw.ravel()
    assert alg.reduce(lazy.flip(flat), functional.minus, accelerator_view=accelerator_view).dtype == np.int32
    at = np.array([3, 3, 0, 59], np.int32)
    assert alg.sum(lazy.take(flat, at), accelerator_view=accelerator_view) == flat[at].sum()
    both = alg.transform_reduce(functional.multiplies, functional.plus, flat, flat, accelerator_view=accelerator_view)
    assert both == (flat**2).sum()


@pytest.mark.spread(2)
def test_operators_that_return_an_operand(accelerator_view, form, sizes):
    """The largest key with its value: what is returned is a value, not the element itself."""
    for n in sizes:
        raw = affine(n)
        raw["factor"] = np.random.default_rng(n).permutation(n)
        best = raw[np.maximum.accumulate(raw["factor"]).searchsorted(n - 1)]

        def largest(x, y):
            return x if x.factor > y.factor else y

        assert alg.reduce(raw, largest, accelerator_view=accelerator_view).item() == best.item(), n
        upto = np.asarray(alg.scan(raw, largest, accelerator_view=accelerator_view))
        np.testing.assert_array_equal(upto["factor"], np.maximum.accumulate(raw["factor"]))
        pairs = lazy.zip(raw["factor"].copy(), raw["offset"].copy())
        assert alg.reduce(pairs, lambda x, y: x, accelerator_view=accelerator_view).item() == raw[0].item()
    keys = np.arange(300, dtype=np.int32) // 7
    raw = affine(300)
    _, found = alg.reduce_by_key(keys, raw, lambda x, y: y, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(found), raw[np.append(np.flatnonzero(np.diff(keys)), 299)])
    found = alg.segmented_reduce(raw, 100, lambda x, y: x, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(found), raw[::100])


@amp.func
def second(x, y):
    return y


@pytest.mark.accelerators("llvmpipe", "reference")
@pytest.mark.parametrize(("threads", "tiles"), [(64, 3), (8, 39)])
def test_tiles_side_by_side(accelerator_view, monkeypatch, threads, tiles):
    """Each takes steps of many elements; the last one combines the results of all, and those of steps that are left."""
    for name, value in (("TILE", threads), ("_TILES", tiles), ("_WIDE", threads), ("_SIDE_BY_SIDE", tiles)):
        monkeypatch.setattr(reducing, name, value)
    is_slow = accelerator_view.accelerator.device_path == "reference"
    with forced("tiles"):
        for n in (6151,) if is_slow else (6144, 6151, 8191, 50_003):
            raw = numbers(n)
            for _ in range(2):
                assert alg.reduce(raw, accelerator_view=accelerator_view) == raw.sum(), n
            assert alg.max(raw, accelerator_view=accelerator_view) == raw.max(), n
            assert alg.reduce(raw, second, accelerator_view=accelerator_view) == raw[-1], n
        assert not np.asarray(_last.counters_of(accelerator_view)).any(), "the last tile has cleared them"


def test_check_mode_finds_nothing_in_the_last_tile(monkeypatch):
    monkeypatch.setenv("VKAMP_CHECK", "1")
    view = amp.accelerator("llvmpipe").default_view
    raw = numbers(5000)
    with forced("tiles"):
        assert alg.reduce(raw, accelerator_view=view) == raw.sum()
        np.testing.assert_array_equal(
            np.asarray(alg.reduce(raw.reshape(1000, 5), axis=0, accelerator_view=view)), raw.reshape(1000, 5).sum(0)
        )


@pytest.mark.spread(2)
def test_nan(accelerator_view, form):
    raw = np.arange(600, dtype=np.float32)
    raw[417] = np.nan
    for function in (alg.min, alg.max, alg.sum):
        assert np.isnan(float(function(raw, accelerator_view=accelerator_view)))
    assert alg.reduce(raw, functional.fmax, accelerator_view=accelerator_view) == 599
    assert alg.reduce(raw, functional.fmin, accelerator_view=accelerator_view) == 0


@pytest.mark.spread(2)
def test_init(accelerator_view, form):
    raw = numbers(700)
    assert alg.reduce(raw, init=1000, accelerator_view=accelerator_view) == 1000 + raw.sum()
    start = np.array((1, 5), AFFINE)[()]
    found = alg.reduce(affine(3), composed, start, accelerator_view=accelerator_view)
    again = alg.reduce(np.concatenate([[start], affine(3)]), composed, accelerator_view=accelerator_view)
    assert found.item() == again.item()


def test_a_scalar_on_the_device(accelerator_view):
    found = alg.sum(np.arange(5, dtype=np.float32), accelerator_view=accelerator_view)
    assert (float(found), int(found), bool(found), found.item(), np.asarray(found).shape) == (10.0, 10, True, 10.0, ())
    assert found == 10 and found > 9 and found <= 10 and not found < 10 and found >= 10
    assert found.view.extent == amp.extent(1) and repr(found) == "<device_scalar of float32>"
    assert [7, 8, 9][alg.count_if(np.arange(3, dtype=np.int32), square, accelerator_view=accelerator_view)] == 9
    with pytest.raises(TypeError, match="cannot be an index"):
        [1][found]
    assert (found + 1, 1 + found, found - 4, 4 - found, 2 * found, found / 4, 5 / found) == (
        11,
        11,
        6,
        -6,
        20,
        2.5,
        0.5,
    )
    assert (found // 3, found % 3, found**2, 2**found, -found, abs(found), round(found)) == (
        3,
        1,
        100,
        1024,
        -10,
        10,
        10,
    )
    assert (
        found + found == 20
        and (np.arange(2) + found).tolist() == [10, 11]
        and (found * np.arange(2)).tolist() == [0, 10]
    )
    assert f"{found:.2f} {found} {found!r}" == "10.00 10.0 <device_scalar of float32>"
    assert str(found) == "10.0" and float(copy.deepcopy(found)) == 10
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'device_scalar' and 'str'"):
        found + "a"

    async def waited():
        return await found

    assert asyncio.run(waited()) == 10

    async def gathered(of):
        return await asyncio.gather(of(found), of(found))

    assert asyncio.run(gathered(asyncio.ensure_future)) == [10, 10]
    with pytest.raises(TypeError, match="has no hash.*asyncio.ensure_future"):
        asyncio.run(gathered(lambda scalar: scalar))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="not list"):
        alg.sum([1, 2])
    with pytest.raises(TypeError, match="op returns bool of two int32"):
        alg.reduce(numbers(5), functional.less)
    with pytest.raises(amp.AmpError, match="different extents"):
        alg.transform_reduce(functional.plus, functional.plus, numbers(5), numbers(6))


SHAPES = [(7,), (5, 9), (3, 4, 5), (1, 6), (6, 1), (700, 3), (3, 700)]


@pytest.mark.spread(2)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_along_an_axis(accelerator_view, form, shape):
    raw = numbers(int(np.prod(shape))).reshape(shape)
    for axis in range(-len(shape), len(shape)):
        options = {"axis": axis, "keepdims": axis < 0}
        # Of each axis by both of its names, with and without keepdims.
        for function, of_numpy in ((alg.sum, np.sum), (alg.min, np.min) if axis % 2 else (alg.max, np.max)):
            found = np.asarray(function(raw, **options, accelerator_view=accelerator_view))
            expected = np.atleast_1d(of_numpy(raw, **options))
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        found = np.asarray(alg.mean(raw, **options, accelerator_view=accelerator_view))
        np.testing.assert_allclose(found, np.atleast_1d(raw.mean(**options)), rtol=1e-5, atol=1e-5)
    large = alg.count_if(raw[::-1], is_large, axis=0, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(large), np.atleast_1d((raw > 50).sum(0)))


def test_long_lines_that_do_not_commute(accelerator_view):
    n = 300 if accelerator_view.accelerator.device_path == "reference" else 70_001
    raw = affine(2 * n).reshape(2, n)
    found = np.asarray(alg.reduce(raw, composed, axis=1, accelerator_view=accelerator_view))
    for line in range(2):
        assert found[line].item() == alg.reduce(raw[line], composed, accelerator_view=accelerator_view).item()
    with pytest.raises(ValueError, match="axis 2 is not one of"):
        alg.reduce(raw, composed, axis=2)


@pytest.mark.sample("swiftshader", "reference")
def test_all_dimensions_are_kept(accelerator_view):
    """``keepdims`` without an axis, as numpy's."""
    raw = np.arange(12, dtype=np.int32).reshape(3, 4)
    a = amp.array(raw, accelerator_view=accelerator_view)
    for function, of_numpy in (
        (alg.sum, np.sum), (alg.max, np.max), (alg.mean, np.mean), (alg.var, np.var), (alg.any, np.any),
        (alg.argmax, np.argmax), (lambda a, **k: alg.minmax(a, **k)[0], np.min),
        (lambda a, **k: alg.count_if(a, lambda x: x > 3, **k), lambda a, **k: np.sum(a > 3, **k)),
    ):  # fmt: skip
        found = np.asarray(function(a, keepdims=True))
        np.testing.assert_allclose(found, of_numpy(raw, keepdims=True), rtol=1e-6)
        assert found.shape == (1, 1)


@pytest.mark.sample("swiftshader", "reference")
def test_arguments_that_do_not_fit(accelerator_view):
    raw = np.arange(12, dtype=np.int32).reshape(3, 4)
    a = amp.array(raw, accelerator_view=accelerator_view)
    for axis in (1.0, "x", True):
        with pytest.raises(TypeError, match="axis is an integer, not"):
            alg.sum(a, axis=axis)
    for call in (alg.reduce, alg.scan):
        with pytest.raises(TypeError, match=r"2\.5 is not an element of type int32"):
            call(a, init=2.5)
        with pytest.raises(TypeError, match="'x' is not an element of type int32"):
            call(a, init="x")
        with pytest.raises(OverflowError, match="out of the range of int32"):
            call(a, init=1 << 40)
    with pytest.raises(TypeError, match=r"2\.5 is not an element"):
        alg.replace(a, 2.5, 1)
    with pytest.raises(TypeError, match="elements are not computed in uint8: give one of float16"):
        alg.sum(a, dtype=np.uint8)
    # As many degrees of freedom as elements, and more.
    assert np.isinf([float(alg.var(a, ddof=12)), float(alg.var(a, ddof=20))]).all()


@pytest.mark.sample("llvmpipe", "reference")
def test_operators_of_python_and_numpy(accelerator_view):
    """They are known as those of ``functional``: they have an identity."""
    raw = np.array([3, 1, 2], np.int32)
    a = amp.array(raw, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(alg.scan(a, operator.add, inclusive=False)), [0, 3, 4])
    np.testing.assert_array_equal(np.asarray(alg.scan(a, op=np.multiply, inclusive=False)), [1, 3, 3])
    found = alg.select(a, lambda x: x > 1)
    assert int(alg.reduce(found, np.maximum)) == 3
    assert int(alg.reduce(found, lambda x, y: x + y)) == 5


def test_types_of_means(accelerator_view):
    raw = np.arange(-20, 57, dtype=np.int32).reshape(7, 11)
    options = {"accelerator_view": accelerator_view}
    for axis in (None, 0):
        for function, of_numpy in ((alg.mean, np.mean), (alg.var, np.var), (alg.std, np.std)):
            for dtype, tolerance in ((np.float32, 1e-6), (np.float16, 1e-3)):
                found = np.asarray(function(raw, axis=axis, dtype=dtype, **options))
                assert found.dtype == dtype
                np.testing.assert_allclose(found, of_numpy(raw, axis=axis), rtol=tolerance)
    found = alg.mean(raw, axis=1, dtype=np.complex64, **options)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(np.asarray(found), raw.mean(1), rtol=1e-6)
    assert alg.var(raw, dtype=np.complex64, **options).dtype == np.float32
    # A sum of the halves overflows their type, and that of numpy's own mean.
    halves = np.full(100_000, 7, np.float16)
    assert alg.mean(halves, dtype=np.float16, **options).item() == 7
    assert alg.mean(halves, **options).dtype == np.float16
    chosen = alg.select(raw.ravel(), lambda x: x > 3, **options)
    found = alg.mean(chosen, dtype=np.float16)
    assert found.dtype == np.float16 and found.item() == 30
    for function in (alg.mean, alg.var, alg.std):
        assert np.isnan(function(np.empty(0, np.int32), dtype=np.float16))
        assert function(np.empty(0, np.int32), dtype=np.float16).dtype == np.float16
        for given in (raw, raw[:0]):
            with pytest.raises(TypeError, match="are not computed in int32: give dtype=np.float32, or another float"):
                function(given, dtype=np.int32, **options)
    with pytest.raises(TypeError, match="complex64 elements have no float32"):
        alg.mean(raw.astype(np.complex64), dtype=np.float32, **options)


def test_means_in_float64():
    view = direct_view(amp.accelerator("llvmpipe"))
    raw = (np.arange(1001) + 2**24).astype(np.int32)
    for function, of_numpy in ((alg.mean, np.mean), (alg.var, np.var), (alg.std, np.std)):
        found = function(raw, dtype=np.float64, accelerator_view=view)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found.item(), of_numpy(raw), rtol=1e-12)


def test_means_of_equal_numbers_are_exact(accelerator_view):
    """Devices may divide inexactly: 50,000 / 500 was 100.00001 on a GPU."""
    for number, n in ((100, 500), (30, 5000), (7, 49), (3, 4999)):
        a = np.full((2, n), number, np.float32)
        assert alg.mean(a, accelerator_view=accelerator_view).item() == number
        np.testing.assert_array_equal(alg.mean(a, axis=1, accelerator_view=accelerator_view), [number] * 2)
        assert alg.var(a, accelerator_view=accelerator_view).item() == 0
    for special in (np.inf, -np.inf, np.nan, 3e38):
        a = np.full(3, special, np.float32)
        with np.errstate(over="ignore"):
            expected = a.mean()
        np.testing.assert_array_equal(alg.mean(a, accelerator_view=accelerator_view).item(), expected)


@pytest.mark.parametrize("kind", [np.float32, np.int32, np.uint8])
@pytest.mark.spread(2)
def test_positions_of_extremes_in_runs(accelerator_view, kind):
    """Ties within and between groups of four, and NaN before and after the best element, and in the last elements."""
    random = np.random.default_rng(7)
    sizes = (5, 30) if accelerator_view.accelerator.device_path == "reference" else (1, 2, 3, 6, 515, 1030)
    for n in sizes:
        inputs = [random.integers(0, 3, n).astype(kind), np.full(n, 4, kind), np.arange(n).astype(kind)]
        if kind is np.float32:
            for at in {0, n // 2, n - 1}:
                inputs.append(np.arange(n, dtype=np.float32))
                inputs[-1][at] = np.nan
        for raw in inputs:
            for ours, theirs in ((alg.argmin, np.argmin), (alg.argmax, np.argmax)):
                assert int(ours(raw, accelerator_view=accelerator_view)) == theirs(raw)
