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
def run(idx, out):
    here = amp.index(0) + idx
    there = here
    there[0] = (there[0] + 1) % 12
    out[here] = out[there]


run.inspect(OUT.extent, OUT)
