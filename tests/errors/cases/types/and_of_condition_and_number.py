import numpy as np

import vkamp as amp

A = amp.array_view(np.zeros(12, np.int32))
OUT = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def run(idx, a, out):
    a[idx] = out[idx] > 0.0 and a[idx]


run.inspect(A.extent, A, OUT)
