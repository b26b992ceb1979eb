import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))
INTS = amp.array_view(np.zeros(12, np.int32))


@amp.kernel
def walk(t_idx, steps, a):
    for k in range(steps[t_idx]):
        a[t_idx] += 1.0
        t_idx.barrier.wait_with_global_memory_fence()


walk.inspect(INTS.extent.tile(4), INTS, FLOATS)
