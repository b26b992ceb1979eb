"""The accesses of a tile's threads to shared memory since the last barrier that orders it, and whether two conflict.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from vkamp.check.lanes import Lanes, Mask, Number, difference
from vkamp.errors import Span
from vkamp.ir import nodes

__all__ = ["Access", "Conflict", "Pending", "Root", "Space", "Step", "conflict", "excluded", "joined"]

Space = Literal["tile_static", "global"]
#: Shared memory: its space, and the name of the tile_static variable or container.
Root = tuple[Space, str]
#: A statement on the way to an access, and which round of it, of a loop.
Step = tuple[nodes.Stmt, int]

_serials = itertools.count(1)
_TABLE = 1 << 15


@dataclass(frozen=True, eq=False)
class Access:
    """One access, by those threads of the tile that get to it.

    ``index``: per dimension the number, or ``None``.  ``words``: which 32-bit words of the element; all of them
    certainly if ``exact``.  No thread outside ``may`` makes it; those of ``must`` do where the code around is reached
    with ``guards`` holding.  ``chosen``: what lies in tile_static memory tells each thread whether to make it.
    ``maybe``: a barrier may have ended its interval.  ``shared_store``: told of otherwise.
    """

    root: Root
    extents: tuple[int, ...] | None
    kind: Literal["read", "write", "atomic"]
    place: nodes.Place
    index: tuple[Number | None, ...]
    words: frozenset[int]
    exact: bool
    may: Mask
    must: Mask
    guards: frozenset[tuple[int, bool]]
    span: Span
    path: tuple[Step, ...]
    chosen: bool = False
    maybe: bool = False
    shared_store: bool = False
    serial: int = field(default_factory=lambda: next(_serials))


@dataclass(frozen=True, eq=False)
class Conflict:
    """Two accesses of one interval to one element by the threads ``now`` and ``before``, numbers in the tile."""

    later: Access
    earlier: Access
    now: int
    before: int


class Pending:
    """What happened since the last ordering barrier, on the way to one program point.

    ``touched``: spaces with any access since. ``open``: barriers that accesses came before, by space.
    """

    def __init__(self) -> None:
        self.accesses: dict[Root, dict[int, Access]] = {}
        self.epochs: dict[Space, int] = {"tile_static": 0, "global": 0}
        self.touched: set[Space] = set()
        self.open: dict[Space, set[int]] = {"tile_static": set(), "global": set()}

    def copy(self) -> Pending:
        """An independent copy."""
        made = Pending()
        made.accesses = {root: dict(table) for root, table in self.accesses.items()}
        made.epochs = dict(self.epochs)
        made.touched = set(self.touched)
        made.open = {space: set(ids) for space, ids in self.open.items()}
        return made

    def become(self, other: Pending) -> None:
        """Take over what another one holds."""
        self.accesses, self.epochs = other.accesses, other.epochs
        self.touched, self.open = other.touched, other.open

    def clear(self, space: Space) -> None:
        """A barrier orders the space."""
        for root in [root for root in self.accesses if root[0] == space]:
            del self.accesses[root]
        self.epochs[space] = next(_serials)
        self.touched.discard(space)

    def add(self, access: Access) -> None:
        """One more access."""
        self.accesses.setdefault(access.root, {})[access.serial] = access

    def of(self, root: Root) -> Iterable[Access]:
        """The accesses to one piece of memory."""
        return self.accesses.get(root, {}).values()


def joined(ways: list[tuple[Pending, frozenset[tuple[int, bool]], bool]]) -> Pending:
    """Where ways meet, each with its guards and whether it goes on from here.

    An access that a barrier ended on one of the ways that go on is in the interval only maybe.
    """
    result = Pending()
    lives = [(pending, guards) for pending, guards, live in ways if live]
    for pending, _, _ in ways:
        result.touched |= pending.touched
        for space, ids in pending.open.items():
            result.open[space] |= ids
        for root, table in pending.accesses.items():
            into = result.accesses.setdefault(root, {})
            for serial, access in table.items():
                if serial not in into or access.maybe:
                    into[serial] = access
    for space in result.epochs:
        epochs = {pending.epochs[space] for pending, _, _ in ways}
        result.epochs[space] = epochs.pop() if len(epochs) == 1 else next(_serials)
        if not epochs:
            continue
        for root, table in result.accesses.items():
            if root[0] != space:
                continue
            for serial, access in table.items():
                if not access.maybe and any(
                    serial not in pending.accesses.get(root, {}) and not excluded(guards, access.guards)
                    for pending, guards in lives
                ):
                    table[serial] = replace(access, maybe=True)
    return result


def excluded(left: frozenset[tuple[int, bool]], right: frozenset[tuple[int, bool]]) -> bool:
    """Whether the two sets of conditions cannot hold together."""
    return any((symbol, not holds) in right for symbol, holds in left)


def conflict(later: Access, earlier: Access) -> tuple[bool, Conflict | None]:
    """Whether two accesses of one interval may conflict, and two threads for which they certainly do."""
    if later.kind != "write" and earlier.kind != "write":
        return False, None
    if not later.words & earlier.words or excluded(later.guards, earlier.guards):
        return False, None
    pairs, certain = _comparable(later, earlier)
    if not _collisions(pairs, later.may, earlier.may, first=False):
        return False, None
    nested = later.guards <= earlier.guards or earlier.guards <= later.guards
    doubtful = (
        (later.maybe or earlier.maybe)
        or (later.shared_store or earlier.shared_store)
        or (later.chosen and earlier.chosen)
    )
    if doubtful or not (certain and nested and later.exact and earlier.exact):
        return True, None
    found = _collisions(pairs, later.must, earlier.must, first=True)
    return True, Conflict(later, earlier, *found) if found else None


def _comparable(later: Access, earlier: Access) -> tuple[list[tuple[int | Lanes, int | Lanes, int | None]], bool]:
    """The dimensions whose indices differ by known numbers, as (later, earlier, extent); whether those are all."""
    pairs: list[tuple[int | Lanes, int | Lanes, int | None]] = []
    certain = True
    for dim, (mine, other) in enumerate(zip(later.index, earlier.index, strict=True)):
        if mine is None or other is None or mine.terms != other.terms:
            certain = False
            continue
        extent = later.extents[dim] if later.extents is not None and mine.known else None
        if mine.known:
            pairs.append((mine.lane, other.lane, extent))
        else:
            # Both modulo 2**32: numbers near each other stay so.
            base = Number(_first(other.lane), 0, 0)
            pairs.append((difference(mine, base).lane, difference(other, base).lane, None))
    return pairs, certain


def _first(lane: int | Lanes) -> int:
    return lane if isinstance(lane, int) else int(lane[0])


def _collisions(
    pairs: list[tuple[int | Lanes, int | Lanes, int | None]], mine: Mask, others: Mask, *, first: bool
) -> tuple[int, int] | None:
    """Two different threads, one of each mask, whose indices are equal; the lowest if ``first``."""
    count = len(mine)
    left, right = np.zeros(count, np.int64), np.zeros(count, np.int64)
    size = 1
    for x, y, extent in pairs:
        if extent is not None:
            # An index out of bounds is another mistake.
            mine = mine & (x >= 0) & (x < extent)
            others = others & (y >= 0) & (y < extent)
            low, span = 0, extent
        else:
            low = int(min(np.min(x), np.min(y)))
            span = int(max(np.max(x), np.max(y))) - low + 1
        if size * span >= 1 << 62:
            _, codes = np.unique(np.concatenate([left, right]), return_inverse=True)
            left, right, size = codes[:count], codes[count:], 2 * count
        left, right = left * span + (x - low), right * span + (y - low)
        size *= span
    here, there = np.flatnonzero(mine), np.flatnonzero(others)
    if not len(here) or not len(there):
        return None
    left, right = left[here], right[there]
    if size > _TABLE:
        _, codes = np.unique(np.concatenate([left, right]), return_inverse=True)
        left, right, size = codes[: len(here)], codes[len(here) :], 2 * count
    lowest, highest = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    lowest[right[::-1]] = there[::-1]
    highest[right] = there
    low_thread, high_thread = lowest[left], highest[left]
    other = np.where(low_thread != here, low_thread, high_thread)
    hits = np.flatnonzero((other >= 0) & (other != here))
    if not len(hits):
        return None
    hit = hits[0]
    return int(here[hit]), int(other[hit])
