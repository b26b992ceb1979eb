"""A view of a number."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.float32(1.0))
