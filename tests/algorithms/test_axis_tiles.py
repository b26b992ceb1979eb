"""The forms for GPUs of reductions and scans along an axis."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import forced
from vkamp import algorithms as alg
from vkamp.algorithms import functional, reduce_axis_tiles


@amp.func
def last(a, b):
    """The second one: associative, not commutative."""
    return b


@pytest.fixture(autouse=True)
def tiles():
    with forced("tiles"):
        yield


def check(view, shape, dtype=np.int32):
    raw = np.random.default_rng(len(shape)).integers(0, 9, shape).astype(dtype)
    values = amp.array(raw, accelerator_view=view)
    for axis in range(len(shape)):
        np.testing.assert_array_equal(np.asarray(alg.reduce(values, axis=axis)), raw.sum(axis, dtype=dtype))
        np.testing.assert_array_equal(np.asarray(alg.reduce(values, last, axis=axis)), raw.take(-1, axis))
        np.testing.assert_array_equal(np.asarray(alg.scan(values, axis=axis)), raw.cumsum(axis, dtype=dtype))
        upto = np.flip(np.flip(raw, axis).cumsum(axis, dtype=dtype), axis)
        found = alg.scan(values, axis=axis, inclusive=False, init=5, reverse=True)
        np.testing.assert_array_equal(np.asarray(found), upto - raw + 5)


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("shape", [(2, 16_400), (1030, 3), (5, 1100)], ids=str)
def test_shapes(accelerator_view, shape):
    """Lines of neighbours that share a tile, of a tile each, and in pieces; strips that are not full."""
    check(accelerator_view, shape)


@pytest.mark.accelerators("llvmpipe", "swiftshader")
def test_three_dimensions(accelerator_view):
    check(accelerator_view, (3, 70, 5))


@pytest.mark.accelerators("reference")
def test_on_the_reference(accelerator_view):
    for shape in ((2, 37), (37, 2)):
        check(accelerator_view, shape, np.uint16)


@pytest.mark.accelerators("llvmpipe", "reference")
def test_many_elements_side_by_side(accelerator_view, monkeypatch):
    """Large tiles, whose threads load eight elements of a line at a time, and fewer at its end."""
    is_slow = accelerator_view.accelerator.device_path == "reference"
    monkeypatch.setattr(reduce_axis_tiles, "_MANY", reduce_axis_tiles.Strips(16 if is_slow else 64, 4, 8, 2))
    for shape in ((515, 5),) if is_slow else ((1001, 16), (300, 130), (3, 260, 36)):
        raw = np.random.default_rng(3).integers(-99, 99, shape, dtype=np.int32)
        values = amp.array(raw, accelerator_view=accelerator_view)
        axis = len(shape) - 2
        for _ in range(2):
            np.testing.assert_array_equal(np.asarray(alg.reduce(values, axis=axis)), raw.sum(axis, dtype=np.int32))
        np.testing.assert_array_equal(np.asarray(alg.reduce(values, last, axis=axis)), raw.take(-1, axis))
        np.testing.assert_array_equal(np.asarray(alg.argmax(values, axis=axis)), raw.argmax(axis))
        if not is_slow:
            pairs = raw + 1j * raw
            np.testing.assert_array_equal(
                np.asarray(alg.sum(pairs, axis=axis, accelerator_view=accelerator_view)), pairs.sum(axis)
            )


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex64, "strided"])
def test_types(accelerator_view, dtype):
    is_strided = dtype == "strided"
    raw = np.random.default_rng(1).integers(0, 2, (6, 80)).astype(np.int32 if is_strided else dtype)
    raw = raw[::2, ::-3] if is_strided else raw
    for axis in (0, 1):
        for function, expected in ((alg.sum, raw.sum(axis)), (alg.cumulative_sum, raw.cumsum(axis))):
            found = np.asarray(function(raw, axis=axis, accelerator_view=accelerator_view))
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.accelerators("llvmpipe")
def test_scans_in_place(accelerator_view):
    raw = np.random.default_rng(2).integers(-9, 9, (70, 2052), dtype=np.int32)
    for axis in (0, 1):
        values = amp.array(raw, accelerator_view=accelerator_view)
        alg.scan(values, functional.max, axis=axis, out=values)
        np.testing.assert_array_equal(np.asarray(values), np.maximum.accumulate(raw, axis))
