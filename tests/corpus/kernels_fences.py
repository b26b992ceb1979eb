"""Barriers whose fence orders other memory, memory used for two purposes, and double buffering."""

from __future__ import annotations

import numpy as np
import vkamp as amp
from tests.corpus.registry import faulty, launch, mended, numbers, race, random_numbers, zeros

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
    race("values"),
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
    race("sums"),
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


# -- double buffering ----------------------------------------------------------------------------------------------


def smoothed(values, rounds):
    for _round in range(rounds):
        values = np.roll(values, 1, 1) + values + np.roll(values, -1, 1)
    return values


@faulty(
    "double buffering",
    "The halves of the buffer are swapped, but the barrier of each round is missing.",
    race("cells", "VKA63"),
    lambda: launch(amp.extent(14).tile(7), numbers(14), zeros(14), expect=smoothed(numbers(2, 7), 3).ravel()),
)
@amp.kernel
def smooth_in_halves_wrong(t, values, out):
    cells = amp.tile_static((2, 7), amp.int32)
    i = t.local[0]
    cells[0, i] = values[t]
    t.barrier.wait()
    for step in range(3):
        now = step % 2
        cells[1 - now, i] = cells[now, (i + 6) % 7] + cells[now, i] + cells[now, (i + 1) % 7]  # fault
    out[t] = cells[1, i]


@mended
@amp.kernel
def smooth_in_halves(t, values, out):
    cells = amp.tile_static((2, 7), amp.int32)
    i = t.local[0]
    cells[0, i] = values[t]
    t.barrier.wait()
    for step in range(3):
        now = step % 2
        cells[1 - now, i] = cells[now, (i + 6) % 7] + cells[now, i] + cells[now, (i + 1) % 7]
        t.barrier.wait()
    out[t] = cells[1, i]


@faulty(
    "double buffering",
    "The other half is to be written, and the one that neighbours read in this round is.",
    race("cells", "VKA63"),
    lambda: launch(amp.extent(10).tile(5), numbers(10), 2, zeros(10), expect=smoothed(numbers(2, 5), 2).ravel()),
)
@amp.kernel
def smooth_the_same_half_wrong(t, values, rounds, out):
    cells = amp.tile_static((2, 5), amp.int32)
    i = t.local[0]
    now = 0
    cells[now, i] = values[t]
    t.barrier.wait()
    for _step in range(rounds):
        total = cells[now, (i + 4) % 5] + cells[now, i] + cells[now, (i + 1) % 5]  # and here
        cells[now, i] = total  # fault
        t.barrier.wait()
    out[t] = cells[now, i]


@mended
@amp.kernel
def smooth_the_same_half(t, values, rounds, out):
    cells = amp.tile_static((2, 5), amp.int32)
    i = t.local[0]
    now = 0
    cells[now, i] = values[t]
    t.barrier.wait()
    for _step in range(rounds):
        total = cells[now, (i + 4) % 5] + cells[now, i] + cells[now, (i + 1) % 5]
        cells[1 - now, i] = total
        now = 1 - now
        t.barrier.wait()
    out[t] = cells[now, i]


@faulty(
    "double buffering",
    "The next chunk is fetched into the half that is being used: both are numbered by the same remainder.",
    race("chunks", "VKA63"),
    lambda: launch(amp.extent(4).tile(4), numbers(24), zeros(4), expect=np.full(4, 276)),
)
@amp.kernel
def prefetch_wrong(t, values, out):
    chunks = amp.tile_static((2, 4), amp.int32)
    i = t.local[0]
    chunks[0, i] = values[i]
    t.barrier.wait()
    total = 0
    for k in range(6):
        if k < 5:
            chunks[k % 2, i] = values[(k + 1) * 4 + i]  # fault
        for j in range(4):
            total += chunks[k % 2, j]  # and here
        t.barrier.wait()
    out[t] = total


@mended
@amp.kernel
def prefetch(t, values, out):
    chunks = amp.tile_static((2, 4), amp.int32)
    i = t.local[0]
    chunks[0, i] = values[i]
    t.barrier.wait()
    total = 0
    for k in range(6):
        if k < 5:
            chunks[(k + 1) % 2, i] = values[(k + 1) * 4 + i]
        for j in range(4):
            total += chunks[k % 2, j]
        t.barrier.wait()
    out[t] = total


@faulty(
    "double buffering",
    "Values go to a second buffer and on from there, and only the second step waits.",
    race("first", "VKA63"),
    lambda: launch(amp.extent(12).tile(6), numbers(12), zeros(12), expect=np.roll(numbers(2, 6), -2, 1).ravel()),
)
@amp.kernel
def there_and_back_wrong(t, values, out):
    first = amp.tile_static(6, amp.int32)
    second = amp.tile_static(6, amp.int32)
    i = t.local[0]
    first[i] = values[t]  # and here
    second[i] = first[(i + 1) % 6]  # fault
    t.barrier.wait()
    out[t] = second[(i + 1) % 6]


@mended
@amp.kernel
def there_and_back(t, values, out):
    first = amp.tile_static(6, amp.int32)
    second = amp.tile_static(6, amp.int32)
    i = t.local[0]
    first[i] = values[t]
    t.barrier.wait()
    second[i] = first[(i + 1) % 6]
    t.barrier.wait()
    out[t] = second[(i + 1) % 6]
