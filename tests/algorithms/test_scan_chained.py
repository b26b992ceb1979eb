"""Scans in one launch, of few and of many elements, and in blocks, which the library chooses on GPUs alone."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import forced
from tests.tile.scans import dropping
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy, scan_blocks, scan_chained, scan_few

carrying = importlib.import_module("vkamp.tile.carry")


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of 512 elements, or of 1536 from 4096 elements on; at most 16 blocks; tiles of 256 to 2048 elements."""
    monkeypatch.setattr(scan_chained, "TILE", 64)
    monkeypatch.setattr(scan_chained, "FEW_ROWS", 2)
    monkeypatch.setattr(scan_chained, "ROWS", 6)
    monkeypatch.setattr(scan_chained, "MANY", 4096)
    for name, number in {"TILE": 64, "ROWS": 2, "BLOCKS": 16, "THREADS": 4}.items():
        monkeypatch.setattr(scan_blocks, name, number)
    monkeypatch.setattr(scan_few, "TILE", 64)
    monkeypatch.setattr(scan_few, "TILES", 8)


@pytest.fixture(
    params=[scan_chained.chained_scan_into, scan_few.scan_few_into, scan_blocks.scan_blocks_into],
    ids=["chained", "few", "blocks"],
)
def into(request):
    with forced("tiles"):
        yield request.param


@amp.func
def last_set(a, b):
    """The second one, unless it is 0: associative, not commutative."""
    return b if b != 0 else a


def check(view, n, dtype, op, expected, into, *, inclusive=True, init=None, in_place=False):
    raw = np.random.default_rng(n).integers(-2, 3, n).astype(dtype)
    values = amp.array(raw, accelerator_view=view)
    out = values if in_place else amp.array(values.extent, dtype, accelerator_view=view)
    start = np.dtype(dtype).type(0 if init is None else init)
    into(view, lazy.of(values).flat(), out, op, inclusive=inclusive, init=start, has_init=init is not None)
    np.testing.assert_array_equal(np.asarray(out), expected(raw))


def sums(raw):
    return np.cumsum(raw, dtype=raw.dtype)


def latest(raw):
    at = np.maximum.accumulate(np.where(raw != 0, np.arange(len(raw)), -1))
    return np.where(at < 0, 0, raw[at]).astype(raw.dtype)


@pytest.mark.accelerators("llvmpipe", "reference")
@pytest.mark.spread(2)
def test_every_size(accelerator_view, into):
    is_slow = accelerator_view.accelerator.device_path == "reference"
    for n in (1, 513, 1030) if is_slow else (1, 3, 511, 512, 513, 4095):
        check(accelerator_view, n, np.int32, functional.plus, sums, into)
    if is_slow:  # lavapipe compiles for seconds
        check(accelerator_view, 1030, np.float32, functional.plus, sums, into, in_place=True)
        check(accelerator_view, 1030, np.int32, functional.plus, lambda raw: sums(raw) + 7, into, init=7)
    else:
        check(accelerator_view, 40_001, np.uint32, last_set, latest, into, in_place=True)
        check(
            accelerator_view, 513, np.int32, functional.plus, lambda x: sums(x) - x + 7, into, inclusive=False, init=7
        )
    for words in scan_chained._words.get(accelerator_view, ()):
        assert not np.asarray(words).any(), "the last tile has cleared them"


@pytest.mark.parametrize("lanes", [1, 8, 64])
def test_subgroups_of_any_size(lanes, into):
    with amp.reference_subgroups(lanes):
        check(amp.accelerator("reference").default_view, 1030, np.int32, functional.plus, sums, into)


@pytest.mark.accelerators("llvmpipe", "reference")
@pytest.mark.parametrize("percent", [50, 100])
def test_totals_of_few_that_are_never_published(accelerator_view, monkeypatch, percent):
    """Tiles behind compute them, also when the results take the place of the input."""
    monkeypatch.setattr(scan_few, "publish", dropping(scan_few.publish, percent))
    # Another kernel for each: names of the package are read when a kernel is compiled.
    monkeypatch.setattr(scan_few, "TILE", {50: 32, 100: 96}[percent])
    n = 1030 if accelerator_view.accelerator.device_path == "reference" else 5003
    with forced("tiles"):
        check(accelerator_view, n, np.int32, last_set, latest, scan_few.scan_few_into)
        if percent == 50:
            check(accelerator_view, n, np.float32, functional.plus, sums, scan_few.scan_few_into)


def test_scans_of_few_that_follow_each_other():
    """Each launch clears the status of the next one, whatever their numbers of tiles are."""
    view = amp.accelerator("llvmpipe").default_view
    with forced("tiles"):
        for n in (2000, 1, 2000, 700, 300, 2000):
            check(view, n, np.int32, functional.plus, sums, scan_few.scan_few_into)


def test_what_the_library_chooses(monkeypatch):
    """A device that is taken for a GPU scans in one launch; many floats in a given order in blocks."""
    view = amp.accelerator("llvmpipe").default_view
    raw = np.random.default_rng(1).integers(0, 9, 3001).astype(np.float32)
    values = amp.array(raw, accelerator_view=view)
    chained = []
    into = scan_chained.chained_scan_into
    scan = importlib.import_module("vkamp.algorithms.scan")  # The function of the same name hides the module.
    monkeypatch.setattr(scan, "chained_scan_into", lambda *a, **k: chained.append(1) or into(*a, **k))
    monkeypatch.setattr(scan, "can_chain", lambda view, out: True)
    with alg._choose.forced("tiles"):
        np.testing.assert_array_equal(np.asarray(alg.scan(values, deterministic=True)), sums(raw))
        assert not chained
    monkeypatch.setattr(scan, "are_few", lambda n: False)
    with alg._choose.forced("tiles"):
        np.testing.assert_array_equal(np.asarray(alg.scan(values)), sums(raw))
        assert len(chained) == 1
        np.testing.assert_array_equal(np.asarray(alg.scan(values, deterministic=True)), sums(raw))
        assert len(chained) == 1
        np.testing.assert_array_equal(np.asarray(alg.scan(values, reverse=True)), sums(raw[::-1])[::-1])
        assert len(chained) == 2


@pytest.mark.parametrize("op", [functional.max, functional.min, last_set], ids=["max", "min", "last_set"])
def test_operators_over_many_tiles(accelerator_view, monkeypatch, op):
    """By ``scan`` with tiles as large as a GPU's are, many of which run at a time there."""
    monkeypatch.undo()
    n = 3_001 if accelerator_view.accelerator.device_path == "reference" else 1_500_001
    raw = np.random.default_rng(5).integers(-1 << 20, 1 << 20, n).astype(np.int32)
    raw[raw % 7 == 0] = 0
    expected = {functional.max: np.maximum.accumulate, functional.min: np.minimum.accumulate}.get(op, latest)(raw)
    for _ in range(3):
        found = alg.scan(amp.array(raw, accelerator_view=accelerator_view), op)
        np.testing.assert_array_equal(np.asarray(found), expected)


@amp.func
def look_by_maxima(t_idx, status, left, has, own, op, before, state):
    """As ``_look_at_many``, with largest numbers of a subgroup in place of ballots."""
    lane = amp.subgroup.lane()
    size = min(amp.subgroup.size(), math.prod(t_idx.tile_extent))
    looks = 0
    missing = 0
    while left > 0 and looks < 64:
        at = left - size + lane
        flag, value = carrying.published(status, max(at, 0), own)
        flag = flag if at >= 0 else amp.uint32(1)
        first = amp.subgroup.max(lane if flag == 2 else -1)
        empty = amp.subgroup.max(lane if flag == 0 and lane > first else -1)
        if empty < 0:
            start = max(first, 0)
            needed = amp.subgroup.shuffle(value, min(start + lane, size - 1))
            combined = amp.subgroup.broadcast(amp.subgroup.inclusive_scan(needed, op), size - 1 - start)
            own = op(combined, own) if has else combined
            has = True
            left = 0 if first >= 0 else left - size
            looks = 0
        else:
            missing = left - size + empty
            looks += 1
    if lane == 0:
        before[0] = own
        state[0] = left
        state[1] = missing
        state[2] = 1 if has else 0


@pytest.mark.sample("reference")
@pytest.mark.parametrize("op", [functional.max, last_set], ids=["max", "last_set"])
def test_maxima_of_a_subgroup_decide_when_a_loop_ends(accelerator_view, monkeypatch, op):
    """NVIDIA's driver gave wrong maxima in this kernel, with inputs that are loaded four elements at a time."""
    monkeypatch.setattr(carrying, "_look_at_many", look_by_maxima)
    n = 4096
    if accelerator_view.accelerator.device_path != "reference":
        monkeypatch.setattr(scan_chained, "TILE", 512)
        n = 1 << 20
    raw = (np.random.default_rng(5).integers(-1 << 20, 1 << 20, n) + np.arange(n) // 8).astype(np.int32)
    if op is last_set:
        raw[raw % 7 != 0] = 0
    source = lazy.of(amp.array(raw, accelerator_view=accelerator_view)).flat()
    out = amp.array(raw.shape, np.int32, accelerator_view=accelerator_view)
    expected = np.maximum.accumulate(raw) if op is functional.max else latest(raw)
    for _ in range(20 if n > 4096 else 1):
        scan_chained.chained_scan_into(
            accelerator_view, source, out, op, inclusive=True, init=np.int32(0), has_init=False
        )
        np.testing.assert_array_equal(np.asarray(out), expected)
