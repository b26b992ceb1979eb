import numpy as np

import vkamp as amp

SAMPLESIZE = 2
matrix = amp.array_view(np.arange(64, dtype=np.float32).reshape(8, 8))
averages = amp.array(amp.extent(4, 4), amp.float32, np.zeros(16))


@amp.parallel_for_each(matrix.extent.tile(SAMPLESIZE, SAMPLESIZE))
def _(t_idx):
    tile_values = amp.tile_static((SAMPLESIZE, SAMPLESIZE), amp.float32)
    tile_values[t_idx.local[0], t_idx.local[1]] = matrix[t_idx]

    if t_idx.local[0] == 0 and t_idx.local[1] == 0:
        # Do not do this.
        t_idx.barrier.wait()
        for trow in range(SAMPLESIZE):
            for tcol in range(SAMPLESIZE):
                averages[t_idx.tile[0], t_idx.tile[1]] += tile_values[trow, tcol]
        averages[t_idx.tile[0], t_idx.tile[1]] /= float(SAMPLESIZE * SAMPLESIZE)
