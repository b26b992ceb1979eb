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
    best = P(0.0, 1.0)
    found = P(2.0, 3.0)
    if ps[idx].x > 0.0:
        best = found
    found.x = 5.0
    out[idx] = best.x


run.inspect(PS.extent, PS, OUT)
