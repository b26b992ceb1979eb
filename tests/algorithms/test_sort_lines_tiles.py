"""Sorts of short lines in one launch, which the library chooses on GPUs alone."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import check_sorted_lines, numbers_of
from tests.library_views import forced
from vkamp import algorithms as alg
from vkamp.algorithms import sort_lines_tiles

#: Several lines in a tile of 256 elements, a line for which there is no second place, and one that fills it.
LENGTHS = (2, 3, 7, 16, 33, 129, 256)


@pytest.fixture(autouse=True)
def tiles(monkeypatch):
    """Tiles of 32 threads."""
    monkeypatch.setattr(sort_lines_tiles, "_FEW", 32)
    monkeypatch.setattr(sort_lines_tiles, "_MANY", 32)
    monkeypatch.setattr(sort_lines_tiles, "MOST", 256)
    with forced("tiles"):
        yield


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint8])
def test_lengths(accelerator_view, dtype):
    """Lines that fill a tile in part, of few values and of the special ones."""
    assert all(
        sort_lines_tiles.is_short(accelerator_view, alg.lazy.map(lambda x: x, np.zeros(9, dtype)), n) for n in LENGTHS
    )
    for length in LENGTHS:
        raw = numbers_of(dtype, length * 21).reshape(21, length)
        check_sorted_lines(accelerator_view, raw, descending=length % 2 == 1)
        check_sorted_lines(accelerator_view, np.random.default_rng(length).integers(0, 5, (3, length)).astype(dtype))


@pytest.mark.accelerators("llvmpipe")
def test_what_has_no_such_form(accelerator_view):
    """Longer lines, and elements of 64 bits."""
    for shape, dtype in (((2, 257), np.int32), ((3, 9), np.int64)):
        raw = numbers_of(dtype, int(np.prod(shape))).reshape(shape)
        assert not sort_lines_tiles.is_short(accelerator_view, alg.lazy.map(lambda x: x, raw.ravel()), shape[1])
        assert np.array_equal(alg.sort(raw, accelerator_view=accelerator_view), np.sort(raw))


@pytest.mark.accelerators("llvmpipe")
def test_keys_views_and_axes(accelerator_view):
    k = {"accelerator_view": accelerator_view}
    raw = np.random.default_rng(1).integers(-50, 50, (6, 40)).astype(np.int32)
    order = np.argsort(abs(raw), kind="stable")
    assert np.array_equal(alg.sort(raw, key=lambda x: abs(x), **k), np.take_along_axis(raw, order, -1))
    assert np.array_equal(alg.argsort(raw, key=lambda x: abs(x), **k), order)
    assert np.array_equal(alg.sort(raw[::2, ::-1], axis=0, **k), np.sort(raw[::2, ::-1], 0))
    cube = raw.reshape(2, 3, 40)
    assert np.array_equal(alg.argsort(cube, axis=1, **k), cube.argsort(1, kind="stable"))
    target = np.zeros((6, 80), raw.dtype)
    alg.sort(raw, out=target[:, ::2], **k)
    amp.array_view(target).synchronize()
    assert np.array_equal(target[:, ::2], np.sort(raw))


@pytest.mark.accelerators("reference")
def test_on_the_reference(accelerator_view):
    raw = np.random.default_rng(2).integers(-3, 3, (3, 11)).astype(np.float32)
    check_sorted_lines(accelerator_view, raw)
