"""Selections in one launch, which the library chooses on GPUs alone."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import _choose, scan_chained, select_chained, select_tiles


@pytest.fixture(autouse=True)
def chained(monkeypatch):
    """The form for GPUs; two launches count as a failure."""

    def refused(*args, **named):
        raise AssertionError("selected in two launches")

    monkeypatch.setattr(select_chained, "can_chain", lambda view: True)
    monkeypatch.setattr(select_tiles, "select_into", refused)
    with _choose.forced("tiles"):
        yield


def check(view, n):
    """Elements of one and two words, small ones, positions, and runs with their lengths."""
    raw = np.random.default_rng(n).integers(-3, 9, n, dtype=np.int32)
    data = amp.array(raw, accelerator_view=view)
    found = alg.select(data, lambda x: x > 3)
    np.testing.assert_array_equal(np.asarray(found), raw[raw > 3])
    np.testing.assert_array_equal(np.asarray(alg.nonzero(data)), np.flatnonzero(raw))
    flags = (raw > 5).astype(np.uint8)
    for dtype in (np.float64, np.int8):
        values = raw.astype(dtype)
        found = alg.select(values, flags=flags, accelerator_view=view)
        np.testing.assert_array_equal(np.asarray(found), values[flags != 0])
    runs = np.sort(raw)
    values, lengths = alg.run_length_encode(runs, accelerator_view=view)
    expected = np.unique(runs, return_counts=True)
    np.testing.assert_array_equal(np.asarray(values), expected[0])
    np.testing.assert_array_equal(np.asarray(lengths), expected[1])
    for words in scan_chained._words[view]:
        assert not np.asarray(words).any(), "the last tile has cleared them"


@pytest.mark.accelerators("llvmpipe")
def test_sizes(accelerator_view):
    """Within one tile, around its end, and many tiles."""
    for n in (1, 5, 4095, 4096, 4097, 300_007):
        check(accelerator_view, n)


@pytest.mark.parametrize("lanes", [1, 4, 32, 128])
def test_subgroups_of_any_size(lanes):
    """Two tiles, of which the second one is not full."""
    view = amp.accelerator("reference").default_view
    raw = np.random.default_rng(lanes).integers(-3, 9, 5003, dtype=np.int32)
    with amp.reference_subgroups(lanes):
        found = alg.select(raw, lambda x: x > 3, accelerator_view=view)
        firsts = alg.unique_consecutive(raw, accelerator_view=view)
    np.testing.assert_array_equal(np.asarray(found), raw[raw > 3])
    np.testing.assert_array_equal(np.asarray(firsts), raw[np.r_[True, raw[1:] != raw[:-1]]])


@pytest.mark.accelerators("llvmpipe", "reference")
def test_all_none_and_a_small_out(accelerator_view):
    raw = np.arange(4500, dtype=np.int32)
    values = amp.array(raw, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(alg.select(values, lambda x: x >= 0)), raw)
    assert len(alg.select(values, lambda x: x < 0)) == 0
    out = amp.array(np.full(120, -1, np.int32), accelerator_view=accelerator_view)
    found = alg.select(values, lambda x: x % 2 == 0, out=amp.array_view(out)[:100])
    assert int(found.count) == 2250
    np.testing.assert_array_equal(np.asarray(out), np.r_[np.arange(0, 200, 2), np.full(20, -1)])
