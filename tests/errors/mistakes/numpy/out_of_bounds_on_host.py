"""A position past the end, on the host."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones((4, 4), np.float32))
print(a[4, 0])
