"""Parts that the tuned products share: the keys of their results, and small products for trying candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import vkamp as amp


def key(view: Any, a: Any, b: Any, c: Any, steps: Any, numbers: Any, ks: Any, adds: Any) -> tuple[Any, ...]:
    """The type, and the sizes within a factor of the square root of two."""
    sizes = (*map(int, c.extent), 4 * (ks[1] - ks[0]))
    return (c.dtype, *(round(2 * np.log2(n)) for n in sizes))


def cases(view: Any, a: Any, b: Any, c: Any, *others: Any) -> Iterator[tuple[Any, ...]]:
    """Small products whose sizes fit no block."""
    random = np.random.default_rng(1)
    for batch, rows, columns, k in ((1, 1, 4, 4), (1, 130, 68, 36), (2, 65, 260, 128), (1, 257, 132, 20)):
        x, y = (random.integers(-9, 9, batch * m * n).astype(c.dtype) for m, n in ((rows, k), (k, columns)))
        left, right = (amp.array(amp.extent(len(each)), c.dtype, each, accelerator_view=view) for each in (x, y))
        out = amp.array(amp.extent(batch, rows, columns), c.dtype, accelerator_view=view)
        amp.copy(np.zeros((batch, rows, columns), c.dtype), out)
        steps = (k // 4, rows * k // 4, columns // 4, k * columns // 4, columns // 4)
        yield view, left, right, out, steps, (c.dtype.type(1), c.dtype.type(0)), (0, k // 4), False
