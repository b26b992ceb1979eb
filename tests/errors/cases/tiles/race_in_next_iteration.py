import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros((12, 20), np.float32))


@amp.kernel
def product(t_idx, a, b, c):
    left = amp.tile_static((4, 5), amp.float32)
    right = amp.tile_static((5, 4), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    total = 0.0
    for k in range(0, a.extent[1], 5):
        if col < 5:
            left[row, col] = a[t_idx.global_[0], k + col]
        for i in range(row, 5, 4):
            right[i, col] = b[k + i, t_idx.global_[1]]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for i in range(5):
            total += left[row, i] * right[i, col]
    c[t_idx] = total


product.inspect(FLOATS.extent.tile(4, 4), FLOATS, FLOATS, FLOATS)
