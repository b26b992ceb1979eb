"""Kernels with wrong indices, numbers, assertions and claims."""

# The kernels are Python that only vkamp reads.
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.check_mode.cases import case

LINE = amp.extent(12)
PLANE = amp.extent(4, 6)
TILED = amp.extent(12).tile(4)
POINT = np.dtype([("mass", np.float32), ("at", np.float32, (3,)), ("tag", np.int32)])


def ints(*shape: int, value: int = 0) -> amp.array_view:
    return amp.array_view(np.full(shape, value, np.int32))


def floats(*shape: int, value: float = 0.0) -> amp.array_view:
    return amp.array_view(np.full(shape, value, np.float32))


def two(n: int = 12):
    return lambda: (ints(n, value=1), ints(12))


@case(LINE, "bounds", "a", arguments=two())
def one_past_the_end(idx, a, b):
    b[idx] = a[idx[0] + 1]  # fault


@case(LINE, "bounds", "a", arguments=two())
def before_the_start(idx, a, b):
    b[idx] = a[idx[0] - 1]  # fault


@case(LINE, "bounds", "b", arguments=two())
def store_past_the_end(idx, a, b):
    b[idx[0] + 6] = a[idx]  # fault


@case(LINE, "bounds", "a", arguments=two(8))
def shorter_container(idx, a, b):
    b[idx] = a[idx]  # fault


@case(PLANE, "bounds", "a", arguments=lambda: (ints(4, 6), ints(4, 6)))
def stencil_without_guard(idx, a, b):
    b[idx] = a[idx[0], idx[1] + 1]  # fault


@case(PLANE, "bounds", "a", arguments=lambda: (ints(4, 6), ints(4, 6)))
def transposed_index(idx, a, b):
    b[idx] = a[idx[1], idx[0]]  # fault


@case(PLANE, "bounds", "part", arguments=lambda: (ints(8, 8).section(amp.index(2, 2), amp.extent(4, 5)), ints(4, 6)))
def past_a_section(idx, part, b):
    b[idx] = part[idx]  # fault


@case(LINE, "bounds", "counts", arguments=lambda: (ints(12, value=3), ints(3)))
def atomic_past_the_end(idx, a, counts):
    amp.atomic_fetch_add(counts[a[idx]], 1)  # fault


@case(LINE, "bounds", "a", arguments=two())
def updated_past_the_end(idx, a, b):
    a[idx[0] + b[idx] + 4] += 1  # fault


@case(LINE, "bounds", "a", arguments=two())
def behind_and(idx, a, b):
    if idx[0] > 3 and a[idx[0] + 8] > 0:  # fault
        b[idx] = 1


@case(LINE, "bounds", "a", arguments=two())
def in_a_conditional_expression(idx, a, b):
    b[idx] = a[idx[0] - 2] if idx[0] < 5 else 0  # fault


@case(LINE, "bounds", "a", arguments=two())
def in_a_while(idx, a, b):
    i = idx[0]
    while a[i] > 0:  # fault
        i += 1
    b[idx] = i


@case(LINE, "bounds", "window", arguments=two())
def private_array(idx, a, b):
    window = amp.private((4,), amp.int32)
    for k in range(4):
        window[k] = a[idx]
    b[idx] = window[idx[0] % 5]  # fault


@case(TILED, "bounds", "tile", arguments=two())
def tile_static_array(t_idx, a, b):
    tile = amp.tile_static((4,), amp.int32)
    tile[t_idx.local[0]] = a[t_idx]
    t_idx.barrier.wait()
    b[t_idx] = tile[t_idx.local[0] + 1]  # fault


@case(TILED, "bounds", "tile", arguments=lambda: (ints(12), ints(12)))
def two_dimensions_of_tile_static(t_idx, a, b):
    tile = amp.tile_static((2, 2), amp.int32)
    tile[t_idx.local[0] // 2, t_idx.local[0] % 2] = a[t_idx]
    t_idx.barrier.wait()
    b[t_idx] = tile[t_idx.local[0] % 2, t_idx.local[0] // 2 + 1]  # fault


@amp.func
def neighbour(values, i):
    return values[i + 1]  # fault


@case(LINE, "bounds", "points.at", arguments=lambda: (amp.array_view(np.zeros(12, POINT)), floats(12)))
def subarray_of_a_struct(idx, points, out):
    out[idx] = points[idx].at[idx[0] % 4]  # fault


@case(LINE, "division", arguments=lambda: (ints(12), ints(12)))
def divided_by_zero(idx, a, b):
    b[idx] = 7 // a[idx]  # fault


@case(LINE, "division", arguments=lambda: (ints(12), ints(12)))
def modulo_zero(idx, a, b):
    b[idx] = idx[0] % a[idx]  # fault


@case(LINE, "division", arguments=lambda: (ints(12), ints(12)))
def c_division(idx, a, b):
    b[idx] = amp.tdiv(5, a[idx]) if idx[0] > 2 else 0  # fault


@case(LINE, "division", arguments=lambda: (ints(12), ints(12)))
def in_a_loop_bound(idx, a, b):
    for k in range(12 // a[idx]):  # fault
        b[idx] = k


@case(LINE, "shift", arguments=lambda: (ints(12, value=32), ints(12)))
def shifted_too_far(idx, a, b):
    b[idx] = 1 << a[idx]  # fault


@case(LINE, "shift", arguments=lambda: (ints(12, value=-1), ints(12)))
def shifted_by_a_negative(idx, a, b):
    b[idx] = 64 >> a[idx]  # fault


@case(LINE, "conversion", arguments=lambda: (floats(12, value=3e9), ints(12)))
def float_too_large(idx, a, b):
    b[idx] = int(a[idx])  # fault


@case(LINE, "conversion", arguments=lambda: (floats(12, value=np.nan), ints(12)))
def not_a_number(idx, a, b):
    b[idx] = int(a[idx])  # fault


@case(LINE, "assert", arguments=two())
def failed_assertion(idx, a, b):
    assert a[idx] > idx[0], "too small"  # fault
    b[idx] = a[idx]


@case(LINE, "uninitialised", "window", arguments=two())
def private_never_written(idx, a, b):
    window = amp.private((4,), amp.int32)
    window[0] = a[idx]
    b[idx] = window[1]  # fault


@case(LINE, "uninitialised", "window", arguments=two())
def private_partly_written(idx, a, b):
    window = amp.private((42,), amp.int32)
    for k in range(39):
        window[k] = k
    b[idx] = window[idx[0] + 30]  # fault


@case(LINE, "uninitialised", "window", arguments=two())
def private_beside_what_is_written(idx, a, b):
    window = amp.private((42,), amp.int32)
    window[32] = a[idx]
    window[0] = a[idx]
    b[idx] = window[33] + window[32] + window[0]  # fault


@case(LINE, "uninitialised", "window", arguments=two())
def private_of_the_last_round(idx, a, b):
    total = 0
    for k in range(2):
        window = amp.private((2,), amp.int32)
        if k == 0:
            window[0] = a[idx]
        total += window[0]  # fault
    b[idx] = total


def box():
    return amp.array_view(np.ones((4, 6), np.float32)).section(amp.index(0, 2), amp.extent(3, 4)), ints(12)


@case(LINE, "bounds", "m", arguments=box)
def reinterpreted_past_the_end(idx, m, out):
    out[idx] = m[2].reinterpret_as(amp.int32)[idx[0] % 5]  # fault


@case(LINE, "bounds", "m", arguments=box)
def view_of_a_row(idx, m, out):
    row = m[1].section(1, 2)
    out[idx] = int(row[idx[0] % 3])  # fault


@amp.func
def fill(values, count):
    for k in range(count):
        values[k] = k


@case(LINE, "uninitialised", "window", arguments=two())
def private_filled_by_a_function(idx, a, b):
    window = amp.private((4,), amp.int32)
    fill(window, 3)
    b[idx] = window[idx[0] % 4]  # fault


@case(TILED, "uninitialised", "tile", arguments=two())
def tile_static_never_written(t_idx, a, b):
    tile = amp.tile_static((6,), amp.int32)
    tile[t_idx.local[0]] = a[t_idx]
    t_idx.barrier.wait()
    b[t_idx] = tile[t_idx.local[0] + 1]  # fault


@case(TILED, "uninitialised", "tile", arguments=two())
def halo_not_filled(t_idx, a, b):
    tile = amp.tile_static((6,), amp.int32)
    tile[t_idx.local[0] + 1] = a[t_idx]
    if t_idx.local[0] == 3:
        tile[5] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    b[t_idx] = tile[t_idx.local[0]] + tile[t_idx.local[0] + 2]  # fault


@case(TILED, "uninitialised", "counts", arguments=two())
def counters_not_cleared(t_idx, a, b):
    counts = amp.tile_static((4,), amp.int32)
    amp.atomic_fetch_add(counts[a[t_idx]], 1)  # fault
    t_idx.barrier.wait()
    b[t_idx] = a[t_idx]


@case(TILED, "bounds", "tile", arguments=lambda: (ints(12, value=4), ints(12)))
def index_that_is_claimed(t_idx, a, b):
    tile = amp.tile_static((4,), amp.int32)
    tile[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    k = 0
    k = amp.uniform(a[t_idx])
    b[t_idx] = tile[k]  # fault


@case(TILED, "bounds", "tile", arguments=lambda: (ints(12, value=2), ints(12)))
def index_from_a_subgroup(t_idx, a, b):
    tile = amp.tile_static((4,), amp.int32)
    tile[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    k = 0
    k = amp.subgroup.max(a[t_idx]) * 2
    k = k if k > 0 else amp.subgroup.max(a[t_idx])
    b[t_idx] = tile[k]  # fault


@case(TILED, "bounds", arguments=two())
def shuffle_past_the_last_thread(t_idx, a, b):
    b[t_idx] = amp.subgroup.shuffle(a[t_idx], amp.subgroup.lane() + 1)  # fault


@case(TILED, "bounds", arguments=two())
def butterfly_of_lanes_that_are_not_there(t_idx, a, b):
    b[t_idx] = amp.subgroup.shuffle_xor(a[t_idx], amp.subgroup.size())  # fault


@case(TILED, "bounds", arguments=two())
def broadcast_of_a_lane_that_is_not_there(t_idx, a, b):
    c = amp.subgroup.broadcast(a[t_idx] > 0, 4)  # fault
    b[t_idx] = 1 if c else 2


@case(amp.extent(9).tile(3), "bounds", arguments=two(9))
def reduction_by_shuffles_over_too_few_threads(t_idx, a, b):
    total = a[t_idx]
    total += amp.subgroup.shuffle_down(total, 2)  # fault
    total += amp.subgroup.shuffle_down(total, 1)  # fault
    b[t_idx] = total


@case(TILED, "uniformity", arguments=lambda: (amp.array_view(np.arange(12, dtype=np.int32)), ints(12)))
def claim_of_an_index(t_idx, a, b):
    if amp.uniform(a[t_idx] > 5):  # fault
        t_idx.barrier.wait()
    b[t_idx] = 1


@case(TILED, "uniformity", arguments=lambda: (amp.array_view(np.arange(12, dtype=np.float32)), ints(12)))
def claim_of_a_float(t_idx, a, b):
    limit = amp.uniform(a[t_idx])  # fault
    for _ in range(2):
        t_idx.barrier.wait()
    b[t_idx] = int(limit)
