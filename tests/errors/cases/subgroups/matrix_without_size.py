import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros((16, 16), np.float32))


@amp.kernel
def program(t_idx, c):
    amp.matrix_store(amp.matrix((16, 16), amp.float32), c, (0, 0))


program.inspect(amp.extent(32).tile(32), FLOATS)
