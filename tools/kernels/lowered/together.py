"""Tile programs whose threads go together: neighbours by one access, elements in common, rows that are or are not
multiples of four."""

from __future__ import annotations

import vkamp as amp

from tools.kernels.lowered.programs import Program, floats, ints, program

#: Whether a shader loads or stores four neighbours at once.
WIDE = {
    "wide_transpose": True,
    "wide_product": True,
    "wide_row": True,
    "wide_stencil": True,
    "wide_shifted": False,
    "wide_ragged": False,
    "wide_updated": False,
    "wide_launched": False,
    "wide_part": False,
}


@program
def wide_transpose() -> Program:
    """Four rows of four, turned in registers."""

    @amp.kernel
    def wide_transpose(t_idx, matrix, out):
        values = amp.tile_static((8, 8), amp.float32)
        row, col = t_idx.local[0], t_idx.local[1]
        values[row, col] = matrix[t_idx]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        out[t_idx.tile_origin[1] + row, t_idx.tile_origin[0] + col] = values[col, row]

    return Program(wide_transpose, (16, 24), (8, 8), (floats(16, 24), floats(24, 16)))


@program
def wide_product() -> Program:
    """Rows along a loop, columns along neighbouring threads; integers."""

    @amp.kernel
    def wide_product(t_idx, a, b, c):
        rows = amp.tile_static((8, 8), amp.int32)
        cols = amp.tile_static((8, 8), amp.int32)
        total = 0
        for first in range(0, a.extent[1], 8):
            rows[t_idx.local] = a[t_idx.global_[0], first + t_idx.local[1]]
            cols[t_idx.local] = b[first + t_idx.local[0], t_idx.global_[1]]
            t_idx.barrier.wait_with_tile_static_memory_fence()
            for k in range(8):
                total += rows[t_idx.local[0], k] * cols[k, t_idx.local[1]]
            t_idx.barrier.wait_with_tile_static_memory_fence()
        c[t_idx] = total

    return Program(wide_product, (16, 24), (8, 8), (ints(16, 40), ints(40, 24), ints(16, 24)))


@program
def wide_row() -> Program:
    """One dimension: tiles begin at multiples of four, whatever the extent."""

    @amp.kernel
    def wide_row(t_idx, values, out):
        kept = amp.tile_static(32, amp.uint32)
        kept[t_idx.local] = amp.uint32(values[t_idx])
        t_idx.barrier.wait()
        out[t_idx] = kept[t_idx.local] * amp.uint32(3) + kept[t_idx.local[0] // 4 * 4]

    return Program(wide_row, (64,), (32,), (ints(67), ints(66).view("u4")))


@program
def wide_stencil() -> Program:
    """Neighbours with a border in tile_static memory, values kept across a barrier."""

    @amp.kernel
    def wide_stencil(t_idx, heat, out):
        values = amp.tile_static((10, 18), amp.float32)
        row, col = t_idx.local[0] + 1, t_idx.local[1] + 1
        mine = heat[t_idx]
        values[row, col] = mine
        if row == 1:
            values[0, col] = -1.0
            values[9, col] = -2.0
        if col == 1:
            values[row, 0] = 3.0
            values[row, 17] = 4.0
        t_idx.barrier.wait_with_tile_static_memory_fence()
        around = values[row - 1, col] + values[row + 1, col] + values[row, col - 1] + values[row, col + 1]
        out[t_idx] = around - 4.0 * values[row, col] + mine

    return Program(wide_stencil, (24, 32), (8, 16), (floats(24, 32), floats(24, 32)))


@program
def wide_shifted() -> Program:
    """Neighbours that begin at odd places."""

    @amp.kernel
    def wide_shifted(t_idx, values, out):
        t_idx.barrier.wait()
        out[t_idx.global_[0] + 3] = values[t_idx.global_[0] + 1] - values[t_idx.global_[0] + 2]

    return Program(wide_shifted, (64,), (16,), (ints(70), ints(70)))


@program
def wide_ragged() -> Program:
    """Rows of 26: only every second one begins at a multiple of four."""

    @amp.kernel
    def wide_ragged(t_idx, matrix, out):
        t_idx.barrier.wait()
        out[t_idx] = matrix[t_idx] + matrix[t_idx.global_[0], t_idx.local[1]]

    return Program(wide_ragged, (8, 16), (8, 16), (ints(8, 26), ints(8, 18)))


@program
def wide_updated() -> Program:
    """A container that is read and written, and two on one memory."""

    @amp.kernel
    def wide_updated(t_idx, values, other):
        t_idx.barrier.wait()
        values[t_idx] += other[t_idx.global_[0] + 64]

    data = ints(128)
    return Program(wide_updated, (64,), (16,), (data, data))


@program
def wide_launched() -> Program:
    """A place that only the launch knows, and every second element."""

    @amp.kernel
    def wide_launched(t_idx, values, out, first):
        t_idx.barrier.wait()
        out[t_idx.global_[0] + first] = values[t_idx.global_[0] * 2]

    return Program(wide_launched, (32,), (16,), (ints(64), ints(40)), args=(3,))


@program
def wide_part() -> Program:
    """Some of four neighbours are left to a condition of their own."""

    @amp.kernel
    def wide_part(t_idx, values, out):
        t_idx.barrier.wait()
        if t_idx.local[0] % 4 != 3:
            out[t_idx] = values[t_idx] + 1

    return Program(wide_part, (64,), (16,), (ints(64), ints(64)))


@program
def changed_between() -> Program:
    """An element that several statements load, and a branch and a loop that change it meanwhile."""

    @amp.kernel
    def changed_between(t_idx, weights, out):
        slots = amp.tile_static(16, amp.int32)
        i = t_idx.local[0]
        slots[i] = i * 3
        t_idx.barrier.wait()
        total = weights[0] * slots[i]
        total += weights[1] + slots[i]
        if total > 40:
            slots[i] = total + weights[0]
            total += slots[i] * weights[1]
        for k in range(3):
            slots[i] += k
            total -= slots[i] * weights[0]
        t_idx.barrier.wait()
        out[t_idx] = total + slots[15 - i]

    return Program(changed_between, (64,), (16,), (ints(4), ints(64)))
