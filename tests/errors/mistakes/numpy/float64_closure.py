"""The same, captured by a closure."""

import numpy as np

import vkamp as amp

data = np.linspace(0.0, 1.0, 8)
view = amp.array_view(data)


@amp.parallel_for_each(view.extent)
def scale(idx):
    view[idx] *= 2.0
