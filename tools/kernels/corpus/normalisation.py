"""Normalisations, which follow a reduction."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    F32,
    faulty,
    launch,
    mended,
    race,
    random_floats,
    zeros,
)

# -- normalisation -------------------------------------------------------------------------------------------------


def softmax(rows):
    powers = np.exp(rows - rows.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@faulty(
    "normalisation",
    "The threads divide by the sum while the first of them is still adding it up: what they find is the maximum.",
    race("shared", "VKA63"),
    lambda: launch(
        amp.extent(12).tile(6),
        random_floats(12),
        zeros(12, dtype=F32),
        expect=softmax(random_floats(2, 6)).ravel(),
    ),
)
@amp.kernel
def softmax_of_tile_wrong(t, values, out):
    row = amp.tile_static(6, amp.float32)
    shared = amp.tile_static(1, amp.float32)
    row[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        highest = row[0]
        for i in range(1, 6):
            highest = max(highest, row[i])
        shared[0] = highest
    t.barrier.wait()
    power = amp.fast_math.exp(values[t] - shared[0])
    row[t.local] = power
    t.barrier.wait()
    if t.local[0] == 0:
        total = 0.0
        for i in range(6):
            total += row[i]
        shared[0] = total  # and here
    out[t] = power / shared[0]  # fault


@mended
@amp.kernel
def softmax_of_tile(t, values, out):
    row = amp.tile_static(6, amp.float32)
    shared = amp.tile_static(1, amp.float32)
    row[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        highest = row[0]
        for i in range(1, 6):
            highest = max(highest, row[i])
        shared[0] = highest
    t.barrier.wait()
    power = amp.fast_math.exp(values[t] - shared[0])
    row[t.local] = power
    t.barrier.wait()
    if t.local[0] == 0:
        total = 0.0
        for i in range(6):
            total += row[i]
        shared[0] = total
    t.barrier.wait()
    out[t] = power / shared[0]


@faulty(
    "normalisation",
    "The mean is taken off in the memory from which slower threads still compute it.",
    race("row", "VKA63"),
    lambda: launch(
        amp.extent(20).tile(5),
        random_floats(20),
        zeros(20, dtype=F32),
        expect=(random_floats(4, 5) - random_floats(4, 5).mean(1, keepdims=True)).ravel(),
    ),
)
@amp.kernel
def take_off_mean_wrong(t, values, out):
    row = amp.tile_static(5, amp.float32)
    i = t.local[0]
    row[i] = values[t]
    t.barrier.wait()
    total = 0.0
    for j in range(5):
        total += row[j]  # and here
    row[i] -= total / 5  # fault
    out[t] = row[i]


@mended
@amp.kernel
def take_off_mean(t, values, out):
    row = amp.tile_static(5, amp.float32)
    i = t.local[0]
    row[i] = values[t]
    t.barrier.wait()
    total = 0.0
    for j in range(5):
        total += row[j]
    t.barrier.wait()
    row[i] -= total / 5
    out[t] = row[i]


@faulty(
    "normalisation",
    "Every thread divides the container's elements in place while others still sum them up.",
    race("values", "VKA63"),
    lambda: launch(
        amp.extent(8).tile(4),
        np.arange(1, 9).astype(F32),
        expect=(np.arange(1, 9).reshape(2, 4) / np.arange(1, 9).reshape(2, 4).sum(1, keepdims=True))
        .astype(F32)
        .ravel(),
    ),
)
@amp.kernel
def shares_in_place_wrong(t, values):
    total = 0.0
    for i in range(4):
        total += values[t.tile_origin[0] + i]  # and here
    values[t] = values[t] / total  # fault


@mended
@amp.kernel
def shares_in_place(t, values):
    total = 0.0
    for i in range(4):
        total += values[t.tile_origin[0] + i]
    t.barrier.wait()
    values[t] = values[t] / total
