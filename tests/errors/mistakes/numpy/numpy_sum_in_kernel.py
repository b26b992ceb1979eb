"""The sums of rows, as numpy writes them."""

import numpy as np

import vkamp as amp

grid = amp.array_view(np.ones((4, 6), np.float32))
sums = amp.array_view(np.zeros(4, np.float32))


@amp.kernel
def row_sums(idx, grid, sums):
    sums[idx] = np.sum(grid, axis=1)


amp.parallel_for_each(sums.extent, row_sums, grid, sums)
