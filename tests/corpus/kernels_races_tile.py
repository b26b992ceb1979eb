"""Races on tile_static memory that no barrier is missing for: the wrong elements, or too many writers."""

from __future__ import annotations

import numpy as np
import vkamp as amp
from tests.corpus.registry import F32, faulty, launch, mended, numbers, race, random_floats, random_numbers, zeros

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
