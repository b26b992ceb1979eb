"""Barriers in branches that only some threads of the tile take: if, elif, else, match, expressions, calls."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import divergence, faulty, launch, mended, numbers, random_numbers, zeros


def swapped(values, tile):
    return values.reshape(-1, tile)[:, ::-1].ravel()


# -- if, elif, else ------------------------------------------------------------------------------------------------


@faulty(
    "divergent control flow",
    "Only the threads that store wait at the barrier.",
    divergence("VKA601"),
    lambda: launch(amp.extent(12).tile(4), numbers(12), zeros(12), expect=np.repeat(numbers(12)[::4] * 2, 4)),
)
@amp.kernel
def wait_in_if_wrong(t, values, out):
    memory = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:  # and here
        memory[0] = values[t] * 2
        t.barrier.wait()  # fault
    out[t] = memory[0]


@mended
@amp.kernel
def wait_in_if(t, values, out):
    memory = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        memory[0] = values[t] * 2
    t.barrier.wait()
    out[t] = memory[0]


@faulty(
    "divergent control flow",
    "The barrier stands in a branch that some threads take instead of the first.",
    divergence("VKA601"),
    lambda: launch(
        amp.extent(15).tile(5),
        numbers(15),
        zeros(15),
        expect=swapped(np.where(numbers(15) % 5 == 0, 100, np.where(numbers(15) % 5 < 3, numbers(15), 0)), 5),
    ),
)
@amp.kernel
def wait_in_elif_wrong(t, values, out):
    memory = amp.tile_static(5, amp.int32)
    if t.local[0] == 0:
        memory[t.local] = 100
    elif t.local[0] < 3:  # and here
        memory[t.local] = values[t]
        t.barrier.wait_with_tile_static_memory_fence()  # fault
    else:
        memory[t.local] = 0
    out[t] = memory[4 - t.local[0]]


@mended
@amp.kernel
def wait_in_elif(t, values, out):
    memory = amp.tile_static(5, amp.int32)
    if t.local[0] == 0:
        memory[t.local] = 100
    elif t.local[0] < 3:
        memory[t.local] = values[t]
    else:
        memory[t.local] = 0
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = memory[4 - t.local[0]]


@faulty(
    "divergent control flow",
    "The threads inside the data do not wait for those that fill the padding.",
    divergence("VKA601"),
    lambda: launch(
        amp.extent(10).tile(4).pad(), numbers(10), 10, zeros(12), expect=swapped(np.r_[numbers(10), 0, 0], 4)
    ),
)
@amp.kernel
def wait_in_else_wrong(t, values, n, out):
    memory = amp.tile_static(4, amp.int32)
    if t.global_[0] < n:  # and here
        memory[t.local] = values[t]
    else:
        memory[t.local] = 0
        t.barrier.wait()  # fault
    out[t] = memory[3 - t.local[0]]


@mended
@amp.kernel
def wait_in_else(t, values, n, out):
    memory = amp.tile_static(4, amp.int32)
    if t.global_[0] < n:
        memory[t.local] = values[t]
    else:
        memory[t.local] = 0
    t.barrier.wait()
    out[t] = memory[3 - t.local[0]]


@faulty(
    "divergent control flow",
    "Both branches have a barrier, and these are two: threads at the one do not meet those at the other.",
    divergence("VKA601"),
    lambda: launch(
        amp.extent(8).tile(4), numbers(8), zeros(8), expect=swapped(numbers(8) * np.where(numbers(8) % 2, -1, 1), 4)
    ),
)
@amp.kernel
def wait_in_both_wrong(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    if t.local[0] % 2 == 0:  # and here
        memory[t.local] = values[t]
        t.barrier.wait()  # fault
    else:
        memory[t.local] = -values[t]
        t.barrier.wait()
    out[t] = memory[3 - t.local[0]]


@mended
@amp.kernel
def wait_in_both(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    if t.local[0] % 2 == 0:
        memory[t.local] = values[t]
    else:
        memory[t.local] = -values[t]
    t.barrier.wait()
    out[t] = memory[3 - t.local[0]]


@faulty(
    "divergent control flow",
    "A condition of the launch, the same for all, holds the barrier, and one of each thread holds that.",
    divergence("VKA601"),
    lambda: launch(amp.extent(6).tile(3), numbers(6), 1, zeros(6), expect=swapped(numbers(6), 3)),
)
@amp.kernel
def wait_in_nested_if_wrong(t, values, exchange, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = values[t]
    if values[t] >= 0:  # and here
        if exchange == 1:
            t.barrier.wait()  # fault
            out[t] = memory[2 - t.local[0]]


@mended
@amp.kernel
def wait_in_nested_if(t, values, exchange, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = values[t]
    if exchange == 1:
        t.barrier.wait()
        if values[t] >= 0:
            out[t] = memory[2 - t.local[0]]


# -- match ---------------------------------------------------------------------------------------------------------


@faulty(
    "divergent control flow",
    "One case of a match on the thread's element waits.",
    divergence("VKA601"),
    lambda: launch(
        amp.extent(9).tile(3),
        random_numbers(9, below=3),
        zeros(9),
        expect=swapped(np.array([7, 70, 0])[random_numbers(9, below=3)], 3),
    ),
)
@amp.kernel
def wait_in_case_wrong(t, kinds, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = 0
    match kinds[t]:
        case 0:
            memory[t.local] = 7
        case 1:  # and here
            memory[t.local] = 70
            t.barrier.wait()  # fault
    out[t] = memory[2 - t.local[0]]


@mended
@amp.kernel
def wait_in_case(t, kinds, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = 0
    match kinds[t]:
        case 0:
            memory[t.local] = 7
        case 1:
            memory[t.local] = 70
    t.barrier.wait()
    out[t] = memory[2 - t.local[0]]


# -- functions and short circuits ----------------------------------------------------------------------------------


@amp.func
def total_of(t, memory):
    t.barrier.wait()  # fault
    total = 0
    for i in range(4):
        total += memory[i]
    return total


@faulty(
    "divergent control flow",
    "Only the first thread calls the function that sums the tile up, and that function waits.",
    divergence("VKA605"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(2), expect=[6, 22]),
)
@amp.kernel
def call_that_waits_wrong(t, values, totals):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    if t.local[0] == 0:  # and here
        totals[t.tile] = total_of(t, memory)


@mended
@amp.kernel
def call_that_waits(t, values, totals):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    total = total_of(t, memory)
    if t.local[0] == 0:
        totals[t.tile] = total


@amp.func
def met(t):
    t.barrier.wait()  # fault
    return True


@faulty(
    "divergent control flow",
    "The right side of an `and`, which waits, is evaluated only where the left side holds.",
    divergence("VKA605"),
    lambda: launch(amp.extent(9).tile(3), numbers(9), zeros(9), expect=[0, 0, 1, 0, 3, 4, 0, 6, 7]),
)
@amp.kernel
def wait_in_and_wrong(t, values, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = values[t]
    if t.local[0] > 0 and met(t):  # and here
        out[t] = memory[t.local[0] - 1]


@mended
@amp.kernel
def wait_in_and(t, values, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = values[t]
    if met(t) and t.local[0] > 0:
        out[t] = memory[t.local[0] - 1]


@amp.func
def value_after_waiting(t, value):
    t.barrier.wait()  # fault
    return value


@faulty(
    "divergent control flow",
    "One side of a conditional expression waits.",
    divergence("VKA605"),
    lambda: launch(amp.extent(6).tile(3), numbers(6), zeros(6), expect=np.where(numbers(6) % 2 == 0, numbers(6), -1)),
)
@amp.kernel
def wait_in_expression_wrong(t, values, out):
    out[t] = value_after_waiting(t, values[t]) if values[t] % 2 == 0 else -1  # and here


@mended
@amp.kernel
def wait_in_expression(t, values, out):
    value = value_after_waiting(t, values[t])
    out[t] = value if values[t] % 2 == 0 else -1


@amp.func
def wait_for_work(t, work):
    if work == 0:  # and here
        return
    t.barrier.wait()  # fault


@faulty(
    "divergent control flow",
    "The function returns before its barrier where its argument, the thread's own, is zero.",
    divergence("VKA603"),
    lambda: launch(amp.extent(8).tile(4), numbers(8) % 3, zeros(8), expect=swapped(numbers(8) % 3, 4)),
)
@amp.kernel
def return_in_function_wrong(t, work, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = work[t]
    wait_for_work(t, work[t])
    out[t] = memory[3 - t.local[0]]


@mended
@amp.kernel
def return_in_function(t, work, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = work[t]
    wait_for_work(t, work.extent[0])
    out[t] = memory[3 - t.local[0]]


@faulty(
    "divergent control flow",
    "A function within the kernel waits, and is called under a condition of each thread.",
    divergence("VKA605"),
    lambda: launch(amp.extent(6).tile(3), numbers(6), zeros(6), expect=swapped(numbers(6) + 5, 3)),
)
@amp.kernel
def nested_function_wrong(t, values, out):
    memory = amp.tile_static(3, amp.int32)

    def publish(value):
        memory[t.local] = value
        t.barrier.wait()  # fault

    if t.local[0] < 2:  # and here
        publish(values[t] + 5)
    out[t] = memory[2 - t.local[0]]


@mended
@amp.kernel
def nested_function(t, values, out):
    memory = amp.tile_static(3, amp.int32)

    def publish(value):
        memory[t.local] = value
        t.barrier.wait()

    publish(values[t] + 5)
    out[t] = memory[2 - t.local[0]]
