import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Blur:
    @classmethod
    def run(cls, idx, a):
        a[idx] = 1.0


amp.parallel_for_each(FLOATS.extent, Blur.run, FLOATS)
