"""Runs a kernel for all threads of one tile together, with the values that the compiler knows. Loops with known bounds
are run. The body of other loops is run for one iteration and for a later one, whose counters and variables may have any
value. The run reaches every access that a thread of the tile can make; uncertain ones are marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vkamp.check.race_prover.accesses import AccessSet, Root, Space, joined
from vkamp.check.race_prover.affine import (
    TRUE,
    AffineValue,
    LanePredicate,
    Lanes,
    Mask,
    Value,
    binary,
    difference,
)
from vkamp.check.race_prover.run import LIMIT, TRACKED, CallFrame, Guards, PathState, Run
from vkamp.check.race_prover.values import Values
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32, Array, Scalar

#: The maximum number of statements in the run of one loop; beyond it, one run of the body represents all iterations.
#: The second limit applies to loops that do not access shared memory.
_LOOP = LIMIT // 3
_LOCAL_LOOP = 96

_Exit = tuple[PathState, Guards, bool]


@dataclass
class _Checkpoint:
    """The state that a trial run of a loop's body must restore."""

    pending: AccessSet
    found: int
    unknown: set[Root]
    exits: int
    exited: Mask
    returned: Mask


class Interpreter:
    """Runs the statements of a kernel."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.values = Values(run)

    def block(self, block: ir.Block) -> None:
        """Run a block; raises :class:`OutOfBudget` for a kernel that is too large, :class:`RaceFound` for a race."""
        for statement in block:
            if not self.run.state.live:
                return
            self.run.spend()
            _HANDLERS[type(statement)](self, statement)

    def _nested(self, statement: ir.Stmt, iteration: int, block: ir.Block) -> None:
        """A nested block."""
        with self.run.at(statement, iteration):
            self.block(block)

    # -- plain statements ----------------------------------------------------------------------------------------

    def _declare(self, statement: ir.Declare) -> None:
        pass

    def _assign(self, statement: ir.Assign) -> None:
        with self.run.at(statement):
            place = statement.place
            value = self.values.value(statement.value)
            if isinstance(place, ir.Local):
                self.run.state.env[place.variable.name] = value
            else:
                self.values.accesses.note("write", place, id(statement))
                root = ir.root_of(place)
                if isinstance(root, ir.Local) and not isinstance(root.type, Array):
                    self.run.state.env[root.variable.name] = None

    def _uniform_assert(self, statement: ir.UniformAssert) -> None:
        with self.run.at(statement):
            value = self.values.value(statement.value)
            if value is None and statement.variable.type in TRACKED:
                value = self.run.lost(statement.variable.type)
            self.run.state.env[statement.variable.name] = value

    def _barrier(self, statement: ir.Barrier) -> None:
        fence, pending = statement.fence, self.run.state.pending
        if not fence.waits:
            return
        self.run.visited.setdefault(id(statement), (statement, self.run.frame))
        spaces: tuple[tuple[Space, bool], ...]
        spaces = (("tile_static", fence.orders_tile_static), ("global", fence.orders_global))
        for space, ordered in spaces:
            if (ordered or self.run.split_waits) and space in pending.touched:
                pending.open[space].add(id(statement))
                self.run.opened.add(id(statement))
            if ordered:
                pending.clear(space)

    def _atomic(self, statement: ir.Atomic) -> None:
        with self.run.at(statement):
            for argument in statement.args:
                self.values.value(argument)
            self.values.accesses.note("atomic", statement.place)
            for variable in ir.definitions(statement):
                self.run.state.env[variable.name] = None

    def _operation(self, statement: ir.Operation) -> None:
        # Nothing is known of its results.
        with self.run.at(statement):
            for operand in ir.children(statement):
                assert isinstance(operand, ir.Expr)
                self.values.value(operand)
            for variable in ir.results(statement):
                self.run.state.env[variable.name] = None

    def _matrix_operation(self, statement: ir.MatrixOperation) -> None:
        self._nested(statement, 0, statement.body)

    def _aside(self, statement: ir.Assert | ir.Aside) -> None:
        # Devices do not run it, so its reads are not certain.
        state = self.run.state
        with self.run.narrowed((state.may, self.run.nobody, state.guards)):
            for child in ir.children(statement):
                assert isinstance(child, ir.Expr)
                self.values.value(child)

    _assert = _aside

    # -- branches ------------------------------------------------------------------------------------------------

    def _if(self, statement: ir.If) -> None:
        uniform = self.run.kernel.tile is not None and self.run.uniformity.divergence(statement) is None
        self._branch(statement, statement.condition, uniform)

    def _branch(self, statement: ir.If, condition: ir.Expr, uniform: bool) -> None:
        if isinstance(condition, ir.Logical) and condition.op == "and" and not statement.orelse:
            # `if a and b` is `if a: if b`, since each part may be known differently.
            left, right = condition.left, condition.right
            self._either(left, uniform, lambda: self._branch(statement, right, uniform), None)
            return
        then, orelse = statement.then, statement.orelse
        self._either(
            condition,
            uniform,
            lambda: self._nested(statement, 0, then),
            (lambda: self._nested(statement, 0, orelse)) if orelse else None,
        )

    def _either(
        self, condition: ir.Expr, uniform: bool, then: Callable[[], None], orelse: Callable[[], None] | None
    ) -> None:
        """Both sides of a condition."""
        truth = self.values.truth(condition)
        holds, fails = self.run.split(truth, uniform=uniform)
        if holds is None or fails is None:
            side = then if fails is None else orelse
            if side is not None:
                side()
            return
        before, exited = self.run.state, self.run.exited
        alone = holds[2] != before.guards
        chosen = not truth.known and not alone and self.values.is_data(condition)
        if chosen:
            # Any thread may take either path.
            can, must = np.asarray(truth.can), np.asarray(truth.must)
            holds = holds[0], before.must & can, holds[2]
            fails = fails[0], before.must & ~must, fails[2]
        self.run.exited = self.run.nobody
        ends = []
        for way, side in ((holds, then), (fails, orelse)):
            self.run.state = before.fork(*way, alone=alone, chosen=chosen)
            if side is not None:
                side()
            ends.append(self.run.state)
        left, self.run.exited = self.run.exited, exited | self.run.exited
        self.run.state = self._meet(before, ends, alone, left)

    def _meet(self, before: PathState, ends: list[PathState], alone: bool, left: Mask) -> PathState:
        """The state after a branch."""
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

    def _blended(self, states: Sequence[PathState], *, together: bool) -> dict[str, Value]:
        """The variables where states meet."""
        env, mask = dict(states[0].env), states[0].may
        for state in states[1:]:
            for name, value in state.env.items():
                if name not in env:
                    env[name] = value
                elif env[name] is not value:
                    env[name] = self.run.blend(env[name], mask, value, state.may, together=together)
            mask = mask | state.may
        return env

    # -- jumps ---------------------------------------------------------------------------------------------------

    def _snapshot(self) -> PathState:
        """The state at the target of a jump."""
        state = self.run.state
        self.run.state = replace(state, live=False)
        self.run.exited = self.run.exited | state.may
        return replace(state, env=dict(state.env), pending=state.pending.copy())

    def _break(self, _: ir.Break) -> None:
        self.run.frame.breaks[-1].append(self._snapshot())

    def _continue(self, _: ir.Continue) -> None:
        self.run.frame.continues[-1].append(self._snapshot())

    def _return(self, statement: ir.Return) -> None:
        values = tuple(map(self.values.value, statement.values))
        self.run.returned = self.run.returned | self.run.state.may
        self.run.frame.exits.append((self._snapshot(), values))

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(self, statement: ir.Call) -> None:
        function = self.run.facts.functions[statement.function]
        outer, path = self.run.frame, self.run.path
        self.run.path = (*path, (statement, 0))
        frame = CallFrame(function, call=replace(statement.span, caller=outer.call))
        env: dict[str, Value] = {}
        for parameter, argument in zip(function.params, statement.args, strict=True):
            if isinstance(argument, ir.Expr):
                env[parameter.name] = self.values.value(argument)
            elif isinstance(argument, ir.Local):
                frame.arrays[parameter.name] = self.run.root_of(argument.variable)
        before, exited, returned = self.run.state, self.run.exited, self.run.returned
        self.run.frame, self.run.exited, self.run.returned = frame, self.run.nobody, self.run.nobody
        self.run.state = replace(before, env=env)
        self.block(function.body)
        ends = [end for end, _ in frame.exits]
        if self.run.state.live or not ends:
            ends.append(self.run.state)
        before.pending.become(joined([(end.pending, end.guards, True) for end in ends]))
        results = self._results(frame, len(function.results))
        self.run.frame, self.run.path, self.run.exited, self.run.returned = (
            outer,
            path,
            exited,
            returned,
        )
        self.run.state = before
        for target, value in zip(statement.results, results, strict=True):
            if target is not None:
                self.run.state.env[target.name] = value

    def _results(self, frame: CallFrame, count: int) -> list[Value]:
        """The result of a call, joined over all its `return` statements."""
        if not frame.exits:
            return [None] * count
        (first, values), *others = frame.exits
        results, mask = list(values), first.may
        for state, more in others:
            for at, value in enumerate(more):
                results[at] = self.run.blend(results[at], mask, value, state.may, together=False)
            mask = mask | state.may
        return results

    # -- loops ---------------------------------------------------------------------------------------------------

    def _for(self, statement: ir.For) -> None:
        start, stop, step = (self.values.number(e) for e in (statement.start, statement.stop, statement.step))
        trips = self._trips(statement, start, stop, step)
        cost = self.run.facts.cost(statement.body) + 1
        is_local_only = self.run.facts.is_local_only(statement)
        if trips is not None and start is not None and stop is not None and step is not None:
            most = int(np.max(np.where(self.run.state.may, trips, 0)))
            if most == 0:
                return
            if most * cost <= (_LOCAL_LOOP if is_local_only else min(_LOOP, (LIMIT - self.run.steps) // 2)):
                self._count(statement, trips, most, start, step, wraps=self._wraps(start, stop))
                return
        if is_local_only:
            self._forget(statement)
            return
        uniform = self.run.uniformity.divergence(statement) is None
        once = trips is not None and bool(np.all(np.asarray(trips) > 0))

        def enter() -> bool:
            counter = None
            if start is not None and (uniform or (step is not None and step.uniform)):
                factor = step.lane if step is not None and step.known and isinstance(step.lane, int) else 1
                moved = AffineValue(0, 0, 0, ((self.run.symbols.fresh(), factor),))
                counter = binary("add", start, moved, INT32, self.run.symbols)
            self.run.state.env[statement.variable.name] = counter
            if not uniform:
                self.run.state.must = self.run.nobody
            return True

        vague = any(self.run.symbols.is_vague(value) for value in (start, stop, step))
        self._symbolic(statement, enter, uniform=uniform, vague=vague, once=once)

    def _trips(
        self, statement: ir.For, start: AffineValue | None, stop: AffineValue | None, step: AffineValue | None
    ) -> int | Lanes | None:
        """How often each thread repeats the loop, if that is known."""
        if start is None or stop is None or step is None or not step.known:
            return None
        if start.terms != stop.terms or (start.terms and self.run.facts.waits(statement)):
            return None
        if step.low <= 0 <= step.high:
            return 0 if step.uniform else None
        # With symbols, the numbers are modulo 2**32.
        distance = difference(stop, start).lane if start.terms else stop.lane - start.lane
        if self._wraps(start, stop) and np.any(distance * step.lane < 0):
            return None
        trips = np.maximum(-(-distance // step.lane), 0)
        return int(trips) if isinstance(distance, int) and step.uniform else trips

    def _wraps(self, start: AffineValue, stop: AffineValue) -> bool:
        """Whether ``stop`` may be on the other side of ``start`` than their symbols tell, because a sum wraps."""
        return any(n.terms and self.run.symbols.interval(n, INT32) is None for n in (start, stop))

    def _count(
        self,
        statement: ir.For,
        trips: int | Lanes,
        most: int,
        start: AffineValue,
        step: AffineValue,
        *,
        wraps: bool,
    ) -> None:
        """A loop that is run. If a sum ``wraps``, all threads with the same symbols may also skip it."""
        kind = statement.variable.type
        assert isinstance(kind, Scalar)
        name = statement.variable.name
        entry = self._enter()
        exits: list[_Exit] = []
        if wraps:
            skipped = replace(entry[0], env=dict(entry[0].env), pending=entry[0].pending.copy())
            exits.append((skipped, skipped.guards, True))
        for iteration in range(most):
            if not isinstance(trips, int):
                self._leave(trips > iteration, exits)
            if not self.run.state.live:
                break
            lane = start.lane + iteration * step.lane
            low, high = (start.low + iteration * step.low, start.high + iteration * step.high)
            self.run.state.env[name] = AffineValue(lane, low, high, start.terms) if iteration or start.terms else start
            self._run_iteration(statement, iteration)
        self._after(entry, exits)

    def _while(self, statement: ir.While) -> None:
        is_local_only = self.run.facts.is_local_only(statement)
        cost = self.run.facts.cost(statement.body) + 1
        limit = _LOCAL_LOOP if is_local_only else min(_LOOP, (LIMIT - self.run.steps) // 2)
        entry = self._enter()
        exits: list[_Exit] = []
        iteration = 0
        while self.run.state.live:
            truth = self.values.truth(statement.condition)
            uncertain = not truth.known or any(
                end.guards != entry[0].guards or not _subset(end.may, end.must | ~entry[0].must)
                for end in self.run.frame.breaks[-1]
            )
            if uncertain or iteration * cost > limit:
                self._unrolled(statement, truth, is_local_only)
                break
            if truth.can is False:
                break
            if not isinstance(truth.can, bool):
                self._leave(np.asarray(truth.can), exits)
            self._run_iteration(statement, iteration)
            iteration += 1
        self._after(entry, exits)

    def _unrolled(self, statement: ir.While, truth: LanePredicate, is_local_only: bool) -> None:
        """The further iterations of a `while` that cannot be run one by one."""
        if is_local_only:
            self._forget(statement)
            return
        uniform = self.run.uniformity.divergence(statement) is None

        def enter() -> bool:
            now = self.values.truth(statement.condition)
            holds, _ = self.run.split(now, uniform=uniform)
            if holds is None:
                return False
            self.run.state.may, self.run.state.must, self.run.state.guards = holds
            return True

        endless = isinstance(statement.condition, ir.Const)
        vague = self.run.symbols.is_vague(truth) and not endless
        self._symbolic(statement, enter, uniform=uniform, vague=vague, once=truth is TRUE, endless=endless)

    def _enter(self) -> tuple[PathState, Mask, Mask]:
        """The state at the beginning of a loop, with the masks of previous exits."""
        entry = (
            replace(self.run.state, env=dict(self.run.state.env)),
            self.run.exited,
            self.run.returned,
        )
        self.run.exited = self.run.returned = self.run.nobody
        self.run.frame.breaks.append([])
        self.run.frame.continues.append([])
        return entry

    def _leave(self, stay: Mask, exits: list[_Exit]) -> None:
        """Some threads end the loop, and the others continue."""
        state = self.run.state
        gone = state.may & ~stay
        if gone.any():
            left = replace(state, env=dict(state.env), may=gone, pending=state.pending.copy())
            exits.append((left, state.guards, True))
            state.may, state.must = state.may & stay, state.must & stay
            state.live = bool(state.may.any())

    def _run_iteration(self, statement: ir.For | ir.While, iteration: int) -> None:
        """One iteration; threads that `continue` take part again after it."""
        before, exited = self.run.state, self.run.exited
        self.run.exited = self.run.nobody
        self._nested(statement, iteration, statement.body)
        back = self.run.frame.continues[-1]
        if back:
            ends = [*back, *([self.run.state] if self.run.state.live else [])]
            before.pending.become(joined([(e.pending, e.guards, True) for e in [*back, self.run.state]]))
            gone = self.run.returned
            for end in self.run.frame.breaks[-1]:
                gone = gone | end.may
            result = replace(before, env=self._blended(ends, together=False), live=True)
            result.may = np.logical_or.reduce([end.may for end in ends])
            result.guards = frozenset.intersection(*(end.guards for end in ends))
            result.must = before.must & ~gone
            self.run.state = result
            self.run.frame.continues[-1] = []
        self.run.exited = exited | self.run.exited

    def _after(self, entry: tuple[PathState, Mask, Mask], exits: list[_Exit]) -> None:
        """The state after a loop, with every thread that did not return."""
        before, exited, returned = entry
        breaks = self.run.frame.breaks.pop()
        self.run.frame.continues.pop()
        gone, self.run.returned = self.run.returned, returned | self.run.returned
        self.run.exited = exited | gone
        ends = [*(end for end, _, _ in exits), *breaks]
        if self.run.state.live:
            ends.append(self.run.state)
        pending = before.pending
        if len(ends) > 1 or (ends and ends[0] is not self.run.state) or not self.run.state.live:
            ways = [(end.pending, end.guards, True) for end in ends]
            if not any(end is self.run.state for end in ends):
                ways.append((self.run.state.pending, self.run.state.guards, False))
            pending.become(joined(ways))
        if not ends:
            self.run.state = replace(before, live=False)
            return
        env = self._blended(ends, together=False)
        self.run.state = replace(before, env=env, pending=pending, live=True)
        self.run.state.may = np.logical_or.reduce([end.may for end in ends])
        self.run.state.must = before.must & ~gone

    # -- loops with one iteration in place of the others --------------------------------------------------------------

    def _forget(self, statement: ir.Stmt) -> None:
        """A loop that changes only local variables; it may read containers that the kernel does not change."""
        if self.run.facts.reads_containers(statement):
            self.values.accesses.use("global")
        for name in self.run.facts.assigned(statement):
            self.run.state.env[name] = None

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
        """Run the body for an arbitrary iteration, and for an arbitrary later one."""
        assigned = self.run.facts.assigned(statement)
        entry = self._enter()
        before = entry[0]
        token = (self.run.symbols.fresh(), True)
        later = (self.run.symbols.fresh(), True)
        skipped = before.pending.copy()
        lost: set[str] = set()
        start = dict(self.run.state.env)
        mark = self._checkpoint()
        self.run.trials += 1
        while True:
            self._iteration(statement, enter, start, lost, {token}, 0, assigned)
            broken = self._broken(start, lost, assigned) if self.run.state.live else set()
            for end in self.run.frame.breaks[-1]:
                broken |= self._broken(start, lost, assigned, end)
            if not broken:
                break
            lost |= broken
            self._roll_back(mark, before)
        self.run.trials -= 1
        self.run.raise_race()
        if self.run.state.live:
            if vague:
                self.run.state.must = self.run.nobody
            self._iteration(statement, enter, start, lost, {later}, 1, assigned)
        self._behind(statement, entry, skipped, token, start, lost, uniform, once, endless)

    def _iteration(
        self,
        statement: ir.For | ir.While,
        enter: Callable[[], bool],
        start: dict[str, Value],
        lost: set[str],
        tokens: set[tuple[int, bool]],
        iteration: int,
        assigned: frozenset[str],
    ) -> None:
        """The body for an arbitrary iteration: an assigned variable is its old value plus some number, or unknown."""
        state = self.run.state
        state.guards = state.guards | tokens
        for name in assigned:
            if name in start:
                state.env[name] = self._some(name, start[name], lost)
            else:
                state.env.pop(name, None)
        if enter():
            self._run_iteration(statement, iteration)
        else:
            state.live = False

    def _some(self, name: str, value: Value, lost: set[str]) -> Value:
        """A value that differs from ``value`` by the same unknown number in all threads."""
        if name in lost or not isinstance(value, AffineValue):
            return None
        return AffineValue(value.lane, value.low, value.high, ((self.run.symbols.fresh(), 1),))

    def _broken(
        self, start: dict[str, Value], lost: set[str], assigned: Iterable[str], end: PathState | None = None
    ) -> set[str]:
        """The variables whose values differ between threads by more than before the iteration."""
        env = (end or self.run.state).env
        broken = set()
        for name in assigned:
            was = start.get(name)
            if name in lost or not isinstance(was, AffineValue):
                continue
            now = env.get(name)
            if not isinstance(now, AffineValue) or np.ptp(np.asarray(now.lane - was.lane)) != 0:
                broken.add(name)
        return broken

    def _behind(
        self,
        statement: ir.For | ir.While,
        entry: tuple[PathState, Mask, Mask],
        skipped: AccessSet,
        token: tuple[int, bool],
        start: dict[str, Value],
        lost: set[str],
        uniform: bool,
        once: bool,
        endless: bool,
    ) -> None:
        """The state after a loop with an unknown number of iterations."""
        state, guards = self.run.state, entry[0].guards
        breaks = self.run.frame.breaks.pop()
        self.run.frame.continues.pop()
        gone = self.run.returned
        self.run.exited, self.run.returned = entry[1] | gone, entry[2] | gone
        ways = [(end.pending, end.guards, True) for end in breaks]
        if not once:
            ways.append((skipped, guards | {(token[0], False)}, True))
        # An endless loop ends by `break` only. If threads leave it separately, others continue in the meantime. The
        # state after one iteration includes that after later ones.
        if not endless or not uniform:
            ways.append((state.pending, state.guards, state.live and not endless))
        pending = entry[0].pending
        pending.become(joined(ways) if ways else skipped)
        env = dict(start)
        for name in self.run.facts.assigned(statement):
            if name not in env:
                continue
            together = uniform and not any(_parted(end, entry[0]) for end in breaks)
            env[name] = self._some(name, start[name], lost) if together else None
        self.run.state = replace(entry[0], env=env, pending=pending, live=bool(breaks) or not endless)
        self.run.state.must = entry[0].must & ~gone

    def _checkpoint(self) -> _Checkpoint:
        return _Checkpoint(
            self.run.state.pending.copy(),
            len(self.run.found),
            set(self.run.unknown),
            len(self.run.frame.exits),
            self.run.exited,
            self.run.returned,
        )

    def _roll_back(self, mark: _Checkpoint, before: PathState) -> None:
        """Restores the state before the body."""
        pending = before.pending
        pending.become(mark.pending.copy())
        del self.run.found[mark.found :]
        self.run.unknown = set(mark.unknown)
        del self.run.frame.exits[mark.exits :]
        self.run.exited, self.run.returned = mark.exited, mark.returned
        self.run.frame.breaks[-1], self.run.frame.continues[-1] = [], []
        self.run.state = replace(before, env=dict(before.env), pending=pending)


def _subset(left: Mask, right: Mask) -> bool:
    return not (left & ~right).any()


def _parted(end: PathState, entry: PathState) -> bool:
    """Whether only some of the threads may have left a loop here."""
    return bool((entry.may & ~end.may).any()) or bool((end.may & ~end.must & entry.must).any())


_HANDLERS = ir.handlers(Interpreter, ir.Stmt)
