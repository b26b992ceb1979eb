import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Blur:
    @amp.kernel
    def run(self):
        pass


amp.parallel_for_each(FLOATS.extent, Blur().run)
