"""Targets of results: none, one of several, and where a function without one runs; how results are combined."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import _choose, lazy

#: The function of the same name hides the module.
scan_module = importlib.import_module("vkamp.algorithms.scan")

RAW = np.array([3, 3, 1, 4, 4, 4, 1], np.int32)


def test_results_that_nobody_needs(accelerator_view):
    a = amp.array(RAW, accelerator_view=accelerator_view)
    chosen = alg.select(a, lambda x: x > 1, out=lazy.discard)
    assert int(chosen.count) == 5
    with pytest.raises(amp.AmpError, match="5 elements were found, but out has room for 1"):
        chosen.trim()
    keys, firsts = alg.unique_by_key(a, lazy.arange(7), out=(lazy.discard, None))
    assert int(keys.count) == 4
    np.testing.assert_array_equal(np.asarray(firsts), [0, 2, 3, 6])
    _, sums = alg.reduce_by_key(a, a, out=(lazy.discard, None))
    np.testing.assert_array_equal(np.asarray(sums), [6, 1, 12, 1])
    values, lengths = alg.run_length_encode(a, out=lazy.discard)
    assert int(values.count) == 4
    np.testing.assert_array_equal(np.asarray(lengths), [2, 1, 3, 1])
    assert alg.transform(lambda x: -x, a, out=lazy.discard).extent == a.extent
    assert repr(lazy.discard) == "lazy.discard"


def test_targets_of_several_results(accelerator_view):
    a = amp.array(RAW, accelerator_view=accelerator_view)
    room = [amp.array(amp.extent(7), np.int32, accelerator_view=accelerator_view) for _ in range(2)]
    keys, sums = alg.reduce_by_key(a, a, out=tuple(room))
    assert keys.values is room[0] and sums.values is room[1]
    np.testing.assert_array_equal(np.asarray(sums), [6, 1, 12, 1])
    with pytest.raises(TypeError, match="out must be a tuple of 2 targets"):
        alg.unique_by_key(a, a, out=room[0])


#: Calls with an input of ints and a target.
WITH_TARGETS = {
    "copy": lambda a, out: alg.copy(a, out=out),
    "cumulative_sum": lambda a, out: alg.cumulative_sum(a, out=out),
    "flip": lambda a, out: alg.flip(a, out=out),
    "scan": lambda a, out: alg.scan(a, out=out),
    "select": lambda a, out: alg.select(a, lambda x: x > 1, out=out),
    "sort": lambda a, out: alg.sort(a, out=out),
    "sort by less": lambda a, out: alg.sort(a, less=lambda x, y: x > y, out=out),
    "transform": lambda a, out: alg.transform(lambda x: x, a, out=out),
    "unique": lambda a, out: alg.unique(a, out=out),
}


@pytest.mark.parametrize("name", WITH_TARGETS)
def test_targets_of_other_types(accelerator_view, name):
    """They get the numbers, or a TypeError says that they cannot."""
    call = WITH_TARGETS[name]
    a = amp.array(RAW, accelerator_view=accelerator_view)
    expected = np.asarray(call(a, None))
    for dtype in (np.float32, np.uint8):
        out = amp.array(amp.extent(RAW.size), dtype, accelerator_view=accelerator_view)
        found = np.asarray(call(a, out))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
    floats = amp.array(RAW.astype(np.float32), accelerator_view=accelerator_view)
    with pytest.raises(TypeError, match="out has int32 elements, but the result has float32"):
        call(floats, amp.array(amp.extent(RAW.size), np.int32, accelerator_view=accelerator_view))
    with pytest.raises(TypeError, match="readonly=True\\), which cannot be written"):
        call(a, amp.array_view(amp.array(a), readonly=True))


@pytest.mark.sample("llvmpipe", "reference")
def test_sums_in_the_type_of_their_target(accelerator_view):
    a = amp.array(RAW, accelerator_view=accelerator_view)
    assert alg.cumulative_sum(a, out=a) is a
    np.testing.assert_array_equal(np.asarray(a), RAW.cumsum())
    # Computed in the type that is given, and then converted.
    found = alg.cumulative_sum(RAW + (1 << 29), dtype=np.int32, out=np.zeros(RAW.size, np.float32))
    np.testing.assert_array_equal(found, (RAW + (1 << 29)).cumsum(dtype=np.int32).astype(np.float32))


@pytest.mark.accelerators("llvmpipe")
def test_64_bits_are_not_moved_as_bits_of_another_type():
    view = amp.accelerator("llvmpipe", engine="vulkan").default_view
    wide = amp.array(RAW.astype(np.int64), accelerator_view=view)
    out = amp.array(amp.extent(RAW.size), np.float64, accelerator_view=view)
    for call in (lambda: alg.flip(wide, out=out), lambda: alg.sort(wide, out=out), lambda: alg.copy(wide, out=out)):
        np.testing.assert_array_equal(np.sort(np.asarray(call())), np.sort(RAW))


@pytest.mark.accelerators("llvmpipe")
def test_any_container_says_where_to_run(accelerator_view):
    """Not only the first argument, which may be a lazy input or an array of the host."""
    flags = amp.array(np.array([1, 0, 1, 1, 0], np.uint8), accelerator_view=accelerator_view)
    at = amp.array(np.array([4, 0, 2, 1, 3], np.int32), accelerator_view=accelerator_view)
    numbers = lazy.arange(5)
    for found in (
        alg.select(numbers, flags=flags).values, alg.take(np.arange(5, dtype=np.int32), at),
        alg.segmented_scan(numbers, flags), alg.segmented_reduce(numbers, flags).values,
        alg.segmented_sort(numbers, flags), alg.histogram(numbers, 2, (0, 4), at)[0], alg.bincount(numbers, at, bins=5),
        alg.searchsorted(numbers, at),
    ):  # fmt: skip
        assert found.accelerator_view == accelerator_view


def test_the_place_of_one_number(accelerator_view):
    whole = np.array([-(2**31), 1, 1, 5, 2**31 - 1], np.int32)
    reals = np.array([-np.inf, -1, 0.5, np.inf, np.nan], np.float32)
    small = np.array([0, 7, 255], np.uint8)
    for raw in (whole, reals, small):
        a = amp.array(raw, accelerator_view=accelerator_view)
        for x in (1, 1.5, 0.5, 255, 300, -1, 2.0**40, -(2**40), np.float32(5), np.int64(7), np.inf, -np.inf, np.nan):
            for side in ("left", "right"):
                found = alg.searchsorted(a, x, side)
                assert isinstance(found, alg.device_scalar)
                assert int(found) == np.searchsorted(raw, x, side), (raw, x, side)
    out = amp.array(amp.extent(1), np.int32, accelerator_view=accelerator_view)
    alg.searchsorted(
        amp.array(whole[::-1].copy(), accelerator_view=accelerator_view), 1, less=lambda x, y: x > y, out=out
    )
    assert np.asarray(out)[0] == 2


def test_scans_that_have_to_be_deterministic(monkeypatch):
    """The order in which a scan of many elements combines them depends on the scheduling: floats do not take it."""
    view = amp.accelerator("reference").default_view
    chained = []
    monkeypatch.setattr(scan_module, "can_chain", lambda view, out: True)
    monkeypatch.setattr(scan_module, "are_few", lambda n: False)
    monkeypatch.setattr(scan_module, "chained_scan_into", lambda view, source, out, op, **_: chained.append(out.dtype))
    a, whole = np.ones(9, np.float32), np.ones(9, np.int32)
    with _choose.forced("tiles"):
        alg.scan(a, accelerator_view=view)
        alg.scan(whole, deterministic=True, accelerator_view=view)
        assert chained == [np.float32, np.int32]
        with alg.deterministic():
            alg.cumulative_sum(a, accelerator_view=view)
            alg.scan(whole, accelerator_view=view)
        alg.cumulative_sum(a, deterministic=True, accelerator_view=view)
        alg.cumulative_prod(whole, deterministic=True, accelerator_view=view)
    assert chained == [np.float32, np.int32, np.int32, np.int64]
