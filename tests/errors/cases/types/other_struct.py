import numpy as np

import vkamp as amp

POINTS = amp.array_view(np.zeros(12, [("x", "f4"), ("y", "f4")]))
COLORS = amp.array_view(np.zeros(12, [("r", "f4"), ("g", "f4")]))


@amp.kernel
def mix(idx, points, colors):
    points[idx] = colors[idx]


mix.inspect(POINTS.extent, POINTS, COLORS)
