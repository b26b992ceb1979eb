import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


class Blur:
    @amp.kernel
    def run(self, idx, a):
        a[idx] = 1.0


Blur().run(FLOATS)
