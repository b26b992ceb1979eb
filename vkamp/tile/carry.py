"""What comes before a tile: the carry of kernels that go through their data once (decoupled look-back).

Each tile publishes its total, combines the totals that the tiles before it have published, and publishes the result
for the tiles behind it.  The method is D. Merrill and M. Garland's *Single-pass Parallel Prefix Scan with Decoupled
Look-back* (2016).  Vulkan does not promise that a tile that has started continues, so a tile that waits too long
computes the missing total itself, as in T. Smith, R. Levien and J. Owens' *Decoupled Fallback* (2025).

A word of the status has two bits that say what it holds, and 16 bits of the value, so that no other memory needs to be
ordered: a value of n words of 32 bits takes 2 n words.
"""

# mypy takes `amp.constant` for a class of values.
# mypy: disable-error-code="arg-type,operator,comparison-overlap"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.tile._threads import rank_of

#: What a status word holds: nothing, the tile's total, or the total of all tiles up to it.
TOTAL, PREFIX = np.uint32(1 << 30), np.uint32(2 << 30)
#: Looks at a tile that has published nothing, before its total is computed here.
_LOOKS = 64


@amp.func
def ticket(t_idx: Any, counter: Any) -> Any:
    """The number of this tile in the order in which tiles start; ``counter`` is an element of 0 (uint32).

    Each thread of the tile must call it exactly once.  A tile may wait for tiles of smaller
    numbers only, since these have started.
    """
    if counter.dtype != amp.uint32 and counter.dtype != amp.int32:
        raise TypeError("the counter is a container whose first element is a uint32")
    number = amp.tile_static(1, amp.uint32)
    if rank_of(t_idx) == 0:
        number[0] = amp.atomic_fetch_add(counter[0], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return amp.int32(number[0])


def carry_words(dtype: Any) -> int:
    """How many words the rows of a status have for totals of a type: two for each word of :func:`amp.to_words`."""
    return 2 * len(amp.to_words(np.zeros((), dtype)[()]))


@amp.func
def carry(t_idx: Any, status: Any, number: Any, total: Any, op: Any, total_of: Any) -> Any:
    """``op`` of the totals of the tiles before tile ``number``, in their order; meaningless for tile 0.

    Each thread of the tile must call it exactly once, with the tile's :func:`ticket` and total.  The total is a value
    of any type: a number, a bool, a complex number, a short vector or a struct.  ``status`` has one row for each tile,
    of :func:`carry_words` words (uint32), which are 0 before the launch.  ``op`` is associative and need not commute.
    ``total_of(number)`` computes the total of another tile again, by all threads, with the same bits.  A tile may
    overwrite what others read in it when this call has returned.
    """
    if len(status.extent) != 2 or status.dtype != amp.uint32:
        raise TypeError("the status is a container of rank 2 with uint32 elements")
    assert status.extent[1] >= 2 * len(amp.to_words(total)), "each tile has tile.carry_words(dtype) words of the status"
    before = amp.tile_static(1, type(total))
    state = amp.tile_static(3, amp.int32)
    rank = rank_of(t_idx)
    if rank == 0:
        publish(status, number, total, PREFIX if number == 0 else TOTAL)
        before[0] = total
    # The number of tiles that are still to be combined, whether some are, and their value.
    left = amp.int32(number)
    has = False
    own = total.copy()
    while left > 0:
        # The first thread comes from a branch: without a barrier, drivers may run the functions of its subgroup for the
        # other lanes before.
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if (
            not amp.target.cpu
            and amp.target.has("subgroup_ballot")
            and amp.target.has("subgroup_shuffle")
            and amp.target.has("subgroup_shuffle_relative")
        ):
            if amp.subgroup.id() == 0:
                _look_at_many(t_idx, status, left, has, own, op, before, state)
        elif rank == 0:
            _look(status, left, has, own, op, before, state)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        left = state[0]
        missing = state[1]
        has = state[2] > 0
        own = before[0].copy()
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if left > 0:
            again = total_of(missing)
            if rank == 0:
                publish_if_empty(status, missing, again, PREFIX if missing == 0 else TOTAL)
    if rank == 0 and number > 0:
        publish(status, number, op(own, total), PREFIX)
    # Others must not see what this tile writes from here on before what it has published.
    t_idx.barrier.wait()
    return own


@amp.func
def publish(status: Any, number: Any, value: Any, flag: Any) -> None:
    """Stores a value and what it is in the row of a tile."""
    for k, bits in enumerate(amp.to_words(value)):
        amp.atomic_exchange(status[number, 2 * k], flag | (bits & 0xFFFF))
        amp.atomic_exchange(status[number, 2 * k + 1], flag | (bits >> 16))


@amp.func
def publish_if_empty(status: Any, number: Any, value: Any, flag: Any) -> None:
    """Publishes the total of another tile, unless that has published something itself."""
    for k, bits in enumerate(amp.to_words(value)):
        empty = amp.uint32(0)
        amp.atomic_compare_exchange(status[number, 2 * k], empty, flag | (bits & 0xFFFF))
        empty = amp.uint32(0)
        amp.atomic_compare_exchange(status[number, 2 * k + 1], empty, flag | (bits >> 16))


@amp.func
def published(status: Any, number: Any, like: Any, *, by_loads: amp.constant = False) -> Any:
    """``(flag, value)`` of a tile; the flag is 0 until all words are of one kind.

    ``by_loads``: by loads, which serve many tiles that look at the same one sooner.  The looks of :func:`carry` are
    sooner by atomic operations.
    """
    bits = amp.private(len(amp.to_words(like)), amp.uint32)
    any_ = amp.uint32(0)
    all_ = amp.uint32(3)
    for k in amp.static_range(len(bits)):
        if by_loads:
            low = amp.atomic_load(status[number, 2 * k], "relaxed")
            high = amp.atomic_load(status[number, 2 * k + 1], "relaxed")
        else:
            low = amp.atomic_fetch_or(status[number, 2 * k], 0)
            high = amp.atomic_fetch_or(status[number, 2 * k + 1], 0)
        bits[k] = (low & 0xFFFF) | (high & 0xFFFF) << 16
        any_ |= low >> 30 | high >> 30
        all_ &= low >> 30 & high >> 30
    return all_ if all_ == any_ else amp.uint32(0), amp.from_words(type(like), bits)


@amp.func
def _look(status: Any, left: Any, has: Any, own: Any, op: Any, before: Any, state: Any) -> None:
    """One thread combines the tiles before ``left``, as far as they are there."""
    looks = 0
    while left > 0 and looks < _LOOKS:
        flag, value = published(status, left - 1, own)
        if flag == 0:
            looks += 1
        else:
            own = op(value, own) if has else value.copy()
            has = True
            left = left - 1 if flag == 1 else 0
            looks = 0
    before[0] = own
    state[0] = left
    state[1] = left - 1
    state[2] = 1 if has else 0


@amp.func
def _look_at_many(
    t_idx: Any, status: Any, left: Any, has: Any, own: Any, op: Any, before: Any, state: Any
) -> None:  # fmt: skip
    """The threads of a subgroup each look at one tile before ``left``, the last thread at the nearest."""
    lane = amp.subgroup.lane()
    # The first subgroup of a small tile has fewer threads.
    size = min(amp.subgroup.size(), math.prod(t_idx.tile_extent))
    looks = 0
    missing = 0
    while left > 0 and looks < _LOOKS:
        at = left - size + lane
        # All lanes look, without a branch.
        flag, value = published(status, max(at, 0), own)
        flag = flag if at >= 0 else amp.uint32(1)
        # Nothing before the last prefix is needed. By ballots: NVIDIA's driver gives wrong largest lanes here.
        first = amp.subgroup.ballot_find_msb(amp.subgroup.ballot(flag == 2))
        empty = amp.subgroup.ballot_find_msb(amp.subgroup.ballot(flag == 0 and lane > first))
        if empty < 0:
            start = max(first, 0)
            needed = amp.subgroup.shuffle(value, min(start + lane, size - 1))
            combined = amp.subgroup.broadcast(amp.subgroup.inclusive_scan(needed, op), size - 1 - start)
            own = op(combined, own) if has else combined
            has = True
            left = 0 if first >= 0 else left - size
            looks = 0
        else:
            missing = left - size + empty
            looks += 1
    if lane == 0:
        before[0] = own
        state[0] = left
        state[1] = missing
        state[2] = 1 if has else 0
