import numpy as np

import vkamp as amp


@amp.struct
class P:
    x: amp.float32
    v: amp.float32


PS = amp.array_view(np.zeros(12, P))
QS = amp.array_view(np.zeros(12, P))
OUT = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def run(idx, ps, out):
    p = ps[idx]
    p.x *= 2.0
    out[idx] = p.x


run.inspect(PS.extent, amp.array_view(np.zeros(12, P), readonly=True), OUT)
