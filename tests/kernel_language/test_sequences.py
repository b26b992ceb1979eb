"""Loops over tuples, arrays, vectors and containers, and Python's functions of whole sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, rows, same

N = 12
INTS = np.array([0, 1, -1, 7, -8, 5, 3, 100, -100, 2, 9, -3], I32)
FLOATS = np.array([0.5, -1.25, 3.0, 0.0, 2.5, -7.75, 8.0, 1.0, -2.0, 4.5, 0.25, 6.0], F32)
WEIGHTS = (0.25, 0.5, 0.25)


@amp.func
def over_tuples(n: amp.int32):
    total = 0
    for x in (1, 2, n):
        total += x * n
    for a, b in ((1, 2), (n, 4)):
        total += a * b
    for k, (a, b) in enumerate(((1, 2), (3, n)), start=1):
        total += k * (a - b)
    for d in [3, 5]:
        if n % d == 0:
            continue
        total += d
    for d in (2, 3, 5, 7):
        if n % d == 0:
            total += d * 1000
            break
    return total


@amp.func
def unpacked(n: amp.int32):
    a, b = map(abs, (n, n * 3))
    (c, d), (e, f) = zip((n, a), (b, 4), strict=True)
    g, h = reversed((n, 9))
    i, *rest = range(3, 11, 2)
    (j, k), (m, p) = enumerate((n, h), start=2)
    q, r = (x * n for x in (a, 5))
    # The targets are assigned behind all of the sequence.
    a, n = (x + n for x in (n, a))
    [s, t] = [x - n for x in (a, b)]
    return a + b * 2 + c * 3 + d * 5 + e * 7 + f + g * 11 + h + i + sum(rest) + j * k + m * p + q + r * 2 + n + s * t


@amp.func
def over_arrays(n: amp.int32):
    values = amp.private(5, amp.int32)
    for k in range(5):
        values[k] = n + k * k
    total = 0
    for v in values:
        v = v * 2
        total += v
    for i, v in enumerate(values):
        if v == 8:
            break
        total += i * v
    for v, w in zip(values, (1, 2, 3), strict=False):
        total += v * w
    for v in reversed(values):
        total = total * 3 + v
    for i in reversed(range(2, 11, 3)):
        total = total * 2 + i
    for a, i in zip(values, range(10, 0, -2), strict=True):
        total += a * i
    for f in map(abs, values):
        total += f
    return total


@amp.func
def sums(n: amp.int32):
    values = amp.private(12, amp.int32)
    for k in range(12):
        values[k] = (n + k) * (k - 5)
    few = amp.private(3, amp.int32)
    few[0], few[1], few[2] = n, n * n, 7
    a = sum(values) + sum(few) + sum((1, n, 3)) + sum(())
    b = sum(v * v for v in values if v > 0) + sum(few[k] for k in range(3))
    c = sum(i * j for i in range(3) for j in range(i, 4) if (i + j + n) % 2 == 0)
    d = sum([v > n for v in values]) + sum(few, 100) + sum(values, start=n)
    e = max(values) * 3 + min(values) + max(few) - min((n, 3, -n)) + max(v % 7 for v in values)
    f = min((v for v in values if v > 50), default=-9) + max(range(n % 5 + 1))
    return a + b * 3 + c * 5 + d * 7 + e * 11 + f * 13


@amp.func
def decisions(n: amp.int32):
    values = amp.private(10, amp.int32)
    for k in range(10):
        values[k] = n + k
    bits = 0
    bits += 1 if any(v == 7 for v in values) else 0
    bits += 2 if all(v > 0 for v in values) else 0
    bits += 4 if any((n == 1, n == 2)) else 0
    bits += 8 if all(values[k] != 3 for k in range(n & 7)) else 0
    bits += 16 if n in (1, 2, 3) else 0
    bits += 32 if n not in {5, 7} else 0
    bits += 64 if n in range(1, 10, 2) else 0
    bits += 128 if n in range(9, -9, -3) else 0
    bits += 256 if 4 in values else 0
    bits += 512 if (n, 2) in ((1, 2), (5, 2)) else 0
    bits += 1024 if all(()) and not any(()) else 0
    bits += 2048 if any(v > 100 or w < n for v in values for w in (n, 3)) else 0
    return bits


@amp.func
def tuples(n: amp.int32):
    t = (n, n + 1, n * 2)
    squares = tuple(x * x for x in t)
    a, b, c = squares
    first, *rest = t
    (p, q), r = (t[0], t[-1]), t[1]
    pairs = tuple(zip(t, squares, strict=True))
    total = a + 2 * b + 3 * c + first + rest[0] * rest[1] + p * q - r
    total += len(t) + len(pairs) + pairs[1][0] * pairs[-1][1]
    total += sum(t[1:]) + sum(t[::-1][:2])
    total += max(*t) + min(*rest)
    total += 1000 if t == (n, n + 1, n * 2) else 0
    total += 5 if t[:2] != (n, n) else 0
    total += sum(t + squares) + sum((n,) * 3)
    quotient, remainder = divmod(n - 3, 4)
    total += quotient * 10 + remainder
    return total


FUNCTIONS = [over_tuples, unpacked, over_arrays, sums, decisions, tuples]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_against_python(accelerator_view, function: Any):
    @amp.kernel
    def k(i, n, out, *, f: amp.constant):
        out[0, i[0]] = f(n[i])

    expected = [function(int(n)) for n in INTS]
    same(rows(accelerator_view, k, 1, I32, INTS, f=function)[0], expected)


@amp.func
def smoothed(x: amp.float32):
    taps = amp.private(3, amp.float32)
    for k, w in enumerate(WEIGHTS):
        taps[k] = x * w + k
    best = max(taps)
    return sum(taps) + best * sum(w * w for w in WEIGHTS) + sum(WEIGHTS[k] * taps[k] for k in range(3))


@amp.kernel(precise=True)
def of_floats(i, x, out):
    k = i[0]
    out[0, k] = smoothed(x[i])
    v = amp.float3(x[i], 2.0, -x[i])
    out[1, k] = sum(v) + max(v) * len(v)
    total = 0.0
    for c in v:
        total = total * 2.0 + c
    out[2, k] = total
    a, b, c = v
    out[3, k] = a + b * 2 + c * 3
    w = sum((amp.float2(x[i], float(n)) for n in range(3)), amp.float2(1.0, 1.0))
    out[4, k] = w.x + 100 * w.y
    out[5, k] = x[i] in (3.0, 0.5, -2)
    out[6, k] = 3 in (x[i], 7)


def test_of_floats(accelerator_view):
    got = rows(accelerator_view, of_floats, 7, F32, FLOATS)
    # The host multiplies in float64 where a number of Python's meets another: these are exact in both.
    same(got[0], [smoothed(F32(x)) for x in FLOATS])
    same(got[1], [F32(0) + x + 2 - x + max(x, 2, -x) * 3 for x in FLOATS])
    same(got[2], (FLOATS * 2 + 2) * 2 - FLOATS)
    same(got[3], FLOATS + 4 - FLOATS * 3)
    same(got[4], FLOATS * 3 + 1 + 400)
    same(got[5], [x in (3.0, 0.5, -2) for x in FLOATS])
    same(got[6], [3 in (x, 7) for x in FLOATS])


def test_vectors_are_sequences_on_the_host():
    v = amp.float3(1.0, 2.0, 3.5)
    assert len(v) == 3
    assert list(v) == [1.0, 2.0, 3.5]
    assert sum(v) == 6.5
    x, _, z = v
    assert (x, z) == (1.0, 3.5)


@amp.kernel
def of_containers(i, matrix, out):
    k = i[0]
    out[0, k] = sum(matrix[k])
    out[1, k] = max(matrix[k])
    total = 0
    for row in matrix:
        for v in row:
            if v < 0:
                continue
            total += v * k
    out[2, k] = total
    out[3, k] = any(v == 7 for row in matrix for v in row)
    out[4, k] = 5 in matrix[k]
    out[5, k] = sum(v for v in matrix[k].section(1, 2)) + sum(row[0] for row in matrix)
    count = 0
    for j, (v, w) in enumerate(zip(matrix[k], reversed(matrix[k]), strict=True)):
        count += j * (v - w)
    out[6, k] = count
    out[7, k] = min(abs(v - 3) for v in matrix[k])


def test_of_containers(accelerator_view):
    matrix = np.arange(-6, 14, dtype=I32).reshape(4, 5) * 3 % 11 - 2
    result = np.zeros((8, 4), I32)
    out = amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(4), of_containers, amp.array_view(matrix), out)
    out.synchronize()
    for k, row in enumerate(matrix):
        positive = int(matrix[matrix >= 0].sum())
        expected = [
            row.sum(), row.max(), positive * k, (matrix == 7).any(), 5 in row, row[1:3].sum() + matrix[:, 0].sum(),
            sum(j * (v - w) for j, (v, w) in enumerate(zip(row, reversed(row), strict=True))), np.abs(row - 3).min(),
        ]  # fmt: skip
        same(result[:, k], np.array(expected, I32), f"row {k}")


@amp.kernel
def in_tiles(t, a, out):
    tile = amp.tile_static((2, 8), amp.int32)
    total = 0
    for step, scale in ((0, 1), (1, 10)):
        for row in range(2):
            tile[row, t.local[0]] = a[t] * (row + 1) + step
        t.barrier.wait()
        total += sum(tile[1]) * scale + max(v for v in tile[0]) + (12 in tile[0])
        for v in tile[1]:
            total += v & 1
        t.barrier.wait()
    for _ in (1, 2, 3):
        tile[0, t.local[0]] = total
        t.barrier.wait()
        total += tile[0, 7 - t.local[0]]
        t.barrier.wait()
    out[t] = total


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_in_tiles(accelerator_view, lowering: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VKAMP_LOWERING", lowering)
    a = np.arange(16, dtype=I32) * 3 - 5
    out = np.zeros(16, I32)
    view = amp.array_view(out)
    amp.parallel_for_each(accelerator_view, amp.extent(16).tile(8), in_tiles, amp.array_view(a), view)
    view.synchronize()
    expected = np.zeros(16, np.int64)
    for tile in range(2):
        part = a[tile * 8 : tile * 8 + 8].astype(np.int64)
        total = np.zeros(8, np.int64)
        for step, scale in ((0, 1), (1, 10)):
            rows_ = [part * (row + 1) + step for row in range(2)]
            total += rows_[1].sum() * scale + rows_[0].max() + (12 in rows_[0]) + (rows_[1] & 1).sum()
        for _ in range(3):
            total = total + total[::-1]
        expected[tile * 8 : tile * 8 + 8] = total
    same(out, expected)


@amp.kernel
def of_nan(i, x, out):
    k = i[0]
    pair = (x[i], 1.0)
    out[0, k] = min(pair)
    out[1, k] = max(math.nan, *pair)


def test_a_number_wins_over_nan(accelerator_view):
    got = rows(accelerator_view, of_nan, 2, F32, np.array([math.nan, 0.5, 2.0], F32))
    same(got, [[1, 0.5, 1], [1, 1, 2]])


@amp.kernel
def unsigned(i, u, out):
    k = i[0]
    out[0, k] = sum((u[i], 1)) + max(u[i] for _ in range(3))
    out[1, k] = u[i] in range(3, amp.uint32(4000000000), 7)
    out[2, k] = sum(v in (1, 3) for v in (u[i], 1))


def test_unsigned(accelerator_view):
    u = np.array([0, 3, 4, 10, 2**31 + 2, 2**32 - 5, 3999999997], U32)
    got = rows(accelerator_view, unsigned, 3, U32, u)
    same(got[0], u + U32(1) + u)
    same(got[1], [int(v) in range(3, 4000000000, 7) for v in u])
    same(got[2], [(v in (1, 3)) + 1 for v in u])


@amp.kernel
def by_conditions(i, x, out):
    k = i[0]
    out[0, k] = (5, 6)[x[i] > 3] + (1, 2)[True]
    a, b = ((1, 2), (3, k))[k > 1 and x[i] > 3]
    out[1, k] = a * 10 + b


def test_a_condition_subscripts_a_tuple_as_in_python(accelerator_view):
    x = np.array([0, 4, 3, 9], I32)
    same(rows(accelerator_view, by_conditions, 2, I32, x), [[7, 8, 7, 8], [12, 12, 12, 33]])
