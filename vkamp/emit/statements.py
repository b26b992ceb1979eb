"""Statements as GLSL lines: one function of a kernel, each line with the Python source that it comes from."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass

from vkamp.artifacts import MATRICES, Target
from vkamp.emit.exchanges import by_shuffles, helper_text, quad_swap
from vkamp.emit.expressions import ExpressionPrinter, has_float_arithmetic
from vkamp.emit.globals import Globals
from vkamp.emit.helpers import GLSL_TYPES
from vkamp.emit.matrices import matrix_line, matrix_text, matrix_type
from vkamp.emit.names import Namer
from vkamp.emit.scopes import BODY_START, Position, ScopePlan, plan
from vkamp.emit.text import Text, choice, operation
from vkamp.emit.threads import thread_lines
from vkamp.errors import Span, UnsupportedFeatureError
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import ATOMICS
from vkamp.ir.dataflow import assigned, mentioned
from vkamp.ir.fences import Fence
from vkamp.ir.lowered import PureCall, RepeatWhile
from vkamp.ir.ranges import Ranges
from vkamp.ir.requirements import memory_type, subgroup_form
from vkamp.ir.subgroups import SUBGROUPS
from vkamp.ir.types import (
    FLOAT32,
    Array,
    Fragments,
    PackedVector,
    Scalar,
    Struct,
    Type,
    Vector,
    int_range,
    scalar_fields,
)

_COMMENT_LENGTH = 100
_DIVISIONS = ("div", "tdiv", "trem", "floordiv", "floormod")


@dataclass(frozen=True)
class Line:
    """A line of GLSL and the Python source that it comes from."""

    text: str
    span: Span | None = None


def type_text(kind: Type, shared: Globals) -> tuple[str, str]:
    """A type as GLSL writes it around a name: ``("float", "[2][3]")``."""
    if isinstance(kind, PackedVector):
        return GLSL_TYPES[kind.element.name], f"[{kind.count}]"
    if isinstance(kind, (Scalar, Vector)):
        return GLSL_TYPES[kind.name], ""
    if isinstance(kind, Struct):
        return shared.struct_names[kind], ""
    if isinstance(kind, Fragments) and MATRICES in shared.features:
        return matrix_type(kind), "".join(f"[{n}]" for n in kind.shape[:-1])
    base, suffix = type_text(kind.element, shared)
    return base, "".join(f"[{n}]" for n in kind.shape) + suffix


def holds_float(kind: Type) -> bool:
    """Whether a value of this type has a float in it."""
    if isinstance(kind, Fragments):
        return False  # The device chooses how it adds.
    if isinstance(kind, Array):
        return holds_float(kind.element)
    return any(scalar.kind == "float" for _, scalar, _ in scalar_fields(kind))


def fence_glsl(fence: Fence, target: Target) -> tuple[str, ...]:
    """The statements of a fence."""
    return fence.narrow if fence.narrow and "fences_wait" in target.quirks else fence.glsl


def python_line(span: Span) -> str:
    """The source line where a span begins, fit for a comment; empty if it cannot be read."""
    text = linecache.getline(span.file, span.line).strip()
    # A backslash at the end would make the next line a part of the comment.
    text = "".join(c if c.isprintable() else " " for c in text).rstrip("\\ ")
    return text if len(text) <= _COMMENT_LENGTH else f"{text[: _COMMENT_LENGTH - 3]}..."


class _FunctionPrinter:
    def __init__(
        self, function: ir.Function, shared: Globals, names: Namer, target: Target, written: frozenset[str]
    ) -> None:
        self.function = function
        self.shared = shared
        self.kernel = shared.kernel
        self.is_main = function is shared.kernel.body
        self.target = target
        self.written = written
        self.lines: list[Line] = []
        self.indent = 0
        self.last_comment: tuple[str, int] | None = None
        self.plan: ScopePlan = plan(function)
        self.names = Namer(names)
        self.local_names = self._local_names()
        self.results = self._result_names()
        self.precise = self._precise_variables() if self.kernel.precise else set()
        self.ranges = Ranges(function, self.kernel.tile, self.kernel.lanes, shared.unit)
        self.seen_names: dict[str, str] = {}
        self.seen_in_scope: list[set[str]] = []
        self.threads = self._thread_names()
        self.expressions = ExpressionPrinter(shared, self.local_names, self.threads, self.ranges)

    # -- names -------------------------------------------------------------------------------------------------

    def _variables(self) -> list[ir.Variable]:
        """Parameters first, then what the body names, in its order."""
        found = {p.name: p for p in self.function.params}
        for statement in ir.walk_statements(self.function.body):
            for variable in mentioned(statement):
                if variable.storage not in ("tile_static", "thread"):
                    found.setdefault(variable.name, variable)
        return list(found.values())

    def _local_names(self) -> dict[str, str]:
        return {v.name: self.names.give(v.name) for v in self._variables()}

    def _result_names(self) -> list[str]:
        count = len(self.function.results)
        return [self.names.give(f"result_{i}") for i in range(count)] if count > 1 else []

    def _thread_names(self) -> dict[tuple[str, int], str]:
        used = {
            (node.kind, node.dim)
            for statement in ir.walk_statements(self.function.body)
            for node in ir.own_nodes(statement)
            if isinstance(node, ir.ThreadIndex)
        }
        kinds = ("tile", "local", "lane", "tile_origin", "global")
        names: dict[tuple[str, int], str] = {}
        for kind, dim in sorted(used, key=lambda key: (kinds.index(key[0]), key[1])):
            if self.shared.in_pieces and dim == self.kernel.rank - 1:
                names[kind, dim] = self.names.give("piece")
                continue
            wanted = self.kernel.index_name if self.kernel.tile is None else f"{self.kernel.index_name}_{kind}"
            names[kind, dim] = self.names.give(f"{'lane' if kind == 'lane' else wanted}_{dim}")
        return names

    def _precise_variables(self) -> set[str]:
        """Variables of a precise kernel that hold a float or the outcome of float arithmetic."""
        found = set()
        for statement in ir.walk_statements(self.function.body):
            if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local):
                variable = statement.place.variable
                if holds_float(variable.type) or has_float_arithmetic([statement.value]):
                    found.add(variable.name)
            elif isinstance(statement, ir.Call):
                found |= {
                    r.name
                    for r in statement.results
                    if r is not None and (holds_float(r.type) or has_float_arithmetic(statement.args))
                }
            elif isinstance(statement, ir.Declare) and holds_float(statement.variable.type):
                found.add(statement.variable.name)
        return found - {p.name for p in self.function.params if p.name not in self.written}

    # -- lines -------------------------------------------------------------------------------------------------

    def add(self, text: str, span: Span | None = None) -> None:
        """Adds a line at the current depth."""
        self.lines.append(Line("    " * self.indent + text if text else "", span))

    def comment(self, span: Span) -> None:
        """The Python line as a comment, when it is another than the last one."""
        key = span.file, span.line
        text = "" if key == self.last_comment else python_line(span)
        if text:
            self.last_comment = key
            self.add(f"// {text}", span)

    def run(self) -> list[Line]:
        """All lines of the function."""
        if self.function.doc:
            self.add(f"// {self.function.doc}", self.function.span)
        self.add(f"{self._signature()} {{", self.function.span)
        self.indent = 1
        prologue = thread_lines(self.shared, self.threads, self.names, self.target, self.is_main)
        for line in prologue:
            self.add(line, self.function.span)
        if prologue and self.function.body:
            self.add("")
        self._block(self.function.body, ())
        self.indent = 0
        self.add("}", self.function.span)
        return self.lines

    def _signature(self) -> str:
        if self.is_main:
            return "void main()"
        params = [self._parameter(p) for p in self.function.params]
        results = self.function.results
        for name, kind in zip(self.results, results, strict=False):
            params.append(f"out {self._declaration(kind, name, holds_float(kind))}")
        result = "void"
        if len(results) == 1:
            result = type_text(results[0], self.shared)[0]
            if self.kernel.precise and holds_float(results[0]):
                result = f"precise {result}"
        return f"{result} {self.shared.function_names[self.function.name]}({', '.join(params)})"

    def _parameter(self, param: ir.Variable) -> str:
        is_precise = param.name in self.written and holds_float(param.type)
        text = self._declaration(param.type, self.local_names[param.name], is_precise)
        return f"inout {text}" if param.name in self.written else text

    def _declaration(self, kind: Type, name: str, is_precise: bool) -> str:
        base, suffix = type_text(kind, self.shared)
        qualifier = "precise " if is_precise and self.kernel.precise else ""
        return f"{qualifier}{base} {name}{suffix}"

    def _declared(self, variable: ir.Variable) -> str:
        name = self.local_names[variable.name]
        return self._declaration(variable.type, name, variable.name in self.precise)

    # -- statements --------------------------------------------------------------------------------------------

    def _block(self, block: ir.Block, path: tuple[tuple[int, int], ...]) -> None:
        self.seen_in_scope.append(set())
        for index, statement in enumerate(block):
            self._statement(statement, (path, index))
        self.seen_in_scope.pop()

    def _statement(self, statement: ir.Stmt, position: Position) -> None:
        if isinstance(statement, ir.Assert):
            return
        if isinstance(statement, ir.Remark):
            if self.lines and self.lines[-1].text and not self.lines[-1].text.endswith("{"):
                self.add("")
            self.add(f"// {statement.text}", statement.span)
            return
        for variable in self.plan.before.get(position, ()):
            self.add(f"{self._declared(variable)};", statement.span)
        if isinstance(statement, ir.Declare) and not self._declares(position, statement.variable):
            return
        first = len(self.lines)
        self.comment(statement.span)
        PRINTERS[type(statement)](self, statement, position)
        if (
            len(self.lines) == first + 2
            and self.lines[first + 1].text == self.lines[first].text.replace("// ", "") + ";"
        ):
            # Python and GLSL say it in the same words.
            del self.lines[first]

    def _while(self, statement: ir.While, position: Position) -> None:
        condition = self._in_threads(self.expressions.operand(statement.condition))
        self.add(f"while ({condition.glsl}) {{", statement.span)
        self._nested(statement.body, position, 0)
        self.add("}", statement.span)

    def _repeat_while(self, statement: RepeatWhile, position: Position) -> None:
        self.add("do {", statement.span)
        self._nested(statement.body, position, 0)
        condition = self._in_threads(self.expressions.operand(statement.condition))
        self.add(f"}} while ({condition.glsl});", statement.span)

    def _break(self, statement: ir.Break, _: Position) -> None:
        self.add("break;", statement.span)

    def _continue(self, statement: ir.Continue, _: Position) -> None:
        self.add("continue;", statement.span)

    def _print(self, statement: ir.Print, _: Position) -> None:
        """A comment is all of it, as of a breakpoint: no device is given such a shader."""

    def _breakpoint(self, statement: ir.Breakpoint, _: Position) -> None:
        pass

    def _declare(self, statement: ir.Declare, _: Position) -> None:
        self.add(f"{self._declared(statement.variable)};", statement.span)

    def _barrier(self, statement: ir.Barrier, _: Position) -> None:
        self.add(" ".join(fence_glsl(statement.fence, self.target)), statement.span)

    def _declares(self, position: Position, variable: ir.Variable) -> bool:
        return variable.name in self.plan.initialised.get(position, ())

    def _nested(self, block: ir.Block, position: Position, number: int) -> None:
        self.indent += 1
        path, index = position
        self._block(block, (*path, (index, number)))
        self.indent -= 1

    def _target(self, variable: ir.Variable, position: Position) -> str:
        """The left side of an assignment to a whole variable, with its declaration where it begins."""
        if self._declares(position, variable):
            return self._declared(variable)
        return self.expressions.variable(variable)

    def _assign(self, statement: ir.Assign, position: Position) -> None:
        place, value = statement.place, statement.value
        text = self._value_text(place)
        if isinstance(place, ir.Local) and self._declares(position, place.variable):
            self.add(f"{self._declared(place.variable)} = {text(value)};", statement.span)
            return
        if statement.update and isinstance(value, ir.Binary):
            operator = self.expressions.operator(value)
            is_kept = isinstance(value.left, ir.Load) and value.left.place == place
            # What must not be contracted is not an operator there, but a function.
            is_apart = self.kernel.precise and holds_float(value.type) and text != self.expressions.value
            if operator is not None and is_kept and not is_apart:
                sign, right = operator
                left = self.expressions.place(place)
                self.add(f"{left} {sign}= {text(right)};", statement.span)
                return
        self.add(f"{self.expressions.place(place)} = {text(value)};", statement.span)

    def _value_text(self, place: ir.Place) -> Callable[[ir.Expr], str]:
        """How to print a value for a place: unchanged where the place is ``precise``."""
        root = ir.root_of(place)
        if isinstance(root, ir.BufferElement):
            is_precise = holds_float(memory_type(place))
        elif root.variable.storage == "tile_static":
            is_precise = holds_float(root.variable.type)
        else:
            is_precise = root.variable.name in self.precise
        return self.expressions.value if is_precise else self.expressions.plain

    def _if(self, statement: ir.If, position: Position) -> None:
        self.add(f"if ({self.expressions.plain(statement.condition)}) {{", statement.span)
        self._nested(statement.then, position, 0)
        path, index = position
        orelse = statement.orelse
        while len(orelse) == 1 and isinstance(orelse[0], ir.If):
            path, index = (*path, (index, 1)), 0
            inner = orelse[0]
            if (path, index) in self.plan.before:
                path, index = path[:-1], path[-1][0]
                break
            note = self._branch_comment(inner.span)
            condition = self.expressions.plain(inner.condition)
            self.add(f"}} else if ({condition}) {{{note}", inner.span)
            self._nested(inner.then, (path, index), 0)
            orelse = inner.orelse
        if orelse:
            self.add("} else {", statement.span)
            self._nested(orelse, (path, index), 1)
        self.add("}", statement.span)

    def _branch_comment(self, span: Span) -> str:
        self.last_comment = span.file, span.line
        text = python_line(span)
        return f"  // {text}" if text else ""

    # -- loops -------------------------------------------------------------------------------------------------

    def _for(self, statement: ir.For, position: Position) -> None:
        step = _constant(statement.step)
        if step == 0:
            return
        changed = assigned((statement,))
        name = self.local_names[statement.variable.name]
        own = position in self.plan.headers
        counter = name if own else self.names.give(f"{name}_counter")
        stop = self._bound(statement.stop, changed, f"{name}_stop", statement.span)
        kind = type_text(statement.variable.type, self.shared)[0]
        start = self.expressions.plain(statement.start)
        if step is None:
            by = self._bound(statement.step, changed, f"{name}_step", statement.span)
            condition = self._condition_of_unknown_step(statement, Text(counter), stop, by)
            advance = f"{counter} += {by.glsl}"
        else:
            condition = operation("lt" if step > 0 else "gt", Text(counter), stop)
            by = Text(f"{step}u" if kind == "uint" else str(step))
            advance = _advance(counter, step, "u" if kind == "uint" else "")
        if self._may_wrap(statement):
            name_of_next = self.expressions.helper("range_next", statement.variable.type)
            advance = f"{counter} = {name_of_next}({counter}, {stop.glsl}, {by.glsl})"
        if not _is_same_for_all(statement):
            condition = self._in_threads(condition)
        hint = "[[unroll]] " if statement.unroll else ""
        self.add(f"{hint}for ({kind} {counter} = {start}; {condition.glsl}; {advance}) {{", statement.span)
        if not own:
            self.indent += 1
            path, index = position
            target = self._target(statement.variable, ((*path, (index, 0)), BODY_START))
            self.add(f"{target} = {counter};", statement.span)
            self.indent -= 1
        self._nested(statement.body, position, 0)
        self.add("}", statement.span)

    def _in_threads(self, condition: Text) -> Text:
        """A loop's condition, false in lanes of the driver's vectors that have no thread but run loops."""
        test = self.shared.has_thread
        if test is None or condition.glsl == "true":
            return test or condition
        return operation("and", test, condition)

    def _may_wrap(self, loop: ir.For) -> bool:
        """Whether the step could carry the counter past the end of its type, where it would begin again."""
        assert isinstance(loop.variable.type, Scalar)
        least, most = int_range(loop.variable.type)
        (start_low, _), (stop_low, stop_high) = self.ranges.of(loop.start), self.ranges.of(loop.stop)
        low, high = self.ranges.of(loop.step)
        # Upwards the last value is below the stop, downwards above it.
        upwards = high > 0 and stop_high - 1 + high > most and stop_high > start_low
        downwards = low < 0 and stop_low + 1 + low < least
        return upwards or downwards

    def _condition_of_unknown_step(self, loop: ir.For, counter: Text, stop: Text, step: Text) -> Text:
        low, high = self.ranges.of(loop.step)
        upwards, downwards = operation("lt", counter, stop), operation("gt", counter, stop)
        if low > 0:
            return upwards
        if high < 0:
            return downwards
        zero = Text("0u" if loop.step.type.name == "uint32" else "0")  # type: ignore[union-attr]
        if low == 0:
            return operation("and", operation("ne", step, zero), upwards)
        downwards = operation("and", operation("lt", step, zero), downwards)
        return choice(operation("gt", step, zero), upwards, downwards)

    def _bound(self, bound: ir.Expr, changed: set[str], name: str, span: Span) -> Text:
        """A loop's bound: unchanged if it has the same value in each iteration, else a constant before the loop."""
        text = self.expressions.operand(bound)
        if _is_simple_and_fixed(bound, changed):
            return text
        kind = type_text(bound.type, self.shared)[0]
        free = self.names.give(name)
        self.add(f"const {kind} {free} = {text.glsl};", span)
        return Text(free)

    # -- calls -------------------------------------------------------------------------------------------------

    def _call(self, statement: ir.Call, position: Position) -> None:
        callee = self.kernel.function(statement.function)
        results = statement.results or (None,) * len(callee.results)
        target = results[0] if len(callee.results) == 1 else None
        is_precise = target is not None and target.name in self.precise
        args = []
        for arg in statement.args:
            if isinstance(arg, ir.Expr):
                args.append(self.expressions.value(arg) if is_precise else self.expressions.plain(arg))
            else:
                args.append(self.expressions.place(arg))
        if len(callee.results) > 1:
            args += self._outputs(callee, results, statement.span)
        text = f"{self.shared.function_names[callee.name]}({', '.join(args)})"
        if target is not None:
            text = f"{self._target(target, position)} = {text}"
        self.add(f"{text};", statement.span)

    def _outputs(self, callee: ir.Function, results: tuple[ir.Variable | None, ...], span: Span) -> list[str]:
        """The variables for a call's results; if two results have one variable, the last one counts."""
        names = []
        for number, (variable, kind) in enumerate(zip(results, callee.results, strict=True)):
            if variable is not None and variable not in results[number + 1 :]:
                names.append(self.expressions.variable(variable))
            else:
                name = self.names.give("unused")
                self.add(f"{self._declaration(kind, name, False)};", span)
                names.append(name)
        return names

    def _return(self, statement: ir.Return, _: Position) -> None:
        if len(statement.values) == 1:
            value = statement.values[0]
            is_precise = self.kernel.precise and holds_float(value.type)
            text = self.expressions.value(value) if is_precise else self.expressions.plain(value)
            self.add(f"return {text};", statement.span)
            return
        for name, value in zip(self.results, statement.values, strict=True):
            text = self.expressions.value(value) if holds_float(value.type) else self.expressions.plain(value)
            self.add(f"{name} = {text};", statement.span)
        if statement is not self.function.body[-1]:
            self.add("return;", statement.span)

    def _atomic(self, statement: ir.Atomic, position: Position) -> None:
        row = ATOMICS[statement.name]
        kind = statement.place.type
        assert isinstance(kind, Scalar)
        is_native = kind == FLOAT32
        if kind.name not in row.types:
            raise UnsupportedFeatureError(
                f"{statement.name} of {kind} needs a device feature that shaders for Vulkan 1.1 do not have",
                span=statement.span,
            )
        place = self.expressions.place(statement.place)
        args = [self.expressions.plain(a) for a in statement.args]
        if statement.expected is not None:
            self._compare_exchange(statement, position, row.glsl_for(kind.name), place, args)
            return
        template = row.native_float if is_native else row.glsl_for(kind.name)
        if statement.is_access:
            template = _LOAD if statement.result is not None else _STORE
        text = _filled(template, place, *args)
        if statement.result is not None:
            text = f"{self._target(statement.result, position)} = {text}"
        self.add(f"{text};", statement.span)

    def _subgroup(self, statement: ir.Subgroup, position: Position) -> None:
        row = SUBGROUPS[statement.name]
        if row.helper:
            kind = GLSL_TYPES[str(statement.result.type)]
            self.shared.helpers.add(f"{row.name} {kind}", helper_text(row, kind, self.shared.quirks))
        args, glsl = [self.expressions.plain(a) for a in statement.args], subgroup_form(statement)[0]
        if row.name == "broadcast_first" and "broadcast_floats" in self.shared.quirks:
            # All threads of the subgroup are here: the first one is that of lane 0.
            glsl, args = "subgroupBroadcast({0}, {1})", [*args, "0"]
        own = by_shuffles(statement, self.shared.quirks)
        if own is not None:
            self.shared.helpers.add(f"{own.name} {GLSL_TYPES[str(statement.result.type)]}", own.text)
            glsl = f"{own.name}({{0}})"
        swap = quad_swap(statement, self.shared.quirks)
        text = f"{swap}({args[0]})" if swap else _filled(glsl, *args)
        self.add(f"{self._target(statement.result, position)} = {text};", statement.span)

    def _matrix_operation(self, statement: ir.MatrixOperation, position: Position) -> None:
        if statement.op == "map":
            path, index = position
            (loop,) = statement.body
            assert isinstance(loop, ir.For)
            count = f"{matrix_text(self.expressions, statement.targets[0])}.length()"
            counter = self.local_names[loop.variable.name]
            self.add(f"for (int {counter} = 0; {counter} < {count}; {counter}++) {{", statement.span)
            self._nested(loop.body, ((*path, (index, 0)), 0), 0)
            self.add("}", statement.span)
            return
        self.add(f"{matrix_line(self.expressions, statement)};", statement.span)

    def _compare_exchange(
        self, statement: ir.Atomic, position: Position, template: str, place: str, args: list[str]
    ) -> None:
        assert statement.expected is not None and isinstance(statement.place.type, Scalar)
        expected = self.expressions.place(statement.expected)
        swap = _filled(template, place, expected, *args)
        if statement.result is None:
            self.add(f"{expected} = {swap};", statement.span)
            return
        kind = GLSL_TYPES[statement.place.type.name]
        if kind not in self.seen_names:
            self.seen_names[kind] = self.names.give("seen")
        seen = self.seen_names[kind]
        is_declared = any(kind in scope for scope in self.seen_in_scope)
        self.seen_in_scope[-1].add(kind)
        self.add(f"{'' if is_declared else f'{kind} '}{seen} = {swap};", statement.span)
        self.add(f"{self._target(statement.result, position)} = {seen} == {expected};", statement.span)
        self.add(f"{expected} = {seen};", statement.span)


#: Atomic loads and stores, which order nothing else.
_LOAD = "atomicLoad({0}, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed)"
_STORE = "atomicStore({0}, {1}, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed)"


def _constant(step: ir.Expr) -> int | None:
    if isinstance(step, ir.Const):
        return int(step.value)
    if isinstance(step, ir.Unary) and step.op == "neg" and isinstance(step.operand, ir.Const):
        return -int(step.operand.value)
    return None


def _filled(template: str, *parts: str) -> str:
    """A row's GLSL with its arguments; a word or a number needs no parentheses around it."""
    for number, part in enumerate(parts):
        if part.isidentifier() or part.isalnum():
            template = template.replace(f"-({{{number}}})", f"-{{{number}}}").replace(
                f"- ({{{number}}})", f"- {{{number}}}"
            )
    return template.format(*parts)


def _is_same_for_all(loop: ir.For) -> bool:
    """Whether a loop has the same iterations in all lanes, because they depend on constants and the launch alone."""
    nodes = [n for bound in (loop.start, loop.stop, loop.step) for n in ir.walk(bound)]
    if any(isinstance(n, (ir.Load, ir.ThreadIndex, ir.SubgroupIndex, PureCall)) for n in nodes):
        return False
    return not any(isinstance(s, (ir.Break, ir.Return)) for s in ir.walk_statements(loop.body))


def _advance(counter: str, step: int, suffix: str) -> str:
    if abs(step) == 1:
        return f"{'++' if step > 0 else '--'}{counter}"
    return f"{counter} {'+' if step > 0 else '-'}= {abs(step)}{suffix}"


def _is_simple_and_fixed(bound: ir.Expr, changed: set[str]) -> bool:
    """Whether a loop may evaluate its bound each time: the same value, and cheap."""
    for node in ir.walk(bound):
        if isinstance(node, ir.Load):
            place = node.place
            if not isinstance(place, ir.Local) or place.variable.storage == "tile_static":
                return False
            if place.variable.name in changed:
                return False
        elif isinstance(node, (ir.Builtin, ir.Select, PureCall)) or (
            isinstance(node, ir.Binary) and node.op in _DIVISIONS
        ):
            return False
    return True


#: How each class of statements is printed; assertions and remarks are not printed as statements.
PRINTERS = ir.handlers(_FunctionPrinter, ir.Stmt)


def function_lines(
    function: ir.Function, shared: Globals, names: Namer, target: Target, written: frozenset[str] = frozenset()
) -> list[Line]:
    """The lines of a device function, or of ``main`` for the kernel's body.

    ``written`` are the array parameters that the function changes.
    """
    return _FunctionPrinter(function, shared, names, target, written).run()
