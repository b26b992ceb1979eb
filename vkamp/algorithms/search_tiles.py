"""Binary searches on GPUs: a tile searches among the first levels in ``tile_static`` memory.

Among many elements it then searches a sample, the last one of each line of the caches: the lines that the middle steps
of a search load would otherwise be used for one element each.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import element

#: Threads of a tile, values that each of them searches for, and bytes of elements in ``tile_static`` memory.
TILE, ROUNDS, STAGE = 256, 16, 4096
#: Elements of a line of a cache, and how many elements are so many that a sample of one for each line pays.
LINE, MANY = 32, 1 << 20


@amp.func
def _is_before(y: Any, x: Any, less: Any, *, right: amp.constant) -> Any:
    """Whether the place of ``x`` is behind ``y``."""
    return not less(x, y) if right else less(y, x)


@amp.func
def _in_part(ordered: Any, n: Any, x: Any, first: Any, length: Any, less: Any, *, right: amp.constant) -> Any:
    """The place of ``x`` from ``first`` to before ``first + length``, or that; there are ``n`` elements."""
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
def _last_of_lines(idx, ordered, sample, line):
    sample[idx] = ordered.value(idx[0] * line + line - 1)


@amp.kernel
def search_tiles(
    t_idx, ordered, sample, queries, out, n, m, step, less, *,
    right: amp.constant, rounds: amp.constant, pivots: amp.constant, line: amp.constant,
):  # fmt: skip
    """The places of a tile's queries, of which there are ``m``, among ``n`` elements.

    ``sample`` has the last one of every ``line`` elements, and the tile stages every ``step``-th of these.
    """
    rank = t_idx.local[0]
    threads = t_idx.tile_dim0
    stage = amp.tile_static(pivots, type(ordered.value(0)))
    sampled = n // line
    staged = sampled // step
    for p in range(rank, staged, threads):
        stage[p] = sample.value((p + 1) * step - 1)
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
        at = _in_part(sample, sampled, x, at * step, step, less, right=right)
        if line > 1:
            at = _in_part(ordered, n, x, at * line, line, less, right=right)
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
    pivots, line, sample = STAGE // max(dtype.itemsize, 4), 1, ordered
    if n >= MANY and m >= n // LINE and isinstance(ordered, lazy.Elements):
        line = LINE
        lasts = amp.array(amp.extent(n // line), element(dtype), accelerator_view=view)
        amp.parallel_for_each(view, lasts.extent, _last_of_lines, ordered, lasts, line)
        sample = lazy.Elements(lasts)
    step = max(-(-(n // line) // pivots), 1)
    tiles = -(-m // (TILE * ROUNDS))
    amp.parallel_for_each(
        view, amp.extent(tiles * TILE).tile(TILE), search_tiles, ordered, sample, queries, out, n, m, step, less,
        right=right, rounds=ROUNDS, pivots=pivots, line=line,
    )  # fmt: skip
