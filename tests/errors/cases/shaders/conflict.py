"""An unresolved conflict."""

from pathlib import Path

import numpy as np

import vkamp as amp
from tests.edit.support import edit, exported


@amp.kernel
def row_sums(t_idx, matrix, sums, scale):
    values = amp.tile_static(16, amp.float32)
    values[t_idx.local] = matrix[t_idx.tile[0], t_idx.local[0]]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local[0] == 0:
        total = 0.0
        for col in range(16):
            total += values[col]
        sums[t_idx.tile] = total * scale


def launch():
    matrix = amp.array_view(np.ones((5, 16), np.float32), readonly=True)
    sums = amp.array_view(np.zeros(5, np.float32))
    view = amp.accelerator("swiftshader").default_view
    amp.parallel_for_each(view, amp.extent(5 * 16).tile(16), row_sums, matrix, sums, 2.0)


(shader,) = exported(Path("shaders"), launch)
marks = "<<<<<<< edited\n        float total = 1.0;\n=======\n        float total = 0.0;\n>>>>>>> generated"
edit(shader, ("        float total = 0.0;", marks))
launch()
