"""The kernels that are compiled and launched for measurement."""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import vkamp as amp

__all__ = ["increment", "matrix_product", "tile_average"]


@amp.kernel
def increment(index, counts):
    """A launch that does next to nothing."""
    counts[index] += 1


@amp.kernel
def tile_average(t_idx, matrix, averages):
    """README's kernel."""
    tile_values = amp.tile_static(t_idx.tile_extent, amp.float32)
    tile_values[t_idx.local] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(t_idx.tile_dim0):
            for col in range(t_idx.tile_dim1):
                total += tile_values[row, col]
        averages[t_idx.tile] = total / (t_idx.tile_dim0 * t_idx.tile_dim1)


@amp.kernel
def matrix_product(t_idx, a, b, c):
    """A tiled product for sizes that the tile does not divide."""
    tile_a = amp.tile_static(t_idx.tile_extent, amp.float32)
    tile_b = amp.tile_static(t_idx.tile_extent, amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    size = t_idx.tile_dim1
    total = 0.0
    for first in range(0, a.extent[1], size):
        if t_idx.global_[0] < a.extent[0] and first + col < a.extent[1]:
            tile_a[row, col] = a[t_idx.global_[0], first + col]
        else:
            tile_a[row, col] = 0.0
        if first + row < b.extent[0] and t_idx.global_[1] < b.extent[1]:
            tile_b[row, col] = b[first + row, t_idx.global_[1]]
        else:
            tile_b[row, col] = 0.0
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for k in range(size):
            total += tile_a[row, k] * tile_b[k, col]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if c.extent.contains(t_idx.global_):
        c[t_idx] = total


@amp.kernel
def arithmetic(idx, values):
    """Keeps a GPU busy."""
    x = values[idx]
    for _ in range(20_000):
        x = x * 1.0000001 + 0.5
    values[idx] = x
