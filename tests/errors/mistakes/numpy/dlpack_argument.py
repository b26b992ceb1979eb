"""An object of another library that exports DLPack, as the argument."""

import numpy as np

import vkamp as amp


class Tensor:
    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **keywords):
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@amp.kernel
def scale(idx, a):
    a[idx] *= 2.0


amp.parallel_for_each(amp.extent(8), scale, Tensor(np.ones(8, np.float32)))
