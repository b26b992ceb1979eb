"""A field that a structured dtype lacks."""

import numpy as np

import vkamp as amp

POINT = np.dtype([("x", np.float32), ("y", np.float32)])
points = amp.array_view(np.zeros(8, POINT))


@amp.kernel
def lift(idx, points):
    points[idx].z = 1.0


amp.parallel_for_each(points.extent, lift, points)
