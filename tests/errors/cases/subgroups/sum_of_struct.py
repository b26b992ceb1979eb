import numpy as np

import vkamp as amp

RECORDS = amp.array_view(np.zeros(64, np.dtype([("weight", "f4"), ("count", "i4")])))


@amp.kernel
def program(t_idx, a):
    a[t_idx] = amp.subgroup.add(a[t_idx])


amp.parallel_for_each(RECORDS.extent.tile(16), program, RECORDS)
