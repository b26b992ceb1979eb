"""Settings in a dict."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(idx, a, settings):
    a[idx] *= settings["gain"]


amp.parallel_for_each(a.extent, scale, a, {"gain": 2.0})
