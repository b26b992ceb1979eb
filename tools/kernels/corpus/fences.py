"""Barriers whose fence orders other memory, and memory used for two purposes."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import faulty, launch, mended, numbers, race, random_numbers, zeros

# -- a fence that orders other memory ------------------------------------------------------------------------------


@faulty(
    "wrong fence",
    "The barrier's fence orders global memory, and the threads exchange tile_static memory.",
    race("memory", "VKA63"),
    lambda: launch(amp.extent(18).tile(6), numbers(18), zeros(18), expect=numbers(3, 6)[:, ::-1].ravel()),
)
@amp.kernel
def reverse_with_fence_wrong(t, values, out):
    memory = amp.tile_static(6, amp.int32)
    memory[t.local] = values[t]  # and here
    t.barrier.wait_with_global_memory_fence()
    out[t] = memory[5 - t.local[0]]  # fault


@mended
@amp.kernel
def reverse_with_fence(t, values, out):
    memory = amp.tile_static(6, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = memory[5 - t.local[0]]


@faulty(
    "wrong fence",
    "The threads of a tile exchange values in global memory, and the barrier's fence orders tile_static memory only.",
    race("values", "VKA63"),
    lambda: launch(amp.extent(15).tile(5), zeros(15), expect=(numbers(3, 5) * 2)[:, ::-1].ravel()),
)
@amp.kernel
def exchange_in_place_wrong(t, values):
    values[t] = t.global_[0] * 2  # and here
    t.barrier.wait_with_tile_static_memory_fence()
    got = values[t.tile_origin[0] + 4 - t.local[0]]  # fault
    t.barrier.wait_with_global_memory_fence()
    values[t] = got


@mended
@amp.kernel
def exchange_in_place(t, values):
    values[t] = t.global_[0] * 2
    t.barrier.wait_with_global_memory_fence()
    got = values[t.tile_origin[0] + 4 - t.local[0]]
    t.barrier.wait_with_global_memory_fence()
    values[t] = got


@faulty(
    "wrong fence",
    "A memory fence alone makes no thread wait for another.",
    race("memory", "VKA63"),
    lambda: launch(amp.extent(12).tile(4), numbers(12), zeros(12), expect=np.roll(numbers(3, 4), -1, 1).ravel()),
)
@amp.kernel
def fence_is_no_barrier_wrong(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]  # and here
    amp.tile_static_memory_fence(t.barrier)
    out[t] = memory[(t.local[0] + 1) % 4]  # fault


@mended
@amp.kernel
def fence_is_no_barrier(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    amp.tile_static_memory_fence(t.barrier)
    t.barrier.wait()
    out[t] = memory[(t.local[0] + 1) % 4]


@faulty(
    "wrong fence",
    "Of two barriers of a loop the second orders global memory, and tile_static memory is what is refilled.",
    race("chunk", "VKA63"),
    lambda: launch(amp.extent(3).tile(3), numbers(12), zeros(3), expect=[66, 66, 66]),
)
@amp.kernel
def sum_with_two_fences_wrong(t, values, out):
    chunk = amp.tile_static(3, amp.int32)
    total = 0
    for k in range(4):
        chunk[t.local] = values[k * 3 + t.local[0]]  # fault
        t.barrier.wait_with_tile_static_memory_fence()
        total += chunk[0] + chunk[1] + chunk[2]  # and here
        t.barrier.wait_with_global_memory_fence()
    out[t] = total


@mended
@amp.kernel
def sum_with_two_fences(t, values, out):
    chunk = amp.tile_static(3, amp.int32)
    total = 0
    for k in range(4):
        chunk[t.local] = values[k * 3 + t.local[0]]
        t.barrier.wait_with_tile_static_memory_fence()
        total += chunk[0] + chunk[1] + chunk[2]
        t.barrier.wait_with_tile_static_memory_fence()
    out[t] = total


@faulty(
    "wrong fence",
    "A function waits with a fence for tile_static memory, and its caller relies on it for a container.",
    race("sums", "VKA63"),
    lambda: launch(
        amp.extent(12).tile(6),
        numbers(12),
        zeros(12),
        zeros(2),
        expect={2: (numbers(2, 6) ** 2).sum(1)},
    ),
)
@amp.kernel
def sum_of_squares_wrong(t, values, sums, totals):
    sums[t] = values[t] * values[t]  # and here
    meet(t)
    if t.local[0] == 0:
        total = 0
        for i in range(6):
            total += sums[t.global_[0] + i]  # fault
        totals[t.tile] = total


@mended
@amp.kernel
def sum_of_squares(t, values, sums, totals):
    sums[t] = values[t] * values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        total = 0
        for i in range(6):
            total += sums[t.global_[0] + i]
        totals[t.tile] = total


@amp.func
def meet(t):
    t.barrier.wait_with_tile_static_memory_fence()


# -- memory used for two purposes ----------------------------------------------------------------------------------


@faulty(
    "reused memory",
    "The memory that held the values takes the partial sums while others still read the values.",
    race("scratch", "VKA63"),
    lambda: launch(
        amp.extent(12).tile(6),
        numbers(12),
        zeros(12),
        expect=np.repeat((numbers(2, 6) + np.roll(numbers(2, 6), -1, 1))[:, :2].sum(1), 6),
    ),
)
@amp.kernel
def scratch_for_both_wrong(t, values, out):
    scratch = amp.tile_static(6, amp.int32)
    i = t.local[0]
    scratch[i] = values[t]
    t.barrier.wait()
    pair = scratch[i] + scratch[(i + 1) % 6]  # and here
    scratch[i] = pair  # fault
    t.barrier.wait()
    out[t] = scratch[0] + scratch[1]


@mended
@amp.kernel
def scratch_for_both(t, values, out):
    scratch = amp.tile_static(6, amp.int32)
    i = t.local[0]
    scratch[i] = values[t]
    t.barrier.wait()
    pair = scratch[i] + scratch[(i + 1) % 6]
    t.barrier.wait()
    scratch[i] = pair
    t.barrier.wait()
    out[t] = scratch[0] + scratch[1]


@faulty(
    "reused memory",
    "The sum and the maximum of a tile share one element, and nothing waits between the two uses.",
    race("cell", "VKA63"),
    lambda: launch(
        amp.extent(20).tile(5),
        random_numbers(20),
        zeros(20),
        expect=(
            random_numbers(20).reshape(4, 5).sum(1, keepdims=True)
            + random_numbers(20).reshape(4, 5).max(1, keepdims=True)
            + zeros(4, 5)
        ).ravel(),
    ),
)
@amp.kernel
def sum_and_maximum_wrong(t, values, out):
    cell = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        cell[0] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(cell[0], values[t])
    t.barrier.wait()
    total = cell[0]  # and here
    if t.local[0] == 0:
        cell[0] = 0  # fault
    t.barrier.wait()
    amp.atomic_fetch_max(cell[0], values[t])
    t.barrier.wait()
    out[t] = total + cell[0]


@mended
@amp.kernel
def sum_and_maximum(t, values, out):
    cell = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        cell[0] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(cell[0], values[t])
    t.barrier.wait()
    total = cell[0]
    t.barrier.wait()
    if t.local[0] == 0:
        cell[0] = 0
    t.barrier.wait()
    amp.atomic_fetch_max(cell[0], values[t])
    t.barrier.wait()
    out[t] = total + cell[0]


@faulty(
    "reused memory",
    "A function that sums over the tile is called twice over the same memory, and it does not wait at its end.",
    race("memory", "VKA63"),
    lambda: launch(
        amp.extent(10).tile(5),
        numbers(10),
        zeros(10),
        expect=np.repeat(numbers(2, 5).sum(1) + (numbers(2, 5) ** 2).sum(1), 5),
    ),
)
@amp.kernel
def two_sums_wrong(t, values, out):
    memory = amp.tile_static(5, amp.int32)
    total = sum_over_tile(t, memory, values[t])
    out[t] = total + sum_over_tile(t, memory, values[t] * values[t])


@amp.func
def sum_over_tile(t, memory, value):
    memory[t.local] = value  # fault
    t.barrier.wait()
    total = 0
    for i in range(5):
        total += memory[i]  # and here
    return total


@mended
@amp.kernel
def two_sums(t, values, out):
    memory = amp.tile_static(5, amp.int32)
    total = sum_over_tile(t, memory, values[t])
    t.barrier.wait()
    out[t] = total + sum_over_tile(t, memory, values[t] * values[t])
