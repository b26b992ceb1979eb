"""Arithmetic on 32-bit integers that keeps the bits beyond, against Python's whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32, U32, rows, same

INTS = np.array([0, 1, -1, 2, -7, 65536, -65537, 123456789, -987654321, 2**31 - 1, -(2**31)], I32)
X, Y = (np.ascontiguousarray(m.ravel()) for m in np.meshgrid(INTS, INTS))


@amp.func
def squared(x):
    low, high = amp.mul_extended(x, x)
    return low ^ high


@amp.kernel
def of_signed(i, x, y, out):
    k = i[0]
    out[0, k] = amp.mulhi(x[k], y[k])
    low, high = amp.mul_extended(x[k], y[k])
    out[1, k] = low
    out[2, k] = high
    out[3, k] = amp.mulhi(x[k], 1 << 20)
    out[4, k] = squared(x[k])


def test_products_of_int32(accelerator_view):
    got = rows(accelerator_view, of_signed, 5, I32, X, Y)
    product = X.astype(np.int64) * Y
    high, square = (product >> 32).astype(I32), X.astype(np.int64) ** 2
    same(got[0], high)
    same(got[1], product.astype(I32))
    same(got[2], high)
    same(got[3], (X.astype(np.int64) << 20 >> 32).astype(I32))
    same(got[4], square.astype(I32) ^ (square >> 32).astype(I32))


@amp.kernel
def of_unsigned(i, x, y, out):
    k = i[0]
    a, b = x[k], y[k]
    out[0, k] = amp.mulhi(a, b)
    out[1, k], out[2, k] = amp.mul_extended(a, 0xD2511F53)
    out[3, k], out[4, k] = amp.add_carry(a, b)
    out[5, k], out[6, k] = amp.sub_borrow(a, b)
    a, borrow = amp.sub_borrow(a, 1)
    for _ in range(2):
        b, more = amp.add_carry(b, a)
        borrow += more
    out[7, k] = b
    out[8, k] = borrow
    out[9, k] = amp.mulhi(a, amp.int32(y[k]))


def test_unsigned(accelerator_view):
    x, y = X.view(U32), Y.view(U32)
    got = rows(accelerator_view, of_unsigned, 10, U32, x, y)
    a, b = x.astype(np.uint64), y.astype(np.uint64)
    expected = [a * b >> 32, a * 0xD2511F53, a * 0xD2511F53 >> 32, a + b, a + b >> 32, a - b, a < b]
    for row, numbers in enumerate(expected):
        same(got[row], numbers.astype(U32), f"row {row}")
    one_less = (x - U32(1)).astype(np.uint64)
    first = b + one_less
    second = (first & 0xFFFFFFFF) + one_less
    same(got[7], second.astype(U32))
    same(got[8], ((x == 0) + (first >> 32) + (second >> 32)).astype(U32))
    same(got[9], (one_less * b >> 32).astype(U32))


@amp.kernel
def long_sums(t_idx, a, b, low, high):
    """The 64-bit sums of rows, in two words, of which each phase adds a part."""
    sums = amp.tile_static((2, 8), np.uint32)
    k, local = t_idx[0], t_idx.local[0]
    sums[0, local], sums[1, local] = amp.mul_extended(a[k], b[k])
    t_idx.barrier.wait()
    if local < 4:
        total, carry = amp.add_carry(sums[0, local], sums[0, local + 4])
        low[t_idx.tile[0] * 4 + local] = total
        high[t_idx.tile[0] * 4 + local] = sums[1, local] + sums[1, local + 4] + carry


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_sums_in_both_forms(accelerator_view, lowering):
    kernel = amp.kernel(lowering=lowering)(long_sums.function)
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2**31, (2, 56), U32)
    low, high = np.zeros(28, U32), np.zeros(28, U32)
    views = [amp.array_view(v) for v in (a, b, low, high)]
    amp.parallel_for_each(accelerator_view, amp.extent(56).tile(8), kernel, *views)
    views[2].synchronize()
    views[3].synchronize()
    wide = (a.astype(np.uint64) * b).reshape(7, 2, 4).sum(1).ravel()
    same(low | high.astype(np.uint64) << np.uint64(32), wide)


def test_on_the_host():
    assert amp.mulhi(2**31 - 1, 2**31 - 1) == 2**30 - 1
    assert type(amp.mulhi(U32(5), 3)) is U32
    assert type(amp.mulhi(-5, True)) is I32
    assert amp.mulhi(U32(2**32 - 1), 0xD2511F53) == 0xD2511F52
    assert amp.mul_extended(I32(-1), 1) == (-1, -1)
    assert amp.mul_extended(I32(-1), U32(2)) == (2**32 - 2, 1)
    assert amp.add_carry(U32(2**32 - 1), 2) == (1, 1)
    assert amp.sub_borrow(U32(1), U32(2)) == (2**32 - 1, 1)
    with pytest.raises(TypeError, match="not float"):
        amp.mulhi(1.5, 2)
    with pytest.raises(TypeError, match="not int64"):
        amp.mul_extended(np.int64(5), 2)
    with pytest.raises(OverflowError, match="3000000000 does not fit int32"):
        amp.mulhi(3000000000, 2)


@amp.kernel
def of_signed_carry(i, x):
    x[i], _ = amp.add_carry(x[i], x[i])


@amp.kernel
def of_long_vector(i, x):
    x[i].x = 0.0 if amp.asuint(x[i]) == x[i] else 1.0


def test_refused():
    with pytest.raises(amp.CompileError, match="`add_carry` takes uint32, not int32"):
        amp.parallel_for_each(amp.extent(8), of_signed_carry, amp.array_view(np.zeros(8, I32)))
    with pytest.raises(amp.CompileError, match="components of 32 bits"):
        amp.parallel_for_each(amp.extent(8), of_long_vector, amp.array_view(np.zeros(8, amp.double2.dtype)))
