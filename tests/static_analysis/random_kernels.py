"""Random small kernels over tile_static memory and containers, for comparing the compiler's verdicts on races."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

from tests.static_analysis.build import (
    add,
    back,
    barrier,
    binary,
    both,
    call,
    compare,
    count,
    element,
    fetch_add,
    func,
    get,
    index,
    item,
    kernel,
    leave,
    let,
    local,
    param,
    repeat,
    scalar,
    select,
    shared,
    skip,
    var,
    when,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32, Array

__all__ = ["random_kernel", "with_alarm"]

TILES = [(4,), (6,), (8,), (3, 4), (4, 3), (2, 5), (2, 2, 3), (1, 7)]
FENCES = [
    *["wait"] * 3,
    *["wait_with_tile_static_memory_fence"] * 3,
    "wait_with_all_memory_fence",
    "wait_with_global_memory_fence",
    "tile_static_memory_fence",
]
CELLS = param("cells", Array(INT32, (12,)))
PUT = func("put", [CELLS, param("at"), param("value")], let(item(CELLS, param("at")), param("value")))
TAKE = func("take", [CELLS, param("at")], back(item(CELLS, param("at"))), results=[INT32])


class _Writer:
    """Writes one kernel."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tile = self.random.choice(TILES)
        self.row = shared("row", 12)
        self.grid = shared("grid", 4, 6)
        self.counters: list[ir.Variable] = []
        self.numbers = 0
        self.data = [var(f"x{k}") for k in range(3)]
        self.offset = var("offset")
        #: Indices, each thread's own: told on some ways, and met behind them.
        self.places = [var("p"), var("q")]
        self.divergent = False
        self.loops = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def thread(self) -> ir.Expr:
        """Something that differs between threads: a component, or the number in the tile."""
        if len(self.tile) == 1 or self.chance(0.4):
            return local(self.random.randrange(len(self.tile)))
        flat: ir.Expr = local(0)
        for dim, size in enumerate(self.tile[1:], 1):
            flat = add(binary("mul", flat, size), local(dim))
        return flat

    def uniform(self) -> ir.Expr:
        choices: list[Callable[[], ir.Expr]] = [
            lambda: scalar(),
            lambda: index("tile", 0),
            lambda: add(get(self.offset), 0),
            lambda: binary("floordiv", scalar(), 2),
        ]
        if self.counters:
            choices += [lambda: get(self.random.choice(self.counters))] * 4
        return self.random.choice(choices)()

    def number(self) -> ir.Expr:
        """An index before it is brought into bounds."""
        thread, roll = self.thread(), self.random.random()
        if self.chance(0.2):
            return get(self.random.choice(self.places))
        if roll < 0.3:
            return thread
        if roll < 0.5:
            return add(thread, self.random.randrange(-2, 5))
        if roll < 0.6:
            op = self.random.choice(["mul", "floordiv", "floormod", "bitxor", "bitand", "shl", "min", "max"])
            if op in ("min", "max"):
                return ir.Builtin(thread.span, INT32, op, (thread, add(self.random.randrange(5), 0)))
            return binary(op, thread, self.random.randrange(1, 4))
        if roll < 0.75:
            return add(thread, self.uniform())
        if roll < 0.8:
            return binary("sub", 11, thread)
        if roll < 0.85:
            return select(self.condition(), thread, self.random.randrange(6))
        if roll < 0.9:
            return index("global", self.random.randrange(len(self.tile)))
        if roll < 0.95:
            return self.uniform()
        return add(self.random.randrange(12), 0)

    def condition(self) -> ir.Expr:
        roll, op = self.random.random(), self.random.choice(["lt", "eq", "ge", "ne", "le", "gt"])
        if roll < 0.55:
            return compare(op, self.thread(), self.random.randrange(6))
        if roll < 0.7 and self.counters:
            return compare(op, self.thread(), get(self.random.choice(self.counters)))
        if roll < 0.8:
            return compare(op, get(self.random.choice(self.data)), self.random.randrange(3))
        return both(compare(op, self.thread(), 3), compare("lt", get(self.random.choice(self.data)), 2))

    def even(self) -> ir.Expr:
        """A condition that is the same for all threads."""
        return compare(self.random.choice(["lt", "eq", "ge", "ne"]), self.uniform(), self.random.randrange(4))

    def place(self) -> ir.Place:
        roll = self.random.random()
        if roll < 0.45:
            return item(self.row, binary("floormod", self.number(), 12))
        if roll < 0.8:
            return item(self.grid, binary("floormod", self.number(), 4), binary("floormod", self.number(), 6))
        if roll < 0.92:
            return element("data", index("global", len(self.tile) - 1))
        return element("data", binary("floormod", self.number(), 12))

    def statement(self, depth: int) -> list[ir.Stmt]:
        roll = self.random.random()
        if roll < 0.22:
            return [let(self.place(), add(self.thread(), self.random.randrange(9)))]
        if roll < 0.42:
            return [let(self.random.choice(self.data), get(self.place()))]
        if roll < 0.48:
            place = self.place()
            return [let(place, add(get(place), 1), update=True)]
        if roll < 0.52:
            return [fetch_add(self.place(), 1)]
        if roll < 0.72:
            return [] if self.divergent else [barrier(self.random.choice(FENCES))]
        if roll < 0.76:
            at = binary("floormod", self.number(), 12)
            if self.chance(0.5):
                return [call(PUT, self.row, at, self.thread())]
            return [call(TAKE, self.row, at, to=self.random.choice(self.data))]
        if roll < 0.79:
            return [let(self.offset, add(get(self.offset), self.uniform()))]
        if roll < 0.83:
            return [let(self.random.choice(self.places), self.number())]
        if depth == 0:
            return []
        return self.nested(depth - 1)

    def nested(self, depth: int) -> list[ir.Stmt]:
        roll = self.random.random()
        outer = self.divergent
        if roll < 0.35:
            uniform = self.chance(0.4)
            self.divergent = outer or not uniform
            condition = self.even() if uniform else self.condition()
            orelse = self.block(depth) if self.chance(0.4) else []
            made: list[ir.Stmt] = [when(condition, *self.block(depth), orelse=orelse)]
        elif roll < 0.75:
            made = [self.loop(depth)]
        elif roll < 0.9:
            made = self.halving(depth)
        elif self.loops and self.chance(0.8):
            jump = leave() if self.chance(0.5) else skip()
            uniform = self.chance(0.7)
            condition = self.even() if uniform else self.condition()
            made = [when(condition, jump)]
        else:
            made = [when(self.even(), back())]
        self.divergent = outer
        return made

    def loop(self, depth: int) -> ir.Stmt:
        counter = var(f"i{self.numbers}")
        self.numbers += 1
        roll = self.random.random()
        if roll < 0.45:
            stop: ir.Expr = add(self.random.randrange(1, 4), 0)
        elif roll < 0.85:
            stop = scalar()
        else:
            stop = self.thread()
            self.divergent = True
        self.counters.append(counter)
        self.loops += 1
        made = count(counter, stop, *self.block(depth), step=self.random.choice([1, 1, 2]))
        self.loops -= 1
        self.counters.pop()
        return made

    def halving(self, depth: int) -> list[ir.Stmt]:
        """``while stride > 0``."""
        stride = var(f"i{self.numbers}")
        self.numbers += 1
        self.counters.append(stride)
        begin = self.random.choice([2, 4]) if self.chance(0.7) else scalar()
        body = self.block(depth)
        self.counters.pop()
        halved = let(stride, binary("floordiv", stride, 2))
        return [let(stride, begin), repeat(compare("gt", stride, 0), *body, halved)]

    def block(self, depth: int) -> list[ir.Stmt]:
        return [s for _ in range(self.random.randrange(1, 4)) for s in self.statement(depth)]

    def run(self) -> ir.Kernel:
        first: list[ir.Stmt] = [let(x, 0) for x in self.data]
        first.append(let(self.offset, 0))
        first += [let(place, add(self.thread(), k)) for k, place in enumerate(self.places)]
        only = compare("eq", local(0), 0)
        for dim in range(1, len(self.tile)):
            only = both(only, compare("eq", local(dim), 0))
        k, m = var("k"), var("m")
        fill = [
            count(k, 12, let(item(self.row, k), k)),
            count(k, 4, count(m, 6, let(item(self.grid, k, m), m))),
        ]
        begin = [when(only, *fill), barrier()]
        body = [s for _ in range(self.random.randrange(3, 8)) for s in self.statement(2)]
        return kernel(*first, *begin, *body, functions=[PUT, TAKE], tile=self.tile)


def random_kernel(seed: int) -> ir.Kernel:
    """The kernel of this number; it may contain a divergent barrier, which another check rejects."""
    return _Writer(seed).run()


def with_alarm(program: ir.Kernel, statement: ir.Stmt) -> ir.Kernel:
    """The kernel with an assertion that fails before a statement of it."""

    def changed(block: ir.Block) -> ir.Block:
        made: list[ir.Stmt] = []
        for inner in block:
            if inner is statement:
                made.append(ir.Assert(inner.span, compare("ne", add(0, 0), 0)))
            if isinstance(inner, ir.If):
                inner = dataclasses.replace(inner, then=changed(inner.then), orelse=changed(inner.orelse))
            elif isinstance(inner, (ir.For, ir.While)):
                inner = dataclasses.replace(inner, body=changed(inner.body))
            made.append(inner)
        return tuple(made)

    def function(one: ir.Function) -> ir.Function:
        return dataclasses.replace(one, body=changed(one.body))

    return dataclasses.replace(program, functions=tuple(map(function, program.functions)), body=function(program.body))
