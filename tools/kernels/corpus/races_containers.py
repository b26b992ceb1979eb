"""Races on containers: between threads without tiles, in memory that views share, between neighbours of a tile."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import faulty, launch, mended, numbers, race, random_numbers, zeros

# -- between threads without tiles ---------------------------------------------------------------------------------


@faulty(
    "between threads without tiles",
    "Every thread adds its element to one total without an atomic.",
    race("total", "VKA610"),
    lambda: launch(amp.extent(11), numbers(11), zeros(1), expect=[55]),
)
@amp.kernel
def total_wrong(i, values, total):
    total[0] += values[i]  # fault


@mended
@amp.kernel
def total(i, values, total):
    amp.atomic_fetch_add(total[0], values[i])


@faulty(
    "between threads without tiles",
    "All threads store their element as the newest one.",
    race("newest_value", "VKA620"),
    lambda: launch(amp.extent(5), numbers(5), zeros(1), expect=[4]),
)
@amp.kernel
def newest_wrong(i, values, newest_value):
    newest_value[0] = values[i]  # fault


@mended
@amp.kernel
def newest(i, values, newest_value):
    if i[0] == values.extent[0] - 1:
        newest_value[0] = values[i]


@faulty(
    "between threads without tiles",
    "Each thread shifts an element to its right neighbour's place, which that one is reading.",
    race("values"),
    lambda: launch(amp.extent(9), numbers(10), zeros(10), expect={1: [0, *range(9)]}),
)
@amp.kernel
def shift_right_wrong(i, values, out):
    values[i + 1] = values[i]  # fault
    out[i] = 0


@mended
@amp.kernel
def shift_right(i, values, out):
    out[i + 1] = values[i]


@faulty(
    "between threads without tiles",
    "The scatter's targets repeat, and two threads store to one element.",
    race("out"),
    lambda: launch(
        amp.extent(6),
        np.array([4, 1, 0, 1, 3, 4], np.int32),
        numbers(6) * 10,
        zeros(5),
        expect=[20, 40, 0, 40, 50],
    ),
)
@amp.kernel
def scatter_by_index_wrong(i, targets, values, out):
    out[targets[i]] = values[i]  # fault


@mended
@amp.kernel
def scatter_by_index(i, targets, values, out):
    amp.atomic_fetch_add(out[targets[i]], values[i])


@faulty(
    "between threads without tiles",
    "Two threads share each row of the result, for the row is computed from half the index.",
    race("rows"),
    lambda: launch(amp.extent(4, 3), numbers(4, 3), zeros(4, 3), expect=numbers(4, 3)),
)
@amp.kernel
def half_the_rows_wrong(i, values, rows):
    rows[i[0] // 2, i[1]] = values[i]  # fault


@mended
@amp.kernel
def half_the_rows(i, values, rows):
    rows[i[0], i[1]] = values[i]


# -- views that share memory ---------------------------------------------------------------------------------------


def halves_of_one(raw):
    """A view of the first eight elements and one of the last eight: they have four in common."""
    whole = amp.array_view(raw)
    return whole.section(0, 8), whole.section(4, 8)


@faulty(
    "overlapping views",
    "Two parameters are sections of one array that overlap, and one is written where another thread reads the other.",
    race("source or target"),
    lambda: launch(amp.extent(8), *halves_of_one(numbers(12)), zeros(8), expect=numbers(8) * 2),
)
@amp.kernel
def double_into_wrong(i, source, target, out):
    target[i] = source[i] * 2  # fault
    out[i] = 0


@mended
@amp.kernel
def double_into(i, source, target, out):
    out[i] = source[i] * 2


@faulty(
    "overlapping views",
    "The same memory comes as numbers in a row and as a matrix, and two threads write one element of it.",
    race("row or matrix"),
    lambda: launch(amp.extent(6), *row_and_its_matrix(zeros(6)), numbers(6), zeros(6), expect=numbers(6) * 2),
)
@amp.kernel
def row_and_matrix_wrong(i, row, matrix, values, out):
    row[i] = values[i]  # and here
    matrix[i[0] % 2, i[0] // 2] = values[i]  # fault
    out[i] = 0


def row_and_its_matrix(raw):
    row = amp.array_view(raw)
    return row, row.view_as(amp.extent(2, 3))


@mended
@amp.kernel
def row_and_matrix(i, row, matrix, values, out):
    row[i] = values[i]
    out[i] = row[i] + values[i]


@faulty(
    "overlapping views",
    "Sections that a kernel makes overlap by one element, the last of one thread's and the first of the next's.",
    race("values"),
    lambda: launch(amp.extent(4), zeros(9), expect=[0, 10, 1, 11, 2, 12, 3, 13, 0]),
)
@amp.kernel
def sections_of_three_wrong(i, values):
    mine = values.section(i[0] * 2, 3)
    mine[0] = i[0]  # fault
    mine[1] = i[0] + 10
    mine[2] = 0  # and here


@mended
@amp.kernel
def sections_of_three(i, values):
    mine = values.section(i[0] * 2, 2)
    mine[0] = i[0]
    mine[1] = i[0] + 10


@faulty(
    "overlapping views",
    "Two views of one numpy array are made apart from each other, and are one memory all the same.",
    race("front or back"),
    lambda: launch(amp.extent(8).tile(4), *twice(numbers(8)), zeros(8), expect=numbers(8)[::-1]),
)
@amp.kernel
def front_and_back_wrong(t, front, back, out):
    front[t] = back[7 - t.global_[0]]  # fault
    out[t] = 0


def twice(raw):
    return amp.array_view(raw), amp.array_view(raw)


@mended
@amp.kernel
def front_and_back(t, front, back, out):
    out[t] = back[7 - t.global_[0]]


# -- neighbours of a tile, in global memory ------------------------------------------------------------------------


@faulty(
    "neighbours in global memory",
    "A thread reads its neighbour's element of a container right after that one may have written it.",
    race("values", "VKA63"),
    lambda: launch(amp.extent(10).tile(5), zeros(10), zeros(10), expect=np.roll(numbers(2, 5) * 3, -1, 1).ravel()),
)
@amp.kernel
def next_in_tile_wrong(t, values, out):
    values[t] = t.global_[0] * 3  # and here
    out[t] = values[t.tile_origin[0] + (t.local[0] + 1) % 5]  # fault


@mended
@amp.kernel
def next_in_tile(t, values, out):
    values[t] = t.global_[0] * 3
    t.barrier.wait_with_global_memory_fence()
    out[t] = values[t.tile_origin[0] + (t.local[0] + 1) % 5]


@faulty(
    "neighbours in global memory",
    "A tile sorts its pairs in place in a container, and the second half-step does not wait for the first.",
    race("values", "VKA63"),
    lambda: launch(
        amp.extent(12).tile(6),
        random_numbers(12),
        expect=pair_steps(random_numbers(2, 6)).ravel(),
    ),
)
@amp.kernel
def odd_even_step_wrong(t, values):
    k = t.global_[0]
    if t.local[0] % 2 == 0:
        low, high = values[k], values[k + 1]  # fault
        values[k] = min(low, high)  # fault
        values[k + 1] = max(low, high)  # fault
    if t.local[0] % 2 == 1 and t.local[0] < 5:
        low, high = values[k], values[k + 1]  # fault
        values[k] = min(low, high)  # fault
        values[k + 1] = max(low, high)  # fault


def pair_steps(rows):
    rows = rows.copy()
    for first in (0, 1):
        for k in range(first, 5, 2):
            rows[:, k : k + 2] = np.sort(rows[:, k : k + 2], axis=1)
    return rows


@mended
@amp.kernel
def odd_even_step(t, values):
    k = t.global_[0]
    if t.local[0] % 2 == 0:
        low, high = values[k], values[k + 1]
        values[k] = min(low, high)
        values[k + 1] = max(low, high)
    t.barrier.wait_with_global_memory_fence()
    if t.local[0] % 2 == 1 and t.local[0] < 5:
        low, high = values[k], values[k + 1]
        values[k] = min(low, high)
        values[k + 1] = max(low, high)


@faulty(
    "neighbours in global memory",
    "All threads of a tile add to the tile's element of a container without an atomic.",
    race("sums", "VKA610"),
    lambda: launch(amp.extent(6, 4).tile(3, 2), numbers(6, 4), zeros(2, 2), expect=[[27, 39], [99, 111]]),
)
@amp.kernel
def sums_of_tiles_wrong(t, values, sums):
    sums[t.tile] += values[t]  # fault


@mended
@amp.kernel
def sums_of_tiles(t, values, sums):
    amp.atomic_fetch_add(sums[t.tile], values[t])


@faulty(
    "neighbours in global memory",
    "All threads of a tile store to the tile's element, and only the first should.",
    race("firsts", "VKA620"),
    lambda: launch(amp.extent(15).tile(5), numbers(15), zeros(3), expect=[0, 5, 10]),
)
@amp.kernel
def firsts_wrong(t, values, firsts):
    firsts[t.tile] = values[t]  # fault


@mended
@amp.kernel
def firsts(t, values, firsts):
    if t.local[0] == 0:
        firsts[t.tile] = values[t]
