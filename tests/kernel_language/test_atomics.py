"""Atomics: every row on every kind of element, what they give, their races (conformance: 11, 20)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, same
from vkamp.ir.builtins import ATOMICS

PARTICLE = np.dtype([("hits", I32), ("mass", F32), ("bins", U32, (3,)), ("force", F32, (2, 2))])


@amp.kernel
def integer_rows(idx, a, v, old, flags):
    i = idx[0]
    old[0, i] = amp.atomic_exchange(a[i], v[i])
    old[1, i] = amp.atomic_fetch_add(a[i], v[i])
    old[2, i] = amp.atomic_fetch_sub(a[i], v[i] * 3)
    old[3, i] = amp.atomic_fetch_max(a[i], v[i])
    old[4, i] = amp.atomic_fetch_min(a[i], v[i] - 1)
    old[5, i] = amp.atomic_fetch_and(a[i], 0xFFFFFF)
    old[6, i] = amp.atomic_fetch_or(a[i], 0x30)
    old[7, i] = amp.atomic_fetch_xor(a[i], 0x55)
    old[8, i] = amp.atomic_fetch_inc(a[i])
    old[9, i] = amp.atomic_fetch_dec(a[i])
    expected = v[i]
    expected += 1
    flags[0, i] = 1 if amp.atomic_compare_exchange(a[i], expected, v[i] + 7) else 0
    old[10, i] = expected
    flags[1, i] = 1 if amp.atomic_compare_exchange(a[i], expected, v[i] + 7) else 0
    old[11, i] = expected
    amp.atomic_compare_exchange(a[i], expected, v[i] + 9)
    old[12, i] = expected


def integer_model(a, v, dtype):
    """What C++ gives for one element, and the values that each call returned."""
    width = (lambda x: (int(x) + 2**31) % 2**32 - 2**31) if dtype is I32 else (lambda x: int(x) % 2**32)
    v = int(v)
    old, flags, value = [], [], width(a)

    def then(new):
        nonlocal value
        old.append(value)
        value = width(new)

    then(v)
    then(value + v)
    then(value - v * 3)
    then(max(value, v))
    then(min(value, width(v - 1)))
    then(value & 0xFFFFFF)
    then(value | 0x30)
    then(value ^ 0x55)
    then(value + 1)
    then(value - 1)
    expected = width(v + 1)
    for change in (7, 7, 9):
        flags.append(int(value == expected))
        stored = width(v + change) if value == expected else value
        expected = value
        old.append(value)
        value = stored
    return value, old, flags[:2]


@pytest.mark.parametrize("dtype", [I32, U32])
def test_every_row_gives_the_value_before(accelerator_view, dtype):
    a = np.array([0, 5, 2**31 - 1, 17, 2**30], np.int64)
    v = np.array([3, 1, 9, 2**31 - 1, 77], np.int64)
    if dtype is I32:
        a, v = np.append(a, [-1, -(2**31)]), np.append(v, [-5, 2])
    else:
        a, v = np.append(a, [2**32 - 1, 2**31]), np.append(v, [2**31 + 5, 2])
    cells = amp.array_view(a.astype(dtype))
    old, flags = amp.array_view(np.zeros((13, a.size), dtype)), amp.array_view(np.zeros((2, a.size), I32))
    arguments = (cells, amp.array_view(v.astype(dtype)), old, flags)
    amp.parallel_for_each(accelerator_view, amp.extent(a.size), integer_rows, *arguments)
    expected = [integer_model(x, y, dtype) for x, y in zip(a, v, strict=True)]
    same(np.asarray(old).T, np.array([e[1] for e in expected]).astype(dtype))
    same(np.asarray(flags).T, [e[2] for e in expected])
    same(np.asarray(cells), np.array([e[0] for e in expected]).astype(dtype))


def test_the_program_above_uses_every_row():
    used = {name for name in ATOMICS if name in integer_rows.function.__code__.co_names}
    assert used == set(ATOMICS)


@amp.kernel
def counts(t, view, array, records, floats, results):
    i = t.local[0]
    g = t.global_[0]
    shared = amp.tile_static((2, 3), amp.int32)
    sums = amp.tile_static(2, amp.float32)
    structs = amp.tile_static(2, PARTICLE)
    if i < 2:
        sums[i] = 0.5
        structs[i].hits = 0
        for k in range(3):
            shared[i, k] = 0
            structs[i].bins[k] = amp.uint32(0)
    t.barrier.wait()
    amp.atomic_fetch_inc(view[g % 3])
    amp.atomic_fetch_inc(view.section(3, 2)[g % 2])
    amp.atomic_fetch_add(array[1, g % 2], 2)
    amp.atomic_fetch_add(records[g % 2].hits, 1)
    amp.atomic_fetch_add(records[g % 2].bins[g % 3], amp.uint32(3))
    amp.atomic_fetch_add(records[1].mass, 0.25)
    amp.atomic_fetch_sub(records[0].force[1, g % 2], 1.5)
    amp.atomic_fetch_add(records.section(amp.index(2))[0].force[0, 1], 1.0)
    amp.atomic_fetch_add(floats[0], 1.0)
    amp.atomic_fetch_sub(floats.section(1, 4).view_as(amp.extent(2, 2))[1, g % 2], 0.5)
    amp.atomic_fetch_add(floats.reinterpret_as(amp.int32)[5], 3)
    amp.atomic_fetch_inc(shared[i % 2, i % 3])
    amp.atomic_fetch_dec(shared.section(amp.index(1, 0), amp.extent(1, 2))[0, 1])
    amp.atomic_fetch_add(sums[i % 2], 0.125)
    amp.atomic_fetch_add(structs[1].hits, 5)
    amp.atomic_fetch_max(structs[i % 2].bins[2], amp.uint32(i))
    t.barrier.wait()
    if i < 6:
        results[0, t.tile[0] * 6 + i] = shared[i // 3, i % 3]
    if i < 2:
        results[1, t.tile[0] * 6 + i] = int(sums[i] * 8.0)
        results[1, t.tile[0] * 6 + 2 + i] = structs[i].hits
        results[1, t.tile[0] * 6 + 4 + i] = int(structs[i].bins[2])


def test_every_kind_of_element(accelerator_view):
    n, tiles = 24, 3
    tile = n // tiles
    view, floats = amp.array_view(np.zeros(5, I32)), amp.array_view(np.zeros(6, F32))
    array = amp.array(amp.extent(2, 3), I32, np.zeros(6, I32), accelerator_view=accelerator_view)
    records, results = amp.array_view(np.zeros(3, PARTICLE)), amp.array_view(np.zeros((2, 6 * tiles), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(n).tile(tile), counts, view, array, records, floats, results)
    same(np.asarray(view), [8, 8, 8, 12, 12])
    same(np.asarray(array), [[0, 0, 0], [24, 24, 0]])
    got = np.asarray(records)
    same(got["hits"], [12, 12, 0])
    same(got["bins"], np.array([[12, 12, 12], [12, 12, 12], [0, 0, 0]]))
    same(got["mass"], [0, 6, 0])
    same(got["force"], [[[0, 0], [-18, -18]], [[0, 0], [0, 0]], [[0, 24], [0, 0]]])
    same(np.asarray(floats)[:5], [24, 0, 0, -6, -6])
    same(np.asarray(floats).view(I32)[5], 72)
    shared = np.zeros((2, 3), int)
    for i in range(tile):
        shared[i % 2, i % 3] += 1
    shared[1, 1] -= tile
    same(np.asarray(results), [[*shared.ravel()] * tiles, [8, 8, 0, 40, 6, 7] * tiles])


@amp.kernel
def components(idx, floats, records):
    k = idx[0] % 3
    amp.atomic_fetch_add(floats.reinterpret_as(amp.float2)[k].y, 1.0)
    amp.atomic_fetch_add(floats.reinterpret_as(amp.float3)[k % 2 + 1].z, 0.5)
    amp.atomic_fetch_sub(records.reinterpret_as(amp.float4)[k].w, 2.0)


def test_floats_in_memory_seen_as_vectors(accelerator_view):
    floats, records = amp.array_view(np.zeros(10, F32)), amp.array_view(np.zeros((12, 2), F32).reshape(24))
    amp.parallel_for_each(accelerator_view, amp.extent(12), components, floats, records)
    wanted = np.zeros(10)
    wanted[[1, 3, 5]] += 4
    wanted[5] += 8 * 0.5
    wanted[8] += 4 * 0.5
    same(np.asarray(floats), wanted)
    far = np.zeros(24)
    far[[3, 7, 11]] = -8
    same(np.asarray(records), far)


@amp.kernel
def float_results(t, cells, old):
    i = t.local[0]
    shared = amp.tile_static(4, amp.float32)
    shared[i] = 1.0 * i
    old[0, i] = amp.atomic_exchange(cells[i], 2.5)
    old[1, i] = amp.atomic_fetch_add(cells[i], 0.25)
    old[2, i] = amp.atomic_fetch_sub(cells[i], cells[4])
    old[3, i] = cells[i]
    old[4, i] = amp.atomic_exchange(shared[i], -0.0)
    old[5, i] = amp.atomic_fetch_add(shared[i], i)
    old[6, i] = amp.atomic_fetch_sub(shared[i], 1)
    amp.atomic_exchange(shared[i], shared[i] * 2.0)
    old[7, i] = shared[i]


def test_floats_give_the_value_before_too(accelerator_view):
    start = np.array([np.inf, -0.0, 3e38, -7.5, 100], F32)
    old = amp.array_view(np.zeros((8, 4), F32))
    amp.parallel_for_each(accelerator_view, amp.extent(4).tile(4), float_results, amp.array_view(start.copy()), old)
    i = np.arange(4, dtype=F32)
    expected = [start[:4], np.full(4, 2.5), np.full(4, 2.75), np.full(4, -97.25), i, -0.0 * i, i, 2 * (i - 1)]
    same(np.asarray(old), expected)


@amp.kernel
def contended(idx, sums, n):
    for k in range(n):
        amp.atomic_fetch_add(sums[(idx[0] + k) % 2], 1.0)
        amp.atomic_fetch_sub(sums[2], 0.5)


@amp.func
def add_to(v, i, x):
    return amp.atomic_fetch_add(v[i], x)


@amp.kernel
def through_a_function(idx, sums, before):
    before[idx] = add_to(sums.section(1, 2), 1, 1.0)


def test_many_threads_add_floats_to_one_element(accelerator_view):
    count = 64 if accelerator_view.accelerator.description == "reference" else 4096
    sums = amp.array_view(np.zeros(3, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(count), contended, sums, 4)
    same(np.asarray(sums), [count * 2, count * 2, -count * 2])
    sums, before = amp.array_view(np.zeros(3, F32)), amp.array_view(np.zeros(count, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(count), through_a_function, sums, before)
    same(np.asarray(sums), [0, 0, count])
    same(np.sort(np.asarray(before)), np.arange(count))


@amp.kernel
def lock_free_maximum(idx, values, best, tries):
    mine = values[idx]
    expected = best[0]
    done = False
    while not done:
        tries[idx] += 1
        new = max(expected, mine)
        done = amp.atomic_compare_exchange(best[0], expected, new)


def test_a_compare_exchange_loop_ends_with_the_right_value(accelerator_view):
    values = np.random.default_rng(3).permutation(97).astype(I32)
    best, tries = amp.array_view(np.full(1, -1, I32)), amp.array_view(np.zeros(97, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(97), lock_free_maximum, amp.array_view(values), best, tries)
    assert best[0] == 96
    assert np.asarray(tries).min() >= 1


@amp.kernel(precise=True)
def precise_add(idx, sums, x):
    amp.atomic_fetch_add(sums[idx], x[0] * x[1])


def test_a_precise_kernel_rounds_the_product_first(accelerator_view):
    x = np.array([1 + 2**-12, 1 + 2**-12], F32)
    sums = amp.array_view(np.full(3, -1, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), precise_add, sums, amp.array_view(x))
    same(np.asarray(sums), np.full(3, F32(x[0] * x[1]) - F32(1)))


def test_the_shader_says_how_floats_are_added():
    sums = amp.array_view(np.zeros(4, F32))
    glsl = contended.inspect(amp.extent(4), sums, 1).glsl
    assert (
        "// atomic_fetch_add of float32: the device lacks this atomic, so a compare-exchange loop on the bits." in glsl
    )
    assert "// The memory of sums as uints." in glsl


@amp.kernel
def atomics_and_reads(idx, cells, out):
    amp.atomic_fetch_add(cells[0], 1)
    out[idx] = cells[0]


@amp.kernel
def atomics_and_writes(idx, cells):
    amp.atomic_fetch_add(cells[0], 1)
    if idx[0] == 2:
        cells[0] = 7


@pytest.mark.accelerators("reference")
def test_a_plain_write_races_with_atomics_and_a_plain_read_does_not(accelerator_view):
    cells = amp.array_view(np.zeros(1, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), atomics_and_reads, cells, amp.array_view(np.zeros(3, I32)))
    with pytest.raises(amp.RaceError, match="race on cells"):
        amp.parallel_for_each(accelerator_view, amp.extent(3), atomics_and_writes, cells)


def test_the_device_s_own_atomics_of_floats():
    accelerator_view = amp.accelerator("llvmpipe@vulkan").default_view
    assert {"float_atomics", "shared_float_atomics"} <= amp.accelerator("llvmpipe@vulkan").features
    sums, before = amp.array_view(np.zeros(3, F32)), amp.array_view(np.zeros(16, F32))
    amp.parallel_for_each(accelerator_view, before.extent, through_a_function, sums, before)
    same(np.asarray(sums), [0, 0, 16])
    same(np.sort(np.asarray(before)), np.arange(16))
    domain = before.extent
    assert "atomicCompSwap" not in through_a_function.inspect(accelerator_view, domain, sums, before).glsl


@amp.kernel
def float_extremes(t, values, ends, records, before):
    shared = amp.tile_static(2, amp.float32)
    k = t.local[0]
    if k < 2:
        shared[k] = 0.0
    t.barrier.wait()
    value = values[t]
    amp.atomic_fetch_min(ends[0], value)
    amp.atomic_fetch_max(ends[1], value)
    amp.atomic_fetch_max(ends[2], math.nan)
    amp.atomic_fetch_min(ends[3], value)
    amp.atomic_fetch_min(shared[0], value)
    amp.atomic_fetch_max(shared[1], value)
    amp.atomic_fetch_max(records[t.tile].top, value)
    before[t] = amp.atomic_fetch_max(ends[4], -1.0)
    t.barrier.wait()
    if k == 0:
        amp.atomic_fetch_min(ends[5], shared[0])
        amp.atomic_fetch_max(ends[6], shared[1])


def test_extremes_of_floats(accelerator_view):
    raw = np.array([3.5, -2.0, np.nan, 8.25, -7.5, 0.0, 1.0, np.nan] * 3, F32)
    values, before = amp.array_view(raw), amp.array_view(np.zeros(24, F32))
    ends = amp.array_view(np.array([np.inf, -np.inf, 2.0, np.nan, 5.0, 100.0, -100.0], F32))
    records = amp.array_view(np.array([(1, 7.0)] * 3, [("id", I32), ("top", F32)]))
    domain = values.extent.tile(8)
    amp.parallel_for_each(accelerator_view, domain, float_extremes, values, ends, records, before)
    # NaN is ignored, in the element and as a value.
    same(np.asarray(ends), [-7.5, 8.25, 2.0, -7.5, 5.0, -7.5, 8.25])
    assert np.asarray(records).tolist() == [(1, 8.25)] * 3
    same(np.asarray(before), [5.0] * 24)
