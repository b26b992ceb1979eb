"""Binary searches on GPUs: a tile searches the first levels in ``tile_static`` memory.

Among many elements, it then descends a tree: each element of a level is the last one of eight elements of the level
below. A step loads eight neighbours at once, which are in one sector of the caches; a binary search would load three
elements one after the other (B. Schlegel, R. Gemulla and W. Lehner, *k-Ary Search on Modern Processors*, 2009).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import element

#: The threads of a tile, the values that each searches for, and the number of bytes in ``tile_static`` memory.
TILE, ROUNDS, STAGE = 256, 16, 4096
#: The elements of a group in the tree, and the number of elements from which on a tree pays.
GROUP, MANY = 8, 1 << 20


@amp.func
def _is_before(y: Any, x: Any, less: Any, *, right: amp.constant) -> Any:
    """Whether the position of ``x`` is after ``y``."""
    return not less(x, y) if right else less(y, x)


@amp.func
def _in_part(ordered: Any, n: Any, x: Any, first: Any, length: Any, less: Any, *, right: amp.constant) -> Any:
    """The position of ``x`` from ``first`` to before ``first + length``, or that end; there are ``n`` elements."""
    at = first
    size = amp.int32(length)
    while size > 1:
        half = size >> 1
        is_before = _is_before(ordered.value(min(at + half, n) - 1), x, less, right=right)
        at += half if at + half <= n and is_before else 0
        size -= half
    is_before = _is_before(ordered.value(min(at, n - 1)), x, less, right=right)
    return at + (1 if at < n and is_before else 0)


@amp.kernel
def _fill_level(idx, ordered, level, distance):
    """Stores the last one of every ``distance`` elements of the level below."""
    level[idx] = ordered.value((idx[0] + 1) * distance - 1)


@amp.func
def _in_group(level: Any, group: Any, x: Any, less: Any, *, right: amp.constant) -> Any:
    """How many of eight elements are before the position of ``x``."""
    many = 0
    for k in amp.static_range(2):
        a, b, c, d = level.four(2 * group + k)
        many += 1 if _is_before(a, x, less, right=right) else 0
        many += 1 if _is_before(b, x, less, right=right) else 0
        many += 1 if _is_before(c, x, less, right=right) else 0
        many += 1 if _is_before(d, x, less, right=right) else 0
    return many


@amp.func
def _descend(level: Any, n: Any, at: Any, x: Any, less: Any, *, right: amp.constant) -> Any:
    """The position of ``x`` in a level, given its group, which may be incomplete."""
    if (at + 1) * GROUP <= n:
        return at * GROUP + _in_group(level, at, x, less, right=right)
    return _in_part(level, n, x, at * GROUP, GROUP, less, right=right)


@amp.kernel
def search_tiles(
    t_idx, ordered, first, second, third, queries, out, n, m, step, less, *,
    right: amp.constant, rounds: amp.constant, pivots: amp.constant, levels: amp.constant,
):  # fmt: skip
    """The positions of a tile's queries among ``n`` elements; there are ``m`` queries.

    ``first``, ``second`` and ``third`` are the levels of a tree over the elements; ``levels`` of them are used. The
    tile stages every ``step``-th element of the last one.
    """
    rank = t_idx.local[0]
    threads = t_idx.tile_dim0
    stage = amp.tile_static(pivots, type(ordered.value(0)))
    sampled = n // GROUP**levels
    staged = sampled // step
    for p in range(rank, staged, threads):
        stage[p] = (third if levels == 3 else ordered).value((p + 1) * step - 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    begin = t_idx.tile[0] * (threads * rounds) + rank
    for i in range(begin, min(begin + threads * rounds, m), threads):
        x = queries.value(i).copy()
        at = 0
        size = staged
        while size > 1:
            half = size >> 1
            at += half if _is_before(stage[at + half - 1], x, less, right=right) else 0
            size -= half
        if size == 1:
            at += 1 if _is_before(stage[at], x, less, right=right) else 0
        at = _in_part(third if levels == 3 else ordered, sampled, x, at * step, step, less, right=right)
        if levels == 3:
            at = _descend(second, n // GROUP**2, at, x, less, right=right)
            at = _descend(first, n // GROUP, at, x, less, right=right)
            at = _descend(ordered, n, at, x, less, right=right)
        out[i] = at


def can_stage(dtype: np.dtype[Any]) -> bool:
    """Whether a tile has memory for many elements of a type."""
    return dtype.itemsize <= 16


def search_into(
    view: amp.accelerator_view, ordered: lazy.Lazy, queries: lazy.Lazy, out: Any, less: Any, *, right: bool
) -> None:
    """Stores the place of each query among the ordered elements."""
    n, m = ordered.extent[0], queries.extent[0]
    dtype = lazy.computed_type(ordered)
    pivots, levels, tree = STAGE // max(dtype.itemsize, 4), 0, [ordered]
    flat = ordered.flat()
    if n >= MANY and m >= n // (4 * GROUP) and lazy.has_quads(flat):
        levels, tree = 3, [flat]
        for k in range(1, 4):
            level = amp.array(amp.extent(n // GROUP**k), element(dtype), accelerator_view=view)
            amp.parallel_for_each(view, level.extent, _fill_level, tree[-1], level, GROUP)
            tree.append(lazy.Elements(level).flat())
    step = max(-(-(n // GROUP**levels) // pivots), 1)
    tiles = -(-m // (TILE * ROUNDS))
    amp.parallel_for_each(
        view, amp.extent(tiles * TILE).tile(TILE), search_tiles,
        tree[0], *(tree[min(k, levels)] for k in (1, 2, 3)), queries, out, n, m, step, less,
        right=right, rounds=ROUNDS, pivots=pivots, levels=levels,
    )  # fmt: skip
