import numpy as np

import vkamp as amp

FLOATS = amp.array_view(np.zeros(12, np.float32))


@amp.func
def twice(op, x):
    return op(op(x))


@amp.kernel
def apply(idx, a, op):
    a[idx] = twice(op, a[idx])


def launch(op):
    apply.inspect(FLOATS.extent, FLOATS, op)


launch(
    # Over several lines.
    lambda x: (
        x  # the element
        + undefined_offset
    )
)
