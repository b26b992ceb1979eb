"""Elements that statements of a phase load or store together: each is loaded once, four neighbours by one access.

On CPU devices, memory accesses dominate the time: an access to one element for each lane takes 10 to 30 times as long
as an operation, and four adjacent elements together take little longer than one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from vkamp.artifacts import ContainerAccess
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import affine
from vkamp.ir.dataflow import assigned, targets
from vkamp.ir.requirements import access
from vkamp.ir.types import INT32, VECTOR_LETTERS, Array, Scalar, Vector
from vkamp.lower.variable_placement import constant_buffers

#: Elements of a wide access.
WIDE = 4

Group = list[ir.Stmt]
_Key = tuple[object, ...]


@dataclass(frozen=True)
class Memory:
    """What is known of a kernel's containers and indices.

    ``buffers`` by name; ``fixed``: those that the kernel does not change; ``written``: those that it only writes, each
    alone on its memory; ``aligned``: those whose rows begin at multiples of four elements; ``multiples``: variables
    that are always multiples of four; ``dims``: dimensions in which the tile is one; ``precise``: the kernel is.
    """

    buffers: Mapping[str, ir.BufferParam]
    fixed: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    aligned: frozenset[str] = frozenset()
    multiples: frozenset[str] = frozenset()
    dims: frozenset[int] = frozenset()
    precise: bool = False

    def is_multiple(self, expr: ir.Expr, threads: frozenset[int]) -> bool:
        """Whether an index is a multiple of four; ``threads``: dimensions in which the thread's index is one."""
        if isinstance(expr, ir.Const):
            return int(expr.value) % WIDE == 0
        if isinstance(expr, ir.ThreadIndex):
            whole = expr.dim in self.dims
            return (whole and (expr.kind == "tile_origin" or (expr.kind == "global" and expr.dim in threads))) or (
                expr.kind == "local" and expr.dim in threads
            )
        if isinstance(expr, ir.BufferExtent):
            return expr.buffer in self.aligned and expr.dim == self.buffers[expr.buffer].rank - 1
        if isinstance(expr, ir.Load) and isinstance(expr.place, ir.Local):
            return expr.place.variable.name in self.multiples
        if isinstance(expr, ir.Binary):
            sides = [self.is_multiple(side, threads) for side in (expr.left, expr.right)]
            return any(sides) if expr.op == "mul" else expr.op in ("add", "sub") and all(sides)
        return False

    def position(self, place: ir.Node, threads: frozenset[int]) -> tuple[_Key, int] | None:
        """Which four elements a place is one of, and which one it is; ``None`` if that is not known."""
        if not isinstance(place, ir.BufferElement) or place.buffer not in self.buffers:
            return None
        buffer = self.buffers[place.buffer]
        if not isinstance(buffer.element, Scalar) or buffer.element.size != 4 or not buffer.dense:
            return None
        if buffer.rank > 1 and place.buffer not in self.aligned:
            return None
        if any(i.type != INT32 for i in place.indices):
            return None
        terms, constant = affine(place.indices[-1])
        if not all(factor % WIDE == 0 or self.is_multiple(term, threads) for term, factor in terms.items()):
            return None
        number = constant % WIDE
        rows = tuple(map(index_key, place.indices[:-1]))
        return ("wide", place.buffer, rows, frozenset(terms.items()), constant - number), number


def memory_of(kernel: ir.Kernel, aligned: frozenset[str]) -> Memory:
    """What is known of a kernel, of which ``aligned`` containers have rows of a multiple of four elements."""
    assert kernel.tile is not None
    table = access(kernel)
    alone = Counter(b.storage for b in kernel.buffers if table[b.name])
    memory = Memory(
        buffers={b.name: b for b in kernel.buffers},
        fixed=constant_buffers(kernel),
        written=frozenset(
            b.name for b in kernel.buffers if table[b.name] == ContainerAccess(writes=True) and alone[b.storage] == 1
        ),
        aligned=aligned,
        dims=frozenset(d for d, size in enumerate(kernel.tile) if size % WIDE == 0),
        precise=kernel.precise,
    )
    return dataclasses.replace(memory, multiples=_multiples(kernel, memory))


def _multiples(kernel: ir.Kernel, memory: Memory) -> frozenset[str]:
    """The variables whose values are always multiples of four, since all values assigned to them are."""
    given: dict[str, list[ir.Expr]] = {}
    unknown: set[str] = set()
    for statement in ir.walk_statements(kernel.body.body):
        if isinstance(statement, ir.For):
            given.setdefault(statement.variable.name, []).extend((statement.start, statement.step))
        elif isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local):
            given.setdefault(statement.place.variable.name, []).append(statement.value)
        else:
            unknown |= {v.name for v in targets(statement)}
    found = frozenset(given.keys() - unknown)
    while True:
        trial = dataclasses.replace(memory, multiples=found)
        left = frozenset(
            n for n in found if all(e.type == INT32 and trial.is_multiple(e, frozenset()) for e in given[n])
        )
        if left == found:
            return found
        found = left


# -- places that are one -------------------------------------------------------------------------------------------


def is_memory(place: ir.Place) -> bool:
    """Whether a place is an element in memory, not a variable of one thread."""
    return not isinstance(place, ir.Local) and (
        isinstance(ir.root_of(place), ir.BufferElement) or isinstance(ir.root_of(place).type, Array)
    )


def key_of(place: ir.Node) -> _Key:
    """A key that all places of one element share."""
    if isinstance(place, ir.Local):
        return "local", place.variable.storage, place.variable.name
    parts: list[object] = [type(place).__name__]
    for item in dataclasses.fields(place):
        value = getattr(place, item.name)
        if item.name == "span":
            continue
        if isinstance(value, ir.Node):
            parts.append(key_of(value))
        elif isinstance(value, tuple) and value and all(isinstance(v, ir.Expr) for v in value):
            parts.append(tuple(map(index_key, value)))
        else:
            parts.append(value)
    return tuple(parts)


def index_key(index: ir.Expr) -> object:
    """What equal indices have in common."""
    if index.type != INT32 or isinstance(index, (ir.Cast, ir.Unary)):
        return index
    terms, constant = affine(index)
    return frozenset(terms.items()), constant


def _root_key(place: ir.Place) -> _Key:
    root = ir.root_of(place)
    if isinstance(root, ir.BufferElement):
        return ("buffer",)
    return "variable", root.variable.storage, root.variable.name


def certain_loads(expr: ir.Node) -> Iterator[ir.Load]:
    """The loads from memory that an expression does in any case."""
    if isinstance(expr, ir.Load):
        if is_memory(expr.place):
            yield expr
        return
    if isinstance(expr, ir.Select):
        yield from certain_loads(expr.condition)
        return
    if isinstance(expr, ir.Logical):
        yield from certain_loads(expr.left)
        return
    for child in ir.children(expr):
        yield from certain_loads(child)


# -- the statements of a block -------------------------------------------------------------------------------------


_EVERYTHING: _Key = ("everything",)


@dataclass
class _Versions:
    """How often the values that an element depends on have changed so far."""

    variables: Counter[str] = field(default_factory=Counter)
    memory: Counter[_Key] = field(default_factory=Counter)

    def of(self, load: ir.Load, fixed: frozenset[str]) -> _Key:
        """The element that a load reads, and the state that it reads."""
        names = sorted({n.variable.name for n in ir.walk(load.place) if isinstance(n, ir.Local)})
        root = ir.root_of(load.place)
        is_fixed = isinstance(root, ir.BufferElement) and root.buffer in fixed
        state = tuple((name, self.variables[name]) for name in names if self.variables[name])
        times = 0 if is_fixed else self.memory[_root_key(load.place)] + self.memory[_EVERYTHING]
        return key_of(load.place), state, times, load.type

    def pass_by(self, statement: ir.Stmt) -> None:
        """Gives a new version to what a statement changes."""
        self.variables.update(assigned((statement,)))
        for key in _changed_memory(statement):
            self.memory[key] += 1


def _changed_memory(statement: ir.Stmt) -> set[_Key]:
    found: set[_Key] = set()
    for inner in ir.walk_statements((statement,)):
        found |= {_root_key(place) for place in ir.changed_places(inner) if is_memory(place)}
        if isinstance(inner, (ir.Barrier, ir.Call)):
            found.add(_EVERYTHING)
    return found


def shared(
    groups: list[Group],
    memory: Memory,
    threads: frozenset[int],
    fresh: Callable[[str, ir.Load, Vector | None], ir.Variable],
) -> ir.Block:
    """The statements of ``groups`` in sequence. Elements that several groups load are loaded once, and adjacent
    elements together.

    The statements of one group do the same for several threads, so that all their loads may come first.  ``threads``:
    dimensions in which the thread's index is a multiple of four; ``fresh`` makes a variable for a load's value, or for
    a vector that it is in.
    """
    return _Sharing(memory, threads, fresh).run(groups)


class _Sharing:
    def __init__(
        self, memory: Memory, threads: frozenset[int], fresh: Callable[[str, ir.Load, Vector | None], ir.Variable]
    ) -> None:
        self.memory = memory
        self.threads = threads
        self.fresh = fresh
        #: The known values, by the place or expression that has them.
        self.values: dict[_Key, Callable[[ir.Node], ir.Expr]] = {}
        #: How often each element is loaded in one state, and which of four neighbours are.
        self.uses: Counter[_Key] = Counter()
        self.rows: dict[_Key, dict[int, tuple[_Key, ir.Load]]] = {}

    def run(self, groups: list[Group]) -> ir.Block:
        self.count(groups)
        versions = _Versions()
        out: list[ir.Stmt] = []
        for group in groups:
            out += self.loaded(group, versions)
            changed = [self.changed(statement, versions) for statement in group]
            out += self.stored(changed)
            for statement in group:
                versions.pass_by(statement)
        return tuple(out)

    def count(self, groups: list[Group]) -> None:
        """Looks through all statements beforehand."""
        versions = _Versions()
        for group in groups:
            for statement in group:
                for load in self.loads(statement):
                    key = versions.of(load, self.memory.fixed)
                    self.uses[key] += 1
                    at = self.wide(load.place, self.memory.fixed)
                    if at is not None:
                        self.rows.setdefault((at[0], key[1]), {})[at[1]] = key, load
            for statement in group:
                versions.pass_by(statement)

    @staticmethod
    def loads(statement: ir.Stmt) -> Iterable[ir.Load]:
        return certain_loads(statement.value) if isinstance(statement, ir.Assign) else ()

    def loaded(self, group: Group, versions: _Versions) -> Iterator[ir.Stmt]:
        """The loads that come before a group."""
        for statement in group:
            for load in self.loads(statement):
                key = versions.of(load, self.memory.fixed)
                if key in self.values:
                    continue
                at = self.wide(load.place, self.memory.fixed)
                row = self.rows[at[0], key[1]] if at is not None else {}
                if len(row) == WIDE:
                    yield self.vector(group[0], row)
                elif self.uses[key] > 1:
                    variable = self.fresh(f"{_name(load.place)}_value", load, None)
                    self.values[key] = _value_of(variable, None)
                    yield ir.Assign(group[0].span, ir.Local(load.span, load.type, variable), load)

    def wide(self, place: ir.Place, allowed: frozenset[str]) -> tuple[_Key, int] | None:
        if not isinstance(place, ir.BufferElement) or place.buffer not in allowed:
            return None
        return self.memory.position(place, self.threads)

    def vector(self, before: ir.Stmt, row: Mapping[int, tuple[_Key, ir.Load]]) -> ir.Stmt:
        """Four neighbours in one load."""
        _, first = row[0]
        assert isinstance(first.place, ir.BufferElement) and isinstance(first.type, Scalar)
        kind = Vector(first.type, WIDE)
        variable = self.fresh(f"{_name(first.place)}_values", first, kind)
        for number, (key, _) in row.items():
            self.values[key] = _value_of(variable, VECTOR_LETTERS[number])
        value = ir.Load(first.span, kind, _as_vector(first.place, kind))
        return ir.Assign(before.span, ir.Local(first.span, kind, variable), value)

    def changed(self, statement: ir.Stmt, versions: _Versions) -> ir.Stmt:
        """The statement with known values in place of its loads."""
        nested = not isinstance(statement, ir.Assign)
        names = assigned((statement,)) if nested else set()
        stored = _changed_memory(statement) if nested else set()

        def change(node: ir.Node) -> ir.Node:
            if not isinstance(node, ir.Load) or not is_memory(node.place):
                return node
            value = self.values.get(versions.of(node, self.memory.fixed))
            if value is None:
                return node
            if nested and ({_root_key(node.place), _EVERYTHING} & stored or names & _names(node.place)):
                return node
            return value(node)

        if not nested:
            assert isinstance(statement, ir.Assign)
            value = ir.transform(statement.value, change)
            assert isinstance(value, ir.Expr)
            return dataclasses.replace(statement, value=value)
        new = ir.transform(statement, change)
        assert isinstance(new, ir.Stmt)
        return new

    def stored(self, group: Group) -> Iterator[ir.Stmt]:
        """The statements of a group, with four stores to adjacent elements combined."""
        rows: dict[_Key, dict[int, ir.Assign]] = {}
        if not self.memory.precise and all(isinstance(s, ir.Assign) for s in group):
            for statement in group:
                assert isinstance(statement, ir.Assign)
                at = self.wide(statement.place, self.memory.written)
                if at is not None:
                    rows.setdefault(at[0], {})[at[1]] = statement
        whole = {id(s): row for row in rows.values() if len(row) == WIDE for s in row.values()}
        for statement in group:
            row = whole.get(id(statement))
            if row is None:
                yield statement
            elif statement is row[0]:
                yield _vector_store(row)


def _vector_store(row: Mapping[int, ir.Assign]) -> ir.Stmt:
    first = row[0]
    assert isinstance(first.place, ir.BufferElement) and isinstance(first.place.type, Scalar)
    kind = Vector(first.place.type, WIDE)
    parts = tuple(row[number].value for number in range(WIDE))
    return ir.Assign(first.span, _as_vector(first.place, kind), ir.Construct(first.span, kind, parts))


def _as_vector(place: ir.BufferElement, kind: Vector) -> ir.Place:
    return ir.Reinterpreted(place.span, kind, place, ir.Const(place.span, INT32, 0))


def _value_of(variable: ir.Variable, letter: str | None) -> Callable[[ir.Node], ir.Expr]:
    def value(node: ir.Node) -> ir.Expr:
        whole = ir.Load(node.span, variable.type, ir.Local(node.span, variable.type, variable))
        if letter is None:
            return whole
        assert isinstance(variable.type, Vector)
        return ir.Swizzle(node.span, variable.type.element, whole, letter)

    return value


def _names(place: ir.Node) -> set[str]:
    return {n.variable.name for n in ir.walk(place) if isinstance(n, ir.Local)}


def _name(place: ir.Place) -> str:
    root = ir.root_of(place)
    return root.buffer if isinstance(root, ir.BufferElement) else root.variable.name
