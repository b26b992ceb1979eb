"""An empty array."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.zeros(0, np.float32))
