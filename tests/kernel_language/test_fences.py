"""Fences and barriers order memory within a tile: shared, global, with and without waiting (conformance: 3, 20)."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, same


@amp.kernel
def through_global_memory(t, box, out):
    i, g = t.local[0], t.global_[0]
    box[g] = g * 2
    t.barrier.wait_with_global_memory_fence()
    other = t.tile_origin[0] + (i + 1) % t.tile_dim0
    out[0, g] = box[other]
    t.barrier.wait_with_global_memory_fence()
    box[other] += 1
    t.barrier.wait()
    out[1, g] = box[g]


def test_a_tile_passes_messages_through_global_memory(accelerator_view):
    n, tile = 24, 8
    box, out = amp.array_view(np.zeros(n, I32)), amp.array_view(np.zeros((2, n), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(n).tile(tile), through_global_memory, box, out)
    g = np.arange(n)
    same(np.asarray(out), [(g // tile * tile + (g + 1) % tile) * 2, g * 2 + 1])
    assert "coherent" in through_global_memory.inspect(amp.extent(n).tile(tile), box, out).glsl


@amp.kernel
def through_a_view(t, box, out):
    i, g = t.local[0], t.global_[0]
    mine = box.section(t.tile_origin[0], t.tile_dim0)
    bits = mine.reinterpret_as(amp.int32)
    mine[i] = 1.0 + g
    t.barrier.wait_with_global_memory_fence()
    out[g] = bits[t.tile_dim0 - 1 - i]


def test_messages_pass_between_views_of_two_types(accelerator_view):
    n, tile = 15, 5
    box, out = amp.array_view(np.zeros(n, F32)), amp.array_view(np.zeros(n, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(n).tile(tile), through_a_view, box, out)
    g = np.arange(n)
    same(np.asarray(out).view(F32), 1.0 + g // tile * tile + tile - 1 - g % tile)


@amp.kernel
def fences_in_divergent_code(t, box, out):
    i, g = t.local[0], t.global_[0]
    shared = amp.tile_static(8, amp.int32)
    if i % 2 == 0:
        shared[i] = 10 + i
        amp.tile_static_memory_fence(t.barrier)
        box[g] = i
        amp.all_memory_fence(t.barrier)
    else:
        for k in range(i):
            shared[i] = k
            amp.all_memory_fence(t.barrier)
        box[g] = -i
        amp.global_memory_fence(t.barrier)
    t.barrier.wait()
    out[0, g] = shared[(i + 1) % 8]
    out[1, g] = box[t.tile_origin[0] + (i + 1) % 8]


def test_fences_stand_in_divergent_code(accelerator_view):
    box, out = amp.array_view(np.zeros(16, I32)), amp.array_view(np.zeros((2, 16), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(16).tile(8), fences_in_divergent_code, box, out)
    i = np.tile(np.arange(8), 2)
    shared, boxes = np.where(i % 2, i - 1, 10 + i), np.where(i % 2, -i, i)
    nxt = (np.arange(16) + 1) % 8 + np.arange(16) // 8 * 8
    same(np.asarray(out), [shared[nxt], boxes[nxt]])


def _turns_with_fences(t, box, sums, *, fence: amp.constant):
    """Row r of a tile goes through 5r + 1 fences, all of them before its barrier."""
    row, g = t.local[0], t.global_[0]
    shared = amp.tile_static((4, 8), amp.int32)
    shared[t.local] = 0
    for k in range(5 * row + 1):
        shared[t.local] += k
        box[g, t.global_[1]] = k
        if fence == 0:
            amp.all_memory_fence(t.barrier)
        elif fence == 1:
            amp.global_memory_fence(t.barrier)
        else:
            amp.tile_static_memory_fence(t.barrier)
    t.barrier.wait()
    sums[g, t.global_[1]] = shared[3 - row, t.local[1]]


@pytest.mark.parametrize("fence", range(3))
@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_threads_may_run_different_numbers_of_fences(accelerator_view, lowering, fence):
    """lavapipe made barriers of fences: loops over them were cut short, and others' barriers fell apart."""
    box, sums = amp.array_view(np.full((8, 16), -1, I32)), amp.array_view(np.zeros((8, 16), I32))
    kernel = amp.kernel(lowering=lowering)(_turns_with_fences)
    amp.parallel_for_each(accelerator_view, amp.extent(8, 16).tile(4, 8), kernel, box, sums, fence=fence)
    turns = 5 * (np.arange(8) % 4)[:, None] + 1 + np.zeros((1, 16), int)
    same(np.asarray(box), turns - 1)
    other = turns[::-1]
    same(np.asarray(sums), other * (other - 1) // 2)


@amp.kernel
def fence_and_barrier_apart(t, box, out):
    g = t.global_[0]
    box[g] = g + 5
    amp.global_memory_fence(t.barrier)
    t.barrier.wait_with_tile_static_memory_fence()
    amp.global_memory_fence(t.barrier)
    out[g] = box[t.tile_origin[0] + t.tile_dim0 - 1 - t.local[0]]


def test_a_fence_and_a_barrier_of_the_other_kind_order_together(accelerator_view):
    box, out = amp.array_view(np.zeros(12, I32)), amp.array_view(np.zeros(12, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(12).tile(4), fence_and_barrier_apart, box, out)
    g = np.arange(12)
    same(np.asarray(out), g // 4 * 4 + 3 - g % 4 + 5)


@amp.kernel
def fence_alone(t, box, out, far):
    g = t.global_[0]
    box[g] = g
    amp.global_memory_fence(t.barrier)
    out[g] = box[t.tile_origin[0] + (t.local[0] + far) % 4]


@amp.kernel
def barrier_of_the_other_kind(t, box, out, far):
    g = t.global_[0]
    box[g] = g
    t.barrier.wait_with_tile_static_memory_fence()
    out[g] = box[t.tile_origin[0] + (t.local[0] + far) % 4]


@amp.kernel
def atomic_is_no_fence(t, box, out, far):
    g = t.global_[0]
    flags = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        flags[0] = 0
    t.barrier.wait()
    box[g] = g
    amp.atomic_fetch_inc(flags[0])
    out[g] = box[t.tile_origin[0] + (t.local[0] + far) % 4]


@amp.kernel
def other_tiles(t, box, out, far):
    g = t.global_[0]
    box[g] = g
    t.barrier.wait()
    out[g] = box[(g + far) % 8]


@pytest.mark.parametrize("kernel", [fence_alone, barrier_of_the_other_kind, atomic_is_no_fence, other_tiles])
@pytest.mark.accelerators("reference")
def test_what_does_not_order_is_a_race(accelerator_view, kernel):
    """Fences are no barriers, atomics no fences, a barrier orders what its fence covers, and nothing crosses tiles.

    How far away a thread reads is the launch's matter, so that the compiler cannot tell.
    """
    box, out = amp.array_view(np.zeros(8, I32)), amp.array_view(np.zeros(8, I32))
    with pytest.raises(amp.RaceError, match="race on box"):
        amp.parallel_for_each(accelerator_view, amp.extent(8).tile(4), kernel, box, out, 1)
