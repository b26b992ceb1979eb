"""The forms for GPUs of the merge sort, of the largest elements and of binary searches."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import descending_order, numbers_of
from tests.library_views import forced, name_of
from vkamp import algorithms as alg
from vkamp.algorithms import search_tiles, topk_tiles

PAIR = np.dtype([("a", np.int32), ("b", np.float32)])


@pytest.fixture
def view(accelerator):
    """By the direct engine, which starts programs faster."""
    if accelerator.device_path == "reference":
        return accelerator.default_view
    return amp.accelerator(f"{name_of(accelerator.default_view)}@vulkan").default_view


@pytest.fixture
def tiles():
    with forced("tiles"):
        yield


@pytest.mark.accelerators("llvmpipe", "reference")
def test_merge_sort(view, tiles):
    """One tile, a tile and one element, and several passes of which the last one merges runs of other lengths."""
    is_slow = view.accelerator.device_path == "reference"
    for n in (1, 97, 300) if is_slow else (1, 96, 97, 193, 5 * 96, 2311):
        raw = np.random.default_rng(n).integers(0, 50, n).astype(np.int32)
        order = np.argsort(raw, kind="stable")
        keys = amp.array(raw, accelerator_view=view)
        found = alg.argsort(keys, less=lambda x, y: x < y)
        np.testing.assert_array_equal(np.asarray(found), order)
        ordered, moved = alg.sort_by_key(keys, np.arange(n, dtype=np.float32), less=lambda x, y: x < y)
        np.testing.assert_array_equal(np.asarray(ordered), raw[order])
        np.testing.assert_array_equal(np.asarray(moved), order)
        backwards = alg.argsort(keys, less=lambda x, y: x < y, descending=True)
        np.testing.assert_array_equal(np.asarray(backwards), np.argsort(-raw, kind="stable"))
        assert alg.sort(keys, less=lambda x, y: x > y, out=keys) is keys
        np.testing.assert_array_equal(np.asarray(keys), np.sort(raw)[::-1])


@pytest.mark.accelerators("llvmpipe")
def test_merge_sort_of_structs(view, tiles):
    random = np.random.default_rng(2)
    pairs = np.zeros(1000, PAIR)
    pairs["a"], pairs["b"] = random.integers(0, 9, 1000), random.random(1000)
    found = alg.sort(pairs, less=lambda x, y: x.a < y.a or (x.a == y.a and x.b < y.b), accelerator_view=view)
    np.testing.assert_array_equal(np.asarray(found), np.sort(pairs, order=["a", "b"]))


def topk_of(view, raw, k, largest=True):
    order = (descending_order(raw) if largest else np.argsort(raw, kind="stable"))[:k]
    elements, at = alg.topk(raw, k, largest=largest, accelerator_view=view)
    np.testing.assert_array_equal(np.asarray(at), order)
    np.testing.assert_array_equal(np.asarray(elements), raw[order])


@pytest.mark.accelerators("llvmpipe")
def test_largest_elements(view, tiles, monkeypatch):
    """Several launches; equal elements, ascending ones, of which every step has better ones, and special floats."""
    # Short steps, so that the driver compiles few loads.
    monkeypatch.setattr(topk_tiles, "ITEMS", 4)
    monkeypatch.setattr(topk_tiles, "_STEP", 4 * topk_tiles.TILE)
    random = np.random.default_rng(3)
    topk_of(view, np.array([5], np.int32), 1)
    topk_of(view, random.integers(0, 3, 300).astype(np.int32), 300)
    n = 20_001
    topk_of(view, random.integers(0, 1 << 31, n).astype(np.int32), 100)
    topk_of(view, np.full(n, 7, np.int32), 100)
    topk_of(view, np.arange(n, dtype=np.int32), 100)
    topk_of(view, numbers_of(np.float32, 5000), 100, largest=False)


@pytest.mark.accelerators("llvmpipe")
def test_largest_elements_by_groups(view, tiles, monkeypatch):
    """Groups that are not full; equal elements and zeros, whose first ones are found; the smallest elements."""
    monkeypatch.setattr(topk_tiles, "FEWEST_IN_GROUPS", 1)
    monkeypatch.setattr(topk_tiles, "_GROUPS", 256)
    random = np.random.default_rng(5)
    n = 40_001
    topk_of(view, random.random(n, dtype=np.float32), n >> 10)
    topk_of(view, random.integers(0, 9, n).astype(np.int32), 7, largest=False)
    topk_of(view, np.zeros(n, np.uint32), n >> 10)
    topk_of(view, np.arange(n, dtype=np.uint32), 1)


@pytest.mark.accelerators("reference")
def test_largest_elements_on_the_reference(view, tiles):
    topk_of(view, np.random.default_rng(4).integers(0, 40, 300).astype(np.int32), 9)


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_binary_search(view, tiles, dtype, monkeypatch):
    """Fewer elements than are staged, as many, and more, with a sample of them; NaN behind all others."""
    monkeypatch.setattr(search_tiles, "MANY", 4000)
    for n in (1, 2, 1023, 1024, 1025, 4097, 100_003):
        random = np.random.default_rng(n)
        ordered = np.sort(random.integers(-n, n, n)).astype(dtype)
        values = random.integers(-n - 3, n + 3, 4500 if n >= 4097 else 301).astype(dtype)
        if dtype == np.float32:
            ordered[-(n // 5 + 1) :] = np.nan
            values[::7] = np.nan
        for side in ("left", "right"):
            found = alg.searchsorted(ordered, values, side, accelerator_view=view)
            np.testing.assert_array_equal(np.asarray(found), np.searchsorted(ordered, values, side))
