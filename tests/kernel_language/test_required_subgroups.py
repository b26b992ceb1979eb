"""``@amp.kernel(subgroup=...)``: full subgroups of a size that the kernel requires."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32


@amp.func
def facts(t_idx, out):
    """In memory that is as large as the subgroup, which has to be a constant for that."""
    lanes = amp.private(amp.subgroup.size(), np.int32)
    for lane in amp.static_range(amp.subgroup.size()):
        lanes[lane] = amp.subgroup.broadcast(t_idx[0], lane)
    sums = amp.tile_static(amp.subgroup.count(), np.int32)
    if amp.subgroup.elect():
        sums[amp.subgroup.id()] = amp.subgroup.id() + 1
    t_idx.barrier.wait()
    total = 0
    for k in range(amp.subgroup.count()):
        total += sums[k]
    out[0, t_idx[0]] = lanes[amp.subgroup.lane()]
    out[1, t_idx[0]] = total
    out[2, t_idx[0]] = amp.target.subgroup_size * 1000 + amp.subgroup.size()
    out[3, t_idx[0]] = amp.subgroup.reduce(1, lambda a, b: a + b)


def kernel_for(lanes: int) -> Any:
    @amp.kernel(subgroup=lanes)
    def program(t_idx, out):
        facts(t_idx, out)

    return program


def run(view: amp.accelerator_view, lanes: int) -> None:
    out = amp.array_view(np.zeros((4, 2 * 4 * lanes), I32))
    amp.parallel_for_each(view, amp.extent(2 * 4 * lanes).tile(4 * lanes), kernel_for(lanes), out)
    got = np.asarray(out)
    np.testing.assert_array_equal(got[0], np.arange(8 * lanes))
    np.testing.assert_array_equal(got[1:], np.broadcast_to([[10], [1001 * lanes], [lanes]], (3, 8 * lanes)))


@pytest.mark.parametrize("name", ["swiftshader@vulkan", "llvmpipe@vulkan"])
def test_drivers(name: str):
    device = amp.accelerator(name)
    assert device.limits is not None
    assert device.limits.subgroup_sizes
    for lanes in device.limits.subgroup_sizes:
        run(device.default_view, lanes)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32, 64, 128])
def test_the_reference_accelerator(lanes: int):
    with amp.reference_subgroups(16):
        run(amp.accelerator("reference").default_view, lanes)


def test_check_mode():
    device = amp.accelerator("llvmpipe@vulkan")
    out = amp.array_view(np.zeros((4, 64), I32))
    report = amp.check(device.default_view, amp.extent(64).tile(32), kernel_for(8), out)
    assert report.ok, report


def test_a_graph():
    view = amp.accelerator("swiftshader@vulkan").default_view
    out = amp.array(amp.extent(4, 16), I32, accelerator_view=view)
    with amp.capture() as graph:
        amp.parallel_for_each(amp.extent(16).tile(8), kernel_for(4), out)
    graph.replay()
    assert np.asarray(out)[3].tolist() == [4] * 16


@amp.kernel(subgroup=8)
def plain(t_idx, out):
    """It calls no function of subgroups."""
    shared = amp.tile_static((4, 8), np.int32)
    shared[t_idx.local[0], t_idx.local[1]] = t_idx.local[1]
    t_idx.barrier.wait()
    out[t_idx] = shared[3 - t_idx.local[0], 7 - t_idx.local[1]]


def test_without_functions_of_subgroups():
    device = amp.accelerator("llvmpipe@vulkan")
    out = amp.array_view(np.zeros((8, 16), I32))
    amp.parallel_for_each(device.default_view, out.extent.tile(4, 8), plain, out)
    np.testing.assert_array_equal(np.asarray(out), np.broadcast_to(7 - np.arange(16) % 8, (8, 16)))
    found = plain.inspect(device.default_view, out.extent.tile(4, 8), out)
    assert found.lowering == "loops"
    assert found.local_size == (8, 1, 1)
    assert "full subgroups of 8" in found.glsl
    assert "full subgroups of 8" in found.ir


@amp.kernel(subgroup=8)
def small(t_idx, out):
    out[t_idx] = amp.subgroup.add(1)


@pytest.mark.parametrize(
    ("name", "domain", "error", "words"),
    [
        (
            "llvmpipe@kompute",
            amp.extent(16).tile(16),
            amp.UnsupportedFeatureError,
            "the engine 'kompute' cannot require them",
        ),
        ("swiftshader@vulkan", amp.extent(16).tile(16), amp.UnsupportedFeatureError, "has subgroups of 4"),
        ("llvmpipe@vulkan", amp.extent(45).tile(45), amp.InvalidComputeDomainError, "make that a multiple of 8"),
        ("reference", amp.extent(45).tile(9), amp.InvalidComputeDomainError, "a tile has 9 threads"),
        ("llvmpipe@vulkan", amp.extent(16), amp.InvalidComputeDomainError, "over a tiled domain"),
        ("llvmpipe@vulkan", amp.extent(512).tile(512), amp.InvalidComputeDomainError, "at most 32 of them in a tile"),
    ],
)
def test_refused(name: str, domain: Any, error: type[Exception], words: str):
    device = amp.accelerator(name)
    with pytest.raises(error, match=words):
        amp.parallel_for_each(device.default_view, domain, small, amp.array_view(np.zeros(512, I32)))


@pytest.mark.parametrize("lanes", [0, 3, 256, "32", True])
def test_sizes(lanes: Any):
    with pytest.raises(ValueError, match="a subgroup must have one of 1, 2, 4, 8, 16, 32, 64, 128 lanes"):
        amp.kernel(subgroup=lanes)
