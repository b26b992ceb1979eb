"""Results, appended to a list."""

import numpy as np

import vkamp as amp

results = []
a = amp.array_view(np.ones(8, np.float32))


@amp.parallel_for_each(a.extent)
def collect(idx):
    if a[idx] > 0.5:
        results.append(idx[0])
