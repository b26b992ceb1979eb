"""Short vectors of float16: half2, half3 and half4, on every device and in each form of its memory."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp.lang.dtypes import components

N = 37
PARTS = np.dtype([("f", "f4"), ("p", amp.half3.dtype), ("q", amp.half2.dtype), ("z", "f2")])


def numbers(size, seed):
    return (np.random.default_rng(seed).standard_normal((N, size)) * 8).astype(np.float16)


def same(view, expected):
    np.testing.assert_array_equal(components(np.asarray(view)), expected)


@amp.func
def scaled(v, by):
    return v * by


@amp.kernel(precise=True)  # A GPU contracts v * w - v otherwise.
def operate(i, a, b, out):
    v, w = a[i], b[i]
    out[i, 0] = v + w
    out[i, 1] = v * w - v
    out[i, 2] = v / w
    out[i, 3] = -v
    out[i, 4] = v * 2 + 1.5
    out[i, 5] = scaled(v, amp.float16(1.1))
    if v == w:
        out[i, 6] = v
    out[i, 6].y += w.y


@pytest.mark.parametrize("kind", [amp.half2, amp.half3, amp.half4])
def test_each_operation_is_rounded_to_float16(accelerator_view, kind):
    a, b = numbers(kind.size, 1), numbers(kind.size, 2)
    b[::5] = a[::5]
    a[1], b[1] = 60000, 6000
    a[2], b[2] = 2e-7, 3
    out = amp.array_view(np.zeros((N, 7, kind.size), np.float16), dtype=kind)
    views = [amp.array_view(x.copy(), dtype=kind) for x in (a, b)]
    amp.parallel_for_each(accelerator_view, amp.extent(N), operate, *views, out)
    expected = np.zeros((N, 7, kind.size), np.float16)
    with np.errstate(all="ignore"):
        expected[:, 0], expected[:, 1], expected[:, 2], expected[:, 3] = a + b, a * b - a, a / b, -a
        expected[:, 4] = a * np.float16(2) + np.float16(1.5)
        expected[:, 5] = a * np.float16(1.1)
        expected[:, 6] = np.where((a == b).all(1)[:, None], a, 0)
        expected[:, 6, 1] += b[:, 1]
    same(out, expected)


@amp.kernel
def convert(i, a, whole, out, wide):
    v = a[i]
    out[i, 0] = amp.half3(amp.float3(v) * 1.0001)
    out[i, 1] = amp.half3(whole[i])
    out[i, 2] = amp.half3(1, 2.5, i[0])
    out[i, 3] = amp.half3()
    out[i, 3].zx = v.xy
    x = v.copy()
    x.zy = a[i].xz
    out[i, 4] = x
    wide[i] = amp.int3(v)


def test_conversions_and_swizzles(accelerator_view):
    a, whole = numbers(3, 3), np.arange(3 * N, dtype=np.int32).reshape(N, 3) * 1000 - 5001
    out = amp.array_view(np.zeros((N, 5, 3), np.float16), dtype=amp.half3)
    wide = amp.array_view(np.zeros((N, 3), np.int32), dtype=amp.int3)
    views = amp.array_view(a.copy(), dtype=amp.half3), amp.array_view(whole.copy(), dtype=amp.int3)
    amp.parallel_for_each(accelerator_view, amp.extent(N), convert, *views, out, wide)
    expected = np.zeros((N, 5, 3), np.float16)
    with np.errstate(over="ignore"):
        expected[:, 0] = (a.astype(np.float32) * np.float32(1.0001)).astype(np.float16)
        expected[:, 1] = whole.astype(np.float16)
    expected[:, 2] = np.stack([np.full(N, 1), np.full(N, 2.5), np.arange(N)], 1)
    expected[:, 3] = np.stack([a[:, 1], np.zeros(N), a[:, 0]], 1)
    expected[:, 4] = np.stack([a[:, 0], a[:, 2], a[:, 0]], 1)
    same(out, expected)
    same(wide, a.astype(np.int32))


@amp.kernel
def keep(t, a, parts, flat, by):
    shared = amp.tile_static(8, amp.half3)
    own = amp.private(2, amp.half2)
    i, k = t.global_[0], t.local[0]
    shared[k] = a[i] * by
    own[k % 2] = a[i].zx
    own[1 - k % 2] = amp.half2(1, 2)
    t.barrier.wait()
    parts[i].p = shared[7 - k]
    parts[i].q.y = own[k % 2].y
    whole = parts[i]
    whole.q.x = own[0].x + own[1].x
    parts[i] = whole
    fours = flat.reinterpret_as(amp.half4)
    fours[i] = fours[i].wzyx


def test_memory_of_structs_tiles_threads_and_numbers(accelerator_view):
    n = 32
    a, flat = numbers(3, 4)[:n], np.arange(4 * n, dtype=np.float16)
    host = np.zeros(n, PARTS)
    host["z"] = np.arange(n)
    parts, view = amp.array_view(host), amp.array_view(flat.copy())
    vectors = amp.array_view(a.copy(), dtype=amp.half3)
    by = amp.half3(1, 2, 3)
    amp.parallel_for_each(accelerator_view, amp.extent(n).tile(8), keep, vectors, parts, view, by)
    parts.synchronize()
    scaled_by = a * np.array([1, 2, 3], np.float16)
    np.testing.assert_array_equal(components(host["p"]), scaled_by.reshape(-1, 8, 3)[:, ::-1].reshape(-1, 3))
    np.testing.assert_array_equal(components(host["q"]), np.stack([a[:, 2] + np.float16(1), a[:, 0]], 1))
    np.testing.assert_array_equal(host["z"], np.arange(n))
    np.testing.assert_array_equal(np.asarray(view), flat.reshape(-1, 4)[:, ::-1].ravel())


def test_on_the_host():
    v = amp.half3(1, 2, 3)
    assert v * amp.float16(2) + 0.5 == amp.half3(2.5, 4.5, 6.5)
    assert amp.short_vector(np.float16, 3) is amp.half3 and amp.half3.dtype.itemsize == 6
    assert amp.half2(amp.float2(0.1, 70000)) == amp.half2(np.float16(0.1), np.inf)
