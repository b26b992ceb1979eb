"""Kernels that random runs have found to be wrong, cut to what shows it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, same


@amp.kernel
def asin_after_a_barrier(t, out):
    me = t.global_[0]
    out[me] = 0.0
    t.barrier.wait()
    out[me] = amp.precise_math.asin((me % 15 - 7) * 0.125 + 0.0625)


def test_asin_after_a_barrier(accelerator_view):
    out = amp.array_view(np.full(24, 7, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(24).tile(12), asin_after_a_barrier, out)
    expected = np.arcsin((np.arange(24) % 15 - 7) * 0.125 + 0.0625).astype(F32)
    np.testing.assert_allclose(np.asarray(out), expected, rtol=5e-7)


@amp.kernel
def class_of_infinity(i, out):
    out[i] = abs(amp.precise_math.fpclassify(math.inf) - 2) % 3 + amp.precise_math.ilogb(-math.inf) % 2


def test_whole_numbers_of_infinite_constants(accelerator_view):
    out = amp.array_view(np.zeros(3, I32))
    amp.parallel_for_each(accelerator_view, out.extent, class_of_infinity, out)
    same(np.asarray(out), 2)


@amp.kernel
def remainders_of_one(i, out):
    me = i[0]
    out[0, me] = amp.int2(5) | ((me - 3) % 1)
    out[1, me] = amp.int2(5) ^ amp.trem(me - 3, 1)
    out[2, me] = amp.int2(5) | ((me - 3) // 1)
    out[3, me] = amp.int2(5) - amp.tdiv(me - 3, 1)
    out[4, me] = amp.int2(5) | amp.int32(amp.uint32(me) % 1)
    out[5, me] = amp.int2(5) | (amp.int2(me - 3) % 1)
    out[6, me] = amp.int2(amp.uint2(5) | (amp.uint2(me) % 1))


def test_remainders_of_one(accelerator_view):
    out = amp.array(amp.extent(7, 8), amp.int2, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, amp.extent(8), remainders_of_one, out)
    me = np.arange(8) - 3
    five = np.full(8, 5)
    expected = np.array([five, five, 5 | me, 5 - me, five, five, five], I32)
    same(np.asarray(out), np.repeat(expected[:, :, None], 2, axis=2))


@amp.kernel
def arrays_and_an_atomic(i, out, total):
    first = amp.private(1, amp.int32)
    second = amp.private(2, amp.int32)
    third = amp.private(3, amp.int32)
    first[0] = i[0]
    second[1] = first[0] + 1
    third[2] = second[1] * 2
    amp.atomic_fetch_add(total[0], third[2])
    out[i] = third[2]


def test_private_arrays_and_an_atomic(accelerator_view):
    """Of the reference accelerator: an array's type and the atomic's place had one name."""
    out, total = amp.array_view(np.zeros(5, I32)), amp.array_view(np.zeros(1, I32))
    amp.parallel_for_each(accelerator_view, out.extent, arrays_and_an_atomic, out, total)
    same(np.asarray(out), np.arange(1, 6) * 2)
    same(np.asarray(total), [30])


@amp.kernel
def rows_of_operators(i, a, out):
    x = a[i]
    out[0, i[0]] = amp.direct3d.mad(x + 1.0, x - 2.0, x * 0.5)
    out[1, i[0]] = amp.direct3d.mad(-x, x if x > 1.0 else 3.0, -1.0)
    out[2, i[0]] = amp.direct3d.rcp(x + 4.0) * 2.0


def test_arguments_of_rows_that_are_operators(accelerator_view):
    a = np.array([0, 1, 4, -2, 12], F32)
    out = amp.array_view(np.zeros((3, 5), F32))
    amp.parallel_for_each(accelerator_view, amp.extent(5), rows_of_operators, amp.array_view(a), out)
    expected = [(a + 1) * (a - 2) + a / 2, -a * np.where(a > 1, a, 3) - 1, 2 / (a + 4)]
    np.testing.assert_allclose(np.asarray(out), np.array(expected), rtol=1e-6)


@amp.func
def whole_of_a_constant(x):
    return math.floor(8.0)


@amp.func
def doubled(x: amp.uint32):
    return x * 2


@doubled.register
def _(x: amp.float32):
    return x * 2.0


@amp.kernel
def whole_numbers_of_constants(i, out):
    x = whole_of_a_constant(i[0])
    x -= 0.5
    y = math.ceil(-0.5)
    v = amp.float2(1.0) - math.trunc(2.5)
    out[0, i[0]] = x
    out[1, i[0]] = y * 0.25 + doubled(math.ceil(2.5))
    out[2, i[0]] = v.x / 2
    out[3, i[0]] = round(2.5)
    out[4, i[0]] = min(math.nan, 2.0)
    least = min(3, 4.0)
    least += 0.5
    out[5, i[0]] = least


def test_functions_of_constants_give_what_they_give_of_variables(accelerator_view):
    """They were Python's own: a whole number was an int, and halves went to even."""
    out = amp.array_view(np.zeros((6, 5), F32))
    amp.parallel_for_each(accelerator_view, amp.extent(5), whole_numbers_of_constants, out)
    expected = np.array([7.5, 6, -0.5, 3, 2, 3.5], F32)
    same(np.asarray(out), np.repeat(expected[:, None], 5, axis=1))


@amp.kernel
def constant_vectors_compared(i, out, count):
    me = i[0]
    half, two, flag = amp.float3(0.5), amp.uint2(amp.uint32(2)), me == 0
    out[0, me] = amp.int32((amp.float3(0.5) == amp.float3(0.5)) == True)  # noqa: E712
    out[1, me] = amp.int32((amp.float3(0.5) != amp.float3(8.0)) != True)  # noqa: E712
    out[2, me] = amp.int32((amp.uint2(amp.uint32(0)) == amp.uint2(amp.uint32(1))) != False) + 2  # noqa: E712
    out[3, me] = amp.int32((amp.uint32(4) <= amp.uint32(4)) != (amp.int4(0) != amp.int4(3)))
    out[4, me] = amp.int32((amp.float4(1.0) == amp.float4(1.0)) == (amp.int2(3) == amp.int2(3)))
    out[5, me] = amp.int32((amp.int2(1, 2).yx == amp.int2(2, 1)) == (amp.int3(1) == amp.int3(1) if True else False))
    out[6, me] = amp.int32((half == amp.float3(0.5)) == (two != amp.uint2(me)))
    out[7, me] = amp.int32(flag == (amp.float2(math.nan) != amp.float2(math.nan)))
    if (amp.float3(1.0) == amp.float3(0.0)) == False:  # noqa: E712
        amp.atomic_fetch_add(count[0], 1)


def test_constant_vectors_compared(accelerator_view):
    """Of glslang: it folds `==` of constant vectors to a bool that equals neither true nor false."""
    out, count = amp.array_view(np.full((8, 3), 7, I32)), amp.array_view(np.zeros(1, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), constant_vectors_compared, out, count)
    same(np.asarray(out), [[1] * 3, [0] * 3, [2] * 3, [0] * 3, [1] * 3, [1] * 3, [1, 1, 0], [1, 0, 0]])
    same(np.asarray(count), [3])


@amp.kernel
def signs_after_a_fence(t, out, x):
    me = t.global_[0]
    amp.all_memory_fence(t.barrier)
    out[0, me] = amp.precise_math.fma(x, 1.0, 0.0)
    out[1, me] = amp.precise_math.nearbyint(x)


def test_signs_after_a_fence(accelerator_view):
    """Of lavapipe: (a & m) | (b & ~m) after a fence was wrong where b & m was used elsewhere."""
    out = amp.array_view(np.full((2, 12), 7, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(12).tile(4), signs_after_a_fence, out, np.float32(-4.5))
    same(np.asarray(out), np.repeat(F32([[-4.5], [-4.0]]), 12, axis=1))


@amp.kernel
def angles_behind_a_return(t, a, out):
    me = t.global_[0]
    t.barrier.wait()
    if a[me] > 5:
        return
    out[me] = amp.precise_math.atan(amp.float32(a[me] - 3) * 0.25 + 0.125)


def test_angles_behind_a_return(accelerator_view):
    a = np.arange(9, dtype=I32)
    out = amp.array_view(np.full(9, 7, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(9).tile(3), angles_behind_a_return, amp.array_view(a), out)
    expected = np.where(a > 5, 7, np.arctan((a - 3) * 0.25 + 0.125))
    np.testing.assert_allclose(np.asarray(out), expected.astype(F32), rtol=1e-6)


@amp.kernel
def quotients_of_the_least_integer(i, a, out):
    k = i[0]
    least = amp.int32(-2147483648)
    out[0, k] = -amp.tdiv(least, (a[k] & 7) + 2)
    out[1, k] = -amp.tdiv(a[k], least)
    out[2, k] = -(least // ((a[k] & 7) + 2))
    out[3, k] = -(a[k] // least)
    quotients = -(amp.int2(least) / amp.int2((a[k] & 7) + 2, 5)) - amp.int2(a[k], k) / amp.int2(least)
    out[4, k] = quotients.x
    out[5, k] = quotients.y


def test_quotients_of_the_least_integer(accelerator_view):
    """Of spirv-opt, which SwiftShader runs: it takes `-(c / x)` for `-c / x`, and `-(x / c)` for `x / -c`."""
    a = np.array([-(2**31), -(2**31) + 1, -5, -1, 0, 1, 6, 2**31 - 1], I32)
    out = amp.array_view(np.full((6, 8), 7, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(8), quotients_of_the_least_integer, amp.array_view(a), out)
    divisor = (a & 7).astype(np.int64) + 2
    by, is_least = 2**31 // divisor, (a == -(2**31)).astype(np.int64)
    expected = [
        by,
        -is_least,
        -(-(2**31) // divisor),
        -(a.astype(np.int64) // -(2**31)),
        by - is_least,
        [2**31 // 5] * 8,
    ]
    same(np.asarray(out), np.array(expected))


@amp.kernel
def index_and_vector(i, points):
    points[i] = i - (2 - points[i].yx)


def test_an_index_and_a_vector_have_no_operator():
    """It ended with an assertion of the compiler."""
    points = amp.array_view(np.zeros(3, amp.int2.dtype))
    with pytest.raises(amp.CompileError, match="VKA322"):
        amp.parallel_for_each(amp.accelerator("reference").default_view, points.extent, index_and_vector, points)
