"""Tile programs with values that live across barriers."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.lowered.programs import POINT, Program, floats, ints, program


@program
def product() -> Program:
    """A value kept per thread, indices that are computed again, a uniform loop around two barriers."""

    @amp.kernel
    def product(t_idx, a, b, c):
        rows = amp.tile_static((4, 6), amp.float32)
        cols = amp.tile_static((6, 6), amp.float32)
        row, col = t_idx.local[0], t_idx.local[1]
        total = 0.0
        for k in range(0, a.extent[1], 6):
            rows[row, col] = a[t_idx.global_[0], k + col]
            for extra in range(row, 6, 4):
                cols[extra, col] = b[k + extra, t_idx.global_[1]]
            t_idx.barrier.wait_with_tile_static_memory_fence()
            for i in range(6):
                total += rows[row, i] * cols[i, col]
            t_idx.barrier.wait_with_tile_static_memory_fence()
        c[t_idx] = total

    return Program(product, (8, 18), (4, 6), (floats(8, 12), floats(12, 18), floats(8, 18)))


@program
def scan() -> Program:
    """A uniform `while` whose variable changes in it; a value assigned under a condition, kept across a barrier."""

    @amp.kernel
    def scan(t_idx, values, sums):
        partial = amp.tile_static(24, amp.int32)
        here = t_idx.local[0]
        partial[here] = values[t_idx]
        t_idx.barrier.wait()
        distance = 1
        while distance < t_idx.tile_dim0:
            left = 0
            if here >= distance:
                left = partial[here - distance]
            t_idx.barrier.wait()
            partial[here] += left
            t_idx.barrier.wait()
            distance *= 2
        sums[t_idx] = partial[here]

    return Program(scan, (72,), (24,), (ints(72), ints(72)))


@program
def kept_array() -> Program:
    """A private array that lives across a barrier, also as the argument of a function."""

    @amp.func
    def reverse(row):
        for i in range(2):
            other = row[i]
            row[i] = row[3 - i]
            row[3 - i] = other

    @amp.kernel
    def kept_array(t_idx, values, out):
        first = amp.tile_static((3, 5), amp.int32)
        mine = amp.private(4, amp.int32)
        for i in range(4):
            mine[i] = values[t_idx] * (i + 1)
        first[t_idx.local] = mine[0]
        t_idx.barrier.wait()
        reverse(mine)
        mine[1] += first[2 - t_idx.local[0], 4 - t_idx.local[1]]
        t_idx.barrier.wait()
        out[t_idx] = mine[0] * 1000 + mine[1] * 100 + mine[2] * 10 + mine[3]

    return Program(kept_array, (6, 10), (3, 5), (ints(6, 10), ints(6, 10)))


@program
def kept_struct() -> Program:
    """A struct, a vector and a bool kept across a barrier."""

    @amp.kernel
    def kept_struct(t_idx, points, out):
        seen = amp.tile_static(10, amp.int32)
        point = points[t_idx]
        pair = amp.float2(point.x, 2.0 * point.x)
        is_odd = point.n % 2 == 1
        seen[t_idx.local[0]] = point.n
        t_idx.barrier.wait()
        point.x += 1.0
        pair.y += amp.float32(seen[9 - t_idx.local[0]])
        points[t_idx] = point
        t_idx.barrier.wait()
        out[t_idx] = point.x + pair.x + pair.y if is_odd else pair.y - amp.float32(point.n)

    points = np.zeros(30, POINT)
    points["x"], points["n"] = floats(30), ints(30)
    return Program(kept_struct, (30,), (10,), (points, floats(30)))


@program
def old_result() -> Program:
    """The result of an atomic, kept across a barrier; the counter is read after the barrier."""

    @amp.kernel
    def old_result(t_idx, keys, places, counts):
        bins = amp.tile_static(4, amp.int32)
        if t_idx.local[0] < 4:
            bins[t_idx.local[0]] = 0
        t_idx.barrier.wait()
        key = keys[t_idx] & 3
        place = amp.atomic_fetch_add(bins[key], 1)
        t_idx.barrier.wait()
        # The places of one key are a permutation: their sum does not depend on the order of the threads.
        amp.atomic_fetch_add(places[t_idx.tile[0], key], place)
        if t_idx.local[0] < 4:
            counts[t_idx.tile[0], t_idx.local[0]] = bins[t_idx.local[0]]

    zeros = np.zeros((3, 4), np.int32)
    return Program(old_result, (39,), (13,), (ints(39), zeros, zeros.copy()))


@program
def own_counter() -> Program:
    """The variable of a uniform loop with a barrier, changed by each thread for itself."""

    @amp.kernel
    def own_counter(t_idx, out):
        slots = amp.tile_static(6, amp.int32)
        total = 0
        for k in range(3):
            k += t_idx.local[0]
            slots[t_idx.local[0]] = k
            t_idx.barrier.wait()
            total += slots[5 - t_idx.local[0]] * k
            t_idx.barrier.wait()
        out[t_idx] = total + k

    return Program(own_counter, (12,), (6,), (ints(12),))


@program
def two_counters() -> Program:
    """One variable for a uniform loop with a barrier, and for a loop of each thread's own."""

    @amp.kernel
    def two_counters(t_idx, out):
        slots = amp.tile_static(6, amp.int32)
        total = 0
        for k in range(1, 4):
            slots[t_idx.local[0]] = k * 7
            t_idx.barrier.wait()
            total += slots[5 - t_idx.local[0]] * k
            t_idx.barrier.wait()
            total += k
        for k in range(t_idx.local[0], 9, 2):
            total -= k
        for k in range(3):  # noqa: B007
            t_idx.barrier.wait()
            total *= 2
            t_idx.barrier.wait()
        out[t_idx] = total + k

    return Program(two_counters, (12,), (6,), (ints(12),))


@program
def changed_meaning() -> Program:
    """A value whose operands change after its assignment must be kept, not computed again."""

    @amp.kernel
    def changed_meaning(t_idx, out):
        slots = amp.tile_static(8, amp.int32)
        step = 1
        here = t_idx.local[0] + step
        k = 5
        for _ in range(2):
            slots[t_idx.local[0]] = here
            t_idx.barrier.wait()
            step += 10
            here += slots[7 - t_idx.local[0]] + step
            t_idx.barrier.wait()
        last = here + k + step
        t_idx.barrier.wait()
        step = 1000
        t_idx.barrier.wait()
        out[t_idx] = last + step

    return Program(changed_meaning, (16,), (8,), (ints(16),))


@program
def written_memory() -> Program:
    """A value loaded from memory that changes later is kept; one from memory that is not written may be loaded
    again."""

    @amp.kernel
    def written_memory(t_idx, values, changing, out):
        old = changing[t_idx]
        value = values[t_idx]
        changing[t_idx] = value * 2
        t_idx.barrier.wait_with_global_memory_fence()
        other = changing[t_idx.tile_origin[0] + 6 - t_idx.local[0]]
        t_idx.barrier.wait()
        out[t_idx] = old + value * 100 + other * 3

    return Program(written_memory, (21,), (7,), (ints(21), ints(21), ints(21)))
