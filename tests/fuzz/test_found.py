"""Kernels that random runs have found to be wrong, cut to what shows it."""

from __future__ import annotations

import math

import numpy as np

import vkamp as amp
from tests.language.programs import F32, I32, same


@amp.kernel
def asin_after_a_barrier(t, out):
    me = t.global_[0]
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
