"""Reductions over a tile, in the forms in which people write them."""

from __future__ import annotations

import vkamp as amp

from tools.kernels.corpus.registry import (
    F32,
    bounds,
    faulty,
    launch,
    mended,
    numbers,
    race,
    random_floats,
    random_numbers,
    uninitialised,
    zeros,
)

# -- trees of partial sums -----------------------------------------------------------------------------------------


@faulty(
    "reduction",
    "The halving loop has no barrier, so that a step adds sums that the last step has not stored yet.",
    race("partial", "VKA63"),
    lambda: launch(amp.extent(24).tile(8), numbers(24), zeros(3), expect=numbers(3, 8).sum(1)),
)
@amp.kernel
def halving_wrong(t, values, sums):
    partial = amp.tile_static(8, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    t.barrier.wait()
    stride = 4
    while stride > 0:
        if i < stride:
            partial[i] += partial[i + stride]  # fault
        stride //= 2
    if i == 0:
        sums[t.tile] = partial[0]


@mended
@amp.kernel
def halving(t, values, sums):
    partial = amp.tile_static(8, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    t.barrier.wait()
    stride = 4
    while stride > 0:
        if i < stride:
            partial[i] += partial[i + stride]
        t.barrier.wait()
        stride //= 2
    if i == 0:
        sums[t.tile] = partial[0]


@faulty(
    "reduction",
    "The guard lets one thread too many add, which changes an element that another thread is adding from.",
    race("partial", "VKA63"),
    lambda: launch(amp.extent(16).tile(8), numbers(16), zeros(2), expect=numbers(2, 8).sum(1)),
)
@amp.kernel
def halving_guard_wrong(t, values, sums):
    partial = amp.tile_static(16, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    partial[i + 8] = 0
    t.barrier.wait()
    stride = 4
    while stride > 0:
        if i <= stride:
            partial[i] += partial[i + stride]  # fault
        t.barrier.wait()
        stride //= 2
    if i == 0:
        sums[t.tile] = partial[0]


@mended
@amp.kernel
def halving_guard(t, values, sums):
    partial = amp.tile_static(16, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    partial[i + 8] = 0
    t.barrier.wait()
    stride = 4
    while stride > 0:
        if i < stride:
            partial[i] += partial[i + stride]
        t.barrier.wait()
        stride //= 2
    if i == 0:
        sums[t.tile] = partial[0]


@faulty(
    "reduction",
    "The doubling loop's guard tests the stride instead of twice it, and odd partners are summed too.",
    race("partial", "VKA63"),
    lambda: launch(amp.extent(32).tile(16), random_numbers(32), zeros(2), expect=random_numbers(2, 16).sum(1)),
)
@amp.kernel
def doubling_wrong(t, values, sums):
    partial = amp.tile_static(16, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    stride = 1
    while stride < 16:
        if i % stride == 0 and i + stride < 16:
            partial[i] += partial[i + stride]  # fault
        t.barrier.wait_with_tile_static_memory_fence()
        stride *= 2
    if i == 0:
        sums[t.tile] = partial[0]


@mended
@amp.kernel
def doubling(t, values, sums):
    partial = amp.tile_static(16, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    stride = 1
    while stride < 16:
        if i % (stride * 2) == 0:
            partial[i] += partial[i + stride]
        t.barrier.wait_with_tile_static_memory_fence()
        stride *= 2
    if i == 0:
        sums[t.tile] = partial[0]


@faulty(
    "reduction",
    "The tree is unrolled and drops its last barriers, as if few threads ran in step.",
    race("partial", "VKA63"),
    lambda: launch(amp.extent(16).tile(8), random_numbers(16), zeros(2), expect=random_numbers(2, 8).max(1)),
)
@amp.kernel
def last_steps_together_wrong(t, values, maxima):
    partial = amp.tile_static(8, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    t.barrier.wait()
    if i < 4:
        partial[i] = max(partial[i], partial[i + 4])  # fault
        if i < 2:
            partial[i] = max(partial[i], partial[i + 2])  # fault
        if i < 1:
            maxima[t.tile] = max(partial[i], partial[i + 1])  # fault


@mended
@amp.kernel
def last_steps_together(t, values, maxima):
    partial = amp.tile_static(8, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    t.barrier.wait()
    if i < 4:
        partial[i] = max(partial[i], partial[i + 4])
    t.barrier.wait()
    if i < 2:
        partial[i] = max(partial[i], partial[i + 2])
    t.barrier.wait()
    if i < 1:
        maxima[t.tile] = max(partial[i], partial[i + 1])


@faulty(
    "reduction",
    "The number of threads is no power of two: the middle element is added by no one, and its half reads beyond.",
    bounds("partial"),
    lambda: launch(amp.extent(14).tile(7), numbers(14), zeros(2), expect=numbers(2, 7).sum(1)),
)
@amp.kernel
def odd_halving_wrong(t, values, sums):
    partial = amp.tile_static(7, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    t.barrier.wait()
    half = (t.tile_dim0 + 1) // 2
    if i < half:
        partial[i] += partial[i + half]  # fault
    t.barrier.wait()
    if i == 0:
        sums[t.tile] = partial[0] + partial[1] + partial[2] + partial[3]


@mended
@amp.kernel
def odd_halving(t, values, sums):
    partial = amp.tile_static(7, amp.int32)
    i = t.local[0]
    partial[i] = values[t]
    t.barrier.wait()
    half = (t.tile_dim0 + 1) // 2
    if i + half < t.tile_dim0:
        partial[i] += partial[i + half]
    t.barrier.wait()
    if i == 0:
        sums[t.tile] = partial[0] + partial[1] + partial[2] + partial[3]


@faulty(
    "reduction",
    "Each thread sums up a stride of the data, and one of them combines before the others have stored.",
    race("partial", "VKA63"),
    lambda: launch(amp.extent(6).tile(6), random_floats(50), zeros(1, dtype=F32), expect=[random_floats(50).sum()]),
)
@amp.kernel
def strided_sum_wrong(t, values, total):
    partial = amp.tile_static(6, amp.float32)
    mine = 0.0
    for k in range(t.local[0], values.extent[0], t.tile_dim0):
        mine += values[k]
    partial[t.local] = mine  # and here
    if t.local[0] == 0:
        whole = 0.0
        for i in range(6):
            whole += partial[i]  # fault
        total[0] = whole


@mended
@amp.kernel
def strided_sum(t, values, total):
    partial = amp.tile_static(6, amp.float32)
    mine = 0.0
    for k in range(t.local[0], values.extent[0], t.tile_dim0):
        mine += values[k]
    partial[t.local] = mine
    t.barrier.wait()
    if t.local[0] == 0:
        whole = 0.0
        for i in range(6):
            whole += partial[i]
        total[0] = whole


@faulty(
    "reduction",
    "The threads of the padding contribute nothing, not even a zero, and what they left out is added.",
    uninitialised("partial"),
    lambda: launch(
        amp.extent(10).tile(8).pad(), numbers(10), zeros(2), expect=[numbers(10)[:8].sum(), numbers(10)[8:].sum()]
    ),
)
@amp.kernel
def padded_sum_wrong(t, values, sums):
    partial = amp.tile_static(8, amp.int32)
    i = t.local[0]
    if t.global_[0] < values.extent[0]:
        partial[i] = values[t]
    t.barrier.wait()
    stride = 4
    while stride > 0:
        if i < stride:
            partial[i] += partial[i + stride]  # fault
        t.barrier.wait()
        stride //= 2
    if i == 0:
        sums[t.tile] = partial[0]


@mended
@amp.kernel
def padded_sum(t, values, sums):
    partial = amp.tile_static(8, amp.int32)
    i = t.local[0]
    partial[i] = values[t] if t.global_[0] < values.extent[0] else 0
    t.barrier.wait()
    stride = 4
    while stride > 0:
        if i < stride:
            partial[i] += partial[i + stride]
        t.barrier.wait()
        stride //= 2
    if i == 0:
        sums[t.tile] = partial[0]


@faulty(
    "reduction",
    "The place of the maximum is kept in a second array, which is written beside a neighbour's read of it.",
    race("places", "VKA63"),
    lambda: launch(
        amp.extent(16).tile(8), random_numbers(16, seed=3), zeros(2), expect=random_numbers(2, 8, seed=3).argmax(1)
    ),
)
@amp.kernel
def place_of_maximum_wrong(t, values, out):
    places = amp.tile_static(8, amp.int32)
    i = t.local[0]
    origin = t.tile_origin[0]
    places[i] = i
    t.barrier.wait()
    for step in range(3):
        stride = 1 << step
        best = places[i]
        other = places[(i + stride) % 8]  # and here
        if values[origin + other] > values[origin + best]:
            best = other
        places[i] = best  # fault
        t.barrier.wait()
    if i == 0:
        out[t.tile] = places[0]


@mended
@amp.kernel
def place_of_maximum(t, values, out):
    places = amp.tile_static(8, amp.int32)
    i = t.local[0]
    origin = t.tile_origin[0]
    places[i] = i
    t.barrier.wait()
    for step in range(3):
        stride = 1 << step
        best = places[i]
        other = places[(i + stride) % 8]
        if values[origin + other] > values[origin + best]:
            best = other
        t.barrier.wait()
        places[i] = best
        t.barrier.wait()
    if i == 0:
        out[t.tile] = places[0]


@faulty(
    "reduction",
    "Rows of a tile are summed by their first threads, which start before the row is complete.",
    race("cells", "VKA63"),
    lambda: launch(amp.extent(4, 6).tile(2, 6), numbers(4, 6), zeros(4), expect=numbers(4, 6).sum(1)),
)
@amp.kernel
def sums_of_rows_wrong(t, matrix, sums):
    cells = amp.tile_static((2, 6), amp.int32)
    row = t.local[0]
    cells[t.local] = matrix[t]  # and here
    if t.local[1] == 0:
        total = 0
        for col in range(6):
            total += cells[row, col]  # fault
        sums[t.global_[0]] = total


@mended
@amp.kernel
def sums_of_rows(t, matrix, sums):
    cells = amp.tile_static((2, 6), amp.int32)
    row = t.local[0]
    cells[t.local] = matrix[t]
    t.barrier.wait()
    if t.local[1] == 0:
        total = 0
        for col in range(6):
            total += cells[row, col]
        sums[t.global_[0]] = total
