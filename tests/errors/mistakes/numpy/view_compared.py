"""A comparison of a view."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))
mask = a > 0.5
