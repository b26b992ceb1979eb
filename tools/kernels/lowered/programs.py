"""Tile programs for the lowering to loops, each with its expected lowering, its inputs and its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import vkamp as amp
from numpy.typing import NDArray

Array = NDArray[Any]
POINT = np.dtype([("x", "f4"), ("n", "i4")])


@dataclass(frozen=True)
class Program:
    """A launch: the last of ``arrays`` are results."""

    kernel: Any
    domain: tuple[int, ...]
    tile: tuple[int, ...]
    arrays: tuple[Array, ...]
    lowering: str = "loops"
    args: tuple[Any, ...] = ()


PROGRAMS: dict[str, Callable[[], Program]] = {}


def program(make: Callable[[], Program]) -> Callable[[], Program]:
    PROGRAMS[make.__name__] = make
    return make


def ints(*shape: int) -> Array:
    return np.random.default_rng(3).integers(-50, 50, shape).astype(np.int32)


def floats(*shape: int) -> Array:
    return np.random.default_rng(4).integers(-8, 8, shape).astype(np.float32)


# -- control flow --------------------------------------------------------------------------------------------------


@program
def uniform_in_turn() -> Program:
    """A uniform variable that changes between statements of the threads, which use it before and after."""

    @amp.kernel
    def uniform_in_turn(t_idx, values, out, n: amp.int32):
        mixed = amp.tile_static(12, amp.int32)
        factor = n + 1
        mine = values[t_idx] * factor
        factor = n * 5 + 2
        mine += values[t_idx] % 7 * factor
        mixed[t_idx.local] = mine
        factor = factor - 3 * n
        t_idx.barrier.wait()
        out[t_idx] = mixed[11 - t_idx.local[0]] * factor

    return Program(uniform_in_turn, (36,), (12,), (ints(36), ints(36)), args=(3,))


@program
def uniform_exits() -> Program:
    """Uniform early return, break and continue around barriers."""

    @amp.kernel
    def uniform_exits(t_idx, limits, out):
        slots = amp.tile_static((2, 3), amp.int32)
        limit = limits[t_idx.tile[0]]
        if t_idx.tile[1] == 1:
            out[t_idx] = -1
            return
        total = 0
        round_ = 0
        while True:
            round_ += 1
            if round_ > limit:
                break
            slots[t_idx.local] = t_idx.local[0] * 3 + t_idx.local[1] + round_
            t_idx.barrier.wait()
            total += slots[1 - t_idx.local[0], 2 - t_idx.local[1]]
            if round_ == 2:
                t_idx.barrier.wait()
                continue
            t_idx.barrier.wait()
            total *= 2
        out[t_idx] = total

    return Program(uniform_exits, (8, 9), (2, 3), (np.array([0, 1, 3, 5], np.int32), ints(8, 9)))


@program
def divergent_exits() -> Program:
    """Threads that return behind the last barrier: at once, and from inside two loops."""

    @amp.kernel
    def divergent_exits(t_idx, values, out):
        slots = amp.tile_static(12, amp.int32)
        here = t_idx.local[0]
        slots[here] = values[t_idx]
        t_idx.barrier.wait()
        if here % 5 == 4:
            return
        found = 0
        for i in range(12):
            if slots[i] < 0:
                continue
            j = i
            while j < 12:
                if slots[j] % 7 == here % 7:
                    out[t_idx] = j * 100 + i
                    return
                j += 1
            if i > 8:
                break
            found += 1
        out[t_idx] = -found

    return Program(divergent_exits, (36,), (12,), (ints(36), ints(36)))


@program
def nothing_follows() -> Program:
    """Threads that return on both sides of a condition, and a barrier that none of them reaches."""

    @amp.kernel
    def nothing_follows(t_idx, values, out):
        slots = amp.tile_static(6, amp.int32)
        slots[t_idx.local[0]] = values[t_idx]
        t_idx.barrier.wait()
        if slots[5 - t_idx.local[0]] > 0:
            out[t_idx] = slots[0]
            return
        while True:
            if slots[t_idx.local[0]] < 100:
                out[t_idx] = -slots[5]
                return
        t_idx.barrier.wait()
        out[t_idx] = 1000

    return Program(nothing_follows, (18,), (6,), (ints(18), ints(18)))


@program
def uniform_condition() -> Program:
    """A loop whose condition is in shared memory, and a branch with barriers on both sides."""

    @amp.kernel
    def uniform_condition(t_idx, values, out):
        left = amp.tile_static(1, amp.int32)
        slots = amp.tile_static(9, amp.int32)
        here = t_idx.local[0]
        mine = values[t_idx]
        turns = 0
        while True:
            if here == 0:
                left[0] = 0
            t_idx.barrier.wait()
            if mine > 0:
                mine -= 7
                amp.atomic_fetch_add(left[0], 1)
            t_idx.barrier.wait()
            count = left[0]
            t_idx.barrier.wait()
            if count == 0:
                break
            turns += count
        if t_idx.tile[0] % 2 == 0:
            slots[here] = turns
            t_idx.barrier.wait()
            mine += slots[8 - here]
        else:
            slots[8 - here] = here
            t_idx.barrier.wait()
            mine += slots[here] * 2
        out[t_idx] = mine

    return Program(uniform_condition, (45,), (9,), (ints(45), ints(45)))


@program
def barrier_in_function() -> Program:
    """A function with barriers, called twice, one of them in an expression; another asks which thread it runs for."""

    @amp.func
    def place(t_idx, scale):
        return t_idx.local[0] * scale + t_idx.global_[1]

    @amp.func
    def total_of(t_idx, slots, value):
        slots[t_idx.local] = value
        t_idx.barrier.wait()
        total = 0
        for i in range(4):
            total += slots[i, t_idx.local[1]]
        t_idx.barrier.wait()
        if total < 0:
            return -total, value
        return total, value + 1

    @amp.kernel
    def barrier_in_function(t_idx, values, out):
        slots = amp.tile_static((4, 3), amp.int32)
        first, one = total_of(t_idx, slots, values[t_idx])
        second, two = total_of(t_idx, slots, first * 2 + place(t_idx, 10))
        out[t_idx] = first + second * 3 + one + two

    return Program(barrier_in_function, (8, 6), (4, 3), (ints(8, 6), ints(8, 6)))


@program
def three_dimensions() -> Program:
    """A tile of rank 3, each dimension with loops or lanes of its own."""

    @amp.kernel
    def three_dimensions(t_idx, values, out):
        slots = amp.tile_static((3, 2, 5), amp.int32)
        i, j, k = t_idx.local[0], t_idx.local[1], t_idx.local[2]
        slots[i, j, k] = values[t_idx]
        t_idx.barrier.wait()
        out[t_idx] = slots[2 - i, 1 - j, 4 - k] + t_idx.global_[0] * 100 + t_idx.global_[1] * 10 + t_idx.global_[2]

    return Program(three_dimensions, (6, 4, 10), (3, 2, 5), (ints(6, 4, 10), ints(6, 4, 10)))


@program
def one_thread_each() -> Program:
    """A tile no larger than a subgroup: each lane is one thread, and nothing loops."""

    @amp.kernel
    def one_thread_each(t_idx, values, out):
        slots = amp.tile_static((2, 2), amp.int32)
        total = values[t_idx]
        for _ in range(3):
            slots[t_idx.local] = total
            t_idx.barrier.wait()
            total += slots[1 - t_idx.local[0], 1 - t_idx.local[1]]
            t_idx.barrier.wait()
        if total < 0:
            return
        out[t_idx] = total

    return Program(one_thread_each, (6, 4), (2, 2), (ints(6, 4), ints(6, 4)))


@program
def uniform_blocks() -> Program:
    """Uniform values computed under conditions and in loops without a barrier, between statements of threads."""

    @amp.kernel
    def uniform_blocks(t_idx, out, n: amp.int32):
        slots = amp.tile_static(10, amp.int32)
        rounds = 0
        for i in range(n):
            rounds += i
        if rounds > 5:
            rounds = 5
        slots[t_idx.local[0]] = rounds
        rounds -= 1
        total = slots[t_idx.local[0]]
        for i in range(rounds):
            t_idx.barrier.wait()
            total += slots[9 - t_idx.local[0]] + i
            t_idx.barrier.wait()
            slots[t_idx.local[0]] = total % 1000
        out[t_idx] = total + rounds

    return Program(uniform_blocks, (20,), (10,), (ints(20),), args=(6,))


@program
def claimed() -> Program:
    """A loop bound that only the author knows to be uniform."""

    @amp.kernel
    def claimed(t_idx, counts, out):
        slots = amp.tile_static(6, amp.int32)
        count = amp.uniform(counts[t_idx.global_[0] // 6])
        total = 0
        for k in range(count):
            slots[t_idx.local[0]] = k * t_idx.local[0]
            t_idx.barrier.wait()
            total += slots[5 - t_idx.local[0]]
            t_idx.barrier.wait()
        out[t_idx] = total

    return Program(claimed, (18,), (6,), (np.array([2, 0, 3], np.int32), ints(18)))


@program
def claimed_of_indices() -> Program:
    """A loop bound of the threads' own indices, in a phase in which threads go together."""

    @amp.kernel
    def claimed_of_indices(t_idx, weights, out):
        slots = amp.tile_static(16, amp.int32)
        count = amp.uniform((t_idx.global_[0] - t_idx.local[0]) * 2 - 29)
        total = 0
        for i in range(weights.extent[0]):
            total += weights[i] * (t_idx.local[0] + i)
        slots[t_idx.local[0]] = total
        for _ in range(count):
            t_idx.barrier.wait()
            total -= slots[15 - t_idx.local[0]]
            t_idx.barrier.wait()
            slots[t_idx.local[0]] = total
        out[t_idx] = total

    return Program(claimed_of_indices, (32,), (16,), (ints(8), ints(32)))


@program
def wrapping() -> Program:
    """Sums of a known index that are one too large for int32, and as low as it gets."""

    @amp.kernel
    def wrapping(t_idx, out):
        slots = amp.tile_static((4, 16), amp.int32)
        row, col = t_idx.local
        slots[row, col] = 0
        t_idx.barrier.wait()
        if row == 1:
            slots[row, col] = row + 2147483647
            slots[row - 1, col] = row - 2147483647 - 2
        t_idx.barrier.wait()
        out[t_idx] = slots[row, 15 - col]

    return Program(wrapping, (4, 32), (4, 16), (ints(4, 32),))


@program
def guarded() -> Program:
    """Statements that only some threads run, as their index says: they become phases with loops over those alone."""

    @amp.kernel
    def guarded(t_idx, values, out, n: amp.int32):
        edges = amp.tile_static((8, 9), amp.int32)
        row, col = t_idx.local[0] + 1, t_idx.local[1] + 1
        edges[row, col] = values[t_idx]
        if row == 1:
            edges[0, col] = values[t_idx] * 2
        if t_idx.local[0] == 4 and col <= 3:
            edges[6, col] = values[t_idx] * 3
        if col == 7:
            edges[row, 8] = values[t_idx] * 5
        if t_idx.local[1] < n:
            edges[row, col] += 1
        if 2 > row:
            edges[7, col] = col
        if t_idx.local == (3, 2):
            edges[0, 0] = 1000
        if col == 20:
            edges[0, 0] = 1
        t_idx.barrier.wait()
        total = edges[row, col] + edges[0, col] + edges[row, 8]
        if row == 5:
            total += edges[6, min(col, 3)]
        if row == 1:
            total += edges[0, 0] + edges[7, col]
        if t_idx.local[1] < n + 1:
            total += 7
        out[t_idx] = total

    return Program(guarded, (10, 14), (5, 7), (ints(10, 14), ints(10, 14)), args=(4,))


@program
def not_an_index() -> Program:
    """Conditions on variables that were an index, and are not any more."""

    @amp.kernel
    def not_an_index(t_idx, out):
        slots = amp.tile_static(8, amp.int32)
        here = t_idx.local[0]
        slots[here] = here
        t_idx.barrier.wait()
        there = here
        here = 7 - here
        if there == 1:
            slots[1] = 10
        t_idx.barrier.wait()
        here += slots[t_idx.local[0]]
        if here < 9:
            slots[t_idx.local[0]] += 100
        t_idx.barrier.wait()
        here = here - 2
        if here < 6:
            slots[t_idx.local[0]] += 1000
        t_idx.barrier.wait()
        out[t_idx] = slots[7 - t_idx.local[0]] * 10 + here

    return Program(not_an_index, (24,), (8,), (ints(24),))


@program
def unused_claim() -> Program:
    """A phase whose only value is unused."""

    @amp.kernel
    def unused_claim(t_idx, out):
        t_idx.barrier.wait()
        unused = amp.uniform(t_idx.local[0] * 0 + t_idx.tile[0])  # noqa: F841
        t_idx.barrier.wait()
        out[t_idx] = t_idx.local[0]
        t_idx.barrier.wait()

    return Program(unused_claim, (12,), (6,), (ints(12),))


@program
def guarded_by_a_new_value() -> Program:
    """A condition on a variable that held the thread's index, and does so no more."""

    @amp.kernel
    def guarded_by_a_new_value(t_idx, numbers, out):
        marks = amp.tile_static(16, amp.int32)
        marks[t_idx.local[0]] = 0
        t_idx.barrier.wait()
        i = t_idx.local[0]
        number = numbers[t_idx]
        i = int(number)
        if i < 3:
            marks[t_idx.local[0]] = 1
        t_idx.barrier.wait()
        out[t_idx] = marks[15 - t_idx.local[0]]

    numbers = (np.arange(32) * 7 % 5).astype(np.float32)
    return Program(guarded_by_a_new_value, (32,), (16,), (numbers, np.full(32, -1, np.int32)))


@program
def guarded_loads() -> Program:
    """A product whose tiles are loaded under conditions: SwiftShader takes minutes for too many of them together."""

    @amp.kernel
    def guarded_loads(t_idx, left, right, result):
        left_tile = amp.tile_static((16, 16), amp.float32)
        right_tile = amp.tile_static((16, 16), amp.float32)
        row, column = t_idx.local
        total = 0.0
        for start in range(0, left.extent[1], 16):
            from_left = amp.index(t_idx.global_[0], start + column)
            from_right = amp.index(start + row, t_idx.global_[1])
            left_tile[row, column] = left[from_left] if left.extent.contains(from_left) else 0.0
            right_tile[row, column] = right[from_right] if right.extent.contains(from_right) else 0.0
            t_idx.barrier.wait()
            for k in range(16):
                total += left_tile[row, k] * right_tile[k, column]
            t_idx.barrier.wait()
        if result.extent.contains(t_idx.global_):
            result[t_idx] = total

    whole = (floats(43, 37), floats(37, 21), floats(43, 21))
    return Program(guarded_loads, (48, 32), (16, 16), whole)


@program
def computed_before_a_change() -> Program:
    """Indices that come from a value that is the same for all threads, and is another one later."""

    @amp.kernel
    def computed_before_a_change(t_idx, values, out, n):
        slots = amp.tile_static(16, amp.int32)
        step = n + 1
        place = t_idx.local[0] * step
        slots[t_idx.local] = values[t_idx.tile_origin[0] + place % 16]
        t_idx.barrier.wait()
        step = n - 2
        out[t_idx] = slots[(place + step) % 16] * 100 + place
        t_idx.barrier.wait()
        out[t_idx] += place + step

    return Program(computed_before_a_change, (96,), (16,), (ints(96), ints(96)), args=(6,))


@program
def computed_from_one_value() -> Program:
    """Indices that come from a value that is the same for all threads, and stays."""

    @amp.kernel
    def computed_from_one_value(t_idx, values, out, n):
        slots = amp.tile_static(16, amp.int32)
        step = n // 3 + 1
        place = t_idx.local[0] * step
        slots[t_idx.local] = values[t_idx.tile_origin[0] + place % 16]
        t_idx.barrier.wait()
        out[t_idx] = slots[(place + step) % 16] * 100 + place

    return Program(computed_from_one_value, (96,), (16,), (ints(96), ints(96)), args=(7,))


# -- what keeps its threads ----------------------------------------------------------------------------------------


@program
def too_much() -> Program:
    """More memory kept across a barrier than loops may have."""

    @amp.kernel
    def too_much(t_idx, values, out):
        slots = amp.tile_static(64, amp.int32)
        mine = amp.private(1024, amp.int32)
        for i in range(1024):
            mine[i] = values[t_idx] + i
        slots[t_idx.local[0]] = mine[3]
        t_idx.barrier.wait()
        out[t_idx] = mine[slots[63 - t_idx.local[0]] & 1023]

    reason = "its threads keep {bytes} bytes for each lane from phase to phase; the limit is 16384"
    return Program(too_much, (64,), (64,), (ints(64), ints(64)), f"threads: {reason}")


@program
def returns_from_a_loop() -> Program:
    """A function with a barrier that a loop in it returns from."""

    @amp.func
    def waiting(t_idx, n):
        for k in range(n):
            t_idx.barrier.wait()
            if k == 1:
                return 7
        return 5

    @amp.kernel
    def returns_from_a_loop(t_idx, out):
        out[t_idx] = waiting(t_idx, 3)

    reason = "waiting waits for a barrier and returns from inside a loop"
    return Program(returns_from_a_loop, (8,), (4,), (ints(8),), f"threads: {reason}")
