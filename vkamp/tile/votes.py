"""Votes of the threads of a tile (C++ for CUDA: ``__syncthreads_or``, ``__syncthreads_and``,
``__syncthreads_count``)."""

from __future__ import annotations

import math
import operator
from typing import Any

import vkamp as amp
from vkamp.tile._threads import items_of
from vkamp.tile.reduce import reduce


@amp.func
def count(t_idx: Any, p: Any) -> Any:
    """How often the condition ``p`` holds in the tile, an int32 for every thread.

    ``p`` is a condition, or a private array of them.  All threads of the tile must call it.  The result may control the
    flow around barriers.
    """
    own = 0
    for each in items_of(p):
        own += 1 if each else 0
    return amp.uniform(reduce(t_idx, own, operator.add))


@amp.func
def any(t_idx: Any, p: Any) -> Any:
    """Whether the condition ``p`` holds for some item of the tile, as :func:`count`."""
    return count(t_idx, p) > 0


@amp.func
def all(t_idx: Any, p: Any) -> Any:
    """Whether the condition ``p`` holds for all items of the tile, as :func:`count`."""
    return count(t_idx, p) == math.prod(t_idx.tile_extent) * len(items_of(p))
