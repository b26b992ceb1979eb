import numpy as np

import vkamp as amp

CUBE = amp.array_view(np.zeros((3, 5, 7), np.float32))


@amp.kernel
def edge(idx, cube):
    cube[0, 0] = 1.0


edge.inspect(CUBE.extent, CUBE)
