"""Barriers that are missing, or that order the wrong memory."""

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

# -- no barrier between filling tile_static memory and using it ----------------------------------------------------


@faulty(
    "missing first barrier",
    "A thread reads the other end of its tile, which its owner may not have filled yet.",
    race("memory", "VKA63"),
    lambda: launch(amp.extent(21).tile(7), numbers(21), zeros(21), expect=numbers(3, 7)[:, ::-1].ravel()),
)
@amp.kernel
def reverse_tiles_wrong(t, values, out):
    memory = amp.tile_static(7, amp.int32)
    memory[t.local] = values[t]  # and here
    out[t] = memory[6 - t.local[0]]  # fault


@mended
@amp.kernel
def reverse_tiles(t, values, out):
    memory = amp.tile_static(7, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = memory[6 - t.local[0]]


def averages(matrix, rows, cols):
    height, width = matrix.shape
    return matrix.reshape(height // rows, rows, width // cols, cols).mean((1, 3), dtype=F32)


@faulty(
    "missing first barrier",
    "The first thread of a tile adds up values that the others have not stored yet.",
    race("tile_values", "VKA63"),
    lambda: launch(
        amp.extent(6, 10).tile(2, 5),
        random_floats(6, 10),
        zeros(3, 2, dtype=F32),
        expect=averages(random_floats(6, 10), 2, 5),
    ),
)
@amp.kernel
def tile_average_wrong(t, matrix, averages):
    tile_values = amp.tile_static(t.tile_extent, amp.float32)
    tile_values[t.local] = matrix[t]  # and here
    if t.local == (0, 0):
        total = 0.0
        for row in range(t.tile_dim0):
            for col in range(t.tile_dim1):
                total += tile_values[row, col]  # fault
        averages[t.tile] = total / (t.tile_dim0 * t.tile_dim1)


@mended
@amp.kernel
def tile_average(t, matrix, averages):
    tile_values = amp.tile_static(t.tile_extent, amp.float32)
    tile_values[t.local] = matrix[t]
    t.barrier.wait_with_tile_static_memory_fence()
    if t.local == (0, 0):
        total = 0.0
        for row in range(t.tile_dim0):
            for col in range(t.tile_dim1):
                total += tile_values[row, col]
        averages[t.tile] = total / (t.tile_dim0 * t.tile_dim1)


@faulty(
    "missing first barrier",
    "One thread computes what all need, and the others use it without waiting for it.",
    race("origin", "VKA63"),
    lambda: launch(amp.extent(18).tile(6), numbers(18), zeros(18), expect=numbers(18) % 6),
)
@amp.kernel
def subtract_first_wrong(t, values, out):
    origin = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        origin[0] = values[t]  # and here
    out[t] = values[t] - origin[0]  # fault


@mended
@amp.kernel
def subtract_first(t, values, out):
    origin = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        origin[0] = values[t]
    t.barrier.wait()
    out[t] = values[t] - origin[0]


@amp.func
def store_square(t, memory, value):
    memory[t.local] = value * value  # and here


@faulty(
    "missing first barrier",
    "A function fills the tile's memory, and its caller reads a neighbour's element without a barrier.",
    race("memory", "VKA63"),
    lambda: launch(amp.extent(15).tile(5), numbers(15), zeros(15), expect=np.roll(numbers(3, 5) ** 2, -1, 1).ravel()),
)
@amp.kernel
def square_of_next_wrong(t, values, out):
    memory = amp.tile_static(5, amp.int32)
    store_square(t, memory, values[t])
    out[t] = memory[(t.local[0] + 1) % 5]  # fault


@mended
@amp.kernel
def square_of_next(t, values, out):
    memory = amp.tile_static(5, amp.int32)
    store_square(t, memory, values[t])
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = memory[(t.local[0] + 1) % 5]


@faulty(
    "missing first barrier",
    "The table is filled by a loop over a stride, and looked up at once at places that other threads fill.",
    race("table"),
    lambda: launch(
        amp.extent(16).tile(8),
        random_numbers(20, below=50),
        random_numbers(16, below=20, seed=1),
        zeros(16),
        expect=random_numbers(20, below=50)[random_numbers(16, below=20, seed=1)],
    ),
)
@amp.kernel
def look_up_wrong(t, entries, keys, out):
    table = amp.tile_static(20, amp.int32)
    for k in range(t.local[0], 20, t.tile_dim0):
        table[k] = entries[k]  # and here
    out[t] = table[keys[t]]  # fault


@mended
@amp.kernel
def look_up(t, entries, keys, out):
    table = amp.tile_static(20, amp.int32)
    for k in range(t.local[0], 20, t.tile_dim0):
        table[k] = entries[k]
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = table[keys[t]]


# -- no barrier before tile_static memory is filled anew -----------------------------------------------------------


@faulty(
    "missing second barrier",
    "A quick thread refills the chunk while a slow one still adds up the last.",
    race("chunk", "VKA63"),
    lambda: launch(amp.extent(4).tile(4), numbers(20), zeros(4), expect=np.full(4, 190)),
)
@amp.kernel
def sum_in_chunks_wrong(t, values, out):
    chunk = amp.tile_static(4, amp.int32)
    total = 0
    for k in range(5):
        chunk[t.local] = values[k * 4 + t.local[0]]  # fault
        t.barrier.wait_with_tile_static_memory_fence()
        for i in range(4):
            total += chunk[i]  # and here
    out[t] = total


@mended
@amp.kernel
def sum_in_chunks(t, values, out):
    chunk = amp.tile_static(4, amp.int32)
    total = 0
    for k in range(5):
        chunk[t.local] = values[k * 4 + t.local[0]]
        t.barrier.wait_with_tile_static_memory_fence()
        for i in range(4):
            total += chunk[i]
        t.barrier.wait_with_tile_static_memory_fence()
    out[t] = total


@faulty(
    "missing second barrier",
    "The number of chunks comes with the launch, and each pass overwrites what the last still reads.",
    race("chunk", "VKA63"),
    lambda: launch(amp.extent(6).tile(3), numbers(12), 4, zeros(6), expect=np.full(6, 66)),
)
@amp.kernel
def sum_of_chunks_wrong(t, values, chunks, out):
    chunk = amp.tile_static(3, amp.int32)
    total = 0
    k = 0
    while k < chunks:
        chunk[t.local] = values[k * 3 + t.local[0]]  # fault
        t.barrier.wait()
        total += chunk[0] + chunk[1] + chunk[2]  # and here
        k += 1
    out[t] = total


@mended
@amp.kernel
def sum_of_chunks(t, values, chunks, out):
    chunk = amp.tile_static(3, amp.int32)
    total = 0
    k = 0
    while k < chunks:
        chunk[t.local] = values[k * 3 + t.local[0]]
        t.barrier.wait()
        total += chunk[0] + chunk[1] + chunk[2]
        t.barrier.wait()
        k += 1
    out[t] = total


@faulty(
    "missing second barrier",
    "The first thread announces the next round's pivot while others still use this round's.",
    race("pivot", "VKA63"),
    lambda: launch(
        amp.extent(5).tile(5),
        numbers(15),
        zeros(5),
        expect=sum(np.arange(r * 5, r * 5 + 5) * (r * 5 + 2) for r in range(3)),
    ),
)
@amp.kernel
def pivots_wrong(t, values, out):
    pivot = amp.tile_static(1, amp.int32)
    total = 0
    for r in range(3):
        if t.local[0] == 0:
            pivot[0] = values[r * 5 + 2]  # fault
        t.barrier.wait_with_tile_static_memory_fence()
        total += values[r * 5 + t.local[0]] * pivot[0]  # and here
    out[t] = total


@mended
@amp.kernel
def pivots(t, values, out):
    pivot = amp.tile_static(1, amp.int32)
    total = 0
    for r in range(3):
        if t.local[0] == 0:
            pivot[0] = values[r * 5 + 2]
        t.barrier.wait_with_tile_static_memory_fence()
        total += values[r * 5 + t.local[0]] * pivot[0]
        t.barrier.wait_with_tile_static_memory_fence()
    out[t] = total


@faulty(
    "missing second barrier",
    "A barrier stands only before the loop, and from the second round on nothing waits.",
    race("cells", "VKA63"),
    lambda: launch(amp.extent(12).tile(6), numbers(12), zeros(12), expect=np.roll(numbers(2, 6), -3, 1).ravel()),
)
@amp.kernel
def rotate_three_times_wrong(t, values, out):
    cells = amp.tile_static(6, amp.int32)
    i = t.local[0]
    cells[i] = values[t]
    t.barrier.wait()
    for _step in range(3):
        got = cells[(i + 1) % 6]  # and here
        cells[i] = got  # fault
    out[t] = cells[i]


@mended
@amp.kernel
def rotate_three_times(t, values, out):
    cells = amp.tile_static(6, amp.int32)
    i = t.local[0]
    cells[i] = values[t]
    t.barrier.wait()
    for _step in range(3):
        got = cells[(i + 1) % 6]
        t.barrier.wait()
        cells[i] = got
        t.barrier.wait()
    out[t] = cells[i]
