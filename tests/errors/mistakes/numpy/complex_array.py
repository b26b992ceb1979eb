"""Complex numbers."""

import numpy as np

import vkamp as amp

spectrum = amp.array_view(np.zeros(8, np.complex64))
