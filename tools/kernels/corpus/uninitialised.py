"""Reads of memory that nothing wrote: tile_static and private arrays, parts of them, and fields of structs."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    F32,
    faulty,
    launch,
    mended,
    numbers,
    random_floats,
    random_numbers,
    uninitialised,
    zeros,
)

# -- tile_static memory --------------------------------------------------------------------------------------------


@faulty(
    "uninitialised",
    "The counter is counted up from whatever it holds: tile_static memory does not begin as zero.",
    uninitialised("count"),
    lambda: launch(amp.extent(12).tile(4), random_numbers(12), zeros(3), expect=(random_numbers(3, 4) > 50).sum(1)),
)
@amp.kernel
def count_from_nothing_wrong(t, values, counts):
    count = amp.tile_static(1, amp.int32)
    if values[t] > 50:
        amp.atomic_fetch_inc(count[0])  # fault
    t.barrier.wait()
    if t.local[0] == 0:
        counts[t.tile] = count[0]  # fault


@mended
@amp.kernel
def count_from_nothing(t, values, counts):
    count = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        count[0] = 0
    t.barrier.wait()
    if values[t] > 50:
        amp.atomic_fetch_inc(count[0])
    t.barrier.wait()
    if t.local[0] == 0:
        counts[t.tile] = count[0]


@faulty(
    "uninitialised",
    "The table has more entries than the tile has threads, and each thread fills only one.",
    uninitialised("table"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(8), expect=[0, 4, 1, 5, 2, 6, 3, 7]),
)
@amp.kernel
def table_of_all_wrong(t, entries, out):
    table = amp.tile_static(8, amp.int32)
    table[t.local] = entries[t.local]
    t.barrier.wait()
    k = t.global_[0]
    out[t] = table[k // 2 + k % 2 * 4]  # fault


@mended
@amp.kernel
def table_of_all(t, entries, out):
    table = amp.tile_static(8, amp.int32)
    table[t.local] = entries[t.local]
    table[t.local[0] + 4] = entries[t.local[0] + 4]
    t.barrier.wait()
    k = t.global_[0]
    out[t] = table[k // 2 + k % 2 * 4]


@faulty(
    "uninitialised",
    "At the ends of the data the halo is left as it was.",
    uninitialised("line"),
    lambda: launch(
        amp.extent(9).tile(3), numbers(9), zeros(9), expect=np.convolve(np.pad(numbers(9), 1), [1, 1, 1], "valid")
    ),
)
@amp.kernel
def halo_at_the_ends_wrong(t, values, out):
    line = amp.tile_static(5, amp.int32)
    i, k, n = t.local[0], t.global_[0], values.extent[0]
    line[i + 1] = values[t]
    if i == 0 and k > 0:
        line[0] = values[k - 1]
    if i == 2 and k + 1 < n:
        line[4] = values[k + 1]
    t.barrier.wait()
    out[t] = line[i] + line[i + 1] + line[i + 2]  # fault


@mended
@amp.kernel
def halo_at_the_ends(t, values, out):
    line = amp.tile_static(5, amp.int32)
    i, k, n = t.local[0], t.global_[0], values.extent[0]
    line[i + 1] = values[t]
    if i == 0:
        line[0] = values[k - 1] if k > 0 else 0
    if i == 2:
        line[4] = values[k + 1] if k + 1 < n else 0
    t.barrier.wait()
    out[t] = line[i] + line[i + 1] + line[i + 2]


def maxima(values):
    """Of the first four and of the rest."""
    return [values[:4].max(), values[4:].max()]


@faulty(
    "uninitialised",
    "In the last tile only the threads within the data store, and all elements are compared.",
    uninitialised("row"),
    lambda: launch(amp.extent(7).tile(4).pad(), random_numbers(7), zeros(2), expect=maxima(random_numbers(7))),
)
@amp.kernel
def maximum_of_last_tile_wrong(t, values, maxima):
    row = amp.tile_static(4, amp.int32)
    if t.global_[0] < values.extent[0]:
        row[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        highest = row[0]
        for i in range(1, 4):
            highest = max(highest, row[i])  # fault
        maxima[t.tile] = highest


@mended
@amp.kernel
def maximum_of_last_tile(t, values, maxima):
    row = amp.tile_static(4, amp.int32)
    if t.global_[0] < values.extent[0]:
        row[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        highest = row[0]
        for i in range(1, min(4, values.extent[0] - t.global_[0])):
            highest = max(highest, row[i])
        maxima[t.tile] = highest


@faulty(
    "uninitialised",
    "Which elements are filled depends on the data, and one that was left out is read.",
    uninitialised("slots"),
    lambda: launch(amp.extent(5).tile(5), np.array([3, 0, 3, 1, 4], np.int32), zeros(5), expect=[1, 1, 0, 1, 1]),
)
@amp.kernel
def seen_slots_wrong(t, places, out):
    slots = amp.tile_static(5, amp.int32)
    amp.atomic_exchange(slots[places[t]], 1)
    t.barrier.wait()
    out[t] = slots[t.local]  # fault


@mended
@amp.kernel
def seen_slots(t, places, out):
    slots = amp.tile_static(5, amp.int32)
    slots[t.local] = 0
    t.barrier.wait()
    amp.atomic_exchange(slots[places[t]], 1)
    t.barrier.wait()
    out[t] = slots[t.local]


@faulty(
    "uninitialised",
    "The memory is the tile's: what another tile stored in it is not there.",
    uninitialised("seed"),
    lambda: launch(amp.extent(6).tile(3), numbers(6) + 2, zeros(6), expect=(numbers(6) + 2) * 2),
)
@amp.kernel
def first_tile_only_wrong(t, values, out):
    seed = amp.tile_static(1, amp.int32)
    if t.global_[0] == 0:
        seed[0] = values[0]
    t.barrier.wait()
    out[t] = values[t] * seed[0]  # fault


@mended
@amp.kernel
def first_tile_only(t, values, out):
    seed = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        seed[0] = values[0]
    t.barrier.wait()
    out[t] = values[t] * seed[0]


@faulty(
    "uninitialised",
    "A matrix in the tile's memory has a column of padding, which is summed with the rest.",
    uninitialised("cells"),
    lambda: launch(amp.extent(3, 4).tile(3, 4), numbers(3, 4), zeros(3), expect=[6, 22, 38]),
)
@amp.kernel
def padded_rows_wrong(t, matrix, sums):
    cells = amp.tile_static((3, 5), amp.int32)
    cells[t.local] = matrix[t]
    t.barrier.wait()
    if t.local[1] == 0:
        total = 0
        for col in range(5):
            total += cells[t.local[0], col]  # fault
        sums[t.global_[0]] = total


@mended
@amp.kernel
def padded_rows(t, matrix, sums):
    cells = amp.tile_static((3, 5), amp.int32)
    cells[t.local] = matrix[t]
    t.barrier.wait()
    if t.local[1] == 0:
        total = 0
        for col in range(4):
            total += cells[t.local[0], col]
        sums[t.global_[0]] = total


# -- private memory and variables ----------------------------------------------------------------------------------


@faulty(
    "uninitialised",
    "A private array is counted up without being cleared.",
    uninitialised("bins"),
    lambda: launch(
        amp.extent(3),
        random_numbers(3, 8, below=3),
        zeros(3, 3),
        expect=[np.bincount(row, minlength=3) for row in random_numbers(3, 8, below=3)],
    ),
)
@amp.kernel
def private_bins_wrong(i, values, counts):
    bins = amp.private(3, amp.int32)
    for k in range(8):
        bins[values[i[0], k]] += 1  # fault
    for k in range(3):
        counts[i[0], k] = bins[k]


@mended
@amp.kernel
def private_bins(i, values, counts):
    bins = amp.private(3, amp.int32)
    for k in range(3):
        bins[k] = 0
    for k in range(8):
        bins[values[i[0], k]] += 1
    for k in range(3):
        counts[i[0], k] = bins[k]


@faulty(
    "uninitialised",
    "The window is filled up to the value's end, and averaged over its whole length.",
    uninitialised("window"),
    lambda: launch(amp.extent(5), random_floats(5), zeros(5, dtype=F32), expect=last_three(random_floats(5))),
)
@amp.kernel
def short_window_wrong(i, values, out):
    window = amp.private(3, amp.float32)
    for k in range(3):
        if i[0] - k >= 0:
            window[k] = values[i[0] - k]
    out[i] = (window[0] + window[1] + window[2]) / 3  # fault


def last_three(values):
    padded = np.pad(values, (2, 0))
    return (padded[:-2] + padded[1:-1] + padded[2:]) / F32(3)


@mended
@amp.kernel
def short_window(i, values, out):
    window = amp.private(3, amp.float32)
    for k in range(3):
        window[k] = values[i[0] - k] if i[0] - k >= 0 else 0.0
    out[i] = (window[0] + window[1] + window[2]) / 3


@faulty(
    "uninitialised",
    "A variable gets its value on one way only: the compiler refuses to read it after that.",
    uninitialised("sign", "VKA202"),
    lambda: launch(amp.extent(5), numbers(5) - 2, zeros(5), expect=[-1, -1, 1, 1, 1]),
)
@amp.kernel
def sign_wrong(i, values, out):
    if values[i] < 0:
        sign = -1
    out[i] = sign  # fault


@mended
@amp.kernel
def sign(i, values, out):
    sign = 1
    if values[i] < 0:
        sign = -1
    out[i] = sign


# -- structs -------------------------------------------------------------------------------------------------------


@amp.struct
class Sample:
    value: amp.float32
    weight: amp.float32


@faulty(
    "uninitialised",
    "One field of the struct is set in the tile's memory, and both are read.",
    uninitialised("samples"),
    lambda: launch(amp.extent(6).tile(3), random_floats(6), zeros(6, dtype=F32), expect=random_floats(6) * 2),
)
@amp.kernel
def one_field_wrong(t, values, out):
    samples = amp.tile_static(3, Sample)
    samples[t.local].value = values[t]
    t.barrier.wait()
    sample = samples[t.local]
    out[t] = sample.value * sample.weight  # fault


@mended
@amp.kernel
def one_field(t, values, out):
    samples = amp.tile_static(3, Sample)
    samples[t.local].value = values[t]
    samples[t.local].weight = 2.0
    t.barrier.wait()
    sample = samples[t.local]
    out[t] = sample.value * sample.weight


@faulty(
    "uninitialised",
    "The first thread writes one field of the shared struct, and another field is used by all.",
    uninitialised("shared"),
    lambda: launch(amp.extent(4).tile(2), random_floats(4), zeros(4, dtype=F32), expect=random_floats(4) * 0.5),
)
@amp.kernel
def other_field_wrong(t, values, out):
    shared = amp.tile_static(1, Sample)
    if t.local[0] == 0:
        shared[0].value = 0.5
    t.barrier.wait()
    out[t] = values[t] * shared[0].weight  # fault


@mended
@amp.kernel
def other_field(t, values, out):
    shared = amp.tile_static(1, Sample)
    if t.local[0] == 0:
        shared[0].weight = 0.5
    t.barrier.wait()
    out[t] = values[t] * shared[0].weight


@faulty(
    "uninitialised",
    "Of a short vector in private memory one component is never set.",
    uninitialised("points"),
    lambda: launch(amp.extent(4), random_floats(4), zeros(4, dtype=F32), expect=random_floats(4) * 3),
)
@amp.kernel
def third_component_wrong(i, values, out):
    points = amp.private(2, amp.float3)
    points[1].x = values[i]
    points[1].y = values[i]
    out[i] = points[1].x + points[1].y + points[1].z  # fault


@mended
@amp.kernel
def third_component(i, values, out):
    points = amp.private(2, amp.float3)
    points[1].x = values[i]
    points[1].y = values[i]
    points[1].z = values[i]
    out[i] = points[1].x + points[1].y + points[1].z
