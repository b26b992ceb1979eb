"""Shadows of memory: the last accesses of each word, and which accesses race. A shadow stores for each word its last
access, as ``thread * sites + site``. Between threads of a tile the records live until a barrier whose fence covers the
memory; between tiles they live for the whole launch.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from vkamp.sim.faults import FaultReporter, Thread


class Shadow(ABC):
    """Checks the accesses to one piece of memory: each method records an access and returns the word."""

    @abstractmethod
    def read(self, thread: Thread, site: int, word: int) -> int:
        """Records a plain read."""

    @abstractmethod
    def write(self, thread: Thread, site: int, word: int) -> int:
        """Records a plain write."""

    @abstractmethod
    def atomic(self, thread: Thread, site: int, word: int) -> int:
        """Records an atomic update."""

    @abstractmethod
    def clear(self) -> None:
        """A barrier that orders this memory, or a new tile."""


@dataclass
class Clock:
    """Ticks of the running tile: one for each fence or barrier."""

    tick: int = 0
    barriers: list[int] = field(default_factory=list)
    threads: Sequence[Thread] = ()

    def restart(self, threads: Sequence[Thread]) -> None:
        """A new tile begins."""
        self.tick = 0
        self.barriers.clear()
        self.threads = threads
        for thread in threads:
            thread.fences = ([], [])

    def fence(self, thread: Thread, orders_global: bool, orders_tile_static: bool) -> None:
        """A thread passes a fence that does not wait."""
        self.tick += 1
        if orders_global:
            thread.fences[0].append(self.tick)
        if orders_tile_static:
            thread.fences[1].append(self.tick)

    def barrier(self) -> None:
        """The whole tile passes a barrier."""
        self.tick += 1
        self.barriers.append(self.tick)

    def ordered(self, since: int, writer: Thread, reader: Thread, space: int) -> bool:
        """Whether fences of both threads and a barrier order an access at ``since`` before now.

        That is a wait in two steps: a fence, then a barrier whose fence covers other memory.
        """
        for position, barrier in enumerate(self.barriers):
            before = self.barriers[position - 1] if position else -1
            released = any(since < f < barrier for f in writer.fences[space])
            if released and any(f > before for f in reader.fences[space]):
                return True
        return False


# -- shadows ---------------------------------------------------------------------------------------


class OwnerShadow(Shadow):
    """The last accesses of each word: checks accesses of different owners, which are the threads of a tile or the tiles
    of a launch. ``per_owner``: the number of codes of one owner. Two records for reads and two for atomics suffice: a
    writer conflicts with the record of any other owner, and at least one of two different owners is another one. With
    ``outer``, the first access of each kind is also checked there.
    """

    def __init__(self, judge: FaultReporter, per_owner: int, outer: Shadow | None = None) -> None:
        self.judge = judge
        self.per_owner = per_owner
        self.outer = outer
        self.written: dict[int, int] = {}
        self.reads: dict[int, int] = {}
        self.reads_too: dict[int, int] = {}
        self.atomics: dict[int, int] = {}
        self.atomics_too: dict[int, int] = {}
        self.tables = (self.written, self.reads, self.reads_too, self.atomics, self.atomics_too)

    def read(self, thread: Thread, site: int, word: int) -> int:
        """Records a plain read and returns the word."""
        if self._is_first(self.reads, self.reads_too, thread, site, word) and self.outer is not None:
            self.outer.read(thread, site, word)
        return word

    def write(self, thread: Thread, site: int, word: int) -> int:
        """Records a plain write and returns the word."""
        code, per_owner = thread.base + site, self.per_owner
        for table in self.tables:
            other = table.get(word)
            if other is not None and other // per_owner != code // per_owner:
                self.conflict(word, other, thread, site)
        if self.outer is not None and word not in self.written:
            self.outer.write(thread, site, word)
        self.written[word] = code
        return word

    def atomic(self, thread: Thread, site: int, word: int) -> int:
        """Records an atomic update and returns the word."""
        if self._is_first(self.atomics, self.atomics_too, thread, site, word) and self.outer is not None:
            self.outer.atomic(thread, site, word)
        return word

    def _is_first(self, first: dict[int, int], second: dict[int, int], thread: Thread, site: int, word: int) -> bool:
        """Checks an access against the plain writes, and records it; returns whether it is the first of its kind."""
        code, per_owner = thread.base + site, self.per_owner
        writer = self.written.get(word)
        if writer is not None and writer // per_owner != code // per_owner:
            self.conflict(word, writer, thread, site)
        other = first.get(word)
        if other is None:
            first[word] = code
        elif other // per_owner != code // per_owner:
            second[word] = code
        return other is None

    def conflict(self, word: int, earlier: int, thread: Thread, site: int) -> None:
        """Reports two accesses of different owners, one of which is a plain write."""
        self.judge.race(word, earlier, thread, site)


class LaunchShadow(OwnerShadow):
    """Checks accesses of different tiles in the whole launch."""

    def __init__(self, judge: FaultReporter) -> None:
        super().__init__(judge, len(judge.sites) * judge.grid.threads)

    def clear(self) -> None:
        """Nothing orders accesses of different tiles."""


class TileShadow(OwnerShadow):
    """Checks accesses of the threads of one tile since the last barrier that orders this memory."""

    def __init__(self, judge: FaultReporter, launch: LaunchShadow | None) -> None:
        self.sites = len(judge.sites)
        super().__init__(judge, self.sites, launch)

    def clear(self) -> None:
        """A barrier orders all accesses before it before all accesses after it."""
        for table in self.tables:
            table.clear()


class FencedShadow(TileShadow):
    """The shadow for kernels in which separate fences and barriers may order this memory together.

    ``space``: 0 global, 1 tile_static memory.
    """

    def __init__(self, judge: FaultReporter, launch: LaunchShadow | None, clock: Clock, space: int) -> None:
        super().__init__(judge, launch)
        self.clock = clock
        self.space = space
        self.ticks: dict[tuple[int, int], int] = {}

    def clear(self) -> None:
        super().clear()
        self.ticks.clear()

    def read(self, thread: Thread, site: int, word: int) -> int:
        before = self.reads.get(word)
        super().read(thread, site, word)
        self._latest(self.reads, self.reads_too, before, thread, site, word)
        return word

    def write(self, thread: Thread, site: int, word: int) -> int:
        super().write(thread, site, word)
        self._stamp(thread, site, word)
        return word

    def atomic(self, thread: Thread, site: int, word: int) -> int:
        before = self.atomics.get(word)
        super().atomic(thread, site, word)
        self._latest(self.atomics, self.atomics_too, before, thread, site, word)
        return word

    def _latest(
        self,
        first: dict[int, int],
        second: dict[int, int],
        before: int | None,
        thread: Thread,
        site: int,
        word: int,
    ) -> None:
        """Stores the latest accesses of two threads; a later write must be ordered after them."""
        if before is not None and before // self.sites != thread.number:
            second[word] = before
        first[word] = self._stamp(thread, site, word)

    def _stamp(self, thread: Thread, site: int, word: int) -> int:
        code = thread.base + site
        self.ticks[word, code] = self.clock.tick
        return code

    def conflict(self, word: int, earlier: int, thread: Thread, site: int) -> None:
        other = self.clock.threads[earlier // self.sites % len(self.clock.threads)]
        if not self.clock.ordered(self.ticks[word, earlier], other, thread, self.space):
            super().conflict(word, earlier, thread, site)
