"""A mask of bools."""

import numpy as np

import vkamp as amp

mask = amp.array_view(np.zeros(8, bool))
