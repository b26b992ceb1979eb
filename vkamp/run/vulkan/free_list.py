"""Ranges of a block of memory, independent of Vulkan."""

from __future__ import annotations

from bisect import bisect_left


class FreeList:
    """The free ranges of a block of ``size`` units, sorted; neighbours are always joined.

    ``take`` uses the start of the first range that fits, so that equal requests get equal ranges.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._starts = [0] if size else []
        self._lengths = [size] if size else []

    @property
    def free(self) -> int:
        """The number of free units in all ranges."""
        return sum(self._lengths)

    @property
    def is_empty(self) -> bool:
        """Whether all units are free."""
        return self._lengths == [self.size] or not self.size

    def take(self, length: int, alignment: int) -> int | None:
        """The start of ``length`` (1 or more) units that were free, a multiple of ``alignment``; None if there are none
        in one piece.
        """
        for at, (start, room) in enumerate(zip(self._starts, self._lengths, strict=True)):
            aligned = -(-start // alignment) * alignment
            if aligned + length <= start + room:
                before, after = aligned - start, start + room - (aligned + length)
                pieces = [(start, before), (aligned + length, after)]
                self._replace(at, at + 1, [piece for piece in pieces if piece[1]])
                return aligned
        return None

    def give_back(self, start: int, length: int) -> None:
        """Frees what ``take`` returned, as a whole or in parts."""
        at = bisect_left(self._starts, start)
        first, last, end = at, at, start + length
        if at and self._starts[at - 1] + self._lengths[at - 1] >= start:
            first = at - 1
        if at < len(self._starts) and self._starts[at] <= end:
            last = at + 1
        touching = list(zip(self._starts[first:last], self._lengths[first:last], strict=True))
        if start < 0 or end > self.size or any(s < end and start < s + n for s, n in touching):
            raise ValueError(f"{start} to {end} is not allocated")
        start = min([start, *(s for s, _ in touching)])
        end = max([end, *(s + n for s, n in touching)])
        self._replace(first, last, [(start, end - start)])

    def _replace(self, first: int, last: int, ranges: list[tuple[int, int]]) -> None:
        self._starts[first:last] = [start for start, _ in ranges]
        self._lengths[first:last] = [length for _, length in ranges]
