"""Two halves of a buffer that are used alternately."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import faulty, launch, mended, numbers, race, zeros

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
