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


@amp.kernel
def name_in_a_subscript(i, out):
    p = amp.private(4, amp.int32)
    z = i[0] + 1
    p[(z := 3)], y = z, z + 10
    out[i] = p[3] * 10000 + y * 100 + z


@amp.func
def advanced(v, state):
    state[0] += 1
    return v


@amp.kernel
def call_in_a_subscript(i, out):
    state = amp.private(1, amp.int32)
    state[0] = i[0]
    v = amp.int2(7, 8)
    v[advanced(1, state)], y = 5, state[0]
    out[i] = y * 100 + state[0] * 10 + v.y


@amp.kernel
def memory_and_a_name(i, out):
    p = amp.private(8, amp.int32)
    y, z = 2, i[0]
    p[z] = 9
    (p[z], y), z = (z, p[z]), y
    out[i] = p[i] * 100 + y * 10 + z


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (other_vector, lambda n: -(n + 2) * 10),
        (same_vector, lambda n: -(n + 2)),
        (one_component, lambda n: (n + 2) * 10),
        (rotated, lambda n: 231 + n),
        (nested, lambda n: (n + 1) * 2000 + (n + 1) * 300 + 70 + n + 1),
        (in_a_function, lambda n: (n + 1) * 10 + 5),
        (name_in_a_subscript, lambda n: (n + 1) * 10000 + (n + 11) * 100 + 3),
        (call_in_a_subscript, lambda n: n * 100 + (n + 1) * 10 + 5),
        (memory_and_a_name, lambda n: n * 100 + 92),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_values_come_before_targets(accelerator_view, kernel, expected):
    out = amp.array_view(np.zeros(5, np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, kernel, out)
    assert np.asarray(out).tolist() == [expected(n) for n in range(5)]
