"""Several threads of a lane at once, where they load the same elements: unroll and jam of a phase's loops.

Threads of one phase may run in any order, so each statement is done for a few of them before the next statement is;
what they load in common is loaded once.  Memory is what costs on CPU devices: a load of one element for each lane is 10
to 30 times an operation.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from vkamp.ir.access import own_nodes
from vkamp.ir.flow import assigned, exposed
from vkamp.ir.nodes import (
    ArrayElement,
    Assign,
    Atomic,
    Binary,
    Block,
    Break,
    BufferElement,
    Builtin,
    Call,
    Cast,
    Const,
    Continue,
    Expr,
    For,
    If,
    Load,
    Local,
    Logical,
    Node,
    Place,
    Return,
    Select,
    Stmt,
    ThreadIndex,
    Unary,
    Variable,
    While,
    blocks,
    children,
    map_block,
    root_of,
    transform,
    walk,
    walk_statements,
)
from vkamp.ir.types import INT32, Array
from vkamp.lower.bounds import linear, values
from vkamp.lower.rewrite import Names, contains, filtered, with_variables

__all__ = ["Jam", "jammed"]

#: Threads that go together, at most, and memory operations of a phase: the drivers compile too long otherwise.
_MOST_THREADS, _MOST_MEMORY, _MOST_STATEMENTS = 16, 100, 200
#: Loads that have to be left, of those without the jam, to make it worth its text.
_WORTH = 0.8
#: How often a loop's body is taken to run, in counting loads.
_TURNS = 16


@dataclasses.dataclass(frozen=True)
class Jam:
    """A phase for ``counts`` threads of each lane per dimension at once, and the variables that are new in it."""

    block: Block
    counts: tuple[int, ...]
    variables: tuple[Variable, ...]


def jammed(
    block: Block,
    tile: tuple[int, ...],
    lanes: tuple[int, ...],
    fresh: Callable[[], Names],
    private: frozenset[str],
    arrays: frozenset[str],
) -> Jam | None:
    """The best jam of a phase, if one is worth it.

    ``fresh`` gives a new set of free names; ``private`` are the variables that no other phase uses, ``arrays`` those
    that hold the values of all threads of a lane.
    """
    if contains(block, lambda s: isinstance(s, (Return, Atomic, Call))):
        return None
    block = _without_index_values(block, private)
    before = _loads(block)
    if before == 0:
        return None
    best: tuple[float, Jam] | None = None
    for counts in _choices(tile, lanes):
        jam = _Jammer(block, lanes, counts, fresh(), arrays).run()
        if _memory(jam.block) > _MOST_MEMORY or sum(1 for _ in walk_statements(jam.block)) > _MOST_STATEMENTS:
            continue
        share = _loads(jam.block) / (before * math.prod(counts))
        if share <= _WORTH and (best is None or share < best[0]):
            best = share, jam
    return best[1] if best is not None else None


def _choices(tile: tuple[int, ...], lanes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Threads of a lane per dimension that go evenly into the tile, in the last two dimensions."""
    rank = len(tile)
    options = [(1, 2, 4, 8) if d >= rank - 2 else (1,) for d in range(rank)]
    for counts in itertools.product(*options):
        fits = all(size % (n * count) == 0 for size, n, count in zip(tile, lanes, counts, strict=True))
        if fits and 1 < math.prod(counts) <= _MOST_THREADS:
            yield counts


# -- counting ------------------------------------------------------------------------------------------------------


def _is_memory(place: Place) -> bool:
    return not isinstance(place, Local) and (
        isinstance(root_of(place), BufferElement) or isinstance(root_of(place).type, Array)
    )


def _loads(block: Block, turns: int = 1) -> int:
    """The loads of a block, those in loops counted many times."""
    count = 0
    for statement in block:
        count += turns * sum(1 for n in own_nodes(statement) if isinstance(n, Load) and _is_memory(n.place))
        inner = turns * _TURNS if isinstance(statement, (For, While)) else turns
        count += sum(_loads(b, inner) for b in blocks(statement))
    return count


def _memory(block: Block) -> int:
    """The loads and stores in the text of a block."""
    count = 0
    for statement in walk_statements(block):
        count += sum(1 for n in own_nodes(statement) if isinstance(n, Load) and _is_memory(n.place))
        count += isinstance(statement, Assign) and _is_memory(statement.place)
    return count


# -- values of indices ---------------------------------------------------------------------------------------------


def _without_index_values(block: Block, private: frozenset[str]) -> Block:
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

    def change(node: Node) -> Node:
        if isinstance(node, Load) and isinstance(node.place, Local) and node.place.variable.name in known:
            return transform(known[node.place.variable.name], change)
        return node

    def keep(statement: Stmt) -> bool:
        is_value = isinstance(statement, Assign) and isinstance(statement.place, Local)
        return not (is_value and statement.place.variable.name in known)  # type: ignore[attr-defined]

    return map_block(filtered(block, keep), change)


def _is_index(expr: Expr) -> bool:
    """Whether an expression is cheap arithmetic of indices."""
    for node in walk(expr):
        if isinstance(node, (BufferElement, ArrayElement)):
            return False
        if isinstance(node, (Builtin, Select, Logical)):
            return False
        if isinstance(node, Binary) and node.op not in ("add", "sub", "mul", "shl", "shr", "bitand"):
            return False
    return True


def _variables(expr: Node) -> set[str]:
    return {n.variable.name for n in walk(expr) if isinstance(n, Local) and n.variable.storage != "tile_static"}


# -- the jam -------------------------------------------------------------------------------------------------------


class _Jammer:
    def __init__(
        self, block: Block, lanes: tuple[int, ...], counts: tuple[int, ...], names: Names, arrays: frozenset[str]
    ) -> None:
        self.source = block
        self.names = names
        self.counts = counts
        turns = list(itertools.product(*(range(count) for count in counts)))
        self.offsets = [tuple(t * n for t, n in zip(turn, lanes, strict=True)) for turn in turns]
        self.varying = assigned(block) - arrays
        self.variables: list[Variable] = []
        self.own: list[dict[str, Variable]] = [{} for _ in self.offsets]

    def run(self) -> Jam:
        return Jam(self.block(self.source), self.counts, tuple(self.variables))

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for statement in block:
            if isinstance(statement, If) and self.uniform(statement.condition):
                then, orelse = self.block(statement.then), self.block(statement.orelse)
                out.append(dataclasses.replace(statement, then=then, orelse=orelse))
            elif isinstance(statement, For) and self.goes_together(statement):
                self.varying.discard(statement.variable.name)
                out.append(dataclasses.replace(statement, body=self.block(statement.body)))
                self.varying.add(statement.variable.name)
            else:
                out += self.each(statement)
        return tuple(out)

    def uniform(self, expr: Expr) -> bool:
        """Whether an expression is the same for all threads that go together, whenever it is evaluated."""
        if _variables(expr) & self.varying:
            return False
        return not any(isinstance(n, (ThreadIndex, ArrayElement, BufferElement)) for n in walk(expr))

    def goes_together(self, loop: For) -> bool:
        if not all(map(self.uniform, (loop.start, loop.stop, loop.step))) or loop.variable.name in assigned(loop.body):
            return False
        others = sum(s.variable.name == loop.variable.name for s in walk_statements(self.source) if isinstance(s, For))
        jumps = contains(loop.body, lambda s: isinstance(s, (Break, Continue)))
        return others == 1 and not jumps and not _used_outside(self.source, loop)

    def each(self, statement: Stmt) -> list[Stmt]:
        """A statement for each of the threads, what they load in common first."""
        copies = [self.copy(statement, number) for number in range(len(self.offsets))]
        if not isinstance(statement, Assign):
            return copies
        counts: Counter[object] = Counter()
        for copy in copies:
            assert isinstance(copy, Assign)
            counts.update({_key(load.place) for load in _certain_loads(copy.value)})
        common: dict[object, Variable] = {}
        first: list[Stmt] = []

        def change(node: Node) -> Node:
            if not isinstance(node, Load) or not _is_memory(node.place) or _key(node.place) not in common:
                return node
            variable = common[_key(node.place)]
            return Load(node.span, node.type, Local(node.span, node.type, variable))

        for copy in copies:
            assert isinstance(copy, Assign)
            for load in _certain_loads(copy.value):
                key = _key(load.place)
                if counts[key] > 1 and key not in common:
                    variable = self.variable(f"{_name(load.place)}_value", load, copy)
                    common[key] = variable
                    first.append(Assign(copy.span, Local(copy.span, load.type, variable), load))
        if not common:
            return copies
        changed: list[Stmt] = []
        for copy in copies:
            assert isinstance(copy, Assign)
            value = transform(copy.value, change)
            assert isinstance(value, Expr)
            changed.append(dataclasses.replace(copy, value=value))
        return [*first, *changed]

    def variable(self, name: str, load: Load, like: Stmt) -> Variable:
        variable = Variable(self.names.give(name), load.type, "local", like.span, temporary=True)
        self.variables.append(variable)
        return variable

    def copy(self, statement: Stmt, number: int) -> Stmt:
        """A statement as one of the threads runs it."""
        offsets = self.offsets[number]

        def change(node: Node) -> Node:
            if isinstance(node, ThreadIndex) and node.kind in ("local", "global") and offsets[node.dim]:
                return Binary(node.span, INT32, "add", node, Const(node.span, INT32, offsets[node.dim]))
            return node

        (copy,) = with_variables((statement,), self.renamed(statement, number))
        (copy,) = map_block((copy,), change)
        return copy

    def renamed(self, statement: Stmt, number: int) -> Mapping[str, Variable]:
        """The variables of a thread: the first one keeps the names."""
        if number == 0:
            return {}
        own = self.own[number]
        for inner in walk_statements((statement,)):
            for variable in _named(inner):
                if variable.name in self.varying and variable.name not in own:
                    own[variable.name] = dataclasses.replace(
                        variable, name=self.names.give(f"{variable.name}_{number}"), temporary=True
                    )
                    self.variables.append(own[variable.name])
        return {name: variable for name, variable in own.items() if name in self.varying}


def _named(statement: Stmt) -> Iterator[Variable]:
    for node in own_nodes(statement):
        if isinstance(node, Local) and node.variable.storage != "tile_static":
            yield node.variable
    variable = getattr(statement, "variable", None)
    if variable is not None:
        yield variable


def _used_outside(block: Block, loop: For) -> bool:
    """Whether a loop's variable is read behind the loop."""
    name = loop.variable.name

    def count(nodes: Block) -> int:
        return sum(
            isinstance(n, Local) and n.variable.name == name and n.variable.storage != "tile_static"
            for s in walk_statements(nodes)
            for n in own_nodes(s)
        )

    return count(block) != count(loop.body)


def _certain_loads(expr: Node) -> Iterator[Load]:
    """The loads that an expression does in any case."""
    if isinstance(expr, Load):
        if _is_memory(expr.place):
            yield expr
        return
    if isinstance(expr, Select):
        yield from _certain_loads(expr.condition)
        return
    if isinstance(expr, Logical):
        yield from _certain_loads(expr.left)
        return
    for child in children(expr):
        yield from _certain_loads(child)


def _name(place: Place) -> str:
    root = root_of(place)
    return root.buffer if isinstance(root, BufferElement) else root.variable.name


def _key(place: Node) -> object:
    """What places of one element have in common."""
    if isinstance(place, Local):
        return "local", place.variable.storage, place.variable.name
    parts: list[object] = [type(place).__name__]
    for item in dataclasses.fields(place):
        value = getattr(place, item.name)
        if item.name == "span":
            continue
        if isinstance(value, Node):
            parts.append(_key(value))
        elif isinstance(value, tuple) and value and all(isinstance(v, Expr) for v in value):
            parts.append(tuple(map(_index_key, value)))
        else:
            parts.append(value)
    return tuple(parts)


def _index_key(index: Expr) -> object:
    if index.type != INT32 or isinstance(index, (Cast, Unary)):
        return index
    terms, constant = linear(index)
    return frozenset(terms.items()), constant
