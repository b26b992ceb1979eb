"""Subgroups of the running tile: adjacent threads that wait for each other at subgroup functions."""

from __future__ import annotations

from collections.abc import Sequence

from vkamp.ir import nodes as ir
from vkamp.ir.subgroups import SUBGROUPS
from vkamp.sim.faults import FaultReporter, Thread
from vkamp.sim.program import TranslatedProgram


class Meetings:
    """The threads that wait at a subgroup function for the others of their subgroup.

    Subgroups have ``size`` lanes, filled with the threads in the order of their local indices; the last one of a tile
    may have fewer threads.
    """

    def __init__(self, program: TranslatedProgram, judge: FaultReporter, threads: Sequence[Thread], size: int) -> None:
        self._program = program
        self._judge = judge
        self._threads = threads
        self._size = size
        #: The place where each thread waits, per subgroup.
        self._arrived: dict[int, dict[int, int]] = {}
        for number, thread in enumerate(threads):
            thread.subgroup, thread.lane = divmod(number, size)

    @property
    def size(self) -> int:
        """The lanes of a subgroup."""
        return self._size

    @property
    def count(self) -> int:
        """The subgroups of a tile."""
        return -(-len(self._threads) // self._size)

    def _members(self, subgroup: int) -> range:
        first = subgroup * self._size
        return range(first, min(first + self._size, len(self._threads)))

    def arrive(self, number: int, site: int) -> Sequence[int]:
        """A thread of the tile reaches a place; returns the threads that can continue now."""
        subgroup = self._threads[number].subgroup
        arrived = self._arrived.setdefault(subgroup, {})
        arrived[number] = site
        members = self._members(subgroup)
        if len(arrived) < len(members) or len(set(arrived.values())) > 1:
            return ()
        del self._arrived[subgroup]
        self._meet([self._threads[i] for i in members], site)
        return members

    def stuck(self) -> dict[int, int]:
        """The threads that wait for others in vain, and where; clears the list."""
        found = {number: site for arrived in self._arrived.values() for number, site in arrived.items()}
        self._arrived.clear()
        return found

    def missing(self, number: int, stuck: dict[int, int]) -> int:
        """A thread that does not reach the place where a stuck thread waits."""
        members = self._members(self._threads[number].subgroup)
        return next(i for i in members if stuck.get(i) != stuck[number])

    def _meet(self, threads: Sequence[Thread], site: int) -> None:
        """Passes each thread of a subgroup its result of the function."""
        node = self._program.meetings[site]
        if isinstance(node, ir.MatrixOperation):
            return  # Each thread goes on with the elements of its lane.
        row = SUBGROUPS[node.name]
        given = [thread.given for thread in threads]
        if row.reference is not None:
            kind = str(node.args[0].type) if node.args else ""
            for thread, result in zip(threads, row.reference(given, kind, self._size), strict=True):
                thread.got = result
            return
        assert row.source is not None
        for thread, (_, operand) in zip(threads, given, strict=True):
            lane = row.source(thread.lane, operand, self._size)
            inside = lane < len(threads)
            thread.got = given[lane][0] if inside else self._judge.lane(thread, site, lane, len(threads))
