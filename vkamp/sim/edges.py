"""The order that releases and acquires make between threads: vector clocks (C. Fidge, 1988; F. Mattern, 1989).

Each thread counts its releases and barriers. An access has the count of its thread. A release stores the clock of its
thread for its element; an acquire of the element merges this clock into that of its thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vkamp.sim.faults import NOWHERE, Thread
from vkamp.sim.shadow import FencedShadow, LaunchShadow, OwnerShadow, TileShadow

if TYPE_CHECKING:
    from typing_extensions import Self


class VectorClocks:
    """The vector clocks of the threads of a launch, by their numbers."""

    def __init__(self, sites: int) -> None:
        self.sites = sites
        self.counts: dict[int, int] = {}
        self.known: dict[int, dict[int, int]] = {}
        self.released: dict[tuple[str, int], dict[int, int]] = {}

    def release(self, thread: Thread, name: str, word: int) -> None:
        """A thread releases a word, with everything before the store."""
        self.released[name, word] = self._closed(thread.number)

    def acquire(self, thread: Thread, name: str, word: int) -> None:
        """A thread acquires a word, with everything before its store."""
        _join(self.known.setdefault(thread.number, {}), self.released.get((name, word), {}))

    def barrier(self, threads: Sequence[Thread]) -> None:
        """All threads of a tile pass a barrier that orders the memory of containers."""
        together: dict[int, int] = {}
        for thread in threads:
            _join(together, self._closed(thread.number))
        for thread in threads:
            self.known[thread.number] = dict(together)

    def stamp(self, thread: Thread) -> int:
        """The count of an access at this point."""
        return self.counts.get(thread.number, 0)

    def ordered(self, since: int, earlier: int, thread: Thread) -> bool:
        """Whether an access of thread ``earlier`` with the count ``since`` is ordered before this point."""
        return self.known.get(thread.number, {}).get(earlier, -1) >= since

    def _closed(self, number: int) -> dict[int, int]:
        """The clock of a thread including its accesses so far; later accesses have another count."""
        count = self.counts.get(number, 0)
        self.counts[number] = count + 1
        return {**self.known.get(number, {}), number: count}


def _join(into: dict[int, int], other: dict[int, int]) -> None:
    for number, count in other.items():
        into[number] = max(count, into.get(number, -1))


class _Edged(OwnerShadow):
    """A shadow for kernels with acquires and releases."""

    edges: VectorClocks

    def with_edges(self, edges: VectorClocks) -> Self:
        """The shadow itself."""
        self.edges = edges
        self.stamps: dict[tuple[int, int], int] = {}
        return self

    def read(self, thread: Thread, site: int, word: int) -> int:
        return self._noted(super().read, thread, site, word)

    def write(self, thread: Thread, site: int, word: int) -> int:
        return self._noted(super().write, thread, site, word)

    def atomic(self, thread: Thread, site: int, word: int) -> int:
        return self._noted(super().atomic, thread, site, word)

    def _noted(self, judged: Callable[[Thread, int, int], int], thread: Thread, site: int, word: int) -> int:
        if word is not NOWHERE:
            judged(thread, site, word)
            self.stamps[word, thread.base + site] = self.edges.stamp(thread)
        return word

    def conflict(self, word: int, earlier: int, thread: Thread, site: int) -> None:
        since = self.stamps.get((word, earlier), 0)
        if not self.edges.ordered(since, earlier // self.edges.sites, thread):
            super().conflict(word, earlier, thread, site)


class EdgedLaunchShadow(_Edged, LaunchShadow):
    """Like ``LaunchShadow``."""


class EdgedTileShadow(_Edged, TileShadow):
    """Like ``TileShadow``."""


class EdgedFencedShadow(_Edged, FencedShadow):
    """Like ``FencedShadow``."""
