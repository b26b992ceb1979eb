"""Prefix sums, inclusive and exclusive."""

from __future__ import annotations

import vkamp as amp

from tools.kernels.corpus.registry import (
    bounds,
    divergence,
    faulty,
    launch,
    mended,
    numbers,
    race,
    random_numbers,
    zeros,
)

# -- Hillis and Steele's scan --------------------------------------------------------------------------------------


@faulty(
    "scan",
    "The scan has one buffer: a thread overwrites the element that its right neighbour is still to add.",
    race("sums", "VKA63"),
    lambda: launch(amp.extent(16).tile(8), numbers(16), zeros(16), expect=numbers(2, 8).cumsum(1).ravel()),
)
@amp.kernel
def scan_in_one_buffer_wrong(t, values, out):
    sums = amp.tile_static(8, amp.int32)
    i = t.local[0]
    sums[i] = values[t]
    t.barrier.wait()
    offset = 1
    while offset < 8:
        if i >= offset:
            sums[i] += sums[i - offset]  # fault
        t.barrier.wait()
        offset *= 2
    out[t] = sums[i]


@mended
@amp.kernel
def scan_in_one_buffer(t, values, out):
    sums = amp.tile_static(8, amp.int32)
    i = t.local[0]
    sums[i] = values[t]
    t.barrier.wait()
    offset = 1
    while offset < 8:
        left = sums[i - offset] if i >= offset else 0
        t.barrier.wait()
        sums[i] += left
        t.barrier.wait()
        offset *= 2
    out[t] = sums[i]


@faulty(
    "scan",
    "There are two buffers, and the barrier between the steps is missing.",
    race("sums", "VKA63"),
    lambda: launch(
        amp.extent(12).tile(6), random_numbers(12), zeros(12), expect=random_numbers(2, 6).cumsum(1).ravel()
    ),
)
@amp.kernel
def scan_in_two_buffers_wrong(t, values, out):
    sums = amp.tile_static((2, 6), amp.int32)
    i = t.local[0]
    now = 0
    sums[0, i] = values[t]
    t.barrier.wait()
    offset = 1
    while offset < 6:
        left = sums[now, i - offset] if i >= offset else 0  # fault
        sums[1 - now, i] = sums[now, i] + left  # and here
        now = 1 - now
        offset *= 2
    out[t] = sums[now, i]


@mended
@amp.kernel
def scan_in_two_buffers(t, values, out):
    sums = amp.tile_static((2, 6), amp.int32)
    i = t.local[0]
    now = 0
    sums[0, i] = values[t]
    t.barrier.wait()
    offset = 1
    while offset < 6:
        left = sums[now, i - offset] if i >= offset else 0
        sums[1 - now, i] = sums[now, i] + left
        now = 1 - now
        t.barrier.wait()
        offset *= 2
    out[t] = sums[now, i]


@faulty(
    "scan",
    "Only the threads that still add wait, so that those at the left miss the barriers.",
    divergence("VKA601"),
    lambda: launch(amp.extent(10).tile(5), numbers(10), zeros(10), expect=numbers(2, 5).cumsum(1).ravel()),
)
@amp.kernel
def scan_waits_in_guard_wrong(t, values, out):
    sums = amp.tile_static(5, amp.int32)
    i = t.local[0]
    sums[i] = values[t]
    t.barrier.wait()
    offset = 1
    while offset < 5:
        if i >= offset:  # and here
            left = sums[i - offset]
            t.barrier.wait()  # fault
            sums[i] += left
        t.barrier.wait()
        offset *= 2
    out[t] = sums[i]


@mended
@amp.kernel
def scan_waits_in_guard(t, values, out):
    sums = amp.tile_static(5, amp.int32)
    i = t.local[0]
    sums[i] = values[t]
    t.barrier.wait()
    offset = 1
    while offset < 5:
        left = 0
        if i >= offset:
            left = sums[i - offset]
        t.barrier.wait()
        sums[i] += left
        t.barrier.wait()
        offset *= 2
    out[t] = sums[i]


@faulty(
    "scan",
    "Without its guard, the threads at the left read before the first element.",
    bounds("sums"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(8), expect=numbers(2, 4).cumsum(1).ravel()),
)
@amp.kernel
def scan_without_guard_wrong(t, values, out):
    sums = amp.tile_static(4, amp.int32)
    i = t.local[0]
    sums[i] = values[t]
    t.barrier.wait()
    offset = 1
    while offset < 4:
        left = sums[i - offset]  # fault
        t.barrier.wait()
        sums[i] += left
        t.barrier.wait()
        offset *= 2
    out[t] = sums[i]


@mended
@amp.kernel
def scan_without_guard(t, values, out):
    sums = amp.tile_static(4, amp.int32)
    i = t.local[0]
    sums[i] = values[t]
    t.barrier.wait()
    offset = 1
    while offset < 4:
        left = sums[i - offset] if i >= offset else 0
        t.barrier.wait()
        sums[i] += left
        t.barrier.wait()
        offset *= 2
    out[t] = sums[i]


# -- Blelloch's scan -----------------------------------------------------------------------------------------------


def exclusive(rows):
    return rows.cumsum(1) - rows


@faulty(
    "scan",
    "The way down starts while the last thread has not yet cleared the root.",
    race("tree", "VKA63"),
    lambda: launch(amp.extent(16).tile(8), numbers(16), zeros(16), expect=exclusive(numbers(2, 8)).ravel()),
)
@amp.kernel
def up_and_down_wrong(t, values, out):
    tree = amp.tile_static(8, amp.int32)
    i = t.local[0]
    tree[i] = values[t]
    t.barrier.wait()
    stride = 1
    while stride < 8:
        last = (i + 1) * stride * 2 - 1
        if last < 8:
            tree[last] += tree[last - stride]
        t.barrier.wait()
        stride *= 2
    if i == 7:
        tree[7] = 0  # and here
    stride = 4
    while stride > 0:
        last = (i + 1) * stride * 2 - 1
        if last < 8:
            left = tree[last - stride]
            tree[last - stride] = tree[last]  # fault
            tree[last] += left  # fault
        t.barrier.wait()
        stride //= 2
    out[t] = tree[i]


@mended
@amp.kernel
def up_and_down(t, values, out):
    tree = amp.tile_static(8, amp.int32)
    i = t.local[0]
    tree[i] = values[t]
    t.barrier.wait()
    stride = 1
    while stride < 8:
        last = (i + 1) * stride * 2 - 1
        if last < 8:
            tree[last] += tree[last - stride]
        t.barrier.wait()
        stride *= 2
    if i == 7:
        tree[7] = 0
    t.barrier.wait()
    stride = 4
    while stride > 0:
        last = (i + 1) * stride * 2 - 1
        if last < 8:
            left = tree[last - stride]
            tree[last - stride] = tree[last]
            tree[last] += left
        t.barrier.wait()
        stride //= 2
    out[t] = tree[i]


@faulty(
    "scan",
    "The results are read before the last step of the way down is complete.",
    race("tree", "VKA63"),
    lambda: launch(amp.extent(8).tile(4), numbers(8) + 1, zeros(8), expect=exclusive(numbers(2, 4) + 1).ravel()),
)
@amp.kernel
def read_unfinished_tree_wrong(t, values, out):
    tree = amp.tile_static(4, amp.int32)
    i = t.local[0]
    tree[i] = values[t]
    t.barrier.wait()
    if i < 2:
        tree[2 * i + 1] += tree[2 * i]
    t.barrier.wait()
    if i == 0:
        tree[3] = tree[1]
        tree[1] = 0
    t.barrier.wait()
    if i < 2:
        left = tree[2 * i]  # and here
        tree[2 * i] = tree[2 * i + 1]  # fault
        tree[2 * i + 1] += left  # fault
    out[t] = tree[i]  # fault


@mended
@amp.kernel
def read_unfinished_tree(t, values, out):
    tree = amp.tile_static(4, amp.int32)
    i = t.local[0]
    tree[i] = values[t]
    t.barrier.wait()
    if i < 2:
        tree[2 * i + 1] += tree[2 * i]
    t.barrier.wait()
    if i == 0:
        tree[3] = tree[1]
        tree[1] = 0
    t.barrier.wait()
    if i < 2:
        left = tree[2 * i]
        tree[2 * i] = tree[2 * i + 1]
        tree[2 * i + 1] += left
    t.barrier.wait()
    out[t] = tree[i]


@faulty(
    "scan",
    "The offsets of the tiles are read while the one thread that scans them is at work.",
    race("offsets", "VKA63"),
    lambda: launch(
        amp.extent(12).tile(6),
        random_numbers(12, below=5),
        zeros(12),
        expect=exclusive(random_numbers(2, 6, below=5)).ravel(),
    ),
)
@amp.kernel
def offsets_by_one_thread_wrong(t, sizes, out):
    offsets = amp.tile_static(6, amp.int32)
    i = t.local[0]
    if i == 0:
        start = 0
        for k in range(6):
            offsets[k] = start  # and here
            start += sizes[t.tile_origin[0] + k]
    out[t] = offsets[i]  # fault


@mended
@amp.kernel
def offsets_by_one_thread(t, sizes, out):
    offsets = amp.tile_static(6, amp.int32)
    i = t.local[0]
    if i == 0:
        start = 0
        for k in range(6):
            offsets[k] = start
            start += sizes[t.tile_origin[0] + k]
    t.barrier.wait()
    out[t] = offsets[i]


@faulty(
    "scan",
    "The sums of the tiles are added to the next tile's elements in the same launch that computes them.",
    race("sums"),
    lambda: launch(
        amp.extent(8).tile(4), numbers(8), zeros(2), zeros(8), expect={1: [6, 22], 2: numbers(2, 4).cumsum(1).ravel()}
    ),
)
@amp.kernel
def carry_between_tiles_wrong(t, values, sums, out):
    total = 0
    for k in range(t.local[0] + 1):
        total += values[t.tile_origin[0] + k]
    if t.local[0] == 3:
        sums[t.tile] = total  # and here
    t.barrier.wait()
    for k in range(t.tile[0]):
        total += sums[k]  # fault
    out[t] = total


@mended
@amp.kernel
def carry_between_tiles(t, values, sums, out):
    total = 0
    for k in range(t.local[0] + 1):
        total += values[t.tile_origin[0] + k]
    if t.local[0] == 3:
        sums[t.tile] = total
    # Another launch adds the carries: between two launches everything is ordered.
    out[t] = total
