"""Programs in which the race prover finds a race."""

from __future__ import annotations

import vkamp as amp
from tests.static_analysis.race_programs import BODY, GRID, LINE, MATRIX, POINT, floats, found, put, sum_of, whole


@found("VKA630: `values[0, 1]` is read here by thread (0, 0) and written by thread (0, 1)", "values[row, col]",
       MATRIX.tile(4, 8), floats(48, 80), floats(12, 10))  # fmt: skip
def no_barrier(t_idx, matrix, averages):
    values = amp.tile_static(t_idx.tile_extent, amp.float32)
    values[t_idx.local] = matrix[t_idx]
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(t_idx.tile_dim0):
            for col in range(t_idx.tile_dim1):
                total += values[row, col]
        averages[t_idx.tile] = total


@found("VKA630: `left[0, 0]` is written here by thread (0, 0) in the next iteration and read by thread (0, 1)",
       "left[row, col]", MATRIX.tile(16, 16), floats(48, 64), floats(48, 80))  # fmt: skip
def no_second_barrier(t_idx, a, out):
    left = amp.tile_static((16, 16), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    total = 0.0
    for i in range(0, a.extent[1], 16):
        left[row, col] = a[t_idx.global_[0], i + col]
        t_idx.barrier.wait()
        for k in range(16):
            total += left[row, (k + col) % 16]
    out[t_idx] = total


@found("VKA631: `values[0]` is written here by the threads (0) and (1) without synchronization",
       "values[t_idx.local[0] // 2]",LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def overlapping_writes(t_idx, a, out):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local[0] // 2] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local[0] // 2]


@found("VKA631: `values[7]` is written here by the threads (7) and (15) without synchronization",
       "values[t_idx.local[0] % 8]",LINE.tile(32), floats(1536))  # fmt: skip
def one_of_two_other_conditions(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    if (t_idx.local[0] < 16) ^ (t_idx.local[0] < 7):
        values[t_idx.local[0] % 8] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = values[t_idx.local[0] % 8]


@found("VKA630: `values[0, 1]` is read here by thread (0, 1) and written by thread (1, 0)", "values[t_idx.local]",
       MATRIX.tile(8, 16), floats(48, 80), floats(48, 80))  # fmt: skip
def transposed_index(t_idx, a, out):
    values = amp.tile_static((16, 16), amp.float32)
    values[t_idx.local[1], t_idx.local[0]] = a[t_idx]
    t_idx.barrier.wait_with_global_memory_fence()
    out[t_idx] = values[t_idx.local]


@found("VKA630: `values[32]` is written here by thread (32) and read by thread (0)", "values[i]",
       LINE.tile(64), floats(1536), floats(24))  # fmt: skip
def wrong_guard(t_idx, a, sums):
    values = amp.tile_static(65, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    if i == 0:
        values[64] = 0.0
    t_idx.barrier.wait()
    stride = 32
    while stride > 0:
        if i <= stride:
            values[i] += values[i + stride]
        t_idx.barrier.wait()
        stride //= 2
    if i == 0:
        sums[t_idx.tile] = values[0]


@found("VKA630: `values[1]` is written here by thread (1) and read by thread (2)", "values[i]",
       LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def scan_in_place(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    t_idx.barrier.wait()
    distance = 1
    while distance < 64:
        if i >= distance:
            values[i] += values[i - distance]
        t_idx.barrier.wait()
        distance *= 2
    out[t_idx] = values[i]


@found("VKA630: `keys[1]` is read here by thread (1) in the next iteration and written by thread (0)", "keys[i]",
       LINE.tile(64), whole(1536))  # fmt: skip
def sort_without_barrier(t_idx, a):
    keys = amp.tile_static(64, amp.int32)
    i = t_idx.local[0]
    keys[i] = a[t_idx]
    t_idx.barrier.wait()
    size = 2
    while size <= 64:
        stride = size // 2
        while stride > 0:
            other = i ^ stride
            if other > i:
                low, high = keys[i], keys[other]
                if (low > high) == (i & size == 0):
                    keys[i] = high
                    keys[other] = low
            stride //= 2
        size *= 2
    t_idx.barrier.wait()
    a[t_idx] = keys[i]


@found("VKA631: `bins[0]` is written here by the threads (0) and (60) without synchronization", "bins[i % 20]",
       LINE.tile(64), whole(1536), whole(1536))  # fmt: skip
def plain_histogram(t_idx, a, out):
    bins = amp.tile_static(20, amp.int32)
    i = t_idx.local[0]
    if i < 20:
        bins[i] = 0
    t_idx.barrier.wait()
    bins[i % 20] += a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = bins[i % 20]


@found("VKA630: `values[32]` is read here by thread (0) and written by thread (32)",
       "values[t_idx.local[0] + stride]", LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def in_functions(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    put(values, t_idx.local[0], a[t_idx])
    out[t_idx] = sum_of(t_idx, values)


@found("VKA630: `points[63]` is read here by thread (0) and written by thread (63)", "points[(i + 63) % 64].y[1]",
       LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def member_of_struct(t_idx, a, out):
    points = amp.tile_static(64, POINT)
    i = t_idx.local[0]
    points[i].x = a[t_idx]
    points[i].y[1] = a[t_idx]
    out[t_idx] = points[(i + 63) % 64].y[1]


@found("VKA630: an element of `a` is written here by thread (0) and read by thread (31)", "a[t_idx]",
       LINE.tile(32), floats(1536))  # fmt: skip
def container_of_tile(t_idx, a):
    value = a[t_idx.tile_origin + (31 - t_idx.local[0])]
    a[t_idx] = value


@found("VKA630: `values[0]` is written here by thread (0) and read by thread (31)", "values[t_idx.local]",
       LINE.tile(32), floats(1536), floats(1536), 3)  # fmt: skip
def under_one_condition(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    if n > 3:
        out[t_idx] = values[31 - t_idx.local[0]]
    if n > 3:
        values[t_idx.local] = a[t_idx]


@found("VKA630: `values[1]` is read here by thread (0) and written by thread (1)",
       "values[(t_idx.local[0] + 1) % 32]", LINE.tile(32), floats(1536), floats(1536), 3)  # fmt: skip
def behind_a_loop(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = 0.0
    for _ in range(n):
        t_idx.barrier.wait()
        values[t_idx.local] = a[t_idx]
    out[t_idx] = values[(t_idx.local[0] + 1) % 32]


@found("VKA630: `values[1]` is read here by thread (0) and written by thread (1)",
       "values[(t_idx.local[0] + 1) % 32]", LINE.tile(32), floats(1536), floats(1536), 3)  # fmt: skip
def behind_a_loop_of_writes(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    for _ in range(n):
        t_idx.barrier.wait()
        values[t_idx.local] = a[t_idx]
    out[t_idx] = values[(t_idx.local[0] + 1) % 32]


@found("VKA630: `grids[63]` is read here by thread (0) and written by thread (63)", "grids[63 - i].mass",
       LINE.tile(64), whole(1536), floats(1536))  # fmt: skip
def whole_struct(t_idx, a, out):
    grids = amp.tile_static(64, GRID)
    i = t_idx.local[0]
    grids[i].cells[0, 0] = 1.0
    grids[i] = grids[i]
    out[t_idx] = grids[63 - i].mass


@found("VKA630: `bodies[63]` is read here by thread (0) and written by thread (63)", "bodies[63 - i].spins[1].y",
       LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def whole_vector(t_idx, a, out):
    bodies = amp.tile_static(64, BODY)
    i = t_idx.local[0]
    bodies[i].spins[1] = amp.float2(a[t_idx])
    out[t_idx] = bodies[63 - i].spins[1].y


@found("VKA630: `values[16]` is read here by thread (16) and written by thread (15)", "values[t_idx.local]",
       LINE.tile(32), floats(1536))  # fmt: skip
def written_on_the_way_out(t_idx, a):
    """Of a loop that only `break` ends, each thread's own."""
    values = amp.tile_static(32, amp.float32)
    i, k = t_idx.local[0], 0
    while True:
        k += 1
        if i < 16 or a[t_idx] > k:
            values[31 - i] = a[t_idx]
            break
    a[t_idx] = values[t_idx.local]


@found("VKA630: `values[31]` is written here by thread (0) and read by thread (31)", "values[31 - i]",
       LINE.tile(32), floats(1536))  # fmt: skip
def written_under_a_condition_that_reads(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    t_idx.barrier.wait()
    if values[i] > 0 or i < 32:
        values[31 - i] = 1.0
    a[t_idx] = i


@found("VKA630: an element of `out` is written here by thread (0) and by thread (21)",
       "out[(t_idx.tile[0] * 32 + (21 - i)) * 1000003]", LINE.tile(32), floats(1536))  # fmt: skip
def far_apart(t_idx, out):
    """Elements that no table of all between them holds."""
    i = t_idx.local[0]
    out[(t_idx.tile[0] * 32 + i) * 1000003] = 1.0
    out[(t_idx.tile[0] * 32 + (21 - i)) * 1000003] = 2.0


@found("VKA630: an element of `out` is written here by thread (0) and by thread (21)", "out[k, k, k]",
       LINE.tile(32), floats(4, 4, 4))  # fmt: skip
def far_apart_in_three_dimensions(t_idx, out):
    j = (t_idx.tile[0] * 32 + t_idx.local[0]) * 1000003
    out[j, j, j] = 1.0
    k = (t_idx.tile[0] * 32 + (21 - t_idx.local[0])) * 1000003
    out[k, k, k] = 2.0


@found("VKA630: `cube[", "cube[(21 - i) % 32, i % 2 * 0, i // 40]", LINE.tile(32), floats(1536))
def in_three_dimensions(t_idx, out):
    cube = amp.tile_static((32, 16, 16), amp.float32)
    i = t_idx.local[0]
    cube[i, 0, 0] = 1.0
    cube[(21 - i) % 32, i % 2 * 0, i // 40] = 2.0
    t_idx.barrier.wait()
    out[t_idx] = cube[i, 0, 0]


@found("VKA631: `values[5]` is written here by the threads (0) and (5) without synchronization", "values[place]",
       LINE.tile(32), floats(1536))  # fmt: skip
def out_of_a_loop_by_three_certain_ways(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    place = i
    for _ in range(3):
        if i < 2:
            place = 5 + i
            break
        if i > 20:
            place = i
            break
    values[place] = a[t_idx]
