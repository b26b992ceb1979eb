"""The forms for GPUs of reductions and scans by key and of the positions of extremes."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import forced
from vkamp import algorithms as alg
from vkamp.algorithms import lazy


@amp.func
def last(a, b):
    """The second one: associative, not commutative."""
    return b


@pytest.fixture(autouse=True)
def tiles():
    with forced("tiles"):
        yield


def check(view, n, different, kind=np.int32, dtype=np.int32):
    random = np.random.default_rng(n + different)
    keys = np.sort(random.integers(0, different, n)).astype(kind)
    raw = random.integers(-3, 4, n).astype(dtype)
    heads = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    names, values = (amp.array(each, accelerator_view=view) for each in (keys, raw))
    found, sums = alg.reduce_by_key(names, values)
    np.testing.assert_array_equal(np.asarray(found), keys[heads])
    np.testing.assert_array_equal(np.asarray(sums), np.add.reduceat(raw, heads))
    _, found = alg.reduce_by_key(names, values, last, out=(lazy.discard, np.empty(n, dtype)))
    np.testing.assert_array_equal(np.asarray(found), raw[np.append(heads[1:] - 1, n - 1)])
    upto = np.concatenate([np.cumsum(each, dtype=dtype) for each in np.split(raw, heads[1:])])
    np.testing.assert_array_equal(np.asarray(alg.scan_by_key(names, values)), upto)
    found = alg.scan_by_key(names, values, inclusive=False, init=dtype(7))
    np.testing.assert_array_equal(np.asarray(found), upto - raw + dtype(7))


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("n", [1, 3, 1023, 1025, 4099, 40_001])
def test_sizes(accelerator_view, n):
    """One run in all blocks, runs over several blocks, short runs, and keys that are all different."""
    for different in (1, 4, n // 4 + 1, 100 * n):
        check(accelerator_view, n, different)


@pytest.mark.accelerators("llvmpipe")
def test_more_blocks_than_a_tile_has_threads(accelerator_view, monkeypatch):
    scan = importlib.import_module("vkamp.algorithms.scan")  # The function of the same name hides the module.
    monkeypatch.setattr(scan, "tile_size", lambda view: 16)
    check(accelerator_view, 40_001, 9000)
    raw = np.random.default_rng(1).integers(0, 9, 70_001, dtype=np.int32)
    found, many = alg.partition(raw, lambda x: x > 5, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(found), np.concatenate([raw[raw > 5], raw[raw <= 5]]))
    assert many == (raw > 5).sum()


@pytest.mark.accelerators("swiftshader", "reference")
def test_on_other_devices(accelerator_view):
    check(accelerator_view, 1030, 300)


@pytest.mark.accelerators("llvmpipe")
def test_types(accelerator_view):
    for kind, dtype in ((np.float32, np.float32), (np.int32, np.complex64), (np.int8, np.int32)):
        check(accelerator_view, 1301, 100, kind, dtype)
    pairs = np.repeat(np.arange(40, dtype=np.int32), 31)
    found, sums = alg.reduce_by_key(pairs[::2], lazy.arange(620), accelerator_view=accelerator_view)
    expected = np.flatnonzero(np.append(True, np.diff(pairs[::2])))
    np.testing.assert_array_equal(np.asarray(found), pairs[::2][expected])
    np.testing.assert_array_equal(np.asarray(sums), np.add.reduceat(np.arange(620), expected))


@pytest.mark.accelerators("llvmpipe")
def test_outputs_that_are_too_small(accelerator_view):
    keys = np.arange(3000, dtype=np.int32) // 2
    room = np.full((2, 1500), -1, np.int32)
    found, sums = alg.reduce_by_key(keys, keys, out=(room[0, :9], room[1, :9]), accelerator_view=accelerator_view)
    assert int(found.count) == int(sums.count) == 1500
    for each in (found, sums):
        with pytest.raises(amp.AmpError, match="1500"):
            np.asarray(each)
    amp.array_view(room).synchronize()
    assert (room[:, 9:] == -1).all()


@pytest.mark.accelerators("llvmpipe")
def test_the_same_bits_in_every_run(accelerator_view):
    raw = np.random.default_rng(3).random(30_000, dtype=np.float32)
    keys = np.arange(30_000, dtype=np.int32) // 7001
    one, other = (
        np.asarray(alg.reduce_by_key(keys, raw, accelerator_view=accelerator_view)[1]).tobytes() for _ in range(2)
    )
    assert one == other


@pytest.mark.spread(2)
@pytest.mark.accelerators("llvmpipe", "swiftshader")
@pytest.mark.parametrize("n", [1, 3, 6, 2047, 2050, 9001])
def test_positions_of_extremes(accelerator_view, n):
    """The first of equal elements, and of NaN."""
    raw = np.random.default_rng(n).integers(0, 60, n).astype(np.float32)
    assert alg.argmax(raw, accelerator_view=accelerator_view) == raw.argmax()
    assert alg.argmin(raw[::-1], accelerator_view=accelerator_view) == raw[::-1].argmin()
    raw[[n // 2, n - 1]] = np.nan
    assert alg.argmax(raw, accelerator_view=accelerator_view) == n // 2
