"""Complex numbers of 256 bits."""

import numpy as np

import vkamp as amp

spectrum = amp.array_view(np.zeros(8, np.clongdouble))
