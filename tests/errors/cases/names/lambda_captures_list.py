import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def apply(idx, a, *, op: amp.constant):
    a[idx] = op(a[idx])


def launch(weights):
    apply.inspect(FLOATS.extent, FLOATS, op=lambda x: x * weights[0])


launch([1.0, 2.0])
