"""Size classes and the pool of free memory blocks, independent of drivers and engines."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, Protocol, TypeVar

_SMALLEST = 256
#: From this size on a block has the requested size: waste would cost more than a miss of the pool.
_EXACT_FROM = 16 << 20


def size_class(nbytes: int, largest: int) -> int:
    """The block size in bytes for ``nbytes``: a multiple of 4, at most a quarter more, at most ``largest``.

    Four classes per power of two; sizes under 256 bytes share one, sizes from 16 MiB are exact.
    """
    words = -(-nbytes // 4) * 4
    if words >= _EXACT_FROM:
        return words
    if words <= _SMALLEST:
        return min(_SMALLEST, largest)
    step = 1 << ((words - 1).bit_length() - 3)
    return max(words, min(-(-words // step) * step, largest))


class PooledBlock(Protocol):
    """An item of a pool: ``id`` is unique and orders the blocks; blocks of the same ``group`` are interchangeable."""

    @property
    def id(self) -> int:
        """The block's number."""

    @property
    def group(self) -> Hashable:
        """Blocks of one group are interchangeable."""

    @property
    def nbytes(self) -> int:
        """The block's size in bytes."""


B = TypeVar("B", bound=PooledBlock)


class Pool(Generic[B]):
    """Free blocks by group, at most ``capacity`` bytes of them.

    ``take`` returns the block with the smallest id, not the one freed last. A loop that allocates and frees in any
    order then gets the same blocks in the same order in every iteration, so that what was compiled for them can be used
    again.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.nbytes = 0
        self._free: OrderedDict[int, B] = OrderedDict()
        self._groups: dict[Hashable, list[int]] = {}

    def __len__(self) -> int:
        return len(self._free)

    def __iter__(self) -> Iterator[B]:
        return iter(self._free.values())

    def has_free(self, group: Hashable) -> bool:
        """Whether there is a free block of ``group``."""
        return bool(self._groups.get(group))

    def take(self, group: Hashable) -> B | None:
        """Removes and returns a free block of ``group``; None if there is none."""
        ids = self._groups.get(group)
        if not ids:
            return None
        block = self._free.pop(heapq.heappop(ids))
        self.nbytes -= block.nbytes
        return block

    def put(self, block: B) -> list[B]:
        """Adds ``block``; returns the blocks, least recently used first, that no longer fit and must be destroyed."""
        self._free[block.id] = block
        self.nbytes += block.nbytes
        heapq.heappush(self._groups.setdefault(block.group, []), block.id)
        return self.trim(self.capacity)

    def trim(self, capacity: int = 0) -> list[B]:
        """Removes blocks, least recently used first, until at most ``capacity`` bytes are left; returns them."""
        out = []
        while self._free and self.nbytes > capacity:
            _, block = self._free.popitem(last=False)
            self.nbytes -= block.nbytes
            ids = self._groups[block.group]
            ids.remove(block.id)
            heapq.heapify(ids)
            out.append(block)
        return out
