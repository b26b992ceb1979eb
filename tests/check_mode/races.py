"""Kernels that race: in a tile, and between tiles."""

# The kernels are Python that only vkamp reads.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.check_mode.cases import case
from tests.check_mode.values import LINE, TILED, floats, ints, two

SQUARES = amp.extent(8, 12).tile(4, 4)


@case(TILED, "race", "b", arguments=two())
def two_tiles_write_one_element(t_idx, a, b):
    if t_idx.local[0] == a[t_idx] - 1:
        b[t_idx.local] = t_idx.tile[0]  # fault


@case(LINE, "race", "b", arguments=two())
def all_threads_write_one_of_three(idx, a, b):
    b[idx[0] // 4] = a[idx]  # fault


@case(LINE, "race", "a", arguments=two())
def in_place_stencil(idx, a, b):
    if idx[0] < 11:
        a[idx] = a[idx[0] + 1]  # fault


@case(
    LINE,
    "race",
    "b",
    arguments=lambda: (amp.array_view(np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], np.int32)), ints(12)),
)
def scatter_to_equal_places(idx, a, b):
    b[a[idx]] = idx[0]  # fault


@case(LINE, "race", "b", arguments=two())
def update_without_an_atomic(idx, a, b):
    b[a[idx]] += 1  # fault


@case(LINE, "race", "b", arguments=two())
def atomic_and_plain(idx, a, b):
    amp.atomic_fetch_add(b[0], a[idx])  # fault
    if idx[0] == 5:
        b[0] = 7  # other


@case(LINE, "race", "b", arguments=two())
def atomic_and_read(idx, a, b):
    if idx[0] == 2:
        b[0] = a[idx]  # fault
    elif idx[0] == 7:
        b[1] = b[0]  # other


@case(TILED, "race", "b", arguments=two())
def flag_of_another_tile(t_idx, a, b):
    if t_idx.local[0] == 0:
        b[t_idx.tile] = 1  # fault
    if t_idx.local[0] == 1 and t_idx.tile[0] > 0:
        b[8 + t_idx.tile[0]] = b[t_idx.tile[0] - 1]  # other


@case(TILED, "race", "b", arguments=two())
def neighbours_in_global_memory(t_idx, a, b):
    b[t_idx] = a[t_idx]  # other
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local[0] < 3:
        a[t_idx] = b[t_idx.global_[0] + a[t_idx]]  # fault


@case(TILED, "race", "tile", arguments=two())
def fence_of_the_other_memory(t_idx, a, b):
    tile = amp.tile_static((4,), amp.int32)
    tile[t_idx.local[0]] = a[t_idx]  # other
    t_idx.barrier.wait_with_global_memory_fence()
    b[t_idx] = tile[a[t_idx]]  # fault


@case(TILED, "race", "tile", arguments=two())
def no_barrier(t_idx, a, b):
    tile = amp.tile_static((4,), amp.int32)
    tile[t_idx.local[0]] = a[t_idx]  # other
    b[t_idx] = tile[a[t_idx] + 2]  # fault


@case(amp.extent(64).tile(32), "race", "tile", arguments=lambda: (ints(64, value=1), ints(64)))
def read_before_another_subgroup_writes(t_idx, a, b):
    tile = amp.tile_static((32,), amp.int32)
    tile[t_idx.local[0]] = a[t_idx]  # other
    b[t_idx] = tile[31 - a[t_idx] * t_idx.local[0]]  # fault


@case(TILED, "race", "tile", arguments=two())
def no_barrier_before_the_refill(t_idx, a, b):
    tile = amp.tile_static((4,), amp.int32)
    total = 0
    for k in range(3):
        tile[t_idx.local[0]] = a[t_idx] + k  # other
        t_idx.barrier.wait()
        total += tile[(t_idx.local[0] + a[t_idx]) % 4]  # fault
    b[t_idx] = total


@case(TILED, "race", "sums", arguments=two())
def reduction_without_barriers(t_idx, a, b):
    sums = amp.tile_static((4,), amp.int32)
    i = t_idx.local[0]
    sums[i] = a[t_idx]
    t_idx.barrier.wait()
    stride = 2
    while stride > 0:
        if i < stride:
            sums[i] += sums[i + a[0] * stride]  # fault
        stride //= 2
    b[t_idx] = i


@case(SQUARES, "race", "tile", arguments=lambda: (ints(8, 12, value=2), ints(8, 12)))
def rows_of_a_square(t_idx, a, b):
    tile = amp.tile_static((4, 4), amp.int32)
    tile[t_idx.local[0], a[t_idx]] = t_idx.local[1]  # fault
    t_idx.barrier.wait()
    b[t_idx] = tile[t_idx.local[0], 2]


@case(TILED, "race", "counts", arguments=two())
def histogram_without_atomics(t_idx, a, b):
    counts = amp.tile_static((4,), amp.int32)
    counts[t_idx.local[0]] = 0
    t_idx.barrier.wait()
    counts[a[t_idx]] += 1  # fault
    t_idx.barrier.wait()
    b[t_idx] = counts[t_idx.local[0]]


@case(TILED, "race", "counts", arguments=two())
def histogram_read_too_early(t_idx, a, b):
    counts = amp.tile_static((4,), amp.int32)
    counts[t_idx.local[0]] = 0  # other
    amp.atomic_fetch_add(counts[a[t_idx]], 1)  # fault
    t_idx.barrier.wait()
    b[t_idx] = counts[t_idx.local[0]]


def overlapping():
    memory = np.zeros(16, np.int32)
    return amp.array_view(memory[:12]), amp.array_view(memory[4:])


@case(LINE, "race", "right", arguments=overlapping)
def overlapping_views(idx, left, right):
    if idx[0] < 4:
        left[idx[0] + 4] = 1  # fault
    elif idx[0] < 8:
        right[idx[0] - 4] = 2  # other


def reversed_view():
    memory = np.zeros(24, np.int32)
    return (amp.array_view(memory[::-2]), ints(12, value=1))


@case(LINE, "race", "backwards", arguments=reversed_view)
def strided_backwards(idx, backwards, a):
    backwards[idx[0] // 2] = a[idx]  # fault


PAIR = np.dtype([("key", np.int32), ("value", np.float32, (2,))])


@case(LINE, "race", "pairs", arguments=lambda: (amp.array_view(np.zeros(12, PAIR)), floats(12)))
def one_member_of_a_struct(idx, pairs, out):
    pairs[idx].key = idx[0]
    pairs[idx[0] // 2].value[1] = out[idx]  # fault


@amp.func
def put(values, i, value):
    values[i] = value  # fault


@case(LINE, "race", "b", arguments=lambda: (floats(12, value=1.5), floats(12)))
def exchange_and_store(idx, a, b):
    if idx[0] % 2 == 0:
        amp.atomic_exchange(b[idx[0] // 4], a[idx])  # fault
    else:
        b[idx[0] // 4] = a[idx]  # other
