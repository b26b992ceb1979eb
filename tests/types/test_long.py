"""int64 and uint64: elements, values, conversions, in every form of a kernel."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.types.kernels import divisions
from tests.types.programs import identical, in_every_form, launched

I64, U64 = np.int64, np.uint64
RANDOM = np.random.default_rng(7)
EDGES = [0, 1, -1, 2, -2, 7, -7, 2**31, -(2**31) - 1, 2**32, 2**63 - 1, -(2**63), 123456789012345678, -(10**18)]


def _pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    bits = np.array([e & (2**64 - 1) for e in EDGES], U64).view(dtype)
    x, y = np.meshgrid(bits, bits)
    return x.ravel().copy(), y.ravel().copy()


@amp.kernel
def arithmetic(i, x, y, out):
    a, b = x[i], y[i]
    k = i[0]
    out[0, k] = a + b
    out[1, k] = a - b
    out[2, k] = a * b
    out[3, k] = a & b
    out[4, k] = a | b
    out[5, k] = a ^ b
    out[6, k] = ~a
    out[7, k] = a << 3
    out[8, k] = a >> 5
    out[9, k] = a << (b & 63)
    out[10, k] = a >> (b & 63)
    out[11, k] = a + 5000000000
    out[12, k] = min(a, b)
    out[13, k] = max(a, b)
    out[14, k] = a if a < b else b
    out[15, k] = 1 if a == b else 0
    out[16, k] = a**2
    out[17, k] += 3


@pytest.mark.parametrize("dtype", [I64, U64])
def test_arithmetic_wraps(typed, dtype):
    x, y = _pairs(dtype)
    found = in_every_form(typed, amp.extent(x.size), arithmetic, x, y, np.full((18, x.size), 77, dtype))[-1]
    low = (y & dtype(63)).astype(dtype)
    with np.errstate(all="ignore"):
        rows = [
            x + y, x - y, x * y, x & y, x | y, x ^ y, ~x, x << dtype(3), x >> dtype(5), x << low, x >> low,
            x + dtype(5000000000), np.minimum(x, y), np.maximum(x, y), np.where(x < y, x, y), x == y, x * x,
            np.full(x.size, 80),
        ]  # fmt: skip
    for k, row in enumerate(rows):
        identical(found[k], np.asarray(row).astype(dtype), f"row {k}")


@pytest.mark.parametrize("dtype", [I64, U64])
def test_divisions(typed, dtype):
    x, y = _pairs(dtype)
    x, y = x[y != 0], y[y != 0]
    found = in_every_form(typed, amp.extent(x.size), divisions, x, y, np.zeros((8, x.size), dtype))[-1]

    def wrapped(values: list[int]) -> np.ndarray:
        return np.array([v & (2**64 - 1) for v in values], U64).view(dtype)

    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    rows = [
        wrapped([a // b for a, b in pairs]), wrapped([a % b for a, b in pairs]),
        wrapped([amp.tdiv(a, b) for a, b in pairs]), wrapped([amp.trem(a, b) for a, b in pairs]),
        wrapped([a // 10 for a, _ in pairs]), wrapped([a % 10 for a, _ in pairs]),
        wrapped([a // 2**32 for a, _ in pairs]), wrapped([a % 2**32 for a, _ in pairs]),
    ]  # fmt: skip
    for k, row in enumerate(rows):
        identical(found[k], row, f"row {k}")


@amp.kernel
def conversions(i, x, n, u, longs, unsigned, ints, uints, floats, doubles):
    k = i[0]
    longs[0, k] = n[i]
    longs[1, k] = u[i]
    longs[2, k] = n[i] + x[i]
    longs[3, k] = u[i] * x[i]
    unsigned[0, k] = n[i]
    unsigned[1, k] = x[i] + amp.uint64(1)
    ints[0, k] = x[i]
    ints[1, k] = amp.int32(x[i] >> 32)
    uints[0, k] = x[i]
    floats[0, k] = x[i]
    floats[1, k] = x[i] + amp.float32(0.5)
    doubles[0, k] = x[i]
    doubles[1, k] = x[i] / n[i] if n[i] else 0.0
    doubles[2, k] = amp.uint64(x[i])


def test_conversions_are_those_of_c(typed):
    x = np.concatenate([RANDOM.integers(-(2**63), 2**63, 80), RANDOM.integers(-100, 100, 20)]).astype(I64)
    n = RANDOM.integers(-(2**31), 2**31, x.size).astype(np.int32)
    u = RANDOM.integers(0, 2**32, x.size).astype(np.uint32)
    outs = [np.zeros((4, x.size), I64), np.zeros((2, x.size), U64), np.zeros((2, x.size), np.int32)]
    outs += [np.zeros((1, x.size), np.uint32), np.zeros((2, x.size), np.float32), np.zeros((3, x.size))]
    *_, longs, unsigned, ints, uints, floats, doubles = in_every_form(
        typed, amp.extent(x.size), conversions, x, n, u, *outs
    )
    with np.errstate(all="ignore"):
        identical(longs, np.stack([n.astype(I64), u.astype(I64), n + x, u.astype(I64) * x]))
        identical(unsigned, np.stack([n.astype(I64).view(U64), x.view(U64) + U64(1)]))
        identical(ints, np.stack([x.astype(np.int32), (x >> 32).astype(np.int32)]))
        identical(uints, x.astype(np.uint32)[None])
        single = x.astype(np.float32)
        identical(floats, np.stack([single, single + np.float32(0.5)]))
        identical(doubles, np.stack([x.astype(float), x / n, x.view(U64).astype(float)]))


@amp.kernel
def loops(i, counts, out):
    total = amp.int64(0)
    for k in range(counts[i]):
        total += k * 4000000000
    down = amp.uint64(0)
    for k in range(amp.uint64(9), amp.uint64(1), 3):
        down += k
    n = counts[i] + 2**40
    while n > 2**40:
        n -= 2
    for _ in range(n + 5, n, -2):
        down += 1
    out[i] = total + down + (n & 1)


def test_loops(typed):
    counts = np.arange(1, 14, dtype=I64)
    (_, found) = in_every_form(typed, amp.extent(13), loops, counts, np.zeros(13, I64))
    expected = [4000000000 * (c * (c - 1) // 2) + 3 + (c % 2) for c in counts.tolist()]
    assert found.tolist() == expected


@amp.kernel
def subscripts(i, where, a, out):
    out[where[i]] = a[where[i]] + a[where[i] % 3] + a[amp.uint64(2)]


def test_subscripts(typed):
    where = RANDOM.permutation(9).astype(I64)
    a = np.arange(9, dtype=np.float32) * 10
    found = in_every_form(typed, amp.extent(9), subscripts, where, a, np.zeros(9, np.float32))[-1]
    identical(found, a + a[np.arange(9) % 3] + a[2])


def test_subscripts_that_32_bits_would_wrap_into_range(typed):
    @amp.kernel
    def wrong(i, where, a):
        a[i] = a[where[i]]

    a = amp.array_view(np.zeros(4, np.int32))
    for index in (2**32 + 1, -(2**32), 2**40, -1):
        where = amp.array_view(np.array([0, 1, 2, index], I64))
        if typed.accelerator.device_path == "reference":
            with pytest.raises(amp.CheckError, match="out of bounds"):
                amp.parallel_for_each(typed, a.extent, wrong, where, a)
        report = amp.check(typed, a.extent, wrong, where, a)
        assert "bounds" in {f.kind for f in report.findings}, index


@amp.kernel
def tiles(t, a, out, base, factor):
    values = amp.tile_static(8, amp.int64)
    own = amp.private((2, 2), amp.uint64)
    own[0, 1] = a[t]
    own[1, 0] = own[0, 1] >> 60
    values[t.local] = a[t] + own[1, 0]
    t.barrier.wait()
    out[t] = values[7 - t.local[0]] * factor + base


def test_tiles_and_captured_numbers(typed):
    a = RANDOM.integers(-(2**63), 2**63, 40).astype(I64)
    base, factor = I64(-(2**62) + 5), np.uint64(3)
    (_, found) = in_every_form(typed, amp.extent(40).tile(8), tiles, a, np.zeros(40, I64), base, I64(int(factor)))
    with np.errstate(all="ignore"):
        values = (a + (a.view(U64) >> U64(60)).view(I64)).reshape(5, 8)[:, ::-1].ravel()
        identical(found, values * I64(3) + base)
    big = 2**40

    @amp.kernel
    def closed(i, n):
        n[i] = n[i] * big

    ones = np.ones(3, I64)
    amp.parallel_for_each(typed, amp.extent(3), closed, amp.array_view(ones))
    identical(ones, np.full(3, 2**40, I64))


def test_literals(typed):
    @amp.kernel
    def literals(i, n, u):
        n[i] += -9223372036854775808
        u[i] += 0xFFFFFFFFFFFFFFFF
        big = amp.int64(5000000000)
        n[i] ^= big

    (n, u) = launched(typed, amp.extent(2), literals, np.array([1, 2], I64), np.array([1, 2], U64))
    assert n.tolist() == [(-(2**63) + k) ^ 5000000000 for k in (1, 2)]
    assert u.tolist() == [0, 1]


def test_atomics_of_float64_are_refused(typed):
    @amp.kernel
    def count(i, n):
        amp.atomic_fetch_add(n[0], 1)

    with pytest.raises(amp.CompileError, match="VKA407: `atomic_fetch_add` .*float64"):
        amp.parallel_for_each(typed, amp.extent(3), count, amp.array_view(np.zeros(3, np.float64)))


def test_divisions_by_zero_and_shifts_too_far_are_found(typed):
    @amp.kernel
    def wrong(i, x, y):
        x[i] = x[i] // y[i] + (x[i] << y[i])

    x = np.array([5, 6, 7], I64)
    for second, texts in (
        ([1, 2, 63], []),
        ([0, 1, 2], ["division"]),
        ([1, 64, 2], ["shift"]),
        ([1, 2, -1], ["shift"]),
    ):
        views = amp.array_view(x.copy()), amp.array_view(np.array(second, I64))
        report = amp.check(typed, amp.extent(3), wrong, *views)
        assert len(report.findings) == len(texts)
        assert all(t in str(f) for t, f in zip(texts, report.findings, strict=True)), report.findings


@amp.kernel
def widths(idx, n, out):
    out[idx] = 32 if type(n) == amp.int32 else 64  # noqa: E721


@pytest.mark.parametrize("name", ["llvmpipe@vulkan", "reference"])
def test_an_int64_argument_has_the_type_of_its_value(name):
    view = amp.accelerator(name).default_view
    out = amp.array(amp.extent(3), np.int32, accelerator_view=view)
    # Repeated launches, too, are those of their value's type, whatever came before.
    for n in (5, 2**31, -(2**31), -(2**31) - 1, 2**31 - 1, 2**40, 6, -1):
        for _ in range(2):
            amp.parallel_for_each(view, out.extent, widths, I64(n), out)
            assert np.asarray(out).tolist() == [32 if -(2**31) <= n < 2**31 else 64] * 3


@pytest.mark.parametrize("name", ["swiftshader", "swiftshader@kompute", "llvmpipe@kompute"])
def test_an_int64_argument_that_fits_needs_no_feature(name):
    view = amp.accelerator(name).default_view
    out = amp.array(amp.extent(3), np.int32, accelerator_view=view)
    for _ in range(2):
        amp.parallel_for_each(view, out.extent, widths, I64(5), out)
        assert np.asarray(out).tolist() == [32] * 3
        with pytest.raises(amp.UnsupportedFeatureError, match="VKA304: `n` is int64"):
            amp.parallel_for_each(view, out.extent, widths, I64(2**31), out)
