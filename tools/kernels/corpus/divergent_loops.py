"""Barriers in loops and after jumps that differ between the threads of the tile."""

from __future__ import annotations

import vkamp as amp

from tools.kernels.corpus.registry import divergence, faulty, launch, mended, numbers, random_numbers, zeros

# -- loops ---------------------------------------------------------------------------------------------------------


@faulty(
    "divergent control flow",
    "Each thread repeats the loop as often as its own index says, with a barrier in each round.",
    divergence("VKA602"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(8), expect=numbers(2, 4).cumsum(1).ravel()),
)
@amp.kernel
def wait_in_for_wrong(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait()
    total = 0
    for i in range(t.local[0] + 1):  # and here
        total += memory[i]
        t.barrier.wait()  # fault
    out[t] = total


@mended
@amp.kernel
def wait_in_for(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait()
    total = 0
    for i in range(4):
        if i <= t.local[0]:
            total += memory[i]
        t.barrier.wait()
    out[t] = total


@faulty(
    "divergent control flow",
    "A loop goes on while the thread's own value is large, with a barrier in each round.",
    divergence("VKA602"),
    lambda: launch(amp.extent(12).tile(4), random_numbers(12, below=9), zeros(12), expect=random_numbers(12, below=9)),
)
@amp.kernel
def wait_in_while_wrong(t, values, rounds):
    left = values[t]
    while left > 0:  # and here
        rounds[t] += 1
        left -= 1
        t.barrier.wait()  # fault


@mended
@amp.kernel
def wait_in_while(t, values, rounds):
    left = values[t]
    for _round in range(9):
        if left > 0:
            rounds[t] += 1
            left -= 1
        t.barrier.wait()


@faulty(
    "divergent control flow",
    "Threads that have found their key leave a loop in which the others still wait.",
    divergence("VKA604"),
    lambda: launch(
        amp.extent(8).tile(4),
        numbers(8),
        random_numbers(8, below=8),
        zeros(8),
        expect=random_numbers(8, below=8),
    ),
)
@amp.kernel
def wait_after_break_wrong(t, table, keys, places):
    chunk = amp.tile_static(4, amp.int32)
    place = -1
    for base in range(0, 8, 4):
        chunk[t.local] = table[base + t.local[0]]
        t.barrier.wait()
        for i in range(4):
            if chunk[i] == keys[t]:
                place = base + i
        if place >= 0:  # and here
            break
        t.barrier.wait()  # fault
    places[t] = place


@mended
@amp.kernel
def wait_after_break(t, table, keys, places):
    chunk = amp.tile_static(4, amp.int32)
    place = -1
    for base in range(0, 8, 4):
        chunk[t.local] = table[base + t.local[0]]
        t.barrier.wait()
        for i in range(4):
            if place < 0 and chunk[i] == keys[t]:
                place = base + i
        t.barrier.wait()
    places[t] = place


@faulty(
    "divergent control flow",
    "Threads whose element is odd skip the rest of the round, and the barrier with it.",
    divergence("VKA604"),
    lambda: launch(amp.extent(4).tile(4), numbers(12), zeros(4), expect=[0 + 2 + 4 + 6 + 8 + 10] * 4),
)
@amp.kernel
def wait_after_continue_wrong(t, values, out):
    total = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        total[0] = 0
    t.barrier.wait()
    for k in range(3):
        value = values[k * 4 + t.local[0]]
        if value % 2 == 1:  # and here
            continue
        amp.atomic_fetch_add(total[0], value)
        t.barrier.wait()  # fault
    out[t] = total[0]


@mended
@amp.kernel
def wait_after_continue(t, values, out):
    total = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        total[0] = 0
    t.barrier.wait()
    for k in range(3):
        value = values[k * 4 + t.local[0]]
        if value % 2 == 0:
            amp.atomic_fetch_add(total[0], value)
    t.barrier.wait()
    out[t] = total[0]


# -- return --------------------------------------------------------------------------------------------------------


@faulty(
    "divergent control flow",
    "The threads of the padding return before the barrier that the others wait at.",
    divergence("VKA603"),
    lambda: launch(amp.extent(10).tile(4).pad(), numbers(10), zeros(10), expect=[1, 2, 3, 0, 5, 6, 7, 4, 9, 8]),
)
@amp.kernel
def wait_after_return_wrong(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    if t.global_[0] >= values.extent[0]:  # and here
        return
    memory[t.local] = values[t]
    t.barrier.wait()  # fault
    count = min(4, values.extent[0] - t.tile_origin[0])
    out[t] = memory[(t.local[0] + 1) % count]


@mended
@amp.kernel
def wait_after_return(t, values, out):
    memory = amp.tile_static(4, amp.int32)
    inside = t.global_[0] < values.extent[0]
    if inside:
        memory[t.local] = values[t]
    t.barrier.wait()
    count = min(4, values.extent[0] - t.tile_origin[0])
    if inside:
        out[t] = memory[(t.local[0] + 1) % count]


@faulty(
    "divergent control flow",
    "A thread that returns within a loop misses the barriers that come after the loop.",
    divergence("VKA603"),
    lambda: launch(
        amp.extent(6).tile(6), numbers(6), zeros(6), zeros(6), expect={1: numbers(6) * 0 + [0, 1, 1, 1, 0, 0]}
    ),
)
@amp.kernel
def wait_after_loop_wrong(t, values, out, marks):
    for divisor in range(4, 6):
        if values[t] % divisor == 0:  # and here
            return
    marks[t] = 1
    t.barrier.wait()  # fault
    if t.local[0] > 0:
        out[t] = marks[t.local[0]]


@mended
@amp.kernel
def wait_after_loop(t, values, out, marks):
    prime = True
    for divisor in range(4, 6):
        if values[t] % divisor == 0:
            prime = False
    if prime:
        marks[t] = 1
    t.barrier.wait()
    if t.local[0] > 0:
        out[t] = marks[t.local[0]]
