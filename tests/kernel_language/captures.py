"""Kernels and helpers of the tests of captures and of repeated launches."""

from __future__ import annotations

import contextlib
import threading

import numpy as np

import vkamp as amp

STEP = 3


@amp.kernel
def scale(idx, values, factor):
    values[idx] = values[idx] * factor


@amp.kernel
def add(idx, source, target):
    target[idx] = target[idx] + source[idx]


@amp.kernel
def mirror(t_idx, source, target):
    tile = amp.tile_static(t_idx.tile_extent, amp.int32)
    tile[t_idx.local] = source[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    target[t_idx] = tile[t_idx.tile_dim0 - 1 - t_idx.local[0]] + STEP


@amp.kernel
def fill(idx, values, value):
    values[idx] = value


def on(view, values):
    """An array of int32 there."""
    data = np.asarray(values, np.int32)
    return amp.array(amp.extent(*data.shape), amp.int32, data, accelerator_view=view)


def listed(container):
    return np.asarray(container).tolist()


@contextlib.contextmanager
def reads_in_a_thread(view):
    """What another thread reads through a view meanwhile."""
    seen = []
    stop = threading.Event()

    def look():
        while not stop.is_set():
            seen.append(np.array(view).tolist())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
