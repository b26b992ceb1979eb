import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def report(idx, a):
    print(a[idx], amp.fast_math.sqrt)


report.inspect(FLOATS.extent, FLOATS)
