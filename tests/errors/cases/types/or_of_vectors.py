import numpy as np

import vkamp as amp

A = amp.array_view(np.zeros(12, np.int32))
OUT = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def run(idx, out):
    v = amp.float2(1.0, 2.0)
    w = v or amp.float2(0.0)
    out[idx] = w.x


run.inspect(OUT.extent, OUT)
