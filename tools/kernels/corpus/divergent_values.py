"""Barriers under conditions whose value differs between threads: through variables, loops, functions."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    divergence,
    faulty,
    launch,
    mended,
    numbers,
    random_numbers,
    zeros,
)


@faulty(
    "divergent value",
    "The condition is a variable, computed from the thread's index two lines earlier.",
    divergence("VKA601"),
    lambda: launch(amp.extent(10).tile(5), numbers(10), zeros(10), expect=np.repeat([0 + 2 + 4, 5 + 7 + 9], 5)),
)
@amp.kernel
def through_a_variable_wrong(t, values, out):
    total = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        total[0] = 0
    half = t.local[0] // 2
    takes_part = half * 2 == t.local[0]
    if takes_part:  # and here
        amp.atomic_fetch_add(total[0], values[t])
        t.barrier.wait()  # fault
    out[t] = total[0]


@mended
@amp.kernel
def through_a_variable(t, values, out):
    total = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        total[0] = 0
    half = t.local[0] // 2
    takes_part = half * 2 == t.local[0]
    t.barrier.wait()
    if takes_part:
        amp.atomic_fetch_add(total[0], values[t])
    t.barrier.wait()
    out[t] = total[0]


@faulty(
    "divergent value",
    "The number of rounds is the same at first, and each thread lowers its own later in the loop.",
    divergence("VKA602"),
    lambda: launch(amp.extent(6).tile(3), numbers(6), 4, zeros(6), expect=[4, 4, 4, 4, 4, 4]),
)
@amp.kernel
def loop_carried_wrong(t, values, rounds, out):
    left = rounds
    while left > 0:  # and here
        out[t] += 1
        t.barrier.wait()  # fault
        left -= 1
        if values[t] > 100:
            left = 0


@mended
@amp.kernel
def loop_carried(t, values, rounds, out):
    left = rounds
    active = True
    while left > 0:
        if active:
            out[t] += 1
        t.barrier.wait()
        left -= 1
        if values[t] > 100:
            active = False


@faulty(
    "divergent value",
    "The flag is the same for all in the first round, and from then on it is the one of the last element seen.",
    divergence("VKA601"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(8), expect=[3] * 8),
)
@amp.kernel
def flag_of_last_round_wrong(t, values, out):
    wait_again = True
    for k in range(3):
        if wait_again:  # and here
            t.barrier.wait()  # fault
        out[t] += 1
        wait_again = values[t] > k


@mended
@amp.kernel
def flag_of_last_round(t, values, out):
    for k in range(3):
        t.barrier.wait()
        if values[t] > k - 8:
            out[t] += 1


@amp.func
def is_border(row, col, height, width):
    return row == 0 or col == 0 or row == height - 1 or col == width - 1


@faulty(
    "divergent value",
    "A function decides, and its arguments are the thread's place in the matrix.",
    divergence("VKA601"),
    lambda: launch(
        amp.extent(4, 6).tile(2, 3),
        numbers(4, 6),
        zeros(4, 6),
        expect=np.pad(numbers(4, 6)[1:-1, 1:-1], 1),
    ),
)
@amp.kernel
def result_of_a_function_wrong(t, matrix, inner):
    memory = amp.tile_static((2, 3), amp.int32)
    memory[t.local] = matrix[t]
    if not is_border(t.global_[0], t.global_[1], matrix.extent[0], matrix.extent[1]):  # and here
        t.barrier.wait()  # fault
        inner[t] = memory[t.local]


@mended
@amp.kernel
def result_of_a_function(t, matrix, inner):
    memory = amp.tile_static((2, 3), amp.int32)
    memory[t.local] = matrix[t]
    t.barrier.wait()
    if not is_border(t.global_[0], t.global_[1], matrix.extent[0], matrix.extent[1]):
        inner[t] = memory[t.local]


@faulty(
    "divergent value",
    "A nested function captures the thread's element, so that its result differs from thread to thread.",
    divergence("VKA601"),
    lambda: launch(amp.extent(9).tile(3), numbers(9), 4, zeros(9), expect=np.where(numbers(9) > 4, numbers(9), 0)),
)
@amp.kernel
def captured_value_wrong(t, values, limit, out):
    mine = values[t]

    def above():
        return mine > limit

    if above():  # and here
        t.barrier.wait()  # fault
        out[t] = mine


@mended
@amp.kernel
def captured_value(t, values, limit, out):
    mine = values[t]

    def above():
        return mine > limit

    t.barrier.wait()
    if above():
        out[t] = mine


@faulty(
    "divergent value",
    "The right side of `or` is each thread's own, and only where the left one is false does it decide.",
    divergence("VKA601"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), 0, zeros(8), expect=[3, 2, 1, 0, 0, 0, 0, 0]),
)
@amp.kernel
def short_circuit_wrong(t, values, always, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    if always == 1 or values[t] % 2 == 0:  # and here
        t.barrier.wait()  # fault
        out[t] = memory[3 - t.local[0]]


@mended
@amp.kernel
def short_circuit(t, values, always, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    if always == 1 or t.tile[0] % 2 == 0:
        t.barrier.wait()
        out[t] = memory[3 - t.local[0]]


@faulty(
    "divergent value",
    "A variable is the same for all until only some threads assign it.",
    divergence("VKA602"),
    lambda: launch(amp.extent(10).tile(5), random_numbers(10), zeros(10), expect=[2] * 10),
)
@amp.kernel
def assigned_by_some_wrong(t, values, out):
    rounds = 2
    if values[t] > 90:
        rounds = 5
    for _round in range(rounds):  # and here
        out[t] += 1
        t.barrier.wait()  # fault


@mended
@amp.kernel
def assigned_by_some(t, values, out):
    rounds = 2
    if values.extent[0] > 90:
        rounds = 5
    for _round in range(rounds):
        out[t] += 1
        t.barrier.wait()


@faulty(
    "divergent value",
    "The loop's counter is the same for all in each round, but not after some threads have left the loop.",
    divergence("VKA601"),
    lambda: launch(
        amp.extent(8).tile(4),
        random_numbers(8, below=4),
        zeros(8),
        expect=random_numbers(8, below=4),
    ),
)
@amp.kernel
def counter_after_break_wrong(t, values, out):
    steps = 0
    for k in range(4):
        steps = k
        if k == values[t]:
            break
    if steps > 1:  # and here
        t.barrier.wait()  # fault
    out[t] = steps


@mended
@amp.kernel
def counter_after_break(t, values, out):
    steps = 0
    last = 0
    for k in range(4):
        last = k
        if k <= values[t]:
            steps = k
    if last > 1:
        t.barrier.wait()
    out[t] = steps


@faulty(
    "divergent value",
    "The row of the tile is the same for some of its threads only.",
    divergence("VKA601"),
    lambda: launch(
        amp.extent(6, 4).tile(3, 2), numbers(6, 4), zeros(6, 4), expect=np.repeat(numbers(6, 4)[::3], 3, axis=0)
    ),
)
@amp.kernel
def one_dimension_wrong(t, values, out):
    top = amp.tile_static(2, amp.int32)
    if t.local[0] == 0:  # and here
        top[t.local[1]] = values[t]
        t.barrier.wait()  # fault
    out[t] = top[t.local[1]]


@mended
@amp.kernel
def one_dimension(t, values, out):
    top = amp.tile_static(2, amp.int32)
    if t.local[0] == 0:
        top[t.local[1]] = values[t]
    t.barrier.wait()
    out[t] = top[t.local[1]]
