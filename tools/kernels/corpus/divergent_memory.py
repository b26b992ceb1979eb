"""Barriers under conditions whose value differs between threads: loaded from memory of every kind."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    F32,
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
    "The value comes from tile_static memory at the thread's own place.",
    divergence("VKA601"),
    lambda: launch(amp.extent(9).tile(3), numbers(9) % 2, zeros(9), expect=[0, 0, 0, 1, 1, 1, 0, 0, 0]),
)
@amp.kernel
def own_element_of_tile_wrong(t, flags, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = flags[t]
    t.barrier.wait()
    if memory[t.local] == 1:  # and here
        t.barrier.wait()  # fault
    out[t] = memory[0]


@mended
@amp.kernel
def own_element_of_tile(t, flags, out):
    memory = amp.tile_static(3, amp.int32)
    memory[t.local] = flags[t]
    t.barrier.wait()
    if memory[0] == 1:
        t.barrier.wait()
    out[t] = memory[0]


@faulty(
    "divergent value",
    "All read one element of tile_static memory, but in the interval in which it is written: some see it already.",
    divergence("VKA601"),
    lambda: launch(amp.extent(6).tile(3), numbers(6) + 1, zeros(6), expect=[1, 1, 1, 4, 4, 4]),
)
@amp.kernel
def read_too_early_wrong(t, values, out):
    enough = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        enough[0] = values[t]
    if enough[0] > 0:  # and here
        t.barrier.wait()  # fault
    out[t] = enough[0]


@mended
@amp.kernel
def read_too_early(t, values, out):
    enough = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        enough[0] = values[t]
    t.barrier.wait()
    if enough[0] > 0:
        t.barrier.wait()
    out[t] = enough[0]


@faulty(
    "divergent value",
    "A barrier whose fence orders global memory does not make a tile_static value the same for all.",
    divergence("VKA601"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(8), expect=[0, 0, 0, 0, 4, 4, 4, 4]),
)
@amp.kernel
def read_after_other_fence_wrong(t, values, out):
    first = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        first[0] = values[t]
    t.barrier.wait_with_global_memory_fence()
    if first[0] > 0:  # and here
        t.barrier.wait()  # fault
        out[t] = first[0]


@mended
@amp.kernel
def read_after_other_fence(t, values, out):
    first = amp.tile_static(1, amp.int32)
    if t.local[0] == 0:
        first[0] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    if first[0] > 0:
        t.barrier.wait()
        out[t] = first[0]


@faulty(
    "divergent value",
    "Whether to refine is asked of the thread's own element of a container.",
    divergence("VKA601"),
    lambda: launch(amp.extent(6, 4).tile(3, 2), random_numbers(6, 4), zeros(6, 4), expect=random_numbers(6, 4) * 2),
)
@amp.kernel
def element_of_container_wrong(t, values, out):
    memory = amp.tile_static((3, 2), amp.int32)
    memory[t.local] = values[t]
    if values[t] > 50:  # and here
        t.barrier.wait()  # fault
    out[t] = memory[t.local] * 2


@mended
@amp.kernel
def element_of_container(t, values, out):
    memory = amp.tile_static((3, 2), amp.int32)
    memory[t.local] = values[t]
    if values.extent[0] > 5:
        t.barrier.wait()
    out[t] = memory[t.local] * 2


@faulty(
    "divergent value",
    "Each thread gets another result of the atomic: its ticket.",
    divergence("VKA601"),
    lambda: launch(amp.extent(12).tile(4), zeros(3), zeros(12), expect={0: [4, 4, 4], 1: [4] * 12}),
)
@amp.kernel
def result_of_an_atomic_wrong(t, counts, out):
    ticket = amp.atomic_fetch_inc(counts[t.tile])
    if ticket == 3:  # and here
        t.barrier.wait()  # fault
    out[t] = counts[t.tile]


@mended
@amp.kernel
def result_of_an_atomic(t, counts, out):
    amp.atomic_fetch_inc(counts[t.tile])
    t.barrier.wait()
    out[t] = counts[t.tile]


@faulty(
    "divergent value",
    "A private array has the thread's own values, whatever the index.",
    divergence("VKA602"),
    lambda: launch(amp.extent(6).tile(3), numbers(6) % 3, zeros(6), expect=[0, 1, 2, 0, 1, 2]),
)
@amp.kernel
def private_element_wrong(t, values, out):
    plan = amp.private(2, amp.int32)
    plan[0] = 3
    plan[1] = values[t]
    for _round in range(plan[1]):  # and here
        out[t] += 1
        t.barrier.wait()  # fault


@mended
@amp.kernel
def private_element(t, values, out):
    plan = amp.private(2, amp.int32)
    plan[0] = values[t]
    plan[1] = values[t]
    for k in range(3):
        if k < plan[1]:
            out[t] += 1
        t.barrier.wait()


@faulty(
    "divergent value",
    "One field of the struct is the thread's own, and that one decides.",
    divergence("VKA601"),
    lambda: launch(amp.extent(6).tile(2), points(6), zeros(6), expect=np.arange(6) * 2),
)
@amp.kernel
def field_of_struct_wrong(t, points, out):
    point = points[t]
    if point.x > 0.5:  # and here
        t.barrier.wait()  # fault
    out[t] = point.kind * 2


@mended
@amp.kernel
def field_of_struct(t, points, out):
    point = points[t].copy()
    if points.extent[0] > 5:
        t.barrier.wait()
    out[t] = point.kind * 2


def points(count):
    made = np.zeros(count, np.dtype([("x", F32), ("kind", np.int32)]))
    made["x"] = made["kind"] = np.arange(count)
    return made


@faulty(
    "divergent value",
    "Another tile may write the limit while this one's threads load it, so that they need not agree.",
    divergence("VKA601"),
    lambda: launch(amp.extent(8).tile(4), numbers(8), 1, zeros(8), zeros(2), expect={2: numbers(8), 3: [3, 7]}),
)
@amp.kernel
def container_written_meanwhile_wrong(t, values, limit, out, limits):
    if t.local[0] == 3:
        limits[t.tile] = values[t]
    if limits[0] > limit:  # and here
        t.barrier.wait()  # fault
    out[t] = values[t]


@mended
@amp.kernel
def container_written_meanwhile(t, values, limit, out, limits):
    if t.local[0] == 3:
        limits[t.tile] = values[t]
    if limit > 0:
        t.barrier.wait()
    out[t] = values[t]
