import numpy as np

import vkamp as amp

matrix = amp.array_view(np.arange(64, dtype=np.float32).reshape(8, 8))


@amp.parallel_for_each(matrix.extent.tile(2, 2))
def _(t_idx):
    if t_idx.local[0] == 0:
        t_idx.barrier.wait()
    matrix[t_idx] = 0.0
