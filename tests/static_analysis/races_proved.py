"""Programs of which the race prover proves that they have no races."""

from __future__ import annotations

import vkamp as amp
from tests.static_analysis.race_programs import (
    BODY,
    GRID,
    LINE,
    MATRIX,
    POINT,
    PRECISE,
    floats,
    proved,
    put,
    sum_of,
    whole,
)


@proved(MATRIX.tile(16, 16), floats(48, 80), floats(3, 5))
def tile_average(t_idx, matrix, averages):
    values = amp.tile_static(t_idx.tile_extent, amp.float32)
    values[t_idx.local] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(t_idx.tile_dim0):
            for col in range(t_idx.tile_dim1):
                total += values[row, col]
        averages[t_idx.tile] = total / (t_idx.tile_dim0 * t_idx.tile_dim1)


@proved(MATRIX.tile(16, 16), floats(48, 64), floats(64, 80), floats(48, 80))
def product(t_idx, a, b, c):
    left = amp.tile_static((16, 16), amp.float32)
    right = amp.tile_static((16, 16), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    total = 0.0
    for i in range(0, a.extent[1], 16):
        left[row, col] = a[t_idx.global_[0], i + col]
        right[row, col] = b[i + row, t_idx.global_[1]]
        t_idx.barrier.wait()
        for k in range(16):
            total += left[row, k] * right[k, col]
        t_idx.barrier.wait()
    c[t_idx] = total


@proved(MATRIX.tile(16, 16), floats(48, 80), floats(80, 48))
def transpose(t_idx, a, out):
    values = amp.tile_static((16, 17), amp.float32)
    values[t_idx.local] = a[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    row, col = t_idx.tile_origin[1] + t_idx.local[0], t_idx.tile_origin[0] + t_idx.local[1]
    out[row, col] = values[t_idx.local[1], t_idx.local[0]]


@proved(LINE.tile(96), floats(1536), floats(16))
def tree(t_idx, a, sums):
    values = amp.tile_static(96, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    t_idx.barrier.wait()
    count = 96
    while count > 1:
        half = (count + 1) // 2
        if i + half < count:
            values[i] += values[i + half]
        t_idx.barrier.wait()
        count = half
    if i == 0:
        sums[t_idx.tile] = values[0]


@proved(LINE.tile(128), floats(1536), floats(1536))
def scan(t_idx, a, out):
    values = amp.tile_static((2, 128), amp.float32)
    i = t_idx.local[0]
    values[0, i] = a[t_idx]
    t_idx.barrier.wait()
    here, distance = 0, 1
    while distance < 128:
        there = 1 - here
        values[there, i] = values[here, i] + (values[here, i - distance] if i >= distance else 0.0)
        t_idx.barrier.wait()
        here = there
        distance *= 2
    out[t_idx] = values[here, i]


@proved(MATRIX.tile(8, 16), floats(48, 80), floats(48, 80))
def halo(t_idx, a, out):
    cells = amp.tile_static((10, 18), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    y, x = t_idx.global_[0], t_idx.global_[1]
    cells[row + 1, col + 1] = a[t_idx]
    if row == 0:
        cells[0, col + 1] = a[y - 1, x] if y > 0 else 0.0
    if row == 7:
        cells[9, col + 1] = a[y + 1, x] if y + 1 < a.extent[0] else 0.0
    if col == 0:
        cells[row + 1, 0] = a[y, x - 1] if x > 0 else 0.0
    if col == 15:
        cells[row + 1, 17] = a[y, x + 1] if x + 1 < a.extent[1] else 0.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    out[t_idx] = cells[row, col + 1] + cells[row + 2, col + 1] + cells[row + 1, col] + cells[row + 1, col + 2]


@proved(LINE.tile(128), whole(1536))
def bitonic(t_idx, a):
    keys = amp.tile_static(128, amp.int32)
    i = t_idx.local[0]
    keys[i] = a[t_idx]
    t_idx.barrier.wait()
    size = 2
    while size <= 128:
        stride = size // 2
        while stride > 0:
            other = i ^ stride
            if other > i:
                low, high = keys[i], keys[other]
                if (low > high) == (i & size == 0):
                    keys[i] = high
                    keys[other] = low
            t_idx.barrier.wait()
            stride //= 2
        size *= 2
    a[t_idx] = keys[i]


@proved(LINE.tile(64), whole(1536), whole(20))
def histogram(t_idx, a, counts):
    bins = amp.tile_static(20, amp.int32)
    i = t_idx.local[0]
    if i < 20:
        bins[i] = 0
    t_idx.barrier.wait()
    amp.atomic_fetch_add(bins[a[t_idx] % 20], 1)
    t_idx.barrier.wait()
    if i < 20:
        amp.atomic_fetch_add(counts[i], bins[i])


@proved(LINE.tile(64), floats(1536), floats(1536))
def functions(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    put(values, t_idx.local[0], a[t_idx])
    t_idx.barrier.wait()
    out[t_idx] = a[t_idx] - sum_of(t_idx, values)


@proved(LINE.tile(64).pad(), floats(1500), floats(1500))
def padded(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    i, here = t_idx.local[0], t_idx.global_[0]
    values[i] = a[here] if here < a.extent[0] else 0.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if here < a.extent[0]:
        out[here] = values[63 - i]


@proved(LINE.tile(48), whole(1536), whole(1536))
def histograms_of_threads(t_idx, a, out):
    """Each thread counts in its own row."""
    bins = amp.tile_static((48, 4), amp.int32)
    for k in range(4):
        bins[t_idx.local[0], k] = 0
    for k in range(a.extent[0]):
        bins[t_idx.local[0], a[k] & 3] += 1
    out[t_idx] = bins[t_idx.local[0], 1]


@proved(LINE.tile(64), floats(1536), floats(1536), 3)
def rounds(t_idx, a, out, n):
    values = amp.tile_static(64, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    for _ in range(n):
        t_idx.barrier.wait()
        left = values[(i + 63) % 64]
        t_idx.barrier.wait()
        values[i] = left
    out[t_idx] = values[i]


@proved(amp.extent(2048).tile(1024), floats(2048), floats(2048))
def long_loops(t_idx, a, out):
    values = amp.tile_static(1024, amp.float32)
    for k in range(1000):
        for m in range(1000):
            values[t_idx.local] = a[t_idx] + k * m
            t_idx.barrier.wait()
            out[t_idx] = values[1023 - t_idx.local[0]]
            t_idx.barrier.wait()


@proved(LINE, floats(1536), floats(1536))
def untiled(i, a, out):
    out[i] = 2.0 * out[i] + a[i]


@proved(LINE.tile(64), whole(1536), whole(1536 * 2))
def several_each(t_idx, a, out):
    for k in range(2):
        out[t_idx.tile[0] * 128 + k * 64 + t_idx.local[0]] = a[t_idx]


@proved(LINE.tile(32), whole(1536), whole(48))
def only_atomics(t_idx, a, counts):
    amp.atomic_fetch_add(counts[a[t_idx] % 48], 1)


@proved(LINE.tile(32), floats(1536), floats(1536))
def members(t_idx, a, out):
    """Threads may write different members of one struct."""
    points = amp.tile_static(16, POINT)
    i = t_idx.local[0]
    if i < 16:
        points[i].x = a[t_idx]
        points[i].y[0] = 1.0
    else:
        points[i - 16].y[1] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = points[i % 16].x + points[i // 2].y[1]


@proved(LINE.tile(32), floats(1536), floats(1536), 3)
def opposite_conditions(t_idx, a, out, n):
    one = amp.tile_static(32, amp.float32)
    two = amp.tile_static(32, amp.float32)
    three = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    if n < 3:
        one[i] = a[t_idx]
    if n > 5:
        two[i] = a[t_idx]
    if n == 7:
        three[i] = a[t_idx]
    if n >= 3:
        out[t_idx] = one[31 - i]
    if n <= 5:
        out[t_idx] = two[31 - i]
    if n != 7:
        out[t_idx] = three[31 - i]


@proved(LINE.tile(64), floats(1536), floats(1536))
def low_bits_of_a_global_index(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    values[t_idx.global_[0] & 63] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[63 - t_idx.local[0]]


@proved(LINE.tile(64), floats(1536), floats(1536), 1)
def letters_of_vectors(t_idx, a, out, n):
    bodies = amp.tile_static(64, BODY)
    i = t_idx.local[0]
    if i % 2 == 0:
        bodies[i // 2].spins[1].x = a[t_idx]
        bodies[i // 2].spins[n].x += 1.0
        bodies[i // 2].mass = 0.0
    else:
        bodies[i // 2].spins[1].y = a[t_idx]
        bodies[i // 2].spins[n].y += 1.0
    t_idx.barrier.wait()
    out[t_idx] = bodies[63 - i].spins[n].x


@proved(LINE.tile(64), floats(1536), floats(1536))
def letters_of_doubles(t_idx, a, out):
    bodies = amp.tile_static(32, PRECISE)
    i = t_idx.local[0]
    if i < 32:
        bodies[i].mass = a[t_idx]
        bodies[i].spin.y = a[t_idx]
    else:
        bodies[i - 32].spin.x = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = amp.float32(bodies[i // 2].spin.x)


@proved(LINE.tile(64), floats(1536), floats(1536), 1)
def rows_of_members(t_idx, a, out, n):
    grids = amp.tile_static(32, GRID)
    i = t_idx.local[0]
    if i < 32:
        grids[i].cells[0, n] = a[t_idx]
        grids[i].cells[1, 1] = a[t_idx]
    else:
        grids[i - 32].cells[1, 2] = a[t_idx]
        grids[i - 32].cells[1, 0] = a[t_idx]
        grids[i - 32].mass = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = grids[i // 2].cells[n, n]


@proved(LINE.tile(64), whole(1536), whole(1536))
def own_elements_as_often_as_a_container_says(t_idx, a, out):
    values = amp.tile_static(64, amp.int32)
    i = t_idx.local[0]
    values[i] = 0
    for k in range(a[t_idx]):
        values[(k * 64 + i) % 64] += k
    t_idx.barrier.wait()
    out[t_idx] = values[63 - i]


@proved(LINE.tile(64), floats(1536), floats(1536))
def what_global_indices_are(t_idx, a, out):
    """Conditions that only one thread of a tile meets, or all, or none."""
    values = amp.tile_static(64, amp.float32)
    first = t_idx.global_[0] == t_idx.tile_origin[0]
    if first:
        values[0] = a[t_idx]
    if t_idx.tile_origin[0] + 64 != t_idx.global_[0] + 1 and not first:
        values[t_idx.local] = a[t_idx]
    if t_idx.global_[0] - t_idx.local[0] + 63 == t_idx.global_[0]:
        values[63] = a[t_idx]
    if t_idx.global_[0] < 0:
        values[5] = 0.0
    t_idx.barrier.wait()
    if t_idx.global_[0] >= 0:
        out[t_idx] = values[63 - t_idx.local[0]]
    else:
        values[6] = 0.0


@proved(LINE.tile(64), floats(1536), floats(1536))
def negative_index(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    i = t_idx.local[0]
    values[63 + -i] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[i] + values[~i + 64]


@proved(LINE.tile(32), floats(1536))
def one_of_two_conditions(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    if (t_idx.local[0] < 16) ^ (t_idx.local[0] < 8):
        values[t_idx.local[0] % 8] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = values[t_idx.local[0] % 8]


@proved(LINE.tile(32), floats(1536), floats(1536), 3)
def between_tiles_at_one_distance(t_idx, a, out, n):
    for _ in range(n):
        out[t_idx.global_[0] + n // 2 * 32] = a[t_idx]
        t_idx.barrier.wait_with_global_memory_fence()


@proved(LINE.tile(32), floats(1536), floats(1536))
def conditions_that_hold_for_every_index(t_idx, a, out):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    if t_idx.tile_origin[0] + 32 > 0 and t_idx.tile[0] >= 0:
        t_idx.barrier.wait()
    out[t_idx] = values[31 - t_idx.local[0]]


@proved(LINE.tile(32), whole(6144))
def four_elements_each(t_idx, out):
    first = 4 * t_idx.global_[0]
    for k in range(first, first + 4):
        out[k] = k
