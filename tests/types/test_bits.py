"""Bits of numbers of 16 and 64 bits: casts between types of one size."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.kernel_language.programs import F32, I32, rows, same


@amp.kernel
def small_bits(i, a, b, h, out):
    k = i[0]
    out[0, k] = a[k].view(np.int8)
    out[1, k] = b[k].view(np.uint16)
    out[2, k] = h[k].view(np.int16)
    out[3, k] = h[k].view(np.uint16)
    out[4, k] = a[k].astype(np.int32) - 300


def test_bits_of_small_elements(typed):
    a, b = np.array([0, 1, 127, 128, 200, 255], np.uint8), np.array([0, 1, -1, 300, -300, -(2**15)], np.int16)
    h = np.array([0, 1, -2.5, 65504, 6e-8, np.inf], np.float16)
    got = rows(typed, small_bits, 5, I32, a, b, h)
    same(got[0], a.view(np.int8))
    same(got[1], b.view(np.uint16))
    same(got[2], h.view(np.int16))
    same(got[3], h.view(np.uint16))
    same(got[4], a.astype(I32) - 300)


@amp.kernel
def halves(i, a, out):
    out[0, i[0]] = a[i].view(np.float16)


def test_halves_from_bits(typed):
    bits = np.array([0, 1, 0x3C00, -0x8000, 0x7BFF, 0x7C00, 0x1234, -0x4321], np.int16)
    same(rows(typed, halves, 1, F32, bits)[0], bits.view(np.float16).astype(F32))


@amp.kernel
def long_bits(i, x, n, out, back):
    k = i[0]
    out[0, k] = amp.asuint(x[k])
    out[1, k] = amp.asint(x[k]).view(np.uint64)
    out[2, k] = amp.asuint(amp.asfloat(n[k]))
    out[3, k] = amp.asuint(n[k])
    back[k] = amp.asfloat(amp.asuint(x[k]))


def test_bits_of_64(typed):
    x = np.array([0.0, -0.0, 1.0, np.pi, -np.inf, 1e300], np.float64)
    n = np.array([0, 1, -1, 2**62, -(2**63), 4614253070214989087], np.int64)
    out, back = np.zeros((4, 6), np.uint64), np.zeros(6, np.float64)
    out_view, back_view = amp.array_view(out), amp.array_view(back)
    amp.parallel_for_each(typed, amp.extent(6), long_bits, amp.array_view(x), amp.array_view(n), out_view, back_view)
    out_view.synchronize()
    back_view.synchronize()
    same(out[0], x.view(np.uint64))
    same(out[1], x.view(np.uint64))
    same(out[2], n.view(np.uint64))
    same(out[3], n.view(np.uint64))
    same(back, x)
