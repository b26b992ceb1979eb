"""Loops over private arrays that lavapipe would unroll stay loops where the result would be long."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

KEPT = "The sum hides the end from this driver"


@amp.func
def mixed(x):
    for _ in range(x & 3):
        x = (x * 31 + 7) % 1009 - (x // 3) % 17 + (x ^ 5) // 7 - (x * x) % 13 + (x >> 2) % 11 + (x * 5) // 9
        x = (x * 37 + 5) % 1013 - (x // 5) % 19 + (x ^ 9) // 5 - (x * x) % 29 + (x >> 3) % 23 + (x * 7) // 3
    return x


@amp.kernel
def with_calls(i, a):
    p = amp.private(64, amp.int32)
    for k in range(64):
        p[k] = mixed(a[i] + k)
    a[i] = p[a[i] & 63]


@amp.kernel
def by_other_names(i, a):
    p = amp.private(64, amp.int32)
    for row in range(8):
        at = row * 8 - 1
        for column in range(8):
            at += 1
            at |= column
            p[at] = (a[i] + at) % 7 + (a[i] * at) % 5 + (a[i] ^ at) % 11 + at // 3 + (at * at) % 17 + (a[i] - at) // 9
    a[i] = p[a[i] & 63]


@amp.kernel
def short(i, a):
    p = amp.private(8, amp.int32)
    for k in range(8):
        at = k * 1
        p[at] = a[i] + k
    a[i] = p[a[i] & 7]


def python(kernel, n):
    p = {}
    if kernel is with_calls:
        for k in range(64):
            p[k] = mixed(n + k)
        return p[n & 63]
    for at in range(64):
        p[at] = (n + at) % 7 + (n * at) % 5 + (n ^ at) % 11 + at // 3 + (at * at) % 17 + (n - at) // 9
    return p[n & 63]


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("kernel", [with_calls, by_other_names], ids=lambda k: k.__name__)
def test_what_calls_and_other_names_of_the_counter_make_long(accelerator, kernel):
    numbers = np.arange(-5, 90, dtype=np.int32)
    a = amp.array_view(numbers.copy())
    assert KEPT in kernel.inspect(accelerator, a.extent, a).glsl
    amp.parallel_for_each(accelerator.default_view, a.extent, kernel, a)
    assert np.asarray(a).tolist() == [python(kernel, int(n)) for n in numbers]


@pytest.mark.accelerators("llvmpipe")
def test_short_loops_are_left_to_the_driver(accelerator):
    a = amp.array_view(np.arange(4, dtype=np.int32))
    assert KEPT not in short.inspect(accelerator, a.extent, a).glsl
