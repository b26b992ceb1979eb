"""Extremes of subgroups of int32, which NVIDIA's driver computes wrongly in some kernels, are those of uint32."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp.dispatch import targets
from vkamp.run.workarounds import quirks_of


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_extremes_by_unsigned_numbers(accelerator_view, monkeypatch):
    monkeypatch.setattr(targets, "quirks_of", lambda info: quirks_of(info) | {"signed_extremes"})

    @amp.kernel
    def extremes(t_idx, a, out):
        x = a[t_idx]
        out[t_idx, 0] = amp.subgroup.max(x)
        out[t_idx, 1] = amp.subgroup.min(x if x > 0 else -x)
        out[t_idx, 2] = amp.subgroup.inclusive_max(x)
        out[t_idx, 3] = amp.subgroup.exclusive_min(x)

    raw = np.random.default_rng(3).integers(-5, 5, 128).astype(np.int32)
    raw[[1, 40, 77]] = -(2**31), 2**31 - 1, -1
    out = amp.array_view(np.zeros((128, 4), np.int32))
    domain = amp.extent(128).tile(64)
    amp.parallel_for_each(accelerator_view, domain, extremes, amp.array_view(raw), out)
    lanes = raw.reshape(-1, accelerator_view.accelerator.limits.subgroup_size)
    magnitudes = np.where(lanes > 0, lanes, -lanes)
    before = np.minimum.accumulate(lanes, 1)
    expected = (
        np.broadcast_to(lanes.max(1, keepdims=True), lanes.shape),
        np.broadcast_to(magnitudes.min(1, keepdims=True), lanes.shape),
        np.maximum.accumulate(lanes, 1),
        np.concatenate([np.full((len(lanes), 1), 2**31 - 1, np.int32), before[:, :-1]], 1),
    )
    np.testing.assert_array_equal(np.asarray(out), np.stack(expected, -1).reshape(128, 4))
    glsl = extremes.inspect(accelerator_view, domain, amp.array_view(raw), out).glsl
    assert "int(subgroupMax(uint(x) ^ 0x80000000u) ^ 0x80000000u)" in glsl
    assert "int(subgroupExclusiveMin(uint(x) ^ 0x80000000u) ^ 0x80000000u)" in glsl


@pytest.mark.accelerators("llvmpipe")
def test_other_types_and_devices_keep_their_functions(accelerator_view, monkeypatch):
    @amp.kernel
    def largest(t_idx, a, b):
        a[t_idx] = amp.subgroup.max(a[t_idx])
        b[t_idx] = amp.subgroup.min(b[t_idx])

    containers = amp.array_view(np.zeros(64, np.int32)), amp.array_view(np.zeros(64, np.float32))
    domain = amp.extent(64).tile(64)
    assert "0x80000000u" not in largest.inspect(accelerator_view, domain, *containers).glsl
    monkeypatch.setattr(targets, "quirks_of", lambda info: quirks_of(info) | {"signed_extremes"})
    glsl = largest.inspect(accelerator_view, domain, *containers).glsl
    assert "int(subgroupMax(uint(" in glsl and "subgroupMin(b[" in glsl
