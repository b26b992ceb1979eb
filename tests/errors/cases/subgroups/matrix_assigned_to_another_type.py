import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros((16, 16), np.float32))
HALVES = amp.array_view(np.zeros((16, 16), np.float16))
LINE = amp.array_view(np.zeros(16, np.float32))


@amp.kernel(subgroup=32)
def program(t_idx, c, a, line):
    m = amp.matrix((16, 16), amp.float32)
    m = amp.matrix((16, 16), amp.float16)
    amp.matrix_store(m, a, (0, 0))


program.inspect(amp.extent(32).tile(32), FLOATS, HALVES, LINE)
