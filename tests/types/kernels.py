"""Kernels of several types whose shaders are stored, too."""

from __future__ import annotations

import math

import numpy as np

import vkamp as amp


@amp.kernel
def functions(i, x, y, out):
    a, b = x[i], y[i]
    k = i[0]
    out[0, k] = math.sqrt(abs(a))
    out[1, k] = math.floor(a)
    out[2, k] = math.ceil(a)
    out[3, k] = math.trunc(a)
    out[4, k] = round(a)
    out[5, k] = min(a, b)
    out[6, k] = max(a, b, 0.5)
    out[7, k] = amp.precise_math.nearbyint(a)
    out[8, k] = amp.fast_math.isnan(a) + 2 * amp.fast_math.isinf(a) + 4 * amp.precise_math.isfinite(a)
    out[9, k] = amp.precise_math.signbit(a)
    out[10, k] = math.fmod(a, b)
    out[11, k] = amp.precise_math.fabs(a)
    out[12, k] = amp.fast_math.fmax(a, 0)
    out[13, k] = amp.direct3d.clamp(a, -1.5, b)
    out[14, k] = amp.precise_math.sqrt(abs(a))


@amp.kernel
def tiles(t, a, out, *, size: amp.constant):
    values = amp.tile_static((2, size), amp.float64)
    own = amp.private(3, amp.float64)
    for k in range(3):
        own[k] = a[t] * k
    values[0, t.local[0]] = own[1] + own[2]
    values[1, size - 1 - t.local[0]] = own[2] - own[0]
    t.barrier.wait_with_tile_static_memory_fence()
    total = 0.0 * a[t]
    for k in range(size):
        total += values[0, k] * values[1, k]
    t.barrier.wait()
    values[0, t.local[0]] = total
    t.barrier.wait()
    out[t] = values[0, (t.local[0] + 1) % size] + t.tile[0]


@amp.kernel
def divisions(i, x, y, out):
    k = i[0]
    out[0, k] = x[i] // y[i]
    out[1, k] = x[i] % y[i]
    out[2, k] = amp.tdiv(x[i], y[i])
    out[3, k] = amp.trem(x[i], y[i])
    out[4, k] = x[i] // 10
    out[5, k] = x[i] % 10
    out[6, k] = x[i] // 4294967296
    out[7, k] = x[i] % 4294967296


@amp.kernel
def views(i, octets, words, halves, out):
    as_words = octets.reinterpret_as(amp.uint32)
    as_octets = words.reinterpret_as(amp.uint8)
    as_shorts = halves.reinterpret_as(amp.int16)
    own = amp.private(2, amp.float16)
    own[1] = halves[i]
    bits = amp.array_view(own).reinterpret_as(amp.uint16)
    part = octets.section(amp.index(4), amp.extent(12))
    out[i] = as_words[i[0] // 4] + as_octets[i] + as_shorts[i] * 3 + bits[1] + part[i[0] % 12]
    as_octets[i] = as_octets[i] + 1
    as_shorts[i] = as_shorts[i] ^ 1


PIXEL = np.dtype({"names": ["r", "g", "b", "a", "depth", "at", "tags"],
                  "formats": ["u1", "u1", "u1", "i1", "f4", ("f4", (3,)), ("i2", (2, 2))],
                  "offsets": [0, 1, 2, 3, 8, 12, 24], "itemsize": 36})  # fmt: skip
LOOSE = np.dtype({"names": ["flag", "count", "value", "half"], "formats": ["i1", "u2", "i4", "f2"],
                  "offsets": [1, 6, 8, 14], "itemsize": 20})  # fmt: skip


@amp.func
def brighter(p, by):
    p.r = p.r + by
    p.a = p.a - by
    p.tags[1, 0] = p.tags[0, 1] * 2
    return p


@amp.kernel
def structs(t, pixels, loose, out, given, where):
    kept = amp.tile_static(8, PIXEL)
    kept[t.local] = brighter(pixels[t].copy(), 3)
    t.barrier.wait()
    other = kept[(t.local[0] + 1) % 8].copy()
    other.g += given.g
    other.depth = pixels[t].depth * 2
    pixels[t].b = other.r
    pixels[t].tags[1, 1] += 5
    pixels[where[t]].a = 7
    out[t] = other
    item = loose[t]
    item.count += 40000
    loose[t] = item
    loose[t].half = loose[t].half + item.flag
