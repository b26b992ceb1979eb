"""Tile-uniform control flow: a waiting barrier must be reached by all threads of a tile or by none. A second run of the
same analysis checks subgroup-uniform control flow: the same for subgroup functions and the threads of a subgroup. It is
a forward, flow-sensitive analysis over the structured control flow. Its state contains, for each program point, the
variables whose value may differ between the threads of a tile, the tile_static variables that changed since the last
barrier, and the jumps by which some threads have left. Device functions are analysed once per kind of call. The state
only grows while a loop is repeated, so a barrier that an early round rejects stays rejected.

C++ AMP's model: docs/conformance.md, section 3 (uniformity).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vkamp.check.reasons import Diversion, Reason, because, fix_of, graft, notes_of, shortest
from vkamp.check.state import FlowState, FunctionFlow, Group, LoopFlow, Parts, SharedStore, Summary, join
from vkamp.check.syntax import culprit_of, first_places, may_run, unique_stores, variable_of, written_arrays
from vkamp.check.values import ValueAnalysis, part_key, parts_of, place_parts
from vkamp.errors import CompileError, Span, UnsupportedFeatureError, diagnostic
from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import mentioned
from vkamp.ir.matrices import function_of
from vkamp.ir.requirements import uses_subgroups
from vkamp.ir.subgroups import COMMON, SUBGROUPS
from vkamp.ir.types import Array


@dataclass(frozen=True)
class Uniformity:
    """The uniformity of a kernel's control flow and values, with reasons.

    ``variables`` maps ``(function name, variable name)`` to why its value may differ somewhere
    between the threads of a tile (of an untiled kernel: between all threads); a variable that is
    not there is uniform everywhere.
    """

    kernel: ir.Kernel
    variables: Mapping[tuple[str, str], Reason]
    stores: tuple[SharedStore, ...]
    conditions: Mapping[int, Reason] = field(repr=False)

    def divergence(self, statement: ir.Stmt) -> Reason | None:
        """Why the condition of this If or While, or the bounds of this For, may differ.

        ``statement`` is a node of :attr:`kernel` itself, not an equal copy.
        """
        return self.conditions.get(id(statement))


def check_uniformity(kernel: ir.Kernel) -> Uniformity:
    """Refuse a barrier that some thread of the tile could miss; the facts found on the way.

    Raises:
        CompileError: a waiting barrier under divergent control flow (VKA601 to VKA605), or any in
            an untiled kernel (VKA600); it points at the barrier and at the condition that diverges,
            with the reasons.
    """
    found = _Analysis(kernel, "tile").run()
    if uses_subgroups(kernel):
        _Analysis(kernel, "subgroup").run()
    return found


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
    "continue": "in a loop whose rest some of them may skip by `continue`",
}


_ContextKey = tuple[object, ...]


class _Analysis:
    """One run over a kernel."""

    def __init__(self, kernel: ir.Kernel, group: Group) -> None:
        self.kernel = kernel
        self.group = group
        self.functions = {f.name: f for f in kernel.functions}
        self.values = ValueAnalysis(kernel, group)
        self.written = written_arrays(kernel)
        self.barriers = first_places(kernel, lambda s: isinstance(s, ir.Barrier) and s.fence.waits)
        self.uniform_asserts = first_places(kernel, lambda s: isinstance(s, ir.UniformAssert))
        self.sharing = first_places(kernel, _shares)
        self.meetings = first_places(kernel, lambda s: isinstance(s, (ir.Subgroup, ir.MatrixOperation)))
        self.summaries: dict[_ContextKey, Summary] = {}
        self.conditions: dict[int, Reason] = {}
        self.variables: dict[tuple[str, str], Reason] = {}
        self.threads = f"threads of the {group}"

    def run(self) -> Uniformity:
        frame = FunctionFlow(self.kernel.body)
        start = FlowState(dirty={v.name: None for v in self.kernel.tile_statics})
        self._block(self.kernel.body.body, start, frame)
        return Uniformity(self.kernel, self.variables, tuple(unique_stores(frame.stores)), self.conditions)

    @property
    def _text_condition(self) -> str:
        return f"this condition may differ between the {self.threads}"

    @property
    def _text_bound(self) -> str:
        return f"the number of iterations depends on this, which may differ between the {self.threads}"

    @property
    def _text_alike(self) -> str:
        return f"is assigned here, in a loop whose iterations may differ between the {self.threads}"

    # -- statements --------------------------------------------------------------------------------

    def _block(self, block: ir.Block, state: FlowState, frame: FunctionFlow) -> FlowState:
        outer = frame.path
        for position, statement in enumerate(block):
            if not state.live:
                break
            frame.path = (*outer, position)
            state = _HANDLERS[type(statement)](self, statement, state, frame)
        frame.path = outer
        return state

    def _declare(self, statement: ir.Declare, state: FlowState, frame: FunctionFlow) -> FlowState:
        name = frame.tile_static(statement.variable)
        if name is not None:
            state.dirty[name] = None
        else:
            state.divergent.pop(frame.key(statement.variable), None)
        return state

    def _assign(self, statement: ir.Assign, state: FlowState, frame: FunctionFlow) -> FlowState:
        where = self.values.indices(statement.place, state, frame)
        root = ir.root_of(statement.place)
        if isinstance(root, ir.BufferElement):
            self._store(statement, "container", root.buffer, where, state, frame)
            return state
        name = frame.tile_static(root.variable)
        if name is not None:
            state.dirty[name] = statement.span
            self._store(statement, "tile_static", name, where, state, frame)
            return state
        parts, is_whole = place_parts(statement.place)
        values = self.values.parts(statement.value, state, frame)
        if is_whole and len(values) == len(parts):
            self._set(root.variable, dict(zip(parts, values.values(), strict=True)), statement.span, state, frame)
            return state
        value = shortest(values.values())
        if is_whole:
            self._set(root.variable, dict.fromkeys(parts, value), statement.span, state, frame)
        else:
            self._weaken(root.variable, parts, value or where, value is not None, statement.span, state, frame)
        return state

    def _aside(self, statement: ir.Assert | ir.Aside, state: FlowState, frame: FunctionFlow) -> FlowState:
        return state

    _assert = _aside

    def _store(
        self,
        statement: ir.Assign,
        space: Literal["tile_static", "container"],
        root: str,
        where: Reason | None,
        state: FlowState,
        frame: FunctionFlow,
    ) -> None:
        """Record a store of all threads to one element."""
        if where is None and self._diversion(state, frame) is None:
            frame.stores.append(SharedStore(statement, space, root))

    def _set(self, variable: ir.Variable, values: Parts, span: Span, state: FlowState, frame: FunctionFlow) -> None:
        """Assign values to parts of the variable."""
        for part, reason in values.items():
            key = part_key(frame.key(variable), part)
            self._note_divergent(variable, key, span, state, frame)
            if reason is None:
                state.divergent.pop(key, None)
                continue
            text = f"`{key}` is assigned a value here that may differ between the {self.threads}"
            state.divergent[key] = reason if variable.temporary else because(span, text, reason)
            self._record(key, state, frame)

    def _weaken(
        self,
        variable: ir.Variable,
        parts: Iterable[str],
        reason: Reason | None,
        is_value: bool,
        span: Span,
        state: FlowState,
        frame: FunctionFlow,
    ) -> None:
        """Assign a value to something inside these parts of the variable; the rest of them does not change."""
        for part in parts:
            key = part_key(frame.key(variable), part)
            self._note_divergent(variable, key, span, state, frame)
            if reason is not None and key not in state.divergent:
                what = "is assigned a value here" if is_value else "is changed here at a position"
                text = f"`{key}` {what} that may differ between the {self.threads}"
                state.divergent[key] = because(span, text, reason)
                self._record(key, state, frame)

    def _note_divergent(
        self, variable: ir.Variable, key: str, span: Span, state: FlowState, frame: FunctionFlow
    ) -> None:
        """Record an assignment that not all threads of the tile make together."""
        if self._diversion(state, frame) is not None:
            state.assigned_divergently.setdefault(key, None if variable.temporary else span)

    def _record(self, key: str, state: FlowState, frame: FunctionFlow) -> None:
        """Store the first reason of a variable in the table."""
        place = (frame.function.name, key.partition(".")[0])
        if place not in self.variables:
            self.variables[place] = frame.resolve(state.divergent[key])

    def _meet(self, state: FlowState, text: str, cause: Reason, frame: FunctionFlow) -> None:
        """At the point where the threads meet again, variables that only some of them assigned are divergent."""
        for key, span in state.assigned_divergently.items():
            if key not in state.divergent:
                state.divergent[key] = cause if span is None else because(span, f"`{key}` {text}", cause)
                self._record(key, state, frame)

    def _outside(self, result: FlowState, before: FlowState, frame: FunctionFlow) -> FlowState:
        """The state after a branch or loop, where a jump may still keep the threads apart."""
        around = self._diversion(result, frame)
        result.assigned_divergently = (
            {**before.assigned_divergently, **result.assigned_divergently} if around is not None else {}
        )
        return result

    def _if(self, statement: ir.If, state: FlowState, frame: FunctionFlow) -> FlowState:
        if isinstance(statement.condition, ir.Const):
            taken = statement.then if statement.condition.value else statement.orelse
            return self._block(taken, state, frame)
        reason = self._condition(statement, (statement.condition,), state, frame)
        entry = state
        if reason is not None:
            frame.control.append(Diversion("if", statement.condition.span, self._text_condition, reason))
            frame.outer_divergent_stores.append(state.assigned_divergently)
            entry = replace(state, assigned_divergently={})
        outer = frame.path
        ends = []
        for side, block in enumerate((statement.then, statement.orelse)):
            frame.path = (*outer, side)
            ends.append(self._block(block, entry.copy(), frame))
        frame.path = outer
        result = join(*ends)
        if reason is not None:
            frame.control.pop()
            frame.outer_divergent_stores.pop()
            if ends[0].live and ends[1].live:
                cause = because(statement.condition.span, self._text_condition, reason)
                self._meet(result, f"is assigned here by only some {self.threads}", cause, frame)
            self._outside(result, state, frame)
        return result

    def _condition(
        self,
        statement: ir.Stmt,
        operands: Iterable[ir.Expr],
        state: FlowState,
        frame: FunctionFlow,
    ) -> Reason | None:
        """Why a condition or a bound may differ; stores the reason in the table."""
        reason = shortest(self.values.of(operand, state, frame) for operand in operands)
        if reason is not None and id(statement) not in self.conditions:
            self.conditions[id(statement)] = frame.resolve(reason)
        return reason

    def _for(self, statement: ir.For, state: FlowState, frame: FunctionFlow) -> FlowState:
        bounds = (statement.start, statement.stop, statement.step)
        reason = self._condition(statement, bounds, state, frame)
        diversion = None
        if reason is not None:
            culprit = next(b for b in bounds if self.values.of(b, state, frame) == reason)
            diversion = Diversion("loop", culprit.span, self._text_bound, reason)

        def enter(head: FlowState) -> Diversion | None:
            variable = statement.variable
            self._set(variable, {"": reason}, statement.span, head, frame)
            if diversion is not None:
                head.assigned_divergently.setdefault(
                    frame.key(variable), None if variable.temporary else statement.span
                )
            return diversion

        at_least_once = may_run(statement)
        return self._loop(statement, enter, state, frame, at_least_once=at_least_once)

    def _while(self, statement: ir.While, state: FlowState, frame: FunctionFlow) -> FlowState:
        condition = statement.condition

        def enter(head: FlowState) -> Diversion | None:
            reason = self._condition(statement, (condition,), head, frame)
            if reason is None:
                return None
            return Diversion("loop", condition.span, self._text_condition, reason)

        if isinstance(condition, ir.Const) and not condition.value:
            return state
        endless = isinstance(condition, ir.Const)
        return self._loop(statement, enter, state, frame, endless=endless)

    def _loop(
        self,
        statement: ir.For | ir.While,
        enter: Callable[[FlowState], Diversion | None],
        state: FlowState,
        frame: FunctionFlow,
        *,
        at_least_once: bool = False,
        endless: bool = False,
    ) -> FlowState:
        """Repeat the body until nothing changes; ``enter`` is the reason why threads may not enter it together."""
        around = state.left or state.skipped
        if around is not None:
            frame.control.append(around)
        frame.outer_divergent_stores.append(state.assigned_divergently)
        path, before = frame.path, frame.stores
        entry = replace(state.copy(), left=None, skipped=None, assigned_divergently={})
        # The results of an earlier round of an outer loop still hold, so that deep nests converge quickly.
        head = join(entry, frame.heads[path]) if path in frame.heads else entry
        while True:
            frame.stores = []
            body = head.copy()
            diversion = enter(body)
            known = frame.skips.get(path)
            loop, end = self._body(statement, diversion, known, body, frame)
            back = self._back(join(end, *loop.continues), diversion, path, frame)
            following = join(head, back)
            if head.covers(following) and frame.skips.get(path) is known:
                break
            head = following
        frame.heads[path] = head
        frame.stores = before + frame.stores
        frame.path = path
        result = self._after(head, back, loop, at_least_once=at_least_once, endless=endless)
        frame.outer_divergent_stores.pop()
        if around is not None:
            frame.control.pop()
        uneven = diversion or result.left
        result.left, result.skipped = state.left, state.skipped
        if uneven is not None:
            self._meet(result, self._text_alike, culprit_of(uneven), frame)
        return self._outside(result, state, frame)

    def _back(
        self, back: FlowState, diversion: Diversion | None, path: tuple[int, ...], frame: FunctionFlow
    ) -> FlowState:
        """The state at the end of an iteration, where those that skipped a part of it join the others."""
        if back.skipped is not None:
            frame.skips.setdefault(path, back.skipped)
            self._meet(back, self._text_alike, culprit_of(back.skipped), frame)
            back.skipped = None
        if diversion is None and self._diversion(back, frame) is None:
            back.assigned_divergently = {}
        return back

    def _body(
        self,
        statement: ir.For | ir.While,
        diversion: Diversion | None,
        skip: Diversion | None,
        state: FlowState,
        frame: FunctionFlow,
    ) -> tuple[LoopFlow, FlowState]:
        """One round of a loop's body."""
        if diversion is not None:
            frame.control.append(diversion)
        loop = LoopFlow(len(frame.control), len(frame.outer_divergent_stores), skip)
        frame.loops.append(loop)
        end = self._block(statement.body, state, frame)
        frame.loops.pop()
        if diversion is not None:
            frame.control.pop()
        return loop, end

    @staticmethod
    def _after(head: FlowState, back: FlowState, loop: LoopFlow, *, at_least_once: bool, endless: bool) -> FlowState:
        """The state after a loop, which ended by its condition or by a ``break``."""
        if endless:
            normal = replace(head.copy(), live=False)
        elif at_least_once:
            normal = back
        else:
            normal = head
        return join(normal, *loop.breaks, replace(back.copy(), live=False))

    def _break(self, statement: ir.Break, state: FlowState, frame: FunctionFlow) -> FlowState:
        via = self._way(state, frame)
        if via is not None and state.left is None:
            text = f"some {self.threads} may `break` here while others go on"
            state.left = Diversion("break", statement.span, text, via=via)
        frame.loops[-1].breaks.append(frame.leave(state, frame.loops[-1].layer))
        return state

    def _continue(self, statement: ir.Continue, state: FlowState, frame: FunctionFlow) -> FlowState:
        via = self._way(state, frame)
        if via is not None and state.skipped is None:
            text = f"some {self.threads} may `continue` here while others go on"
            state.skipped = Diversion("continue", statement.span, text, via=via)
        frame.loops[-1].continues.append(frame.leave(state, frame.loops[-1].layer))
        return state

    @staticmethod
    def _way(state: FlowState, frame: FunctionFlow) -> Diversion | None:
        """Why only some of the threads that began this iteration may be here."""
        inner = frame.control[frame.loops[-1].depth :]
        return inner[-1] if inner else state.skipped

    def _return(self, statement: ir.Return, state: FlowState, frame: FunctionFlow) -> FlowState:
        here = self._diversion(state, frame)
        values = [self.values.parts(v, state, frame) for v in statement.values]
        if here is not None:
            text = f"some {self.threads} may return here while others go on"
            if state.gone is None:
                state.gone = Diversion("return", statement.span, text, via=here)
            mixed = because(statement.span, text, culprit_of(here))
            values = [{part: reason or mixed for part, reason in value.items()} for value in values]
        before = frame.results or [dict.fromkeys(value) for value in values]
        frame.results = [{part: a[part] or b[part] for part in a} for a, b in zip(before, values, strict=True)]
        frame.exits.append(frame.leave(state, 0))
        return state

    def _barrier(self, statement: ir.Barrier, state: FlowState, frame: FunctionFlow) -> FlowState:
        if not statement.fence.waits:
            return state
        if self.kernel.tile is None:
            raise diagnostic("VKA600", self._called(statement.span, frame))
        self._require("tile", "", statement.span, state, frame)
        if statement.fence.orders_tile_static:
            state.dirty.clear()
        return state

    def _atomic(self, statement: ir.Atomic, state: FlowState, frame: FunctionFlow) -> FlowState:
        root = ir.root_of(statement.place)
        if isinstance(root, ir.Local):
            name = frame.tile_static(root.variable)
            if name is not None:
                state.dirty[name] = statement.span
        text = f"each thread of the tile may get a different result of `{statement.name}`"
        fix = "let one thread store the result in tile_static memory, and read it there after a barrier"
        reason = because(statement.span, text, fix=fix)
        expected = statement.expected.variable if statement.expected else None
        for variable in (statement.result, expected):
            if variable is not None:
                self._set(variable, {"": reason}, statement.span, state, frame)
        return state

    def _operation(self, statement: ir.Operation, state: FlowState, frame: FunctionFlow) -> FlowState:
        reason = because(statement.span, f"each of the {self.threads} may get a different result of this")
        for variable in ir.results(statement):
            self._set(variable, dict.fromkeys(parts_of(variable.type), reason), statement.span, state, frame)
        return state

    def _uniform_assert(self, statement: ir.UniformAssert, state: FlowState, frame: FunctionFlow) -> FlowState:
        self._require("tile", "VKA606", statement.span, state, frame, what="it is")
        self._set(statement.variable, {"": None}, statement.span, state, frame)
        return state

    def _subgroup(self, statement: ir.Subgroup, state: FlowState, frame: FunctionFlow) -> FlowState:
        row = SUBGROUPS[statement.name]
        self._require("subgroup", "VKA650", statement.span, state, frame, name=f"subgroup.{row.name}", what="it is")
        common = next((k for k, param in enumerate(row.params) if param in COMMON), None)
        if self.group == "subgroup" and common is not None:
            operand = statement.args[common]
            reason = self.values.of(operand, state, frame)
            if reason is not None:
                raise self._uneven(row.name, operand, reason, frame)
        if row.uniform == "arguments":
            value = shortest(self.values.of(argument, state, frame) for argument in statement.args)
        else:
            value = self.values.of_subgroup(row, statement.span)
        self._set(statement.result, dict.fromkeys(parts_of(statement.result.type), value), statement.span, state, frame)
        return state

    def _matrix_operation(self, statement: ir.MatrixOperation, state: FlowState, frame: FunctionFlow) -> FlowState:
        self._require("subgroup", "VKA650", statement.span, state, frame, name=function_of(statement), what="it is")
        outer = frame.path
        frame.path = (*outer, 0)
        result = self._block(statement.body, state, frame)
        frame.path = outer
        return result

    def _subgroup_at(self, span: Span) -> str:
        """The name of the function of subgroups or matrices that a device function calls at a place."""
        statements = [s for f in self.kernel.functions for s in ir.walk_statements(f.body) if s.span is span]
        found = next(s for s in statements if isinstance(s, (ir.Subgroup, ir.MatrixOperation)))
        return f"subgroup.{found.name}" if isinstance(found, ir.Subgroup) else function_of(found)

    def _uneven(
        self, name: str, operand: ir.Expr, reason: Reason, frame: FunctionFlow
    ) -> CompileError | UnsupportedFeatureError:
        """The error for a distance that differs between the threads of a subgroup."""
        # The notes of a condition begin with the condition, which is here the operand itself.
        diversion = Diversion("if", operand.span, "", reason)
        notes = tuple(note for note in notes_of(diversion, frame.resolve) if note.text)
        fix = fix_of(diversion, frame.resolve)
        where = self._called(operand.span, frame)
        return diagnostic("VKA651", where, notes=notes, name=name, fix=f"{fix}; otherwise " if fix else "")

    # -- control flow ------------------------------------------------------------------------------

    @staticmethod
    def _diversion(state: FlowState, frame: FunctionFlow) -> Diversion | None:
        """Why some threads of the tile may not be here, as far as this function goes."""
        if frame.control:
            return frame.control[-1]
        return state.left or state.skipped or state.gone

    def _missing(self, state: FlowState, frame: FunctionFlow) -> Diversion | None:
        """The same for statements that all threads must reach together, in each iteration of the enclosing loops. In a
        loop that some threads continue from another place than the others (`continue`), they meet again, but neither
        C++ AMP nor SPIR-V specifies when.
        """
        skips = (loop.skip for loop in reversed(frame.loops))
        return self._diversion(state, frame) or next((skip for skip in skips if skip is not None), None)

    @staticmethod
    def _called(span: Span, frame: FunctionFlow, *calls: Span) -> Span:
        """The span, reached through the calls of this analysis and, inside those, ``calls``."""
        outer: Span | None = None
        for call in reversed([*calls, *frame.calls()]):
            outer = replace(call, caller=outer)
        return replace(span, caller=outer)

    def _require(
        self,
        group: Group,
        code: str,
        span: Span,
        state: FlowState,
        frame: FunctionFlow,
        calls: tuple[Span, ...] = (),
        **fields: object,
    ) -> None:
        """Refuses what all threads of a ``group`` must reach together, at ``span``, if some of them may miss it.

        ``code`` is that of the error; empty for that of a barrier, which depends on why they may miss it.
        """
        diversion = self._missing(state, frame) if group == self.group else None
        if diversion is None:
            return
        fix, kind = fix_of(diversion, frame.resolve), diversion.kind
        fields |= {"jump": kind, "place": _PLACES[kind], "fix": f"{fix}; otherwise " if fix else ""}
        where = self._called(span, frame, *calls)
        raise diagnostic(code or _CODES[kind], where, notes=notes_of(diversion, frame.resolve), **fields)

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, statement: ir.Call, state: FlowState, frame: FunctionFlow) -> FlowState:
        function = self.functions[statement.function]
        called = f"`{function.python_name}` is called"
        inside = self.barriers.get(function.name)
        if inside is not None:
            calls = (*inside[1:], statement.span)
            self._require("tile", "VKA605", inside[0], state, frame, calls, function=function.python_name)
        asserted = self.uniform_asserts.get(function.name)
        if asserted is not None:
            calls = (*asserted[1:], statement.span)
            self._require("tile", "VKA606", asserted[0], state, frame, calls, what=called)
        meeting = self.meetings.get(function.name)
        if meeting is not None and self._missing(state, frame) is not None:
            calls = (*meeting[1:], statement.span)
            name = self._subgroup_at(meeting[0])
            self._require("subgroup", "VKA650", meeting[0], state, frame, calls, name=name, what=called)
        arguments = self._arguments(function, statement, state, frame)
        summary = self._summary(function, statement, arguments, state, frame)
        if summary.dirty is not None:
            state.dirty = dict(summary.dirty)
        if self._diversion(state, frame) is None:
            frame.stores += [replace(store, calls=(*store.calls, statement.span)) for store in summary.stores]
        for position in self.written[function.name]:
            variable = variable_of(statement.args[position])
            if frame.tile_static(variable) is None:
                reason = summary.arrays.get(position)
                changed = graft(reason, arguments) if reason is not None else None
                self._weaken(variable, ("",), changed, True, statement.span, state, frame)
        for target, result in zip(statement.results, summary.results, strict=True):
            if target is not None:
                parts = {part: graft(reason, arguments) if reason else None for part, reason in result.items()}
                self._set(target, parts, statement.span, state, frame)
        return state

    def _arguments(
        self, function: ir.Function, call: ir.Call, state: FlowState, frame: FunctionFlow
    ) -> dict[tuple[int, str], Reason]:
        """Why the parts of the arguments of a call may differ, by position."""
        found: dict[tuple[int, str], Reason] = {}
        for position, (parameter, argument) in enumerate(zip(function.params, call.args, strict=True)):
            for part, reason in self._argument(argument, state, frame).items():
                if reason is not None:
                    name = part_key(parameter.name, part)
                    text = f"`{name}` of `{function.python_name}` is given this"
                    found[position, part] = because(argument.span, text, reason)
        return found

    def _argument(self, argument: ir.Expr | ir.Place, state: FlowState, frame: FunctionFlow) -> Parts:
        if isinstance(argument, ir.Expr):
            return self.values.parts(argument, state, frame)
        variable = variable_of(argument)
        if frame.tile_static(variable) is not None:
            return {}  # the state of tile_static memory is separate
        return {"": state.divergent.get(frame.key(variable))}

    def _summary(
        self,
        function: ir.Function,
        call: ir.Call,
        arguments: Mapping[tuple[int, str], Reason],
        state: FlowState,
        frame: FunctionFlow,
    ) -> Summary:
        """The effects of the call; one analysis serves all calls whose arguments are of the same kinds."""
        shared: dict[str, str] = {}
        twins: dict[str, str] = {}
        firsts: dict[str, str] = {}
        for parameter, argument in zip(function.params, call.args, strict=True):
            if not isinstance(parameter.type, Array):
                continue
            variable = variable_of(argument)
            name = frame.tile_static(variable)
            if name is not None:
                shared[parameter.name] = name
            else:
                twins[parameter.name] = firsts.setdefault(frame.key(variable), parameter.name)
        is_apart = not shared and function.name not in self.sharing
        key = (
            function.name,
            tuple(sorted(arguments)),
            tuple(shared.items()),
            tuple(twins.items()),
            None if is_apart else frozenset(state.dirty.items()),
        )
        found = self.summaries.get(key)
        if found is None:
            inner = FunctionFlow(function, call.span, frame, arguments, shared, twins)
            found = self._analyse(inner, state)
            if is_apart and inner.exits:
                found = replace(found, dirty=None)
            self.summaries[key] = found
        return found

    def _analyse(self, frame: FunctionFlow, state: FlowState) -> Summary:
        """Go through a device function."""
        start = FlowState(dirty=dict(state.dirty))
        for position, part in frame.arguments:
            parameter = frame.function.params[position]
            key = part_key(frame.key(parameter), part)
            text = f"the parameter `{part_key(parameter.name, part)}`"
            start.divergent[key] = Reason(parameter.span, text, None, (position, part))
            self._record(key, start, frame)
        end = self._block(frame.function.body, start, frame)
        if end.live:
            frame.exits.append(end)
        return self._summarise(frame)

    def _summarise(self, frame: FunctionFlow) -> Summary:
        """The exits of a device function, joined."""
        function = frame.function
        # Without an exit (an endless loop) nothing after the call runs.
        exit_state = join(*frame.exits) if frame.exits else FlowState()
        if exit_state.gone is not None:
            cause = because(exit_state.gone.span, exit_state.gone.text, culprit_of(exit_state.gone))
            text = f"is assigned here, and some {self.threads} may have returned before"
            self._meet(exit_state, text, cause, frame)
        arrays = {}
        for position, parameter in enumerate(function.params):
            if isinstance(parameter.type, Array) and parameter.name not in frame.shared:
                reason_now = exit_state.divergent.get(frame.key(parameter))
                if reason_now is not None:
                    arrays[position] = reason_now
        results = tuple(frame.results or (dict.fromkeys(parts_of(kind)) for kind in function.results))
        return Summary(results, arrays, exit_state.dirty, tuple(unique_stores(frame.stores)))


def _shares(statement: ir.Stmt) -> bool:
    """Whether a statement names tile_static memory, or orders it."""
    return isinstance(statement, ir.Barrier) or any(v.storage == "tile_static" for v in mentioned(statement))


_HANDLERS = ir.handlers(_Analysis, ir.Stmt)
