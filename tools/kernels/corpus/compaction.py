"""Algorithms that use prefix sums: compaction and run lengths."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    bounds,
    faulty,
    launch,
    mended,
    numbers,
    race,
    random_numbers,
    uninitialised,
    zeros,
)

# -- compaction and run lengths ------------------------------------------------------------------------------------


def kept(values, tile):
    """The even elements of each tile, then -1."""
    rows = values.reshape(-1, tile)
    return np.concatenate([np.r_[row[row % 2 == 0], np.full((row % 2 == 1).sum(), -1)] for row in rows])


@faulty(
    "compaction",
    "Each thread counts the kept elements before its own in memory that others are still filling.",
    race("keep", "VKA63"),
    lambda: launch(
        amp.extent(15).tile(5), random_numbers(15), np.full(15, -1, np.int32), expect=kept(random_numbers(15), 5)
    ),
)
@amp.kernel
def keep_even_wrong(t, values, out):
    keep = amp.tile_static(5, amp.int32)
    i = t.local[0]
    keep[i] = 1 if values[t] % 2 == 0 else 0  # and here
    place = 0
    for j in range(i):
        place += keep[j]  # fault
    if keep[i] == 1:
        out[t.tile_origin[0] + place] = values[t]


@mended
@amp.kernel
def keep_even(t, values, out):
    keep = amp.tile_static(5, amp.int32)
    i = t.local[0]
    keep[i] = 1 if values[t] % 2 == 0 else 0
    t.barrier.wait()
    place = 0
    for j in range(i):
        place += keep[j]
    if keep[i] == 1:
        out[t.tile_origin[0] + place] = values[t]


@faulty(
    "compaction",
    "The place is an inclusive sum, one too far, and the last kept element falls off the end.",
    bounds("out"),
    lambda: launch(amp.extent(5).tile(5), np.array([2, 4, 6, 8, 10], np.int32), zeros(5), expect=[2, 4, 6, 8, 10]),
)
@amp.kernel
def inclusive_places_wrong(t, values, out):
    keep = amp.tile_static(5, amp.int32)
    i = t.local[0]
    keep[i] = 1 if values[t] % 2 == 0 else 0
    t.barrier.wait()
    place = 0
    for j in range(i + 1):
        place += keep[j]
    if keep[i] == 1:
        out[place] = values[t]  # fault


@mended
@amp.kernel
def inclusive_places(t, values, out):
    keep = amp.tile_static(5, amp.int32)
    i = t.local[0]
    keep[i] = 1 if values[t] % 2 == 0 else 0
    t.barrier.wait()
    place = 0
    for j in range(i + 1):
        place += keep[j]
    if keep[i] == 1:
        out[place - 1] = values[t]


@faulty(
    "compaction",
    "The elements are kept in tile_static memory in a row, and all of it is copied out: also what nothing wrote.",
    uninitialised("row"),
    lambda: launch(amp.extent(6).tile(6), numbers(6), np.full(6, -1, np.int32), expect=[0, 3, -1, -1, -1, -1]),
)
@amp.kernel
def copy_whole_row_wrong(t, values, out):
    row = amp.tile_static(6, amp.int32)
    i = t.local[0]
    if values[t] % 3 == 0:
        row[i // 3] = values[t]
    t.barrier.wait()
    out[t] = row[i]  # fault


@mended
@amp.kernel
def copy_whole_row(t, values, out):
    row = amp.tile_static(6, amp.int32)
    i = t.local[0]
    if values[t] % 3 == 0:
        row[i // 3] = values[t]
    t.barrier.wait()
    if i < 2:
        out[t] = row[i]


@faulty(
    "compaction",
    "The first element of a run counts its length by plain updates of one element by all its members.",
    race("lengths"),
    lambda: launch(
        amp.extent(8).tile(8),
        np.array([5, 5, 5, 2, 2, 9, 7, 7], np.int32),
        zeros(8),
        expect=[3, 0, 0, 2, 0, 1, 2, 0],
    ),
)
@amp.kernel
def run_lengths_wrong(t, values, out):
    lengths = amp.tile_static(8, amp.int32)
    i = t.local[0]
    lengths[i] = 0
    t.barrier.wait()
    start = i
    while start > 0 and values[start - 1] == values[i]:
        start -= 1
    lengths[start] += 1  # fault
    t.barrier.wait()
    out[t] = lengths[i]


@mended
@amp.kernel
def run_lengths(t, values, out):
    lengths = amp.tile_static(8, amp.int32)
    i = t.local[0]
    lengths[i] = 0
    t.barrier.wait()
    start = i
    while start > 0 and values[start - 1] == values[i]:
        start -= 1
    amp.atomic_fetch_add(lengths[start], 1)
    t.barrier.wait()
    out[t] = lengths[i]
