"""The threads of a tile, in row-major order, and the items that each contributes: a value, or a private array."""

from __future__ import annotations

from typing import Any

import vkamp as amp


@amp.func
def rank_of(t_idx: Any) -> Any:
    """The thread's number in its tile, row-major from 0."""
    if t_idx.rank == 1:
        return t_idx.local[0]
    at = t_idx.local[0]
    for d in amp.static_range(1, t_idx.rank):
        at = at * t_idx.tile_extent[d] + t_idx.local[d]
    return at


@amp.func
def items_of(x: Any) -> Any:
    """A private array as it is; a value as an array of one item."""
    if hasattr(x, "extent"):
        return x
    own = amp.private(1, type(x))
    own[0] = x
    return own


@amp.func
def check_items(x: Any, others: Any) -> None:
    """Refuses two private arrays with different numbers of items."""
    if len(x) != len(others):
        raise TypeError("all arguments must have the same number of items in each thread")


@amp.func
def numbers_of(x: Any, op: Any) -> Any:
    """Conditions as integers if ``op`` gives integers of them, as a sum does."""
    if not hasattr(x, "extent"):
        return x if isinstance(op(x, x), bool) else type(op(x, x))(x)
    if isinstance(op(x[0], x[0]), bool):
        return x
    own = amp.private(len(x), type(op(x[0], x[0])))
    for k in amp.static_range(len(x)):
        own[k] = x[k]
    return own


@amp.func
def like(x: Any, items: Any) -> Any:
    """The array ``items`` if ``x`` is an array, else its only item."""
    if hasattr(x, "extent"):
        return items
    return items[0].copy()


@amp.func
def put(t_idx: Any, stage: Any, items: Any) -> None:
    """Stores the items of all threads in ``stage``, in blocked order; no barrier waits for them."""
    first = rank_of(t_idx) * len(items)
    for k in amp.static_range(len(items)):
        stage[first + k] = items[k]
