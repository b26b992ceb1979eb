"""Five real kernels, whose shaders the merge's table edits; a test writes this file into a separate project."""

import numpy as np

import vkamp as amp


@amp.kernel
def tile_average(t_idx, matrix, averages):
    values = amp.tile_static(t_idx.tile_extent, amp.float32)
    values[t_idx.local] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(t_idx.tile_dim0):
            for col in range(t_idx.tile_dim1):
                total += values[row, col]
        averages[t_idx.tile] = total / (t_idx.tile_dim0 * t_idx.tile_dim1)


def average(view):
    matrix = amp.array_view(np.arange(48 * 40, dtype=np.float32).reshape(48, 40) % 7, readonly=True)
    averages = amp.array_view(np.zeros((6, 10), np.float32))
    amp.parallel_for_each(view, matrix.extent.tile(8, 4), tile_average, matrix, averages)
    return np.asarray(averages)


@amp.kernel
def tiled_product(t_idx, a, b, c, *, tile: amp.constant):
    a_tile = amp.tile_static((tile, tile), amp.float32)
    b_tile = amp.tile_static((tile, tile), amp.float32)
    row, col = t_idx.local
    total = 0.0
    for k in range(0, a.extent[1], tile):
        a_tile[row, col] = a[t_idx.global_[0], k + col]
        b_tile[row, col] = b[k + row, t_idx.global_[1]]
        t_idx.barrier.wait()
        for i in range(tile):
            total += a_tile[row, i] * b_tile[i, col]
        t_idx.barrier.wait()
    c[t_idx] = total


def product(view):
    a = amp.array_view((np.arange(24 * 16, dtype=np.float32) % 5).reshape(24, 16), readonly=True)
    b = amp.array_view((np.arange(16 * 32, dtype=np.float32) % 3).reshape(16, 32), readonly=True)
    c = amp.array_view(np.zeros((24, 32), np.float32))
    amp.parallel_for_each(view, c.extent.tile(8, 8), tiled_product, a, b, c, tile=8)
    return np.asarray(c)


@amp.kernel
def histogram(t_idx, values, counts):
    bins = amp.tile_static(32, amp.int32)
    if t_idx.local[0] < 32:
        bins[t_idx.local[0]] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    value = values[t_idx]
    amp.atomic_fetch_add(bins[value % 32], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local[0] < 32:
        amp.atomic_fetch_add(counts[t_idx.local[0]], bins[t_idx.local[0]])


def counted(view):
    values = amp.array_view((np.arange(640, dtype=np.int32) * 7) % 61, readonly=True)
    counts = amp.array_view(np.zeros(32, np.int32))
    amp.parallel_for_each(view, values.extent.tile(64), histogram, values, counts)
    return np.asarray(counts)


@amp.kernel
def tree_sum(t_idx, numbers, sums):
    partial = amp.tile_static(64, amp.float32)
    local = t_idx.local[0]
    partial[local] = numbers[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    stride = 32
    while stride > 0:
        if local < stride:
            partial[local] += partial[local + stride]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        stride //= 2
    if local == 0:
        sums[t_idx.tile] = partial[0]


def summed(view):
    numbers = amp.array_view(np.arange(640, dtype=np.float32) % 11, readonly=True)
    sums = amp.array_view(np.zeros(10, np.float32))
    amp.parallel_for_each(view, numbers.extent.tile(64), tree_sum, numbers, sums)
    return np.asarray(sums)


@amp.kernel
def blur(idx, source, target):
    rows = source.extent[0]
    cols = source.extent[1]
    total = 0.0
    weight = 0.0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            y = idx[0] + dy
            x = idx[1] + dx
            if y >= 0 and y < rows and x >= 0 and x < cols:
                total += source[y, x]
                weight += 1.0
    target[idx] = total / weight


def blurred(view):
    source = amp.array_view(np.arange(19 * 23, dtype=np.float32).reshape(19, 23) % 13, readonly=True)
    target = amp.array_view(np.zeros((19, 23), np.float32))
    amp.parallel_for_each(view, source.extent, blur, source, target)
    return np.asarray(target)
