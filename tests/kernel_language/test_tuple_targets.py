"""Several targets at once, of which one is a part of what a later value reads: all values come first, as in Python."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp


@amp.kernel
def other_vector(i, out):
    v = amp.int3(i[0] + 1)
    v.rgb, w = amp.int3(0), ~v
    out[i] = w.x * 10 + v.x


@amp.kernel
def same_vector(i, out):
    v = amp.int3(i[0] + 1)
    v.rgb, v = amp.int3(0), ~v
    out[i] = v.x


@amp.kernel
def one_component(i, out):
    v = amp.int3(i[0] + 1)
    v.r, w = 0, v + 1
    out[i] = w.x * 10 + v.x


@amp.kernel
def rotated(i, out):
    v = amp.int3(i[0] + 1, 2, 3)
    v.x, v.y, v.z = v.y, v.z, v.x
    out[i] = v.x * 100 + v.y * 10 + v.z


@amp.kernel
def nested(i, out):
    v = amp.int2(i[0] + 1, 4)
    (v.x, a), (b, v.y) = (7, v + v), (v * 3, v.x)
    out[i] = a.x * 1000 + b.x * 100 + v.x * 10 + v.y


@amp.func
def swapped(v):
    v.x, w = v.y, v + 0
    return w.x * 10 + v.x


@amp.kernel
def in_a_function(i, out):
    out[i] = swapped(amp.int2(i[0] + 1, 5))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (other_vector, lambda n: -(n + 2) * 10),
        (same_vector, lambda n: -(n + 2)),
        (one_component, lambda n: (n + 2) * 10),
        (rotated, lambda n: 231 + n),
        (nested, lambda n: (n + 1) * 2000 + (n + 1) * 300 + 70 + n + 1),
        (in_a_function, lambda n: (n + 1) * 10 + 5),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_values_come_before_targets(accelerator_view, kernel, expected):
    out = amp.array_view(np.zeros(5, np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, kernel, out)
    assert np.asarray(out).tolist() == [expected(n) for n in range(5)]
