"""An intrinsic of shading languages, in the namespace of C++'s functions."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.parallel_for_each(a.extent)
def _(i):
    a[i] = amp.fast_math.clamp(a[i], 0.0, 1.0)
