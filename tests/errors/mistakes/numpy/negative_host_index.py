"""An index from the end on the host."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
print(a[8])
