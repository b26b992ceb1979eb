"""Tile-uniform control flow: a waiting barrier is reached by all threads of a tile or by none.

A forward, flow-sensitive analysis over the structured control flow. It keeps, per program point,
the variables whose value may differ between the threads of a tile, the tile_static variables that
changed since the last barrier, and the jumps by which some threads have left. Device functions are
analysed once per kind of call. Everything only grows while a loop is repeated, so a barrier refused
in an early round stays refused.

C++ AMP's model: docs/conformance.md, section 3 (uniformity).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vkamp.check.reasons import Diversion, Reason, because, graft, notes_of, shortest
from vkamp.check.state import Frame, Loop, SharedStore, State, Summary, join
from vkamp.errors import CompileError, Note, Span, UnsupportedFeatureError, diagnostic
from vkamp.ir import nodes
from vkamp.ir.types import Array

__all__ = ["Uniformity", "check_uniformity"]


@dataclass(frozen=True)
class Uniformity:
    """What is known of a kernel's control flow and values, with reasons.

    ``variables`` maps ``(function name, variable name)`` to why its value may differ somewhere
    between the threads of a tile (of an untiled kernel: between all threads); a variable that is
    not there is uniform everywhere.
    """

    kernel: nodes.Kernel
    variables: Mapping[tuple[str, str], Reason]
    stores: tuple[SharedStore, ...]
    conditions: Mapping[int, Reason] = field(repr=False)

    def divergence(self, statement: nodes.Stmt) -> Reason | None:
        """Why the condition of this If or While, or the bounds of this For, may differ.

        ``statement`` is a node of :attr:`kernel` itself, not an equal copy.
        """
        return self.conditions.get(id(statement))


def check_uniformity(kernel: nodes.Kernel) -> Uniformity:
    """Refuse a barrier that some thread of the tile could miss; the facts found on the way.

    Raises:
        CompileError: a waiting barrier under divergent control flow (VKA601 to VKA605), or any in
            an untiled kernel (VKA600); it points at the barrier and at the condition that diverges,
            with the reasons.
    """
    return _Analysis(kernel).run()


_CODES = {
    "if": "VKA601",
    "loop": "VKA602",
    "return": "VKA603",
    "break": "VKA604",
    "continue": "VKA604",
}
_PLACES = {
    "if": "under a condition that may differ between them",
    "loop": "in a loop whose number of iterations may differ between them",
    "return": "where some of them may have returned",
    "break": "in a loop that some of them may leave by `break`",
    "continue": "in a loop of which some of them may skip a part by `continue`",
}
_CONDITION = "this condition may differ between the threads of the tile"
_BOUND = "the number of iterations comes from this, which may differ between the threads of the tile"

_ContextKey = tuple[object, ...]


class _Analysis:
    """One run over a kernel."""

    def __init__(self, kernel: nodes.Kernel) -> None:
        self.kernel = kernel
        self.functions = {f.name: f for f in kernel.functions}
        self.barriers = _first(kernel, lambda s: isinstance(s, nodes.Barrier) and s.fence.waits)
        self.claims = _first(kernel, lambda s: isinstance(s, nodes.Claim))
        self.summaries: dict[_ContextKey, Summary] = {}
        self.conditions: dict[int, Reason] = {}
        self.variables: dict[tuple[str, str], Reason] = {}
        self.handlers: dict[type[nodes.Stmt], Callable[[Any, State, Frame], State]] = {
            nodes.Declare: self._declare,
            nodes.Assign: self._assign,
            nodes.If: self._if,
            nodes.For: self._for,
            nodes.While: self._while,
            nodes.Break: self._break,
            nodes.Continue: self._continue,
            nodes.Return: self._return,
            nodes.Barrier: self._barrier,
            nodes.Atomic: self._atomic,
            nodes.Call: self._call,
            nodes.Claim: self._claim,
            nodes.Assert: lambda _statement, state, _frame: state,
        }

    def run(self) -> Uniformity:
        frame = Frame(self.kernel.body)
        start = State(dirty={v.name: None for v in self.kernel.tile_statics})
        self._block(self.kernel.body.body, start, frame)
        return Uniformity(self.kernel, self.variables, tuple(_unique(frame.stores)), self.conditions)

    # -- statements --------------------------------------------------------------------------------

    def _block(self, block: nodes.Block, state: State, frame: Frame) -> State:
        outer = frame.path
        for position, statement in enumerate(block):
            if not state.live:
                break
            frame.path = (*outer, position)
            state = self.handlers[type(statement)](statement, state, frame)
        frame.path = outer
        return state

    def _declare(self, statement: nodes.Declare, state: State, frame: Frame) -> State:
        name = frame.tile_static(statement.variable)
        if name is not None:
            state.dirty[name] = None
        else:
            state.divergent.pop(frame.key(statement.variable), None)
        return state

    def _assign(self, statement: nodes.Assign, state: State, frame: Frame) -> State:
        value = self._value(statement.value, state, frame)
        where = self._indices(statement.place, state, frame)
        root = nodes.root_of(statement.place)
        if isinstance(root, nodes.BufferElement):
            self._store(statement, "container", root.buffer, where, state, frame)
            return state
        name = frame.tile_static(root.variable)
        if name is not None:
            state.dirty[name] = statement.span
            self._store(statement, "tile_static", name, where, state, frame)
        elif statement.place is root:
            self._set(root.variable, value, statement.span, state, frame)
        else:
            self._weaken(root.variable, value, where, statement.span, state, frame)
        return state

    def _store(
        self,
        statement: nodes.Assign,
        space: Literal["tile_static", "container"],
        root: str,
        where: Reason | None,
        state: State,
        frame: Frame,
    ) -> None:
        """Note a store of all threads to one element."""
        if where is None and self._diversion(state, frame) is None:
            frame.stores.append(SharedStore(statement, space, root))

    def _set(
        self,
        variable: nodes.Variable,
        reason: Reason | None,
        span: Span,
        state: State,
        frame: Frame,
    ) -> None:
        """The whole variable gets a value."""
        key = frame.key(variable)
        if reason is None:
            state.divergent.pop(key, None)
            return
        text = f"`{key}` gets a value here that may differ between the threads of the tile"
        state.divergent[key] = reason if variable.temporary else because(span, text, reason)
        self._record(key, state, frame)

    def _weaken(
        self,
        variable: nodes.Variable,
        value: Reason | None,
        where: Reason | None,
        span: Span,
        state: State,
        frame: Frame,
    ) -> None:
        """A part of the variable gets a value: the rest stays what it was."""
        key = frame.key(variable)
        what = "gets a value here" if value is not None else "is changed here at a place"
        text = f"`{key}` {what} that may differ between the threads of the tile"
        reason = value or where
        if reason is not None and key not in state.divergent:
            state.divergent[key] = because(span, text, reason)
            self._record(key, state, frame)

    def _record(self, key: str, state: State, frame: Frame) -> None:
        """Keep the first reason of a variable for the table."""
        place = (frame.function.name, key)
        if place not in self.variables:
            self.variables[place] = frame.resolve(state.divergent[key])

    def _spread(self, keys: Mapping[str, Span], text: str, cause: Reason, state: State, frame: Frame) -> None:
        """Variables that only some of the threads assigned differ from here on."""
        for key, span in keys.items():
            if key not in state.divergent:
                state.divergent[key] = because(span, f"`{key}` {text}", cause)
                self._record(key, state, frame)

    def _if(self, statement: nodes.If, state: State, frame: Frame) -> State:
        if isinstance(statement.condition, nodes.Const):
            taken = statement.then if statement.condition.value else statement.orelse
            return self._block(taken, state, frame)
        reason = self._condition(statement, (statement.condition,), state, frame)
        if reason is not None:
            frame.control.append(Diversion("if", statement.condition.span, _CONDITION, reason))
        outer = frame.path
        ends = []
        for side, block in enumerate((statement.then, statement.orelse)):
            frame.path = (*outer, side)
            ends.append(self._block(block, state.copy(), frame))
        frame.path = outer
        result = join(*ends)
        if reason is not None:
            frame.control.pop()
            if ends[0].live and ends[1].live:
                keys = _assigned((*statement.then, *statement.orelse), frame)
                cause = because(statement.condition.span, _CONDITION, reason)
                text = "is assigned here by only some threads of the tile"
                self._spread(keys, text, cause, result, frame)
        return result

    def _condition(
        self,
        statement: nodes.Stmt,
        operands: Iterable[nodes.Expr],
        state: State,
        frame: Frame,
    ) -> Reason | None:
        """Why a condition or a bound may differ; kept for the table."""
        reason = shortest(self._value(operand, state, frame) for operand in operands)
        if reason is not None and id(statement) not in self.conditions:
            self.conditions[id(statement)] = frame.resolve(reason)
        return reason

    def _for(self, statement: nodes.For, state: State, frame: Frame) -> State:
        bounds = (statement.start, statement.stop, statement.step)
        reason = self._condition(statement, bounds, state, frame)
        diversion = None
        if reason is not None:
            culprit = next(b for b in bounds if self._value(b, state, frame) == reason)
            diversion = Diversion("loop", culprit.span, _BOUND, reason)

        def enter(head: State) -> Diversion | None:
            self._set(statement.variable, reason, statement.span, head, frame)
            return diversion

        at_least_once = _runs(statement)
        return self._loop(statement, enter, state, frame, at_least_once=at_least_once)

    def _while(self, statement: nodes.While, state: State, frame: Frame) -> State:
        condition = statement.condition

        def enter(head: State) -> Diversion | None:
            reason = self._condition(statement, (condition,), head, frame)
            if reason is None:
                return None
            return Diversion("loop", condition.span, _CONDITION, reason)

        if isinstance(condition, nodes.Const) and not condition.value:
            return state
        endless = isinstance(condition, nodes.Const)
        return self._loop(statement, enter, state, frame, endless=endless)

    def _loop(
        self,
        statement: nodes.For | nodes.While,
        enter: Callable[[State], Diversion | None],
        state: State,
        frame: Frame,
        *,
        at_least_once: bool = False,
        endless: bool = False,
    ) -> State:
        """Repeat the body until nothing changes; ``enter`` says why threads may not go in alike."""
        around = state.left
        if around is not None:
            frame.control.append(around)
        path, before = frame.path, frame.stores
        entry = replace(state.copy(), left=None)
        # What an earlier round of an outer loop found still holds: so deep nests settle fast.
        head = join(entry, frame.heads[path]) if path in frame.heads else entry
        keys = _assigned((statement,), frame)
        while True:
            frame.stores = []
            body = head.copy()
            diversion = enter(body)
            loop, end = self._body(statement, diversion, body, frame)
            back = join(end, *loop.continues)
            following = join(head, back)
            skipped = next((s.left for s in loop.continues if s.left), None)
            if skipped is not None:
                self._spread_loop(keys, skipped, following, frame)
            if head.covers(following):
                break
            head = following
        frame.heads[path] = head
        frame.stores = before + frame.stores
        frame.path = path
        result = self._after(head, back, loop, at_least_once=at_least_once, endless=endless)
        uneven = diversion or result.left
        if uneven is not None:
            self._spread_loop(keys, uneven, result, frame)
        if around is not None:
            frame.control.pop()
        result.left = around
        return result

    def _body(
        self,
        statement: nodes.For | nodes.While,
        diversion: Diversion | None,
        state: State,
        frame: Frame,
    ) -> tuple[Loop, State]:
        """One round of a loop's body."""
        if diversion is not None:
            frame.control.append(diversion)
        loop = Loop(len(frame.control))
        frame.loops.append(loop)
        end = self._block(statement.body, state, frame)
        frame.loops.pop()
        if diversion is not None:
            frame.control.pop()
        return loop, end

    @staticmethod
    def _after(head: State, back: State, loop: Loop, *, at_least_once: bool, endless: bool) -> State:
        """The state behind a loop: its condition failed, or a ``break``."""
        if endless:
            normal = replace(head.copy(), live=False)
        elif at_least_once:
            normal = back
        else:
            normal = head
        return join(normal, *loop.breaks, replace(back.copy(), live=False))

    def _spread_loop(self, keys: Mapping[str, Span], diversion: Diversion, state: State, frame: Frame) -> None:
        """Variables assigned in a loop that the threads do not go through together."""
        text = "is assigned here, in a loop that the threads of the tile may not go through alike"
        self._spread(keys, text, _culprit(diversion), state, frame)

    def _break(self, statement: nodes.Break, state: State, frame: Frame) -> State:
        return self._jump("break", statement, state, frame, frame.loops[-1].breaks)

    def _continue(self, statement: nodes.Continue, state: State, frame: Frame) -> State:
        return self._jump("continue", statement, state, frame, frame.loops[-1].continues)

    def _jump(
        self,
        kind: Literal["break", "continue"],
        statement: nodes.Stmt,
        state: State,
        frame: Frame,
        targets: list[State],
    ) -> State:
        inner = frame.control[frame.loops[-1].depth :]
        if inner and state.left is None:
            text = f"some threads of the tile may `{kind}` here while others go on"
            state.left = Diversion(kind, statement.span, text, via=inner[-1])
        targets.append(state.copy())
        state.live = False
        return state

    def _return(self, statement: nodes.Return, state: State, frame: Frame) -> State:
        here = self._diversion(state, frame)
        values = [self._value(v, state, frame) for v in statement.values]
        if here is not None:
            text = "some threads of the tile may return here while others go on"
            if state.gone is None:
                state.gone = Diversion("return", statement.span, text, via=here)
            mixed = because(statement.span, text, _culprit(here))
            values = [v or mixed for v in values]
        frame.results = [a or b for a, b in zip(frame.results or [None] * len(values), values, strict=True)]
        frame.exits.append(state.copy())
        state.live = False
        return state

    def _barrier(self, statement: nodes.Barrier, state: State, frame: Frame) -> State:
        if not statement.fence.waits:
            return state
        if self.kernel.tile is None:
            raise diagnostic("VKA600", self._called(statement.span, frame))
        diversion = self._diversion(state, frame)
        if diversion is not None:
            raise self._refusal(_CODES[diversion.kind], statement.span, diversion, frame, {})
        if statement.fence.orders_tile_static:
            state.dirty.clear()
        return state

    def _atomic(self, statement: nodes.Atomic, state: State, frame: Frame) -> State:
        root = nodes.root_of(statement.place)
        if isinstance(root, nodes.Local):
            name = frame.tile_static(root.variable)
            if name is not None:
                state.dirty[name] = statement.span
        text = f"each thread of the tile may get another result of `{statement.name}`"
        reason = because(statement.span, text)
        expected = statement.expected.variable if statement.expected else None
        for variable in (statement.result, expected):
            if variable is not None:
                self._set(variable, reason, statement.span, state, frame)
        return state

    def _claim(self, statement: nodes.Claim, state: State, frame: Frame) -> State:
        diversion = self._diversion(state, frame)
        if diversion is not None:
            raise self._refusal("VKA606", statement.span, diversion, frame, {"what": "it stands"})
        self._set(statement.variable, None, statement.span, state, frame)
        return state

    # -- control flow ------------------------------------------------------------------------------

    @staticmethod
    def _diversion(state: State, frame: Frame) -> Diversion | None:
        """Why some threads of the tile may not be here, as far as this function goes."""
        if frame.control:
            return frame.control[-1]
        return state.left or state.gone

    @staticmethod
    def _called(span: Span, frame: Frame, *calls: Span) -> Span:
        """The span, reached through the calls of this analysis and, inside those, ``calls``."""
        outer: Span | None = None
        for call in reversed([*calls, *frame.calls()]):
            outer = replace(call, caller=outer)
        return replace(span, caller=outer)

    def _refusal(
        self,
        code: str,
        span: Span,
        diversion: Diversion,
        frame: Frame,
        fields: Mapping[str, object],
        calls: tuple[Span, ...] = (),
    ) -> CompileError | UnsupportedFeatureError:
        """The error for a barrier at ``span``."""
        notes: tuple[Note, ...] = notes_of(diversion, frame.resolve)
        where = self._called(span, frame, *calls)
        place = _PLACES[diversion.kind]
        return diagnostic(code, where, notes=notes, jump=diversion.kind, place=place, **fields)

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, statement: nodes.Call, state: State, frame: Frame) -> State:
        function = self.functions[statement.function]
        diversion = self._diversion(state, frame)
        inside = self.barriers.get(function.name)
        if inside is not None and diversion is not None:
            fields = {"function": function.python_name}
            span, calls = inside[0], (*inside[1:], statement.span)
            raise self._refusal("VKA605", span, diversion, frame, fields, calls)
        claimed = self.claims.get(function.name)
        if claimed is not None and diversion is not None:
            fields = {"what": f"`{function.python_name}` is called"}
            span, calls = claimed[0], (*claimed[1:], statement.span)
            raise self._refusal("VKA606", span, diversion, frame, fields, calls)
        summary = self._summary(function, statement, state, frame)
        arguments = self._arguments(function, statement, state, frame)
        state.dirty = dict(summary.dirty)
        if diversion is None:
            frame.stores += [replace(store, calls=(*store.calls, statement.span)) for store in summary.stores]
        for position, reason in summary.arrays.items():
            variable = _variable_of(statement.args[position])
            changed = graft(reason, arguments)
            self._weaken(variable, changed, None, statement.span, state, frame)
        for target, result in zip(statement.results, summary.results, strict=True):
            if target is not None:
                value = graft(result, arguments) if result is not None else None
                self._set(target, value, statement.span, state, frame)
        return state

    def _arguments(self, function: nodes.Function, call: nodes.Call, state: State, frame: Frame) -> dict[int, Reason]:
        """Why the arguments of a call may differ, by position."""
        found: dict[int, Reason] = {}
        for position, (parameter, argument) in enumerate(zip(function.params, call.args, strict=True)):
            reason = self._argument(argument, state, frame)
            if reason is not None:
                text = f"`{parameter.name}` of `{function.python_name}` is given this"
                found[position] = because(argument.span, text, reason)
        return found

    def _argument(self, argument: nodes.Expr | nodes.Place, state: State, frame: Frame) -> Reason | None:
        if isinstance(argument, nodes.Expr):
            return self._value(argument, state, frame)
        variable = _variable_of(argument)
        if frame.tile_static(variable) is not None:
            return None  # the state of tile_static memory is kept apart
        return state.divergent.get(frame.key(variable))

    def _summary(self, function: nodes.Function, call: nodes.Call, state: State, frame: Frame) -> Summary:
        """What the call does; one analysis for all calls whose arguments are of the same kinds."""
        arguments = self._arguments(function, call, state, frame)
        shared: dict[str, str] = {}
        twins: dict[str, str] = {}
        firsts: dict[str, str] = {}
        for parameter, argument in zip(function.params, call.args, strict=True):
            if not isinstance(parameter.type, Array):
                continue
            variable = _variable_of(argument)
            name = frame.tile_static(variable)
            if name is not None:
                shared[parameter.name] = name
            else:
                twins[parameter.name] = firsts.setdefault(frame.key(variable), parameter.name)
        key = (
            function.name,
            tuple(sorted(arguments)),
            tuple(shared.items()),
            tuple(twins.items()),
            frozenset(state.dirty.items()),
        )
        if key not in self.summaries:
            inner = Frame(function, call.span, frame, arguments, shared, twins)
            self.summaries[key] = self._analyse(inner, state)
        return self.summaries[key]

    def _analyse(self, frame: Frame, state: State) -> Summary:
        """Go through a device function."""
        start = State(dirty=dict(state.dirty))
        for position in frame.arguments:
            parameter = frame.function.params[position]
            key = frame.key(parameter)
            text = f"the parameter `{parameter.name}`"
            start.divergent[key] = Reason(parameter.span, text, None, position)
            self._record(key, start, frame)
        end = self._block(frame.function.body, start, frame)
        if end.live:
            frame.exits.append(end)
        return self._summarise(frame)

    def _summarise(self, frame: Frame) -> Summary:
        """The exits of a device function, joined."""
        function = frame.function
        # Without an exit (an endless loop) nothing after the call runs.
        exit_state = join(*frame.exits) if frame.exits else State()
        if exit_state.gone is not None:
            cause = because(exit_state.gone.span, exit_state.gone.text, _culprit(exit_state.gone))
            text = "is assigned here, and some threads of the tile may have returned before"
            self._spread(_assigned(function.body, frame), text, cause, exit_state, frame)
        arrays = {}
        for position, parameter in enumerate(function.params):
            if isinstance(parameter.type, Array) and parameter.name not in frame.shared:
                reason_now = exit_state.divergent.get(frame.key(parameter))
                if reason_now is not None:
                    arrays[position] = reason_now
        results = tuple(frame.results) if frame.results else (None,) * len(function.results)
        return Summary(results, arrays, exit_state.dirty, tuple(_unique(frame.stores)))

    # -- values ------------------------------------------------------------------------------------

    def _value(self, expr: nodes.Expr, state: State, frame: Frame) -> Reason | None:
        """Why the value may differ between the threads; ``None``: it is uniform."""
        if isinstance(expr, nodes.ThreadIndex):
            return self._thread_index(expr)
        if isinstance(expr, nodes.Load):
            return self._load(expr, state, frame)
        return shortest(
            self._value(child, state, frame) for child in nodes.children(expr) if isinstance(child, nodes.Expr)
        )

    def _thread_index(self, expr: nodes.ThreadIndex) -> Reason | None:
        if expr.kind in ("tile", "tile_origin"):
            return None
        if self.kernel.tile is None:
            text = f"`{self.kernel.index_name}` is different in each thread"
        else:
            which = "global_" if expr.kind == "global" else "local"
            text = f"`{self.kernel.index_name}.{which}` is different in each thread of the tile"
        return because(expr.span, text)

    def _load(self, expr: nodes.Load, state: State, frame: Frame) -> Reason | None:
        root = nodes.root_of(expr.place)
        if isinstance(root, nodes.BufferElement):
            text = f"a value loaded from `{root.buffer}` may differ between the threads of the tile"
            return because(expr.span, text)
        where = self._indices(expr.place, state, frame)
        name = frame.tile_static(root.variable)
        if name is None:
            return state.divergent.get(frame.key(root.variable)) or where
        if where is not None:
            text = f"which element of `{name}` is read may differ between the threads of the tile"
            return because(expr.span, text, where)
        if name not in state.dirty:
            return None
        store = state.dirty[name]
        if store is None:
            text = f"no barrier orders tile_static memory before this read of `{name}`"
            return because(expr.span, text)
        text = f"no barrier orders tile_static memory between a store and this read of `{name}`"
        return because(expr.span, text, because(store, f"the store to `{name}`"))

    def _indices(self, place: nodes.Place, state: State, frame: Frame) -> Reason | None:
        """Why the place may be another one for each thread."""
        found: list[Reason | None] = []
        step = place
        while True:
            if isinstance(step, (nodes.ArrayElement, nodes.BufferElement)):
                found += [self._value(index, state, frame) for index in step.indices]
            if isinstance(step, nodes.Reinterpreted):
                found.append(self._value(step.index, state, frame))
            inner = (nodes.ArrayElement, nodes.ComponentsOf, nodes.FieldOf, nodes.Reinterpreted, nodes.ViewElement)
            if not isinstance(step, inner):
                return shortest(found)
            step = step.base


# -- what the syntax says --------------------------------------------------------------------------


def _variable_of(argument: nodes.Expr | nodes.Place) -> nodes.Variable:
    """The array that is passed by reference."""
    assert isinstance(argument, nodes.Local)
    return argument.variable


def _culprit(diversion: Diversion) -> Reason:
    """The condition at the end of a chain of jumps, as a reason."""
    while diversion.reason is None and diversion.via is not None:
        diversion = diversion.via
    return because(diversion.span, diversion.text, diversion.reason)


def _assigned(block: nodes.Block, frame: Frame) -> dict[str, Span]:
    """The variables that these statements may assign, each with the first place that does."""
    found: dict[str, Span] = {}
    for statement in nodes.walk_statements(block):
        for variable in _targets(statement):
            if frame.tile_static(variable) is None:
                found.setdefault(frame.key(variable), statement.span)
    return found


def _targets(statement: nodes.Stmt) -> Iterator[nodes.Variable]:
    """The variables that this one statement may assign."""
    if isinstance(statement, nodes.For):
        yield statement.variable
    elif isinstance(statement, nodes.Assign):
        root = nodes.root_of(statement.place)
        if isinstance(root, nodes.Local):
            yield root.variable
    elif isinstance(statement, nodes.Atomic):
        if statement.result is not None:
            yield statement.result
        if statement.expected is not None:
            yield statement.expected.variable
    elif isinstance(statement, nodes.Claim):
        yield statement.variable
    elif isinstance(statement, nodes.Call):
        yield from (v for v in statement.results if v is not None)
        yield from (a.variable for a in statement.args if isinstance(a, nodes.Local))


def _runs(statement: nodes.For) -> bool:
    """Whether the loop certainly has an iteration."""
    bounds = (statement.start, statement.stop, statement.step)
    values = [int(b.value) for b in bounds if isinstance(b, nodes.Const)]
    return len(values) == 3 and values[2] != 0 and len(range(*values)) > 0


def _first(kernel: nodes.Kernel, wanted: Callable[[nodes.Stmt], bool]) -> dict[str, tuple[Span, ...]]:
    """Per device function that has such a statement: the first one, then the calls that lead to it."""
    found: dict[str, tuple[Span, ...]] = {}
    for function in kernel.functions:
        for statement in nodes.walk_statements(function.body):
            if wanted(statement):
                found[function.name] = (statement.span,)
                break
            if isinstance(statement, nodes.Call) and statement.function in found:
                found[function.name] = (*found[statement.function], statement.span)
                break
    return found


def _unique(stores: Iterable[SharedStore]) -> Iterator[SharedStore]:
    """One store per statement and variable, whatever the number of calls that lead to it."""
    seen: set[tuple[int, str]] = set()
    for store in stores:
        key = (id(store.statement), store.root)
        if key not in seen:
            seen.add(key)
            yield store
