import numpy as np

import vkamp as amp

WORDS = amp.array_view(np.zeros((16, 2, 4), np.uint32), dtype=amp.uint4)


@amp.kernel(subgroup=32)
def program(t_idx, words):
    x = amp.matrix_load(words, (0, 0), (16, 16), "a")


program.inspect(amp.extent(32).tile(32), WORDS)
