"""Indices out of bounds: containers of rank 1 to 3 at both ends, and the padding of tiles."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import bounds, faulty, launch, mended, numbers, random_numbers, zeros

# -- containers ----------------------------------------------------------------------------------------------------


@faulty(
    "out of bounds",
    "The last thread reads the element after the last.",
    bounds("values"),
    lambda: launch(amp.extent(7), numbers(7) ** 2, zeros(7), expect=[1, 3, 5, 7, 9, 11, 0]),
)
@amp.kernel
def differences_wrong(i, values, out):
    out[i] = values[i + 1] - values[i]  # fault


@mended
@amp.kernel
def differences(i, values, out):
    if i[0] + 1 < values.extent[0]:
        out[i] = values[i + 1] - values[i]


@faulty(
    "out of bounds",
    "The first thread reads the element before the first, which is not the last one as in Python.",
    bounds("values"),
    lambda: launch(amp.extent(6), numbers(6), zeros(6), expect=[5, 0, 1, 2, 3, 4]),
)
@amp.kernel
def rotate_right_wrong(i, values, out):
    out[i] = values[i - 1]  # fault


@mended
@amp.kernel
def rotate_right(i, values, out):
    n = values.extent[0]
    out[i] = values[(i[0] + n - 1) % n]


@faulty(
    "out of bounds",
    "A loop that runs backwards ends one step too late, at -1.",
    bounds("values"),
    lambda: launch(amp.extent(3), numbers(3, 5), zeros(3), expect=(numbers(3, 5) * 2 ** numbers(5)).sum(1)),
)
@amp.kernel
def horner_wrong(i, values, out):
    total = 0
    k = 4
    while k >= -1:
        total = total * 2 + values[i[0], k]  # fault
        k -= 1
    out[i] = total


@mended
@amp.kernel
def horner(i, values, out):
    total = 0
    k = 4
    while k >= 0:
        total = total * 2 + values[i[0], k]
        k -= 1
    out[i] = total


@faulty(
    "out of bounds",
    "The result is shorter than the domain of the launch.",
    bounds("halves"),
    lambda: launch(amp.extent(9), numbers(9), zeros(5), expect=[0, 2, 4, 6, 8]),
)
@amp.kernel
def every_other_wrong(i, values, halves):
    halves[i] = values[i[0] // 2 * 2]  # fault


@mended
@amp.kernel
def every_other(i, values, halves):
    if i[0] % 2 == 0:
        halves[i[0] // 2] = values[i]


@faulty(
    "out of bounds",
    "The index comes from the data, and nobody promised that it names an element.",
    bounds("table"),
    lambda: launch(
        amp.extent(5), numbers(4) + 10, np.array([3, 0, 4, -1, 2], np.int32), zeros(5), expect=[13, 10, 0, 0, 12]
    ),
)
@amp.kernel
def gather_wrong(i, table, places, out):
    out[i] = table[places[i]]  # fault


@mended
@amp.kernel
def gather(i, table, places, out):
    place = places[i]
    if 0 <= place and place < table.extent[0]:
        out[i] = table[place]


@faulty(
    "out of bounds",
    "Row and column are swapped, in a matrix that is no square.",
    bounds("matrix"),
    lambda: launch(amp.extent(3, 5), numbers(3, 5), zeros(5, 3), expect=numbers(3, 5).T),
)
@amp.kernel
def swapped_indices_wrong(i, matrix, out):
    out[i[1], i[0]] = matrix[i[1], i[0]]  # fault


@mended
@amp.kernel
def swapped_indices(i, matrix, out):
    out[i[1], i[0]] = matrix[i[0], i[1]]


@faulty(
    "out of bounds",
    "The column runs past the row's end: in memory the next row follows, and still it is another element.",
    bounds("matrix"),
    lambda: launch(amp.extent(3), numbers(3, 4), zeros(3), expect=[6, 22, 38]),
)
@amp.kernel
def past_the_row_wrong(i, matrix, sums):
    total = 0
    for col in range(5):
        total += matrix[i[0], col]  # fault
    sums[i] = total


@mended
@amp.kernel
def past_the_row(i, matrix, sums):
    total = 0
    for col in range(matrix.extent[1]):
        total += matrix[i[0], col]
    sums[i] = total


@faulty(
    "out of bounds",
    "The row above the first is asked for.",
    bounds("matrix"),
    lambda: launch(amp.extent(3, 2), numbers(3, 2), zeros(3, 2), expect=[[0, 1], [2, 2], [2, 2]]),
)
@amp.kernel
def row_above_wrong(i, matrix, out):
    out[i] = matrix[i] - matrix[i[0] - 1, i[1]]  # fault


@mended
@amp.kernel
def row_above(i, matrix, out):
    above = matrix[i[0] - 1, i[1]] if i[0] > 0 else 0
    out[i] = matrix[i] - above


@faulty(
    "out of bounds",
    "In a volume the neighbour in depth is taken without asking whether there is one.",
    bounds("volume"),
    lambda: launch(
        amp.extent(2, 3, 4),
        numbers(2, 3, 4),
        zeros(2, 3, 4),
        expect=numbers(2, 3, 4) + np.pad(numbers(2, 3, 4)[:, :, 1:], ((0, 0), (0, 0), (0, 1))),
    ),
)
@amp.kernel
def next_in_depth_wrong(i, volume, out):
    out[i] = volume[i] + volume[i[0], i[1], i[2] + 1]  # fault


@mended
@amp.kernel
def next_in_depth(i, volume, out):
    after = volume[i[0], i[1], i[2] + 1] if i[2] < 3 else 0
    out[i] = volume[i] + after


@faulty(
    "out of bounds",
    "The middle dimension of a volume goes below zero.",
    bounds("volume"),
    lambda: launch(
        amp.extent(2, 3, 2),
        numbers(2, 3, 2),
        zeros(2, 3, 2),
        expect=np.pad(numbers(2, 3, 2)[:, :-1], ((0, 0), (1, 0), (0, 0))),
    ),
)
@amp.kernel
def below_in_volume_wrong(i, volume, out):
    out[i] = volume[i - amp.index(0, 1, 0)]  # fault


@mended
@amp.kernel
def below_in_volume(i, volume, out):
    if i[1] > 0:
        out[i] = volume[i - amp.index(0, 1, 0)]


@faulty(
    "out of bounds",
    "An unsigned index below zero is a very large one.",
    bounds("values"),
    lambda: launch(amp.extent(5), random_numbers(5), zeros(5), expect=np.r_[0, random_numbers(5)[:-1]]),
)
@amp.kernel
def unsigned_underflow_wrong(i, values, out):
    place = amp.uint32(i[0]) - 1
    out[i] = values[place]  # fault


@mended
@amp.kernel
def unsigned_underflow(i, values, out):
    place = amp.uint32(i[0])
    if place > 0:
        out[i] = values[place - 1]


@faulty(
    "out of bounds",
    "The atomic's element is outside.",
    bounds("counts"),
    lambda: launch(amp.extent(6), np.array([0, 1, 2, 3, 1, 2], np.int32), zeros(3), expect=[1, 2, 2]),
)
@amp.kernel
def atomic_outside_wrong(i, kinds, counts):
    amp.atomic_fetch_inc(counts[kinds[i]])  # fault


@mended
@amp.kernel
def atomic_outside(i, kinds, counts):
    if kinds[i] < counts.extent[0]:
        amp.atomic_fetch_inc(counts[kinds[i]])


# -- the padding of tiles ------------------------------------------------------------------------------------------


@faulty(
    "out of bounds",
    "The padded domain has threads beyond the data, and nothing guards the load.",
    bounds("values"),
    lambda: launch(amp.extent(10).tile(4).pad(), numbers(10), zeros(10), expect=numbers(10) * 2),
)
@amp.kernel
def padding_wrong(t, values, out):
    out[t] = values[t] * 2  # fault


@mended
@amp.kernel
def padding(t, values, out):
    if t.global_[0] < values.extent[0]:
        out[t] = values[t] * 2


@faulty(
    "out of bounds",
    "Only the rows of the padded domain are guarded, not its columns.",
    bounds("matrix"),
    lambda: launch(amp.extent(3, 5).tile(2, 2).pad(), numbers(3, 5), zeros(3, 5), expect=numbers(3, 5) + 1),
)
@amp.kernel
def padding_of_columns_wrong(t, matrix, out):
    if t.global_[0] < matrix.extent[0]:
        out[t] = matrix[t] + 1  # fault


@mended
@amp.kernel
def padding_of_columns(t, matrix, out):
    if matrix.extent.contains(t.global_):
        out[t] = matrix[t] + 1


@faulty(
    "out of bounds",
    "The threads of the padding load nothing, but the result is stored by all of them.",
    bounds("out"),
    lambda: launch(amp.extent(7).tile(4).pad(), numbers(7), zeros(7), expect=[3, 2, 1, 0, 0, 6, 5]),
)
@amp.kernel
def store_of_padding_wrong(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t] if t.global_[0] < values.extent[0] else 0
    t.barrier.wait()
    out[t] = memory[3 - t.local[0]]  # fault


@mended
@amp.kernel
def store_of_padding(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    inside = t.global_[0] < values.extent[0]
    memory[t.local] = values[t] if inside else 0
    t.barrier.wait()
    if inside:
        out[t] = memory[3 - t.local[0]]


@faulty(
    "out of bounds",
    "The tile's own index is used where the element's is meant: the result has one element for each tile.",
    bounds("sums"),
    lambda: launch(amp.extent(12).tile(4), numbers(12), zeros(3), expect=[6, 22, 38]),
)
@amp.kernel
def result_of_tile_wrong(t, values, sums):
    amp.atomic_fetch_add(sums[t.tile_origin], values[t])  # fault


@mended
@amp.kernel
def result_of_tile(t, values, sums):
    amp.atomic_fetch_add(sums[t.tile], values[t])
