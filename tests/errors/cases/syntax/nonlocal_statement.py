import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


def launch():
    hits = 0

    @amp.parallel_for_each(FLOATS.extent)
    def _(idx):
        nonlocal hits
        hits += 1


launch()
