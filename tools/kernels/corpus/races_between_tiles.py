"""Races on containers between tiles, which nothing but atomics orders, and flags between tiles."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import faulty, launch, mended, numbers, race, zeros

# -- between tiles: nothing but atomics orders them ----------------------------------------------------------------


@faulty(
    "between tiles",
    "The first thread of every tile adds to one total without an atomic.",
    race("total"),
    lambda: launch(amp.extent(20).tile(5), numbers(20), zeros(1), expect=[190]),
)
@amp.kernel
def add_tiles_up_wrong(t, values, total):
    memory = amp.tile_static(5, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        subtotal = 0
        for i in range(5):
            subtotal += memory[i]
        total[0] += subtotal  # fault


@mended
@amp.kernel
def add_tiles_up(t, values, total):
    memory = amp.tile_static(5, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        subtotal = 0
        for i in range(5):
            subtotal += memory[i]
        amp.atomic_fetch_add(total[0], subtotal)


@faulty(
    "between tiles",
    "The tiles smooth a container in place, and read the elements at their edges that other tiles write.",
    race("values"),
    lambda: launch(amp.extent(12).tile(4), numbers(12), zeros(12), expect=np.convolve(numbers(12), [1, 1, 1])[:12]),
)
@amp.kernel
def smooth_in_place_wrong(t, values, out):
    k = t.global_[0]
    left = values[k - 1] if k > 0 else 0  # and here
    before = values[k - 2] if k > 1 else 0  # and here
    total = before + left + values[k]  # and here
    t.barrier.wait()
    values[k] = total  # fault
    out[k] = total


@mended
@amp.kernel
def smooth_in_place(t, values, out):
    k = t.global_[0]
    left = values[k - 1] if k > 0 else 0
    before = values[k - 2] if k > 1 else 0
    out[k] = before + left + values[k]


@faulty(
    "between tiles",
    "A barrier is for one tile: it does not make the results of other tiles visible.",
    race("sums"),
    lambda: launch(
        amp.extent(12).tile(4), numbers(12), zeros(3), zeros(12), expect={1: [6, 22, 38], 2: np.repeat([6, 22, 38], 4)}
    ),
)
@amp.kernel
def share_of_all_wrong(t, values, sums, out):
    if t.local[0] == 0:
        total = 0
        for i in range(4):
            total += values[t.global_[0] + i]
        sums[t.tile] = total  # and here
    t.barrier.wait()
    whole = 0
    for i in range(sums.extent[0]):
        whole += sums[i]  # fault
    out[t] = whole


@mended
@amp.kernel
def share_of_all(t, values, sums, out):
    if t.local[0] == 0:
        total = 0
        for i in range(4):
            total += values[t.global_[0] + i]
        sums[t.tile] = total
    t.barrier.wait()
    out[t] = sums[t.tile]


@faulty(
    "between tiles",
    "The blocks that the tiles write are one element too long, and overlap.",
    race("out"),
    lambda: launch(
        amp.extent(9).tile(3), numbers(9), zeros(12), expect=np.c_[numbers(3, 3), numbers(3, 3)[:, 0]].ravel()
    ),
)
@amp.kernel
def blocks_of_four_wrong(t, values, out):
    base = t.tile[0] * 3
    out[base + t.local[0]] = values[t]  # and here
    if t.local[0] == 0:
        out[base + 3] = values[t]  # fault


@mended
@amp.kernel
def blocks_of_four(t, values, out):
    base = t.tile[0] * 4
    out[base + t.local[0]] = values[t]
    if t.local[0] == 0:
        out[base + 3] = values[t]


@faulty(
    "between tiles",
    "The transposed tile goes to its own place instead of the mirrored one of a matrix that is no square.",
    race("out"),
    lambda: launch(amp.extent(4, 6).tile(2, 3), numbers(4, 6), zeros(6, 4), expect=numbers(4, 6).T),
)
@amp.kernel
def transposed_tiles_wrong(t, matrix, out):
    cells = amp.tile_static((2, 3), amp.int32)
    cells[t.local] = matrix[t]
    t.barrier.wait()
    row, col = t.local[0], t.local[1]
    out[t.tile_origin[0] + col, t.tile[1] * 2 + row] = cells[row, col]  # fault


@mended
@amp.kernel
def transposed_tiles(t, matrix, out):
    cells = amp.tile_static((2, 3), amp.int32)
    cells[t.local] = matrix[t]
    t.barrier.wait()
    row, col = t.local[0], t.local[1]
    out[t.tile_origin[1] + col, t.tile_origin[0] + row] = cells[row, col]


# -- flags between tiles -------------------------------------------------------------------------------------------


@faulty(
    "flag between tiles",
    "A tile looks whether the tile before it has finished: by a plain read of a flag that the other sets plainly.",
    race("done"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(2), zeros(2), expect={2: numbers(2, 4).sum(1)}),
)
@amp.kernel
def wait_for_last_tile_wrong(t, values, done, sums):
    if t.local[0] == 0:
        total = 0
        for i in range(4):
            total += values[t.global_[0] + i]
        sums[t.tile] = total
        tries = 0
        while t.tile[0] > 0 and done[t.tile[0] - 1] == 0 and tries < 10:  # fault
            tries += 1
        done[t.tile] = 1  # and here


@mended
@amp.kernel
def wait_for_last_tile(t, values, done, sums):
    if t.local[0] == 0:
        total = 0
        for i in range(4):
            total += values[t.global_[0] + i]
        sums[t.tile] = total
        amp.atomic_fetch_inc(done[t.tile])


@faulty(
    "flag between tiles",
    "The flag is atomic, but it orders nothing else: the data behind it are read and written plainly.",
    race("mailbox"),
    lambda: launch(amp.extent(6).tile(3), numbers(6) + 1, zeros(1), zeros(1), zeros(2), expect={1: [5], 3: [1, 4]}),
)
@amp.kernel
def message_behind_a_flag_wrong(t, values, mailbox, flag, out):
    if t.local[0] == 0:
        if t.tile[0] == 0:
            mailbox[0] = values[0] + values[3]  # and here
            amp.all_memory_fence(t.barrier)
            amp.atomic_exchange(flag[0], 1)
            out[0] = values[0]
        else:
            tries = 0
            while amp.atomic_fetch_or(flag[0], 0) == 0 and tries < 10:
                tries += 1
            out[1] = mailbox[0] - values[0]  # fault


@mended
@amp.kernel
def message_behind_a_flag(t, values, mailbox, flag, out):
    if t.local[0] == 0:
        amp.atomic_fetch_add(mailbox[0], values[t])
        amp.atomic_exchange(flag[0], 1)
        out[t.tile] = values[t]


@faulty(
    "flag between tiles",
    "The tile that comes last, by an atomic count, adds up what the others have stored plainly.",
    race("parts"),
    lambda: launch(amp.extent(12).tile(4), numbers(12), zeros(3), zeros(1), zeros(1), expect=[66]),
)
@amp.kernel
def last_tile_adds_wrong(t, values, parts, arrived, total):
    if t.local[0] == 0:
        part = 0
        for i in range(4):
            part += values[t.global_[0] + i]
        parts[t.tile] = part  # and here
        amp.global_memory_fence(t.barrier)
        if amp.atomic_fetch_inc(arrived[0]) == 2:
            whole = 0
            for i in range(3):
                whole += parts[i]  # fault
            total[0] = whole


@mended
@amp.kernel
def last_tile_adds(t, values, parts, arrived, total):
    if t.local[0] == 0:
        part = 0
        for i in range(4):
            part += values[t.global_[0] + i]
        parts[t.tile] = part
        amp.atomic_fetch_add(total[0], part)
        amp.atomic_fetch_inc(arrived[0])
