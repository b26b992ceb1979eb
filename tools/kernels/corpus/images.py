"""Transposes and convolutions in tiles."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    F32,
    bounds,
    faulty,
    launch,
    mended,
    numbers,
    race,
    random_floats,
    uninitialised,
    zeros,
)

# -- transposes ----------------------------------------------------------------------------------------------------


@faulty(
    "transpose",
    "The mirrored element is read before its owner has stored it.",
    race("cells", "VKA63"),
    lambda: launch(amp.extent(6, 9).tile(3, 3), numbers(6, 9), zeros(9, 6), expect=numbers(6, 9).T),
)
@amp.kernel
def transpose_wrong(t, matrix, out):
    cells = amp.tile_static((3, 3), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row, col] = matrix[t]  # and here
    out[t.tile_origin[1] + row, t.tile_origin[0] + col] = cells[col, row]  # fault


@mended
@amp.kernel
def transpose(t, matrix, out):
    cells = amp.tile_static((3, 3), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row, col] = matrix[t]
    t.barrier.wait()
    out[t.tile_origin[1] + row, t.tile_origin[0] + col] = cells[col, row]


@faulty(
    "transpose",
    "The tile is transposed in place, by a store to the element that another thread is about to read.",
    race("cells", "VKA63"),
    lambda: launch(amp.extent(8, 4).tile(4, 4), numbers(8, 4), zeros(4, 8), expect=numbers(8, 4).T),
)
@amp.kernel
def transpose_in_place_wrong(t, matrix, out):
    cells = amp.tile_static((4, 4), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row, col] = matrix[t]
    t.barrier.wait()
    mirrored = cells[col, row]  # fault
    cells[row, col] = mirrored  # fault
    t.barrier.wait()
    out[t.tile_origin[1] + row, t.tile_origin[0] + col] = cells[row, col]


@mended
@amp.kernel
def transpose_in_place(t, matrix, out):
    cells = amp.tile_static((4, 4), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row, col] = matrix[t]
    t.barrier.wait()
    mirrored = cells[col, row]
    t.barrier.wait()
    cells[row, col] = mirrored
    t.barrier.wait()
    out[t.tile_origin[1] + row, t.tile_origin[0] + col] = cells[row, col]


@faulty(
    "transpose",
    "The tile is no square, and the index of its mirror image is outside.",
    bounds("cells"),
    lambda: launch(amp.extent(4, 6).tile(2, 3), numbers(4, 6), zeros(6, 4), expect=numbers(4, 6).T),
)
@amp.kernel
def transpose_rectangles_wrong(t, matrix, out):
    cells = amp.tile_static((2, 3), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row, col] = matrix[t]
    t.barrier.wait()
    out[t.global_[1], t.global_[0]] = cells[col, row]  # fault


@mended
@amp.kernel
def transpose_rectangles(t, matrix, out):
    cells = amp.tile_static((2, 3), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row, col] = matrix[t]
    t.barrier.wait()
    out[t.global_[1], t.global_[0]] = cells[row, col]


@faulty(
    "transpose",
    "A matrix is transposed in a container that is both: each tile reads what its mirror image writes.",
    race("matrix"),
    lambda: launch(amp.extent(4, 4).tile(2, 2), numbers(4, 4), zeros(4, 4), expect=numbers(4, 4).T),
)
@amp.kernel
def transpose_onto_itself_wrong(t, matrix, out):
    value = matrix[t]  # fault
    t.barrier.wait()
    matrix[t.global_[1], t.global_[0]] = value  # fault
    out[t] = value


@mended
@amp.kernel
def transpose_onto_itself(t, matrix, out):
    out[t.global_[1], t.global_[0]] = matrix[t]


# -- convolutions --------------------------------------------------------------------------------------------------


def box(image):
    padded = np.pad(image, 1)
    height, width = image.shape
    return sum(padded[r : r + height, c : c + width] for r in range(3) for c in range(3))


@faulty(
    "convolution",
    "The corners of the halo are loaded by no thread.",
    uninitialised("cells"),
    lambda: launch(amp.extent(6, 8).tile(3, 4), numbers(6, 8), zeros(6, 8), expect=box(numbers(6, 8))),
)
@amp.kernel
def box_without_corners_wrong(t, image, out):
    cells = amp.tile_static((5, 6), amp.int32)
    row, col = t.local[0], t.local[1]
    cells[row + 1, col + 1] = image[t]
    if row == 0:
        cells[0, col + 1] = pixel(image, t.global_[0] - 1, t.global_[1])
        cells[4, col + 1] = pixel(image, t.global_[0] + 3, t.global_[1])
    if col == 0:
        cells[row + 1, 0] = pixel(image, t.global_[0], t.global_[1] - 1)
        cells[row + 1, 5] = pixel(image, t.global_[0], t.global_[1] + 4)
    t.barrier.wait()
    total = 0
    for r in range(3):
        for c in range(3):
            total += cells[row + r, col + c]  # fault
    out[t] = total


@amp.func
def pixel(image, row, col):
    if row < 0 or row >= image.extent[0] or col < 0 or col >= image.extent[1]:
        return 0
    return image[row, col]


@mended
@amp.kernel
def box_without_corners(t, image, out):
    cells = amp.tile_static((5, 6), amp.int32)
    row, col = t.local[0], t.local[1]
    # Each thread loads every twelfth cell, the halo's among them.
    for k in range(row * 4 + col, 30, 12):
        cells[k // 6, k % 6] = pixel(image, t.tile_origin[0] + k // 6 - 1, t.tile_origin[1] + k % 6 - 1)
    t.barrier.wait()
    total = 0
    for r in range(3):
        for c in range(3):
            total += cells[row + r, col + c]
    out[t] = total


@faulty(
    "convolution",
    "The halo is loaded in a second pass, and no barrier stands between that and its use.",
    race("line", "VKA63"),
    lambda: launch(
        amp.extent(12).tile(4),
        random_floats(12),
        np.array([0.25, 0.5, 0.25], F32),
        zeros(12, dtype=F32),
        expect=np.convolve(random_floats(12), [0.25, 0.5, 0.25], "same"),
    ),
)
@amp.kernel
def filter_line_wrong(t, values, weights, out):
    line = amp.tile_static(6, amp.float32)
    i, n = t.local[0], values.extent[0]
    line[i + 1] = values[t]
    t.barrier.wait()
    if i < 2:
        k = t.tile_origin[0] - 1 + i * 5
        line[i * 5] = values[k] if 0 <= k and k < n else 0.0  # and here
    out[t] = line[i] * weights[0] + line[i + 1] * weights[1] + line[i + 2] * weights[2]  # fault


@mended
@amp.kernel
def filter_line(t, values, weights, out):
    line = amp.tile_static(6, amp.float32)
    i, n = t.local[0], values.extent[0]
    line[i + 1] = values[t]
    if i < 2:
        k = t.tile_origin[0] - 1 + i * 5
        line[i * 5] = values[k] if 0 <= k and k < n else 0.0
    t.barrier.wait()
    out[t] = line[i] * weights[0] + line[i + 1] * weights[1] + line[i + 2] * weights[2]


@faulty(
    "convolution",
    "At the image's left and upper edge the neighbour is loaded from index -1.",
    bounds("image"),
    lambda: launch(amp.extent(5, 7), numbers(5, 7), zeros(5, 7), expect=box(numbers(5, 7))),
)
@amp.kernel
def box_at_the_edge_wrong(i, image, out):
    total = 0
    for r in range(-1, 2):
        for c in range(-1, 2):
            total += image[i[0] + r, i[1] + c]  # fault
    out[i] = total


@mended
@amp.kernel
def box_at_the_edge(i, image, out):
    total = 0
    for r in range(-1, 2):
        for c in range(-1, 2):
            total += pixel(image, i[0] + r, i[1] + c)
    out[i] = total


@faulty(
    "convolution",
    "The vertical pass reads rows that other threads have not filtered horizontally yet.",
    race("rows", "VKA63"),
    lambda: launch(
        amp.extent(4, 6).tile(4, 6),
        numbers(4, 6),
        zeros(4, 6),
        expect=box(numbers(4, 6)),
    ),
)
@amp.kernel
def two_passes_wrong(t, image, out):
    cells = amp.tile_static((4, 8), amp.int32)
    rows = amp.tile_static((6, 6), amp.int32)
    r, c = t.local[0], t.local[1]
    cells[r, c + 1] = image[t]
    if c < 2:
        cells[r, c * 7] = 0
    if r < 2:
        rows[r * 5, c] = 0
    t.barrier.wait()
    rows[r + 1, c] = cells[r, c] + cells[r, c + 1] + cells[r, c + 2]  # and here
    out[t] = rows[r, c] + rows[r + 1, c] + rows[r + 2, c]  # fault


@mended
@amp.kernel
def two_passes(t, image, out):
    cells = amp.tile_static((4, 8), amp.int32)
    rows = amp.tile_static((6, 6), amp.int32)
    r, c = t.local[0], t.local[1]
    cells[r, c + 1] = image[t]
    if c < 2:
        cells[r, c * 7] = 0
    if r < 2:
        rows[r * 5, c] = 0
    t.barrier.wait()
    rows[r + 1, c] = cells[r, c] + cells[r, c + 1] + cells[r, c + 2]
    t.barrier.wait()
    out[t] = rows[r, c] + rows[r + 1, c] + rows[r + 2, c]
