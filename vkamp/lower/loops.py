"""The loops over threads around each phase, and the whole lowering.

One subgroup runs a tile: its lanes take neighbouring threads of the last dimensions, and each lane goes through every
so many-th thread.  Where a tile had a barrier, the lanes of the subgroup wait for each other, which costs next to
nothing; the threads of one lane need nothing, for they come one after the other.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from vkamp.errors import Span
from vkamp.ir.fences import LANE_FENCES
from vkamp.ir.flow import assigned, certain, exposed, named, uses
from vkamp.ir.nodes import (
    ArrayElement,
    Assign,
    Barrier,
    Binary,
    Block,
    Break,
    Builtin,
    Call,
    ComponentsOf,
    Const,
    Continue,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Local,
    Node,
    Place,
    Remark,
    Return,
    Stmt,
    Swizzle,
    ThreadIndex,
    Variable,
    While,
    map_block,
    map_blocks,
    walk,
    walk_statements,
)
from vkamp.ir.types import BOOL, INT32, Array
from vkamp.ir.uses import uses_subgroups
from vkamp.lower.bounds import Bound, flattened, folded, guards, split_guarded
from vkamp.lower.common import Memory, memory_of
from vkamp.lower.errors import KeepsThreads
from vkamp.lower.forward import forwarded
from vkamp.lower.inline import global_index, inline_barriers, is_wait, thread_arguments
from vkamp.lower.jam import TURN, Around, accesses, cost, jammed
from vkamp.lower.phases import Branch, Item, Phase, Repeat, Single, Sync, phases_of
from vkamp.lower.rewrite import Names, changed, contains, filtered, value_of
from vkamp.lower.shape import Shape, shapes_for
from vkamp.lower.values import Places, computable, hoist, places

__all__ = ["loops", "waits"]

#: Bytes that each lane may keep for its threads.
_KEPT_BYTES = 16384
#: Memory accesses that phases for several threads at once may have: the drivers compile too long otherwise.
_PHASE_ACCESSES, _ACCESSES = 100, 250
#: How much less rows of neighbours have to cost than single threads to be taken.
_DOUBT = 1.05
#: How often a loop around phases is taken to run.
_TURNS = 16


def waits(kernel: Kernel) -> bool:
    """Whether a kernel has a barrier that waits."""
    return any(contains(f.body, is_wait) for f in (*kernel.functions, kernel.body))


def loops(kernel: Kernel, most: int, aligned: frozenset[str] = frozenset()) -> Kernel:
    """The kernel with its threads as loops of at most ``most`` lanes; KeepsThreads says why that cannot be.

    ``aligned``: containers whose last dimension is a multiple of four.
    """
    tile = kernel.tile
    if tile is None:
        raise KeepsThreads("its domain has no tiles")
    if uses_subgroups(kernel):
        raise KeepsThreads("it has functions of subgroups, whose threads run together")
    kernel = forwarded(thread_arguments(inline_barriers(kernel)))
    names = Names(kernel.body, (v.name for v in kernel.tile_statics))
    variables = list(kernel.body.variables)
    items, once = hoist(kernel, phases_of(kernel.body.body), names, variables)
    items = split_guarded(items, once, computable(kernel, items, once))
    where = places(kernel, items, once, variables)
    memory = memory_of(kernel, aligned)
    forms: list[tuple[_Lowering, Block]] = []
    for shape in shapes_for(tile, most):
        lowering = _Lowering(kernel, shape, where, memory, names.copy(), list(variables))
        forms.append((lowering, lowering.body(items)))
        if lowering.rows_together:
            break
    lowering, body = min(forms, key=lambda form: form[0].cost * (1 if max(form[0].runs) == 1 else _DOUBT))
    own = [v for v in lowering.variables if v.name not in lowering.kept or v.name in named(body)]
    function = dataclasses.replace(kernel.body, body=body, variables=tuple(own))
    return dataclasses.replace(kernel, body=function, lanes=lowering.shape.lanes)


@dataclasses.dataclass(frozen=True)
class _Kept:
    """A variable of which each thread keeps its own, and the array of all of a lane's."""

    variable: Variable
    array: Variable


class _Lowering:
    def __init__(
        self, kernel: Kernel, shape: Shape, where: Places, memory: Memory, names: Names, variables: list[Variable]
    ) -> None:
        self.kernel = kernel
        self.shape = shape
        self.tile, self.lanes, self.runs = shape.tile, shape.lanes, shape.runs
        self.where = where
        self.memory = memory
        self.names = names
        self.variables = variables
        self.phases = 0
        #: What the phases cost, about, and how often those run that come next.
        self.cost = 0.0
        self.times = 1
        self.accesses = _ACCESSES
        #: Whether each lane's rows of neighbours go together in all phases.
        self.rows_together = max(shape.runs) > 1
        dims = range(len(self.tile))
        self.one_each = tuple(1 for _ in dims)
        #: Rows of each lane per dimension.
        self.trips = shape.trips
        self.local = {d: self.new(f"{kernel.index_name}_local_{d}", INT32) for d in dims}
        self.global_ = {d: self.new(f"{kernel.index_name}_global_{d}", INT32) for d in dims}
        self.first_of = {d: self.new(f"{kernel.index_name}_first_{d}", INT32) for d in dims if shape.runs[d] > 1}
        self.kept = {v.name: _Kept(v, self.array_of(v)) for v in where.kept} if math.prod(shape.counts) > 1 else {}
        size = sum(k.array.type.size for k in self.kept.values())
        if size > _KEPT_BYTES:
            raise KeepsThreads(
                f"its threads keep {size} bytes for each lane from phase to phase, and {_KEPT_BYTES} are the limit"
            )

    def new(self, name: str, kind: object) -> Variable:
        """A variable of the loops."""
        variable = Variable(self.names.give(name), kind, "local", self.kernel.body.span, temporary=True)  # type: ignore[arg-type]
        self.variables.append(variable)
        return variable

    def array_of(self, variable: Variable) -> Variable:
        shape = tuple(n for pair in zip(self.trips, self.runs, strict=True) for n in pair if n > 1)
        kind = variable.type
        whole = Array(kind.element, (*shape, *kind.shape)) if isinstance(kind, Array) else Array(kind, shape)
        array = dataclasses.replace(
            variable, name=self.names.give(f"{variable.name}_kept"), type=whole, storage="private", temporary=True
        )
        self.variables.append(array)
        return array

    # -- outside the phases ------------------------------------------------------------------------------------

    def body(self, items: tuple[Item, ...]) -> Block:
        """The body of the kernel."""
        declared = [Declare(_unsaid(k.variable.span), k.array) for k in self.kept.values()]
        return (*declared, *self.items(items))

    def items(self, items: tuple[Item, ...]) -> Block:
        out: list[Stmt] = []
        for item in items:
            if isinstance(item, Phase):
                out += self.phase(item)
            elif isinstance(item, Sync):
                if math.prod(self.lanes) > 1:
                    fence = LANE_FENCES[item.fence.orders_global, item.fence.orders_tile_static]
                    out.append(Barrier(item.span, fence))
            elif isinstance(item, Single):
                out.append(item.statement)
            elif isinstance(item, Branch):
                condition = self.first(item.statement.condition)
                then, orelse = self.items(item.then), self.items(item.orelse)
                out.append(dataclasses.replace(item.statement, condition=condition, then=then, orelse=orelse))
            else:
                out.append(self.repeat(item))
        return tuple(out)

    def repeat(self, item: Repeat) -> Stmt:
        statement = item.statement
        if isinstance(statement, For):
            start, stop, step = map(self.first, (statement.start, statement.stop, statement.step))
            statement = dataclasses.replace(statement, start=start, stop=stop, step=step)
        else:
            statement = dataclasses.replace(statement, condition=self.first(statement.condition))
        self.times *= _TURNS
        body = self.items(item.body)
        self.times //= _TURNS
        return dataclasses.replace(statement, body=body)

    def first(self, expr: Expr) -> Expr:
        """A uniform expression as each lane's first thread sees it."""

        def change(node: Node) -> Node:
            if isinstance(node, ThreadIndex) and node.kind in ("local", "global"):
                lane = self.row(node.dim, node.span)
                return lane if node.kind == "local" else global_index(node, lane)
            if isinstance(node, Load) and isinstance(node.place, (Local, ComponentsOf)):
                place = node.place
                root = place.base if isinstance(place, ComponentsOf) else place
                if isinstance(root, Local) and root.variable.name in self.where.again:
                    value = changed(self.where.again[root.variable.name], change)
                    if isinstance(place, ComponentsOf):
                        return Swizzle(node.span, node.type, value, place.letters)
                    return value
            return self.element(node, [Const(node.span, INT32, 0) for n in (*self.trips, *self.runs) if n > 1])

        return changed(expr, change)

    def lane(self, dim: int, span: Span) -> Expr:
        if self.lanes[dim] == 1:
            return Const(span, INT32, 0)
        return ThreadIndex(span, INT32, "lane", dim)

    def row(self, dim: int, span: Span) -> Expr:
        """The first thread of a lane in a dimension."""
        lane = self.lane(dim, span)
        if self.runs[dim] == 1 or isinstance(lane, Const):
            return lane
        return Binary(span, INT32, "mul", lane, Const(span, INT32, self.runs[dim]))

    def element(self, node: Node, slot: list[Expr]) -> Node:
        """A kept variable, or an element of a kept array, as the element of the array of all of them."""
        if isinstance(node, Local) and node.variable.name in self.kept and node.variable.storage == "local":
            array = self.kept[node.variable.name].array
            return ArrayElement(node.span, node.type, Local(node.span, array.type, array), tuple(slot))
        return self.kept_element(node, slot)

    def kept_element(self, node: Node, slot: list[Expr]) -> Node:
        if isinstance(node, ArrayElement) and isinstance(node.base, Local):
            variable = node.base.variable
            if variable.storage == "private" and variable.name in self.kept:
                array = self.kept[variable.name].array
                base = Local(node.span, array.type, array)
                return dataclasses.replace(node, base=base, indices=(*slot, *node.indices))
        return node

    # -- a phase -----------------------------------------------------------------------------------------------

    def phase(self, phase: Phase) -> list[Stmt]:
        """The loops over the threads around a phase."""
        block = self.without_unused(self.with_values(phase.block))
        if not block:
            return []
        span = _unsaid(block[0].span)
        block = self.with_arrays(block)
        if not block:
            # It did nothing but declare arrays that are kept.
            return []
        self.phases += 1
        looped = any(n > 1 for n in self.shape.counts)
        bounds = {bound.dim: bound for bound in reversed(guards(block, self.where.once))}
        if phase.exits and looped:
            block = self.without_returns(block)
            bounds = {}
        only = {d: self.only(d, bounds.get(d), span) for d in range(len(self.tile))}
        counts = self.one_each
        if looped and not phase.exits:
            # Where a condition ends the loops, more threads at once would only test it more often.
            single = {d for d, index in only.items() if index is not None or d in bounds}
            block, counts = self.jammed(block, frozenset(single))
        self.count(block, counts, only)
        fixed = {d: only[d] or self.fixed(d, counts[d], span) for d in only}
        block = self.indexed(block, fixed)
        if not block:
            return []
        used = named(block)
        for dim in reversed(range(len(self.tile))):
            if self.global_[dim].name in used:
                local = Load(span, INT32, _place(self.local[dim], span))
                index = ThreadIndex(span, INT32, "global", dim)
                block = (Assign(span, _place(self.global_[dim], span), global_index(index, local)), *block)
            if fixed[dim] is None:
                block = (self.loop(dim, bounds.get(dim), counts[dim], block, span),)
        return [Remark(span, f"Phase {self.phases}"), *block]

    def only(self, dim: int, bound: Bound | None, span: Span) -> Expr | None:
        """The only index that a lane has to go through in a dimension, if it is known."""
        if self.shape.counts[dim] == 1:
            return self.lane(dim, span)
        if bound is None or bound.equal is None or not 0 <= bound.equal < self.tile[dim]:
            return None
        step = self.shape.steps[dim]
        first = bound.equal // step * step
        if first + step > self.tile[dim]:
            return None
        row = self.row(dim, span)
        number = first + bound.equal % self.runs[dim]
        return changed(Binary(span, INT32, "add", row, Const(span, INT32, number)), folded)

    def fixed(self, dim: int, count: int, span: Span) -> Expr | None:
        """The index of the first thread of a lane, where all its threads of a dimension go together."""
        return self.row(dim, span) if count == self.shape.counts[dim] else None

    def count(self, block: Block, counts: tuple[int, ...], only: Mapping[int, Expr | None]) -> None:
        """Adds what a phase costs."""
        looped = [d for d in only if only[d] is None]
        turns = math.prod(self.shape.counts[d] // counts[d] for d in looped)
        # Where not all of a row go together, there is a loop over rows, and one over those of a row.
        rows = sum(self.runs[d] > 1 and counts[d] == 1 for d in looped)
        self.rows_together &= rows == 0
        self.cost += self.times * turns * (cost(block) + TURN * (1 + rows / 4))

    def jammed(self, block: Block, single: frozenset[int]) -> tuple[Block, tuple[int, ...]]:
        """The phase for several threads of each lane at once, where that saves accesses; how many, per dimension."""
        arrays = frozenset(kept.array.name for kept in self.kept.values())
        private = frozenset({v.name for v in self.variables} - self.kept.keys() - self.where.once - arrays)
        most = min(self.accesses, _PHASE_ACCESSES)
        around = Around(self.shape, self.memory, self.names.copy, private, arrays, single, most)
        jam = jammed(block, around)
        if jam is None:
            return block, self.one_each
        for variable in jam.variables:
            self.names.give(variable.name)
        self.variables += jam.variables
        self.accesses -= accesses(jam.block)
        return jam.block, jam.counts

    def loop(self, dim: int, bound: Bound | None, count: int, block: Block, span: Span) -> For:
        """The loop over the threads of a dimension, or over those alone that a condition lets do something."""
        size, step, run = self.tile[dim], self.shape.steps[dim], self.runs[dim]
        start: Expr = self.row(dim, span)
        stop: Expr = Const(span, INT32, size)
        if bound is not None and bound.equal is not None and 0 <= bound.equal < size:
            start = Binary(span, INT32, "add", start, Const(span, INT32, bound.equal // step * step))
        elif bound is not None and isinstance(bound.stop, Const):
            stop = Const(span, INT32, max(0, min(size, int(bound.stop.value))))
        elif bound is not None and bound.stop is not None:
            stop = Builtin(span, INT32, "min", (bound.stop, stop))
        if run == 1 or count == run:
            return For(span, self.local[dim], start, stop, Const(span, INT32, step * max(1, count // run)), block)
        row = self.first_of[dim]
        first = Load(span, INT32, _place(row, span))
        end = Binary(span, INT32, "add", first, Const(span, INT32, run))
        inner = For(span, self.local[dim], first, end, Const(span, INT32, 1), block)
        return For(span, row, start, stop, Const(span, INT32, step), (inner,))

    def with_values(self, block: Block) -> Block:
        """The phase with the values that it computes again."""
        wanted = exposed(block) & self.where.again.keys()
        needed: set[str] = set()
        for name in reversed(list(self.where.again)):
            if name in wanted or name in needed:
                needed.add(name)
                needed |= {n.variable.name for n in walk(self.where.again[name]) if isinstance(n, Local)}
        inside = assigned(block)
        first = []
        by_name = {v.name: v for v in self.variables}
        for name, value in self.where.again.items():
            if name in needed and (name in wanted or name not in inside):
                first.append(Assign(value.span, _place(by_name[name], value.span), value))
        return (*first, *block)

    def without_unused(self, block: Block) -> Block:
        """The phase without assignments that only others needed, which compute the value again."""
        while True:
            used = {name for s in walk_statements(block) for name in uses(s)}
            smaller = filtered(block, lambda s: not self.is_unused(s, used))  # noqa: B023
            if smaller == block:
                return block
            block = smaller

    def is_unused(self, statement: Stmt, used: set[str]) -> bool:
        if not isinstance(statement, Assign) or not isinstance(statement.place, Local):
            return False
        name = statement.place.variable.name
        return name in self.where.again and name not in used

    def with_arrays(self, block: Block) -> Block:
        """The phase with the kept variables loaded before it and stored behind it."""
        used, written = named(block), assigned(block)
        # What a phase may leave as it is has to be stored as it was.
        open_ = exposed(block) | (written - certain(block))
        span = _unsaid(block[0].span)
        slot = self.slot(span)
        before: list[Stmt] = []
        behind: list[Stmt] = []
        for kept in self.kept.values():
            variable = kept.variable
            if variable.name not in used or variable.storage != "local":
                continue
            element = ArrayElement(span, variable.type, Local(span, kept.array.type, kept.array), tuple(slot))
            if variable.name in open_:
                before.append(Assign(span, _place(variable, span), Load(span, variable.type, element)))
            if variable.name in written:
                behind.append(Assign(span, element, Load(span, variable.type, _place(variable, span))))
        block = tuple(s for s in self.with_copies(block, slot) if not self.declares_kept(s))
        return (*before, *map_block(block, lambda node: self.kept_element(node, slot)), *behind)

    def declares_kept(self, statement: Stmt) -> bool:
        return isinstance(statement, Declare) and statement.variable.name in self.kept

    def slot(self, span: Span) -> list[Expr]:
        """Where a thread's values lie in the arrays of its lane."""
        out: list[Expr] = []
        for dim, trips in enumerate(self.trips):
            index: Expr = ThreadIndex(span, INT32, "local", dim)
            step, run = self.shape.steps[dim], self.runs[dim]
            if trips > 1:
                out.append(index if step == 1 else Binary(span, INT32, "floordiv", index, Const(span, INT32, step)))
            if run > 1:
                out.append(Binary(span, INT32, "floormod", index, Const(span, INT32, run)))
        return out

    def with_copies(self, block: Block, slot: list[Expr]) -> Block:
        """Kept arrays as arguments of functions: copied out before the call, and back behind it."""
        out: list[Stmt] = []
        for statement in block:
            if isinstance(statement, Call):
                out += self.copied(statement, slot)
            else:
                out.append(map_blocks(statement, lambda inner: self.with_copies(inner, slot)))
        return tuple(out)

    def copied(self, call: Call, slot: list[Expr]) -> list[Stmt]:
        before: list[Stmt] = []
        behind: list[Stmt] = []
        own: dict[str, Variable] = {}
        args: list[Expr | Place] = []
        for arg in call.args:
            if isinstance(arg, Local) and arg.variable.name in self.kept and arg.variable.storage == "private":
                kept = self.kept[arg.variable.name]
                name = kept.variable.name
                if name not in own:
                    own[name] = dataclasses.replace(kept.variable, name=self.names.give(f"{name}_own"), temporary=True)
                    self.variables.append(own[name])
                    before.append(Declare(call.span, own[name]))
                    before.append(self.copy(call.span, kept, own[name], slot, is_out=True))
                    behind.append(self.copy(call.span, kept, own[name], slot, is_out=False))
                args.append(_place(own[name], call.span))
            else:
                args.append(arg)
        return [*before, dataclasses.replace(call, args=tuple(args)), *behind]

    def copy(self, span: Span, kept: _Kept, own: Variable, slot: list[Expr], *, is_out: bool) -> Stmt:
        """A loop over an array's elements."""
        assert isinstance(own.type, Array)
        counters = [self.new(f"{kept.variable.name}_{d}", INT32) for d in range(len(own.type.shape))]
        indices: tuple[Expr, ...] = tuple(Load(span, INT32, _place(c, span)) for c in counters)
        element = own.type.element
        one = ArrayElement(span, element, _place(own, span), indices)
        other = ArrayElement(span, element, _place(kept.array, span), (*slot, *indices))
        target, source = (one, other) if is_out else (other, one)
        statement: Stmt = Assign(span, target, Load(span, element, source))
        for counter, size in reversed(list(zip(counters, own.type.shape, strict=True))):
            start, stop, step = (Const(span, INT32, n) for n in (0, size, 1))
            statement = For(span, counter, start, stop, step, (statement,))
        return statement

    def indexed(self, block: Block, fixed: Mapping[int, Expr | None]) -> Block:
        """The phase with the loops' variables in the place of the thread's indices, or what is known of them."""

        def change(node: Node) -> Node:
            if isinstance(node, ThreadIndex) and node.kind in ("local", "global"):
                known = fixed[node.dim]
                if known is not None:
                    return known if node.kind == "local" else folded(global_index(node, known))
                variables = self.local if node.kind == "local" else self.global_
                return value_of(variables[node.dim], node)
            return self.folded(node)

        return flattened(map_block(block, change))

    def folded(self, node: Node) -> Node:
        """As ``folded`` does, and without quotients of lanes by how many there are."""
        if isinstance(node, Binary) and node.op == "floordiv" and isinstance(node.right, Const):
            left, by = node.left, int(node.right.value)
            offset = 0
            if isinstance(left, Binary) and left.op == "add" and isinstance(left.right, Const):
                offset, left = int(left.right.value), left.left
            if isinstance(left, ThreadIndex) and left.kind == "lane" and by > 0 and offset >= 0:
                low, high = offset // by, (offset + self.lanes[left.dim] - 1) // by
                if low == high:
                    return Const(node.span, INT32, low)
        return folded(node)

    # -- threads that return -----------------------------------------------------------------------------------

    def without_returns(self, block: Block) -> Block:
        """The phase with each return as the end of the thread's turn."""
        flag = None
        if any(_returns(s.body) for s in walk_statements(block) if isinstance(s, (For, While))):
            flag = self.new("returned", BOOL)
            span = _unsaid(block[0].span)
            start = Assign(span, _place(flag, span), Const(span, BOOL, False))
            return (start, *_turns(block, flag, 0))
        return _turns(block, flag, 0)


def _unsaid(span: Span) -> Span:
    """A place near ``span`` that is no line of the program's: what stands there is of the lowering alone."""
    return dataclasses.replace(span, line=0, column=0, end_line=0, end_column=0)


def _place(variable: Variable, span: Span) -> Local:
    return Local(span, variable.type, variable)


def _returns(block: Block) -> bool:
    return contains(block, lambda s: isinstance(s, Return))


def _turns(block: Block, flag: Variable | None, depth: int) -> Block:
    """A block in which ``continue`` of the loop over threads, ``depth`` loops out, stands for each return."""
    out: list[Stmt] = []
    for statement in block:
        if isinstance(statement, Return):
            if depth == 0:
                out.append(Continue(statement.span))
            else:
                assert flag is not None
                out.append(Assign(statement.span, _place(flag, statement.span), Const(statement.span, BOOL, True)))
                out.append(Break(statement.span))
        elif isinstance(statement, (For, While)) and _returns(statement.body):
            assert flag is not None
            out.append(dataclasses.replace(statement, body=_turns(statement.body, flag, depth + 1)))
            leave: Stmt = Continue(statement.span) if depth == 0 else Break(statement.span)
            out.append(If(statement.span, value_of(flag, statement), (leave,), ()))
        else:
            out.append(map_blocks(statement, lambda inner: _turns(inner, flag, depth)))
    return tuple(out)
