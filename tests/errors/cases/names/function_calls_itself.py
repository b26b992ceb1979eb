import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def apply(idx, a, op):
    a[idx] = op(a[idx])


def launch():
    def halve(x):
        return x if x < 1.0 else halve(x / 2.0)

    apply.inspect(FLOATS.extent, FLOATS, halve)


launch()
