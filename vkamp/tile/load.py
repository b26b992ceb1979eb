"""Loads and stores of several items for each thread (CUB: ``BlockLoad``, ``BlockStore``).

``striped``: item ``k`` of thread ``r`` is element ``r + k * threads`` of the tile, so that neighbouring threads access
neighbouring elements. ``blocked``: it is element ``r * items + k``. On GPUs, the blocked arrangement is exchanged
through ``tile_static`` memory, so that memory is accessed in stripes as well.
"""

from __future__ import annotations

import math
from typing import Any

import vkamp as amp
from vkamp.tile._threads import items_of, rank_of
from vkamp.tile.exchange import blocked_to_striped, striped_to_blocked


@amp.func
def load(
    t_idx: Any, a: Any, first: Any = None, fill: Any = None, *,
    items: amp.constant, arrangement: amp.constant = "striped",
) -> Any:  # fmt: skip
    """A private array with ``items`` elements of ``a``, a container of rank 1, for each thread.

    ``first`` is the tile's first element. By default, tiles follow each other (``t_idx`` of rank 1). Items after the
    end of ``a`` are ``fill``, by default its last element. ``arrangement`` is ``"striped"`` or ``"blocked"``. All
    threads of the tile must call it.
    """
    _check(a, arrangement=arrangement)
    own = amp.private(items, a.dtype)
    begin = _begin(t_idx, first, items=items)
    direct = arrangement == "blocked" and amp.target.cpu
    for k in amp.static_range(items):
        at = begin + _place(t_idx, k, items=items, blocked=direct)
        if fill is None:
            own[k] = a[min(at, a.extent[0] - 1)]
        else:
            own[k] = fill
            if at < a.extent[0]:
                own[k] = a[at]
    if arrangement == "blocked" and not amp.target.cpu:
        return striped_to_blocked(t_idx, own)
    return own


@amp.func
def store(t_idx: Any, a: Any, x: Any, first: Any = None, *, arrangement: amp.constant = "striped") -> Any:
    """Stores a value, or a private array of items, of each thread in ``a``, a container of rank 1.

    Items after the end of ``a`` are not stored. ``first`` and ``arrangement`` are those of :func:`load`. All threads of
    the tile must call it.
    """
    _check(a, arrangement=arrangement)
    own = items_of(x)
    if arrangement == "blocked" and not amp.target.cpu:
        _store(t_idx, a, blocked_to_striped(t_idx, own), first, blocked=False)
    else:
        _store(t_idx, a, own, first, blocked=arrangement == "blocked")


@amp.func
def _store(t_idx: Any, a: Any, own: Any, first: Any, *, blocked: amp.constant) -> None:
    begin = _begin(t_idx, first, items=len(own))
    for k in amp.static_range(len(own)):
        at = begin + _place(t_idx, k, items=len(own), blocked=blocked)
        if at < a.extent[0]:
            a[at] = own[k]


@amp.func
def _check(a: Any, *, arrangement: amp.constant) -> None:
    if len(a.extent) != 1:
        raise TypeError("a tile loads and stores elements of containers of rank 1, such as a row: matrix[i]")
    if arrangement != "striped" and arrangement != "blocked":
        raise ValueError('arrangement must be "striped" or "blocked"')


@amp.func
def _begin(t_idx: Any, first: Any, *, items: amp.constant) -> Any:
    if first is None:
        if t_idx.rank > 1:
            raise TypeError("pass first=, the tile's first element: only tiles in a row have a default")
        return t_idx.tile[0] * (math.prod(t_idx.tile_extent) * items)
    return first


@amp.func
def _place(t_idx: Any, k: Any, *, items: amp.constant, blocked: amp.constant) -> Any:
    if blocked:
        return rank_of(t_idx) * items + k
    return rank_of(t_idx) + k * math.prod(t_idx.tile_extent)
