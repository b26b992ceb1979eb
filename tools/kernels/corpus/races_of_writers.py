"""Several threads that write one element of tile_static memory."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import faulty, launch, mended, numbers, race, random_numbers, zeros

# -- several threads write one element -----------------------------------------------------------------------------


@faulty(
    "write-write",
    "All threads of the tile add to one element without an atomic, and lose each other's updates.",
    race("total", "VKA610"),
    lambda: launch(amp.extent(15).tile(5), numbers(15), zeros(3), expect=numbers(3, 5).sum(1)),
)
@amp.kernel
def count_up_wrong(t, values, totals):
    total = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        total[0] = 0
    t.barrier.wait()
    total[0] += values[t]  # fault
    t.barrier.wait()
    totals[t.tile] = total[0]


@mended
@amp.kernel
def count_up(t, values, totals):
    total = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        total[0] = 0
    t.barrier.wait()
    amp.atomic_fetch_add(total[0], values[t])
    t.barrier.wait()
    if t.local[0] == 0:
        totals[t.tile] = total[0]


@faulty(
    "write-write",
    "The product of the tile is updated by all its threads, and there is no atomic for it.",
    race("product", "VKA611"),
    lambda: launch(amp.extent(6).tile(3), numbers(6) + 1, zeros(2), expect=[6, 120]),
)
@amp.kernel
def product_of_tile_wrong(t, values, products):
    product = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        product[0] = 1
    t.barrier.wait()
    product[0] *= values[t]  # fault
    t.barrier.wait()
    if t.local[0] == 0:
        products[t.tile] = product[0]


@mended
@amp.kernel
def product_of_tile(t, values, products):
    factors = amp.tile_static(3, amp.int32)
    factors[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        products[t.tile] = factors[0] * factors[1] * factors[2]


@faulty(
    "write-write",
    "All threads of the tile store their own value into one element, and one of them stays.",
    race("last", "VKA620"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(8), expect=[3, 3, 3, 3, 7, 7, 7, 7]),
)
@amp.kernel
def last_of_tile_wrong(t, values, out):
    last = amp.tile_static(1, amp.int32)
    last[0] = values[t]  # fault
    t.barrier.wait()
    out[t] = last[0]


@mended
@amp.kernel
def last_of_tile(t, values, out):
    last = amp.tile_static(1, amp.int32)
    if t.local[0] == 3:
        last[0] = values[t]
    t.barrier.wait()
    out[t] = last[0]


@faulty(
    "write-write",
    "Two neighbours store into the element that their halved index names.",
    race("pairs", "VKA63"),
    lambda: launch(amp.extent(12).tile(6), numbers(12), zeros(2, 3), expect=numbers(2, 3, 2).sum(2)),
)
@amp.kernel
def sums_of_pairs_wrong(t, values, sums):
    pairs = amp.tile_static(3, amp.int32)
    pairs[t.local[0] // 2] = values[t] + values[t.global_[0] ^ 1]  # fault
    t.barrier.wait()
    if t.local[0] < 3:
        sums[t.tile[0], t.local[0]] = pairs[t.local[0]]


@mended
@amp.kernel
def sums_of_pairs(t, values, sums):
    pairs = amp.tile_static(3, amp.int32)
    if t.local[0] % 2 == 0:
        pairs[t.local[0] // 2] = values[t] + values[t.global_[0] ^ 1]
    t.barrier.wait()
    if t.local[0] < 3:
        sums[t.tile[0], t.local[0]] = pairs[t.local[0]]


@faulty(
    "write-write",
    "The index of a tile that is no square is made with the wrong side, so that two threads share an element.",
    race("flat", "VKA63"),
    lambda: launch(amp.extent(6, 5).tile(3, 5), numbers(6, 5), zeros(6, 5), expect=numbers(6, 5)[:, ::-1]),
)
@amp.kernel
def flattened_wrong(t, values, out):
    flat = amp.tile_static(15, amp.int32)
    row, col = t.local[0], t.local[1]
    flat[row * 3 + col] = values[t]  # fault
    t.barrier.wait()
    out[t] = flat[row * 3 + 4 - col]


@mended
@amp.kernel
def flattened(t, values, out):
    flat = amp.tile_static(15, amp.int32)
    row, col = t.local[0], t.local[1]
    flat[row * 5 + col] = values[t]
    t.barrier.wait()
    out[t] = flat[row * 5 + 4 - col]


@faulty(
    "write-write",
    "Each thread writes its element and the one after it, which is its neighbour's.",
    race("line", "VKA63"),
    lambda: launch(amp.extent(10).tile(5), numbers(10), zeros(10), expect=numbers(10) // 5 * 5 + 4),
)
@amp.kernel
def overlapping_stores_wrong(t, values, out):
    line = amp.tile_static(6, amp.int32)
    i = t.local[0]
    line[i] = values[t]  # and here
    line[i + 1] = values[t]  # fault
    t.barrier.wait()
    out[t] = line[5]


@mended
@amp.kernel
def overlapping_stores(t, values, out):
    line = amp.tile_static(6, amp.int32)
    i = t.local[0]
    line[i] = values[t]
    if i == 4:
        line[5] = values[t]
    t.barrier.wait()
    out[t] = line[5]


@faulty(
    "write-write",
    "Threads scatter to places that come from the data, and two of them may be equal.",
    race("slots"),
    lambda: launch(
        amp.extent(8).tile(4),
        np.array([2, 0, 2, 1, 3, 1, 0, 3], np.int32),
        zeros(8),
        expect=[0b0010, 0b1000, 0b0101, 0, 0b0100, 0b0010, 0, 0b1001],
    ),
)
@amp.kernel
def scatter_wrong(t, places, out):
    slots = amp.tile_static(4, amp.int32)
    slots[t.local] = 0
    t.barrier.wait()
    slots[places[t]] = 1 << t.local[0]  # fault
    t.barrier.wait()
    out[t] = slots[t.local]


@mended
@amp.kernel
def scatter(t, places, out):
    slots = amp.tile_static(4, amp.int32)
    slots[t.local] = 0
    t.barrier.wait()
    amp.atomic_fetch_or(slots[places[t]], 1 << t.local[0])
    t.barrier.wait()
    out[t] = slots[t.local]


# -- the same value, which looks harmless --------------------------------------------------------------------------


@faulty(
    "same value",
    "Every thread clears the counter: all write zero, and still nothing says who writes when.",
    race("counter", "VKA620"),
    lambda: launch(amp.extent(12).tile(4), random_numbers(12), zeros(3), expect=(random_numbers(3, 4) > 40).sum(1)),
)
@amp.kernel
def clear_by_all_wrong(t, values, counts):
    counter = amp.tile_static(1, amp.int32)
    counter[0] = 0  # fault
    t.barrier.wait()
    if values[t] > 40:
        amp.atomic_fetch_inc(counter[0])
    t.barrier.wait()
    if t.local[0] == 0:
        counts[t.tile] = counter[0]


@mended
@amp.kernel
def clear_by_all(t, values, counts):
    counter = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        counter[0] = 0
    t.barrier.wait()
    if values[t] > 40:
        amp.atomic_fetch_inc(counter[0])
    t.barrier.wait()
    if t.local[0] == 0:
        counts[t.tile] = counter[0]


@faulty(
    "same value",
    "Whichever threads see a large value raise the flag, all to one, and their plain stores are unordered.",
    race("found"),
    lambda: launch(amp.extent(9).tile(3), np.array([1, 9, 8, 0, 2, 3, 9, 9, 9], np.int32), zeros(3), expect=[1, 0, 1]),
)
@amp.kernel
def any_above_wrong(t, values, flags):
    found = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        found[0] = 0
    t.barrier.wait()
    if values[t] > 7:
        found[0] = 1  # fault
    t.barrier.wait()
    if t.local[0] == 0:
        flags[t.tile] = found[0]


@mended
@amp.kernel
def any_above(t, values, flags):
    found = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        found[0] = 0
    t.barrier.wait()
    if values[t] > 7:
        amp.atomic_fetch_or(found[0], 1)
    t.barrier.wait()
    if t.local[0] == 0:
        flags[t.tile] = found[0]
