"""Barriers that order nothing: the results are right, and every thread waits for nothing."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import faulty, launch, mended, numbers, vain_barrier, zeros


@faulty(
    "barrier in vain",
    "Two barriers follow each other, and the second has nothing to order.",
    vain_barrier(),
    lambda: launch(amp.extent(12).tile(6), numbers(12), zeros(12), expect=numbers(2, 6)[:, ::-1].ravel()),
)
@amp.kernel
def twice_in_a_row_wrong(t, values, out):
    memory = amp.tile_static(6, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    t.barrier.wait_with_tile_static_memory_fence()  # fault
    out[t] = memory[5 - t.local[0]]


@mended
@amp.kernel
def twice_in_a_row(t, values, out):
    memory = amp.tile_static(6, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = memory[5 - t.local[0]]


@faulty(
    "barrier in vain",
    "The barrier stands at the kernel's beginning, before anything that it could order.",
    vain_barrier(),
    lambda: launch(amp.extent(8).tile(4), numbers(8), zeros(8), expect=numbers(8) * 2),
)
@amp.kernel
def before_everything_wrong(t, values, out):
    t.barrier.wait()  # fault
    out[t] = values[t] * 2


@mended
@amp.kernel
def before_everything(t, values, out):
    out[t] = values[t] * 2


@faulty(
    "barrier in vain",
    "Nothing comes after the last barrier.",
    vain_barrier(),
    lambda: launch(amp.extent(10).tile(5), numbers(10), zeros(10), expect=np.roll(numbers(2, 5), -1, 1).ravel()),
)
@amp.kernel
def after_everything_wrong(t, values, out):
    memory = amp.tile_static(5, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = memory[(t.local[0] + 1) % 5]
    t.barrier.wait_with_tile_static_memory_fence()  # fault


@mended
@amp.kernel
def after_everything(t, values, out):
    memory = amp.tile_static(5, amp.int32)
    memory[t.local] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = memory[(t.local[0] + 1) % 5]
