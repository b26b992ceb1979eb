"""The form for GPUs on devices whose tiles have fewer threads and less memory than those of large GPUs."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import reduce_axis_tiles, scan_chained
from vkamp.algorithms._choose import forced, form_of
from vkamp.dispatch.requirements import queue_of

#: Its name in the package is the function's.
_reduce = importlib.import_module("vkamp.algorithms.reduce")


@pytest.fixture
def small(monkeypatch):
    """lavapipe as a device with tiles of at most 256 threads and 32 KiB."""
    view = amp.accelerator("llvmpipe").create_view()
    device = queue_of(view).device
    limits = dataclasses.replace(device.info.limits, tile_threads=256, tile_size=(256, 256, 64), shared_bytes=32 << 10)
    info = dataclasses.replace(device.info, limits=limits)
    monkeypatch.setattr(device, "info", info)
    monkeypatch.setattr(view.accelerator, "_info", info)
    return view


def test_the_limits_hold(small):
    @amp.kernel
    def count(t_idx, a):
        a[t_idx] = 1

    a = amp.array_view(np.zeros(512, np.int32))
    with pytest.raises(amp.InvalidComputeDomainError, match="a tile has 512 threads"):
        amp.parallel_for_each(small, amp.extent(512).tile(512), count, a)


def test_reductions_and_scans(small, monkeypatch):
    monkeypatch.setattr(_reduce, "_SIDE_BY_SIDE", 2)
    monkeypatch.setattr(_reduce, "_TILES", 3)
    raw = np.random.default_rng(1).integers(-50, 50, 50_003).astype(np.int32)
    with forced("tiles"):
        assert alg.max(raw, accelerator_view=small) == raw.max()
        assert alg.reduce(raw, accelerator_view=small) == raw.sum()
        np.testing.assert_array_equal(alg.scan(raw, accelerator_view=small), raw.cumsum())
        columns = raw[:50_000].reshape(500, 100)
        np.testing.assert_array_equal(alg.reduce(columns, axis=0, accelerator_view=small), columns.sum(0))
        np.testing.assert_array_equal(alg.cumulative_sum(columns, axis=0, accelerator_view=small), columns.cumsum(0))


def test_sorts_and_selections(small):
    raw = np.random.default_rng(2).integers(-5000, 5000, 20_003).astype(np.int32)
    with forced("tiles"):
        np.testing.assert_array_equal(alg.sort(raw, accelerator_view=small), np.sort(raw))
        np.testing.assert_array_equal(
            alg.sort(raw, less=lambda a, b: a > b, accelerator_view=small), np.sort(raw)[::-1]
        )
        chosen = alg.select(raw, lambda x: x > 0, accelerator_view=small)
        np.testing.assert_array_equal(np.asarray(chosen), raw[raw > 0])
        np.testing.assert_array_equal(alg.topk(raw, 100, accelerator_view=small)[0], np.sort(raw)[:-101:-1])
        rows = raw[:16_000].reshape(8, 2000)
        np.testing.assert_array_equal(alg.sort(rows, accelerator_view=small), np.sort(rows))


def test_large_tiles_need_a_device_that_has_them(small):
    large = amp.accelerator("llvmpipe").default_view
    assert reduce_axis_tiles._strips_of(large, 1, 16_384, 16_384, 4).tile == 512
    assert reduce_axis_tiles._strips_of(small, 1, 16_384, 16_384, 4).tile == 256


def test_scans_by_tickets_need_a_device_that_has_large_tiles(small, monkeypatch):
    monkeypatch.setattr(scan_chained, "has_features", lambda view: True)
    monkeypatch.setattr(amp.accelerator, "is_emulated", False)
    out = amp.array(amp.extent(8), np.int32)
    assert scan_chained.can_chain(amp.accelerator("llvmpipe").default_view, out)
    assert not scan_chained.can_chain(small, out)


@pytest.mark.parametrize(("threads", "bytes_"), [(128, 32 << 10), (256, 16 << 10)])
def test_devices_with_smaller_tiles_run_the_form_for_cpu_drivers(small, monkeypatch, threads, bytes_):
    monkeypatch.setattr(amp.accelerator, "is_emulated", False)
    assert form_of(small) == "tiles"
    limits = dataclasses.replace(small.accelerator.limits, tile_threads=threads, shared_bytes=bytes_)
    monkeypatch.setattr(small.accelerator, "_info", dataclasses.replace(small.accelerator._info, limits=limits))
    assert form_of(small) == "runs"
    raw = np.random.default_rng(3).integers(-50, 50, 7001).astype(np.int32)
    np.testing.assert_array_equal(alg.scan(raw, accelerator_view=small), raw.cumsum())
    np.testing.assert_array_equal(alg.sort(raw, accelerator_view=small), np.sort(raw))
