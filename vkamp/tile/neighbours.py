"""Comparisons and differences of neighbouring items (CUB: ``BlockDiscontinuity``, ``BlockAdjacentDifference``).

Items are in blocked order.  ``x`` is a value of any type, or a private array of items; the result is of the same form.
All threads of the tile must call these functions.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import vkamp as amp
from vkamp.tile._threads import items_of, like, rank_of
from vkamp.tile.exchange import shift


@amp.func
def discontinuity(
    t_idx: Any, x: Any, differs: Any = operator.ne, neighbour: Any = None, *, tails: amp.constant = False
) -> Any:
    """Whether each item begins a run, or with ``tails=True`` ends one, as bools.

    Two neighbours belong to different runs if ``differs(earlier, later)``. ``neighbour`` is the item before the tile's
    first one (``tails=True``: after the last one). Without it, the first item begins a run (the last one ends one).
    """
    own = items_of(x)
    flags = amp.private(len(own), bool)
    rank = rank_of(t_idx)
    if tails:
        later = shift(t_idx, own[0].copy(), -1)
        for k in amp.static_range(len(own) - 1):
            flags[k] = differs(own[k], own[k + 1])
        flags[len(own) - 1] = differs(own[len(own) - 1], later)
        if rank == math.prod(t_idx.tile_extent) - 1:
            flags[len(own) - 1] = True if neighbour is None else differs(own[len(own) - 1], neighbour)
    else:
        earlier = shift(t_idx, own[len(own) - 1].copy(), 1)
        for k in amp.static_range(1, len(own)):
            flags[k] = differs(own[k - 1], own[k])
        flags[0] = differs(earlier, own[0])
        if rank == 0:
            flags[0] = True if neighbour is None else differs(neighbour, own[0])
    return like(x, flags)


@amp.func
def adjacent_difference(t_idx: Any, x: Any, op: Any = operator.sub, before: Any = None) -> Any:
    """``op(item, earlier)`` of each item and the one before it.

    ``before`` is the item before the tile's first one; without it, the first item is unchanged. ``op`` returns the
    items' type.
    """
    own = items_of(x)
    found = amp.private(len(own), type(own[0]))
    earlier = shift(t_idx, own[len(own) - 1].copy(), 1)
    for k in amp.static_range(1, len(own)):
        found[k] = op(own[k], own[k - 1])
    if rank_of(t_idx) > 0:
        found[0] = op(own[0], earlier)
    elif before is None:
        found[0] = own[0]
    else:
        found[0] = op(own[0], before)
    return like(x, found)
