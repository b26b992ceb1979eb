"""Vectors in tile_static and private arrays of scalars: `reinterpret_as(amp.float4)`."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

TILE, TILES = 24, 3
COUNT = TILE * TILES


@amp.func
def total(v, k):
    x = v[k]
    return x.x + x.y + x.z + x.w


@amp.func
def exchange(v, k, j):
    v[k], v[j] = v[j], v[k]


@amp.kernel
def many_forms(t, a, out, words):
    """Loads, stores, swizzles, updates, swaps, functions, sections, rows, loops, other types and private arrays."""
    i = t.local[0]
    cells = amp.tile_static(4 * TILE, amp.float32)
    fours = cells.reinterpret_as(amp.float4)
    fours[i] = a.reinterpret_as(amp.float4)[t.global_[0]]
    rows = amp.tile_static((2, 2 * TILE), amp.int32)
    pairs = rows[1].reinterpret_as(amp.int2)
    for k in amp.static_range(2):
        rows[0].reinterpret_as(amp.int2)[i] = amp.int2(i, k)
    pairs[i].yx = amp.int2(i, 100 + i)
    own = amp.private(6, amp.float32)
    threes = own.section(amp.index(0), amp.extent(6)).reinterpret_as(amp.float3)
    threes[0] = amp.float3(1.0, 2.0, 3.0)
    threes[1] = threes[0] * 2.0
    threes[1].z += threes[0].y
    exchange(own.section(1, 4).reinterpret_as(amp.float2), 0, 1)
    t.barrier.wait()
    got = fours[TILE - 1 - i]
    got.w = 0.5
    bits = cells.reinterpret_as(amp.uint4)[i].y
    part = cells.section(4 * (i % 3), 4).reinterpret_as(amp.float4)
    sums = total(fours, i) + total(part, 0)
    t.barrier.wait()
    fours[i] += amp.float4(1.0) if i % 2 == 0 else fours[i]
    fours[i].zw *= 2.0
    with amp.tile_scope():
        scratch = amp.tile_static(2 * TILE, amp.float32)
        scratch.reinterpret_as(amp.float2)[i] = got.xw
        t.barrier.wait()
        j = 0
        while scratch.reinterpret_as(amp.float2)[j].x > a[0] and j < 5:
            sums += 0.5
            j += 1
        t.barrier.wait()
    out.reinterpret_as(amp.float4)[t.global_[0]] = fours[i]
    words[0, t.global_[0]] = float(pairs[i].x * 1000 + pairs[i].y) + float(rows[0, 2 * i + 1])
    words[1, t.global_[0]] = own[0] + 10.0 * own[1] + 100.0 * own[2] + 1000.0 * own[3] + 10000.0 * own[4] + own[5]
    words[2, t.global_[0]] = got.x + got.w
    words[3, t.global_[0]] = amp.asfloat(bits)
    words[4, t.global_[0]] = sums


def expected(a):
    four = a.reshape(TILES, TILE, 4)
    i = np.arange(TILE)
    words = np.zeros((5, TILES, TILE), np.float32)
    words[0] = (100 + i) * 1000 + i + 1
    # The parts are 1, (2, 3), (2, 4), 8: the two in the middle are swapped.
    words[1] = 1 + 10 * 2 + 100 * 4 + 1000 * 2 + 10000 * 3 + 8
    turned = four[:, ::-1]
    words[2] = turned[:, :, 0] + 0.5
    words[3] = four[:, :, 1]
    words[4] = four.sum(2) + four.sum(2)[:, i % 3]
    later = turned[:, :5, 0] > a[0]
    words[4] += 0.5 * np.cumprod(later, axis=1).sum(1)[:, None]
    out = np.where((i % 2 == 0)[:, None], four + 1, four * 2)
    out[:, :, 2:] *= 2
    return out.reshape(-1), words.reshape(5, COUNT)


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_vectors_are_read_and_written_in_many_forms(accelerator_view, lowering):
    kernel = amp.kernel(lowering=lowering)(many_forms.function)
    a = (np.arange(4 * COUNT, dtype=np.float32) * 7) % 64
    out, words = (amp.array_view(np.zeros(shape, np.float32)) for shape in (4 * COUNT, (5, COUNT)))
    arguments = amp.array_view(a), out, words
    amp.parallel_for_each(accelerator_view, amp.extent(COUNT).tile(TILE), kernel, *arguments)
    whole = expected(a)
    np.testing.assert_array_equal(np.asarray(out), whole[0])
    np.testing.assert_array_equal(np.asarray(words), whole[1])
    if lowering == "threads":
        report = amp.check(accelerator_view, amp.extent(COUNT).tile(TILE), kernel, *arguments)
        assert report.ok, report


@amp.kernel
def own_subscript(t, out):
    """The store changes what its subscript and its value read."""
    cells = amp.tile_static(8, amp.int32)
    if t.local[0] == 0:
        for k in range(8):
            cells[k] = 1 - k % 2
        twos = cells.reinterpret_as(amp.int2)
        twos[cells[0]] = amp.int2(cells[3], cells[2])
        twos[cells[1]] = twos[cells[1]].yx
    t.barrier.wait()
    out[t] = cells[t.local[0]]


def test_subscript_and_value_are_those_before_the_store(accelerator_view):
    out = amp.array_view(np.zeros(8, np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(8).tile(8), own_subscript, out)
    np.testing.assert_array_equal(np.asarray(out), [0, 1, 0, 1, 1, 0, 1, 0])


@amp.kernel
def too_far(t, n, out):
    cells = amp.tile_static(8, amp.float32)
    cells[t.local[0]] = 1.0
    t.barrier.wait()
    out[t] = cells.reinterpret_as(amp.float4)[n].x


def test_a_vector_out_of_bounds_is_reported(accelerator_view):
    report = amp.check(accelerator_view, amp.extent(8).tile(8), too_far, 2, amp.array_view(np.zeros(8, np.float32)))
    assert {f.kind for f in report.findings} == {"bounds"}
    assert "index 2 of a view of cells is out of bounds (extent 2)" in str(report.findings[0])


@amp.kernel
def racing(t, out):
    cells = amp.tile_static(8, amp.float32)
    cells.reinterpret_as(amp.float4)[t.local[0] // 4] = amp.float4(1.0)
    t.barrier.wait()
    out[t] = cells[t.local[0]]


@amp.kernel
def unsynchronized(t, out):
    cells = amp.tile_static(32, amp.float32)
    cells.reinterpret_as(amp.float4)[t.local[0]] = amp.float4(1.0)
    out[t] = cells[4 * t.local[0] + 5 if t.local[0] < 7 else 0]


@pytest.mark.parametrize("kernel", [racing, unsynchronized])
def test_races_on_vectors_are_found(kernel):
    with pytest.raises(amp.CompileError, match="cells"):
        kernel.inspect(amp.extent(8).tile(8), amp.array_view(np.zeros(8, np.float32)))


@amp.kernel
def atomic(t, out):
    cells = amp.tile_static(8, amp.int32)
    amp.atomic_fetch_add(cells.reinterpret_as(amp.int4)[0].x, 1)
    out[t] = 0


def test_atomics_are_refused():
    with pytest.raises(amp.CompileError, match="VKA411"):
        atomic.inspect(amp.extent(8).tile(8), amp.array_view(np.zeros(8, np.int32)))


def test_the_shader_accesses_the_scalars():
    text = own_subscript.inspect(amp.extent(8).tile(8), amp.array_view(np.zeros(8, np.int32))).glsl
    assert "shared int cells[8];" in text
    assert "cells[at * 2] = cells_value.x;" in text, text
