"""A function of a kernel with the checks of check mode: IR -> IR.

Expressions have no effects, so the checks of an expression are statements before it, in the order of evaluation; where
``and``, ``or`` or a conditional expression evaluates a part only under a condition, the part moves into an ``if``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

import numpy as np

from vkamp.check.instrument.lanes import BALLOT, always_there, is_set, source_lane
from vkamp.check.instrument.layout import RaceSite, ValueSite
from vkamp.check.instrument.loops import LoopChecks
from vkamp.check.instrument.make import THREAD, Maker, is_simple, uint
from vkamp.check.instrument.places import Addresses, ShadowAddress, words_in
from vkamp.check.instrument.plan import UNIFORM_CELLS, Plan
from vkamp.errors import Span
from vkamp.findings import AccessKind
from vkamp.ir import nodes as ir
from vkamp.ir.addresses import scalar_place
from vkamp.ir.algebra import repeated
from vkamp.ir.arithmetic import DIVISIONS, SHIFTS
from vkamp.ir.fences import FENCES
from vkamp.ir.ranges import Ranges
from vkamp.ir.rewrite import Names
from vkamp.ir.subgroups import SUBGROUPS
from vkamp.ir.types import (
    BOOL,
    FLOAT32,
    INT32,
    UINT32,
    Array,
    Scalar,
    Struct,
    Type,
    Vector,
    int_range,
    scalar_fields,
)

#: Longer arrays of flags are cleared in a loop.
_UNROLLED = 32


class Rewriter:
    """Rewrites one function."""

    def __init__(self, plan: Plan, function: ir.Function) -> None:
        self.plan = plan
        self.function = function
        self.variables: list[ir.Variable] = list(function.variables)
        self.names = Names.of(function, (v.name for v in plan.kernel.tile_statics))
        self.out: list[ir.Stmt] = []
        self.marks: dict[str, ir.Variable] = {}
        self.ranges = Ranges(function, plan.kernel.tile, unit=plan.unit)
        self.addresses = Addresses(plan, self.ranges, self.expr, self.keep)
        self.loops: LoopChecks | None = None
        if plan.longest is not None:
            self.loops = LoopChecks(plan.longest, self.new, self.named, self.note, self.block)

    def run(self) -> ir.Function:
        """The function."""
        params: list[ir.Variable] = []
        for param in self.function.params:
            params.append(param)
            if isinstance(param.type, Array):
                params.append(self.mark(param, "parameter"))
        body = self.block(self.function.body)
        return dataclasses.replace(self.function, params=tuple(params), variables=tuple(self.variables), body=body)

    # -- names

    def new(self, name: str, kind: Type, storage: str = "local") -> ir.Variable:
        """A new variable of the function."""
        unique = self.names.give(re.sub(r"\W+", "_", name.replace("]", "")))
        variable = ir.Variable(unique, kind, storage, self.function.span, temporary=True)  # type: ignore[arg-type]
        if storage != "parameter":
            self.variables.append(variable)
        return variable

    def keep(self, expr: ir.Expr, name: str) -> ir.Expr:
        """The expression, or a variable with its value if it is not simple."""
        return expr if is_simple(expr) else self.named(expr, name)

    def named(self, expr: ir.Expr, name: str) -> ir.Expr:
        """A variable with the value of an expression."""
        make = Maker(expr.span)
        variable = self.new(name, expr.type)
        self.out.append(make.set(variable, expr))
        return make.load(variable)

    def mark(self, variable: ir.Variable, storage: str = "private") -> ir.Variable:
        """The array with a bit for each word of a private array, which says whether it was written."""
        made = self.marks.get(variable.name)
        if made is None:
            words = -(-(variable.type.size // self.plan.unit) // 32)
            made = self.new(f"{variable.name}_written", Array(UINT32, (words,)), storage)
            self.marks[variable.name] = made
        return made

    # -- statements

    def block(self, block: ir.Block) -> ir.Block:
        """Rewrites a block separately."""
        outer, self.out = self.out, []
        for statement in block:
            self.statement(statement)
        made, self.out = tuple(self.out), outer
        return made

    def apart(self, make: Callable[[], ir.Expr]) -> tuple[list[ir.Stmt], ir.Expr]:
        """An expression, and the statements that it needs, which are not added."""
        outer, self.out = self.out, []
        expr = make()
        made, self.out = self.out, outer
        return made, expr

    def statement(self, statement: ir.Stmt) -> None:
        """Adds a statement with its checks."""
        _STATEMENTS[type(statement)](self, statement)

    def _aside(self, statement: ir.Stmt) -> None:
        self.out.append(statement)

    def _break(self, statement: ir.Break) -> None:
        if self.loops is not None:
            self.out += self.loops.leave(statement)
        self.out.append(statement)

    def _matrix_operation(self, statement: ir.MatrixOperation) -> None:
        """Thread by thread: the accesses of each thread are those of its lane."""
        self.out.extend(self.block(statement.body))

    # Asides do not run on devices.
    _continue = _aside

    def _declare(self, statement: ir.Declare) -> None:
        self.out.append(statement)
        if statement.variable.storage == "private":
            mark, make = self.mark(statement.variable), Maker(statement.span)
            self.out.append(ir.Declare(statement.span, mark))
            assert isinstance(mark.type, Array)
            if mark.type.count > _UNROLLED:
                self.out.append(self._cleared(mark, make))
                return
            for number in range(mark.type.count):
                self.out.append(make.set(self._mark_word(mark, uint(number), make), uint(0)))

    def _cleared(self, mark: ir.Variable, make: Maker) -> ir.For:
        """A loop that clears a long array of flags."""
        assert isinstance(mark.type, Array)
        counter = self.new("mark", UINT32)
        body = (make.set(self._mark_word(mark, make.load(counter), make), uint(0)),)
        return ir.For(make.span, counter, uint(0), uint(mark.type.count), uint(1), body)

    def _assign(self, statement: ir.Assign) -> None:
        value = self.expr(statement.value)
        if isinstance(statement.place, ir.Local):
            self.out.append(dataclasses.replace(statement, value=value))
            return
        address = self.addresses.of(statement.place)
        notes = self.notes(address, "write", statement.span)
        stored = dataclasses.replace(statement, place=address.place, value=value)
        self.guarded(address, [*notes, stored], [])

    def _if(self, statement: ir.If) -> None:
        self.out.append(ir.map_blocks(ir.map_operands(statement, self.expr), self.block))

    def _for(self, statement: ir.For) -> None:
        made = ir.map_operands(statement, self.expr)
        self.out += [ir.map_blocks(made, self.block)] if self.loops is None else self.loops.of_for(made)

    def _while(self, statement: ir.While) -> None:
        before, condition = self.apart(lambda: self.expr(statement.condition))
        after: list[ir.Stmt] = []
        if self.loops is None:
            body = self.block(statement.body)
        else:
            body, check = self.loops.counted(statement)
            after.append(check)
        if before:
            make = Maker(statement.condition.span)
            before.append(make.when(make.opposite(condition), [ir.Break(statement.condition.span)]))
            condition = ir.Const(statement.condition.span, BOOL, True)
        self.out += [dataclasses.replace(statement, condition=condition, body=(*before, *body)), *after]

    def _return(self, statement: ir.Return | ir.Operation) -> None:
        self.out.append(ir.map_operands(statement, self.expr))

    _operation = _return

    def _barrier(self, statement: ir.Barrier) -> None:
        fence = statement.fence
        if not fence.waits:
            self.out.append(statement)
            return
        # The shadows are in a buffer: their entries pass every barrier.
        self.out.append(dataclasses.replace(statement, fence=FENCES["wait"]))
        make = Maker(statement.span)
        if self.plan.judged and self.plan.near and (fence.orders_global or self.plan.ordered[0]):
            self.out.append(make.call(self.plan.helpers.interval("global")))
        if self.plan.judged_static and (fence.orders_tile_static or self.plan.ordered[1]):
            self.out.append(make.call(self.plan.helpers.interval("static")))

    def _atomic(self, statement: ir.Atomic) -> None:
        args = tuple(self.expr(a) for a in statement.args)
        address = self.addresses.of(statement.place)
        may_set = statement.name == "atomic_exchange" and statement.result is None
        notes = self.notes(address, "atomic", statement.span, may_set=may_set)
        done = dataclasses.replace(statement, place=address.place, args=args)
        nothing = []
        if statement.result is not None:
            make = Maker(statement.span)
            nothing.append(make.set(statement.result, make.zero(statement.result.type)))
        self.guarded(address, [*notes, done], nothing)

    def _call(self, statement: ir.Call) -> None:
        args: list[ir.Expr | ir.Place] = []
        for arg in statement.args:
            if isinstance(arg, ir.Expr):
                args.append(self.expr(arg))
                continue
            args.append(arg)
            assert isinstance(arg, ir.Local)
            mark = self.mark(arg.variable)
            args.append(ir.Local(arg.span, mark.type, mark))
        self.out.append(dataclasses.replace(statement, args=tuple(args)))

    def _assert(self, statement: ir.Assert) -> None:
        condition, make = self.expr(statement.condition), Maker(statement.span)
        note = self.note(ValueSite("assert", statement.span, text=statement.message))
        self.out.append(make.when(make.opposite(condition), [note]))

    def _uniform_assert(self, statement: ir.UniformAssert) -> None:
        """Gives all threads the value of thread 0 even if the assertion is wrong, since all threads reach this
        together."""
        make, kind = Maker(statement.span), statement.variable.type
        assert isinstance(kind, Scalar)
        self.out.append(make.set(statement.variable, self.expr(statement.value)))
        if kind.bits != 32:
            self.plan.wide_uniform = True
            return
        own = self.new("uniform_value", UINT32)
        value = make.load(statement.variable)
        bits = ir.Builtin(make.span, UINT32, "asuint", (value,)) if kind == FLOAT32 else make.as_uint(value)
        self.out.append(make.set(own, bits))
        at = make.add(self.plan.launch_word(UNIFORM_CELLS), make.load(THREAD.tile))
        first = self.new("first_value", UINT32)
        is_first = make.compare("eq", make.load(THREAD.local), uint(0))
        wait = ir.Barrier(statement.span, FENCES["wait"])
        self.out += [
            make.when(is_first, [make.set(make.word(at), make.load(own))]),
            wait,
            make.set(first, make.load(make.word(at))),
            wait,
        ]
        wrong = make.compare("ne", make.load(own), make.load(first))
        if kind == FLOAT32:
            wrong = make.both([wrong, make.opposite(self._both_nan(own, first, make))])
        site = ValueSite("uniformity", statement.span, type=kind)
        note = self.note(site, make.load(first), make.load(own))
        self.out.append(make.when(wrong, [note]))
        self.out.append(make.set(statement.variable, self._from_bits(kind, make.load(first), make)))

    def _subgroup(self, statement: ir.Subgroup) -> None:
        """For a shuffle, the thread in the requested lane."""
        args = tuple(self.expr(a) for a in statement.args)
        row, make = SUBGROUPS[statement.name], Maker(statement.span)
        if row.source is None or always_there(row.name):
            self.out.append(dataclasses.replace(statement, args=args))
            return
        threads = self.new("subgroup_threads", BALLOT)
        count = self.new("subgroup_threads_count", INT32)
        everyone = ir.Const(statement.span, BOOL, True)
        self.out.append(ir.Subgroup(statement.span, "ballot", (everyone,), threads))
        self.out.append(ir.Subgroup(statement.span, "ballot_bit_count", (make.load(threads),), count))
        # In variables, since the result may be assigned to an operand of the lane.
        source = self.named(source_lane(row.name, self.keep(args[1], "lane"), make), "source_lane")
        there = self.named(is_set(threads, source, make), "lane_has_thread")
        note = self.note(ValueSite("lane", statement.span, text=row.name), source, make.as_uint(make.load(count)))
        nothing = make.set(statement.result, make.zero(statement.result.type))
        self.out.append(dataclasses.replace(statement, args=args))
        self.out.append(make.when(make.opposite(there), [note, nothing]))

    @staticmethod
    def _from_bits(kind: Scalar, bits: ir.Expr, make: Maker) -> ir.Expr:
        """The value of a 32-bit type with the bits of a uint32."""
        if kind == BOOL:
            return make.compare("ne", bits, uint(0))
        if kind == FLOAT32:
            return ir.Builtin(make.span, FLOAT32, "asfloat", (bits,))
        return bits if kind == UINT32 else ir.Cast(make.span, kind, bits)

    @staticmethod
    def _both_nan(a: ir.Variable, b: ir.Variable, make: Maker) -> ir.Expr:
        def is_nan(bits: ir.Variable) -> ir.Expr:
            magnitude = make.binary("bitand", make.load(bits), uint(0x7FFFFFFF))
            return make.compare("gt", magnitude, uint(0x7F800000))

        return make.both([is_nan(a), is_nan(b)])

    # -- findings

    def note(self, site: ValueSite, a: ir.Expr | None = None, b: ir.Expr | None = None) -> ir.Stmt:
        """Records a wrong value."""
        number = uint(self.plan.sites.add(site))
        args = (number, uint(0), uint(0), a or uint(0), b or uint(0))
        return Maker(site.span).call(self.plan.helpers.note(), *args)

    def guarded(self, address: ShadowAddress, inside: Sequence[ir.Stmt], outside: Sequence[ir.Stmt]) -> None:
        """Adds ``inside``; if the place does not exist, ``outside`` and a finding."""
        if not address.bounds:
            self.out.extend(inside)
            return
        make = Maker(address.place.span)
        otherwise: list[ir.Stmt] = []
        for bound in reversed(address.bounds):
            note = make.call(self.plan.helpers.note(), uint(bound.site), uint(0), uint(0), bound.value, bound.extent)
            otherwise = [make.when(make.opposite(bound.holds), [note], otherwise)] if otherwise else [note]
        condition = make.both([bound.holds for bound in address.bounds])
        self.out.append(make.when(condition, inside, [*otherwise, *outside]))

    def notes(self, address: ShadowAddress, access: AccessKind, span: Span, *, may_set: bool = False) -> list[ir.Stmt]:
        """The statements that check an access of memory."""
        place = address.place
        root = ir.root_of(place)
        words = words_in(place, self.plan.unit)
        if isinstance(root, ir.BufferElement):
            return self._notes_of_container(address, root.buffer, access, words, span)
        variable = root.variable
        if variable.storage == "tile_static":
            return self._notes_of_tile_static(address, variable, access, words, span, may_set)
        if isinstance(variable.type, Array):
            return self._notes_of_private(address, variable, access, words, span)
        return []

    def _notes_of_container(
        self, address: ShadowAddress, buffer: str, access: AccessKind, words: list[int], span: Span
    ) -> list[ir.Stmt]:
        if buffer not in self.plan.judged:
            return []
        plan, make = self.plan, Maker(span)
        plan.sites.global_.append(RaceSite(span, buffer, access, plan.kernel.buffer(buffer).element))
        number = uint(len(plan.sites.global_))
        name = plan.helpers.container(access, only_written=buffer in plan.only_written, near=plan.near)
        tables, shadow = plan.tables[buffer], plan.buffer_word("shadow", buffer)
        out: list[ir.Stmt] = []
        for word in words:
            group = make.add(shadow, make.mul(make.add(*address.terms, uint(word)), tables))
            out.append(make.call(name, group, number))
        return out

    def _notes_of_tile_static(
        self,
        address: ShadowAddress,
        variable: ir.Variable,
        access: AccessKind,
        words: list[int],
        span: Span,
        may_set: bool,
    ) -> list[ir.Stmt]:
        plan, make = self.plan, Maker(span)
        first = plan.static_first[variable.name]
        plan.sites.static.append(RaceSite(span, variable.name, access, variable.type, first))
        number = uint(len(plan.sites.static))
        copies = isinstance(address.place.type, Struct)
        if copies and access == "read":
            plan.partly_set = True
        must_be_set = access != "write" and not may_set and not copies
        judged = variable.name in plan.judged_static
        if not judged and not must_be_set and access == "read":
            return []
        name = plan.helpers.static(access, judged=judged, must_be_set=must_be_set)
        return [make.call(name, make.add(*address.terms, uint(first + word)), number) for word in words]

    def _notes_of_private(
        self, address: ShadowAddress, variable: ir.Variable, access: AccessKind, words: list[int], span: Span
    ) -> list[ir.Stmt]:
        mark, make = self.mark(variable), Maker(span)
        if isinstance(address.place.type, Struct) and access == "read":
            self.plan.partly_set = True
            return []
        out: list[ir.Stmt] = []
        for word in words:
            number = make.add(*address.terms, uint(word))
            if isinstance(number, ir.Const):
                chunk: ir.Expr = uint(int(number.value) // 32)
                bit: ir.Expr = uint(1 << int(number.value) % 32)
            else:
                chunk = make.binary("shr", number, uint(5))
                bit = make.binary("shl", uint(1), make.binary("bitand", number, uint(31)))
            held = self._mark_word(mark, chunk, make)
            if access == "write":
                value = ir.Binary(span, UINT32, "bitor", make.load(held), bit)
                out.append(ir.Assign(span, held, value, update=True))
            else:
                unset = make.compare("eq", make.binary("bitand", make.load(held), bit), uint(0))
                site = ValueSite("uninitialised", span, variable.name, type=variable.type)
                out.append(make.when(unset, [self.note(site, number)]))
        return out

    @staticmethod
    def _mark_word(mark: ir.Variable, chunk: ir.Expr, make: Maker) -> ir.ArrayElement:
        assert isinstance(mark.type, Array)
        if mark.type.count == 1:
            chunk = uint(0)
        return ir.ArrayElement(make.span, UINT32, ir.Local(make.span, mark.type, mark), (chunk,))

    # -- expressions

    def expr(self, expr: ir.Expr) -> ir.Expr:
        """An expression; statements before it check its loads and operations."""
        handle = _EXPRESSIONS.get(type(expr))
        made: ir.Expr = ir.map_operands(expr, self.expr) if handle is None else handle(self, expr)
        return made

    def _load(self, expr: ir.Load) -> ir.Expr:
        if isinstance(expr.place, ir.Local):
            return expr
        address = self.addresses.of(expr.place)
        notes = self.notes(address, "read", expr.span)
        value = dataclasses.replace(expr, place=address.place)
        if not address.bounds:
            self.out += notes
            return value
        make = Maker(expr.span)
        target = self.new(f"{ir.place_name(expr.place)}_value", expr.type)
        self.guarded(address, [*notes, make.set(target, value)], self._zeroed(target, make))
        return make.load(target)

    @staticmethod
    def _zeroed(variable: ir.Variable, make: Maker) -> list[ir.Stmt]:
        """Assignments of zero to a variable, of a struct to every scalar in it."""
        if isinstance(variable.type, (Scalar, Vector)):
            return [make.set(variable, make.zero(variable.type))]
        places = (scalar_place(make.local(variable), path) for path, _, _ in scalar_fields(variable.type))
        return [make.set(place, make.zero(place.type)) for place in places]

    def _logical(self, expr: ir.Logical) -> ir.Expr:
        left = self.expr(expr.left)
        before, right = self.apart(lambda: self.expr(expr.right))
        if not before:
            return dataclasses.replace(expr, left=left, right=right)
        make = Maker(expr.span)
        target = self.new("condition", BOOL)
        self.out.append(make.set(target, left))
        asked = make.load(target) if expr.op == "and" else make.opposite(make.load(target))
        self.out.append(make.when(asked, [*before, make.set(target, right)]))
        return make.load(target)

    def _select(self, expr: ir.Select) -> ir.Expr:
        condition = self.expr(expr.condition)
        before_then, then = self.apart(lambda: self.expr(expr.then))
        before_else, orelse = self.apart(lambda: self.expr(expr.orelse))
        if not before_then and not before_else:
            return dataclasses.replace(expr, condition=condition, then=then, orelse=orelse)
        make = Maker(expr.span)
        target = self.new("chosen", expr.type)
        sides = [*before_then, make.set(target, then)], [*before_else, make.set(target, orelse)]
        self.out.append(make.when(condition, *sides))
        return make.load(target)

    def _binary(self, expr: ir.Binary) -> ir.Expr:
        left, right = self.expr(expr.left), self.expr(expr.right)
        kind = expr.type.element if isinstance(expr.type, Vector) else expr.type
        if isinstance(kind, Scalar) and kind.is_integer:
            if expr.op in DIVISIONS and not self._never_zero(expr.right):
                right = self._divisor(right, expr)
            elif expr.op in SHIFTS and not self._in_shift_range(expr.right, kind.bits):
                right = self._count(right, expr, kind.bits)
        return dataclasses.replace(expr, left=left, right=right)

    def _item_index(self, expr: ir.ItemIndex) -> ir.Expr:
        """The subscript, or 0 and a finding."""
        index, (low, high) = self.expr(expr.index), self.ranges.of(expr.index)
        if low >= 0 and high < expr.extent:
            return index
        make = Maker(expr.span)
        site = ValueSite("bounds", expr.span, expr.name, type=expr.type)
        return self._replaced(
            index,
            "subscript",
            lambda part: make.compare("ge", make.as_uint(part), uint(expr.extent)),
            lambda part: self.note(site, make.as_uint(part), uint(expr.extent)),
            0,
        )

    def _never_zero(self, divisor: ir.Expr) -> bool:
        divisor = repeated(divisor) or divisor
        if isinstance(divisor.type, Vector):
            return False
        low, high = self.ranges.of(divisor)
        return low > 0 or high < 0

    def _in_shift_range(self, count: ir.Expr, bits: int) -> bool:
        count = repeated(count) or count
        if isinstance(count.type, Vector):
            return False
        low, high = self.ranges.of(count)
        return low >= 0 and high < bits

    def _replaced(
        self,
        value: ir.Expr,
        name: str,
        wrong: Callable[[ir.Expr], ir.Expr],
        note: Callable[[ir.Expr], ir.Stmt],
        instead: int,
    ) -> ir.Expr:
        """A variable with the value, or a harmless value and a finding; for a vector, all components are checked."""
        make, kind = Maker(value.span), value.type
        kept = self.named(value, name)
        assert isinstance(kept, ir.Load) and isinstance(kept.place, ir.Local)
        scalar = kind.element if isinstance(kind, Vector) else kind
        assert isinstance(scalar, Scalar)
        safe: ir.Expr = ir.Const(value.span, scalar, instead)
        parts: list[ir.Expr] = [kept]
        if isinstance(kind, Vector):
            safe = ir.Construct(value.span, kind, (safe,))
            parts = [ir.Swizzle(value.span, kind.element, kept, letter) for letter in kind.letters]
        chain: list[ir.Stmt] = []
        for part in reversed(parts):
            chain = [make.when(wrong(part), [note(part), make.set(kept.place, safe)], chain)]
        self.out += chain
        return kept

    def _divisor(self, right: ir.Expr, expr: ir.Binary) -> ir.Expr:
        make, site = Maker(expr.span), ValueSite("division", expr.span)
        return self._replaced(
            right,
            "divisor",
            lambda part: make.compare("eq", part, ir.Const(expr.span, part.type, 0)),
            lambda part: self.note(site),
            1,
        )

    def _count(self, right: ir.Expr, expr: ir.Binary, bits: int) -> ir.Expr:
        make = Maker(expr.span)
        return self._replaced(
            right,
            "count",
            lambda part: make.compare("gt", make.as_uint(part), uint(bits - 1)),
            lambda part: self.note(ValueSite("shift", expr.span, type=part.type), make.as_uint(part)),
            0,
        )

    def _cast(self, expr: ir.Cast) -> ir.Expr:
        operand = self.expr(expr.operand)
        source, target = (k.element if isinstance(k, Vector) else k for k in (operand.type, expr.type))
        assert isinstance(source, Scalar) and isinstance(target, Scalar)
        if source.kind != "float" or not target.is_integer or isinstance(expr.operand, ir.Const):
            return dataclasses.replace(expr, operand=operand)
        make = Maker(expr.span)
        kept = self.named(operand, "value")
        assert isinstance(kept, ir.Load) and isinstance(kept.place, ir.Local)
        # For a float: the largest number that is too small or, if the source type has no such number, the smallest that
        # fits; and the smallest that is too large.
        first, last = int_range(target)
        low, high, op = float(first - 1), float(last + 1), "gt"
        if low != first - 1 or float(np.array(low, source.dtype)) != low:
            low, op = float(first), "ge"
        chain: list[ir.Stmt] = []
        parts: list[ir.Expr] = [kept]
        if isinstance(kept.type, Vector):
            parts = [ir.Swizzle(expr.span, source, kept, letter) for letter in kept.type.letters]
        for part in reversed(parts):
            least, most = (ir.Const(expr.span, source, v) for v in (low, high))
            fits = make.both([make.compare(op, part, least), make.compare("lt", part, most)])
            number = uint(self.plan.sites.add(ValueSite("conversion", expr.span, type=target)))
            shown = part if source == FLOAT32 else ir.Cast(expr.span, FLOAT32, part)
            note = make.call(self.plan.helpers.conversion(), number, shown)
            wrong = [note, make.set(kept.place, make.zero(kept.type))]
            chain = [make.when(make.opposite(fits), wrong, chain)]
        self.out += chain
        return dataclasses.replace(expr, operand=kept)


_STATEMENTS = ir.handlers(Rewriter, ir.Stmt)
_EXPRESSIONS = ir.handlers(Rewriter, ir.Expr)
