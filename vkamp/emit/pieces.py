"""Neighbouring elements as one access: IR -> IR, before printing.

A plain kernel moves one element per thread, and a device moves memory fastest in accesses of 16 bytes.  Here each
thread gets a *piece*: some neighbouring elements of the last dimension.  It loads them together, calls the kernel's
body, which is a function of one element, for each, and stores the results together.  Parts of words, which a device
stores by a compare-exchange, become whole words so.

What makes it right: a container is accessed in pieces only where each thread reads and writes its own element alone,
``a[idx]``, and where no other container that the kernel writes is on the same memory.  So all loads of a piece may come
first and all its stores last.  Pieces begin where the memory of the first stored container has whole ones; the elements
before and behind them are accessed one by one, as are containers whose pieces would begin elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vkamp.artifacts import Pieces, PushWord, Target
from vkamp.emit.expressions import Part, WithPart, WordValue, element_number
from vkamp.emit.quick_loops import nowhere
from vkamp.emit.small import Forms
from vkamp.errors import Span
from vkamp.ir.access import access, own_nodes, typed_access
from vkamp.ir.flow import exposed, named, targets
from vkamp.ir.nodes import (
    ArrayElement,
    Assert,
    Assign,
    Binary,
    Block,
    BufferElement,
    BufferExtent,
    BufferParam,
    Builtin,
    Call,
    Cast,
    Claim,
    Compare,
    ComponentsOf,
    Const,
    Construct,
    Expr,
    For,
    Function,
    If,
    Kernel,
    Load,
    Local,
    Logical,
    Node,
    Place,
    Reinterpreted,
    Remark,
    Return,
    ScalarValue,
    Stmt,
    ThreadIndex,
    Unary,
    Variable,
    map_block,
    map_blocks,
    root_of,
    transform,
    walk,
    walk_statements,
)
from vkamp.ir.types import BOOL, FLOAT16, FLOAT64, INT32, UINT32, VECTOR_LETTERS, Scalar, Type, Vector

__all__ = ["in_pieces"]

#: Bytes of the largest access.
_BYTES = 16
_WORD = 4
#: Up to so many elements the calls for a piece are in a row, beyond that in a loop.
_MOST_IN_A_ROW = 4
#: A body of more nodes computes more than it moves: its copies would only take long to compile.  A builtin counts as
#: several nodes, in a precise kernel as many.
_MOST_NODES, _FUNCTION, _PRECISE_FUNCTION = 300, 5, 60
#: Statements that a body of a piece may have; none of them loops or waits.
_PLAIN = (Assert, Assign, Call, Claim, If, Remark, Return)
#: Comparisons that hold for all of a piece if they hold for its last element, and those for its first.
_UPPER, _LOWER = ("lt", "le"), ("gt", "ge")
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
#: An index that differs by less from the thread's does not wrap within a domain.
_SMALL_STEP = 1 << 16


def in_pieces(kernel: Kernel, target: Target) -> tuple[Kernel, Pieces | None]:
    """The kernel with a piece for each thread, and where the pieces begin; the same kernel and ``None`` where that is
    impossible, or gains nothing.

    ``target.pieces``: the most elements of a piece; ``target.whole`` and ``target.flat``: what the launch knows of the
    containers.
    """
    if target.pieces < 2 or target.folded or kernel.tile is not None or kernel.thread_variables:
        return kernel, None
    body = _peeled(kernel)
    if body is None:
        return kernel, None
    chosen = None
    if kernel.rank > 1 and not body.tests:
        chosen = _chosen(kernel, body, target, flat=True)
    if chosen is None:
        chosen = _chosen(kernel, body, target, flat=False)
    if chosen is None:
        return kernel, None
    return _Making(kernel, body, chosen, target).kernel()


# -- what the body is ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Body:
    """The kernel's body: the ``tests`` that a thread must pass to do anything, and the ``block`` behind them.

    ``values``: of variables that are nothing but the thread's index, constants and what the launch gives.
    """

    tests: tuple[Compare, ...]
    block: Block
    values: dict[str, Expr]

    def resolved(self, expr: Expr) -> Expr:
        """An expression with such variables' values in their places."""

        def change(node: Node) -> Node:
            if isinstance(node, Load) and isinstance(node.place, Local):
                return self.values.get(node.place.variable.name, node)
            return node

        changed = transform(expr, change)
        assert isinstance(changed, Expr)
        return changed


def _peeled(kernel: Kernel) -> _Body | None:
    """The body of a kernel without the tests around all of it; ``None`` for a long one, and for one with loops, atomics
    or barriers.
    """
    functions = (*kernel.functions, kernel.body)
    statements = [s for f in functions for s in walk_statements(f.body)]
    if not all(isinstance(s, _PLAIN) for s in statements):
        return None
    if any(isinstance(n, ThreadIndex) for f in kernel.functions for s in walk_statements(f.body) for n in own_nodes(s)):
        return None
    if _weight(kernel, statements) > _MOST_NODES:
        return None
    body = _Body((), (), _index_values(kernel.body.body))
    before: list[Stmt] = []
    tests: list[Compare] = []
    rest = kernel.body.body
    while rest:
        head = rest[0]
        if isinstance(head, Remark) or (isinstance(head, Assign) and _is_index_value(head, body.values)):
            before.append(head)
            rest = rest[1:]
            continue
        inner = _behind_test(head, rest, kernel.rank - 1, body)
        if inner is None:
            break
        tests += inner[0]
        rest = inner[1]
    return _Body(tuple(tests), (*before, *rest), body.values)


def _weight(kernel: Kernel, statements: list[Stmt]) -> int:
    """How much there is to compile."""
    nodes = [n for s in statements for n in own_nodes(s)]
    functions = sum(isinstance(n, Builtin) for n in nodes)
    return len(nodes) + functions * (_PRECISE_FUNCTION if kernel.precise else _FUNCTION)


def _is_index_value(statement: Assign, values: dict[str, Expr]) -> bool:
    return isinstance(statement.place, Local) and statement.place.variable.name in values


def _index_values(block: Block) -> dict[str, Expr]:
    """The variables that get one value in all, of the thread's index, constants and the launch."""
    times = Counter(v.name for s in walk_statements(block) for v in targets(s))
    known = _Body((), (), {})
    for statement in walk_statements(block):
        if not isinstance(statement, Assign) or not isinstance(statement.place, Local):
            continue
        name = statement.place.variable.name
        value = known.resolved(statement.value)
        if times[name] == 1 and not any(isinstance(n, Load) for n in walk(value)):
            known.values[name] = value
    return known.values


def _behind_test(head: Stmt, rest: Block, last: int, body: _Body) -> tuple[list[Compare], Block] | None:
    """The tests of an ``if`` that all the rest is in or behind, and the rest."""
    if not isinstance(head, If) or head.orelse:
        return None
    leaves = len(head.then) == 1 and isinstance(head.then[0], Return)
    if not leaves and len(rest) > 1:
        return None
    found = _conjuncts(body.resolved(head.condition), last, holds=not leaves)
    return None if found is None else (found, rest[1:] if leaves else head.then)


def _conjuncts(condition: Expr, last: int, *, holds: bool) -> list[Compare] | None:
    """Comparisons that all hold exactly if a condition does (``holds``), or does not; ``None`` if there are none such.

    In each the last component of the thread's index is alone on a side, with a constant at most, or nowhere.
    """
    if isinstance(condition, Unary) and condition.op == "not":
        return _conjuncts(condition.operand, last, holds=not holds)
    if isinstance(condition, Logical) and condition.op == ("and" if holds else "or"):
        sides = [_conjuncts(side, last, holds=holds) for side in (condition.left, condition.right)]
        return None if sides[0] is None or sides[1] is None else sides[0] + sides[1]
    if not isinstance(condition, Compare) or condition.left.type != INT32:
        return None
    if any(isinstance(n, Load) for n in walk(condition)):
        return None
    if not holds:
        condition = dataclasses.replace(condition, op=_NEGATED[condition.op])  # type: ignore[arg-type]
    with_index = [_names(side, last) for side in (condition.left, condition.right)]
    if not any(with_index):
        return [condition]
    index = condition.left if with_index[0] else condition.right
    if all(with_index) or condition.op in ("eq", "ne") or not _is_near(index, last):
        return None
    return [condition]


def _names(expr: Expr, dim: int) -> bool:
    """Whether an expression has a component of the thread's index."""
    return any(isinstance(n, ThreadIndex) and n.dim == dim for n in walk(expr))


def _is_near(expr: Expr, dim: int) -> bool:
    """Whether an expression is a component of the thread's index, or a constant beside it."""
    if isinstance(expr, Binary) and expr.op in ("add", "sub") and isinstance(expr.right, Const):
        return abs(expr.right.value) < _SMALL_STEP and isinstance(expr.left, ThreadIndex)
    return isinstance(expr, ThreadIndex) and expr.dim == dim


# -- which containers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Chosen:
    """The containers that are accessed in pieces, by name: those read, and those written; the elements of a piece;
    whether the domain counts as one row.
    """

    read: tuple[str, ...]
    written: tuple[str, ...]
    count: int
    flat: bool


def _chosen(kernel: Kernel, body: _Body, target: Target, *, flat: bool) -> _Chosen | None:
    """What to access in pieces of the containers that the launch allows; ``None`` where it is not every store, or less
    than half of the loads, or where ``flat`` is impossible.
    """
    table, total = typed_access(kernel), access(kernel)
    uses = Counter(kernel.buffer(name).storage for name, _ in table)
    changed = {kernel.buffer(name).storage for (name, _), kind in table.items() if kind.changes}
    own: set[str] = set()
    others: Counter[str] = Counter()
    for function in kernel.functions:
        # Its variables are not the body's.
        others.update(_container(place) for place in _places(function.body))
    for place in _places(body.block):
        root = root_of(place)
        assert isinstance(root, BufferElement)
        if (
            place is root
            and root.buffer in (target.flat if flat else target.whole)
            and _is_own(root, kernel.rank, body)
        ):
            own.add(root.buffer)
        else:
            others[root.buffer] += 1
    for name in list(own):
        buffer = kernel.buffer(name)
        alone = uses[buffer.storage] == 1 and not others[name]
        if not _fits(buffer, target) or (buffer.storage in changed and not alone):
            own.discard(name)
            others[name] += 1
    written = tuple(name for name in total if total[name].changes)
    if not written or not own.issuperset(written) or others.total() > len(own):
        return None
    read = tuple(name for name in total if name in own and total[name].reads)
    sizes = [kernel.buffer(name).element.size for name in own]
    count = min(target.pieces, _BYTES // max(sizes))
    if count < 2 or count * min(sizes) % _WORD:
        return None
    if flat and not _is_flat(kernel, body, own):
        return None
    return _Chosen(read, written, count, flat)


def _container(place: Place) -> str:
    root = root_of(place)
    assert isinstance(root, BufferElement)
    return root.buffer


def _places(block: Block) -> Iterator[Place]:
    """Every access to a container."""
    for statement in walk_statements(block):
        if isinstance(statement, Assign) and isinstance(root_of(statement.place), BufferElement):
            yield statement.place
        for node in own_nodes(statement):
            if isinstance(node, Load) and isinstance(root_of(node.place), BufferElement):
                yield node.place


def _is_own(place: BufferElement, rank: int, body: _Body) -> bool:
    """Whether a place is the thread's own element."""
    indices = [body.resolved(i) for i in place.indices]
    return len(indices) == rank and all(isinstance(i, ThreadIndex) and i.dim == d for d, i in enumerate(indices))


def _fits(buffer: BufferParam, target: Target) -> bool:
    """Whether there are pieces of a container's elements."""
    kind = buffer.element
    if kind == FLOAT16 and "counted_paths" in target.quirks and not Forms(target.types).computes(kind):
        # SwiftShader takes longer to compile so many conversions in integers than pieces save.
        return False
    return isinstance(kind, Scalar) and (kind.size <= _WORD or kind == FLOAT64)


def _is_flat(kernel: Kernel, body: _Body, own: set[str]) -> bool:
    """Whether all can be done as if the domain and the containers had one dimension: nothing else is made of the
    index.
    """
    if any(
        isinstance(n, BufferExtent) for f in kernel.functions for s in walk_statements(f.body) for n in own_nodes(s)
    ):
        return False
    left = [n for s in _without_own(body, own, kernel.rank) for n in walk(s)]
    return not any(isinstance(n, (ThreadIndex, BufferExtent)) for n in left)


def _without_own(body: _Body, own: set[str], rank: int) -> Block:
    """The block with the thread's own elements as variables, and without the values that only they needed."""
    making = _Elements(body, own, rank)
    return making.block()


class _Elements:
    """The block of a body for one element: the thread's own elements are variables."""

    def __init__(self, body: _Body, own: set[str], rank: int) -> None:
        self.body = body
        self.own = own
        self.rank = rank
        self.taken = named(body.block)
        self.variables: dict[str, Variable] = {}

    def new(self, name: str, kind: Type, span: Span) -> Variable:
        """A variable whose name the block does not use."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return Variable(name, kind, "local", span)

    def block(self) -> Block:
        block = map_block(self.body.block, self.change)
        while True:
            read = {
                n.variable.name
                for s in walk_statements(block)
                for n in own_nodes(s)
                if isinstance(n, Local) and not (isinstance(s, Assign) and n is s.place)
            }
            smaller = _without(block, self.body.values.keys() - read)
            if smaller == block:
                return block
            block = smaller

    def change(self, node: Node) -> Node:
        if not isinstance(node, BufferElement) or node.buffer not in self.own:
            return node
        if not _is_own(node, self.rank, self.body):
            return node
        if node.buffer not in self.variables:
            self.variables[node.buffer] = self.new(f"{node.buffer}_value", node.type, node.span)
        return Local(node.span, node.type, self.variables[node.buffer])


def _without(block: Block, unused: set[str]) -> Block:
    kept = (s for s in block if not (isinstance(s, Assign) and _is_whole(s.place, unused)))
    return tuple(map_blocks(s, lambda inner: _without(inner, unused)) for s in kept)


def _is_whole(place: Place, names: set[str]) -> bool:
    return isinstance(place, Local) and place.variable.name in names


# -- the kernel in pieces ------------------------------------------------------------------------------------------


def _int(span: Span, value: int) -> Const:
    return Const(span, INT32, value)


def _sum(a: Expr, b: int) -> Expr:
    if b == 0:
        return a
    if isinstance(a, Const):
        return _int(a.span, int(a.value) + b)
    return Binary(a.span, INT32, "add", a, _int(a.span, b))


#: What a parameter of the function of an element is: an index, a launch value as float16, the element of a container.
_Given = ThreadIndex | Variable | str


class _Making:
    def __init__(self, kernel: Kernel, body: _Body, chosen: _Chosen, target: Target) -> None:
        self.body = body
        self.chosen = chosen
        self.own = {*chosen.read, *chosen.written}
        #: The container that says where pieces begin, and those whose pieces begin there, too.
        self.first_written = chosen.written[0]
        groups = (group for group in target.together if self.first_written in group)
        self.together = self.own & {self.first_written, *next(groups, ())}
        self.original = kernel
        self.rank = 1 if chosen.flat else kernel.rank
        self.buffers = {b.name: self.buffer(b) for b in kernel.buffers}
        # The source location of nodes that belong to no line of the program.
        self.span = nowhere(kernel.span)
        self.first = Variable("first", INT32, "local", self.span, temporary=True)
        #: Launch values as float16, each a conversion that is done once for all elements of a piece.
        self.halves: dict[str, Variable] = {}
        names = {f.name for f in kernel.functions}
        self.name = "element"
        while self.name in names:
            self.name += "_"

    def buffer(self, buffer: BufferParam) -> BufferParam:
        if buffer.name not in self.own:
            return buffer
        return dataclasses.replace(buffer, rank=self.rank, unit=True)

    def kernel(self) -> tuple[Kernel, Pieces | None]:
        """The kernel, or the one that there was where a store is not certain and would cost a load."""
        element = self.element()
        if element is None:
            return self.original, None
        function, params, loaded = element
        main = self.main(function, params, loaded)
        views = frozenset((name, self.kind(name)) for name in self.together)
        pieces = Pieces(self.chosen.count, self.chosen.flat, self.is_shifted)
        body = dataclasses.replace(self.original.body, body=main, variables=())
        kernel = dataclasses.replace(
            self.original,
            rank=self.rank,
            buffers=tuple(self.buffers.values()),
            functions=(*self.original.functions, function),
            body=body,
            views=views,
        )
        return kernel, pieces

    # -- one element ---------------------------------------------------------------------------------------------

    def element(self) -> tuple[Function, list[_Given], list[str]] | None:
        """The body as a function of the thread's index, as far as it is used, of launch values that become float16, and
        of elements; what each parameter is; the containers whose elements it needs.
        """
        elements = _Elements(self.body, self.own, self.original.rank)
        block = elements.block()
        values = elements.variables
        results = [values[name] for name in self.chosen.written]
        end = Return(self.span, tuple(Load(v.span, v.type, Local(v.span, v.type, v)) for v in results))
        block = _directly((*_returning(block, end), end))
        needed = exposed(block)
        loaded = [b.name for b in self.original.buffers if b.name in values and values[b.name].name in needed]
        for name in loaded:
            if name not in self.chosen.read and self.buffers[name].element.size >= _WORD:
                # It would be loaded for those of its elements alone that are not stored; parts of words save more.
                return None
        given: dict[str, Variable] = {
            values[n].name: dataclasses.replace(values[n], storage="parameter") for n in loaded
        }
        indices: dict[int, Variable] = {}

        def change(node: Node) -> Node:
            if isinstance(node, ThreadIndex):
                if node.dim not in indices:
                    index = elements.new(f"{self.original.index_name}_{node.dim}", INT32, node.span)
                    indices[node.dim] = dataclasses.replace(index, storage="parameter")
                return Load(node.span, INT32, Local(node.span, INT32, indices[node.dim]))
            if isinstance(node, Cast) and node.type == FLOAT16 and isinstance(node.operand, ScalarValue):
                name = node.operand.name
                if name not in self.halves:
                    self.halves[name] = elements.new(f"{name}_half", FLOAT16, node.span)
                half = dataclasses.replace(self.halves[name], storage="parameter")
                return Load(node.span, FLOAT16, Local(node.span, FLOAT16, half))
            if isinstance(node, Local) and node.variable.name in given:
                return dataclasses.replace(node, variable=given[node.variable.name])
            return node

        block = map_block(block, change)
        dims = sorted(indices)
        halves = tuple(self.halves.values())
        params = (
            *(indices[d] for d in dims),
            *(dataclasses.replace(half, storage="parameter") for half in halves),
            *(given[values[n].name] for n in loaded),
        )
        passed: list[_Given] = [*(ThreadIndex(self.span, INT32, "global", d) for d in dims), *halves, *loaded]
        kinds = tuple(v.type for v in results)
        body = self.original.body
        function = Function(self.name, "element", params, kinds, body.variables, block, body.span)
        return function, passed, loaded

    # -- the pieces ----------------------------------------------------------------------------------------------

    @property
    def is_shifted(self) -> bool:
        """Whether pieces may begin elsewhere than at multiples of their length."""
        return not self.is_aligned(self.first_written)

    def is_aligned(self, name: str) -> bool:
        """Whether the elements of a container are at whole pieces wherever their index is a multiple."""
        buffer = self.buffers[name]
        return buffer.rank == 1 and buffer.dense

    def load(self, variable: Variable) -> Load:
        return Load(self.span, variable.type, Local(self.span, variable.type, variable))

    def place(self, name: str, last: Expr) -> BufferElement:
        """An element of the row of the thread."""
        before = (
            () if self.rank == 1 else tuple(ThreadIndex(self.span, INT32, "global", d) for d in range(self.rank - 1))
        )
        buffer = self.buffers[name]
        return BufferElement(self.span, buffer.element, name, (*before, last))

    def number(self, name: str, last: Expr) -> Expr:
        """The number of such an element in its memory."""
        return element_number(self.buffers[name], self.place(name, last).indices)

    def kind(self, name: str) -> Scalar | Vector:
        """The type of a piece."""
        element, count = self.buffers[name].element, self.chosen.count
        assert isinstance(element, Scalar)
        if element.size < _WORD:
            element, count = UINT32, count * element.size // _WORD
        return element if count == 1 else Vector(element, count)

    def values(self, name: str) -> Variable:
        """The variable for a piece."""
        return Variable(f"{name}_values", self.kind(name), "local", self.span)

    def in_values(self, name: str, number: Expr) -> Place:
        """An element of such a variable, or the word that it is a part of."""
        variable, element = self.values(name), self.buffers[name].element
        base = Local(self.span, variable.type, variable)
        if not isinstance(variable.type, Vector):
            return base
        if element.size < _WORD:
            by = (_WORD // element.size).bit_length() - 1
            if isinstance(number, Const):
                number = _int(self.span, int(number.value) >> by)
            else:
                number = Binary(self.span, INT32, "shr", number, _int(self.span, by))
        if isinstance(number, Const):
            return ComponentsOf(self.span, variable.type.element, base, VECTOR_LETTERS[int(number.value)])
        return ArrayElement(self.span, variable.type.element, base, (number,))

    def value(self, name: str, number: Expr) -> Expr:
        """The value of an element of a piece."""
        place, element = self.in_values(name, number), self.buffers[name].element
        loaded = Load(self.span, place.type, place)
        return loaded if element.size >= _WORD else Part(self.span, element, loaded, number)

    def put(self, name: str, number: Expr, last: Expr, value: Expr) -> Stmt:
        """Stores an element: into the piece, or into memory where the container has no pieces."""
        if name not in self.together:
            return Assign(self.span, self.place(name, last), value)
        place = self.in_values(name, number)
        if self.buffers[name].element.size < _WORD:
            value = WithPart(self.span, UINT32, Load(self.span, UINT32, place), number, value)
        return Assign(self.span, place, value)

    def main(self, function: Function, params: list[_Given], loaded: list[str]) -> Block:
        count, span = self.chosen.count, self.span
        last = self.rank - 1
        piece = ThreadIndex(span, INT32, "global", last)
        start: Expr = Binary(span, INT32, "mul", piece, _int(span, count))
        if self.is_shifted:
            begin = self.number(self.first_written, _int(span, 0))
            shift = Binary(span, INT32, "bitand", begin, _int(span, count - 1))
            start = Binary(span, INT32, "sub", start, shift)
        first = self.load(self.first)
        domain = Cast(span, INT32, WordValue(span, UINT32, PushWord("domain", "", last, "uint32")))
        whole = (
            *(self.loaded(name) for name in loaded if name in self.together),
            *self.calls(function, params),
            *(self.stored(name) for name in self.chosen.written if name in self.together),
        )
        return (
            Remark(span, self.remark()),
            Assign(span, Local(span, INT32, self.first), start),
            If(span, Compare(span, BOOL, "ge", first, domain), (Return(span),), ()),
            *(self.as_half(name, half) for name, half in self.halves.items()),
            If(span, self.fits(first, domain), whole, self.one_by_one(function, params, first, domain)),
        )

    def as_half(self, name: str, half: Variable) -> Stmt:
        (kind,) = (scalar.type for scalar in self.original.scalars if scalar.name == name)
        value = Cast(self.span, FLOAT16, ScalarValue(self.span, kind, name))
        return Assign(self.span, Local(self.span, FLOAT16, half), value)

    def remark(self) -> str:
        where = f", as they lie in {self.first_written}" if self.is_shifted else ""
        flat = "; the domain is one row" if self.chosen.flat else ""
        return f"Each thread has {self.chosen.count} neighbouring elements{where}{flat}."

    def fits(self, first: Expr, domain: Expr) -> Expr:
        """Whether a piece is whole: within the domain and the tests around the body, and where its containers say."""
        span = self.span
        found: Expr = Compare(span, BOOL, "le", _sum(first, self.chosen.count), domain)
        if self.is_shifted:
            found = Logical(span, BOOL, "and", Compare(span, BOOL, "ge", first, _int(span, 0)), found)
        for test in (*(self.for_all(t, first) for t in self.body.tests), *self.aligned(first)):
            found = Logical(span, BOOL, "and", found, test)
        return found

    def aligned(self, first: Expr) -> Iterator[Expr]:
        """Tests that pieces of containers begin where they are said to begin, where that is not certain."""
        for name in (b.name for b in self.original.buffers if b.name in self.together):
            if name == self.first_written or (not self.is_shifted and self.is_aligned(name)):
                continue
            rest = Binary(self.span, INT32, "bitand", self.number(name, first), _int(self.span, self.chosen.count - 1))
            yield Compare(self.span, BOOL, "eq", rest, _int(self.span, 0))

    def for_all(self, test: Compare, first: Expr) -> Expr:
        """A test for all elements of a piece."""
        last = self.rank - 1
        upper = test.op in _UPPER if _names(test.left, last) else test.op in _LOWER
        return self.at(test, _sum(first, self.chosen.count - 1) if upper else first)

    def at(self, expr: Expr, last: Expr) -> Expr:
        """An expression of the thread's index for an element of the row."""

        def change(node: Node) -> Node:
            return last if isinstance(node, ThreadIndex) and node.dim == self.rank - 1 else node

        changed = transform(expr, change)
        assert isinstance(changed, Expr)
        return changed

    def view(self, name: str) -> Reinterpreted:
        """The piece of a container."""
        return Reinterpreted(self.span, self.kind(name), self.place(name, self.load(self.first)), _int(self.span, 0))

    def loaded(self, name: str) -> Stmt:
        variable = self.values(name)
        return Assign(
            self.span,
            Local(self.span, variable.type, variable),
            Load(self.span, variable.type, self.view(name)),
        )

    def stored(self, name: str) -> Stmt:
        return Assign(self.span, self.view(name), self.load(self.values(name)))

    def calls(self, function: Function, params: list[_Given]) -> Block:
        """The calls for the elements of a piece; containers without pieces are accessed element by element."""

        def one(number: Expr) -> Block:
            last = self.plus(self.load(self.first), number)
            args = [self.argument(p, number, last) for p in params]
            suffix = f"_{number.value}" if isinstance(number, Const) else "_k"
            return self.called(function, args, suffix, lambda name, value: self.put(name, number, last, value))

        empty = [n for n in self.chosen.written if n in self.together and n not in params]
        blank = tuple(s for n in empty for s in self.blank(n))
        if self.chosen.count <= _MOST_IN_A_ROW:
            return (*blank, *(s for k in range(self.chosen.count) for s in one(_int(self.span, k))))
        number = Variable("k", INT32, "local", self.span)
        start, stop, step = (_int(self.span, n) for n in (0, self.chosen.count, 1))
        return (*blank, For(self.span, number, start, stop, step, one(self.load(number)), unroll=True))

    def argument(self, param: _Given, number: Expr, last: Expr) -> Expr:
        """What the function of an element is given for a parameter."""
        if isinstance(param, ThreadIndex):
            return self.at(param, last)
        if isinstance(param, Variable):
            return self.load(param)
        if param in self.together:
            return self.value(param, number)
        return self.element_at(param, last)

    def element_at(self, name: str, last: Expr) -> Load:
        place = self.place(name, last)
        return Load(self.span, place.type, place)

    def plus(self, first: Expr, number: Expr) -> Expr:
        if isinstance(number, Const):
            return _sum(first, int(number.value))
        return Binary(self.span, INT32, "add", first, number)

    def blank(self, name: str) -> Block:
        """Words before their parts are put in; other elements need nothing."""
        variable = self.values(name)
        if self.buffers[name].element.size >= _WORD:
            return ()
        zero: Expr = Const(self.span, UINT32, 0)
        if isinstance(variable.type, Vector):
            zero = Construct(self.span, variable.type, (zero,))
        return (Assign(self.span, Local(self.span, variable.type, variable), zero),)

    def called(self, function: Function, args: list[Expr], suffix: str, store: Callable[[str, Expr], Stmt]) -> Block:
        """The call for an element, and where its results go."""
        results = tuple(
            Variable(f"{name}_value{suffix}", kind, "local", self.span, temporary=True)
            for name, kind in zip(self.chosen.written, function.results, strict=True)
        )
        stored = (store(n, self.load(v)) for n, v in zip(self.chosen.written, results, strict=True))
        return (Call(self.span, function.name, tuple(args), results), *stored)

    def one_by_one(self, function: Function, params: list[_Given], first: Expr, domain: Expr) -> Block:
        """The elements of a piece that is not whole."""
        span = self.span
        index = Variable(f"{self.original.index_name}_{self.rank - 1}", INT32, "local", span)
        at = self.load(index)
        args: list[Expr] = []
        for param in params:
            if isinstance(param, ThreadIndex):
                args.append(self.at(param, at))
            elif isinstance(param, Variable):
                args.append(self.load(param))
            else:
                args.append(self.element_at(param, at))
        block = self.called(function, args, "", lambda name, value: Assign(span, self.place(name, at), value))
        for test in reversed(self.body.tests):
            block = (If(span, self.at(test, at), block, ()),)
        start = Builtin(span, INT32, "max", (first, _int(span, 0))) if self.is_shifted else first
        stop = Builtin(span, INT32, "min", (_sum(first, self.chosen.count), domain))
        return (For(span, index, start, stop, _int(span, 1), block),)


def _returning(block: Block, end: Return) -> Block:
    """The block with results at each return, which is a statement of its place."""
    return tuple(
        dataclasses.replace(end, span=s.span)
        if isinstance(s, Return)
        else map_blocks(s, lambda inner: _returning(inner, end))
        for s in block
    )


def _directly(block: Block) -> Block:
    """The block without a variable that is assigned to be returned."""
    *before, end = block
    last = before[-1] if before else None
    if not isinstance(last, Assign) or not isinstance(end, Return) or len(end.values) != 1 or last.update:
        return block
    (value,) = end.values
    if not isinstance(value, Load) or value.place != last.place:
        return block
    return (*before[:-1], Return(last.span, (last.value,)))
