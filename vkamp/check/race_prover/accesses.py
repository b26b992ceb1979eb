"""The accesses of a tile's threads to shared memory since the last barrier that orders it, and whether two conflict.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vkamp.check.race_prover.affine import AffineValue, Lanes, Mask, Symbols, difference
from vkamp.errors import Span
from vkamp.ir import nodes as ir

Space = Literal["tile_static", "global"]
#: Shared memory: its space, and the name of the tile_static variable or container.
Root = tuple[Space, str]
#: A statement that contains an access, and the iteration if it is a loop.
Step = tuple[ir.Stmt, int]

_serials = itertools.count(1)
_TABLE = 1 << 15


@dataclass(frozen=True, eq=False)
class SharedAccess:
    """One access, by those threads of the tile that reach it. ``index``: the number for each dimension, or ``None``.
    ``words``: the 32-bit words of the element that may be accessed; all of them certainly are if ``exact``. No thread
    outside ``may`` makes it; those of ``must`` do if the enclosing code is reached and ``guards`` hold. ``chosen``: a
    value in tile_static memory decides whether each thread makes it. ``maybe``: a barrier may have ended the access's
    interval. ``shared_store``: another diagnostic reports it.
    """

    root: Root
    extents: tuple[int, ...] | None
    kind: Literal["read", "write", "atomic"]
    place: ir.Place
    index: tuple[AffineValue | None, ...]
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

    later: SharedAccess
    earlier: SharedAccess
    now: int
    before: int


class MemoryAccesses:
    """The accesses to one tile_static variable or container in one interval.

    For accesses whose elements are all known, ``lowest`` and ``highest`` contain the threads that access each element,
    and those that write it. A comparison with these shows for most accesses that they conflict with none of them.
    """

    def __init__(self) -> None:
        self.accesses: dict[int, SharedAccess] = {}
        #: The accesses whose elements are not all known.
        self.loose: dict[int, SharedAccess] = {}
        #: Per element, the lowest and highest thread: any access, then writes.
        self.tables: tuple[NDArray[np.int16], ...] = ()

    def copy(self) -> MemoryAccesses:
        """An independent copy."""
        made = MemoryAccesses()
        made.accesses, made.loose = dict(self.accesses), dict(self.loose)
        made.tables = tuple(table.copy() for table in self.tables)
        return made

    def merge(self, other: MemoryAccesses) -> None:
        """Adds the accesses of another path."""
        for mine, others in ((self.accesses, other.accesses), (self.loose, other.loose)):
            for serial, access in others.items():
                if serial not in mine or access.maybe:
                    mine[serial] = access
        if not self.tables:
            self.tables = tuple(table.copy() for table in other.tables)
        elif other.tables:
            for at, (table, more) in enumerate(zip(self.tables, other.tables, strict=True)):
                (np.maximum if at % 2 else np.minimum)(table, more, out=table)

    def add(self, access: SharedAccess) -> Collection[SharedAccess]:
        """Record an access; returns the accesses, including itself, with which it may conflict."""
        cells = _cells(access)
        self.accesses[access.serial] = access
        if cells is None:
            self.loose[access.serial] = access
            return self.accesses.values()
        size = math.prod(access.extents or ())
        if not self.tables:
            none = np.iinfo(np.int16)
            self.tables = tuple(np.full(size, none.min if at % 2 else none.max, np.int16) for at in range(4))
        threads = np.flatnonzero(access.may)
        where = cells[threads]
        inside = (where >= 0) & (where < size)
        threads, where = threads[inside].astype(np.int16), where[inside]
        writes = access.kind == "write"
        for at in range(4 if writes else 2):
            table = self.tables[at]
            (np.maximum if at % 2 else np.minimum).at(table, where, threads)
        lowest, highest = self.tables[:2] if writes else self.tables[2:]
        touched = highest[where] >= 0
        clash = touched & ((lowest[where] != threads) | (highest[where] != threads))
        return self.accesses.values() if clash.any() else self.loose.values()


def _cells(access: SharedAccess) -> Lanes | None:
    """The element of each thread in row-major order, if all are known; negative where the index is out of bounds."""
    if access.extents is None or any(index is None or not index.known for index in access.index):
        return None
    cells, outside = np.zeros(len(access.may), np.int64), np.zeros(len(access.may), np.bool_)
    for index, extent in zip(access.index, access.extents, strict=True):
        assert index is not None
        if index.low < 0 or index.high >= extent:
            outside |= np.logical_or(np.less(index.lane, 0), np.greater_equal(index.lane, extent))
        cells = cells * extent + index.lane
    cells[outside] = -1
    return cells


class AccessSet:
    """The accesses since the last ordering barrier, on the path to one program point. ``touched``: spaces with any
    access since. ``open``: barriers after accesses, by space.
    """

    def __init__(self) -> None:
        self.memories: dict[Root, MemoryAccesses] = {}
        self.epochs: dict[Space, int] = {"tile_static": 0, "global": 0}
        self.touched: set[Space] = set()
        self.open: dict[Space, set[int]] = {"tile_static": set(), "global": set()}

    def copy(self) -> AccessSet:
        """An independent copy."""
        made = AccessSet()
        made.memories = {root: memory.copy() for root, memory in self.memories.items()}
        made.epochs = dict(self.epochs)
        made.touched = set(self.touched)
        made.open = {space: set(ids) for space, ids in self.open.items()}
        return made

    def become(self, other: AccessSet) -> None:
        """Replaces its contents by those of another one."""
        self.memories, self.epochs = other.memories, other.epochs
        self.touched, self.open = other.touched, other.open

    def clear(self, space: Space) -> None:
        """A barrier orders the space."""
        for root in [root for root in self.memories if root[0] == space]:
            del self.memories[root]
        self.epochs[space] = next(_serials)
        self.touched.discard(space)

    def add(self, access: SharedAccess) -> Collection[SharedAccess]:
        """Adds an access and returns the earlier ones with which it may conflict."""
        return self.memories.setdefault(access.root, MemoryAccesses()).add(access)


def joined(ways: list[tuple[AccessSet, frozenset[tuple[int, bool]], bool]]) -> AccessSet:
    """Joins paths, each with its guards and whether it continues from here. An access that a barrier ordered on one of
    the continuing paths is only possibly in the interval.
    """
    result = AccessSet()
    lives = [(pending, guards) for pending, guards, live in ways if live]
    for pending, _, _ in ways:
        result.touched |= pending.touched
        for space, ids in pending.open.items():
            result.open[space] |= ids
        for root, memory in pending.memories.items():
            if root in result.memories:
                result.memories[root].merge(memory)
            else:
                result.memories[root] = memory.copy()
    for space in result.epochs:
        epochs = {pending.epochs[space] for pending, _, _ in ways}
        result.epochs[space] = next(_serials) if len(epochs) > 1 else epochs.pop()
        if epochs:
            for root, memory in result.memories.items():
                if root[0] == space:
                    _doubt(memory, [(p.memories.get(root), guards) for p, guards in lives])
    return result


def _doubt(memory: MemoryAccesses, lives: list[tuple[MemoryAccesses | None, frozenset[tuple[int, bool]]]]) -> None:
    """Mark the accesses that do not exist on every path."""
    for serial, access in list(memory.accesses.items()):
        if not access.maybe and any(
            (other is None or serial not in other.accesses) and not excluded(guards, access.guards)
            for other, guards in lives
        ):
            made = memory.accesses[serial] = replace(access, maybe=True)
            if serial in memory.loose:
                memory.loose[serial] = made


def excluded(left: frozenset[tuple[int, bool]], right: frozenset[tuple[int, bool]]) -> bool:
    """Whether the two sets of conditions exclude each other."""
    return any((symbol, not holds) in right for symbol, holds in left)


def conflict(later: SharedAccess, earlier: SharedAccess) -> tuple[bool, Conflict | None]:
    """Whether two accesses of one interval may conflict, and two threads with a certain conflict."""
    if later.kind != "write" and earlier.kind != "write":
        return False, None
    if not later.words & earlier.words or excluded(later.guards, earlier.guards):
        return False, None
    pairs, certain = _comparable(later, earlier)
    if not _collisions(pairs, later.may, earlier.may):
        return False, None
    nested = later.guards <= earlier.guards or earlier.guards <= later.guards
    doubtful = (
        (later.maybe or earlier.maybe)
        or (later.shared_store or earlier.shared_store)
        or (later.chosen and earlier.chosen)
    )
    if doubtful or not (certain and nested and later.exact and earlier.exact):
        return True, None
    found = _collisions(pairs, later.must, earlier.must)
    return True, Conflict(later, earlier, *found) if found else None


def _comparable(
    later: SharedAccess, earlier: SharedAccess
) -> tuple[list[tuple[int | Lanes, int | Lanes, int | None]], bool]:
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
            # Both are modulo 2**32, which preserves small differences.
            base = AffineValue(_first(other.lane), 0, 0)
            pairs.append((difference(mine, base).lane, difference(other, base).lane, None))
    return pairs, certain


def _first(lane: int | Lanes) -> int:
    return lane if isinstance(lane, int) else int(lane[0])


def _collisions(
    pairs: list[tuple[int | Lanes, int | Lanes, int | None]], mine: Mask, others: Mask
) -> tuple[int, int] | None:
    """Two different threads, one of each mask, whose indices are equal; the lowest of them."""
    count = len(mine)
    left, right = np.zeros(count, np.int64), np.zeros(count, np.int64)
    size = 1
    for x, y, extent in pairs:
        if extent is not None:
            # An index out of bounds is a different fault.
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


class TilePartition:
    """Whether the tiles of a launch access disjoint parts of a container: its dimensions by components of the tile."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        #: (dimension of the tile, dimension of the container) -> coefficient, other symbols, low and high lane.
        self.ways: dict[tuple[int, int], tuple[int, tuple[tuple[int, int], ...], int, int]] | None = None

    def note(self, access: SharedAccess, symbols: Symbols) -> None:
        """Adds an access of the launch."""
        tiles = {symbols.named(("tile", dim)): dim for dim in range(self.rank)}
        ways: dict[tuple[int, int], tuple[int, tuple[tuple[int, int], ...], int, int]] = {}
        for at, number in enumerate(access.index):
            if number is None or not access.may.any():
                continue
            own = [(symbol, factor) for symbol, factor in number.terms if symbol in tiles]
            rest = tuple(term for term in number.terms if term[0] not in tiles)
            if len(own) != 1 or any(symbol not in symbols.constants for symbol, _ in rest):
                continue
            lanes = np.broadcast_to(np.asarray(number.lane), access.may.shape)[access.may]
            ways[tiles[own[0][0]], at] = own[0][1], rest, int(lanes.min()), int(lanes.max())
        if self.ways is None:
            self.ways = ways
            return
        self.ways = {
            key: (factor, rest, min(low, ways[key][2]), max(high, ways[key][3]))
            for key, (factor, rest, low, high) in self.ways.items()
            if key in ways and ways[key][:2] == (factor, rest)
        }

    @property
    def most_tiles(self) -> int:
        """The number of tiles in a dimension up to which no two tiles access the same element; 0 if there is none.

        With more of them, the index of the last tiles wraps to that of the first ones.
        """
        ways = self.ways or {}
        most = [0] * self.rank
        for (dim, _), (factor, _, low, high) in ways.items():
            if high - low < abs(factor):
                most[dim] = max(most[dim], (1 << 32) // abs(factor))
        return min(most)
