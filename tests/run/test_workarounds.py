"""The table of workarounds: each row's program is right with it, and wrong without it where the row says so."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import vkamp as amp
from tests.spirv.paths import visits
from vkamp.artifacts import Quirk
from vkamp.run import workarounds
from vkamp.run.workarounds import WORKAROUNDS, quirks_of
from vkamp.spirv.blocks import Op, parse

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = np.array([0, 1, 16777217, 123456789, 2**31 - 1, -5], np.int32)


def run(view, kernel, source, out, tile=None, *rest):
    """What a kernel stores; the source is read, and each launch is compiled anew."""
    made = amp.array_view(out)
    domain = made.extent if tile is None else made.extent.tile(tile)
    amp.parallel_for_each(view, domain, kernel, amp.array_view(source), made, *rest)
    return np.asarray(made)


def unsigned_to_float(view):
    @amp.kernel(precise=True)
    def convert(i, values, out):
        out[i] = amp.float32(values[i])

    values = np.random.default_rng(1).integers(0, 2**32, 1000, dtype=np.uint32)
    values[:4] = 4082210491, 2**31, 2**31 - 1, 2**32 - 1
    return np.array_equal(run(view, convert, values, np.zeros(1000, np.float32)), values.astype(np.float32))


def widened_comparisons(view):
    @amp.kernel
    def compare(i, values, out):
        out[i] = 1 if amp.int64(values[i]) < 255 else 0

    return np.array_equal(run(view, compare, NUMBERS, np.zeros(6, np.int32)), NUMBERS < 255)


def halved_magnitudes(view):
    @amp.kernel
    def halve(i, values, out):
        out[i] = abs(abs(values[i]) >> 1)

    values = np.array([-(2**31), 1 - 2**31, -7, 0, 7, 2**31 - 1], np.int32)
    found = run(view, halve, values, np.zeros(6, np.int32))
    return np.array_equal(found, [2**30, 2**30 - 1, 3, 0, 3, 2**30 - 1])


def float_round_trips(view):
    @amp.kernel(precise=True)
    def there_and_back(i, values, out):
        out[i] = amp.int32(amp.float32(values[i]))

    values = NUMBERS[NUMBERS < 2**30]
    found = run(view, there_and_back, values, np.zeros(values.size, np.int32))
    return np.array_equal(found, values.astype(np.float32).astype(np.int32))


def zero_constants(view):
    @amp.kernel(precise=True)
    def zeros(i, values, out):
        x = values[i[0]]
        out[0, i[0]] = x + 0.0
        out[1, i[0]] = 0.0 - x
        out[2, i[0]] = x * 0.0
        zero = 0.0
        out[3, i[0]] = x * -zero

    x = np.array([-0.0, 0.0, -1.5, 2.0, np.inf, np.nan], np.float32)
    out = amp.array_view(np.zeros((4, 6), np.float32))
    amp.parallel_for_each(view, amp.extent(6), zeros, amp.array_view(x), out)
    with np.errstate(invalid="ignore"):
        right = np.float32([x + 0.0, 0.0 - x, x * 0.0, x * -0.0])
    found = np.asarray(out)
    return (
        np.array_equal(found, right, equal_nan=True)
        and (np.signbit(found) == np.signbit(right))[~np.isnan(right)].all()
    )


def absent_lanes(view):
    @amp.kernel(lowering="threads")
    def wait(t, flags, out):
        w = 0
        while flags[t.tile[0]] == 0 and w < 1:
            w += 1
            t.barrier.wait()
        out[t] = 5

    return (run(view, wait, np.int32([7, 7]), np.zeros(24, np.int32), 12) == 5).all()


def fences_wait(view):
    @amp.kernel(lowering="threads")
    def publish(t, missing, words):
        if t.local[0] == 0 and t.local[1] == 0:
            for k in range(100):
                words[k] = 1
                amp.all_memory_fence(t.barrier)
        t.barrier.wait()
        if t.local[0] == 1 and t.local[1] == 0:
            for k in range(100):
                missing[0] += 1 - words[k]

    missing, words = amp.array_view(np.zeros(1, np.int32)), amp.array_view(np.zeros(100, np.int32))
    amp.parallel_for_each(view, amp.extent(2, 8).tile(2, 8), publish, missing, words)
    return missing[0] == 0


def ends_loops(view):
    @amp.kernel
    def count(t, lengths, out, n):
        rounds = 0
        for _ in range(n):
            for _ in range(n):
                rounds += lengths[(rounds + t.local[0]) & 1]
        shared = amp.tile_static(256, amp.int32)
        shared[t.local] = rounds
        t.barrier.wait()
        out[t] = shared[255 - t.local[0]]

    # Each thread stays within the limit, and as loops of a few lanes they would not.
    return (run(view, count, np.int32([1, 1]), np.zeros(256, np.int32), 256, 60) == 3600).all()


def broadcast_floats(view):
    @amp.kernel
    def first_of_floats(t, out, g):
        half = amp.float32(((g % 3) & 7) + 1) * 0.5
        out[t] = amp.int32(amp.subgroup.broadcast_first(half) * 64)

    out = amp.array_view(np.zeros(12, np.int32))
    domain, args = out.extent.tile(4), (out, np.uint32(5))
    info = view.accelerator._info
    if (
        "llvmpipe" in info.name.lower()
        and "subgroupBroadcastFirst" in first_of_floats.inspect(view, domain, *args).glsl
    ):
        return False  # The driver would end the process.
    amp.parallel_for_each(view, domain, first_of_floats, *args)
    return np.array_equal(np.asarray(out), np.full(12, 96))


def counted_paths(view):
    @amp.kernel
    def choose(i, values, out):
        x = values[i]
        for k in range(values[0]):
            for j in amp.static_range(30):
                if x > k * j:
                    out[x] = j
                else:
                    out[x + 1] = k
                x = (x + out[j]) & 7
        out[i] = x

    values, out = amp.array_view(np.arange(20, dtype=np.int32)), amp.array_view(np.zeros(40, np.int32))
    if "swiftshader" not in view.accelerator.description.lower():
        return True
    module = parse(choose.inspect(view, values.extent, values, out).spirv)
    return max(visits(function) for function in module.functions) < 10**5


def unchecked_bounds(view):
    @amp.kernel
    def store(i, out, at):
        out[i + at] = 1

    @amp.kernel
    def add(i, out, at):
        amp.atomic_fetch_add(out[i + at], 1)
        out[i] = 5

    return lengths_asked(view, store) == lengths_asked(view, add) == 1


def lengths_asked(view, kernel):
    """The lengths of buffers that a shader for SwiftShader queries: without them the driver would crash the process."""
    if "swiftshader" not in view.accelerator.description.lower():
        return 1
    out = amp.array_view(np.zeros(16, np.int32))
    module = parse(kernel.inspect(view, out.extent, out, 10**6).spirv)
    if not (found := sum(e.op == Op.ARRAY_LENGTH for f in module.functions for b in f.blocks for e in b.body)):
        return 0
    amp.parallel_for_each(view, out.extent, kernel, out, 10**6)
    np.asarray(out)
    return found


def merged_branches(view):
    @amp.kernel
    def reverse(t, values, out, n):
        memory = amp.tile_static(4, amp.int32)
        if t.global_[0] < n:
            memory[t.local] = values[t]
        else:
            memory[t.local] = 0
        t.barrier.wait()
        out[t] = memory[3 - t.local[0]] if t.global_[0] < n else -1

    values = np.arange(100, 112, dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VKAMP_LOWERING", "loops")
        found = run(view, reverse, values, np.zeros(12, np.int32), (4,), 10)
    return found.tolist() == [103, 102, 101, 100, 107, 106, 105, 104, 0, 0, -1, -1]


def early_exits(view):
    @amp.kernel
    def leaves(i, _unused, out):
        total = 1
        y = 1
        while y > 0:
            y -= 2
            if y == 1:
                break
            total += 2
        z = 1
        while z < 9:
            z += 3
            if z < 2:
                total += 100
                break
            total += 10
        out[i] = total

    return run(view, leaves, np.zeros(5, np.int32), np.zeros(5, np.int32)).tolist() == 5 * [33]


def endless_loops(view):
    @amp.func
    def first_of(numbers, at, least):
        while True:
            number = numbers[at]
            if number >= least:
                return number
            at += 1

    @amp.kernel
    def ends(i, numbers, out):
        at = i[0]
        total = 0
        while True:
            number = numbers[at]
            total += number
            at += 1
            if number > 8:
                break
        while (following := numbers[at]) < 3:
            at += 1
        out[i] = total * 100 + following * 10 + first_of(numbers, i[0], 7)

    numbers = np.array([1, 2, 9, 1, 9, 2, 1, 5, 8, 9, 3, 9], np.int32)

    def end(at):
        last = next(n for n in range(at, 12) if numbers[n] > 8)
        following = next(n for n in numbers[last + 1 :] if n >= 3)
        first = next(n for n in numbers[at:] if n >= 7)
        return sum(numbers[at : last + 1]) * 100 + following * 10 + first

    return run(view, ends, numbers, np.zeros(9, np.int32)).tolist() == [end(at) for at in range(9)]


def loops_in_a_row(view):
    @amp.kernel
    def sums(i, lengths, out):
        total = 0
        for n in amp.static_range(23):
            kept = n
            for k in range(lengths[i] % (n + 2)):
                total += k * kept
                if total > 700:
                    break
            if total > 900:
                out[i] = -total
                return
        out[i] = total

    def total_of(length):
        total = 0
        for n in range(23):
            for k in range(length % (n + 2)):
                total += k * n
                if total > 700:
                    break
            if total > 900:
                return -total
        return total

    lengths = np.arange(37, dtype=np.int32)
    right = np.array_equal(run(view, sums, lengths, np.zeros(37, np.int32)), [*map(total_of, range(37))])
    containers = amp.array_view(lengths), amp.array_view(lengths.copy())
    glsl = sums.inspect(view, containers[0].extent, *containers).glsl
    in_a_row = len(re.findall(r"^    (for|while) ", glsl, re.MULTILINE))
    return right and (in_a_row <= 5 or "llvmpipe" not in view.accelerator.description.lower())


@amp.kernel
def exchange(t_idx, a):
    i = t_idx.global_[0]
    x = a[i]
    x = 3 * x + amp.subgroup.shuffle_xor(x, 1)
    x = 3 * x + amp.subgroup.shuffle_xor(x, 2)
    x = 3 * x + amp.subgroup.shuffle_xor(x, 3)
    a[i] = x


def slow_exchanges(view):
    """Lanes exchange values by swaps of quads, with the same results as by shuffles."""
    numbers = np.arange(64, dtype=np.int32)
    expected = numbers.copy()
    for distance in (1, 2, 3):
        expected = 3 * expected + expected[np.arange(64) ^ distance]
    values = amp.array_view(numbers)
    domain = amp.extent(64).tile(64)
    amp.parallel_for_each(view, domain, exchange, values)
    glsl = exchange.inspect(view, domain, values).glsl
    has_swaps = all(f"subgroupQuadSwap{way}(" in glsl for way in ("Horizontal", "Vertical", "Diagonal"))
    is_slow = "swiftshader" in view.accelerator.description.lower()
    return np.array_equal(np.asarray(values), expected) and has_swaps == is_slow


PROGRAMS = {
    program.__name__: program
    for program in (
        absent_lanes,
        broadcast_floats,
        counted_paths,
        early_exits,
        endless_loops,
        ends_loops,
        fences_wait,
        float_round_trips,
        halved_magnitudes,
        loops_in_a_row,
        merged_branches,
        slow_exchanges,
        unchecked_bounds,
        unsigned_to_float,
        widened_comparisons,
        zero_constants,
    )
}


def test_every_row_has_its_program():
    assert sorted(PROGRAMS) == sorted(row.name for row in WORKAROUNDS if not row.test)
    assert all((ROOT / row.test).is_file() for row in WORKAROUNDS if row.test)


def test_the_compiler_asks_for_no_other_fault():
    assert set(get_args(Quirk)) <= {row.name for row in WORKAROUNDS}
    assert len({row.name for row in WORKAROUNDS}) == len(WORKAROUNDS)


def can_run(view, name):
    """64-bit integers are there by one engine on one of the drivers."""
    if name != "widened_comparisons":
        return view
    accelerator = view.accelerator
    if "int64" in accelerator._info.usable_features:
        return view
    other = f"{accelerator.description}@vulkan"
    return amp.accelerator(other).default_view if "int64" in accelerator._info.features else None


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right(accelerator_view, name):
    view = can_run(accelerator_view, name)
    assert view is None or PROGRAMS[name](view)


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_its_row_a_program_is_wrong_where_the_row_says(accelerator_view, name, monkeypatch):
    """So a driver that lost a fault, or another that has it, is noticed."""
    view = can_run(accelerator_view, name)
    if view is None:
        return
    has_fault = view.accelerator.device_path != "reference" and name in quirks_of(view.accelerator._info)
    others = [row for row in WORKAROUNDS if row.name != name]
    monkeypatch.setattr(workarounds, "_faults", lambda *device: tuple(row for row in others if row.concerns(*device)))
    assert bool(PROGRAMS[name](view)) is not has_fault


@pytest.mark.parametrize(("version", "has"), [("Mesa 23.9.1", True), ("Mesa 24.0.0", False), ("of its own", True)])
def test_a_fault_ends_with_a_version(version, has):
    row = next(row for row in WORKAROUNDS if row.name == "fences_wait")
    info = dataclasses.replace(amp.accelerator("reference")._info, name="llvmpipe (LLVM 15)", driver=version)
    assert row.concerns(info.name, info.driver) is has


def test_an_accelerator_names_its_quirks(accelerator):
    names = accelerator.quirks
    assert ("ends_loops" in names) == ("llvmpipe" in accelerator.description)
    assert ("counted_paths" in names) == ("SwiftShader" in accelerator.description)
    if accelerator.device_path == "reference":
        assert names == amp.accelerator("cpu").quirks == frozenset()
