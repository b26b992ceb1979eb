"""How SwiftShader searches the blocks of a function, which decides how long it compiles."""

from __future__ import annotations

from collections import deque

from vkamp.spirv.blocks import SpirvFunction


def visits(function: SpirvFunction) -> int:
    """How often SwiftShader visits the blocks of a function when it looks for the way back to the heads of loops."""
    blocks, count = function.by_label(), 0
    for head in (block for block in function.blocks if block.is_loop):
        seen, pending = {head.merge_label}, deque([head.label])
        while pending and count < 10**6:
            label = pending.popleft()
            count += 1
            # The last target first, and a block counts as seen once it was visited.
            pending.extend(target for target in reversed(blocks[label].targets) if target not in seen)
            seen.add(label)
    return count
