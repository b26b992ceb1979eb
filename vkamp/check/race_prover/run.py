"""The state of the interpreter at a program point, and the findings of the run so far."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from vkamp.check.race_prover.accesses import AccessSet, Conflict, Root, Space, Step, TilePartition
from vkamp.check.race_prover.affine import AffineValue, LanePredicate, Mask, Symbols, Value, same
from vkamp.check.race_prover.facts import Facts
from vkamp.check.uniformity import Uniformity
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.requirements import memory_unit
from vkamp.ir.types import BOOL, INT32, Array, Scalar, Type

#: The number of steps after which the analysis gives up.
LIMIT = 4_000
#: The types whose values are tracked.
TRACKED: frozenset[Type] = frozenset({BOOL, INT32, Scalar("uint32", "uint", 32)})

Guards = frozenset[tuple[int, bool]]


class OutOfBudget(Exception):  # noqa: N818 -- no error: the analysis gives up
    """The kernel is too large for this analysis."""


class RaceFound(Exception):  # noqa: N818 -- how a result comes out of nested calls
    """Two threads certainly conflict."""

    def __init__(self, conflict: Conflict) -> None:
        self.conflict = conflict


@dataclass
class PathState:
    """The state at a program point in the running function. ``may`` and ``must``: the threads that can be here, and
    those that certainly are, if ``guards`` hold and the enclosing code is reached. Threads on different branches share
    the object of pending accesses; it is copied for paths that exclude each other.
    """

    env: dict[str, Value]
    may: Mask
    must: Mask
    guards: Guards
    pending: AccessSet
    #: Whether a value in tile_static memory decides that a thread is here.
    chosen: bool = False
    live: bool = True

    def fork(self, may: Mask, must: Mask, guards: Guards, *, alone: bool = False, chosen: bool = False) -> PathState:
        """A path that some threads take, or (``alone``) that excludes the other paths."""
        pending = self.pending.copy() if alone else self.pending
        return PathState(dict(self.env), may, must, guards, pending, self.chosen or chosen)


#: The two states after a condition: the threads that may and must be there, and the guards; ``None``: no thread.
Branch = tuple[Mask, Mask, Guards] | None


@dataclass
class CallFrame:
    """A function that is run. ``arrays``: the shared memory that its array parameters refer to."""

    function: ir.Function
    arrays: dict[str, Root | None] = field(default_factory=dict)
    call: Span | None = None
    exits: list[tuple[PathState, tuple[Value, ...]]] = field(default_factory=list)
    breaks: list[list[PathState]] = field(default_factory=list)
    continues: list[list[PathState]] = field(default_factory=list)


class Run:
    """One run over a kernel: its position and its findings.

    ``unknown``, ``found``, ``useful``, ``opened``, ``visited`` and ``partitions`` are results.
    """

    def __init__(self, kernel: ir.Kernel, uniformity: Uniformity) -> None:
        self.kernel = kernel
        self.unit = memory_unit(kernel)
        self.uniformity = uniformity
        self.facts = Facts(kernel)
        self.symbols = Symbols()
        #: An untiled kernel counts as one with tiles of one thread.
        self.tile = kernel.tile or (1,) * kernel.rank
        self.threads = math.prod(self.tile)
        #: The local index of each thread, per dimension; unused for an untiled kernel.
        self.locals = [line.reshape(-1).astype(np.int64) for line in np.indices(kernel.tile or ())]
        self.everyone: Mask = np.ones(self.threads, np.bool_)
        self.nobody: Mask = np.zeros(self.threads, np.bool_)
        self.frame = CallFrame(kernel.body)
        self.state = PathState({}, self.everyone, self.everyone, frozenset(), AccessSet())
        self.path: tuple[Step, ...] = ()
        self.returned: Mask = self.nobody
        self.exited: Mask = self.nobody
        self.steps = 0
        self.compared = 0
        self.unknown: set[Root] = set()
        self.found: list[Conflict] = []
        self.trials = 0
        self.useful: set[int] = set()
        fences = [s.fence for s in kernel.statements() if isinstance(s, ir.Barrier)]
        #: Whether there are fences that do not wait: then a fence and a wait may order memory together.
        self.split_waits = any(not fence.waits for fence in fences)
        #: Memory that only waits order, not a fence together with a wait: races on it can be certain.
        self.certain_spaces: set[Space] = set()
        if kernel.tile is not None:
            disjoint = [f for f in fences if not f.waits]
            waits = [f for f in fences if f.waits]
            if not any(f.orders_tile_static for f in disjoint) or all(f.orders_tile_static for f in waits):
                self.certain_spaces.add("tile_static")
            if not any(f.orders_global for f in disjoint) or all(f.orders_global for f in waits):
                self.certain_spaces.add("global")
        self.reported_stores = frozenset(id(store.statement) for store in uniformity.stores)
        self.shapes: dict[str, Array] = {}
        for variable in kernel.tile_statics:
            assert isinstance(variable.type, Array)
            self.shapes[variable.name] = variable.type
        self.partitions = {name: TilePartition(len(self.tile)) for name in self.facts.changed}
        #: Barriers after some access.
        self.opened: set[int] = set()
        self.visited: dict[int, tuple[ir.Barrier, CallFrame]] = {}

    def spend(self) -> None:
        """Counts a statement; ends the analysis at the limit."""
        self.steps += 1
        if self.steps > LIMIT:
            raise OutOfBudget

    @contextmanager
    def at(self, statement: ir.Stmt, iteration: int = 0) -> Iterator[None]:
        """The context of a statement, and of an iteration if it is a loop."""
        outer = self.path
        self.path = (*outer, (statement, iteration))
        yield
        self.path = outer

    def lost(self, kind: Type) -> Value:
        """An unknown value that is the same for all threads."""
        symbol = self.symbols.fresh()
        return LanePredicate(True, False, (symbol, True)) if kind == BOOL else AffineValue(0, 0, 0, ((symbol, 1),))

    def is_uniform(self, name: str) -> bool:
        """Whether a variable of this function never differs between the threads of a tile."""
        return self.kernel.tile is not None and (self.frame.function.name, name) not in self.uniformity.variables

    def split(self, truth: LanePredicate, *, uniform: bool) -> tuple[Branch, Branch]:
        """The paths on which a condition is true and false."""
        state = self.state
        here: Branch = (state.may, state.must, state.guards)
        if truth.known:
            if isinstance(truth.can, bool):
                return (here, None) if truth.can else (None, here)
            return _way(state, truth.can, truth.can), _way(state, ~truth.can, ~truth.can)
        guard = truth.guard
        if guard is None and uniform:
            guard = (self.symbols.fresh(), True)
        if guard is None:
            can, must = np.asarray(truth.can), np.asarray(truth.must)
            return _way(state, can, must), _way(state, ~must, ~can)
        opposite = (guard[0], not guard[1])
        if guard in state.guards:
            return here, None
        if opposite in state.guards:
            return None, here
        return (
            (state.may, state.must, state.guards | {guard}),
            (state.may, state.must, state.guards | {opposite}),
        )

    @contextmanager
    def narrowed(self, way: Branch) -> Iterator[None]:
        """Evaluates a part of an expression for some threads only."""
        assert way is not None
        state = self.state
        before = state.may, state.must, state.guards
        state.may, state.must, state.guards = way
        yield
        state.may, state.must, state.guards = before

    def blend(self, first: Value, mine: Mask, second: Value, others: Mask, *, together: bool) -> Value:
        """A value where two paths join; ``together``: all threads took the same path."""
        if same(first, second):
            return first
        if isinstance(first, AffineValue) and isinstance(second, AffineValue):
            if first.terms == second.terms and not (mine & others).any():
                lane = np.where(others, second.lane, first.lane)
                return AffineValue(lane, min(first.low, second.low), max(first.high, second.high), first.terms)
            if together and np.ptp(np.asarray(second.lane - first.lane)) == 0:
                return AffineValue(first.lane, first.low, first.high, ((self.symbols.fresh(), 1),))
        if isinstance(first, LanePredicate) and isinstance(second, LanePredicate):
            if first.known and second.known and not (mine & others).any():
                values = np.where(others, second.can, first.can)
                return LanePredicate(values, values)
            if together and all(_all_alike(t) for t in (first, second)):
                return LanePredicate(True, False, (self.symbols.fresh(), True))
        return None

    def raise_race(self) -> None:
        """Ends the run at the first conflict, except in a trial run of a loop's body."""
        if self.found and not self.trials:
            raise RaceFound(self.found[0])

    def root_of(self, variable: ir.Variable) -> Root | None:
        """The shared memory of an array; None if it is not shared."""
        if variable.storage == "tile_static":
            return "tile_static", variable.name
        return self.frame.arrays.get(variable.name) if variable.storage == "parameter" else None


def _way(state: PathState, can: Mask, must: Mask) -> Branch:
    may = state.may & can
    return (may, state.must & must, state.guards) if may.any() else None


def _all_alike(truth: LanePredicate) -> bool:
    return truth.guard is not None or (truth.known and isinstance(truth.can, bool))
