"""The functions by which words become numbers, against numpy's."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from vkamp.rng import _functions


@amp.kernel(precise=True)
def _roots(idx, x, roots):
    roots[idx] = _functions.sqrt(x[idx])


def test_square_roots_are_rounded_correctly(accelerator_view):
    """Of all exponents, the numbers beside squares, and zeros."""
    few = accelerator_view.accelerator.device_path == "reference"
    random = np.random.default_rng(1)
    exponents = np.arange(1, 255, 25 if few else 1, dtype=np.uint32)
    bits = (exponents << 23)[:, None] + random.integers(0, 1 << 23, (1, 20 if few else 400), dtype=np.uint32)
    squares = np.square(random.uniform(1, 2, 50 if few else 5000).astype(np.float32)).view(np.uint32)
    beside = [squares + np.uint32(k) for k in range(3)]
    x = np.concatenate([bits.reshape(-1), *beside, np.array([0, 1 << 31], np.uint32)]).view(np.float32)
    found = amp.array_view(np.zeros(x.size, np.float32))
    amp.parallel_for_each(accelerator_view, found.extent, _roots, amp.array_view(x), found)
    np.testing.assert_array_equal(np.asarray(found).view(np.uint32), np.sqrt(x).view(np.uint32))
