"""A misspelt name of vkamp."""

import numpy as np

import vkamp as amp

a = amp.array_view(np.ones(8, np.float32))


@amp.kernel
def scale(t_idx, a):
    tmp = amp.tile_statc(4, amp.float32)
    tmp[t_idx.local] = a[t_idx]


amp.parallel_for_each(a.extent.tile(4), scale, a)
