"""Reductions and scans of subgroups by shuffles, for drivers whose own ones are wrong."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp.dispatch import targets
from vkamp.run.workarounds import quirks_of


@pytest.fixture
def by_shuffles(monkeypatch):
    """Devices with the faults."""
    faults = {"integer_reductions", "nan_extremes"}
    monkeypatch.setattr(targets, "quirks_of", lambda info: quirks_of(info) | faults)


@amp.kernel
def integers(t_idx, a, out):
    x = a[t_idx]
    out[t_idx, 0] = amp.subgroup.max(x)
    out[t_idx, 1] = amp.subgroup.min(x if x > 0 else x + 5)
    out[t_idx, 2] = amp.subgroup.add(x)
    out[t_idx, 3] = amp.subgroup.bitwise_and(x)
    out[t_idx, 4] = amp.subgroup.bitwise_or(x & 85)
    out[t_idx, 5] = amp.subgroup.bitwise_xor(x)
    out[t_idx, 6] = amp.subgroup.inclusive_max(x)


@amp.kernel
def floats(t_idx, a, out):
    x = a[t_idx]
    out[t_idx, 0] = amp.subgroup.max(x)
    out[t_idx, 1] = amp.subgroup.min(x)
    out[t_idx, 2] = amp.subgroup.inclusive_max(x)
    out[t_idx, 3] = amp.subgroup.inclusive_min(x)
    out[t_idx, 4] = amp.subgroup.exclusive_max(x)
    out[t_idx, 5] = amp.subgroup.exclusive_min(x)


def run(view, work, raw, columns, tile):
    """The results, and the threads of each subgroup; the last one of a tile may have fewer threads than lanes."""
    out = amp.array_view(np.zeros((raw.size, columns), raw.dtype))
    amp.parallel_for_each(view, amp.extent(raw.size).tile(tile), work, amp.array_view(raw), out)
    lanes = view.accelerator.limits.subgroup_size
    groups = [
        slice(t + k, min(t + k + lanes, t + tile)) for t in range(0, raw.size, tile) for k in range(0, tile, lanes)
    ]
    return np.asarray(out), groups


@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("tile", [64, 21])
def test_integers(accelerator_view, by_shuffles, dtype, tile):
    raw = np.random.default_rng(3).integers(-9, 9, 6 * tile).astype(dtype)
    raw[[1, 40, 77]] = np.array([-(2**31), 2**31 - 1, -1]).astype(dtype)
    found, groups = run(accelerator_view, integers, raw, 7, tile)
    for each in groups:
        x = raw[each]
        moved = (
            np.where(x.view(np.int32) > 0, x, x + dtype(5)) if dtype is np.int32 else np.where(x > 0, x, x + dtype(5))
        )
        wanted = (
            x.max(), moved.min(), x.sum(dtype=dtype), np.bitwise_and.reduce(x), np.bitwise_or.reduce(x & dtype(85)),
            np.bitwise_xor.reduce(x), np.maximum.accumulate(x),
        )  # fmt: skip
        for k, numbers in enumerate(wanted):
            np.testing.assert_array_equal(found[each, k], np.broadcast_to(numbers, x.shape), f"column {k}")


@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.parametrize("tile", [64, 21])
def test_a_number_wins_over_nan(accelerator_view, by_shuffles, tile):
    r = np.random.default_rng(4)
    raw = r.standard_normal(8 * tile).astype(np.float32)
    raw[r.random(raw.size) < 0.5] = np.nan
    raw[r.random(raw.size) < 0.1] = -np.inf
    raw[:16] = np.nan
    found, groups = run(accelerator_view, floats, raw, 6, tile)
    for each in groups:
        x = raw[each]
        up, down = np.fmax.accumulate(x), np.fmin.accumulate(x)
        before = [np.concatenate([[start], y[:-1]]) for start, y in ((-np.inf, up), (np.inf, down))]
        for k, numbers in enumerate((up[-1], down[-1], up, down, *before)):
            np.testing.assert_array_equal(found[each, k], np.broadcast_to(numbers, x.shape), f"column {k}")


@pytest.mark.accelerators("llvmpipe")
def test_the_shader(accelerator_view, by_shuffles):
    """Sums of floats and scans of integers are the driver's."""

    @amp.kernel
    def work(t_idx, a, b):
        a[t_idx] = amp.subgroup.max(a[t_idx]) + amp.subgroup.inclusive_add(a[t_idx])
        b[t_idx] = amp.subgroup.add(b[t_idx])

    containers = amp.array_view(np.zeros(64, np.int32)), amp.array_view(np.zeros(64, np.float32))
    glsl = work.inspect(accelerator_view, amp.extent(64).tile(64), *containers).glsl
    assert (
        """\
// The largest of the subgroup's values.
// By shuffles, since subgroupMax is wrong on NVIDIA in kernels with loops and shuffles.
int shuffled_max(int value) {
    for (uint distance = 1u; distance < gl_SubgroupSize; distance *= 2u) {
        int before = subgroupShuffleUp(value, distance);
        if (gl_SubgroupInvocationID >= distance) {
            value = max(value, before);
        }
    }
    return subgroupShuffle(value, subgroupBallotFindMSB(subgroupBallot(true)));
}
"""
        in glsl
    )
    assert "subgroupInclusiveAdd(a[" in glsl and "subgroupAdd(b[" in glsl
    assert "subgroupMax(" not in glsl
