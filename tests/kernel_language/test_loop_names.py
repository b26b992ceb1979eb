"""Names that loops bind again: a loop over `amp.static_range` in a loop over the same name, as Python has it."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

# ruff: noqa: B007


def unused_twice(idx, out):
    t = 0.0
    for _ in range(3):
        for _ in amp.static_range(4):
            t += 1
    out[idx] = t


def read_before(idx, out):
    t = 0.0
    for _ in range(3):
        t += _
        for _ in amp.static_range(4):
            t += _
    out[idx] = t


def read_after(idx, out):
    t = 0.0
    for k in range(3):
        for k in amp.static_range(4):
            t += k
        t += 10 * k
    out[idx] = t


def a_range_in_an_unrolled_loop(idx, out):
    t = 0.0
    for k in amp.static_range(3):
        for k in range(idx[0]):
            t += k
    out[idx] = t


def read_before_in_a_loop(idx, out):
    t = 0.0
    for k in amp.static_range(3):
        t += k
        for j in range(2):
            t += k
            for k in amp.static_range(2):
                t += k
    out[idx] = t


def in_a_nested_function(idx, out):
    def inner(n):
        t = 0
        for k in range(n):
            t += k
        for k in amp.static_range(3):
            t += k
        for _ in range(n):
            for _ in amp.static_range(2):
                t += 1
        return t

    out[idx] = inner(idx[0])


def over_a_tuple(idx, out):
    t = 0.0
    for _ in range(3):
        for _ in (0.5, 1.5):
            t += _
    out[idx] = t


def four_deep(idx, out):
    t = 0.0
    for _ in range(2):
        for _ in amp.static_range(2):
            for _ in range(2):
                for _ in amp.static_range(2):
                    t += _
    out[idx] = t


def of_enumerate(idx, out):
    t = 0.0
    for i, _ in enumerate((1, 2)):
        for _ in amp.static_range(4):
            t += _ + i
    out[idx] = t


def a_generator_too(idx, out):
    t = 0.0
    for _ in range(3):
        t += sum(_ for _ in (1.0, 2.0))
        for _ in amp.static_range(4):
            t += _
    out[idx] = t


def read_after_both(idx, out):
    t = 0.0
    for _ in range(3):
        for _ in amp.static_range(4):
            t += 1
    out[idx] = t + _


def two_unrolled_loops(idx, out):
    t = 0.0
    for _ in amp.static_range(3):
        for _ in amp.static_range(2):
            t += _
    out[idx] = t


def unpacked_before(idx, out):
    t = 0.0
    a, _ = 3, 4
    for _ in amp.static_range(2):
        t += _
    out[idx] = t + a


def one_after_the_other(idx, out):
    t = 0.0
    for k in range(3):
        t += k
    for k in amp.static_range(2):
        t += k
    out[idx] = t


def of_a_float_before(idx, out):
    _ = out[idx]
    t = 0.0
    for _ in amp.static_range(2):
        t += _
    out[idx] = t


def assigned_behind(idx, out):
    for k in amp.static_range(2):
        out[idx] += k
    out[idx] += k * 10
    k = idx[0] * 0.5
    out[idx] += k
    for _ in (1, 2):
        out[idx] += _
    _ = 4
    out[idx] += _


PROGRAMS = [
    assigned_behind,
    unused_twice, read_before, read_after, a_range_in_an_unrolled_loop, read_before_in_a_loop, in_a_nested_function,
    over_a_tuple, four_deep, of_enumerate, a_generator_too, read_after_both, two_unrolled_loops, unpacked_before,
    one_after_the_other, of_a_float_before,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_kernels_agree_with_python(accelerator_view, function):
    expected = np.zeros(4, np.float32)
    for i in range(4):
        function(amp.index(i), expected)
    out = amp.array_view(np.zeros(4, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent, amp.kernel(function), out)
    assert np.asarray(out).tolist() == expected.tolist()


def test_other_things_do_not_become_numbers():
    @amp.kernel
    def vector(idx, out):
        v = amp.float2(1.0, 2.0)
        for v in amp.static_range(2):
            out[idx] += v

    out = amp.array_view(np.zeros(4, np.float32))
    with pytest.raises(amp.CompileError, match="VKA316: `v` cannot become the number 0"):
        vector.inspect(out.extent, out)
