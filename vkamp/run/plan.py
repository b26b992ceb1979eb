"""Which dispatches may run side by side: those of which none writes what another reads or
writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Access", "levels"]


class Access(NamedTuple):
    """What a piece of work reads and writes, as ids of memory blocks; a block may be in both."""

    reads: frozenset[int]
    writes: frozenset[int]

    @property
    def all(self) -> frozenset[int]:
        """Every block touched."""
        return self.reads | self.writes

    def conflicts(self, other: Access) -> bool:
        """Whether the order of the two matters."""
        return not (
            self.writes.isdisjoint(other.writes)
            and self.writes.isdisjoint(other.reads)
            and self.reads.isdisjoint(other.writes)
        )


def levels(accesses: Sequence[Access]) -> list[list[int]]:
    """Groups of positions in ``accesses``: no two of a group conflict, and conflicting ones keep
    their order.

    Each goes into the earliest group that its predecessors allow, so that interleaved independent
    chains share groups.
    """
    if len(accesses) < 2:
        return [[0]] if accesses else []
    written: dict[int, int] = {}  # block -> first group after its last write
    read: dict[int, int] = {}  # block -> first group after its last read
    groups: list[list[int]] = []
    for position, access in enumerate(accesses):
        level = 0
        for block in access.all:
            level = max(level, written.get(block, 0))
        for block in access.writes:
            level = max(level, read.get(block, 0))
        for block in access.reads:
            read[block] = max(read.get(block, 0), level + 1)
        for block in access.writes:
            written[block] = level + 1
        if level == len(groups):
            groups.append([])
        groups[level].append(position)
    return groups
