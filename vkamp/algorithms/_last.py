"""Reductions in one launch, for GPUs: the tile that ends last combines what all tiles have found, in their order.

This is the method of CUDA's sample ``threadFenceReduction``.  No tile waits for another one.  The tiles' results are
stored and loaded by atomics, so that no other memory needs to be ordered.
"""

# mypy takes `amp.constant` for a class of values.
# mypy: disable-error-code="arg-type"

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.dispatch.call_cache import note_self_resetting

#: How many groups of tiles of a launch can have a last one each.
GROUPS = 4096
#: Results of tiles that a thread loads at a time.
KEPT = 8


@amp.func
def keep(words: Any, at: Any, x: Any) -> None:
    """Stores a number of 32 bits for the last tile."""
    amp.atomic_store(words[at], amp.asuint(x), "relaxed")


@amp.func
def kept(words: Any, at: Any, kind: Any) -> Any:
    """A number of this type that a tile has kept."""
    return amp.atomic_load(words[at], "relaxed").view(kind)


@amp.func
def is_last(t_idx: Any, counters: Any, group: Any, many: Any) -> Any:
    """Whether this tile is the last of ``many`` tiles of a group to call this; what they have kept is there then.

    Each thread of the tile must call it exactly once.
    """
    ended = amp.tile_static(1, amp.uint32)
    # Counted after what the threads of this tile have kept; the last one sees it after its count.
    t_idx.barrier.wait()
    if t_idx.local[0] == 0:
        ended[0] = amp.atomic_fetch_add(counters[group], 1)
        if ended[0] == amp.uint32(many - 1):
            amp.atomic_exchange(counters[group], 0)
    t_idx.barrier.wait()
    return ended[0] == amp.uint32(many - 1)


#: Each accelerator_view's counters, which are 0 between launches.
_counters: weakref.WeakKeyDictionary[amp.accelerator_view, Any] = weakref.WeakKeyDictionary()


def zeros_for(view: amp.accelerator_view, *shape: int) -> Any:
    """Words of 0 for kernels that leave them as the next call expects them."""
    made = amp.array(np.zeros(shape, np.uint32), accelerator_view=view)
    note_self_resetting(made)
    return made


def counters_of(view: amp.accelerator_view) -> Any:
    """The counters of the groups."""
    known = _counters.get(view)
    if known is None:
        known = _counters[view] = zeros_for(view, GROUPS)
    return known


def is_word(dtype: np.dtype[Any]) -> bool:
    """Whether a type is that of numbers of 32 bits."""
    return dtype in (np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.uint32))
