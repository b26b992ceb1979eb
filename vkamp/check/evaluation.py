"""Values of expressions for all threads of a tile at once; every access to shared memory on the way is noted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from vkamp.check.affine import (
    DATA,
    FALSE,
    TRUE,
    Anything,
    Mask,
    Number,
    Symbols,
    Truth,
    arithmetic,
    both,
    comparison,
    constant,
    either,
    negation,
    same,
    wrapped,
)
from vkamp.check.facts import Facts
from vkamp.check.intervals import Access, Conflict, Pending, Root, Space, Step, conflict
from vkamp.check.uniformity import Uniformity
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.requirements import memory_unit
from vkamp.ir.types import BOOL, INT32, Array, Scalar, Struct, Type, Vector

Guards = frozenset[tuple[int, bool]]


class Budget(Exception):  # noqa: N818 -- no error: the analysis gives up
    """The kernel is too large for this analysis."""


class Found(Exception):  # noqa: N818 -- how a result comes out of nested calls
    """Two threads certainly conflict."""

    def __init__(self, conflict: Conflict) -> None:
        self.conflict = conflict


@dataclass
class State:
    """What holds at a program point, in the function that is run.

    ``may`` and ``must``: the threads that can be, and that certainly are here when ``guards`` hold and the code
    around is reached. The pending accesses are one object for threads that part, copied where ways exclude
    each other.
    """

    env: dict[str, Anything]
    may: Mask
    must: Mask
    guards: Guards
    pending: Pending
    #: Whether each thread is here only if what lies in tile_static memory says so.
    chosen: bool = False
    live: bool = True

    def fork(self, may: Mask, must: Mask, guards: Guards, *, alone: bool = False, chosen: bool = False) -> State:
        """A way that some threads take, or (``alone``) that excludes the others."""
        pending = self.pending.copy() if alone else self.pending
        return State(dict(self.env), may, must, guards, pending, self.chosen or chosen)


#: What a condition splits a state into: threads that may and must be there, and the guards; ``None``: nobody.
Way = tuple[Mask, Mask, Guards] | None


@dataclass
class Frame:
    """A function that is run. ``arrays`` says which shared memory its array parameters are."""

    function: ir.Function
    arrays: dict[str, Root | None] = field(default_factory=dict)
    call: Span | None = None
    exits: list[tuple[State, tuple[Anything, ...]]] = field(default_factory=list)
    breaks: list[list[State]] = field(default_factory=list)
    continues: list[list[State]] = field(default_factory=list)


class Evaluator:
    """Expressions and accesses; the statements are in the subclass."""

    def __init__(self, kernel: ir.Kernel, uniformity: Uniformity) -> None:
        self.kernel = kernel
        self.unit = memory_unit(kernel)
        self.uniformity = uniformity
        self.facts = Facts(kernel)
        self.symbols = Symbols()
        #: An untiled kernel counts as one with tiles of one thread.
        self.tile = kernel.tile or (1,) * kernel.rank
        self.threads = math.prod(self.tile)
        #: The local index of each thread, per dimension; of an untiled kernel nobody asks.
        self.locals = [line.reshape(-1).astype(np.int64) for line in np.indices(kernel.tile or ())]
        self.everyone: Mask = np.ones(self.threads, np.bool_)
        self.nobody: Mask = np.zeros(self.threads, np.bool_)
        self.frame = Frame(kernel.body)
        self.state = State({}, self.everyone, self.everyone, frozenset(), Pending())
        self.path: tuple[Step, ...] = ()
        self.exited: Mask = self.nobody
        self.steps = 0
        self.compared = 0
        self.unknown: set[Root] = set()
        self.found: list[Conflict] = []
        self.trials = 0
        self.useful: set[int] = set()
        fences = [s.fence for s in kernel.statements() if isinstance(s, ir.Barrier)]
        #: Whether fences stand apart from the waits: then every wait may be one half of another.
        self.split_waits = any(not fence.waits for fence in fences)
        #: Memory that only waits order, not a fence and a wait together: races on it can be certain.
        self.plain_spaces: set[Space] = set()
        if kernel.tile is not None:
            apart = [f for f in fences if not f.waits]
            waits = [f for f in fences if f.waits]
            if not any(f.orders_tile_static for f in apart) or all(f.orders_tile_static for f in waits):
                self.plain_spaces.add("tile_static")
            if not any(f.orders_global for f in apart) or all(f.orders_global for f in waits):
                self.plain_spaces.add("global")
        self.told = frozenset(id(store.statement) for store in uniformity.stores)
        self.shapes: dict[str, Array] = {}
        for variable in kernel.tile_statics:
            assert isinstance(variable.type, Array)
            self.shapes[variable.name] = variable.type
        self.spreads = {name: Spread(len(self.tile)) for name in self.facts.changed}

    def spend(self) -> None:
        """One more statement; there is an end to it."""
        self.steps += 1
        if self.steps > LIMIT:
            raise Budget

    # -- values --------------------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr) -> Anything:
        """The value; its accesses are noted."""
        if expr.type not in TRACKED and self.facts.dull(expr) and not isinstance(expr, ir.Load):
            return None
        handler = _EXPRESSIONS.get(type(expr))
        if handler is not None:
            return handler(self, expr)
        for child in ir.children(expr):
            if isinstance(child, ir.Expr):
                self.value(child)
        return None

    def number(self, expr: ir.Expr) -> Number | None:
        """The value of an integer expression."""
        value = self.value(expr)
        if isinstance(value, Truth):
            if not value.known:
                return None
            lane = np.asarray(value.can).astype(np.int64)
            return constant(int(lane)) if lane.ndim == 0 else Number(lane, 0, 1)
        return value if isinstance(value, Number) else None

    def truth(self, expr: ir.Expr) -> Truth:
        """The value of a condition."""
        value = self.value(expr)
        return value if isinstance(value, Truth) else Truth(True, False)

    def _const(self, expr: ir.Const) -> Anything:
        if expr.type == BOOL:
            return TRUE if expr.value else FALSE
        return constant(int(expr.value)) if expr.type in TRACKED else None

    def _scalar(self, expr: ir.ScalarValue) -> Anything:
        if expr.type == BOOL:
            return Truth(True, False, (self.symbols.named(("scalar", expr.name), constant=True), True))
        return self.symbols.given(("scalar", expr.name)) if expr.type in TRACKED else None

    def _thread_index(self, expr: ir.ThreadIndex) -> Number:
        size = self.tile[expr.dim]
        local = Number(self.locals[expr.dim], 0, size - 1) if size > 1 else constant(0)
        if expr.kind == "local":
            return local
        symbol = self.symbols.named(("tile", expr.dim))
        self.symbols.tiles[symbol] = size
        if expr.kind == "tile":
            return Number(0, 0, 0, ((symbol, 1),))
        if expr.kind == "tile_origin":
            return Number(0, 0, 0, ((symbol, size),))
        return Number(local.lane, local.low, local.high, ((symbol, size),))

    def _extent(self, expr: ir.BufferExtent) -> Number:
        return self.symbols.given(("extent", expr.buffer, expr.dim))

    def _unary(self, expr: ir.Unary) -> Anything:
        if expr.op == "not" or expr.type == BOOL:
            return negation(self.truth(expr.operand))
        operand = self.number(expr.operand)
        if operand is None or not isinstance(expr.type, Scalar) or not expr.type.is_integer:
            return None
        if expr.op == "neg":
            return arithmetic("sub", constant(0), operand, expr.type, self.symbols)
        return arithmetic("sub", constant(-1), operand, expr.type, self.symbols)

    def _binary(self, expr: ir.Binary) -> Anything:
        if expr.type == BOOL:
            left, right = self.truth(expr.left), self.truth(expr.right)
            if expr.op in ("bitand", "bitor"):
                return both(left, right) if expr.op == "bitand" else either(left, right)
            known = left.known and right.known
            return negation(Truth(*[_equal(left, right)] * 2)) if known else None
        first, second = self.number(expr.left), self.number(expr.right)
        if first is None or second is None or expr.type not in TRACKED:
            return None
        assert isinstance(expr.type, Scalar)
        return arithmetic(expr.op, first, second, expr.type, self.symbols)

    def _compare(self, expr: ir.Compare) -> Anything:
        left, right = self.value(expr.left), self.value(expr.right)
        if isinstance(left, Number) and isinstance(right, Number):
            assert isinstance(expr.left.type, Scalar)
            return comparison(expr.op, left, right, expr.left.type, self.symbols)
        return None

    def _logical(self, expr: ir.Logical) -> Truth:
        left = self.truth(expr.left)
        if self.facts.dull(expr.right):
            right = self.truth(expr.right)
        else:
            # The right side runs only where the left one has not decided.
            holds, fails = self.split(left, uniform=False)
            way = holds if expr.op == "and" else fails
            if way is None:
                return left
            with self.narrowed(way):
                right = self.truth(expr.right)
        return both(left, right) if expr.op == "and" else either(left, right)

    def _select(self, expr: ir.Select) -> Anything:
        truth = self.truth(expr.condition)
        then, orelse = self.split(truth, uniform=False)
        first = second = None
        if then is not None:
            with self.narrowed(then):
                first = self.value(expr.then)
        if orelse is not None:
            with self.narrowed(orelse):
                second = self.value(expr.orelse)
        if then is None or orelse is None:
            return second if then is None else first
        return self.blend(first, then[0], second, orelse[0], together=truth.guard is not None)

    def _cast(self, expr: ir.Cast) -> Anything:
        source, target = expr.operand.type, expr.type
        if target == BOOL and source == BOOL:
            return self.truth(expr.operand)
        value = self.number(expr.operand)
        if value is None or source not in TRACKED or target not in TRACKED:
            return None
        if target == BOOL:
            assert isinstance(source, Scalar)
            return comparison("ne", value, constant(0), source, self.symbols)
        assert isinstance(target, Scalar)
        made = wrapped(value.lane, value.low, value.high, target)
        return Number(made.lane, made.low, made.high, value.terms)

    def _builtin(self, expr: ir.Builtin) -> Anything:
        args = [self.number(a) for a in expr.args]
        integers = isinstance(expr.type, Scalar) and expr.type.is_integer
        if not integers or any(a is None for a in args):
            return None
        numbers = [a for a in args if a is not None]
        if expr.name in ("min", "max") and len(numbers) == 2:
            assert isinstance(expr.type, Scalar)
            return arithmetic(expr.name, numbers[0], numbers[1], expr.type, self.symbols)
        if all(n.uniform for n in numbers):
            key = (expr.name, str(expr.args[0].type), tuple((n.lane, n.terms) for n in numbers))
            return Number(0, 0, 0, ((self.symbols.named(key, tuple(numbers)), 1),))
        return None

    def _load(self, expr: ir.Load) -> Anything:
        place = expr.place
        if isinstance(place, ir.Local) and not isinstance(place.type, Array):
            name = place.variable.name
            value = self.state.env.get(name)
            if not isinstance(value, (Number, Truth)) and place.type in TRACKED and self.is_uniform(name):
                value = self.state.env[name] = self.lost(place.type)
            return value
        self.access("read", place)
        return DATA if self.facts.in_tile_static(place) else None

    def is_data(self, expr: ir.Expr) -> bool:
        """Whether what lies in tile_static memory decides the value, and otherwise only what is known."""
        return self._source(expr) == "data"

    def _source(self, expr: ir.Expr) -> Literal["data", "known"] | None:
        """Where a value comes from; ``None``: from elsewhere, too."""
        if isinstance(expr, ir.Const):
            return "known"
        if isinstance(expr, ir.Load):
            if not isinstance(expr.place, ir.Local):
                return "data" if self.facts.in_tile_static(expr.place) else None
            return _source_of(self.state.env.get(expr.place.variable.name))
        parts = {self._source(child) for child in ir.children(expr) if isinstance(child, ir.Expr)}
        if None not in parts and "data" in parts:
            return "data"
        return _source_of(self.value(expr)) if self.facts.dull(expr) else None

    def lost(self, kind: Type) -> Anything:
        """Some value that is the same for all threads."""
        symbol = self.symbols.fresh()
        return Truth(True, False, (symbol, True)) if kind == BOOL else Number(0, 0, 0, ((symbol, 1),))

    def is_uniform(self, name: str) -> bool:
        """Whether a variable of this function never differs between the threads of a tile."""
        return self.kernel.tile is not None and (self.frame.function.name, name) not in self.uniformity.variables

    # -- ways ----------------------------------------------------------------------------------------------------

    def split(self, truth: Truth, *, uniform: bool) -> tuple[Way, Way]:
        """The ways on which a condition holds and fails."""
        state = self.state
        here: Way = (state.may, state.must, state.guards)
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
    def narrowed(self, way: Way) -> Iterator[None]:
        """A part of an expression that only some threads evaluate."""
        assert way is not None
        state = self.state
        before = state.may, state.must, state.guards
        state.may, state.must, state.guards = way
        yield
        state.may, state.must, state.guards = before

    def blend(self, first: Anything, mine: Mask, second: Anything, others: Mask, *, together: bool) -> Anything:
        """A value where two ways meet; ``together``: all threads took the same one."""
        if same(first, second):
            return first
        if isinstance(first, Number) and isinstance(second, Number):
            if first.terms == second.terms and not (mine & others).any():
                lane = np.where(others, second.lane, first.lane)
                return Number(lane, min(first.low, second.low), max(first.high, second.high), first.terms)
            if together and np.ptp(np.asarray(second.lane - first.lane)) == 0:
                return Number(first.lane, first.low, first.high, ((self.symbols.fresh(), 1),))
        if isinstance(first, Truth) and isinstance(second, Truth):
            if first.known and second.known and not (mine & others).any():
                values = np.where(others, second.can, first.can)
                return Truth(values, values)
            if together and all(_all_alike(t) for t in (first, second)):
                return Truth(True, False, (self.symbols.fresh(), True))
        return None

    # -- accesses ------------------------------------------------------------------------------------------------

    def access(self, kind: Literal["read", "write", "atomic"], place: ir.Place, statement: int = 0) -> None:
        """Note an access to a place; the indices are evaluated."""
        located = self._locate(place)
        if located is None:
            return
        root, index, words, exact = located
        state = self.state
        self._touch(root[0])
        if root[0] == "global" and root[1] not in self.facts.changed:
            return
        made = Access(
            root=root,
            extents=self.shapes[root[1]].shape if root[0] == "tile_static" else None,
            kind=kind,
            place=place,
            index=index,
            words=words,
            exact=exact,
            may=state.may,
            must=state.must,
            guards=state.guards,
            chosen=state.chosen,
            span=replace(place.span, caller=self.frame.call),
            path=self.path,
            shared_store=statement in self.told,
        )
        if root[0] == "global":
            self.spreads[root[1]].note(made, self.symbols)
        self._judge(made)

    def _touch(self, space: Space) -> None:
        """Memory is accessed: the barriers before have something to order."""
        pending = self.state.pending
        if pending.open[space]:
            self.useful |= pending.open[space]
            pending.open[space].clear()
        pending.touched.add(space)

    def _judge(self, made: Access) -> None:
        for other in reversed(list(self.state.pending.add(made))):
            if made.kind != "write" and other.kind != "write":
                continue
            self.compared += 1
            if self.compared > COMPARISONS:
                self.unknown.add(made.root)
                break
            may, certain = conflict(made, other)
            if may:
                self.unknown.add(made.root)
            if certain is not None and made.root[0] in self.plain_spaces:
                self.found.append(certain)
                self.tell()

    def tell(self) -> None:
        """End with the first conflict, unless a loop's body is only tried."""
        if self.found and not self.trials:
            raise Found(self.found[0])

    def _locate(self, place: ir.Place) -> tuple[Root, tuple[Number | None, ...], frozenset[int], bool] | None:
        """Shared memory at a place: where, the index, the element's words, and whether those are certain."""
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
            root = self.root_of(step.variable)
            first = chain[0] if chain else None
            if not isinstance(first, ir.ArrayElement):
                self._evaluate(chain)
                return None
            index = tuple(map(self.number, first.indices))
            element = first.type
            del chain[0]
        members = _Members(element, self.unit)
        for link in chain:
            numbers = self._evaluate([link])
            members.enter(link, numbers)
        if root is None:
            return None
        if members.anywhere:
            return root, (None,) * len(index), _Members(element, self.unit).words, False
        return root, index, members.words, members.exact

    def _evaluate(self, chain: list[ir.Place]) -> list[Number | None]:
        """The numbers that a path of steps is indexed with."""
        numbers: list[Number | None] = []
        for link in chain:
            if isinstance(link, (ir.ArrayElement, ir.ViewElement)):
                numbers += map(self.number, link.indices)
            if isinstance(link, ir.ViewElement):
                for extent in link.extent:
                    self.number(extent)
            if isinstance(link, ir.Reinterpreted):
                numbers.append(self.number(link.index))
        return numbers

    def root_of(self, variable: ir.Variable) -> Root | None:
        """The shared memory that an array is, if it is any."""
        if variable.storage == "tile_static":
            return "tile_static", variable.name
        return self.frame.arrays.get(variable.name) if variable.storage == "parameter" else None


class _Members:
    """The words of an element that a path through its members leads to; ``exact``: to all of them certainly."""

    def __init__(self, element: Type, unit: int) -> None:
        self.unit = unit
        self.exact = True
        self.anywhere = False
        #: Where the member may begin, and which words it has from there on.
        self.starts = [0]
        self.own: list[int] = []
        self.type = element
        self._narrow([0], element)

    @property
    def words(self) -> frozenset[int]:
        return frozenset(start + word for start in self.starts for word in self.own)

    def enter(self, link: ir.Place, numbers: list[Number | None]) -> None:
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
        """On to a part of the member at one of some offsets in bytes."""
        self.starts = [start + offset // self.unit for start in self.starts for offset in offsets]
        self.own = list(range(kind.size // self.unit))
        self.type = kind


class Spread:
    """Whether the tiles of a launch keep apart in a container: which dimension holds which component of the tile."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        #: (dimension of the tile, dimension of the container) -> coefficient, other symbols, low and high lane.
        self.ways: dict[tuple[int, int], tuple[int, tuple[tuple[int, int], ...], int, int]] | None = None

    def note(self, access: Access, symbols: Symbols) -> None:
        """One more access, anywhere in the launch."""
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
    def apart(self) -> bool:
        """Whether two tiles never meet."""
        ways = self.ways or {}
        good = {dim for (dim, _), (factor, _, low, high) in ways.items() if high - low < abs(factor)}
        return len(good) == self.rank


#: Steps of work before the analysis gives up.
LIMIT = 4_000
#: Accesses compared one by one before what more there is counts as unknown.
COMPARISONS = 600
#: The types whose values are followed.
TRACKED: frozenset[Type] = frozenset({BOOL, INT32, Scalar("uint32", "uint", 32)})


def _way(state: State, can: Mask, must: Mask) -> Way:
    may = state.may & can
    return (may, state.must & must, state.guards) if may.any() else None


def _source_of(value: Anything) -> Literal["data", "known"] | None:
    if value is DATA:
        return "data"
    return "known" if isinstance(value, (Number, Truth)) and value.known else None


def _equal(left: Truth, right: Truth) -> Any:
    return np.equal(left.can, right.can)


def _all_alike(truth: Truth) -> bool:
    return truth.guard is not None or (truth.known and isinstance(truth.can, bool))


_E = Evaluator

_EXPRESSIONS: dict[type[ir.Expr], Callable[[Evaluator, Any], Anything]] = {
    ir.Const: _E._const,
    ir.ScalarValue: _E._scalar,
    ir.ThreadIndex: _E._thread_index,
    ir.BufferExtent: _E._extent,
    ir.Unary: _E._unary,
    ir.Binary: _E._binary,
    ir.Compare: _E._compare,
    ir.Logical: _E._logical,
    ir.Select: _E._select,
    ir.Cast: _E._cast,
    ir.Builtin: _E._builtin,
    ir.Load: _E._load,
}
