"""The threads of a tile, in a row."""

from __future__ import annotations

from typing import Any

import vkamp as amp


@amp.func
def rank_of(t_idx: Any) -> Any:
    """The thread's number in its tile, row-major from 0."""
    at = 0
    for d in amp.static_range(t_idx.rank):
        at = at * t_idx.tile_extent[d] + t_idx.local[d]
    return at
