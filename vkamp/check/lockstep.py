"""Runs a kernel for all threads of one tile at once, as far as the compiler knows it.

Loops whose bounds are known run; of others the body is run for one iteration and for a later one, whose counters
and variables stand for any. Every access that a thread of the tile can make is met on the way; what is not certain
is marked so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vkamp.check.affine import TRUE, Anything, Lanes, Mask, Number, Truth, arithmetic
from vkamp.check.evaluation import LIMIT, TRACKED, Evaluator, Frame, Guards, State
from vkamp.check.intervals import Pending, Root, Space, joined
from vkamp.check.uniformity import Uniformity
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32, Array, Scalar

#: Statements that one loop may cost before its body stands for all iterations; less where it touches no shared memory.
_LOOP = LIMIT // 3
_PLAIN_LOOP = 96

_Exit = tuple[State, Guards, bool]


@dataclass
class _Mark:
    """What a trial run of a loop's body must leave as it was."""

    pending: Pending
    found: int
    unknown: set[Root]
    exits: int
    exited: Mask
    returned: Mask


class Lockstep(Evaluator):
    """One run over a kernel; ``unknown``, ``found``, ``useful``, ``opened``, ``visited``, ``spreads`` are results."""

    def __init__(self, kernel: ir.Kernel, uniformity: Uniformity) -> None:
        super().__init__(kernel, uniformity)
        self.returned: Mask = self.nobody
        #: Barriers that some access comes before.
        self.opened: set[int] = set()
        self.visited: dict[int, tuple[ir.Barrier, Frame]] = {}

    def run(self) -> None:
        """Run it; raises :class:`Budget` for a kernel that is too large, :class:`Found` for a race."""
        self._block(self.kernel.body.body)

    def _block(self, block: ir.Block) -> None:
        for statement in block:
            if not self.state.live:
                return
            self.spend()
            _STATEMENTS[type(statement)](self, statement)

    def _at(self, statement: ir.Stmt, turn: int, block: ir.Block) -> None:
        """A nested block."""
        outer = self.path
        self.path = (*outer, (statement, turn))
        self._block(block)
        self.path = outer

    # -- plain statements ----------------------------------------------------------------------------------------

    def _declare(self, statement: ir.Declare) -> None:
        pass

    def _assign(self, statement: ir.Assign) -> None:
        outer = self.path
        self.path = (*outer, (statement, 0))
        place = statement.place
        value = self.value(statement.value)
        if isinstance(place, ir.Local):
            self.state.env[place.variable.name] = value
        else:
            self.access("write", place, id(statement))
            root = ir.root_of(place)
            if isinstance(root, ir.Local) and not isinstance(root.type, Array):
                self.state.env[root.variable.name] = None
        self.path = outer

    def _claim(self, statement: ir.Claim) -> None:
        outer = self.path
        self.path = (*outer, (statement, 0))
        value = self.value(statement.value)
        if value is None and statement.variable.type in TRACKED:
            value = self.lost(statement.variable.type)
        self.state.env[statement.variable.name] = value
        self.path = outer

    def _barrier(self, statement: ir.Barrier) -> None:
        fence, pending = statement.fence, self.state.pending
        if not fence.waits:
            return
        self.visited.setdefault(id(statement), (statement, self.frame))
        spaces: tuple[tuple[Space, bool], ...]
        spaces = (("tile_static", fence.orders_tile_static), ("global", fence.orders_global))
        for space, ordered in spaces:
            if (ordered or self.split_waits) and space in pending.touched:
                pending.open[space].add(id(statement))
                self.opened.add(id(statement))
            if ordered:
                pending.clear(space)

    def _atomic(self, statement: ir.Atomic) -> None:
        outer = self.path
        self.path = (*outer, (statement, 0))
        for argument in statement.args:
            self.value(argument)
        self.access("atomic", statement.place)
        for variable in ir.definitions(statement):
            self.state.env[variable.name] = None
        self.path = outer

    def _subgroup(self, statement: ir.Subgroup) -> None:
        # It orders no memory: what its threads give each other is just not known.
        outer = self.path
        self.path = (*outer, (statement, 0))
        for argument in statement.args:
            self.value(argument)
        self.state.env[statement.result.name] = None
        self.path = outer

    def _aside(self, statement: ir.Assert | ir.Print | ir.Breakpoint) -> None:
        # A device does not run it: whatever it reads is not certain.
        state = self.state
        with self.narrowed((state.may, self.nobody, state.guards)):
            for child in ir.children(statement):
                assert isinstance(child, ir.Expr)
                self.value(child)

    # -- branches ------------------------------------------------------------------------------------------------

    def _if(self, statement: ir.If) -> None:
        uniform = self.kernel.tile is not None and self.uniformity.divergence(statement) is None
        self._branch(statement, statement.condition, uniform)

    def _branch(self, statement: ir.If, condition: ir.Expr, uniform: bool) -> None:
        if isinstance(condition, ir.Logical) and condition.op == "and" and not statement.orelse:
            # `if a and b` is `if a: if b`: each part may be known in its own way.
            left, right = condition.left, condition.right
            self._either(left, uniform, lambda: self._branch(statement, right, uniform), None)
            return
        then, orelse = statement.then, statement.orelse
        self._either(
            condition,
            uniform,
            lambda: self._at(statement, 0, then),
            (lambda: self._at(statement, 0, orelse)) if orelse else None,
        )

    def _either(
        self, condition: ir.Expr, uniform: bool, then: Callable[[], None], orelse: Callable[[], None] | None
    ) -> None:
        """Both sides of a condition."""
        truth = self.truth(condition)
        holds, fails = self.split(truth, uniform=uniform)
        if holds is None or fails is None:
            side = then if fails is None else orelse
            if side is not None:
                side()
            return
        before, exited = self.state, self.exited
        alone = holds[2] != before.guards
        chosen = not truth.known and not alone and self.is_data(condition)
        if chosen:
            # Any thread may be told to go either way.
            can, must = np.asarray(truth.can), np.asarray(truth.must)
            holds = holds[0], before.must & can, holds[2]
            fails = fails[0], before.must & ~must, fails[2]
        self.exited = self.nobody
        ends = []
        for way, side in ((holds, then), (fails, orelse)):
            self.state = before.fork(*way, alone=alone, chosen=chosen)
            if side is not None:
                side()
            ends.append(self.state)
        left, self.exited = self.exited, exited | self.exited
        self.state = self._meet(before, ends, alone, left)

    def _meet(self, before: State, ends: list[State], alone: bool, left: Mask) -> State:
        """The state behind a branch."""
        if alone:
            ways = [(end.pending, end.guards, end.live) for end in ends]
            before.pending.become(joined(ways))
        live = [end for end in ends if end.live]
        if not live:
            return replace(before, live=False)
        if len(live) == 1 and alone:
            return replace(live[0], pending=before.pending)
        result = replace(before, env=self._blended(live, together=alone))
        result.may = live[0].may | live[-1].may
        result.guards = frozenset.intersection(*(end.guards for end in live))
        result.must = before.must & ~left
        return result

    def _blended(self, states: Sequence[State], *, together: bool) -> dict[str, Anything]:
        """The variables where states meet."""
        env, mask = dict(states[0].env), states[0].may
        for state in states[1:]:
            for name, value in state.env.items():
                if name not in env:
                    env[name] = value
                elif env[name] is not value:
                    env[name] = self.blend(env[name], mask, value, state.may, together=together)
            mask = mask | state.may
        return env

    # -- jumps ---------------------------------------------------------------------------------------------------

    def _snapshot(self) -> State:
        """The state that a jump carries away."""
        state = self.state
        self.state = replace(state, live=False)
        self.exited = self.exited | state.may
        return replace(state, env=dict(state.env), pending=state.pending.copy())

    def _break(self, _: ir.Break) -> None:
        self.frame.breaks[-1].append(self._snapshot())

    def _continue(self, _: ir.Continue) -> None:
        self.frame.continues[-1].append(self._snapshot())

    def _return(self, statement: ir.Return) -> None:
        values = tuple(map(self.value, statement.values))
        self.returned = self.returned | self.state.may
        self.frame.exits.append((self._snapshot(), values))

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(self, statement: ir.Call) -> None:
        function = self.facts.functions[statement.function]
        outer, path = self.frame, self.path
        self.path = (*path, (statement, 0))
        frame = Frame(function, call=replace(statement.span, caller=outer.call))
        env: dict[str, Anything] = {}
        for parameter, argument in zip(function.params, statement.args, strict=True):
            if isinstance(argument, ir.Expr):
                env[parameter.name] = self.value(argument)
            elif isinstance(argument, ir.Local):
                frame.arrays[parameter.name] = self.root_of(argument.variable)
        before, exited, returned = self.state, self.exited, self.returned
        self.frame, self.exited, self.returned = frame, self.nobody, self.nobody
        self.state = replace(before, env=env)
        self._block(function.body)
        ends = [end for end, _ in frame.exits]
        if self.state.live or not ends:
            ends.append(self.state)
        before.pending.become(joined([(end.pending, end.guards, True) for end in ends]))
        results = self._results(frame, len(function.results))
        self.frame, self.path, self.exited, self.returned = outer, path, exited, returned
        self.state = before
        for target, value in zip(statement.results, results, strict=True):
            if target is not None:
                self.state.env[target.name] = value

    def _results(self, frame: Frame, count: int) -> list[Anything]:
        """What a call gives, of all its returns."""
        if not frame.exits:
            return [None] * count
        (first, values), *others = frame.exits
        results, mask = list(values), first.may
        for state, more in others:
            for at, value in enumerate(more):
                results[at] = self.blend(results[at], mask, value, state.may, together=False)
            mask = mask | state.may
        return results

    # -- loops ---------------------------------------------------------------------------------------------------

    def _for(self, statement: ir.For) -> None:
        start, stop, step = (self.number(e) for e in (statement.start, statement.stop, statement.step))
        trips = self._trips(statement, start, stop, step)
        cost = self.facts.cost(statement.body) + 1
        plain = self.facts.plain(statement)
        if trips is not None and start is not None and step is not None:
            most = int(np.max(np.where(self.state.may, trips, 0)))
            if most == 0:
                return
            if most * cost <= (_PLAIN_LOOP if plain else min(_LOOP, (LIMIT - self.steps) // 2)):
                self._count(statement, trips, most, start, step)
                return
        if plain:
            self._forget(statement)
            return
        uniform = self.uniformity.divergence(statement) is None
        once = trips is not None and bool(np.all(np.asarray(trips) > 0))

        def enter() -> bool:
            counter = None
            if start is not None and (uniform or (step is not None and step.uniform)):
                factor = step.lane if step is not None and step.known and isinstance(step.lane, int) else 1
                moved = Number(0, 0, 0, ((self.symbols.fresh(), factor),))
                counter = arithmetic("add", start, moved, INT32, self.symbols)
            self.state.env[statement.variable.name] = counter
            if not uniform:
                self.state.must = self.nobody
            return True

        vague = any(self.symbols.is_vague(value) for value in (start, stop, step))
        self._symbolic(statement, enter, uniform=uniform, vague=vague, once=once)

    def _trips(
        self, statement: ir.For, start: Number | None, stop: Number | None, step: Number | None
    ) -> int | Lanes | None:
        """How often each thread repeats the loop, if that is known."""
        if start is None or stop is None or step is None or not step.known:
            return None
        if start.terms != stop.terms or (start.terms and self.facts.waits(statement)):
            return None
        if all(isinstance(n.lane, int) for n in (start, stop, step)):
            return len(range(start.lane, stop.lane, step.lane)) if step.lane else 0
        if step.low <= 0 <= step.high:
            return None
        distance = stop.lane - start.lane
        return np.maximum(-(-distance // step.lane), 0)

    def _count(self, statement: ir.For, trips: int | Lanes, most: int, start: Number, step: Number) -> None:
        """A loop that is run."""
        kind = statement.variable.type
        assert isinstance(kind, Scalar)
        name = statement.variable.name
        entry = self._enter()
        exits: list[_Exit] = []
        for turn in range(most):
            if not isinstance(trips, int):
                self._leave(trips > turn, exits)
            if not self.state.live:
                break
            lane = start.lane + turn * step.lane
            low, high = (start.low + turn * step.low, start.high + turn * step.high)
            self.state.env[name] = Number(lane, low, high, start.terms) if turn or start.terms else start
            self._turn(statement, turn)
        self._after(entry, exits)

    def _while(self, statement: ir.While) -> None:
        plain = self.facts.plain(statement)
        cost = self.facts.cost(statement.body) + 1
        limit = _PLAIN_LOOP if plain else min(_LOOP, (LIMIT - self.steps) // 2)
        entry = self._enter()
        exits: list[_Exit] = []
        turn = 0
        while self.state.live:
            truth = self.truth(statement.condition)
            uncertain = not truth.known or any(
                end.guards != entry[0].guards or not _subset(end.may, end.must | ~entry[0].must)
                for end in self.frame.breaks[-1]
            )
            if uncertain or turn * cost > limit:
                self._unrolled(statement, truth, plain)
                break
            if truth.can is False:
                break
            if not isinstance(truth.can, bool):
                self._leave(np.asarray(truth.can), exits)
            self._turn(statement, turn)
            turn += 1
        self._after(entry, exits)

    def _unrolled(self, statement: ir.While, truth: Truth, plain: bool) -> None:
        """The iterations of a `while` from here on that cannot be followed one by one."""
        if plain:
            self._forget(statement)
            return
        uniform = self.uniformity.divergence(statement) is None

        def enter() -> bool:
            now = self.truth(statement.condition)
            holds, _ = self.split(now, uniform=uniform)
            if holds is None:
                return False
            self.state.may, self.state.must, self.state.guards = holds
            return True

        endless = isinstance(statement.condition, ir.Const)
        vague = self.symbols.is_vague(truth) and not endless
        self._symbolic(statement, enter, uniform=uniform, vague=vague, once=truth is TRUE, endless=endless)

    def _enter(self) -> tuple[State, Mask, Mask]:
        """A loop begins: the state before, with the masks of exits so far."""
        entry = (replace(self.state, env=dict(self.state.env)), self.exited, self.returned)
        self.exited = self.returned = self.nobody
        self.frame.breaks.append([])
        self.frame.continues.append([])
        return entry

    def _leave(self, stay: Mask, exits: list[_Exit]) -> None:
        """Some threads end the loop, the others go on."""
        state = self.state
        gone = state.may & ~stay
        if gone.any():
            left = replace(state, env=dict(state.env), may=gone, pending=state.pending.copy())
            exits.append((left, state.guards, True))
            state.may, state.must = state.may & stay, state.must & stay
            state.live = bool(state.may.any())

    def _turn(self, statement: ir.For | ir.While, turn: int) -> None:
        """One iteration, and the threads that `continue` are back."""
        before, exited = self.state, self.exited
        self.exited = self.nobody
        self._at(statement, turn, statement.body)
        back = self.frame.continues[-1]
        if back:
            ends = [*back, *([self.state] if self.state.live else [])]
            before.pending.become(joined([(e.pending, e.guards, True) for e in [*back, self.state]]))
            gone = self.returned
            for end in self.frame.breaks[-1]:
                gone = gone | end.may
            result = replace(before, env=self._blended(ends, together=False), live=True)
            result.may = np.logical_or.reduce([end.may for end in ends])
            result.guards = frozenset.intersection(*(end.guards for end in ends))
            result.must = before.must & ~gone
            self.state = result
            self.frame.continues[-1] = []
        self.exited = exited | self.exited

    def _after(self, entry: tuple[State, Mask, Mask], exits: list[_Exit]) -> None:
        """The state behind a loop; every thread that did not return is there."""
        before, exited, returned = entry
        breaks = self.frame.breaks.pop()
        self.frame.continues.pop()
        gone, self.returned = self.returned, returned | self.returned
        self.exited = exited | gone
        ends = [*(end for end, _, _ in exits), *breaks]
        if self.state.live:
            ends.append(self.state)
        pending = before.pending
        if len(ends) > 1 or (ends and ends[0] is not self.state) or not self.state.live:
            ways = [(end.pending, end.guards, True) for end in ends]
            if not any(end is self.state for end in ends):
                ways.append((self.state.pending, self.state.guards, False))
            pending.become(joined(ways))
        if not ends:
            self.state = replace(before, live=False)
            return
        env = self._blended(ends, together=False)
        self.state = replace(before, env=env, pending=pending, live=True)
        self.state.may = np.logical_or.reduce([end.may for end in ends])
        self.state.must = before.must & ~gone

    # -- loops of which iterations stand for others --------------------------------------------------------------

    def _forget(self, statement: ir.Stmt) -> None:
        """A loop that changes nothing but local variables."""
        for name in self.facts.assigned(statement):
            self.state.env[name] = None

    def _symbolic(
        self,
        statement: ir.For | ir.While,
        enter: Callable[[], bool],
        *,
        uniform: bool,
        vague: bool,
        once: bool,
        endless: bool = False,
    ) -> None:
        """Run the body for any iteration, and for any later one."""
        assigned = self.facts.assigned(statement)
        entry = self._enter()
        before = entry[0]
        token = (self.symbols.fresh(), True)
        later = (self.symbols.fresh(), True)
        skipped = before.pending.copy()
        lost: set[str] = set()
        start = dict(self.state.env)
        mark = self._mark()
        self.trials += 1
        while True:
            self._iteration(statement, enter, start, lost, {token}, 0, assigned)
            broken = self._broken(start, lost, assigned) if self.state.live else set()
            for end in self.frame.breaks[-1]:
                broken |= self._broken(start, lost, assigned, end)
            if not broken:
                break
            lost |= broken
            self._reset(mark, before)
        self.trials -= 1
        self.tell()
        if self.state.live:
            if vague:
                self.state.must = self.nobody
            self._iteration(statement, enter, start, lost, {later}, 1, assigned)
        self._behind(statement, entry, skipped, token, start, lost, uniform, once, endless)

    def _iteration(
        self,
        statement: ir.For | ir.While,
        enter: Callable[[], bool],
        start: dict[str, Anything],
        lost: set[str],
        tokens: set[tuple[int, bool]],
        turn: int,
        assigned: frozenset[str],
    ) -> None:
        """The body, for any iteration: what it assigns is what it was plus some number, or not known."""
        state = self.state
        state.guards = state.guards | tokens
        for name in assigned:
            if name in start:
                state.env[name] = self._some(name, start[name], lost)
            else:
                state.env.pop(name, None)
        if enter():
            self._turn(statement, turn)
        else:
            state.live = False

    def _some(self, name: str, value: Anything, lost: set[str]) -> Anything:
        """Any value that differs from ``value`` by one number for all threads."""
        if name in lost or not isinstance(value, Number):
            return None
        return Number(value.lane, value.low, value.high, ((self.symbols.fresh(), 1),))

    def _broken(
        self, start: dict[str, Anything], lost: set[str], assigned: Iterable[str], end: State | None = None
    ) -> set[str]:
        """The variables whose values do not keep apart as they did before the iteration."""
        env = (end or self.state).env
        broken = set()
        for name in assigned:
            was = start.get(name)
            if name in lost or not isinstance(was, Number):
                continue
            now = env.get(name)
            if not isinstance(now, Number) or np.ptp(np.asarray(now.lane - was.lane)) != 0:
                broken.add(name)
        return broken

    def _behind(
        self,
        statement: ir.For | ir.While,
        entry: tuple[State, Mask, Mask],
        skipped: Pending,
        token: tuple[int, bool],
        start: dict[str, Anything],
        lost: set[str],
        uniform: bool,
        once: bool,
        endless: bool,
    ) -> None:
        """The state behind a loop of unknown length."""
        state, guards = self.state, entry[0].guards
        breaks = self.frame.breaks.pop()
        self.frame.continues.pop()
        gone = self.returned
        self.exited, self.returned = entry[1] | gone, entry[2] | gone
        ways = [(end.pending, end.guards, True) for end in breaks]
        if not once:
            ways.append((skipped, guards | {(token[0], False)}, True))
        # An endless loop is left by `break` alone; where each thread leaves for itself, others go on meanwhile.
        # Whatever one iteration leaves behind, the later one does again.
        if not endless or not uniform:
            ways.append((state.pending, state.guards, state.live and not endless))
        pending = entry[0].pending
        pending.become(joined(ways) if ways else skipped)
        env = dict(start)
        for name in self.facts.assigned(statement):
            if name not in env:
                continue
            together = uniform and not any(_parted(end, entry[0]) for end in breaks)
            env[name] = self._some(name, start[name], lost) if together else None
        self.state = replace(entry[0], env=env, pending=pending, live=bool(breaks) or not endless)
        self.state.must = entry[0].must & ~gone

    def _mark(self) -> _Mark:
        return _Mark(
            self.state.pending.copy(),
            len(self.found),
            set(self.unknown),
            len(self.frame.exits),
            self.exited,
            self.returned,
        )

    def _reset(self, mark: _Mark, before: State) -> None:
        """As if the body had not run."""
        pending = before.pending
        pending.become(mark.pending.copy())
        del self.found[mark.found :]
        self.unknown = set(mark.unknown)
        del self.frame.exits[mark.exits :]
        self.exited, self.returned = mark.exited, mark.returned
        self.frame.breaks[-1], self.frame.continues[-1] = [], []
        self.state = replace(before, env=dict(before.env), pending=pending)


def _subset(left: Mask, right: Mask) -> bool:
    return not (left & ~right).any()


def _parted(end: State, entry: State) -> bool:
    """Whether only some of the threads may have left a loop here."""
    return bool((entry.may & ~end.may).any()) or bool((end.may & ~end.must & entry.must).any())


_L = Lockstep

_STATEMENTS: dict[type[ir.Stmt], Callable[[Lockstep, Any], None]] = {
    ir.Declare: _L._declare,
    ir.Assign: _L._assign,
    ir.If: _L._if,
    ir.For: _L._for,
    ir.While: _L._while,
    ir.Break: _L._break,
    ir.Continue: _L._continue,
    ir.Return: _L._return,
    ir.Barrier: _L._barrier,
    ir.Atomic: _L._atomic,
    ir.Call: _L._call,
    ir.Assert: _L._aside,
    ir.Breakpoint: _L._aside,
    ir.Claim: _L._claim,
    ir.Print: _L._aside,
    ir.Subgroup: _L._subgroup,
}
