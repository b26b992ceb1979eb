"""Private arrays that are too large for a driver are rejected before the driver sees them."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32


@amp.func
def second(x, *, size: amp.constant):
    values = amp.private(size, amp.int32)
    values[x] = 6
    return values[x]


@amp.kernel
def large(i, out, *, size: amp.constant):
    values = amp.private(size, amp.int32)
    values[i[0]] = 5
    out[i] = values[i[0]]


@amp.kernel
def large_in_functions(i, out, *, size: amp.constant):
    out[i] = second(i[0], size=size) + second(i[0] + 1, size=size)


@pytest.mark.accelerators("swiftshader")
@pytest.mark.parametrize(("kernel", "most"), [(large, 30_000), (large_in_functions, 15_000)])
def test_the_limit_of_swiftshader(accelerator_view, kernel, most):
    out = amp.array_view(np.zeros(4, I32))
    amp.parallel_for_each(accelerator_view, out.extent, kernel, out, size=most)
    assert np.asarray(out).tolist() == [5 if kernel is large else 12] * 4
    with pytest.raises(amp.UnsupportedFeatureError, match="the private arrays of a thread have 1200"):
        amp.parallel_for_each(accelerator_view, out.extent, kernel, out, size=most + 1)
