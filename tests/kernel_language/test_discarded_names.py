"""The name ``_``, where nothing reads it: values of any types are assigned to it, and discarded."""

from __future__ import annotations

import numpy as np

import vkamp as amp

PAIR = np.dtype([("number", np.int32), ("weight", np.float32)])


@amp.func
def counted(values, i):
    values[i] += 1
    return i, 0.5, amp.float2(1.0, 2.0)


@amp.kernel
def discards(idx, values, pairs):
    for _ in range(3):
        n, _, _ = counted(values, idx[0])
        _ = pairs[n]
        for _, pair in enumerate((1, 2)):
            values[n] += pair
        _, _ = 1.5, pairs[n].copy()
    for _ in amp.static_range(2):
        values[idx] += 10


@amp.kernel
def reads(idx, values):
    _ = values[idx] + 1
    values[idx] = _ * 2


def test_discards(accelerator_view):
    values = amp.array(amp.extent(3), np.int32, [1, 2, 3], accelerator_view=accelerator_view)
    pairs = amp.array(np.zeros(3, PAIR), accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, values.extent, discards, values, pairs)
    assert np.asarray(values).tolist() == [33, 34, 35]
    amp.parallel_for_each(accelerator_view, values.extent, reads, values)
    assert np.asarray(values).tolist() == [68, 70, 72]
