"""Matrix products in tiles."""

from __future__ import annotations

import vkamp as amp

from tools.kernels.corpus.registry import (
    F32,
    bounds,
    divergence,
    faulty,
    launch,
    mended,
    numbers,
    race,
    random_floats,
    uninitialised,
    zeros,
)

# -- products ------------------------------------------------------------------------------------------------------


@faulty(
    "matrix product",
    "The tiles of both factors are refilled while other threads still multiply the last ones.",
    race("left or right", "VKA63"),
    lambda: launch(
        amp.extent(4, 6).tile(2, 2),
        random_floats(4, 8),
        random_floats(8, 6, seed=1),
        zeros(4, 6, dtype=F32),
        expect=random_floats(4, 8) @ random_floats(8, 6, seed=1),
    ),
)
@amp.kernel
def multiply_wrong(t, a, b, c):
    left = amp.tile_static((2, 2), amp.float32)
    right = amp.tile_static((2, 2), amp.float32)
    row, col = t.local[0], t.local[1]
    total = 0.0
    for k in range(0, a.extent[1], 2):
        left[row, col] = a[t.global_[0], k + col]  # fault
        right[row, col] = b[k + row, t.global_[1]]  # fault
        t.barrier.wait_with_tile_static_memory_fence()
        for i in range(2):
            total += left[row, i] * right[i, col]  # and here
    c[t] = total


@mended
@amp.kernel
def multiply(t, a, b, c):
    left = amp.tile_static((2, 2), amp.float32)
    right = amp.tile_static((2, 2), amp.float32)
    row, col = t.local[0], t.local[1]
    total = 0.0
    for k in range(0, a.extent[1], 2):
        left[row, col] = a[t.global_[0], k + col]
        right[row, col] = b[k + row, t.global_[1]]
        t.barrier.wait_with_tile_static_memory_fence()
        for i in range(2):
            total += left[row, i] * right[i, col]
        t.barrier.wait_with_tile_static_memory_fence()
    c[t] = total


@faulty(
    "matrix product",
    "The barrier after the filling is missing, and the products are of elements that are not there yet.",
    race("left or right", "VKA63"),
    lambda: launch(
        amp.extent(6, 3).tile(3, 3),
        random_floats(6, 9),
        random_floats(9, 3, seed=1),
        zeros(6, 3, dtype=F32),
        expect=random_floats(6, 9) @ random_floats(9, 3, seed=1),
    ),
)
@amp.kernel
def multiply_at_once_wrong(t, a, b, c):
    left = amp.tile_static((3, 3), amp.float32)
    right = amp.tile_static((3, 3), amp.float32)
    row, col = t.local[0], t.local[1]
    total = 0.0
    for k in range(0, a.extent[1], 3):
        left[row, col] = a[t.global_[0], k + col]  # and here
        right[row, col] = b[k + row, t.global_[1]]  # and here
        for i in range(3):
            total += left[row, i] * right[i, col]  # fault
        t.barrier.wait()
    c[t] = total


@mended
@amp.kernel
def multiply_at_once(t, a, b, c):
    left = amp.tile_static((3, 3), amp.float32)
    right = amp.tile_static((3, 3), amp.float32)
    row, col = t.local[0], t.local[1]
    total = 0.0
    for k in range(0, a.extent[1], 3):
        left[row, col] = a[t.global_[0], k + col]
        right[row, col] = b[k + row, t.global_[1]]
        t.barrier.wait()
        for i in range(3):
            total += left[row, i] * right[i, col]
        t.barrier.wait()
    c[t] = total


@faulty(
    "matrix product",
    "The depth is no multiple of the tile, and the last tile is loaded from beyond the factor.",
    bounds("a or b"),
    lambda: launch(
        amp.extent(4, 4).tile(2, 2),
        random_floats(4, 5),
        random_floats(5, 4, seed=1),
        zeros(4, 4, dtype=F32),
        expect=random_floats(4, 5) @ random_floats(5, 4, seed=1),
    ),
)
@amp.kernel
def multiply_odd_depth_wrong(t, a, b, c):
    left = amp.tile_static((2, 2), amp.float32)
    right = amp.tile_static((2, 2), amp.float32)
    row, col = t.local[0], t.local[1]
    total = 0.0
    for k in range(0, a.extent[1], 2):
        left[row, col] = a[t.global_[0], k + col]  # fault
        right[row, col] = b[k + row, t.global_[1]]  # fault
        t.barrier.wait()
        for i in range(2):
            total += left[row, i] * right[i, col]
        t.barrier.wait()
    c[t] = total


@mended
@amp.kernel
def multiply_odd_depth(t, a, b, c):
    left = amp.tile_static((2, 2), amp.float32)
    right = amp.tile_static((2, 2), amp.float32)
    row, col = t.local[0], t.local[1]
    total = 0.0
    depth = a.extent[1]
    for k in range(0, depth, 2):
        left[row, col] = a[t.global_[0], k + col] if k + col < depth else 0.0
        right[row, col] = b[k + row, t.global_[1]] if k + row < depth else 0.0
        t.barrier.wait()
        for i in range(2):
            total += left[row, i] * right[i, col]
        t.barrier.wait()
    c[t] = total


@faulty(
    "matrix product",
    "Only the threads within the result take part in the loop, and the loop waits.",
    divergence("VKA601"),
    lambda: launch(
        amp.extent(3, 5).tile(2, 2).pad(),
        random_floats(3, 4),
        random_floats(4, 5, seed=1),
        zeros(3, 5, dtype=F32),
        expect=random_floats(3, 4) @ random_floats(4, 5, seed=1),
    ),
)
@amp.kernel
def multiply_inside_wrong(t, a, b, c):
    left = amp.tile_static((2, 2), amp.float32)
    right = amp.tile_static((2, 2), amp.float32)
    row, col = t.local[0], t.local[1]
    if t.global_[0] < c.extent[0] and t.global_[1] < c.extent[1]:  # and here
        total = 0.0
        for k in range(0, a.extent[1], 2):
            left[row, col] = a[t.global_[0], k + col]
            right[row, col] = b[k + row, t.global_[1]]
            t.barrier.wait()  # fault
            for i in range(2):
                total += left[row, i] * right[i, col]
            t.barrier.wait()
        c[t] = total


@mended
@amp.kernel
def multiply_inside(t, a, b, c):
    left = amp.tile_static((2, 2), amp.float32)
    right = amp.tile_static((2, 2), amp.float32)
    row, col = t.local[0], t.local[1]
    total = 0.0
    for k in range(0, a.extent[1], 2):
        left[row, col] = a[t.global_[0], k + col] if t.global_[0] < c.extent[0] else 0.0
        right[row, col] = b[k + row, t.global_[1]] if t.global_[1] < c.extent[1] else 0.0
        t.barrier.wait()
        for i in range(2):
            total += left[row, i] * right[i, col]
        t.barrier.wait()
    if t.global_[0] < c.extent[0] and t.global_[1] < c.extent[1]:
        c[t] = total


@faulty(
    "matrix product",
    "In a tile that is no square, the columns beyond the tile's width of the left factor are never loaded.",
    uninitialised("left"),
    lambda: launch(
        amp.extent(4, 2).tile(4, 2),
        random_floats(4, 4),
        random_floats(4, 2, seed=1),
        zeros(4, 2, dtype=F32),
        expect=random_floats(4, 4) @ random_floats(4, 2, seed=1),
    ),
)
@amp.kernel
def multiply_in_rectangles_wrong(t, a, b, c):
    left = amp.tile_static((4, 4), amp.float32)
    right = amp.tile_static((4, 2), amp.float32)
    row, col = t.local[0], t.local[1]
    left[row, col] = a[t.global_[0], col]
    right[row, col] = b[row, t.global_[1]]
    t.barrier.wait()
    total = 0.0
    for i in range(4):
        total += left[row, i] * right[i, col]  # fault
    c[t] = total


@mended
@amp.kernel
def multiply_in_rectangles(t, a, b, c):
    left = amp.tile_static((4, 4), amp.float32)
    right = amp.tile_static((4, 2), amp.float32)
    row, col = t.local[0], t.local[1]
    left[row, col] = a[t.global_[0], col]
    left[row, col + 2] = a[t.global_[0], col + 2]
    right[row, col] = b[row, t.global_[1]]
    t.barrier.wait()
    total = 0.0
    for i in range(4):
        total += left[row, i] * right[i, col]
    c[t] = total


@faulty(
    "matrix product",
    "The threads split the depth among them and all add to one element of the result.",
    race("c"),
    lambda: launch(
        amp.extent(2, 3, 4),
        numbers(2, 4),
        numbers(4, 3),
        zeros(2, 3),
        expect=numbers(2, 4) @ numbers(4, 3),
    ),
)
@amp.kernel
def split_depth_wrong(i, a, b, c):
    c[i[0], i[1]] += a[i[0], i[2]] * b[i[2], i[1]]  # fault


@mended
@amp.kernel
def split_depth(i, a, b, c):
    amp.atomic_fetch_add(c[i[0], i[1]], a[i[0], i[2]] * b[i[2], i[1]])
