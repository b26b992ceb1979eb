"""The rounds of Philox with words of 32 bits (``philox.py`` names the paper)."""

from __future__ import annotations

from typing import Any

import vkamp as amp

ROUNDS = 10
#: By how much the key of Philox4x32 increases in each round.
STEPS = (0x9E3779B9, 0xBB67AE85)


@amp.func
def philox_round(c: Any, key: Any) -> Any:
    """A round."""
    low0, high0 = amp.mul_extended(amp.uint32(0xD2511F53), c.x)
    low1, high1 = amp.mul_extended(amp.uint32(0xCD9E8D57), c.z)
    return amp.uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0)


@amp.func
def philox4x32(counter: Any, key: Any) -> Any:
    """Four random words from a counter (uint4) and a key (uint2), in ten rounds."""
    c = amp.uint4(counter)
    k = amp.uint2(key)
    for _ in amp.static_range(ROUNDS):
        c = philox_round(c, k)
        k = amp.uint2(k.x + amp.uint32(STEPS[0]), k.y + amp.uint32(STEPS[1]))
    return c
