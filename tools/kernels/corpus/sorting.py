"""Sorting a tile."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    bounds,
    divergence,
    faulty,
    launch,
    mended,
    race,
    random_numbers,
    zeros,
)

# -- sorting a tile ------------------------------------------------------------------------------------------------


def sorted_tiles(values, tile):
    return np.sort(values.reshape(-1, tile), axis=1).ravel()


@faulty(
    "sorting",
    "The steps of the bitonic sort follow each other without a barrier.",
    race("keys", "VKA63"),
    lambda: launch(amp.extent(16).tile(8), random_numbers(16), zeros(16), expect=sorted_tiles(random_numbers(16), 8)),
)
@amp.kernel
def bitonic_wrong(t, values, out):
    keys = amp.tile_static(8, amp.int32)
    i = t.local[0]
    keys[i] = values[t]
    t.barrier.wait()
    size = 2
    while size <= 8:
        stride = size // 2
        while stride > 0:
            other = i ^ stride
            if other > i:
                low, high = keys[i], keys[other]  # fault
                if (low > high) == (i & size == 0):
                    keys[i] = high  # and here
                    keys[other] = low  # and here
            stride //= 2
        size *= 2
    t.barrier.wait()
    out[t] = keys[i]


@mended
@amp.kernel
def bitonic(t, values, out):
    keys = amp.tile_static(8, amp.int32)
    i = t.local[0]
    keys[i] = values[t]
    t.barrier.wait()
    size = 2
    while size <= 8:
        stride = size // 2
        while stride > 0:
            other = i ^ stride
            if other > i:
                low, high = keys[i], keys[other]
                if (low > high) == (i & size == 0):
                    keys[i] = high
                    keys[other] = low
            t.barrier.wait()
            stride //= 2
        size *= 2
    out[t] = keys[i]


@faulty(
    "sorting",
    "Both threads of a pair compare and exchange, and each writes what the other reads.",
    race("keys", "VKA63"),
    lambda: launch(amp.extent(8).tile(4), random_numbers(8), zeros(8), expect=sorted_tiles(random_numbers(8), 4)),
)
@amp.kernel
def both_exchange_wrong(t, values, out):
    keys = amp.tile_static(4, amp.int32)
    i = t.local[0]
    keys[i] = values[t]
    t.barrier.wait()
    size = 2
    while size <= 4:
        stride = size // 2
        while stride > 0:
            other = i ^ stride
            smaller = (other > i) == (i & size == 0)
            theirs = keys[other]  # fault
            keys[i] = min(keys[i], theirs) if smaller else max(keys[i], theirs)  # fault
            t.barrier.wait()
            stride //= 2
        size *= 2
    out[t] = keys[i]


@mended
@amp.kernel
def both_exchange(t, values, out):
    keys = amp.tile_static(4, amp.int32)
    i = t.local[0]
    keys[i] = values[t]
    t.barrier.wait()
    size = 2
    while size <= 4:
        stride = size // 2
        while stride > 0:
            other = i ^ stride
            smaller = (other > i) == (i & size == 0)
            theirs = keys[other]
            t.barrier.wait()
            keys[i] = min(keys[i], theirs) if smaller else max(keys[i], theirs)
            t.barrier.wait()
            stride //= 2
        size *= 2
    out[t] = keys[i]


@faulty(
    "sorting",
    "Only the threads that compare wait, in a sort of odd and even pairs.",
    divergence("VKA601"),
    lambda: launch(amp.extent(10).tile(5), random_numbers(10), zeros(10), expect=sorted_tiles(random_numbers(10), 5)),
)
@amp.kernel
def odd_and_even_wrong(t, values, out):
    keys = amp.tile_static(5, amp.int32)
    i = t.local[0]
    keys[i] = values[t]
    t.barrier.wait()
    for step in range(5):
        if i % 2 == step % 2 and i < 4:  # and here
            low = min(keys[i], keys[i + 1])
            keys[i + 1] = max(keys[i], keys[i + 1])
            keys[i] = low
            t.barrier.wait()  # fault
    out[t] = keys[i]


@mended
@amp.kernel
def odd_and_even(t, values, out):
    keys = amp.tile_static(5, amp.int32)
    i = t.local[0]
    keys[i] = values[t]
    t.barrier.wait()
    for step in range(5):
        if i % 2 == step % 2 and i < 4:
            low = min(keys[i], keys[i + 1])
            keys[i + 1] = max(keys[i], keys[i + 1])
            keys[i] = low
        t.barrier.wait()
    out[t] = keys[i]


@faulty(
    "sorting",
    "The last thread of the tile compares with an element that the tile has not.",
    bounds("keys"),
    lambda: launch(amp.extent(6).tile(6), random_numbers(6), zeros(6), expect=sorted_tiles(random_numbers(6), 6)),
)
@amp.kernel
def last_pair_wrong(t, values, out):
    keys = amp.tile_static(6, amp.int32)
    i = t.local[0]
    keys[i] = values[t]
    t.barrier.wait()
    for step in range(6):
        if i % 2 == step % 2:
            low = min(keys[i], keys[i + 1])  # fault
            keys[i + 1] = max(keys[i], keys[i + 1])  # fault
            keys[i] = low
        t.barrier.wait()
    out[t] = keys[i]


@mended
@amp.kernel
def last_pair(t, values, out):
    keys = amp.tile_static(6, amp.int32)
    i = t.local[0]
    keys[i] = values[t]
    t.barrier.wait()
    for step in range(6):
        if i % 2 == step % 2 and i + 1 < 6:
            low = min(keys[i], keys[i + 1])
            keys[i + 1] = max(keys[i], keys[i + 1])
            keys[i] = low
        t.barrier.wait()
    out[t] = keys[i]


@faulty(
    "sorting",
    "Each key goes to the place that its rank names, and equal keys have equal ranks.",
    race("row"),
    lambda: launch(amp.extent(6).tile(6), np.array([3, 1, 3, 0, 2, 1], np.int32), zeros(6), expect=[0, 1, 1, 2, 3, 3]),
)
@amp.kernel
def rank_sort_wrong(t, values, out):
    row = amp.tile_static(6, amp.int32)
    rank = 0
    for k in range(6):
        if values[k] < values[t]:
            rank += 1
    row[rank] = values[t]  # fault
    t.barrier.wait()
    out[t] = row[t.local]  # and then


@mended
@amp.kernel
def rank_sort(t, values, out):
    row = amp.tile_static(6, amp.int32)
    rank = 0
    for k in range(6):
        if values[k] < values[t] or (values[k] == values[t] and k < t.local[0]):
            rank += 1
    row[rank] = values[t]
    t.barrier.wait()
    out[t] = row[t.local]
