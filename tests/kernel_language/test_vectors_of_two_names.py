"""Vectors that have two names in Python: loops over tuples, tuples in variables, chained assignments.

Each program runs on the host and in a kernel.  If the copy in a kernel would be visible, the kernel is rejected.
"""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

VALUES = np.array([3, -7, 12, 0], np.int32)


@amp.func
def fresh_items(n: amp.int32):
    total = 0
    for v in (amp.int2(n, 1), amp.int2(2, n)):
        v.x += 1
        total += v.x * v.y
    return total


@amp.func
def fresh_items_left_early(n: amp.int32):
    total = 0
    for v in (amp.int2(n, 1), amp.int2(2, n)):
        v.x += 1
        if v.x > 9:
            break
        total += v.x
    return total


@amp.func
def items_that_nobody_reads_again(n: amp.int32):
    total = 0
    p, q = amp.int2(n, 1), amp.int2(3, 4)
    for v in (p, q):
        v.x += 1
        if v.x > 9:
            break
        total += v.x
    return total


@amp.func
def items_with_numbers(n: amp.int32):
    total = 0
    for k, v in enumerate((amp.int2(n, 1), amp.int2(2, n))):
        v.y += k
        total += v.x * v.y
    return total


@amp.func
def swapped(n: amp.int32):
    p, q = amp.int2(n, 1), amp.int2(3, 4)
    p, q = q, p
    p.x += 1
    return p.x * 100 + q.x


@amp.func
def one_for_three(n: amp.int32):
    a = b = c = amp.int3(n, 1, 2)
    a = a.zyx
    b *= 2
    return a.x + b.y * 10 + c.z * 100


@amp.func
def unpacked(n: amp.int32):
    pair = (amp.int2(n, 1), amp.int2(5, 6))
    u, v = pair
    u.x += 1
    return u.x + v.y


@pytest.mark.parametrize(
    "program",
    [
        fresh_items,
        fresh_items_left_early,
        items_that_nobody_reads_again,
        items_with_numbers,
        swapped,
        one_for_three,
        unpacked,
    ],
    ids=lambda f: f.__name__,
)
def test_kernels_agree_with_python(accelerator_view, program):
    @amp.kernel
    def run(idx, values, out):
        out[idx] = program(values[idx])

    values, out = amp.array_view(VALUES.copy()), amp.array_view(np.zeros(4, np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, run, values, out)
    assert np.asarray(out).tolist() == [int(program(int(n))) for n in VALUES]


def chained(idx, out):
    v = w = amp.int2(1, 2)
    v.x += 1
    out[idx] = w.x


def in_a_tuple(idx, out):
    v = amp.int2(1, 2)
    pair = (v, 3)
    v.x += 1
    out[idx] = pair[0].x


def out_of_a_tuple(idx, out):
    v = amp.int2(1, 2)
    pair = (v, 3)
    w, _ = pair
    w.x += 1
    out[idx] = v.x


def in_a_loop(idx, out):
    v, w = amp.int2(1, 2), amp.int2(3, 4)
    for each in (v, w):
        each.x += 1
    out[idx] = v.x


def in_a_loop_left_early(idx, out):
    v, w = amp.int2(1, 2), amp.int2(3, 4)
    for each in (v, w):
        each.x += 1
        if each.y > 9:
            break
    out[idx] = w.x


def numbered_in_a_loop(idx, out):
    v = amp.int2(1, 2)
    for k, each in enumerate((v, amp.int2(3, 4))):
        each.x += k
    out[idx] = v.x


@pytest.mark.parametrize(
    "function",
    [chained, in_a_tuple, out_of_a_tuple, in_a_loop, in_a_loop_left_early, numbered_in_a_loop],
    ids=lambda f: f.__name__,
)
def test_copies_that_would_show_are_refused(function):
    """In Python each of these reads what another name has changed."""
    out = amp.array_view(np.zeros(4, np.int32))
    with pytest.raises(amp.CompileError, match="VKA353: in Python .* are one object here"):
        amp.kernel(function).inspect(out.extent, out)


@amp.kernel
def of_a_dtype(t, values, out, *, DTYPE: amp.constant):  # noqa: N803
    shared = amp.tile_static(4, DTYPE)
    own = amp.private(1, DTYPE)
    own[0] = values[t]
    shared[t.local] = own[0]
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = shared[3 - t.local[0]] * 1.0


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_a_dtype_is_a_constant(accelerator_view, dtype):
    values = amp.array_view(np.array([3, 200, 0, 7]).astype(dtype))
    out = amp.array_view(np.zeros(4, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent.tile(4), of_a_dtype, values, out, DTYPE=values.dtype)
    assert np.asarray(out).tolist() == [7, 0, 200, 3]


def test_a_dtype_converts_nothing():
    @amp.kernel
    def converting(idx, out, *, DTYPE: amp.constant):  # noqa: N803
        out[idx] = DTYPE(idx[0])

    out = amp.array_view(np.zeros(4, np.int32))
    with pytest.raises(amp.CompileError) as caught:
        converting.inspect(out.extent, out, DTYPE=out.dtype)
    assert "VKA210: `DTYPE` is a dtype, not a function" in str(caught.value)
    assert "write `idx[0].astype(DTYPE)`" in str(caught.value)


def test_a_quotient_takes_literals_that_no_integer_holds(accelerator_view):
    @amp.kernel
    def shares(idx, values, out):
        out[idx] = values[idx] / 2**32 + values[idx] / 4

    raw = np.array([0, 1, 2**31, 2**32 - 256], np.uint32)
    values, out = amp.array_view(raw), amp.array_view(np.zeros(4, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent, shares, values, out)
    x = raw.astype(np.float32)
    assert np.array_equal(out, x / np.float32(2**32) + x / np.float32(4))
