"""Threads that read, or update atomically, what another thread of the tile writes plainly."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    F32,
    faulty,
    launch,
    mended,
    numbers,
    race,
    random_floats,
    random_numbers,
    zeros,
)

# -- one writes, another reads -------------------------------------------------------------------------------------


@faulty(
    "read-write",
    "Each thread adds its left neighbour's element to its own, and the neighbour is changing it.",
    race("line", "VKA63"),
    lambda: launch(
        amp.extent(12).tile(6),
        numbers(12),
        zeros(12),
        expect=(numbers(2, 6) + np.pad(numbers(2, 6), ((0, 0), (1, 0)))[:, :-1]).ravel(),
    ),
)
@amp.kernel
def add_left_in_place_wrong(t, values, out):
    line = amp.tile_static(6, amp.int32)
    i = t.local[0]
    line[i] = values[t]
    t.barrier.wait()
    if i > 0:
        line[i] += line[i - 1]  # fault
    t.barrier.wait()
    out[t] = line[i]


@mended
@amp.kernel
def add_left_in_place(t, values, out):
    line = amp.tile_static(6, amp.int32)
    i = t.local[0]
    line[i] = values[t]
    t.barrier.wait()
    left = line[i - 1] if i > 0 else 0
    t.barrier.wait()
    line[i] += left
    t.barrier.wait()
    out[t] = line[i]


@faulty(
    "read-write",
    "Even threads swap two elements, which are a pair of their own, while odd ones still read theirs.",
    race("cells", "VKA63"),
    lambda: launch(
        amp.extent(8).tile(4), numbers(8), zeros(8), zeros(8), expect={1: numbers(8), 2: [1, 0, 3, 2, 5, 4, 7, 6]}
    ),
)
@amp.kernel
def swap_pairs_wrong(t, values, before, after):
    cells = amp.tile_static(4, amp.int32)
    i = t.local[0]
    cells[i] = values[t]
    t.barrier.wait()
    before[t] = cells[i]  # and here
    if i % 2 == 0:
        kept = cells[i]  # and here
        cells[i] = cells[i + 1]
        cells[i + 1] = kept  # fault
    t.barrier.wait()
    after[t] = cells[i]


@mended
@amp.kernel
def swap_pairs(t, values, before, after):
    cells = amp.tile_static(4, amp.int32)
    i = t.local[0]
    cells[i] = values[t]
    t.barrier.wait()
    before[t] = cells[i]
    t.barrier.wait()
    if i % 2 == 0:
        kept = cells[i]
        cells[i] = cells[i + 1]
        cells[i + 1] = kept
    t.barrier.wait()
    after[t] = cells[i]


@faulty(
    "read-write",
    "Fields of one struct are written by one thread and read by another without a barrier.",
    race("moving", "VKA63"),
    lambda: launch(amp.extent(6).tile(3), numbers(6), zeros(6), expect=np.roll(numbers(2, 3) * 3, -1, 1).ravel()),
)
@amp.kernel
def neighbour_field_wrong(t, values, out):
    moving = amp.tile_static(3, Body)
    i = t.local[0]
    moving[i].place = values[t]  # and here
    moving[i].speed = values[t] * 2  # and here
    out[t] = moving[(i + 1) % 3].place + moving[(i + 1) % 3].speed  # fault


@mended
@amp.kernel
def neighbour_field(t, values, out):
    moving = amp.tile_static(3, Body)
    i = t.local[0]
    moving[i].place = values[t]
    moving[i].speed = values[t] * 2
    t.barrier.wait()
    out[t] = moving[(i + 1) % 3].place + moving[(i + 1) % 3].speed


@amp.struct
class Body:
    place: amp.int32
    speed: amp.int32


# -- atomics beside plain accesses ---------------------------------------------------------------------------------


@faulty(
    "atomic-plain",
    "One thread adds by a plain update what all others add atomically.",
    race("counter", "VKA63"),
    lambda: launch(amp.extent(10).tile(5), random_numbers(10), zeros(2), expect=random_numbers(2, 5).sum(1) + 1),
)
@amp.kernel
def one_adds_plainly_wrong(t, values, totals):
    counter = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        counter[0] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(counter[0], values[t])  # fault
    if t.local[0] == 4:
        counter[0] += 1  # fault
    t.barrier.wait()
    if t.local[0] == 0:
        totals[t.tile] = counter[0]


@mended
@amp.kernel
def one_adds_plainly(t, values, totals):
    counter = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        counter[0] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(counter[0], values[t])
    if t.local[0] == 4:
        amp.atomic_fetch_add(counter[0], 1)
    t.barrier.wait()
    if t.local[0] == 0:
        totals[t.tile] = counter[0]


@faulty(
    "atomic-plain",
    "The counter is cleared by a plain store, and other threads add to it before that.",
    race("counter", "VKA63"),
    lambda: launch(amp.extent(12).tile(4), numbers(12), zeros(3), expect=numbers(3, 4).sum(1)),
)
@amp.kernel
def clear_without_waiting_wrong(t, values, totals):
    counter = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        counter[0] = 0  # and here
    amp.atomic_fetch_add(counter[0], values[t])  # fault
    t.barrier.wait()
    if t.local[0] == 0:
        totals[t.tile] = counter[0]


@mended
@amp.kernel
def clear_without_waiting(t, values, totals):
    counter = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        counter[0] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(counter[0], values[t])
    t.barrier.wait()
    if t.local[0] == 0:
        totals[t.tile] = counter[0]


@faulty(
    "atomic-plain",
    "A thread that holds a maximum already stores it plainly, beside the others' atomics.",
    race("highest"),
    lambda: launch(amp.extent(14).tile(7), random_numbers(14), zeros(2), expect=random_numbers(2, 7).max(1)),
)
@amp.kernel
def plain_maximum_wrong(t, values, maxima):
    highest = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        highest[0] = -1
    t.barrier.wait()
    if values[t] > 90:
        highest[0] = values[t]  # fault
    else:
        amp.atomic_fetch_max(highest[0], values[t])  # and here
    t.barrier.wait()
    if t.local[0] == 0:
        maxima[t.tile] = highest[0]


@mended
@amp.kernel
def plain_maximum(t, values, maxima):
    highest = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        highest[0] = -1
    t.barrier.wait()
    # A plain read beside atomics is allowed: it saves most of the updates.
    if values[t] > highest[0]:
        amp.atomic_fetch_max(highest[0], values[t])
    t.barrier.wait()
    if t.local[0] == 0:
        maxima[t.tile] = highest[0]


# -- stencils over a tile ------------------------------------------------------------------------------------------


def blurred(values):
    padded = np.pad(values, 1).astype(F32)
    return (padded[:-2] + padded[1:-1] + padded[2:]) / F32(3)


@faulty(
    "stencil",
    "The halo is loaded, and the threads use it before the ones at the edges have stored it.",
    race("line", "VKA63"),
    lambda: launch(amp.extent(15).tile(5), random_floats(15), zeros(15, dtype=F32), expect=blurred(random_floats(15))),
)
@amp.kernel
def blur_wrong(t, values, out):
    line = amp.tile_static(7, amp.float32)
    i, k, n = t.local[0], t.global_[0], values.extent[0]
    line[i + 1] = values[t]  # and here
    if i == 0:
        line[0] = values[k - 1] if k > 0 else 0.0  # and here
    if i == 4:
        line[6] = values[k + 1] if k + 1 < n else 0.0  # and here
    out[t] = (line[i] + line[i + 1] + line[i + 2]) / 3  # fault


@mended
@amp.kernel
def blur(t, values, out):
    line = amp.tile_static(7, amp.float32)
    i, k, n = t.local[0], t.global_[0], values.extent[0]
    line[i + 1] = values[t]
    if i == 0:
        line[0] = values[k - 1] if k > 0 else 0.0
    if i == 4:
        line[6] = values[k + 1] if k + 1 < n else 0.0
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = (line[i] + line[i + 1] + line[i + 2]) / 3


@faulty(
    "stencil",
    "Each thread spreads its value to both sides, so that two threads add to the element between them.",
    race("line", "VKA63"),
    lambda: launch(
        amp.extent(8).tile(4),
        numbers(8),
        zeros(8),
        expect=(
            np.pad(numbers(2, 4), ((0, 0), (1, 1)))[:, :-2] + np.pad(numbers(2, 4), ((0, 0), (1, 1)))[:, 2:]
        ).ravel(),
    ),
)
@amp.kernel
def spread_wrong(t, values, out):
    line = amp.tile_static(6, amp.int32)
    i = t.local[0]
    line[i + 1] = 0
    if i == 0:
        line[0] = 0
        line[5] = 0
    t.barrier.wait()
    line[i] += values[t]  # and here
    line[i + 2] += values[t]  # fault
    t.barrier.wait()
    out[t] = line[i + 1]


@mended
@amp.kernel
def spread(t, values, out):
    line = amp.tile_static(6, amp.int32)
    i = t.local[0]
    line[i + 1] = 0
    if i == 0:
        line[0] = 0
        line[5] = 0
    t.barrier.wait()
    line[i] += values[t]
    t.barrier.wait()
    line[i + 2] += values[t]
    t.barrier.wait()
    out[t] = line[i + 1]


@faulty(
    "stencil",
    "The five-point average is written back into the tile that the neighbours average over.",
    race("cells", "VKA63"),
    lambda: launch(
        amp.extent(4, 5).tile(4, 5), numbers(4, 5), zeros(4, 5), expect=np.pad(numbers(4, 5)[1:-1, 1:-1] * 4, 1)
    ),
)
@amp.kernel
def cross_in_place_wrong(t, values, out):
    cells = amp.tile_static((4, 5), amp.int32)
    r, c = t.local[0], t.local[1]
    cells[r, c] = values[t]
    t.barrier.wait()
    inner = 0 < r and r < 3 and 0 < c and c < 4
    if inner:
        cells[r, c] = cells[r - 1, c] + cells[r + 1, c] + cells[r, c - 1] + cells[r, c + 1]  # fault
    t.barrier.wait()
    out[t] = cells[r, c] if inner else 0


@mended
@amp.kernel
def cross_in_place(t, values, out):
    cells = amp.tile_static((4, 5), amp.int32)
    r, c = t.local[0], t.local[1]
    cells[r, c] = values[t]
    t.barrier.wait()
    inner = 0 < r and r < 3 and 0 < c and c < 4
    total = 0
    if inner:
        total = cells[r - 1, c] + cells[r + 1, c] + cells[r, c - 1] + cells[r, c + 1]
    t.barrier.wait()
    cells[r, c] = total
    out[t] = cells[r, c]
