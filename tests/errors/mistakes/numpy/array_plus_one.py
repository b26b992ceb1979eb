"""Arithmetic on an array."""

import numpy as np

import vkamp as amp

a = amp.array(amp.extent(8), np.float32)
b = 2.0 * a
