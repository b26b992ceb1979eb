"""Which work may run concurrently: work that does not write what other work reads or writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from vkamp.lang.region import Footprint

#: The accessed parts of a memory block; None for the whole block.
Regions = tuple[Footprint, ...] | None

#: If there are more parts, the whole block counts as accessed.
_MANY = 256


class Access(NamedTuple):
    """What a piece of work reads and writes: memory blocks by id, and the parts of them. A block may be in both."""

    reads: Mapping[int, Regions]
    writes: Mapping[int, Regions]

    @property
    def all(self) -> frozenset[int]:
        """All accessed blocks."""
        return frozenset(self.reads) | frozenset(self.writes)

    def conflicts(self, other: Access) -> bool:
        """Whether the order of the two matters."""
        return _meet(self.writes, other.writes) or _meet(self.writes, other.reads) or _meet(self.reads, other.writes)


NOTHING = Access({}, {})


def _meet(one: Mapping[int, Regions], other: Mapping[int, Regions]) -> bool:
    """Whether the two have bytes in common."""
    if one.keys().isdisjoint(other.keys()):
        return False
    if len(other) < len(one):
        one, other = other, one
    return any(block in other and _overlap(regions, other[block]) for block, regions in one.items())


def _overlap(one: Regions, other: Regions) -> bool:
    """Whether parts of the same block have bytes in common."""
    if one is None or other is None:
        return True
    return any(a.meets(b) for a in one for b in other)


def access_of(blocks: Sequence[int], writes: Sequence[bool], regions: Sequence[Regions] = ()) -> Access:
    """The access of a dispatch: for each of its buffers the block, whether it may be written, and its parts."""
    reads: dict[int, Regions] = {}
    written: dict[int, Regions] = {}
    for position, block in enumerate(blocks):
        (written if writes[position] else reads)[block] = regions[position] if regions else None
    if len(reads) + len(written) != len(blocks) or not reads.keys().isdisjoint(written.keys()):
        # A block that is bound more than once, and written through one of the bindings, counts as written in all.
        for block in (block for block in {*blocks} if blocks.count(block) > 1):
            if block in written:
                reads.pop(block, None)
                written[block] = None
            else:
                reads[block] = None
    return Access(reads, written)


def joint(accesses: Iterable[Access]) -> Access:
    """What several pieces of work read and write together."""
    reads: dict[int, Regions] = {}
    writes: dict[int, Regions] = {}
    for access in accesses:
        _add(reads, access.reads)
        _add(writes, access.writes)
    return Access(reads, writes)


def _add(into: dict[int, Regions], more: Mapping[int, Regions]) -> None:
    for block, regions in more.items():
        if block not in into:
            into[block] = regions
            continue
        before = into[block]
        if before is None or regions is None:
            into[block] = None
        elif before != regions:
            together = (*before, *(each for each in regions if each not in before))
            into[block] = together if len(together) <= _MANY else None


#: For the parts of a block the first group after their last use.
_Uses = dict[int, dict[Regions, int]]


def _after(uses: _Uses, block: int, regions: Regions) -> int:
    """The first group after all uses of these parts."""
    known = uses.get(block)
    if known is None:
        return 0
    return max((group for parts, group in known.items() if _overlap(parts, regions)), default=0)


def levels(accesses: Sequence[Access]) -> list[list[int]]:
    """Groups of positions in ``accesses``: no two of a group conflict, and conflicting ones keep their order.

    Each goes into the earliest group that its predecessors allow, so that interleaved independent chains share groups.
    """
    if len(accesses) < 2:
        return [[0]] if accesses else []
    written: _Uses = {}
    read: _Uses = {}
    groups: list[list[int]] = []
    for position, access in enumerate(accesses):
        level = 0
        for block, regions in access.reads.items():
            level = max(level, _after(written, block, regions))
        for block, regions in access.writes.items():
            level = max(level, _after(written, block, regions), _after(read, block, regions))
        for block, regions in access.reads.items():
            known = read.setdefault(block, {})
            known[regions] = max(known.get(regions, 0), level + 1)
        for block, regions in access.writes.items():
            if regions is None:
                written[block] = {None: level + 1}  # It comes after all others.
            else:
                written.setdefault(block, {})[regions] = level + 1
        if level == len(groups):
            groups.append([])
        groups[level].append(position)
    return groups
