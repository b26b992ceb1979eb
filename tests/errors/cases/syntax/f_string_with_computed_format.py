import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.kernel
def report(idx, a, width):
    print(f"value {a[idx]:{width}}")


report.inspect(FLOATS.extent, FLOATS, 8)
