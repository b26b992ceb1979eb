"""Integer arithmetic: wrapping, floor and C division, shifts and bits, against numpy's int32 and uint32."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import vkamp as amp
from tests.kernel_language.programs import I32, U32, pairs, rows, same_rows

INTS = [0, 1, -1, 2, -2, 3, 7, -7, 8, -9, 100, -100, 65537, 123456789, -987654321, 2**31 - 1, -(2**31)]
UINTS = [0, 1, 2, 3, 7, 8, 100, 65537, 2**31 - 1, 2**31, 2**31 + 5, 4000000000, 2**32 - 1]


@amp.kernel
def plain_operators(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    out[0, k] = x + y
    out[1, k] = x - y
    out[2, k] = x * y
    out[3, k] = x & y
    out[4, k] = x | y
    out[5, k] = x ^ y
    out[6, k] = ~x
    out[7, k] = -x
    out[8, k] = +x
    out[9, k] = x + 1000000000
    out[10, k] = 5 - x
    out[11, k] = x * 3 + y * 5 - (x - y) * 7
    out[12, k] = x - (y - x)
    out[13, k] = ~(x | y) & 0x0F0F0F0F
    out[14, k] = min(x, y)
    out[15, k] = max(x, y)
    out[16, k] = max(min(x, y, 5), 2)
    out[17, k] = x**3
    out[18, k] = (x + y) ** 2


def plain_expectations(x: NDArray, y: NDArray) -> dict[str, NDArray]:
    t = x.dtype.type
    return {
        "x + y": x + y,
        "x - y": x - y,
        "x * y": x * y,
        "x & y": x & y,
        "x | y": x | y,
        "x ^ y": x ^ y,
        "~x": ~x,
        "-x": t(0) - x,
        "+x": x,
        "x + 1000000000": x + t(1000000000),
        "5 - x": t(5) - x,
        "x * 3 + y * 5 - (x - y) * 7": x * t(3) + y * t(5) - (x - y) * t(7),
        "x - (y - x)": x - (y - x),
        "~(x | y) & mask": ~(x | y) & t(0x0F0F0F0F),
        "min": np.minimum(x, y),
        "max": np.maximum(x, y),
        "max(min(x, y, 5), 2)": np.maximum(np.minimum(np.minimum(x, y), t(5)), t(2)),
        "x**3": x * x * x,
        "(x + y) ** 2": (x + y) * (x + y),
    }


@pytest.mark.parametrize(("dtype", "values"), [(I32, INTS), (U32, UINTS)])
def test_operators_wrap(accelerator_view, dtype, values):
    x, y = pairs(values, dtype)
    same_rows(rows(accelerator_view, plain_operators, 19, dtype, x, y), plain_expectations(x, y))


@amp.kernel
def divisions(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    out[0, k] = x // y
    out[1, k] = x % y
    out[2, k] = amp.tdiv(x, y)
    out[3, k] = amp.trem(x, y)
    out[4, k] = x // 7
    out[5, k] = x % 7
    out[6, k] = x // -7
    out[7, k] = x % -7
    out[8, k] = x // 8
    out[9, k] = x % 8
    out[10, k] = x // -8
    out[11, k] = x % -8
    out[12, k] = x // 1
    out[13, k] = x % 1
    out[14, k] = 100 // y
    out[15, k] = 100 % y
    out[16, k] = -100 // y
    out[17, k] = -100 % y
    out[18, k] = amp.tdiv(x, 8)
    out[19, k] = amp.trem(x, 8)
    out[20, k] = amp.tdiv(x, -3)
    out[21, k] = amp.trem(x, -3)
    out[22, k] = (x // y) * y + x % y
    out[23, k] = x - x // 3 * 3
    out[24, k] = (k - 5) // 4
    out[25, k] = (k - 5) % 4
    out[26, k] = k // 6 * 10 + k % 6
    out[27, k] = x % 1073741824
    out[28, k] = x // 1073741824


def c_quotient(x: NDArray, y: NDArray) -> NDArray:
    wide, by = x.astype(np.int64), y.astype(np.int64)
    return (np.sign(wide) * np.sign(by) * (abs(wide) // abs(by))).astype(I32)


def test_floor_and_c_division_of_negative_operands(accelerator_view):
    x, y = pairs(INTS, I32)
    # A zero divisor is undefined; the one quotient that int32 does not hold wraps.
    x, y = x[y != 0], y[y != 0]
    k = np.arange(len(x))
    quotient, by_3 = c_quotient(x, y), c_quotient(x, np.full_like(x, -3))
    by_8 = c_quotient(x, np.full_like(x, 8))
    same_rows(
        rows(accelerator_view, divisions, 29, I32, x, y),
        {
            "x // y": x // y,
            "x % y": x % y,
            "tdiv": quotient,
            "trem": x - quotient * y,
            "x // 7": x // 7,
            "x % 7": x % 7,
            "x // -7": x // -7,
            "x % -7": x % -7,
            "x // 8": x // 8,
            "x % 8": x % 8,
            "x // -8": x // -8,
            "x % -8": x % -8,
            "x // 1": x,
            "x % 1": 0,
            "100 // y": 100 // y,
            "100 % y": 100 % y,
            "-100 // y": -100 // y,
            "-100 % y": -100 % y,
            "tdiv(x, 8)": by_8,
            "trem(x, 8)": x - by_8 * 8,
            "tdiv(x, -3)": by_3,
            "trem(x, -3)": x + by_3 * 3,
            "(x // y) * y + x % y": x,
            "x - x // 3 * 3": x % 3,
            "(k - 5) // 4": (k - 5) // 4,
            "(k - 5) % 4": (k - 5) % 4,
            "k // 6 * 10 + k % 6": k // 6 * 10 + k % 6,
            "x % 2**30": x % 2**30,
            "x // 2**30": x // 2**30,
        },
    )


@amp.kernel
def unsigned_divisions(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    out[0, k] = x // y
    out[1, k] = x % y
    out[2, k] = amp.tdiv(x, y)
    out[3, k] = amp.trem(x, y)
    out[4, k] = x // 2147483648
    out[5, k] = x % 2147483648
    out[6, k] = x // 16
    out[7, k] = x % 16
    out[8, k] = 4294967295 // y
    out[9, k] = x // 10 % 10
    out[10, k] = x % 4294967295


def test_unsigned_division(accelerator_view):
    x, y = pairs(UINTS, U32)
    keep = y != 0
    x, y = x[keep], y[keep]
    same_rows(
        rows(accelerator_view, unsigned_divisions, 11, U32, x, y),
        {
            "x // y": x // y,
            "x % y": x % y,
            "tdiv": x // y,
            "trem": x % y,
            "x // 2**31": x // U32(2**31),
            "x % 2**31": x % U32(2**31),
            "x // 16": x // U32(16),
            "x % 16": x % U32(16),
            "max // y": U32(2**32 - 1) // y,
            "x // 10 % 10": x // U32(10) % U32(10),
            "x % max": x % U32(2**32 - 1),
        },
    )


@amp.kernel
def shifts(i, a, n, out):
    k = i[0]
    x, s = a[k], n[k]
    out[0, k] = x << s
    out[1, k] = x >> s
    out[2, k] = x << 3
    out[3, k] = x >> 3
    out[4, k] = x << 31
    out[5, k] = x >> 31
    out[6, k] = x << 0
    out[7, k] = (x << 4) | (x >> 28)
    out[8, k] = x >> (s & 7) << 2
    out[9, k] = (x & 0xFF) << 8 ^ x
    out[10, k] = 1 << s


@pytest.mark.parametrize("count_type", [I32, U32])
@pytest.mark.parametrize(("dtype", "values"), [(I32, INTS), (U32, UINTS)])
def test_shifts(accelerator_view, dtype, values, count_type):
    x, s = (v.ravel().copy() for v in np.meshgrid(np.array(values, dtype), np.arange(32, dtype=dtype)))
    t = dtype
    same_rows(
        rows(accelerator_view, shifts, 11, dtype, x, s.astype(count_type)),
        {
            "x << s": x << s,
            "x >> s": x >> s,
            "x << 3": x << t(3),
            "x >> 3": x >> t(3),
            "x << 31": x << t(31),
            "x >> 31": x >> t(31),
            "x << 0": x,
            "(x << 4) | (x >> 28)": (x << t(4)) | (x >> t(28)),
            "x >> (s & 7) << 2": x >> (s & t(7)) << t(2),
            "(x & 255) << 8 ^ x": ((x & t(255)) << t(8)) ^ x,
            "1 << s": t(1) << s,
        },
    )


@amp.kernel
def mixed_signedness(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]  # int32 and uint32: the common type is uint32, but they are compared by value
    out[0, k] = x + y
    out[1, k] = x * y
    out[2, k] = amp.uint32(1) if x < y else amp.uint32(0)
    out[3, k] = min(x, y)
    out[4, k] = amp.uint32(x) + 1
    out[5, k] = amp.uint32(amp.int32(y) >> 1)
    out[6, k] = y >> 1
    out[7, k] = x // (y | 1)
    out[8, k] = x | y


def test_int_and_uint_meet_in_uint(accelerator_view):
    a, b = np.meshgrid(np.array(INTS, I32), np.array(UINTS, U32))
    x, y = a.ravel().copy(), b.ravel().copy()
    u = x.view(U32)
    same_rows(
        rows(accelerator_view, mixed_signedness, 9, U32, x, y),
        {
            "x + y": u + y,
            "x * y": u * y,
            "x < y": x.astype(np.int64) < y,
            "min": np.minimum(x.astype(np.int64), y).astype(I32).view(U32),
            "uint(x) + 1": u + U32(1),
            "int(y) >> 1": (y.view(I32) >> 1).view(U32),
            "y >> 1": y >> U32(1),
            "x // (y | 1)": u // (y | U32(1)),
            "x | y": u | y,
        },
    )


@amp.kernel
def augmented(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    for row in range(12):
        out[row, k] = x
    out[0, k] += y
    out[1, k] -= y
    out[2, k] *= y
    out[3, k] //= 3
    out[4, k] %= 3
    out[5, k] &= y
    out[6, k] |= y
    out[7, k] ^= y
    out[8, k] <<= 5
    out[9, k] >>= 5
    out[10, k] **= 2
    z = x
    z += 1
    z *= z
    z -= y
    out[11, k] = z


def test_augmented_assignment(accelerator_view):
    x, y = pairs(INTS, I32)
    same_rows(
        rows(accelerator_view, augmented, 12, I32, x, y),
        {
            "+=": x + y,
            "-=": x - y,
            "*=": x * y,
            "//=": x // 3,
            "%=": x % 3,
            "&=": x & y,
            "|=": x | y,
            "^=": x ^ y,
            "<<=": x << 5,
            ">>=": x >> 5,
            "**=": x * x,
            "variable": (x + 1) * (x + 1) - y,
        },
    )


@amp.kernel
def folded(i, a, out):
    k = i[0]
    x = a[k]
    out[0, k] = x + (7 // 2 * 2 - 9 % -4)
    out[1, k] = x + (-7 // 2) * (-7 % 3)
    out[2, k] = x * (1 << 20) // (1 << 10)
    out[3, k] = x + int(2.9) + int(-2.9) + int(True)
    out[4, k] = x + (2**10 - ~5)
    out[5, k] = x + (0xFF & 0x3C | 0x100 ^ 0x10)
    out[6, k] = x + len_of_nothing
    out[7, k] = x + (3 if 2 > 1 else 4)
    out[8, k] = x + min(4, 2, 8) - max(1, -5)


len_of_nothing = 1000


def test_constants_fold_as_python_does(accelerator_view):
    x = np.arange(-5, 6, dtype=I32)
    same_rows(
        rows(accelerator_view, folded, 9, I32, x),
        {
            "0": x + (7 // 2 * 2 - 9 % -4),
            "1": x + (-7 // 2) * (-7 % 3),
            "2": (x << 20) // (1 << 10),
            "3": x + 1,
            "4": x + (2**10 - ~5),
            "5": x + (0xFF & 0x3C | 0x100 ^ 0x10),
            "6": x + 1000,
            "7": x + 3,
            "8": x + 1,
        },
    )


def test_the_magnitude_of_an_unsigned_number(accelerator_view):
    @amp.kernel
    def magnitudes(idx, u, out):
        out[0, idx[0]] = abs(u[idx])
        out[1, idx[0]] = np.abs(u[idx] - 1)

    u = np.array([0, 5, (1 << 32) - 1], np.uint32)
    out = amp.array_view(np.zeros((2, 3), np.uint32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), magnitudes, amp.array_view(u), out)
    np.testing.assert_array_equal(out, [u, u - np.uint32(1)])
