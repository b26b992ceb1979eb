"""Kernels that read their data once: the total before a tile, also if tiles do not publish their totals."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import vkamp as amp
from tests.tile.scans import ROWS, check_row, dropping, largest_of_segment, scan, scanned
from vkamp import tile
from vkamp.algorithms import functional

#: The function of the same name hides the module.
carry_module = importlib.import_module("vkamp.tile.carry")
NARROW = [name for name, row in ROWS.items() if not row.wide]
WIDE = [name for name, row in ROWS.items() if row.wide]


def is_reference(view):
    return view.accelerator.device_path == "reference"


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", NARROW)
def test_values_of_every_type(accelerator_view, name):
    check_row(accelerator_view, name, 45, 7)
    if name != "nested":  # lavapipe compiles for seconds
        check_row(accelerator_view, name, 200 if is_reference(accelerator_view) else 7001, 32)


@pytest.mark.accelerators("llvmpipe", "reference")
@pytest.mark.parametrize("name", WIDE)
def test_numbers_of_64_bits(accelerator_view, name):
    if not is_reference(accelerator_view):
        # The other engine enables no features.
        accelerator_view = amp.accelerator("llvmpipe@vulkan").default_view
    check_row(accelerator_view, name, 45, 7)
    if name in ("int64", "affine"):
        check_row(accelerator_view, name, 200 if is_reference(accelerator_view) else 7001, 32)


@pytest.mark.parametrize("name", ["int32", "segments"])
def test_tiles_of_one_thread_and_one_tile(accelerator_view, name):
    check_row(accelerator_view, name, 45, 1)
    check_row(accelerator_view, name, 7, 16)


@pytest.mark.parametrize("name", ["uint2", "segments"])
def test_results_in_the_place_of_the_values(accelerator_view, name):
    check_row(accelerator_view, name, 200 if is_reference(accelerator_view) else 5003, 24, in_place=True)


@amp.func
def differs(a, b):
    return a != b


@amp.kernel
def parities(t_idx, values, out, counter, status):
    """Whether an odd number of values so far is positive: totals are bools."""
    number = tile.ticket(t_idx, counter)
    at = number * t_idx.tile_dim0 + t_idx.local[0]
    upto, total = tile.inclusive_scan(t_idx, values[at] > 0, differs)

    @amp.func
    def total_of(n):
        return tile.reduce(t_idx, values[n * t_idx.tile_dim0 + t_idx.local[0]] > 0, differs)

    before = tile.carry(t_idx, status, number, total, differs, total_of)
    out[at] = 1 if differs(number > 0 and before, upto) else 0


def test_bools(accelerator_view):
    raw = np.random.default_rng(3).integers(-9, 10, 5 * 24).astype(np.int32)
    values, out, counter = (amp.array(x, accelerator_view=accelerator_view) for x in (raw, raw, np.zeros(1, np.uint32)))
    status = amp.array(np.zeros((5, tile.carry_words(bool)), np.uint32), accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, amp.extent(5 * 24).tile(24), parities, values, out, counter, status)
    np.testing.assert_array_equal(np.asarray(out), np.cumsum(raw > 0) % 2)


@pytest.mark.parametrize("lanes", [1, 4, 8, 32, 128])
def test_subgroups_of_any_size(lanes):
    view = amp.accelerator("reference").default_view
    with amp.reference_subgroups(lanes):
        for name in ("uint2", "segments", "int64", "odd float64"):
            for n in (1, 333):
                check_row(view, name, n, 16)


@pytest.mark.spread(2)
@pytest.mark.parametrize("percent", [10, 50, 100])
def test_totals_that_are_never_published(accelerator_view, monkeypatch, percent):
    """Tiles behind compute them; a tile that waited for ever would hang the test."""
    monkeypatch.setattr(carry_module, "publish", dropping(carry_module.publish, percent))
    # Another kernel for each: names of the package are read when a kernel is compiled.
    size = {10: 24, 50: 40, 100: 48}[percent]
    names = {10: ("uint2",), 50: ("uint2", "segments"), 100: ("moments",)}[percent]
    n = 300 if is_reference(accelerator_view) else 5003
    for lanes in (32, 8) if is_reference(accelerator_view) else (32,):
        with amp.reference_subgroups(lanes):
            for name in names:
                check_row(accelerator_view, name, n, size)


def test_check_mode_finds_nothing(monkeypatch):
    monkeypatch.setenv("VKAMP_CHECK", "1")
    raw = np.arange(200, dtype=np.int32)
    got = scan(amp.accelerator("llvmpipe").default_view, raw, np.int32, functional.plus, 16)
    np.testing.assert_array_equal(got, np.cumsum(raw, dtype=np.int32))


def test_words_of_a_status():
    words = {name: tile.carry_words(ROWS[name].dtype) for name in ("int32", "uint2", "moments", "nested", "int64")}
    assert words == {"int32": 2, "uint2": 4, "moments": 6, "nested": 16, "int64": 4}
    assert [tile.carry_words(t) for t in (bool, np.int8, amp.float16, amp.double3)] == [2, 2, 2, 12]


@amp.func
def later(a, b):
    """The larger value of the last group; ``x`` is the group."""
    return amp.float2(b.x, max(a.y, b.y) if a.x == b.x else b.y)


def test_a_maximum_of_each_group_so_far(accelerator_view):
    n = 300 if is_reference(accelerator_view) else 10_007
    random = np.random.default_rng(1)
    groups = np.cumsum(random.random(n) < 0.02).astype(np.float32)
    pairs = np.stack([groups, random.standard_normal(n).astype(np.float32)], axis=1)
    got = scan(accelerator_view, pairs, amp.float2, later, 64)
    for group in np.unique(groups):
        rows = groups == group
        np.testing.assert_array_equal(got[rows, 1], np.maximum.accumulate(pairs[rows, 1]))


def test_a_status_of_too_few_words_is_refused(accelerator_view):
    """When the kernel is launched, on every device, and not by an access out of bounds."""
    made = amp.array(np.zeros(40, ROWS["segments"].dtype), accelerator_view=accelerator_view)
    counter = amp.array(np.zeros(1, np.uint32), accelerator_view=accelerator_view)
    status = amp.array(np.zeros((5, 2), np.uint32), accelerator_view=accelerator_view)
    message = r"scanned: `status` has the extent 2 in dimension 1, and the kernel asserts that it has 4 or more: each"
    with pytest.raises(amp.AmpError, match=message):
        amp.parallel_for_each(
            accelerator_view, amp.extent(40).tile(8), scanned, made, made, counter, status, largest_of_segment
        )
