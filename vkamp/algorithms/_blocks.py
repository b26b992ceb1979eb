"""Reductions of a block of neighbouring elements by a tile of threads, on GPUs."""

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp import tile

#: The threads of a tile, and the elements that each of them handles in one step.
TILE = 256
ITEMS = 8
#: The loads of four elements that a thread has in flight at a time in :func:`of_steps`.
QUADS = 4


@amp.func
def of_four(source: Any, k: Any, op: Any) -> Any:
    """The combination of the elements ``4 * k`` to ``4 * k + 3``."""
    a, b, c, d = source.four(k)
    return op(op(a, b), op(c, d))


@amp.func
def of_block(t_idx: Any, source: Any, begin: Any, end: Any, op: Any, *, commutes: amp.constant) -> Any:
    """The combination of the elements from ``begin`` to ``end``, at least one, for all threads of a tile of rank 1."""
    step = t_idx.tile_dim0 * ITEMS
    # A range of this length contains two aligned groups of four elements for each thread, wherever the block begins.
    if commutes and end - begin >= step + 8:
        total = tile.reduce(t_idx, _of_thread(t_idx, source, begin, end, op), op, t_idx.tile_dim0)
    else:
        total = _of_step(t_idx, source, begin, end, op)
        for start in range(begin + step, end, step):
            total = op(total, _of_step(t_idx, source, start, end, op))
    return total


@amp.func
def _of_thread(t_idx: Any, source: Any, begin: Any, end: Any, op: Any) -> Any:
    """The combination of one thread's elements. Neighbouring threads load neighbouring elements, four at a time."""
    rank = t_idx.local[0]
    first = (begin + 3) // 4
    stop = end // 4
    k = first + rank
    one = of_four(source, k, op)
    two = of_four(source, k + t_idx.tile_dim0, op)
    k += 2 * t_idx.tile_dim0
    while k + 3 * t_idx.tile_dim0 < stop:
        # Four loads are in flight at a time.
        three = op(of_four(source, k, op), of_four(source, k + t_idx.tile_dim0, op))
        four = op(of_four(source, k + 2 * t_idx.tile_dim0, op), of_four(source, k + 3 * t_idx.tile_dim0, op))
        one = op(one, three)
        two = op(two, four)
        k += 4 * t_idx.tile_dim0
    while k < stop:
        one = op(one, of_four(source, k, op))
        k += t_idx.tile_dim0
    if begin + rank < 4 * first:
        one = op(one, source.value(begin + rank))
    if 4 * stop + rank < end:
        two = op(two, source.value(4 * stop + rank))
    return op(one, two)


@amp.func
def of_steps(t_idx: Any, source: Any, n: Any, tiles: Any, op: Any) -> Any:
    """The combination of a tile's share of ``n`` elements in any order, for all threads of a tile of rank 1.

    The tiles take steps side by side, at least one each.
    """
    step = t_idx.tile_dim0 * QUADS
    steps = n // 4 // step
    total = amp.private(QUADS, type(source.value(0)))
    k = t_idx.tile[0] * step + t_idx.local[0]
    for j in amp.static_range(QUADS):
        total[j] = of_four(source, k + j * t_idx.tile_dim0, op)
    k += tiles * step
    while k < steps * step:
        for j in amp.static_range(QUADS):
            total[j] = op(total[j], of_four(source, k + j * t_idx.tile_dim0, op))
        k += tiles * step
    for j in amp.static_range(1, QUADS):
        total[0] = op(total[0], total[j])
    if t_idx.tile[0] == tiles - 1:
        for i in range(steps * step + t_idx.local[0], n // 4, t_idx.tile_dim0):
            total[0] = op(total[0], of_four(source, i, op))
        if n // 4 * 4 + t_idx.local[0] < n:
            total[0] = op(total[0], source.value(n // 4 * 4 + t_idx.local[0]))
    return tile.reduce(t_idx, total[0].copy(), op, t_idx.tile_dim0)


@amp.func
def _of_step(t_idx: Any, source: Any, start: Any, end: Any, op: Any) -> Any:
    """The combination of the elements of one step, in their order; the last step may have fewer."""
    first = start + t_idx.local[0] * ITEMS
    if first % 4 == 0 and first + ITEMS <= end:
        own = op(of_four(source, first // 4, op), of_four(source, first // 4 + 1, op))
    else:
        own = source.value(min(first, end - 1)).copy()
        for i in range(first + 1, min(first + ITEMS, end)):
            own = op(own, source.value(i))
    return tile.reduce(t_idx, own, op, min((end - start + ITEMS - 1) // ITEMS, t_idx.tile_dim0))
