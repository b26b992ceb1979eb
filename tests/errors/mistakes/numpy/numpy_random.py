"""Noise from numpy's generator."""

import numpy as np

import vkamp as amp

rng = np.random.default_rng(1)
a = amp.array_view(np.zeros(8, np.float32))


@amp.kernel
def noise(idx, a):
    a[idx] = rng.normal()


amp.parallel_for_each(a.extent, noise, a)
