"""Annotations as in numpy code."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a: np.ndarray, gain: float = 2.0, *, steps: int = 3):
    a[idx] *= gain


amp.parallel_for_each(a.extent, scale, a)
