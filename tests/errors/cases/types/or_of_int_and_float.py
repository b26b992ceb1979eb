import numpy as np

import vkamp as amp

A = amp.array_view(np.zeros(12, np.int32))
OUT = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def run(idx, a, out):
    out[idx] = a[idx] or 0.5


run.inspect(A.extent, A, OUT)
