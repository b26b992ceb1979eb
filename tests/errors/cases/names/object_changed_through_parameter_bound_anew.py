import numpy as np

import vkamp as amp


@amp.struct
class P:
    x: amp.float32
    v: amp.float32


PS = amp.array_view(np.zeros(12, P))
QS = amp.array_view(np.zeros(12, P))
OUT = amp.array_view(np.zeros(12, np.float32))


@amp.func
def shifted(p, n):
    for k in range(n):
        p = P(p.x, p.v + 1.0) if k > 0 else p
        p.x += 1.0
    return p.x


@amp.kernel
def run(idx, ps, out):
    p = P(1.0, 2.0)
    out[idx] = shifted(p, 3) + p.x


run.inspect(PS.extent, PS, OUT)
