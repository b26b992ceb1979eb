"""Unroll-and-jam of a phase's loops: a lane runs several threads at once if they load the same elements.

Threads of one phase may run in any order, so each statement runs for a few of them before the next statement does.
Elements that they all load are loaded once, and four adjacent elements by one access. The loops over threads also have
fewer iterations.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import affine
from vkamp.ir.dataflow import assigned, exposed, mentioned
from vkamp.ir.rewrite import Names, contains, filtered, substituted, value_of, with_variables
from vkamp.ir.types import INT32, Vector
from vkamp.lower.bounds import values
from vkamp.lower.load_sharing import WIDE, Group, Memory, certain_loads, is_memory, shared
from vkamp.lower.shape import Shape

#: Threads that go together, at most, and statements of a phase: the drivers compile too long otherwise.
_MAX_THREADS, _MAX_STATEMENTS = 32, 200
#: Branches of a phase for several threads: each costs a driver about a millisecond of its compilation.
_MAX_BRANCHES = 24
#: What a jam may cost, of the threads alone, to be worth its text, and how much less twice the text has to cost.
_WORTH, _DOUBLE = 0.8, 1.08
#: The costs of an access, a branch, and an iteration of a loop, in arithmetic statements.
_ELEMENT, _WIDE, _BRANCH, LOOP_OVERHEAD = 4, 8, 3, 5
#: How often a loop's body is taken to run.
_TURNS = 16


@dataclass(frozen=True)
class JammedPhase:
    """A phase that runs ``counts`` threads of each lane per dimension at once, its new variables, and its cost per
    thread.
    """

    block: ir.Block
    counts: tuple[int, ...]
    variables: tuple[ir.Variable, ...]
    cost: float


@dataclass(frozen=True)
class PhaseContext:
    """What is around a phase.

    ``fresh`` gives a new set of free names; ``private`` are the variables that no other phase uses, ``arrays`` those
    that hold the values of all threads of a lane; ``single``: dimensions in which each lane has one thread here;
    ``accesses``: how many memory accesses the phase may have.
    """

    shape: Shape
    memory: Memory
    fresh: Callable[[], Names]
    private: frozenset[str]
    arrays: frozenset[str]
    single: frozenset[int]
    accesses: int


def jammed(block: ir.Block, around: PhaseContext) -> JammedPhase | None:
    """The best jam of a phase, if one is worth it."""
    if contains(block, lambda s: isinstance(s, (ir.Return, ir.Atomic, ir.Call, ir.Operation))):
        return None
    block = _without_index_values(block, around.private)
    most = _WORTH * (cost(block) + LOOP_OVERHEAD)
    best: tuple[float, JammedPhase] | None = None
    for jam in _jams(block, around):
        too_long = sum(1 for _ in ir.walk_statements(jam.block)) > _MAX_STATEMENTS
        too_long = too_long or branches(jam.block) > _MAX_BRANCHES
        if too_long or accesses(jam.block) > around.accesses or jam.cost > most:
            continue
        score = jam.cost * _DOUBLE ** math.log2(math.prod(jam.counts))
        if best is None or score < best[0]:
            best = score, jam
    return best[1] if best is not None else None


def _jams(block: ir.Block, around: PhaseContext) -> Iterator[JammedPhase]:
    """The jams of a phase: for each choice of threads, and with loops that load neighbours unrolled, if there are."""
    least = sum(not ir.blocks(s) for s in ir.walk_statements(block))
    for counts in _choices(around):
        if least * math.prod(counts) <= _MAX_STATEMENTS:
            jammer = _Jammer(block, counts, around, unrolled=False)
            yield jammer.run()
            if jammer.unrolls:
                yield _Jammer(block, counts, around, unrolled=True).run()


def _choices(around: PhaseContext) -> Iterator[tuple[int, ...]]:
    """Threads of a lane per dimension that go evenly into the tile, in the last two dimensions."""
    shape = around.shape
    rank = len(shape.tile)
    options: list[tuple[int, ...]] = []
    for d in range(rank):
        if d in around.single or d < rank - 2:
            options.append((1,))
        elif shape.runs[d] > 1:
            options.append((1, shape.runs[d]))
        else:
            several = [n for n in (8, 4, 2) if shape.tile[d] % (shape.lanes[d] * n) == 0]
            options.append((1, *several[:2]))
    return (counts for counts in itertools.product(*options) if math.prod(counts) <= _MAX_THREADS)


# -- counting ------------------------------------------------------------------------------------------------------


def cost(block: ir.Block) -> float:
    """What a block costs, in statements of arithmetic."""
    total = 0.0
    for statement in block:
        total += _own_cost(statement) + sum(_cost(n.place) for n in ir.own_nodes(statement) if isinstance(n, ir.Load))
        if isinstance(statement, ir.Assign):
            total += _cost(statement.place)
        inner = sum(map(cost, ir.blocks(statement)))
        total += _turns(statement) * (LOOP_OVERHEAD + inner) if isinstance(statement, (ir.For, ir.While)) else inner
    return total


def _own_cost(statement: ir.Stmt) -> int:
    """Of a statement itself; a condition costs lanes that go both ways."""
    return _BRANCH if isinstance(statement, ir.If) else 1


def _cost(place: ir.Place) -> int:
    if not is_memory(place):
        return 0
    return _WIDE if isinstance(place.type, Vector) else _ELEMENT


def _turns(loop: ir.For | ir.While) -> int:
    if isinstance(loop, ir.For):
        bounds = (loop.start, loop.stop, loop.step)
        if all(isinstance(b, ir.Const) for b in bounds):
            start, stop, step = (int(b.value) for b in bounds if isinstance(b, ir.Const))
            return len(range(start, stop, step)) if step else 0
    return _TURNS


def accesses(block: ir.Block) -> int:
    """The loads and stores in the text of a block."""
    count = 0
    for statement in ir.walk_statements(block):
        count += sum(1 for n in ir.own_nodes(statement) if isinstance(n, ir.Load) and is_memory(n.place))
        count += isinstance(statement, ir.Assign) and is_memory(statement.place)
    return count


def branches(block: ir.Block) -> int:
    """The places in the text of a block where threads may go two ways."""
    count = 0
    for statement in ir.walk_statements(block):
        count += isinstance(statement, ir.If)
        count += sum(isinstance(n, (ir.Logical, ir.Select)) for n in ir.own_nodes(statement))
    return count


# -- values of indices ---------------------------------------------------------------------------------------------


def _without_index_values(block: ir.Block, private: frozenset[str]) -> ir.Block:
    """The block with the values of indices where they are used, so that equal elements look equal."""
    open_ = exposed(block)
    known = {
        n: v for n, v in values(block).items() if n in private and n not in open_ and v.type == INT32 and _is_index(v)
    }
    changes = assigned(block)
    while True:
        wrong = {n for n, v in known.items() if _variables(v) & (changes - known.keys())}
        if not wrong:
            break
        known = {n: v for n, v in known.items() if n not in wrong}

    whole: dict[str, ir.Expr] = {}
    for name, value in known.items():
        whole[name] = substituted(value, whole)

    def keep(statement: ir.Stmt) -> bool:
        is_value = isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local)
        return not (is_value and statement.place.variable.name in known)  # type: ignore[attr-defined]

    return tuple(substituted(s, whole) for s in filtered(block, keep))


def _is_index(expr: ir.Expr) -> bool:
    """Whether an expression is cheap arithmetic of indices."""
    for node in ir.walk(expr):
        if isinstance(node, (ir.BufferElement, ir.ArrayElement)):
            return False
        if isinstance(node, (ir.Builtin, ir.Select, ir.Logical)):
            return False
        if isinstance(node, ir.Binary) and node.op not in ("add", "sub", "mul", "shl", "shr", "bitand"):
            return False
    return True


def _variables(expr: ir.Node) -> set[str]:
    return {n.variable.name for n in ir.walk(expr) if isinstance(n, ir.Local) and n.variable.storage != "tile_static"}


# -- the jam -------------------------------------------------------------------------------------------------------


class _Jammer:
    def __init__(self, block: ir.Block, counts: tuple[int, ...], around: PhaseContext, *, unrolled: bool) -> None:
        self.source = block
        self.unrolled = unrolled
        self.names = around.fresh()
        self.memory = around.memory
        self.counts = counts
        shape = around.shape
        turns = list(itertools.product(*(range(count) for count in counts)))
        # Lanes that run single threads continue after the threads of the other lanes.
        strides = [n if run == 1 else 1 for n, run in zip(shape.lanes, shape.runs, strict=True)]
        self.offsets = [tuple(t * n for t, n in zip(turn, strides, strict=True)) for turn in turns]
        #: What the first thread's index is a multiple of.
        self.whole = [n if stride == 1 else 1 for n, stride in zip(counts, strides, strict=True)]
        self.varying = assigned(block) - around.arrays
        #: Whether a loop over neighbours was met: which loops go together depends on the threads.
        self.unrolls = False
        self.variables: list[ir.Variable] = []
        self.own: list[dict[str, ir.Variable]] = [{} for _ in self.offsets]

    def run(self) -> JammedPhase:
        block = self.block(self.source)
        each = (cost(block) + LOOP_OVERHEAD) / math.prod(self.counts)
        return JammedPhase(block, self.counts, tuple(self.variables), each)

    def block(self, block: ir.Block) -> ir.Block:
        return self.together(self.groups(block))

    def together(self, groups: list[Group]) -> ir.Block:
        threads = frozenset(d for d, whole in enumerate(self.whole) if whole % WIDE == 0)
        return shared(groups, self.memory, threads, self.variable)

    def groups(self, block: ir.Block) -> list[Group]:
        """Each statement for all threads that go together."""
        groups: list[Group] = []
        for statement in block:
            if isinstance(statement, ir.If) and self.decide_alike(statement):
                then, orelse = self.block(statement.then), self.block(statement.orelse)
                groups.append([dataclasses.replace(statement, then=then, orelse=orelse)])
            elif isinstance(statement, ir.For) and self.goes_together(statement):
                self.varying.discard(statement.variable.name)
                groups.append([self.loop(statement)])
                self.varying.add(statement.variable.name)
            else:
                groups.append([self.copy(statement, number) for number in range(len(self.offsets))])
        return groups

    def loop(self, loop: ir.For) -> ir.For:
        """A loop that all threads run together. A loop over adjacent elements takes four steps at once."""
        neighbours = self.counts_neighbours(loop)
        self.unrolls |= neighbours
        if not self.unrolled or not neighbours:
            return dataclasses.replace(loop, body=self.block(loop.body))
        name, before = loop.variable.name, self.memory
        self.memory = dataclasses.replace(before, multiples=before.multiples | {name})
        groups: list[Group] = []
        for step in range(WIDE):

            def change(node: ir.Node, step: int = step) -> ir.Node:
                if not (
                    step
                    and isinstance(node, ir.Load)
                    and isinstance(node.place, ir.Local)
                    and node.place.variable.name == name
                ):
                    return node
                return ir.Binary(node.span, INT32, "add", node, ir.Const(node.span, INT32, step))

            groups += self.groups(ir.map_block(loop.body, change))
        body = self.together(groups)
        self.memory = before
        return dataclasses.replace(loop, step=ir.Const(loop.span, INT32, WIDE), body=body)

    def counts_neighbours(self, loop: ir.For) -> bool:
        """Whether a loop counts by one between multiples of four, and loads elements that are neighbours."""
        if loop.variable.type != INT32 or not isinstance(loop.step, ir.Const) or loop.step.value != 1:
            return False
        if not all(self.memory.is_multiple(e, frozenset()) for e in (loop.start, loop.stop)):
            return False
        if contains(loop.body, lambda s: isinstance(s, (ir.For, ir.While))):
            return False
        variable = value_of(loop.variable, loop)
        for statement in loop.body:
            for load in certain_loads(statement.value) if isinstance(statement, ir.Assign) else ():
                last = load.place.indices[-1] if isinstance(load.place, ir.BufferElement) else None
                if last is not None and last.type == INT32 and affine(last)[0].get(variable) == 1:
                    return True
        return False

    def uniform(self, expr: ir.Expr) -> bool:
        """Whether an expression is the same for all threads that go together, whenever it is evaluated."""
        if _variables(expr) & self.varying:
            return False
        return not any(isinstance(n, (ir.ThreadIndex, ir.ArrayElement, ir.BufferElement)) for n in ir.walk(expr))

    def decide_alike(self, statement: ir.If) -> bool:
        """Whether the condition is the same for all threads that go together: what it depends on, or its value."""
        if self.uniform(statement.condition):
            return True
        if _variables(statement.condition) & self.varying:
            return False
        bare = dataclasses.replace(statement, then=(), orelse=())
        first, *others = (self.copy(bare, number) for number in range(len(self.offsets)))
        return all(first == other for other in others)

    def goes_together(self, loop: ir.For) -> bool:
        if not all(map(self.uniform, (loop.start, loop.stop, loop.step))) or loop.variable.name in assigned(loop.body):
            return False
        others = sum(
            s.variable.name == loop.variable.name for s in ir.walk_statements(self.source) if isinstance(s, ir.For)
        )
        jumps = contains(loop.body, lambda s: isinstance(s, (ir.Break, ir.Continue)))
        return others == 1 and not jumps and not _used_outside(self.source, loop)

    def variable(self, name: str, load: ir.Load, kind: Vector | None) -> ir.Variable:
        """A variable for what several threads load."""
        variable = ir.Variable(self.names.give(name), kind or load.type, "local", load.span, temporary=True)
        self.variables.append(variable)
        return variable

    def copy(self, statement: ir.Stmt, number: int) -> ir.Stmt:
        """The statement for one of the threads."""
        offsets = self.offsets[number]

        def change(node: ir.Node) -> ir.Node:
            if isinstance(node, ir.ThreadIndex) and node.kind in ("local", "global") and offsets[node.dim]:
                return ir.Binary(node.span, INT32, "add", node, ir.Const(node.span, INT32, offsets[node.dim]))
            return self.quotient(node) if isinstance(node, ir.Binary) else node

        (copy,) = with_variables((statement,), self.renamed(statement, number))
        (copy,) = ir.map_block((copy,), change)
        return copy

    def quotient(self, node: ir.Binary) -> ir.Expr:
        """The quotient and remainder of a thread's index by how many threads go together."""
        index: ir.Expr = node.left
        by = node.right
        if node.op not in ("floordiv", "floormod") or not isinstance(by, ir.Const) or by.value <= 0:
            return node
        offset = 0
        if isinstance(index, ir.Binary) and index.op == "add" and isinstance(index.right, ir.Const):
            offset, index = int(index.right.value), index.left
        if not isinstance(index, ir.ThreadIndex) or index.kind != "local":
            return node
        whole, size = self.whole[index.dim], int(by.value)
        if node.op == "floormod" and whole % size == 0:
            return ir.Const(node.span, INT32, offset % size)
        if node.op == "floordiv" and size % whole == 0 and 0 <= offset < whole:
            return dataclasses.replace(node, left=index)
        return node

    def renamed(self, statement: ir.Stmt, number: int) -> Mapping[str, ir.Variable]:
        """The variables of a thread: the first one keeps the names."""
        if number == 0:
            return {}
        own = self.own[number]
        for inner in ir.walk_statements((statement,)):
            for variable in mentioned(inner):
                if variable.name in self.varying and variable.name not in own:
                    name = self.names.give(f"{variable.name}_{number}")
                    own[variable.name] = dataclasses.replace(variable, name=name)
                    self.variables.append(own[variable.name])
        return {name: variable for name, variable in own.items() if name in self.varying}


def _used_outside(block: ir.Block, loop: ir.For) -> bool:
    """Whether a loop's variable is read after the loop."""
    name = loop.variable.name

    def count(nodes: ir.Block) -> int:
        return sum(
            isinstance(n, ir.Local) and n.variable.name == name and n.variable.storage != "tile_static"
            for s in ir.walk_statements(nodes)
            for n in ir.own_nodes(s)
        )

    return count(block) != count(loop.body)
