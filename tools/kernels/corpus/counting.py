"""Histograms, and queues filled through an atomic counter."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    bounds,
    faulty,
    launch,
    mended,
    numbers,
    race,
    random_numbers,
    uninitialised,
    zeros,
)

# -- histograms ----------------------------------------------------------------------------------------------------


@faulty(
    "histogram",
    "Two threads may count into one bin at once, and the update is no atomic.",
    race("bins"),
    lambda: launch(
        amp.extent(30).tile(6),
        random_numbers(30, below=4),
        zeros(5, 4),
        expect=[np.bincount(row, minlength=4) for row in random_numbers(5, 6, below=4)],
    ),
)
@amp.kernel
def bins_of_tile_wrong(t, values, counts):
    bins = amp.tile_static(4, amp.int32)
    i = t.local[0]
    if i < 4:
        bins[i] = 0
    t.barrier.wait()
    bins[values[t]] += 1  # fault
    t.barrier.wait()
    if i < 4:
        counts[t.tile[0], i] = bins[i]


@mended
@amp.kernel
def bins_of_tile(t, values, counts):
    bins = amp.tile_static(4, amp.int32)
    i = t.local[0]
    if i < 4:
        bins[i] = 0
    t.barrier.wait()
    amp.atomic_fetch_inc(bins[values[t]])
    t.barrier.wait()
    if i < 4:
        counts[t.tile[0], i] = bins[i]


@faulty(
    "histogram",
    "Bins are counted by a remainder of the index, which two threads share.",
    race("bins", "VKA63"),
    lambda: launch(amp.extent(12).tile(6), zeros(2, 4), expect=[[2, 2, 1, 1], [2, 2, 1, 1]]),
)
@amp.kernel
def bins_by_remainder_wrong(t, counts):
    bins = amp.tile_static(4, amp.int32)
    i = t.local[0]
    if i < 4:
        bins[i] = 0
    t.barrier.wait()
    bins[i % 4] += 1  # fault
    t.barrier.wait()
    if i < 4:
        counts[t.tile[0], i] = bins[i]


@mended
@amp.kernel
def bins_by_remainder(t, counts):
    bins = amp.tile_static(4, amp.int32)
    i = t.local[0]
    if i < 4:
        bins[i] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(bins[i % 4], 1)
    t.barrier.wait()
    if i < 4:
        counts[t.tile[0], i] = bins[i]


@faulty(
    "histogram",
    "The bins are counted into while the threads that clear them are still at work.",
    race("bins"),
    lambda: launch(
        amp.extent(16).tile(8),
        random_numbers(16, below=8),
        zeros(8),
        expect=np.bincount(random_numbers(16, below=8), minlength=8),
    ),
)
@amp.kernel
def bins_cleared_late_wrong(t, values, counts):
    bins = amp.tile_static(8, amp.int32)
    bins[t.local] = 0  # and here
    amp.atomic_fetch_inc(bins[values[t]])  # fault
    t.barrier.wait()
    amp.atomic_fetch_add(counts[t.local], bins[t.local])


@mended
@amp.kernel
def bins_cleared_late(t, values, counts):
    bins = amp.tile_static(8, amp.int32)
    bins[t.local] = 0
    t.barrier.wait()
    amp.atomic_fetch_inc(bins[values[t]])
    t.barrier.wait()
    amp.atomic_fetch_add(counts[t.local], bins[t.local])


@faulty(
    "histogram",
    "The tiles' histograms are added up in a container by plain updates.",
    race("counts"),
    lambda: launch(
        amp.extent(18).tile(6),
        random_numbers(18, below=6),
        zeros(6),
        expect=np.bincount(random_numbers(18, below=6), minlength=6),
    ),
)
@amp.kernel
def merge_plainly_wrong(t, values, counts):
    bins = amp.tile_static(6, amp.int32)
    bins[t.local] = 0
    t.barrier.wait()
    amp.atomic_fetch_inc(bins[values[t]])
    t.barrier.wait()
    counts[t.local] += bins[t.local]  # fault


@mended
@amp.kernel
def merge_plainly(t, values, counts):
    bins = amp.tile_static(6, amp.int32)
    bins[t.local] = 0
    t.barrier.wait()
    amp.atomic_fetch_inc(bins[values[t]])
    t.barrier.wait()
    amp.atomic_fetch_add(counts[t.local], bins[t.local])


@faulty(
    "histogram",
    "A value above the last bin's border names a bin that is not there.",
    bounds("counts"),
    lambda: launch(
        amp.extent(10), np.array([0, 9, 11, 25, 29, 30, 31, 35, 39, 40], np.int32), zeros(4), expect=[2, 1, 2, 5]
    ),
)
@amp.kernel
def bin_of_border_wrong(i, values, counts):
    amp.atomic_fetch_inc(counts[values[i] // 10])  # fault


@mended
@amp.kernel
def bin_of_border(i, values, counts):
    amp.atomic_fetch_inc(counts[min(values[i] // 10, 3)])


# -- queues --------------------------------------------------------------------------------------------------------


@faulty(
    "queue",
    "The place in the queue is read and raised in two steps, so that two threads get one place.",
    race("length", "VKA63"),
    lambda: launch(amp.extent(8).tile(8), numbers(8), zeros(1), expect=[4]),
)
@amp.kernel
def place_in_two_steps_wrong(t, values, count):
    queue = amp.tile_static(8, amp.int32)
    length = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        length[0] = 0
    t.barrier.wait()
    if t.local[0] % 2 == 1:
        place = length[0]  # fault
        length[0] = place + 1  # fault
        queue[place] = values[t]  # and then
    t.barrier.wait()
    if t.local[0] == 0:
        count[0] = length[0]


@mended
@amp.kernel
def place_in_two_steps(t, values, count):
    queue = amp.tile_static(8, amp.int32)
    length = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        length[0] = 0
    t.barrier.wait()
    if t.local[0] % 2 == 1:
        place = amp.atomic_fetch_inc(length[0])
        queue[place] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        count[0] = length[0]


@faulty(
    "queue",
    "More threads have work than the queue has places.",
    bounds("queue"),
    lambda: launch(amp.extent(12).tile(6), numbers(12), zeros(2, 4), zeros(2), expect={2: [4, 4]}),
)
@amp.kernel
def full_queue_wrong(t, values, out, counts):
    queue = amp.tile_static(4, amp.int32)
    length = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        length[0] = 0
    t.barrier.wait()
    queue[amp.atomic_fetch_inc(length[0])] = values[t]  # fault
    t.barrier.wait()
    if t.local[0] < 4:
        out[t.tile[0], t.local[0]] = queue[t.local]
    if t.local[0] == 0:
        counts[t.tile] = length[0]


@mended
@amp.kernel
def full_queue(t, values, out, counts):
    queue = amp.tile_static(4, amp.int32)
    length = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        length[0] = 0
    t.barrier.wait()
    place = amp.atomic_fetch_inc(length[0])
    if place < 4:
        queue[place] = values[t]
    t.barrier.wait()
    if t.local[0] < 4:
        out[t.tile[0], t.local[0]] = queue[t.local]
    if t.local[0] == 0:
        counts[t.tile] = min(length[0], 4)


@faulty(
    "queue",
    "The consumers take their places in the queue at once, and the producers may not have stored there yet.",
    race("queue"),
    lambda: launch(amp.extent(6).tile(6), numbers(6) + 1, zeros(1), expect=[1 + 3 + 5]),
)
@amp.kernel
def take_at_once_wrong(t, values, total):
    queue = amp.tile_static(3, amp.int32)
    ends = amp.tile_static(2, amp.int32)
    if t.local[0] < 2:
        ends[t.local] = 0
    t.barrier.wait()
    if t.local[0] % 2 == 0:
        queue[amp.atomic_fetch_inc(ends[0])] = values[t]  # and here
    else:
        amp.atomic_fetch_add(total[0], queue[amp.atomic_fetch_inc(ends[1])])  # fault


@mended
@amp.kernel
def take_at_once(t, values, total):
    queue = amp.tile_static(3, amp.int32)
    ends = amp.tile_static(2, amp.int32)
    if t.local[0] < 2:
        ends[t.local] = 0
    t.barrier.wait()
    if t.local[0] % 2 == 0:
        queue[amp.atomic_fetch_inc(ends[0])] = values[t]
    t.barrier.wait()
    if t.local[0] % 2 == 1:
        amp.atomic_fetch_add(total[0], queue[amp.atomic_fetch_inc(ends[1])])


@faulty(
    "queue",
    "All places of the queue are read, and only as many are written as there was work.",
    uninitialised("queue"),
    lambda: launch(amp.extent(8).tile(8), numbers(8), zeros(1), expect=[0 + 3 + 6]),
)
@amp.kernel
def read_empty_places_wrong(t, values, total):
    queue = amp.tile_static(8, amp.int32)
    length = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        length[0] = 0
    t.barrier.wait()
    if values[t] % 3 == 0:
        queue[amp.atomic_fetch_inc(length[0])] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        whole = 0
        for k in range(8):
            whole += queue[k]  # fault
        total[0] = whole


@mended
@amp.kernel
def read_empty_places(t, values, total):
    queue = amp.tile_static(8, amp.int32)
    length = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        length[0] = 0
    t.barrier.wait()
    if values[t] % 3 == 0:
        queue[amp.atomic_fetch_inc(length[0])] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        whole = 0
        for k in range(length[0]):
            whole += queue[k]
        total[0] = whole


@faulty(
    "queue",
    "A global queue's places are given out by an atomic, and its length is reset by a plain store meanwhile.",
    race("length"),
    lambda: launch(amp.extent(9).tile(3), numbers(9), zeros(9), zeros(1), expect={2: [9]}),
)
@amp.kernel
def reset_by_one_tile_wrong(t, values, queue, length):
    if t.global_[0] == 0:
        length[0] = 0  # and here
    t.barrier.wait()
    queue[amp.atomic_fetch_inc(length[0])] = values[t]  # fault


@mended
@amp.kernel
def reset_by_one_tile(t, values, queue, length):
    queue[amp.atomic_fetch_inc(length[0])] = values[t]
