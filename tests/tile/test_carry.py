"""Kernels that read their data once: the total before a tile, also if tiles do not publish their totals."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import vkamp as amp
from tests.tile.scans import composed, dropping, scanned, then
from vkamp.algorithms import functional

#: The function of the same name hides the module.
carry_module = importlib.import_module("vkamp.tile.carry")


def scan(view, raw, dtype, op, size):
    """The scan of ``raw`` by tiles of ``size`` threads."""
    n, words = len(raw), 2 * (raw.shape[1] if raw.ndim == 2 else 1)
    tiles = -(-n // size)
    values = amp.array(amp.extent(n), dtype, raw, accelerator_view=view)
    out = amp.array(amp.extent(n), dtype, accelerator_view=view)
    counter = amp.array(np.zeros(1, np.uint32), accelerator_view=view)
    status = amp.array(np.zeros((tiles, words), np.uint32), accelerator_view=view)
    amp.parallel_for_each(view, amp.extent(tiles * size).tile(size), scanned, values, out, counter, status, op)
    return np.asarray(out)


def check(view, sizes, threads):
    for n in sizes:
        random = np.random.default_rng(n)
        whole = random.integers(-(1 << 31), 1 << 31, n).astype(np.int32)
        np.testing.assert_array_equal(
            scan(view, whole, np.int32, functional.plus, threads), np.cumsum(whole, dtype=np.int32)
        )
        reals = random.standard_normal(n).astype(np.float32)
        np.testing.assert_array_equal(
            scan(view, reals, np.float32, functional.max, threads), np.maximum.accumulate(reals)
        )
        pairs = random.integers(0, 1 << 32, (n, 2), dtype=np.uint32)
        np.testing.assert_array_equal(scan(view, pairs, amp.uint2, then, threads), composed(pairs))


def test_values_of_every_kind(accelerator_view):
    is_slow = accelerator_view.accelerator.device_path == "reference"
    check(accelerator_view, (1, 33, 200) if is_slow else (1, 31, 32, 33, 7001), 32)


def test_small_and_odd_tiles(accelerator_view):
    for threads in (1, 7):
        raw = np.random.default_rng(threads).integers(0, 99, 45, np.int32)
        got = scan(accelerator_view, raw, np.int32, functional.plus, threads)
        np.testing.assert_array_equal(got, np.cumsum(raw, dtype=np.int32))


@pytest.mark.parametrize("lanes", [1, 4, 8, 32, 128])
def test_subgroups_of_any_size(lanes):
    with amp.reference_subgroups(lanes):
        check(amp.accelerator("reference").default_view, (1, 333), 16)


@pytest.mark.spread(2)
@pytest.mark.parametrize("percent", [10, 50, 100])
def test_totals_that_are_never_published(accelerator_view, monkeypatch, percent):
    """Tiles behind compute them; a tile that waited for ever would hang the test."""
    monkeypatch.setattr(carry_module, "publish", dropping(carry_module.publish, percent))
    # Another kernel for each: names of the package are read when a kernel is compiled.
    size = {10: 24, 50: 40, 100: 48}[percent]
    is_slow = accelerator_view.accelerator.device_path == "reference"
    n = 300 if is_slow else 5003
    for lanes in (32, 8) if is_slow else (32,):
        pairs = np.random.default_rng(n).integers(0, 1 << 32, (n, 2), dtype=np.uint32)
        with amp.reference_subgroups(lanes):
            got = scan(accelerator_view, pairs, amp.uint2, then, size)
        np.testing.assert_array_equal(got, composed(pairs))


def test_check_mode_finds_nothing(monkeypatch):
    monkeypatch.setenv("VKAMP_CHECK", "1")
    raw = np.arange(200, dtype=np.int32)
    got = scan(amp.accelerator("llvmpipe").default_view, raw, np.int32, functional.plus, 16)
    np.testing.assert_array_equal(got, np.cumsum(raw, dtype=np.int32))


@amp.func
def later(a, b):
    """The larger value of the last group; ``x`` is the group."""
    return amp.float2(b.x, max(a.y, b.y) if a.x == b.x else b.y)


def test_a_maximum_of_each_group_so_far(accelerator_view):
    n = 300 if accelerator_view.accelerator.device_path == "reference" else 10_007
    random = np.random.default_rng(1)
    groups = np.cumsum(random.random(n) < 0.02).astype(np.float32)
    pairs = np.stack([groups, random.standard_normal(n).astype(np.float32)], axis=1)
    got = scan(accelerator_view, pairs, amp.float2, later, 64)
    for group in np.unique(groups):
        rows = groups == group
        np.testing.assert_array_equal(got[rows, 1], np.maximum.accumulate(pairs[rows, 1]))
