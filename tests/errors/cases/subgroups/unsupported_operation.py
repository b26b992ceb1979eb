from dataclasses import replace

import numpy as np

import vkamp as amp

QUEUE = type(amp.accelerator("reference").default_view._queue)


@amp.kernel
def program(t_idx, x):
    left = amp.subgroup.shuffle_up(x[t_idx], 1)
    x[t_idx] = left - amp.subgroup.add(x[t_idx])


FLOATS = amp.array_view(np.zeros(64, np.float32))
INFO = QUEUE.info
KNOWN = amp.accelerator("reference").default_view._queue.info
QUEUE.info = replace(
    KNOWN, limits=replace(KNOWN.limits, subgroup_operations=frozenset({"basic", "vote", "ballot", "arithmetic"}))
)
try:
    amp.parallel_for_each(FLOATS.extent.tile(16), program, FLOATS)
finally:
    QUEUE.info = INFO
