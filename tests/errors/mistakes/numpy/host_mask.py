"""A mask on the host."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
a[np.zeros(8, bool)] = 0.0
