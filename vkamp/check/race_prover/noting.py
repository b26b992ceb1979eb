"""Records the accesses to shared memory, and compares each with those with which it may conflict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from vkamp.check.race_prover.accesses import Root, SharedAccess, Space, conflict
from vkamp.check.race_prover.affine import AffineValue
from vkamp.check.race_prover.run import Run
from vkamp.ir import nodes as ir
from vkamp.ir.types import Array, Struct, Type, Vector

#: The maximum number of accesses that are compared one by one; beyond it, the result is unknown.
COMPARISONS = 600


class AccessNotes:
    """The accesses of a run; ``number`` evaluates an index."""

    def __init__(self, run: Run, number: Callable[[ir.Expr], AffineValue | None]) -> None:
        self.run = run
        self.number = number

    def note(self, kind: Literal["read", "write", "atomic"], place: ir.Place, statement: int = 0) -> None:
        """Record an access to a place; the indices are evaluated."""
        located = self._locate(place)
        if located is None:
            return
        root, index, words, exact = located
        state = self.run.state
        self.use(root[0])
        if root[0] == "global" and root[1] not in self.run.facts.changed:
            return
        made = SharedAccess(
            root=root,
            extents=self.run.shapes[root[1]].shape if root[0] == "tile_static" else None,
            kind=kind,
            place=place,
            index=index,
            words=words,
            exact=exact,
            may=state.may,
            must=state.must,
            guards=state.guards,
            chosen=state.chosen,
            span=replace(place.span, caller=self.run.frame.call),
            path=self.run.path,
            shared_store=statement in self.run.reported_stores,
        )
        if root[0] == "global":
            self.run.partitions[root[1]].note(made, self.run.symbols)
        self._judge(made)

    def use(self, space: Space) -> None:
        """Memory is accessed, so the barriers before are useful."""
        pending = self.run.state.pending
        if pending.open[space]:
            self.run.useful |= pending.open[space]
            pending.open[space].clear()
        pending.touched.add(space)

    def _judge(self, made: SharedAccess) -> None:
        for other in reversed(list(self.run.state.pending.add(made))):
            if made.kind != "write" and other.kind != "write":
                continue
            self.run.compared += 1
            if self.run.compared > COMPARISONS:
                self.run.unknown.add(made.root)
                break
            may, certain = conflict(made, other)
            if may:
                self.run.unknown.add(made.root)
            if certain is not None and made.root[0] in self.run.certain_spaces:
                self.run.found.append(certain)
                self.run.raise_race()

    def _locate(self, place: ir.Place) -> tuple[Root, tuple[AffineValue | None, ...], frozenset[int], bool] | None:
        """The shared memory at a place: the variable, the index, the words of the element, and whether these are
        certain."""
        chain: list[ir.Place] = []
        step = place
        while isinstance(step, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.Reinterpreted, ir.ViewElement)):
            chain.append(step)
            step = step.base
        chain.reverse()
        if isinstance(step, ir.BufferElement):
            root: Root | None = ("global", step.buffer)
            index = tuple(map(self.number, step.indices))
            element: Type = step.type
        else:
            assert isinstance(step, ir.Local)
            root = self.run.root_of(step.variable)
            first = chain[0] if chain else None
            if not isinstance(first, ir.ArrayElement):
                self._evaluate(chain)
                return None
            index = tuple(map(self.number, first.indices))
            element = first.type
            del chain[0]
        members = _Members(element, self.run.unit)
        for link in chain:
            numbers = self._evaluate([link])
            members.enter(link, numbers)
        if root is None:
            return None
        if members.anywhere:
            return root, (None,) * len(index), _Members(element, self.run.unit).words, False
        return root, index, members.words, members.exact

    def _evaluate(self, chain: list[ir.Place]) -> list[AffineValue | None]:
        """The indices on a path of steps."""
        numbers: list[AffineValue | None] = []
        for link in chain:
            if isinstance(link, (ir.ArrayElement, ir.ViewElement)):
                numbers += map(self.number, link.indices)
            if isinstance(link, ir.ViewElement):
                for extent in link.extent:
                    self.number(extent)
            if isinstance(link, ir.Reinterpreted):
                numbers.append(self.number(link.index))
        return numbers


class _Members:
    """The words of an element at the end of a path through its members; ``exact``: all of them are certain."""

    def __init__(self, element: Type, unit: int) -> None:
        self.unit = unit
        self.exact = True
        self.anywhere = False
        #: The possible offsets of the member, and its words from there on.
        self.starts = [0]
        self.own: list[int] = []
        self.type = element
        self._narrow([0], element)

    @property
    def words(self) -> frozenset[int]:
        return frozenset(start + word for start in self.starts for word in self.own)

    def enter(self, link: ir.Place, numbers: list[AffineValue | None]) -> None:
        """One step further."""
        if isinstance(link, ir.Reinterpreted):
            self.anywhere = True
        if self.anywhere:
            return
        if isinstance(link, ir.FieldOf):
            assert isinstance(self.type, Struct)
            member = self.type.field(link.name)
            assert member is not None
            self._narrow([member.offset], member.type)
        elif isinstance(link, ir.ComponentsOf):
            assert isinstance(self.type, Vector)
            step = self.type.element.size // self.unit
            places = [self.type.letters.index(letter) * step for letter in link.letters]
            self.own = [place + more for place in places for more in range(step)]
        elif isinstance(link, ir.ArrayElement):
            assert isinstance(self.type, Array)
            items = [0]
            for index, extent in zip(numbers, self.type.shape, strict=True):
                if index is not None and index.known and isinstance(index.lane, int):
                    items = [item * extent + index.lane for item in items]
                else:
                    self.exact = False
                    items = [item * extent + lane for item in items for lane in range(extent)]
            self._narrow([item * self.type.element.size for item in items], self.type.element)

    def _narrow(self, offsets: list[int], kind: Type) -> None:
        """A step to a part of a member; the part is at one of several offsets in bytes."""
        self.starts = [start + offset // self.unit for start in self.starts for offset in offsets]
        self.own = list(range(kind.size // self.unit))
        self.type = kind
