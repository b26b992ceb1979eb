import sys

import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def report(idx, a):
    print(a[idx], file=sys.stderr)


report.inspect(FLOATS.extent, FLOATS)
