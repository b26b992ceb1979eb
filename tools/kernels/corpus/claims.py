"""Wrong assertions of ``amp.uniform``: the author asserts that a value is the same for a tile, and it is not."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import F32, divergence, faulty, launch, mended, numbers, uniformity, zeros


@faulty(
    "false claim",
    "The rounds are said to be the tile's, and are loaded for each thread.",
    uniformity(),
    lambda: launch(amp.extent(6).tile(3), np.array([2, 2, 1, 3, 3, 3], np.int32), zeros(6), expect=[2, 2, 2, 3, 3, 3]),
)
@amp.kernel
def rounds_of_thread_wrong(t, rounds, out):
    for _round in range(amp.uniform(rounds[t])):  # fault
        out[t] += 1
        t.barrier.wait()


@mended
@amp.kernel
def rounds_of_thread(t, rounds, out):
    for _round in range(amp.uniform(rounds[t.tile_origin])):
        out[t] += 1
        t.barrier.wait()


@faulty(
    "false claim",
    "One thread of the tile stands in the padding, and answers otherwise than the rest.",
    uniformity(),
    lambda: launch(amp.extent(7).tile(4).pad(), numbers(7), zeros(7), expect=[3, 2, 1, 0, 4, 5, 6]),
)
@amp.kernel
def whole_tile_wrong(t, values, out):
    row = amp.tile_static(4, amp.int32)
    n = values.extent[0]
    k = t.global_[0]
    if k < n:
        row[t.local] = values[t]
    if amp.uniform(k < n):  # fault
        t.barrier.wait()
        out[t] = row[3 - t.local[0]]  # and then


@mended
@amp.kernel
def whole_tile(t, values, out):
    row = amp.tile_static(4, amp.int32)
    n = values.extent[0]
    k = t.global_[0]
    if k < n:
        row[t.local] = values[t]
    if amp.uniform(t.tile_origin[0] + 4 <= n):
        t.barrier.wait()
        out[t] = row[3 - t.local[0]]
    elif k < n:
        out[t] = row[t.local]


@faulty(
    "false claim",
    "Whether a thread is done is said to be the tile's answer, before the answers were combined.",
    uniformity(),
    lambda: launch(amp.extent(8).tile(4), numbers(8) % 4, zeros(8), expect=[3] * 8),
)
@amp.kernel
def all_done_wrong(t, work, rounds):
    left = work[t]
    while amp.uniform(left > 0):  # fault
        rounds[t] += 1
        left -= 1
        t.barrier.wait()


@mended
@amp.kernel
def all_done(t, work, rounds):
    busy = amp.tile_static(1, amp.int32)
    left = work[t]
    again = True
    while again:
        if t.local[0] == 0:
            busy[0] = 0
        t.barrier.wait()
        if left > 0:
            amp.atomic_fetch_or(busy[0], 1)
        left -= 1
        t.barrier.wait()
        again = amp.uniform(busy[0] == 1)
        if again:
            rounds[t] += 1
        t.barrier.wait()


@faulty(
    "false claim",
    "The result of an atomic is a ticket, another one for each thread.",
    uniformity(),
    lambda: launch(amp.extent(6).tile(3), zeros(2), zeros(6), expect={0: [3, 3], 1: [3] * 6}),
)
@amp.kernel
def ticket_wrong(t, counts, out):
    ticket = amp.uniform(amp.atomic_fetch_inc(counts[t.tile]))  # fault
    if ticket < 5:
        t.barrier.wait()
    out[t] = counts[t.tile]


@mended
@amp.kernel
def ticket(t, counts, out):
    amp.atomic_fetch_inc(counts[t.tile])
    t.barrier.wait()
    count = amp.uniform(counts[t.tile])
    if count < 5:
        t.barrier.wait()
    out[t] = count


@faulty(
    "false claim",
    "The floats are equal but for rounding, which is not equal.",
    uniformity(),
    lambda: launch(amp.extent(4).tile(2), np.array([0.5, 0.5, 1.0, 2.0], F32), zeros(4), expect=[1, 1, 0, 0]),
)
@amp.kernel
def nearly_equal_wrong(t, values, out):
    limit = amp.uniform(values[t.tile_origin] + t.local[0] * 1e-6)  # fault
    if limit < 0.75:
        t.barrier.wait()
        out[t] = 1


@mended
@amp.kernel
def nearly_equal(t, values, out):
    limit = amp.uniform(values[t.tile_origin])
    if limit < 0.75:
        t.barrier.wait()
        out[t] = 1


@faulty(
    "false claim",
    "The claim holds in the first rounds, and later the threads have gone apart.",
    uniformity(),
    lambda: launch(amp.extent(6).tile(3), numbers(6), zeros(6), expect=[4] * 6),
)
@amp.kernel
def later_rounds_wrong(t, values, out):
    state = 0
    for k in range(4):
        if amp.uniform(state) < 100:  # fault
            t.barrier.wait()
        out[t] += 1
        if k == 2:
            state += values[t]


@mended
@amp.kernel
def later_rounds(t, values, out):
    state = 0
    for k in range(4):
        if amp.uniform(state) < 100:
            t.barrier.wait()
        out[t] += 1
        if k == 2:
            state += values[t.tile_origin]


@amp.func
def claimed_row(values, k):
    return amp.uniform(values[k])  # fault


@faulty(
    "false claim",
    "A function makes the claim for its argument, and is called with the thread's own.",
    uniformity(),
    lambda: launch(amp.extent(4).tile(2), numbers(4), zeros(4), expect=[0, 0, 2, 2]),
)
@amp.kernel
def claim_in_function_wrong(t, values, out):
    if claimed_row(values, t.global_[0]) >= 0:
        t.barrier.wait()
    out[t] = values[t.tile_origin]


@mended
@amp.kernel
def claim_in_function(t, values, out):
    row = claimed_row(values, t.tile_origin[0])
    if row >= 0:
        t.barrier.wait()
    out[t] = row


@faulty(
    "false claim",
    "A claim where only some threads of the tile are says nothing about the tile.",
    divergence("VKA606"),
    lambda: launch(amp.extent(6).tile(3), numbers(6), zeros(6), expect=[0, 0, 0, 3, 3, 3]),
)
@amp.kernel
def claim_of_some_wrong(t, values, out):
    first = 0
    if t.local[0] < 2:  # and here
        first = amp.uniform(values[t.tile_origin])  # fault
    out[t] = first


@mended
@amp.kernel
def claim_of_some(t, values, out):
    first = amp.uniform(values[t.tile_origin])
    if first >= 0:
        t.barrier.wait()
    out[t] = first
