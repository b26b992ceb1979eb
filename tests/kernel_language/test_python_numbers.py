"""Numbers as Python has them: powers, letters, numpy's scalars as constants, signed with unsigned, arrays of bools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, pairs, rows, same

ROOT = np.sqrt(2)
TWO_PI = np.float64(6.283185307179586)
COUNT = np.int64(3)
HALF = np.float32(0.5)
BIG = np.int32(7)
KIND = amp.float32
DTYPE = np.dtype("int32")
SMALL = [0, 1, 2, 3, 5, 8, 13, 31]


@amp.func
def powers(n, base):
    return 2**n + base**n * 3 - (n % 3) ** 2


@amp.kernel
def of_powers(i, n, b, out):
    k = i[0]
    out[0, k] = 2 ** n[i]
    out[1, k] = b[i] ** n[i]
    out[2, k] = b[i] ** 20
    out[3, k] = powers(n[i], b[i])
    out[4, k] = (n[i] > 2) ** n[i] + n[i] ** True
    out[5, k] = sum(2**j for j in range(n[i] % 7))
    out[6, k] = 3 ** (n[i] & 3) ** 2
    total = 1
    total **= n[i] % 4
    out[7, k] = total + (-3) ** (n[i] % 4)


def test_powers_of_integers(accelerator_view):
    n, b = pairs(SMALL, I32)
    b = b - 4
    got = rows(accelerator_view, of_powers, 8, I32, n, b)
    with np.errstate(all="ignore"):
        same(got[0], I32(2) ** n)
        same(got[1], b**n)
        same(got[2], b ** I32(20))
        same(got[3], I32(2) ** n + b**n * 3 - (n % 3) ** 2)
        same(got[4], (n > 2).astype(I32) ** n + n)
        same(got[5], 2 ** (n % 7) - 1)
        same(got[6], I32(3) ** ((n & 3) ** 2))
        same(got[7], 1 + (-3) ** (n % 4))


@amp.kernel
def of_unsigned_powers(i, n, out):
    k = i[0]
    out[0, k] = amp.uint32(3) ** n[i]
    out[1, k] = n[i] ** amp.uint32(5)


def test_powers_of_unsigned(accelerator_view):
    n = np.array([0, 1, 2, 7, 20, 31, 33], U32)
    got = rows(accelerator_view, of_unsigned_powers, 2, U32, n)
    same(got[0], U32(3) ** n)
    same(got[1], n ** U32(5))


@amp.kernel
def of_float_powers(i, x, out):
    k = i[0]
    out[0, k] = x[i] ** 2
    out[1, k] = x[i] ** 0.5
    out[2, k] = 2.0 ** int(x[i])
    out[3, k] = x[i] ** -1


def test_powers_of_floats(accelerator_view):
    x = np.array([0.25, 1, 4, 9, 2.25], F32)
    got = rows(accelerator_view, of_float_powers, 4, F32, x)
    for row, expected in zip(got, (x**2, x**0.5, F32(2) ** x.astype(I32), 1 / x), strict=True):
        np.testing.assert_allclose(row, expected, rtol=1e-5)


def test_a_negative_power_is_reported():
    @amp.kernel
    def k(i, n, out):
        out[i] = 2 ** n[i]

    n, out = (amp.array_view(np.array(v, I32)) for v in ([1, -1], [0, 0]))
    report = amp.check(n.extent, k, n, out)
    assert [f.kind for f in report.findings] == ["assert"]


@amp.kernel
def of_letters(i, text, out):
    k = i[0]
    is_space = text[i] == ord(" ") or text[i] == ord("\n")
    is_digit = ord("0") <= text[i] <= ord("9")
    out[0, k] = is_space
    out[1, k] = text[i] - ord("0") if is_digit else -1
    out[2, k] = text[i] in (ord("a"), ord("z"))


def test_letters(accelerator_view):
    text = b"a 1z\n9x0"
    got = rows(accelerator_view, of_letters, 3, I32, np.frombuffer(text, np.uint8).astype(I32))
    same(got[0], [c in b" \n" for c in text])
    same(got[1], [int(chr(c)) if chr(c).isdigit() else -1 for c in text])
    same(got[2], [c in b"az" for c in text])


def test_numpys_scalars_are_weak_constants(accelerator_view):
    scale = np.sqrt(0.25)

    @amp.kernel
    def k(i, x, out, *, factor: amp.constant):
        values = amp.private(COUNT, amp.float32)
        for j in range(COUNT):
            values[j] = x[i] * TWO_PI / ROOT
        j = i[0]
        out[0, j] = sum(values)
        y = x[i] * scale
        out[1, j] = y + HALF
        out[2, j] = BIG // COUNT * factor * x[i] + np.pi
        n = COUNT
        out[3, j] = n / 2 + 0.25

    x = np.array([0.0, 1.0, -2.5], F32)
    got = rows(accelerator_view, k, 4, F32, x, factor=np.float64(1.5))
    np.testing.assert_allclose(got[0], x * 3 * TWO_PI / ROOT, rtol=1e-6)
    np.testing.assert_allclose(got[1], x * 0.5 + 0.5, rtol=1e-6)
    np.testing.assert_allclose(got[2], x * 3 + np.pi, rtol=1e-6)
    same(got[3], [1.75] * 3)
    for kernel_text in (k.inspect(amp.extent(3), *map(amp.array_view, (x, got)), factor=1.5).glsl,):
        assert "double" not in kernel_text


@amp.func
def cast_to(x, kind):
    return kind(x)


@amp.kernel
def of_types(i, x, out, *, kind: amp.constant, whole_kind: amp.constant):
    k = i[0]
    own = amp.private(2, kind)
    own[0] = kind(x[i])
    own[1] = KIND(x[i]) * 2
    named = amp.private(1, "float32")
    named[0] = x[i]
    plain = amp.private(2, dtype=float)
    plain[0], plain[1] = x[i], 0.5
    whole = amp.private(1, DTYPE)
    whole[0] = int(x[i])
    out[0, k] = own[0] + own[1]
    out[1, k] = named[0] + plain[0] * plain[1]
    out[2, k] = whole[0] + cast_to(x[i], whole_kind)
    out[3, k] = cast_to(x[i], amp.int32) + whole_kind(1.75)


def test_types_as_constants(accelerator_view):
    x = np.array([0.5, -1.25, 3.75], F32)
    got = rows(accelerator_view, of_types, 4, F32, x, kind=amp.float32, whole_kind=amp.int32)
    same(got[0], x * 3)
    same(got[1], x * 1.5)
    same(got[2], np.trunc(x) * 2)
    same(got[3], np.trunc(x) + 1)


EDGES = [0, 1, 5, -1, -5, 2**31 - 1, -(2**31), 100]


@amp.func
def compared(n, u):
    bits = 0
    bits += 1 if n < u else 0
    bits += 2 if n <= u else 0
    bits += 4 if n > u else 0
    bits += 8 if n >= u else 0
    bits += 16 if n == u else 0
    bits += 32 if n != u else 0
    bits += 64 if u < n else 0
    bits += 128 if u >= n else 0
    bits += 256 if u == n else 0
    bits += 512 if 0 <= n < u else 0
    bits += 1024 if n in (u, 7) else 0
    return bits


@amp.kernel
def of_signs(i, n, u, out):
    k = i[0]
    out[0, k] = compared(n[i], u[i])
    out[1, k] = min(n[i], u[i])
    out[2, k] = int(max(n[i], u[i]))
    count = 0
    while count < u[i] and count < 9:
        count += 1
    out[3, k] = count
    out[4, k] = i[0] < u[i]
    out[5, k] = min(n[i], u[i], 3)
    out[6, k] = 0 <= u[i] < n[k] < 7 + u[i]


def test_signed_with_unsigned_by_value(accelerator_view):
    n, wide = pairs(EDGES, np.int64)
    u = wide.astype(U32)
    n = n.astype(I32)
    got = rows(accelerator_view, of_signs, 7, I32, n, u)
    values = [(int(a), int(b)) for a, b in zip(n, u, strict=True)]
    same(got[0], [compared(a, b) for a, b in values])
    same(got[1], [min(a, b) for a, b in values])
    same(got[2].view(U32), [max(a, b) for a, b in values])
    same(got[3], [min(b, 9) for _, b in values])
    same(got[4], [k < b for k, (_, b) in enumerate(values)])
    same(got[5], [min(a, b, 3) for a, b in values])
    same(got[6], [0 <= b < a < 7 + b for a, b in values])


@amp.func
def toggled(flags, k):
    flags[k] = not flags[k]


@amp.kernel
def of_bools(t, a, out):
    seen = amp.tile_static(8, amp.bool_)
    grid = amp.tile_static((2, 8), bool)
    own = amp.private(3, np.bool_)
    j = t.local[0]
    seen[j] = a[t] > 3
    grid[1, j] = a[t] % 2 == 0
    grid[0, j] = seen[j] != grid[1, j]
    own[0], own[1], own[2] = a[t] > 0, False, True
    toggled(own, 1)
    t.barrier.wait()
    total = sum(seen) + 10 * seen[7 - j]
    for flag in own:
        total += 100 if flag else 0
    if any(grid[1]) and not all(grid[0]):
        total += 1000
    if own[0] and grid[0, j]:
        total += 10000
    t.barrier.wait()
    toggled(seen, j)
    t.barrier.wait()
    out[t] = total + 100000 * seen[7 - j]


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_arrays_of_bools(accelerator_view, lowering: Any):
    a = np.array([0, 5, 4, 1, 7, 2, 9, -3, 8, 8, 1, 1, 3, 4, 0, 6], I32)
    out = np.zeros(16, I32)
    view = amp.array_view(out)
    kernel = amp.kernel(lowering=lowering)(of_bools.function)
    amp.parallel_for_each(accelerator_view, amp.extent(16).tile(8), kernel, amp.array_view(a), view)
    view.synchronize()
    expected = []
    for tile in a.reshape(2, 8):
        seen, even = tile > 3, tile % 2 == 0
        other = seen != even
        for j, v in enumerate(tile):
            total = seen.sum() + 10 * seen[7 - j] + 100 * ((v > 0) + 2)
            total += 1000 if even.any() and not other.all() else 0
            total += 10000 if v > 0 and other[j] else 0
            expected.append(total + 100000 * (not seen[7 - j]))
    same(out, expected)


# -- pow, math.prod, and comparisons that are known ----------------------------------------------------------------


@amp.kernel
def by_pow(i, out, n):
    out[i[0], 0] = pow(3, n) & 7
    out[i[0], 1] = pow(i[0] - 4, 3) // 2
    out[i[0], 2] = (3**n) & 7
    out[i[0], 3] = pow(2, 5) // 3


@amp.kernel
def products(i, ints, floats, n):
    values = amp.private(5, amp.int32)
    for k in range(5):
        values[k] = i[0] + k - 2
    ints[i[0], 0] = math.prod(values)
    ints[i[0], 1] = math.prod(values, start=i[0])
    ints[i[0], 2] = math.prod(k + 1 for k in range(n))
    ints[i[0], 3] = math.prod(())
    ints[i[0], 4] = math.prod(k for k in range(n) if k % 2 == 1)
    floats[i] = math.prod((0.5, floats[i], 1.5)) + math.prod([2, i[0]])


def test_pow_of_integers_is_an_integer(accelerator_view):
    out = amp.array_view(np.zeros((9, 4), np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(9), by_pow, out, 5)
    expected = [[3**5 & 7, (k - 4) ** 3 // 2, 3**5 & 7, 10] for k in range(9)]
    assert np.asarray(out).tolist() == expected


def test_products(accelerator_view):
    ints, raw = amp.array_view(np.zeros((9, 5), np.int32)), np.arange(9, dtype=np.float32) - 2.5
    floats = amp.array_view(raw.copy())
    amp.parallel_for_each(accelerator_view, amp.extent(9), products, ints, floats, 6)
    rows = []
    for k in range(9):
        whole = math.prod(k + j - 2 for j in range(5))
        rows.append([whole, whole * k, math.factorial(6), 1, 15])
    assert np.asarray(ints).tolist() == rows
    assert np.asarray(floats).tolist() == [0.5 * x * 1.5 + 2 * k for k, x in enumerate(raw.tolist())]


@amp.kernel
def below_zero(i, out):
    out[i] = 1 if out[i] > -1 else 0


@amp.kernel
def beyond(i, out):
    out[i] = 1 if 5000000000 == out[i] else 0


@pytest.mark.parametrize(
    ("kernel", "dtype", "text"),
    [
        (below_zero, np.uint32, "`out[i] > -1` is always True: leave it out, or convert the other operand first"),
        (beyond, np.int32, "`5000000000 == out[i]` is always False: leave it out, or convert the other operand first"),
    ],
)
def test_a_comparison_that_is_known_says_so(kernel, dtype, text):
    out = amp.array_view(np.zeros(3, dtype))
    with pytest.raises(amp.CompileError) as caught:
        amp.parallel_for_each(amp.accelerator("reference").default_view, out.extent, kernel, out)
    assert "VKA303" in str(caught.value)
    assert f"= help: {text}" in str(caught.value)


@amp.kernel
def of_integers(idx, a, n, m):
    a[idx] = a[idx] * n + m


def test_an_int64_that_fits_is_passed_as_an_int32(accelerator_view):
    x = np.arange(-5, 5, dtype=I32)
    a = amp.array(amp.extent(10), I32, accelerator_view=accelerator_view)
    # The same containers and types: the launches after the first are repeated ones.
    for n in (np.int64(3), 7, np.int64(-5), np.int64(2**31 - 1), np.int64(-(2**31)), x.sum()):
        amp.copy(x, a)
        amp.parallel_for_each(accelerator_view, a.extent, of_integers, a, n, x.argmax())
        with np.errstate(over="ignore"):
            same(np.asarray(a), x * I32(n) + I32(9))


@amp.kernel
def polynomial(idx, data, out):
    c = data[idx]
    for _ in range(8):
        c = (c >> 1) ^ (0xEDB88320 if c & 1 else 0)
    out[0, idx[0]] = c
    far = 0xFFFFFFFF if idx[0] > 2 else 0x80000000 if idx[0] else 7
    out[1, idx[0]] = far // 2


def test_a_choice_of_numbers_above_int32_is_a_uint32(accelerator_view):
    data = np.arange(5, dtype=U32) * U32(0x01234567)
    out = amp.array_view(np.zeros((2, 5), U32))
    amp.parallel_for_each(accelerator_view, amp.extent(5), polynomial, amp.array_view(data), out)
    remainder = [int(c) for c in data]
    for _ in range(8):
        remainder = [(c >> 1) ^ (0xEDB88320 if c & 1 else 0) for c in remainder]
    assert np.asarray(out).tolist() == [remainder, [3, 0x40000000, 0x40000000, 0x7FFFFFFF, 0x7FFFFFFF]]
