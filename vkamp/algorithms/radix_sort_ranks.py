"""Ranks of keys among those of a subgroup with the same digit of eight bits, by votes, for the radix sorts of GPUs."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def,arg-type,operator,call-overload"

from __future__ import annotations

from typing import Any

import vkamp as amp

#: Values of a digit.
DIGITS = 256


@amp.func
def _peers(digit: Any) -> Any:
    """For the lanes with the same digit: their number, the number of those below this lane, and the lowest one."""
    lanes = amp.subgroup.ballot(True)
    if amp.target.subgroup_size <= 32:
        found = lanes.x
        for b in amp.static_range(8):
            is_set = digit & (1 << b) != 0
            found &= amp.subgroup.ballot(is_set).x ^ (amp.uint32(0) if is_set else amp.uint32(0xFFFFFFFF))
        below = found & ((amp.uint32(1) << amp.subgroup.lane()) - 1)
        return (
            amp.int32(amp.direct3d.countbits(found)),
            amp.int32(amp.direct3d.countbits(below)),
            amp.direct3d.firstbitlow(amp.asint(found)),
        )
    for b in amp.static_range(8):
        is_set = digit & (1 << b) != 0
        lanes &= amp.subgroup.ballot(is_set) ^ amp.uint4(amp.uint32(0) if is_set else amp.uint32(0xFFFFFFFF))
    return (
        amp.subgroup.ballot_bit_count(lanes),
        amp.subgroup.ballot_exclusive_bit_count(lanes),
        amp.subgroup.ballot_find_lsb(lanes),
    )


@amp.func
def rank_of_key(digit: Any, counts: Any) -> Any:
    """A key's rank among those of its subgroup with the same digit, so far; counts the digits of the subgroup."""
    many, lower, lowest = _peers(digit)
    before = 0
    if lower == 0:
        before = amp.atomic_fetch_add(counts[amp.subgroup.id() * DIGITS + digit], many)
    return amp.subgroup.shuffle(before, lowest) + lower
