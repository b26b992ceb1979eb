import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Counter:
    def __init__(self):
        self.count = 0

    @amp.kernel
    def run(self, idx, a):
        self.count = self.count + 1
        a[idx] = self.count


amp.parallel_for_each(FLOATS.extent, Counter().run, FLOATS)
