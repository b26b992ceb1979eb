"""Loops that only a break ends get a condition on CPU drivers; loops that never run still never run."""

from __future__ import annotations

import numpy as np

import vkamp as amp

NEVER = False
REMARK = "Always true, which this driver does not know"


@amp.kernel
def first_large(i, a, out):
    at = i[0]
    while True:
        number = a[at]
        at += 1
        if number > 6:
            break
    out[i] = number


@amp.kernel
def never(i, a, out):
    k = 0
    while NEVER and k < 3:
        k += 1
        if a[i] < 0:
            continue
        out[i] = k
    while False:
        out[i] = 7
    while 0:
        k += 1
    out[i] += k


def stored(view, kernel):
    out = amp.array_view(np.full(4, 20, np.int32))
    amp.parallel_for_each(view, out.extent, kernel, amp.array_view(np.array([1, 2, 9, 1, 7], np.int32)), out)
    return np.asarray(out).tolist()


def test_a_loop_that_only_a_break_ends(accelerator_view):
    assert stored(accelerator_view, first_large) == [9, 9, 9, 7]


def test_loops_that_never_run(accelerator_view):
    assert stored(accelerator_view, never) == [20, 20, 20, 20]


def test_only_the_former_get_a_condition(accelerator):
    a, out = (amp.array_view(np.zeros(4, np.int32)) for _ in range(2))
    shaders = [kernel.inspect(accelerator, out.extent, a, out).glsl for kernel in (first_large, never)]
    assert [REMARK in shader for shader in shaders] == [accelerator.device_path != "reference", False]
