"""A text made of numbers."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def show(idx, a):
    text = f"a[{idx[0]}] = {a[idx]}"
    print(text)


amp.parallel_for_each(a.extent, show, a)
