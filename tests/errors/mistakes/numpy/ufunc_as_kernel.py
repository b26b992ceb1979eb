"""A numpy function as the kernel."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
amp.parallel_for_each(a.extent, np.sin, a)
