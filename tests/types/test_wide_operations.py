"""Subgroup functions and atomics of 64-bit types, in every form, and errors where a device lacks them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.from_text import defined
from tests.kernel_language.subgroups import TILE, N, expected_of, kernel_of, subgroups_of
from tests.types.programs import identical, in_every_form
from vkamp.ir.subgroups import SUBGROUPS

RANDOM = np.random.default_rng(22)
WIDE: dict[str, type] = {"int64": np.int64, "uint64": np.uint64, "float64": np.float64}
CASES = [
    (name, kind, operand)
    for name, row in SUBGROUPS.items()
    for kind in row.types
    if kind in WIDE
    for operand in row.samples[:2] or (0,)
]


@pytest.mark.parametrize(("name", "kind", "operand"), CASES, ids=[f"{n}-{k}-{o}" for n, k, o in CASES])
def test_functions_of_subgroups(typed, name, kind, operand):
    row = SUBGROUPS[name]
    low = 0 if kind == "uint64" else -7
    values: Any = RANDOM.integers(low, 9, N).astype(WIDE[kind])
    if row.name.endswith("mul"):
        values = np.where(values > 3, 2, 1).astype(WIDE[kind])
    else:
        # Both words count; in double precision, what float32 would lose.
        values = values * WIDE[kind](2**33 + 1)
    groups, size = subgroups_of(typed)
    expected = expected_of(row, kind, values, operand, groups, size)
    out = amp.array_view(np.zeros((1, N), WIDE[kind]))
    launched = (amp.extent(N).tile(TILE), kernel_of(row, kind, str(operand)), amp.array_view(values), out)
    if np.isnan(expected).any() and typed.accelerator.device_path == "reference":
        with pytest.raises(amp.CheckError, match=f"amp.subgroup.{name} reads the value of lane"):
            amp.parallel_for_each(typed, *launched)
        return
    amp.parallel_for_each(typed, *launched)
    there = ~np.isnan(expected[0])
    np.testing.assert_array_equal(np.asarray(out)[0][there].astype(np.float64), expected[0][there])


@amp.kernel
def sums(t, a, out):
    total = amp.subgroup.add(a[t])
    largest = amp.subgroup.max(a[t])
    out[0, t.global_[0]] = total
    out[1, t.global_[0]] = largest


@pytest.mark.parametrize("kind", WIDE.values())
def test_subgroups_in_every_form(typed, kind):
    a = RANDOM.integers(0, 2**40, 64).astype(kind)
    found = in_every_form(typed, amp.extent(64).tile(16), sums, a, np.zeros((2, 64), kind))[-1]
    size = subgroups_of(typed)[1]
    for start in range(0, 64, min(size, 16)):
        part = a[start : start + min(size, 16)]
        identical(found[0, start : start + len(part)], np.full(len(part), part.sum()))
        identical(found[1, start : start + len(part)], np.full(len(part), part.max()))


@amp.kernel
def updates(t, a, cells, olds):
    shared = amp.tile_static(4, amp.uint64)
    if t.local[0] < 4:
        shared[t.local[0]] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(cells[0], a[t])
    amp.atomic_fetch_sub(cells[1], a[t])
    amp.atomic_fetch_min(cells[2], a[t])
    amp.atomic_fetch_max(cells[3], a[t])
    amp.atomic_fetch_and(cells[4], a[t])
    amp.atomic_fetch_or(cells[5], a[t])
    amp.atomic_fetch_xor(cells[6], a[t])
    amp.atomic_fetch_inc(cells[7])
    amp.atomic_fetch_dec(cells[8])
    expected = a[t]
    if amp.atomic_compare_exchange(cells[9 + t.global_[0]], expected, -a[t]):
        olds[t] = amp.atomic_exchange(cells[9 + t.global_[0]], 5)
    amp.atomic_fetch_add(shared[t.local[0] % 4], amp.uint64(a[t]))
    t.barrier.wait()
    if t.local[0] < 4:
        amp.atomic_fetch_add(cells[73 + t.local[0]], amp.int64(shared[t.local[0]]))


def test_atomics(typed):
    a = RANDOM.integers(-(2**62), 2**62, 64)
    cells = np.zeros(77, np.int64)
    cells[2], cells[3], cells[4] = 2**63 - 1, -(2**63), -1
    cells[9:73:2] = a[::2]
    found, olds = in_every_form(typed, amp.extent(64).tile(16), updates, a, cells, np.zeros(64, np.int64))[1:]
    with np.errstate(over="ignore"):
        total = a.sum()
        quarters = [a[k::4].sum() for k in range(4)]
        first = [
            total, -total, a.min(), a.max(), np.bitwise_and.reduce(a), np.bitwise_or.reduce(a),
            np.bitwise_xor.reduce(a), 64, -64,
        ]  # fmt: skip
    assert found[:9].tolist() == [int(v) for v in first]
    swapped = cells[9:73] == a
    identical(found[9:73], np.where(swapped, 5, cells[9:73]))
    identical(olds, np.where(swapped, -a, 0))
    assert found[73:].tolist() == quarters


def test_atomics_of_unsigned_integers_wrap(typed):
    @amp.kernel
    def down(i, cells):
        amp.atomic_fetch_dec(cells[0])
        amp.atomic_fetch_sub(cells[1], cells[2])
        amp.atomic_fetch_max(cells[3], 2**63 + 5)
        amp.atomic_fetch_inc(cells[4])

    cells = np.array([1, 2**40, 2**62, 2**63, 2**64 - 2], np.uint64)
    (found,) = in_every_form(typed, amp.extent(3), down, cells)
    assert found.tolist() == [2**64 - 2, (2**40 - 3 * 2**62) % 2**64, 2**62, 2**63 + 5, 1]


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize(
    ("name", "feature", "vulkan"),
    [
        ("add", "subgroup_extended_types", "shaderSubgroupExtendedTypes"),
        ("buffer", "int64_atomics", "shaderBufferInt64Atomics"),
        ("shared", "shared_int64_atomics", "shaderSharedInt64Atomics"),
    ],
)
def test_devices_without_them(accelerator, monkeypatch, name, feature, vulkan):
    lines = {
        "add": "    a[t] = amp.subgroup.add(a[t])\n",
        "buffer": "    amp.atomic_fetch_add(a[0], 1)\n",
        "shared": "    s = amp.tile_static(1, amp.int64)\n    amp.atomic_exchange(s[0], 1)\n",
    }
    kernel = defined(f"def k(t, a):\n{lines[name]}")
    view = amp.accelerator("llvmpipe@vulkan").default_view
    info = view._info
    monkeypatch.setattr(type(info), "usable_features", property(lambda self: self.features - {feature}))
    message = f"VKA304: `.*` of int64 needs the device feature {vulkan}, which llvmpipe .* lacks"
    with pytest.raises(amp.UnsupportedFeatureError, match=message):
        amp.parallel_for_each(view, amp.extent(8).tile(4), kernel, amp.array_view(np.zeros(8, np.int64)))
