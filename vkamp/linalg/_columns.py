"""Loads and stores of a few columns of a matrix whose rows are divided among the threads of a tile.

Each thread owns whole rows, and adjacent rows are far apart in memory. If each thread loaded its own elements, a
subgroup would access one cache line per lane, and the same lines again for each column. Adjacent threads load adjacent
elements of a row instead, and then exchange them in ``tile_static`` memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp

#: The ``tile_static`` memory of a device without limits, and the part of it that an exchange may take.
_MEMORY, _PART = 32 * 1024, 0.75


def is_staged(view: amp.accelerator_view, dtype: np.dtype[Any], threads: int, columns: int) -> bool:
    """Whether a tile has the memory for the exchange of ``columns`` elements of each thread."""
    limits = view.accelerator.limits
    memory = _MEMORY if limits is None else limits.shared_bytes
    return columns > 1 and dtype.itemsize * columns * (threads + 4) <= _PART * memory


def threads_of(most: int, rows: int) -> tuple[int, int]:
    """The threads of a tile, and the rows of each: few different pairs, because each takes a kernel of its own."""
    threads = most if 4 * rows > most else max(most // 4, 32)
    return threads, 1 << max(-(-rows // threads) - 1, 0).bit_length()


@amp.func
def load_columns(
    t_idx: Any, a: Any, own: Any, top: Any, start: Any, stop: Any, *, threads: amp.constant, staged: amp.constant
) -> Any:
    """Loads the columns ``start`` to ``stop`` from row ``top`` on, zeros after their end: a thread has every
    ``threads``-th row."""
    t = t_idx.local[1]
    n = t_idx.tile[0]
    kind = type(own[0, 0])
    columns = own.extent[1]
    for r in amp.static_range(own.extent[0]):
        for c in amp.static_range(columns):
            e = t + c * threads
            i = top + r * threads + (e // columns if staged else t)
            k = start + (e % columns if staged else c)
            own[r, c] = kind(0)
            if i < a.extent[1] and k < stop:
                own[r, c] = a[n, i, k]
    if staged:
        with amp.tile_scope():
            stage = amp.tile_static((columns, threads + 4), kind)
            for r in amp.static_range(own.extent[0]):
                for c in amp.static_range(columns):
                    e = t + c * threads
                    stage[e % columns, e // columns] = own[r, c]
                t_idx.barrier.wait_with_tile_static_memory_fence()
                for c in amp.static_range(columns):
                    own[r, c] = stage[c, t]
                t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def store_columns(
    t_idx: Any, a: Any, own: Any, top: Any, start: Any, stop: Any, *, threads: amp.constant, staged: amp.constant
) -> Any:
    """Stores what :func:`load_columns` loads; the elements of ``own`` are exchanged."""
    t = t_idx.local[1]
    n = t_idx.tile[0]
    columns = own.extent[1]
    if staged:
        with amp.tile_scope():
            stage = amp.tile_static((columns, threads + 4), type(own[0, 0]))
            for r in amp.static_range(own.extent[0]):
                for c in amp.static_range(columns):
                    stage[c, t] = own[r, c]
                t_idx.barrier.wait_with_tile_static_memory_fence()
                for c in amp.static_range(columns):
                    e = t + c * threads
                    own[r, c] = stage[e % columns, e // columns]
                t_idx.barrier.wait_with_tile_static_memory_fence()
    for r in amp.static_range(own.extent[0]):
        for c in amp.static_range(columns):
            e = t + c * threads
            i = top + r * threads + (e // columns if staged else t)
            k = start + (e % columns if staged else c)
            if i < a.extent[1] and k < stop:
                a[n, i, k] = own[r, c]
