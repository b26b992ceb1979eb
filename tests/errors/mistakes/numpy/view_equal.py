"""Whether two views are equal."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.arange(4, dtype=np.float32))
b = amp.array_view(np.arange(4, dtype=np.float32))
if a == b:
    print("equal")
