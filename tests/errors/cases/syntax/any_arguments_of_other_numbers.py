import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def apply(idx, out, op, *inputs):
    out[idx] = op(*[a[idx] for a in inputs])


apply.inspect(FLOATS.extent, FLOATS, lambda x, y: x + y, FLOATS)
