import numpy as np

import vkamp as amp

SAMPLESIZE = 2
matrix = amp.array_view(np.arange(64, dtype=np.float32).reshape(8, 8))
averages = amp.array(amp.extent(4, 4), amp.float32, np.zeros(16))


@amp.parallel_for_each(matrix.extent.tile(SAMPLESIZE, SAMPLESIZE))
def _(t_idx):
    # Do not do this.
    total = amp.tile_static((), amp.float32)
    total += matrix[t_idx]
    t_idx.barrier.wait()

    averages[t_idx.tile[0], t_idx.tile[1]] = total / float(SAMPLESIZE * SAMPLESIZE)
