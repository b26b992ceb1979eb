"""Indices out of bounds: through views made in kernels and on the host, and in arrays of kernels."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import F32, bounds, faulty, launch, mended, numbers, random_floats, zeros

# -- sections, projections, reinterpreted elements -----------------------------------------------------------------


@faulty(
    "out of bounds",
    "A section of three elements has no fourth, even though the container goes on.",
    bounds("values"),
    lambda: launch(amp.extent(3), numbers(12), zeros(3), expect=[3, 15, 27]),
)
@amp.kernel
def beyond_a_section_wrong(i, values, sums):
    part = values.section(i[0] * 4, 3)
    total = 0
    for k in range(4):
        total += part[k]  # fault
    sums[i] = total


@mended
@amp.kernel
def beyond_a_section(i, values, sums):
    part = values.section(i[0] * 4, 3)
    total = 0
    for k in range(3):
        total += part[k]
    sums[i] = total


@faulty(
    "out of bounds",
    "Before a section's first element there are others of the container, and they are not the section's.",
    bounds("values"),
    lambda: launch(amp.extent(2), numbers(10), zeros(2), expect=[2, 7]),
)
@amp.kernel
def before_a_section_wrong(i, values, out):
    part = values.section(i[0] * 5 + 2, 3)
    out[i] = part[i[0] - 1]  # fault


@mended
@amp.kernel
def before_a_section(i, values, out):
    part = values.section(i[0] * 5 + 2, 3)
    out[i] = part[0]


@faulty(
    "out of bounds",
    "The last thread's section reaches beyond the container.",
    bounds("values"),
    lambda: launch(amp.extent(3), numbers(8), zeros(3), expect=[3, 12, 13]),
)
@amp.kernel
def section_too_long_wrong(i, values, sums):
    part = values.section(i[0] * 3, 3)
    sums[i] = part[0] + part[1] + part[2]  # fault


@mended
@amp.kernel
def section_too_long(i, values, sums):
    start = i[0] * 3
    part = values.section(start, min(3, values.extent[0] - start))
    total = 0
    for k in range(part.extent[0]):
        total += part[k]
    sums[i] = total


@faulty(
    "out of bounds",
    "A projection picks a row that the matrix has not.",
    bounds("matrix"),
    lambda: launch(amp.extent(3), numbers(3, 4), zeros(3), expect=[22, 38, 0]),
)
@amp.kernel
def next_row_wrong(i, matrix, sums):
    row = matrix[i[0] + 1]
    total = 0
    for col in range(4):
        total += row[col]  # fault
    sums[i] = total


@mended
@amp.kernel
def next_row(i, matrix, sums):
    total = 0
    if i[0] + 1 < matrix.extent[0]:
        row = matrix[i[0] + 1]
        for col in range(4):
            total += row[col]
    sums[i] = total


@faulty(
    "out of bounds",
    "A row that a projection made has as many elements as the matrix has columns.",
    bounds("matrix"),
    lambda: launch(amp.extent(4), numbers(4, 3), zeros(4), expect=[3, 12, 21, 30]),
)
@amp.kernel
def rows_by_height_wrong(i, matrix, sums):
    row = matrix[i[0]]
    total = 0
    for col in range(matrix.extent[0]):
        total += row[col]  # fault
    sums[i] = total


@mended
@amp.kernel
def rows_by_height(i, matrix, sums):
    row = matrix[i[0]]
    total = 0
    for col in range(matrix.extent[1]):
        total += row[col]
    sums[i] = total


def random_vectors():
    """Four vectors of three floats."""
    return amp.array_view(random_floats(12)).reinterpret_as(amp.float3)


@faulty(
    "out of bounds",
    "Read as floats, the vectors are three times as many elements, and the index counts vectors of four.",
    bounds("vectors"),
    lambda: launch(amp.extent(4), random_vectors(), zeros(4, dtype=F32), expect=random_floats(12)[::3]),
)
@amp.kernel
def vectors_as_floats_wrong(i, vectors, out):
    floats = vectors.reinterpret_as(amp.float32)
    out[i] = floats[i[0] * 4]  # fault


@mended
@amp.kernel
def vectors_as_floats(i, vectors, out):
    floats = vectors.reinterpret_as(amp.float32)
    out[i] = floats[i[0] * 3]


@faulty(
    "out of bounds",
    "The same numbers are seen as rows of four, of which there are three, and a fourth is read.",
    bounds("values"),
    lambda: launch(amp.extent(4), numbers(12), zeros(4), expect=[12, 15, 18, 21]),
)
@amp.kernel
def seen_as_rows_wrong(i, values, sums):
    rows = values.view_as(amp.extent(3, 4))
    total = 0
    for k in range(4):
        total += rows[k, i[0]]  # fault
    sums[i] = total


@mended
@amp.kernel
def seen_as_rows(i, values, sums):
    rows = values.view_as(amp.extent(3, 4))
    total = 0
    for k in range(3):
        total += rows[k, i[0]]
    sums[i] = total


def inner(raw):
    """The inner part of a matrix as a view."""
    return amp.array_view(raw).section(amp.index(1, 1), amp.extent(2, 3))


@faulty(
    "out of bounds",
    "The view is the inner part of a larger matrix, and its neighbours outside are not in it.",
    bounds("part"),
    lambda: launch(amp.extent(2, 3), inner(numbers(4, 5)), zeros(2, 3), expect=[[13, 15, 8], [23, 25, 13]]),
)
@amp.kernel
def outside_the_part_wrong(i, part, out):
    out[i] = part[i] + part[i[0], i[1] + 1]  # fault


@mended
@amp.kernel
def outside_the_part(i, part, out):
    right = part[i[0], i[1] + 1] if i[1] + 1 < part.extent[1] else 0
    out[i] = part[i] + right


# -- arrays of the kernel's own ------------------------------------------------------------------------------------


@faulty(
    "out of bounds",
    "The private array has an element for each of four steps, and five are stored.",
    bounds("steps"),
    lambda: launch(amp.extent(3), numbers(3), zeros(3), expect=[0, 4, 8]),
)
@amp.kernel
def private_array_wrong(i, values, out):
    steps = amp.private(4, amp.int32)
    for k in range(5):
        steps[k] = values[i] * k  # fault
    out[i] = steps[1] + steps[3]


@mended
@amp.kernel
def private_array(i, values, out):
    steps = amp.private(4, amp.int32)
    for k in range(4):
        steps[k] = values[i] * k
    out[i] = steps[1] + steps[3]


@faulty(
    "out of bounds",
    "A sliding window is shifted to the left, and its first element goes to -1.",
    bounds("window"),
    lambda: launch(amp.extent(2), numbers(2, 6), zeros(2), expect=[12, 30]),
)
@amp.kernel
def sliding_window_wrong(i, values, out):
    window = amp.private(3, amp.int32)
    for k in range(3):
        window[k] = 0
    for k in range(6):
        for w in range(3):
            window[w - 1] = window[w]  # fault
        window[2] = values[i[0], k]
    out[i] = window[0] + window[1] + window[2]


@mended
@amp.kernel
def sliding_window(i, values, out):
    window = amp.private(3, amp.int32)
    for k in range(3):
        window[k] = 0
    for k in range(6):
        for w in range(1, 3):
            window[w - 1] = window[w]
        window[2] = values[i[0], k]
    out[i] = window[0] + window[1] + window[2]


@faulty(
    "out of bounds",
    "A private matrix is indexed by column and row.",
    bounds("block"),
    lambda: launch(amp.extent(2), numbers(2, 6), zeros(2), expect=[15, 51]),
)
@amp.kernel
def private_matrix_wrong(i, values, out):
    block = amp.private((2, 3), amp.int32)
    total = 0
    for k in range(6):
        block[k % 3, k // 3] = values[i[0], k]  # fault
    for r in range(2):
        for c in range(3):
            total += block[r, c]  # and then
    out[i] = total


@mended
@amp.kernel
def private_matrix(i, values, out):
    block = amp.private((2, 3), amp.int32)
    total = 0
    for k in range(6):
        block[k // 3, k % 3] = values[i[0], k]
    for r in range(2):
        for c in range(3):
            total += block[r, c]
    out[i] = total


@faulty(
    "out of bounds",
    "The tile's memory has no room for the halo on the right.",
    bounds("line"),
    lambda: launch(
        amp.extent(8).tile(4),
        numbers(8),
        zeros(8),
        expect=numbers(8) * 3 - np.eye(8, dtype=np.int32)[7] * 8,
    ),
)
@amp.kernel
def no_room_for_halo_wrong(t, values, out):
    line = amp.tile_static(5, amp.int32)
    i, k, n = t.local[0], t.global_[0], values.extent[0]
    line[i + 1] = values[t]
    if i == 0:
        line[0] = values[k - 1] if k > 0 else -1
    if i == 3:
        line[i + 2] = values[k + 1] if k + 1 < n else 0  # fault
    t.barrier.wait()
    out[t] = line[i] + line[i + 1] + line[i + 2]  # and then


@mended
@amp.kernel
def no_room_for_halo(t, values, out):
    line = amp.tile_static(6, amp.int32)
    i, k, n = t.local[0], t.global_[0], values.extent[0]
    line[i + 1] = values[t]
    if i == 0:
        line[0] = values[k - 1] if k > 0 else -1
    if i == 3:
        line[i + 2] = values[k + 1] if k + 1 < n else 0
    t.barrier.wait()
    out[t] = line[i] + line[i + 1] + line[i + 2]


@faulty(
    "out of bounds",
    "The thread's index in the whole domain is used for the tile's memory.",
    bounds("memory"),
    lambda: launch(amp.extent(9).tile(3), numbers(9), zeros(9), expect=numbers(3, 3)[:, ::-1].ravel()),
)
@amp.kernel
def global_for_local_wrong(t, values, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.global_] = values[t]  # fault
    t.barrier.wait()
    out[t] = memory[2 - t.local[0]]  # and then


@mended
@amp.kernel
def global_for_local(t, values, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait()
    out[t] = memory[2 - t.local[0]]


@faulty(
    "out of bounds",
    "One dimension of the tile's memory is exceeded where a flat index would still be inside.",
    bounds("cells"),
    lambda: launch(
        amp.extent(4, 6).tile(2, 3),
        numbers(4, 6),
        zeros(4, 6),
        expect=np.roll(numbers(4, 2, 3), -1, 2).reshape(4, 6),
    ),
)
@amp.kernel
def next_in_row_wrong(t, values, out):
    cells = amp.tile_static((2, 3), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row, col] = values[t]
    t.barrier.wait()
    out[t] = cells[row, col + 1]  # fault


@mended
@amp.kernel
def next_in_row(t, values, out):
    cells = amp.tile_static((2, 3), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row, col] = values[t]
    t.barrier.wait()
    out[t] = cells[row, (col + 1) % 3]


@faulty(
    "out of bounds",
    "A subscript that is written out as a number is outside, and the compiler sees that.",
    bounds("", "VKA324"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(8), expect=[3, 3, 3, 3, 7, 7, 7, 7]),
)
@amp.kernel
def written_subscript_wrong(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait()
    out[t] = memory[4]  # fault


@mended
@amp.kernel
def written_subscript(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait()
    out[t] = memory[3]
