"""The loops over threads around each phase, and the whole lowering.

One subgroup runs a tile: its lanes take neighbouring threads of the last dimensions, and each lane runs the threads at
a fixed stride.  Where a tile had a barrier, the lanes of the subgroup wait for each other, which costs next to nothing;
the threads of one lane need nothing, for they come one after the other.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import simplified
from vkamp.ir.dataflow import assigned, certain, exposed, named
from vkamp.ir.fences import LANE_FENCES
from vkamp.ir.matrix_forms import thread_by_thread
from vkamp.ir.requirements import uses_subgroups
from vkamp.ir.rewrite import Names, changed, contains, flattened, nowhere, value_of, without_unused
from vkamp.ir.types import BOOL, INT32, Array, int_range
from vkamp.lower.bounds import Bound, guards, split_guarded
from vkamp.lower.errors import NotLowerable
from vkamp.lower.inline import global_index, inline_barriers, is_wait, thread_arguments
from vkamp.lower.load_sharing import Memory, memory_of
from vkamp.lower.phases import Branch, Item, Phase, Repeat, Single, Sync, phases_of
from vkamp.lower.shape import Shape, shapes_for
from vkamp.lower.subgroups import with_subgroups
from vkamp.lower.tile_static_forwarding import forwarded
from vkamp.lower.unroll_and_jam import LOOP_OVERHEAD, PhaseContext, accesses, cost, jammed
from vkamp.lower.variable_placement import VariablePlacement, computable, hoist, places

#: Bytes that each lane may keep for its threads.
_KEPT_BYTES = 16384
#: Memory accesses that phases for several threads at once may have: the drivers compile too long otherwise.
_PHASE_ACCESSES, _ACCESSES = 100, 250
#: How much less rows of neighbours have to cost than single threads to be taken.
_DOUBT = 1.05
#: How often a loop around phases is taken to run.
_TURNS = 16


def waits(kernel: ir.Kernel) -> bool:
    """Whether a kernel has a barrier that waits."""
    return any(contains(f.body, is_wait) for f in (*kernel.functions, kernel.body))


def loops(kernel: ir.Kernel, most: int, aligned: frozenset[str] = frozenset()) -> ir.Kernel:
    """The kernel with its threads as loops of at most ``most`` lanes; NotLowerable says why that cannot be.

    ``aligned``: containers whose last dimension is a multiple of four.
    """
    kernel = thread_by_thread(kernel)
    tile = kernel.tile
    if tile is None:
        raise NotLowerable("its domain has no tiles")
    shapes = shapes_for(tile, most)
    if uses_subgroups(kernel):
        kernel, lanes = with_subgroups(kernel, most)
        assert kernel.tile is not None
        # Lanes that took rows of neighbours would not be subgroups.
        shapes = iter((Shape(kernel.tile, lanes, tuple(1 for _ in lanes)),))
    kernel = forwarded(thread_arguments(inline_barriers(kernel)))
    names = Names.of(kernel.body, (v.name for v in kernel.tile_statics))
    variables = list(kernel.body.variables)
    items, once = hoist(kernel, phases_of(kernel.body.body), names, variables)
    items = split_guarded(items, once, computable(kernel, items, once))
    where = places(kernel, items, once, variables)
    memory = memory_of(kernel, aligned)
    forms: list[tuple[_Lowering, ir.Block]] = []
    for shape in shapes:
        lowering = _Lowering(kernel, shape, where, memory, names.copy(), list(variables))
        forms.append((lowering, lowering.body(items)))
        if lowering.rows_together:
            break
    lowering, body = min(forms, key=lambda form: form[0].cost * (1 if max(form[0].runs) == 1 else _DOUBT))
    if kernel.tile != tile:
        row = lowering.local[len(tile) - 1].name
        remark = ir.Remark(nowhere(kernel.body.span), f"`{row}` is the number of a thread in its tile, row by row.")
        body = (remark, *body)
    own = [v for v in lowering.variables if v.name not in lowering.kept or v.name in named(body)]
    function = dataclasses.replace(kernel.body, body=body, variables=tuple(own))
    return dataclasses.replace(kernel, tile=tile, body=function, lanes=lowering.shape.lanes)


@dataclasses.dataclass(frozen=True)
class _Kept:
    """A variable of which each thread keeps its own, and the array of all of a lane's."""

    variable: ir.Variable
    array: ir.Variable


class _Lowering:
    def __init__(
        self,
        kernel: ir.Kernel,
        shape: Shape,
        where: VariablePlacement,
        memory: Memory,
        names: Names,
        variables: list[ir.Variable],
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
            raise NotLowerable(
                f"its threads keep {size} bytes for each lane from phase to phase; the limit is {_KEPT_BYTES}"
            )

    def new(self, name: str, kind: object) -> ir.Variable:
        """A variable of the loops."""
        variable = ir.Variable(self.names.give(name), kind, "local", self.kernel.body.span, temporary=True)  # type: ignore[arg-type]
        self.variables.append(variable)
        return variable

    def array_of(self, variable: ir.Variable) -> ir.Variable:
        shape = tuple(n for pair in zip(self.trips, self.runs, strict=True) for n in pair if n > 1)
        kind = variable.type
        whole = Array(kind.element, (*shape, *kind.shape)) if isinstance(kind, Array) else Array(kind, shape)
        array = dataclasses.replace(
            variable, name=self.names.give(f"{variable.name}_kept"), type=whole, storage="private", temporary=True
        )
        self.variables.append(array)
        return array

    # -- outside the phases ------------------------------------------------------------------------------------

    def body(self, items: tuple[Item, ...]) -> ir.Block:
        """The body of the kernel."""
        declared = [ir.Declare(nowhere(k.variable.span), k.array) for k in self.kept.values()]
        return (*declared, *self.items(items))

    def items(self, items: tuple[Item, ...]) -> ir.Block:
        out: list[ir.Stmt] = []
        for item in items:
            if isinstance(item, Phase):
                out += self.phase(item)
            elif isinstance(item, Sync):
                if math.prod(self.lanes) > 1:
                    fence = LANE_FENCES[item.fence.orders_global, item.fence.orders_tile_static]
                    out.append(ir.Barrier(item.span, fence))
            elif isinstance(item, Single):
                out.append(item.statement)
            elif isinstance(item, Branch):
                condition = self.first(item.statement.condition)
                then, orelse = self.items(item.then), self.items(item.orelse)
                out.append(dataclasses.replace(item.statement, condition=condition, then=then, orelse=orelse))
            else:
                out.append(self.repeat(item))
        return tuple(out)

    def repeat(self, item: Repeat) -> ir.Stmt:
        statement = item.statement
        if isinstance(statement, ir.For):
            start, stop, step = map(self.first, (statement.start, statement.stop, statement.step))
            statement = dataclasses.replace(statement, start=start, stop=stop, step=step)
        else:
            statement = dataclasses.replace(statement, condition=self.first(statement.condition))
        self.times *= _TURNS
        body = self.items(item.body)
        self.times //= _TURNS
        return dataclasses.replace(statement, body=body)

    def first(self, expr: ir.Expr) -> ir.Expr:
        """A uniform expression as each lane's first thread sees it."""

        def change(node: ir.Node) -> ir.Node:
            if isinstance(node, ir.ThreadIndex) and node.kind in ("local", "global"):
                lane = self.row(node.dim, node.span)
                return lane if node.kind == "local" else global_index(node, lane)
            if isinstance(node, ir.Load) and isinstance(node.place, (ir.Local, ir.ComponentsOf)):
                place = node.place
                root = place.base if isinstance(place, ir.ComponentsOf) else place
                if isinstance(root, ir.Local) and root.variable.name in self.where.again:
                    value = changed(self.where.again[root.variable.name], change)
                    if isinstance(place, ir.ComponentsOf):
                        return ir.Swizzle(node.span, node.type, value, place.letters)
                    return value
            return self.element(node, [ir.Const(node.span, INT32, 0) for n in (*self.trips, *self.runs) if n > 1])

        return changed(expr, change)

    def lane(self, dim: int, span: Span) -> ir.Expr:
        if self.lanes[dim] == 1:
            return ir.Const(span, INT32, 0)
        return ir.ThreadIndex(span, INT32, "lane", dim)

    def row(self, dim: int, span: Span) -> ir.Expr:
        """The first thread of a lane in a dimension."""
        lane = self.lane(dim, span)
        if self.runs[dim] == 1 or isinstance(lane, ir.Const):
            return lane
        return ir.Binary(span, INT32, "mul", lane, ir.Const(span, INT32, self.runs[dim]))

    def element(self, node: ir.Node, slot: list[ir.Expr]) -> ir.Node:
        """A kept variable, or an element of a kept array, as the element of the array of all of them."""
        if isinstance(node, ir.Local) and node.variable.name in self.kept and node.variable.storage == "local":
            array = self.kept[node.variable.name].array
            return ir.ArrayElement(node.span, node.type, ir.Local(node.span, array.type, array), tuple(slot))
        return self.kept_element(node, slot)

    def kept_element(self, node: ir.Node, slot: list[ir.Expr]) -> ir.Node:
        if isinstance(node, ir.ArrayElement) and isinstance(node.base, ir.Local):
            variable = node.base.variable
            if variable.storage == "private" and variable.name in self.kept:
                array = self.kept[variable.name].array
                base = ir.Local(node.span, array.type, array)
                return dataclasses.replace(node, base=base, indices=(*slot, *node.indices))
        return node

    # -- a phase -----------------------------------------------------------------------------------------------

    def phase(self, phase: Phase) -> list[ir.Stmt]:
        """The loops over the threads around a phase."""
        # Without assignments that only other phases needed, which compute the value again.
        block = without_unused(self.with_values(phase.block), self.where.again)
        if not block:
            return []
        span = nowhere(block[0].span)
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
            # If a condition ends the loops, running more threads together would only test it more often.
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
                local = ir.Load(span, INT32, _place(self.local[dim], span))
                index = ir.ThreadIndex(span, INT32, "global", dim)
                block = (ir.Assign(span, _place(self.global_[dim], span), global_index(index, local)), *block)
            if fixed[dim] is None:
                block = (self.loop(dim, bounds.get(dim), counts[dim], block, span),)
        return [ir.Remark(span, f"Phase {self.phases}"), *block]

    def only(self, dim: int, bound: Bound | None, span: Span) -> ir.Expr | None:
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
        return changed(ir.Binary(span, INT32, "add", row, ir.Const(span, INT32, number)), simplified)

    def fixed(self, dim: int, count: int, span: Span) -> ir.Expr | None:
        """The index of the first thread of a lane, where all its threads of a dimension go together."""
        return self.row(dim, span) if count == self.shape.counts[dim] else None

    def count(self, block: ir.Block, counts: tuple[int, ...], only: Mapping[int, ir.Expr | None]) -> None:
        """Adds what a phase costs."""
        looped = [d for d in only if only[d] is None]
        turns = math.prod(self.shape.counts[d] // counts[d] for d in looped)
        # Where not all of a row go together, there is a loop over rows, and one over those of a row.
        rows = sum(self.runs[d] > 1 and counts[d] == 1 for d in looped)
        self.rows_together &= rows == 0
        self.cost += self.times * turns * (cost(block) + LOOP_OVERHEAD * (1 + rows / 4))

    def jammed(self, block: ir.Block, single: frozenset[int]) -> tuple[ir.Block, tuple[int, ...]]:
        """Lowers the phase for several threads of each lane at once, if that saves accesses; returns their number per
        dimension, too.
        """
        arrays = frozenset(kept.array.name for kept in self.kept.values())
        private = frozenset({v.name for v in self.variables} - self.kept.keys() - self.where.once - arrays)
        most = min(self.accesses, _PHASE_ACCESSES)
        around = PhaseContext(self.shape, self.memory, self.names.copy, private, arrays, single, most)
        jam = jammed(block, around)
        if jam is None:
            return block, self.one_each
        for variable in jam.variables:
            self.names.give(variable.name)
        self.variables += jam.variables
        self.accesses -= accesses(jam.block)
        return jam.block, jam.counts

    def loop(self, dim: int, bound: Bound | None, count: int, block: ir.Block, span: Span) -> ir.For:
        """The loop over the threads of a dimension, or over those alone that a condition lets do something."""
        size, step, run = self.tile[dim], self.shape.steps[dim], self.runs[dim]
        start: ir.Expr = self.row(dim, span)
        stop: ir.Expr = ir.Const(span, INT32, size)
        if bound is not None and bound.equal is not None and 0 <= bound.equal < size:
            start = ir.Binary(span, INT32, "add", start, ir.Const(span, INT32, bound.equal // step * step))
        elif bound is not None and isinstance(bound.stop, ir.Const):
            stop = ir.Const(span, INT32, max(0, min(size, int(bound.stop.value))))
        elif bound is not None and bound.stop is not None:
            stop = ir.Builtin(span, INT32, "min", (bound.stop, stop))
        if run == 1 or count == run:
            return ir.For(span, self.local[dim], start, stop, ir.Const(span, INT32, step * max(1, count // run)), block)
        row = self.first_of[dim]
        first = ir.Load(span, INT32, _place(row, span))
        end = ir.Binary(span, INT32, "add", first, ir.Const(span, INT32, run))
        inner = ir.For(span, self.local[dim], first, end, ir.Const(span, INT32, 1), block)
        return ir.For(span, row, start, stop, ir.Const(span, INT32, step), (inner,))

    def with_values(self, block: ir.Block) -> ir.Block:
        """The phase with the values that it computes again."""
        wanted = exposed(block) & self.where.again.keys()
        needed: set[str] = set()
        for name in reversed(list(self.where.again)):
            if name in wanted or name in needed:
                needed.add(name)
                needed |= {n.variable.name for n in ir.walk(self.where.again[name]) if isinstance(n, ir.Local)}
        inside = assigned(block)
        first = []
        by_name = {v.name: v for v in self.variables}
        for name, value in self.where.again.items():
            if name in needed and (name in wanted or name not in inside):
                first.append(ir.Assign(value.span, _place(by_name[name], value.span), value))
        return (*first, *block)

    def with_arrays(self, block: ir.Block) -> ir.Block:
        """The phase with the kept variables loaded before it and stored after it."""
        used, written = named(block), assigned(block)
        # What a phase may leave as it is has to be stored as it was.
        open_ = exposed(block) | (written - certain(block))
        span = nowhere(block[0].span)
        slot = self.slot(span)
        before: list[ir.Stmt] = []
        behind: list[ir.Stmt] = []
        for kept in self.kept.values():
            variable = kept.variable
            if variable.name not in used or variable.storage != "local":
                continue
            element = ir.ArrayElement(span, variable.type, ir.Local(span, kept.array.type, kept.array), tuple(slot))
            if variable.name in open_:
                before.append(ir.Assign(span, _place(variable, span), ir.Load(span, variable.type, element)))
            if variable.name in written:
                behind.append(ir.Assign(span, element, ir.Load(span, variable.type, _place(variable, span))))
        block = tuple(s for s in self.with_copies(block, slot) if not self.declares_kept(s))
        return (*before, *ir.map_block(block, lambda node: self.kept_element(node, slot)), *behind)

    def declares_kept(self, statement: ir.Stmt) -> bool:
        return isinstance(statement, ir.Declare) and statement.variable.name in self.kept

    def slot(self, span: Span) -> list[ir.Expr]:
        """The position of a thread's values in the arrays of its lane."""
        out: list[ir.Expr] = []
        for dim, trips in enumerate(self.trips):
            index: ir.Expr = ir.ThreadIndex(span, INT32, "local", dim)
            step, run = self.shape.steps[dim], self.runs[dim]
            if trips > 1:
                out.append(
                    index if step == 1 else ir.Binary(span, INT32, "floordiv", index, ir.Const(span, INT32, step))
                )
            if run > 1:
                out.append(ir.Binary(span, INT32, "floormod", index, ir.Const(span, INT32, run)))
        return out

    def with_copies(self, block: ir.Block, slot: list[ir.Expr]) -> ir.Block:
        """Kept arrays as arguments of functions: copied out before the call, and back after it."""
        out: list[ir.Stmt] = []
        for statement in block:
            if isinstance(statement, ir.Call):
                out += self.copied(statement, slot)
            else:
                out.append(ir.map_blocks(statement, lambda inner: self.with_copies(inner, slot)))
        return tuple(out)

    def copied(self, call: ir.Call, slot: list[ir.Expr]) -> list[ir.Stmt]:
        before: list[ir.Stmt] = []
        behind: list[ir.Stmt] = []
        own: dict[str, ir.Variable] = {}
        args: list[ir.Expr | ir.Place] = []
        for arg in call.args:
            if isinstance(arg, ir.Local) and arg.variable.name in self.kept and arg.variable.storage == "private":
                kept = self.kept[arg.variable.name]
                name = kept.variable.name
                if name not in own:
                    own[name] = dataclasses.replace(kept.variable, name=self.names.give(f"{name}_own"), temporary=True)
                    self.variables.append(own[name])
                    before.append(ir.Declare(call.span, own[name]))
                    before.append(self.copy(call.span, kept, own[name], slot, is_out=True))
                    behind.append(self.copy(call.span, kept, own[name], slot, is_out=False))
                args.append(_place(own[name], call.span))
            else:
                args.append(arg)
        return [*before, dataclasses.replace(call, args=tuple(args)), *behind]

    def copy(self, span: Span, kept: _Kept, own: ir.Variable, slot: list[ir.Expr], *, is_out: bool) -> ir.Stmt:
        """A loop over an array's elements."""
        assert isinstance(own.type, Array)
        counters = [self.new(f"{kept.variable.name}_{d}", INT32) for d in range(len(own.type.shape))]
        indices: tuple[ir.Expr, ...] = tuple(ir.Load(span, INT32, _place(c, span)) for c in counters)
        element = own.type.element
        one = ir.ArrayElement(span, element, _place(own, span), indices)
        other = ir.ArrayElement(span, element, _place(kept.array, span), (*slot, *indices))
        target, source = (one, other) if is_out else (other, one)
        statement: ir.Stmt = ir.Assign(span, target, ir.Load(span, element, source))
        for counter, size in reversed(list(zip(counters, own.type.shape, strict=True))):
            start, stop, step = (ir.Const(span, INT32, n) for n in (0, size, 1))
            statement = ir.For(span, counter, start, stop, step, (statement,))
        return statement

    def indexed(self, block: ir.Block, fixed: Mapping[int, ir.Expr | None]) -> ir.Block:
        """The phase with the loops' variables in the place of the thread's indices, or what is known of them."""

        def change(node: ir.Node) -> ir.Node:
            if isinstance(node, ir.ThreadIndex) and node.kind in ("local", "global"):
                known = fixed[node.dim]
                if known is not None:
                    return known if node.kind == "local" else simplified(global_index(node, known))
                variables = self.local if node.kind == "local" else self.global_
                return value_of(variables[node.dim], node)
            return self.folded(node)

        return flattened(ir.map_block(block, change))

    def folded(self, node: ir.Node) -> ir.Node:
        """Like ``simplified`` does, and without quotients of lanes by how many there are."""
        if isinstance(node, ir.Binary) and node.op == "floordiv" and isinstance(node.right, ir.Const):
            left, by = node.left, int(node.right.value)
            offset = 0
            if isinstance(left, ir.Binary) and left.op == "add" and isinstance(left.right, ir.Const):
                offset, left = int(left.right.value), left.left
            if isinstance(left, ir.ThreadIndex) and left.kind == "lane" and by > 0 and offset >= 0:
                last = offset + self.lanes[left.dim] - 1
                low, high = offset // by, last // by
                if low == high and last <= int_range(INT32)[1]:
                    return ir.Const(node.span, INT32, low)
        return simplified(node)

    # -- threads that return -----------------------------------------------------------------------------------

    def without_returns(self, block: ir.Block) -> ir.Block:
        """The phase with each return as the end of the thread's iteration."""
        flag = None
        if any(_returns(s.body) for s in ir.walk_statements(block) if isinstance(s, (ir.For, ir.While))):
            flag = self.new("returned", BOOL)
            span = nowhere(block[0].span)
            start = ir.Assign(span, _place(flag, span), ir.Const(span, BOOL, False))
            return (start, *_turns(block, flag, 0))
        return _turns(block, flag, 0)


def _place(variable: ir.Variable, span: Span) -> ir.Local:
    return ir.Local(span, variable.type, variable)


def _returns(block: ir.Block) -> bool:
    return contains(block, lambda s: isinstance(s, ir.Return))


def _turns(block: ir.Block, flag: ir.Variable | None, depth: int) -> ir.Block:
    """A block in which each return is a ``continue`` of the loop over threads, ``depth`` loops further out."""
    out: list[ir.Stmt] = []
    for statement in block:
        if isinstance(statement, ir.Return):
            if depth == 0:
                out.append(ir.Continue(statement.span))
            else:
                assert flag is not None
                out.append(
                    ir.Assign(statement.span, _place(flag, statement.span), ir.Const(statement.span, BOOL, True))
                )
                out.append(ir.Break(statement.span))
        elif isinstance(statement, (ir.For, ir.While)) and _returns(statement.body):
            assert flag is not None
            out.append(dataclasses.replace(statement, body=_turns(statement.body, flag, depth + 1)))
            leave: ir.Stmt = ir.Continue(statement.span) if depth == 0 else ir.Break(statement.span)
            out.append(ir.If(statement.span, value_of(flag, statement), (leave,), ()))
        else:
            out.append(ir.map_blocks(statement, lambda inner: _turns(inner, flag, depth)))
    return tuple(out)
