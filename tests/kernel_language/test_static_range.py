"""Bodies of ``static_range`` loops: what stays a loop and what needs copies gives what Python gives."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32

X = np.linspace(-2, 4, 23).astype(F32)
M = np.arange(12, dtype=F32).reshape(3, 4)


@amp.func
def scaled(x, k):
    return x * k + 1


@amp.func
def first_below(x):
    total = 0.0
    for k in amp.static_range(3):
        if x > k:
            return total + k
        total += x
    return total


@amp.func
def mixed(i, x, m, kept):
    """The counter in subscripts, arguments, bounds and quotients; names that outlive their loop."""
    total = 0.0
    for k in amp.static_range(3):
        row = m[k]
        total += row[i % 4] * (2 * k + 1) + scaled(x[i], k) + first_below(x[i] + k)
        for j in amp.static_range(2):
            kept[k, j] = total + j - k
        for j in range(k):
            total += kept[k, 1] * j
        total += float(k) / 4.0 + x[i] / (k + 1)
        last = k
    for k in amp.static_range(3, -1, -1):
        total -= k
    return total + kept[2, 1] + last + k + row[0]


def test_a_body_of_many_kinds(accelerator_view):
    @amp.kernel
    def kernel(t, x, m, out):
        kept = amp.private((3, 2), amp.float32)
        out[t] = mixed(t[0], x, m, kept)

    out = amp.array_view(np.zeros(23, F32))
    amp.parallel_for_each(accelerator_view, out.extent, kernel, amp.array_view(X), amp.array_view(M), out)
    expected = [mixed(i, X, M, np.zeros((3, 2))) for i in range(23)]
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-5)


def test_names_that_change_from_iteration_to_iteration(accelerator_view):
    """The arrays swap: each iteration needs code of its own."""

    @amp.kernel
    def kernel(t, a, b, out):
        old, new = a, b
        for k in amp.static_range(3):
            new[t] = old[t] * 2 + k
            old, new = new, old
        out[t] = old[t]

    a, b, out = (amp.array_view(np.arange(5, dtype=I32)) for _ in range(3))
    amp.parallel_for_each(accelerator_view, out.extent, kernel, a, b, out)
    assert np.asarray(out).tolist() == [8 * n + 4 for n in range(5)]


@pytest.mark.parametrize("kind", [amp.int32, amp.uint32, amp.float32])
def test_the_counter_takes_the_type_of_what_it_meets(accelerator_view, kind):
    @amp.kernel
    def kernel(t, values, out):
        total = values[t]
        for k in amp.static_range(1, 6):
            total = (total + 3 * k) * k - k
            if total > 40 * k:
                total = kind(k)
        out[t] = total

    dtype = np.dtype(kind)
    values = np.arange(7).astype(dtype)
    out = amp.array_view(np.zeros(7, dtype))
    amp.parallel_for_each(accelerator_view, out.extent, kernel, amp.array_view(values), out)
    expected = []
    for total in values.tolist():
        for k in range(1, 6):
            total = (total + 3 * k) * k - k
            if total > 40 * k:
                total = k
        expected.append(total)
    assert np.asarray(out).tolist() == expected


def test_what_follows_a_loop_that_needs_copies(accelerator_view):
    """Whatever the first attempt to keep the loop has noted is forgotten: names, depths, functions, arrays."""

    @amp.kernel
    def kernel(t, x, out):
        total = 0.0
        for k in amp.static_range(3):
            step = scaled(x[t.global_], k)
            if k == 1:
                total += step
            else:
                total -= step * (1.0 if k > 1 else 2.0)
        row = amp.tile_static(4, amp.float32)
        row[t.local[0]] = scaled(total, 2)
        t.barrier.wait()
        step = row[3 - t.local[0]]
        out[t.global_] = step

    data = np.arange(8, dtype=F32)
    out = amp.array_view(np.zeros(8, F32))
    amp.parallel_for_each(accelerator_view, out.extent.tile(4), kernel, amp.array_view(data), out)

    def total_of(x):
        return sum(sign * (x * k + 1) for k, sign in enumerate((-2, 1, -1))) * 2 + 1

    expected = [total_of(data[4 * (i // 4) + 3 - i % 4]) for i in range(8)]
    assert np.asarray(out).tolist() == expected
