import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Blur:
    weight = classmethod(print)

    @amp.kernel
    def run(self, idx, a):
        a[idx] = self.weight()


amp.parallel_for_each(FLOATS.extent, Blur().run, FLOATS)
