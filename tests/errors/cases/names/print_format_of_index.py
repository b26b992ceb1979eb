import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def report(idx, a):
    print(f"at {idx:5d}: {a[idx]}")


report.inspect(FLOATS.extent, FLOATS)
