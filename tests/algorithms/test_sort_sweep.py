"""Radix sorts whose tiles wait for each other, which the library chooses on GPUs alone."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import forced
from vkamp import algorithms as alg
from vkamp.algorithms import radix_sort_counts, radix_sort_sweep
from vkamp.dispatch import launch_cache, preparing
from vkamp.run.vulkan.pipelines import Pipelines


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of two subgroups with two elements for each thread, three with values."""
    monkeypatch.setattr(radix_sort_sweep, "_SUBGROUPS", 2)
    monkeypatch.setattr(radix_sort_sweep, "_ITEMS", 2)
    monkeypatch.setattr(radix_sort_sweep, "_PAIRS", 3)
    monkeypatch.setattr(radix_sort_counts, "_ALL", 2048)
    monkeypatch.setattr(radix_sort_counts, "_COUNTERS", 64)
    monkeypatch.setattr(radix_sort_sweep, "can_sweep", lambda view, n: True)
    with forced("tiles"):
        yield


def check(view, n, dtype=np.int32, **options):
    raw = np.random.default_rng(n).integers(-50, 50, n).astype(dtype)
    order = np.argsort(raw, kind="stable")
    keys, moved = alg.sort_by_key(amp.array(raw, accelerator_view=view), np.arange(n, dtype=np.int32), **options)
    np.testing.assert_array_equal(np.asarray(keys), raw[order])
    np.testing.assert_array_equal(np.asarray(moved), order)


@pytest.mark.accelerators("llvmpipe")
def test_every_size(accelerator_view):
    """Less than a tile, a tile, one element more, and as many tiles as have to look back over others."""
    for n in (2, 31, 32, 33, 65, 4099, 40_001):
        check(accelerator_view, n)
    # One pass and two.
    check(accelerator_view, 300, np.int8)
    check(accelerator_view, 300, np.int16)
    raw = np.random.default_rng(1).integers(-(1 << 62), 1 << 62, 3000)
    keys = amp.array(raw, accelerator_view=accelerator_view)
    assert alg.sort(keys, out=keys, descending=True) is keys
    np.testing.assert_array_equal(np.asarray(keys), np.sort(raw)[::-1])


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("name", ["sort", "argsort", "sort_by_key", "segmented_sort"])
def test_all_passes_have_one_kernel(accelerator_view, monkeypatch, name):
    """Also where the first pass reads numpy's memory, which kernels do not write, and where segments sort again."""
    monkeypatch.setattr(preparing, "_cache", OrderedDict())
    # Every launch is prepared, whatever other tests have launched.
    monkeypatch.setattr(launch_cache, "repeat", lambda *_: False)
    monkeypatch.setattr(launch_cache, "launch_alike", lambda *_: False)
    raw = np.random.default_rng(2).integers(-(1 << 31), 1 << 31, 4099).astype(np.int32)
    order = np.argsort(raw, kind="stable")
    keys = amp.array(raw, accelerator_view=accelerator_view)
    if name == "segmented_sort":
        found = alg.segmented_sort(raw, [0, 1000, 1000, 4099], accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(found), np.r_[np.sort(raw[:1000]), np.sort(raw[1000:])])
    elif name == "sort_by_key":
        positions = amp.array(np.arange(4099, dtype=np.int32), accelerator_view=accelerator_view)
        sorted_keys, found = alg.sort_by_key(keys, positions)
        np.testing.assert_array_equal(np.asarray(sorted_keys), raw[order])
    else:
        found = getattr(alg, name)(raw if name == "argsort" else keys, accelerator_view=accelerator_view)
    if name != "segmented_sort":
        np.testing.assert_array_equal(np.asarray(found), raw[order] if name == "sort" else order)
    compiled = [programs.compiled.name for kept in preparing._cache.values() for programs in kept]
    assert compiled.count("sweep") == 1


@pytest.mark.accelerators("llvmpipe")
def test_few_elements_have_more_tiles(accelerator_view, monkeypatch):
    monkeypatch.setattr(radix_sort_sweep, "_FEW", 1)
    units, threads = (
        accelerator_view.accelerator.limits.compute_units,
        2 * accelerator_view.accelerator.limits.subgroup_size,
    )
    most = 2 * units * threads
    for n, items in ((most, (1, 1)), (most + 1, (2, 3))):
        shapes = [radix_sort_sweep._shape_of(accelerator_view, n, 4, has_values) for has_values in (False, True)]
        assert shapes == [(threads, each) for each in items]
        check(accelerator_view, n)


@pytest.mark.parametrize("lanes", [8, 64])
def test_subgroups_of_any_size(lanes):
    with amp.reference_subgroups(lanes):
        check(amp.accelerator("reference").default_view, 300)


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("percent", [20, 100])
def test_counts_that_are_never_published(accelerator_view, monkeypatch, percent):
    """Tiles behind count again; a tile that waited for ever would hang the test."""
    # Another kernel than that of other tests: names of the package are read when a kernel is compiled.
    monkeypatch.setattr(radix_sort_sweep, "_PAIRS", 1 if percent == 100 else 2)
    publish = radix_sort_sweep.publish

    @amp.func
    def dropping(status, at, word):
        if ((amp.uint32(at) + 1) * 2654435761 >> 8) % 100 >= percent:
            publish(status, at, word)

    monkeypatch.setattr(radix_sort_sweep, "publish", dropping)
    monkeypatch.setattr(radix_sort_sweep, "LOOKS", 8)
    check(accelerator_view, 3001)


@pytest.mark.accelerators("llvmpipe")
def test_the_longest_program_is_made_first(accelerator_view, monkeypatch):
    monkeypatch.setattr(radix_sort_sweep, "_ITEMS", 5)  # a kernel that no other test has
    monkeypatch.setattr(radix_sort_sweep.sweep, "plans", {})
    begun = []
    start = Pipelines.start

    def noted(pipelines, program):
        begun.append(program.name)
        start(pipelines, program)

    monkeypatch.setattr(Pipelines, "start", noted)
    raw = np.random.default_rng(3).integers(0, 1 << 32, 4099).astype(np.uint32)
    found = alg.sort(amp.array(raw, accelerator_view=accelerator_view))
    np.testing.assert_array_equal(np.asarray(found), np.sort(raw))
    assert begun[0] == "sweep"
    assert begun.count("sweep") == 1
