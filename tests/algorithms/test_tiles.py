"""The forms for GPUs with every size of subgroups: a radix sort and selections in tiles of threads."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import TYPES, descending_order, numbers_of
from tests.library_views import forced
from vkamp import algorithms as alg
from vkamp.algorithms import radix_sort_tiles


@pytest.fixture
def tiles():
    with forced("tiles"):
        yield


@pytest.mark.parametrize("size", [1, 4, 8, 32, 64, 128])
def test_sizes_of_subgroups(tiles, monkeypatch, size):
    """Several tiles of three subgroups, the last one not full."""
    shape = 3 * size, 5 if size < 32 else 2
    monkeypatch.setattr(radix_sort_tiles, "_shape_of", lambda view, itemsize: shape)
    n = 2 * shape[0] * shape[1] + 7
    raw = np.random.default_rng(size).integers(0, 1 << 16, n, dtype=np.uint32)
    raw[::3] = 0x201
    view = amp.accelerator("reference").default_view
    with amp.reference_subgroups(size):
        keys, order = alg.sort_by_key(raw, np.arange(n, dtype=np.int32), accelerator_view=view)
    np.testing.assert_array_equal(np.asarray(order), np.argsort(raw, kind="stable"))
    np.testing.assert_array_equal(np.asarray(keys), np.sort(raw))


@pytest.mark.accelerators("llvmpipe")
def test_keys_and_values_that_move(accelerator_view, tiles):
    """Keys and values of one and two words, in any memory, in both directions, and in place."""
    n = 1301
    random = np.random.default_rng(1)
    values = np.arange(n, dtype=np.int32), random.random(n), np.arange(2 * n, dtype=np.float32)[::2]
    for dtype, value in zip((np.int32, np.float32, np.float64), values, strict=True):
        raw = random.integers(-99, 99, n).astype(dtype)
        order = np.argsort(raw, kind="stable")
        keys = amp.array(raw, accelerator_view=accelerator_view)
        found, moved = alg.sort_by_key(keys, value, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(moved), value[order])
        np.testing.assert_array_equal(np.asarray(found), raw[order])
        assert alg.sort(keys, out=keys) is keys
        np.testing.assert_array_equal(np.asarray(keys), raw[order])
        found = alg.sort(keys, descending=True)
        np.testing.assert_array_equal(np.asarray(found), raw[order][::-1])


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("dtype", TYPES[::2])
def test_types(accelerator_view, tiles, dtype):
    for n in (1, 2311):
        raw = numbers_of(dtype, n)
        order = np.argsort(raw, kind="stable")
        np.testing.assert_array_equal(np.asarray(alg.argsort(raw, accelerator_view=accelerator_view)), order)
        assert np.asarray(alg.sort(raw, accelerator_view=accelerator_view)).tobytes() == raw[order].tobytes()
        found = alg.argsort(raw, descending=True, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(found), descending_order(raw))


@pytest.mark.accelerators("llvmpipe")
def test_selections_of_many_blocks(accelerator_view, tiles):
    """More blocks than the tile that scans their counts has threads, and steps of a block."""
    for n in (4095, 4097, 1_100_003):
        raw = np.random.default_rng(n).integers(-3, 9, n, dtype=np.int32)
        data = amp.array(raw, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(alg.select(data, lambda x: x > 3)), raw[raw > 3])
        parts, many = alg.partition(data, lambda x: x > 3)
        np.testing.assert_array_equal(np.asarray(parts), np.concatenate([raw[raw > 3], raw[raw <= 3]]))
        assert int(many) == np.count_nonzero(raw > 3)
        np.testing.assert_array_equal(np.asarray(alg.nonzero(data)), np.flatnonzero(raw))
        runs = np.sort(raw)
        values, lengths = alg.run_length_encode(runs, accelerator_view=accelerator_view)
        expected = np.unique(runs, return_counts=True)
        np.testing.assert_array_equal(np.asarray(values), expected[0])
        np.testing.assert_array_equal(np.asarray(lengths), expected[1])


def test_a_small_out(tiles):
    raw = np.arange(5000, dtype=np.int32)
    view = amp.accelerator("swiftshader").default_view
    out = amp.array(amp.extent(100), np.int32, accelerator_view=view)
    found = alg.select(raw, lambda x: x % 2 == 0, out=out)
    assert int(found.count) == 2500
    np.testing.assert_array_equal(np.asarray(out), np.arange(0, 200, 2))
