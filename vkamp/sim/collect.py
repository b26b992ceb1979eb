"""Runs that continue after a finding: collects all findings, and provides memory that tolerates wrong accesses. An
access out of bounds has the address :data:`NOWHERE`: a load from it gives 0, and a store to it is omitted.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

from numpy.typing import NDArray

from vkamp.errors import Span
from vkamp.findings import Finding, in_order
from vkamp.ir.types import Array
from vkamp.sim.faults import NOWHERE, BufferLayout, FaultReporter, Thread
from vkamp.sim.memory import ZEROS, BufferMemory, KernelArray, MemoryRegion
from vkamp.sim.shadow import Clock, Shadow


class Collected:
    """The findings of one launch: the first of each kind at the same places."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, frozenset[Span]], Finding] = {}
        self.ended_tiles: list[tuple[int, ...]] = []

    def add(self, finding: Finding) -> None:
        """Stores a finding unless there is one of the same kind at the same places."""
        self._found.setdefault((finding.kind, frozenset(finding.locations)), finding)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, in the order of the source."""
        return in_order(self._found.values())

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the run could not check."""
        if not self.ended_tiles:
            return ()
        first, count = self.ended_tiles[0], len(self.ended_tiles)
        tiles = f"tile ({', '.join(map(str, first))})" + (f" and {count - 1} more" if count > 1 else "")
        return (f"the rest of {tiles}: it cannot continue past a barrier that not all of its threads reach",)


# -- memory --------------------------------------------------------------------------------------------------------


class _GuardedWords:
    """The words of a region, of one type."""

    __slots__ = ("words", "zero")

    def __init__(self, words: Any, zero: Any) -> None:
        self.words = words
        self.zero = zero

    def __getitem__(self, word: int) -> Any:
        return self.zero if word is NOWHERE else self.words[word]

    def __setitem__(self, word: int, value: Any) -> None:
        if word is not NOWHERE:
            self.words[word] = value


class _GuardedList(list[Any]):
    """The words of a kernel's array."""

    def __getitem__(self, word: Any) -> Any:
        return None if word is NOWHERE else super().__getitem__(word)

    def __setitem__(self, word: SupportsIndex | slice, value: Any) -> None:
        if word is not NOWHERE:
            super().__setitem__(word, value)


class CollectingArray(KernelArray):
    """A private or tile_static array that tolerates wrong accesses."""

    __slots__ = ()

    def __init__(self, kind: Array, shadow: Shadow | None = None, unit: int = 4) -> None:
        super().__init__(kind, shadow, unit)
        self.forget()

    def forget(self) -> None:
        self.mem = _GuardedList([None] * len(self.mem))


class CollectingBuffer(BufferMemory):
    """A captured container that tolerates wrong accesses."""

    def __init__(
        self,
        region: MemoryRegion,
        layout: BufferLayout,
        judge: FaultReporter,
        shadow: Shadow | None,
        array: NDArray[Any],
    ) -> None:
        super().__init__(region, layout, judge, shadow, array)
        guarded: dict[str, _GuardedWords] = {}

        def typed(letter: str) -> _GuardedWords:
            found = guarded.get(letter)
            if found is None:
                found = guarded[letter] = _GuardedWords(region.typed(letter), ZEROS[letter])
            return found

        self.typed = typed

    def inside(self, thread: Thread, site: int, word: int, words: int) -> int:
        if word is not NOWHERE and not (self.low <= word and word + words <= self.high):
            return self.judge.outside(thread, site)
        return word


# -- shadows -------------------------------------------------------------------------------------------------------


class CollectingShadow(Shadow):
    """The threads that accessed each word, by the place in the source: finds the same pairs of places in any order of
    threads. For each word and place, two different threads are enough (between tiles, two of different tiles), since at
    least one of them differs from any later thread. Where separate fences may order accesses, all threads are stored
    with the ticks of their latest access.
    """

    def __init__(self, judge: FaultReporter, *, whole_launch: bool, clock: Clock | None = None, space: int = 0) -> None:
        self.judge = judge
        self.sites = judge.sites
        self.tiled = judge.grid.tiled
        self.clock = clock
        self.space = space
        self.interval: dict[int, dict[int, dict[int, int]]] = {}
        self.launch: dict[int, dict[int, dict[int, int]]] | None = {} if whole_launch else None

    def clear(self) -> None:
        """A barrier orders all accesses before it before all accesses after it."""
        self.interval.clear()

    def read(self, thread: Thread, site: int, word: int) -> int:
        """Records an access of the site's kind, and returns the word."""
        if word is NOWHERE:
            return word
        me = thread.number
        if self.tiled:
            known = self.interval.setdefault(word, {})
            threads = known.get(site)
            if threads is None:
                known[site] = {me: self._now()}
            elif self.clock is not None:
                threads[me] = self._now()
            elif len(threads) > 1 or me in threads:
                # The recorded threads have already revealed all conflicts with this place in this interval.
                return word
            else:
                threads[me] = 0
            self._judge_interval(known, thread, site, word)
            if threads is not None or self.launch is None:
                return word
        if self.launch is not None:
            self._note_in_launch(self.launch, thread, site, word)
        return word

    write = atomic = read

    def _now(self) -> int:
        return self.clock.tick if self.clock is not None else 0

    def _judge_interval(self, known: dict[int, dict[int, int]], thread: Thread, site: int, word: int) -> None:
        me, writes = thread.number, self.sites[site].access == "write"
        for other, threads in known.items():
            if writes or self.sites[other].access == "write":
                for number, tick in threads.items():
                    if number != me and not self._ordered(tick, number, thread):
                        self.judge.race(word, number * len(self.sites) + other, thread, site)
                        break

    def _ordered(self, since: int, number: int, thread: Thread) -> bool:
        if self.clock is None:
            return False
        writer = self.clock.threads[number % len(self.clock.threads)]
        return self.clock.ordered(since, writer, thread, self.space)

    def _note_in_launch(
        self, launch: dict[int, dict[int, dict[int, int]]], thread: Thread, site: int, word: int
    ) -> None:
        """Checks an access against those of other tiles; the records are threads by tile."""
        known = launch.setdefault(word, {})
        tile = thread.tile_number
        tiles = known.setdefault(site, {})
        if len(tiles) > 1 or tile in tiles:
            return
        tiles[tile] = thread.number
        writes = self.sites[site].access == "write"
        for other, those in known.items():
            if writes or self.sites[other].access == "write":
                found = next((number for of, number in those.items() if of != tile), None)
                if found is not None:
                    self.judge.race(word, found * len(self.sites) + other, thread, site)

    def written_by_others(self, word: int, thread: int) -> bool:
        """Whether another thread of the tile stored to a word in this interval."""
        known = self.interval.get(word, {})
        return any(
            self.sites[site].access == "write" and any(number != thread for number in threads)
            for site, threads in known.items()
        )
