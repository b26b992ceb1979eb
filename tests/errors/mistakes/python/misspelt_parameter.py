"""A misspelt parameter."""

import numpy as np

import vkamp as amp

values = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, values):
    vlaues[idx] *= 2.0


amp.parallel_for_each(values.extent, scale, values)
