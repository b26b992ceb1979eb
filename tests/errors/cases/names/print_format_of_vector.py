import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def report(idx, a):
    position = amp.float2(a[idx], 1.0)
    print(f"at {position:.2f}")


report.inspect(FLOATS.extent, FLOATS)
