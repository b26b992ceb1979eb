"""The tile program with which ``vkamp doctor`` tests each device."""

import vkamp as amp


@amp.kernel
def reverse(t_idx, numbers):  # type: ignore[no-untyped-def]
    """Reverses each tile of 64 numbers."""
    tile = amp.tile_static(64, amp.int32)
    tile[t_idx.local] = numbers[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    numbers[t_idx] = tile[63 - t_idx.local[0]]
