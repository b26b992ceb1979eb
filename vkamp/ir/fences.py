"""The fence kinds, one row each: read by the printer, the uniformity and the race analysis alike.

C++ AMP's model: docs/conformance.md, section 3.
"""

from __future__ import annotations

from vkamp.records import dataclass


@dataclass(frozen=True)
class Fence:
    """A method of ``tile_barrier`` or a fence function, and what it orders.

    ``narrow``: how a fence that does not wait is written for drivers that make a ``barrier()`` of every memory
    barrier which reaches beyond a subgroup.
    """

    name: str
    waits: bool
    orders_global: bool
    orders_tile_static: bool
    glsl: tuple[str, ...]
    narrow: tuple[str, ...] = ()


_SHARED, _BUFFER, _BARRIER = "memoryBarrierShared();", "memoryBarrierBuffer();", "barrier();"
_LANES = "subgroupBarrier();"
_LANES_SHARED, _LANES_BUFFER = "subgroupMemoryBarrierShared();", "subgroupMemoryBarrierBuffer();"

#: By Python name: methods of ``t_idx.barrier`` first, then the functions that take a barrier.
FENCES: dict[str, Fence] = {
    row.name: row
    for row in (
        Fence("wait", True, True, True, (_SHARED, _BUFFER, _BARRIER)),
        Fence("wait_with_all_memory_fence", True, True, True, (_SHARED, _BUFFER, _BARRIER)),
        Fence("wait_with_global_memory_fence", True, True, False, (_BUFFER, _BARRIER)),
        Fence("wait_with_tile_static_memory_fence", True, False, True, (_SHARED, _BARRIER)),
        Fence("all_memory_fence", False, True, True, (_SHARED, _BUFFER), (_LANES_SHARED, _LANES_BUFFER)),
        Fence("global_memory_fence", False, True, False, (_BUFFER,), (_LANES_BUFFER,)),
        Fence("tile_static_memory_fence", False, False, True, (_SHARED,), (_LANES_SHARED,)),
    )
}

#: What replaces a waiting fence if one subgroup runs a whole tile, by the memory that it orders (global, tile_static).
LANE_FENCES: dict[tuple[bool, bool], Fence] = {
    (row.orders_global, row.orders_tile_static): row
    for row in (
        Fence("lanes_wait_with_all_memory_fence", True, True, True, (_LANES_SHARED, _LANES_BUFFER, _LANES)),
        Fence("lanes_wait_with_global_memory_fence", True, True, False, (_LANES_BUFFER, _LANES)),
        Fence("lanes_wait_with_tile_static_memory_fence", True, False, True, (_LANES_SHARED, _LANES)),
    )
}
