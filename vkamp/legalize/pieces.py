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

from vkamp.artifacts import Pieces, Target
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.addresses import element_number, plus
from vkamp.ir.dataflow import exposed, named, own_nodes, targets
from vkamp.ir.lowered import LaunchWord, WithWordPart, WordPart
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.requirements import access, typed_access
from vkamp.ir.rewrite import declaring, nowhere, substituted, without_unused
from vkamp.ir.types import BOOL, FLOAT16, FLOAT64, INT32, UINT32, VECTOR_LETTERS, Scalar, Type, Vector

#: Bytes of the largest access.
_BYTES = 16
_WORD = 4
#: Up to so many elements the calls for a piece are in a row, beyond that in a loop.
_MAX_IN_A_ROW = 4
#: A body of more nodes computes more than it moves: its copies would only take long to compile.  A builtin counts as
#: several nodes, in a precise kernel as many.
_MAX_NODES, _FUNCTION, _PRECISE_FUNCTION = 300, 5, 60
#: Statements that a body of a piece may have; none of them loops or waits.
_PLAIN = (ir.Assert, ir.Assign, ir.Call, ir.Claim, ir.If, ir.Remark, ir.Return)
#: Comparisons that hold for all of a piece if they hold for its last element, and those for its first.
_UPPER, _LOWER = ("lt", "le"), ("gt", "ge")
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
#: An index that differs by less from the thread's does not wrap within a domain.
_SMALL_STEP = 1 << 16


def in_pieces(kernel: ir.Kernel, target: Target) -> tuple[ir.Kernel, Pieces | None]:
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

    tests: tuple[ir.Compare, ...]
    block: ir.Block
    values: dict[str, ir.Expr]

    def resolved(self, expr: ir.Expr) -> ir.Expr:
        """An expression with such variables' values in their places."""
        return substituted(expr, self.values)


def _peeled(kernel: ir.Kernel) -> _Body | None:
    """The body of a kernel without the tests around all of it; ``None`` for a long one, and for one with loops, atomics
    or barriers.
    """
    functions = (*kernel.functions, kernel.body)
    statements = [s for f in functions for s in ir.walk_statements(f.body)]
    if not all(isinstance(s, _PLAIN) for s in statements):
        return None
    if any(
        isinstance(n, ir.ThreadIndex)
        for f in kernel.functions
        for s in ir.walk_statements(f.body)
        for n in own_nodes(s)
    ):
        return None
    if _weight(kernel, statements) > _MAX_NODES:
        return None
    body = _Body((), (), _index_values(kernel.body.body))
    before: list[ir.Stmt] = []
    tests: list[ir.Compare] = []
    rest = kernel.body.body
    while rest:
        head = rest[0]
        if isinstance(head, ir.Remark) or (isinstance(head, ir.Assign) and _is_index_value(head, body.values)):
            before.append(head)
            rest = rest[1:]
            continue
        inner = _behind_test(head, rest, kernel.rank - 1, body)
        if inner is None:
            break
        tests += inner[0]
        rest = inner[1]
    return _Body(tuple(tests), (*before, *rest), body.values)


def _weight(kernel: ir.Kernel, statements: list[ir.Stmt]) -> int:
    """How much there is to compile."""
    nodes = [n for s in statements for n in own_nodes(s)]
    functions = sum(isinstance(n, ir.Builtin) for n in nodes)
    return len(nodes) + functions * (_PRECISE_FUNCTION if kernel.precise else _FUNCTION)


def _is_index_value(statement: ir.Assign, values: dict[str, ir.Expr]) -> bool:
    return isinstance(statement.place, ir.Local) and statement.place.variable.name in values


def _index_values(block: ir.Block) -> dict[str, ir.Expr]:
    """The variables that get one value in all, of the thread's index, constants and the launch."""
    times = Counter(v.name for s in ir.walk_statements(block) for v in targets(s))
    known = _Body((), (), {})
    for statement in ir.walk_statements(block):
        if not isinstance(statement, ir.Assign) or not isinstance(statement.place, ir.Local):
            continue
        name = statement.place.variable.name
        value = known.resolved(statement.value)
        if times[name] == 1 and not any(isinstance(n, ir.Load) for n in ir.walk(value)):
            known.values[name] = value
    return known.values


def _behind_test(head: ir.Stmt, rest: ir.Block, last: int, body: _Body) -> tuple[list[ir.Compare], ir.Block] | None:
    """The tests of an ``if`` that all the rest is in or behind, and the rest."""
    if not isinstance(head, ir.If) or head.orelse:
        return None
    leaves = len(head.then) == 1 and isinstance(head.then[0], ir.Return)
    if not leaves and len(rest) > 1:
        return None
    found = _conjuncts(body.resolved(head.condition), last, holds=not leaves)
    return None if found is None else (found, rest[1:] if leaves else head.then)


def _conjuncts(condition: ir.Expr, last: int, *, holds: bool) -> list[ir.Compare] | None:
    """Comparisons that all hold exactly if a condition does (``holds``), or does not; ``None`` if there are none such.

    In each the last component of the thread's index is alone on a side, with a constant at most, or nowhere.
    """
    if isinstance(condition, ir.Unary) and condition.op == "not":
        return _conjuncts(condition.operand, last, holds=not holds)
    if isinstance(condition, ir.Logical) and condition.op == ("and" if holds else "or"):
        sides = [_conjuncts(side, last, holds=holds) for side in (condition.left, condition.right)]
        return None if sides[0] is None or sides[1] is None else sides[0] + sides[1]
    if not isinstance(condition, ir.Compare) or condition.left.type != INT32:
        return None
    if any(isinstance(n, ir.Load) for n in ir.walk(condition)):
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


def _names(expr: ir.Expr, dim: int) -> bool:
    """Whether an expression has a component of the thread's index."""
    return any(isinstance(n, ir.ThreadIndex) and n.dim == dim for n in ir.walk(expr))


def _is_near(expr: ir.Expr, dim: int) -> bool:
    """Whether an expression is a component of the thread's index, or a constant beside it."""
    if isinstance(expr, ir.Binary) and expr.op in ("add", "sub") and isinstance(expr.right, ir.Const):
        return abs(expr.right.value) < _SMALL_STEP and isinstance(expr.left, ir.ThreadIndex)
    return isinstance(expr, ir.ThreadIndex) and expr.dim == dim


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


def _chosen(kernel: ir.Kernel, body: _Body, target: Target, *, flat: bool) -> _Chosen | None:
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
        root = ir.root_of(place)
        assert isinstance(root, ir.BufferElement)
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


def _container(place: ir.Place) -> str:
    root = ir.root_of(place)
    assert isinstance(root, ir.BufferElement)
    return root.buffer


def _places(block: ir.Block) -> Iterator[ir.Place]:
    """Every access to a container."""
    for statement in ir.walk_statements(block):
        if isinstance(statement, ir.Assign) and isinstance(ir.root_of(statement.place), ir.BufferElement):
            yield statement.place
        for node in own_nodes(statement):
            if isinstance(node, ir.Load) and isinstance(ir.root_of(node.place), ir.BufferElement):
                yield node.place


def _is_own(place: ir.BufferElement, rank: int, body: _Body) -> bool:
    """Whether a place is the thread's own element."""
    indices = [body.resolved(i) for i in place.indices]
    return len(indices) == rank and all(isinstance(i, ir.ThreadIndex) and i.dim == d for d, i in enumerate(indices))


def _fits(buffer: ir.BufferParam, target: Target) -> bool:
    """Whether there are pieces of a container's elements."""
    kind = buffer.element
    if kind == FLOAT16 and "counted_paths" in target.quirks and not DeviceTypes(target.types).computes(kind):
        # SwiftShader takes longer to compile so many conversions in integers than pieces save.
        return False
    return isinstance(kind, Scalar) and (kind.size <= _WORD or kind == FLOAT64)


def _is_flat(kernel: ir.Kernel, body: _Body, own: set[str]) -> bool:
    """Whether all can be done as if the domain and the containers had one dimension: nothing else is made of the
    index.
    """
    if any(
        isinstance(n, ir.BufferExtent)
        for f in kernel.functions
        for s in ir.walk_statements(f.body)
        for n in own_nodes(s)
    ):
        return False
    left = [n for s in _without_own(body, own, kernel.rank) for n in ir.walk(s)]
    return not any(isinstance(n, (ir.ThreadIndex, ir.BufferExtent)) for n in left)


def _without_own(body: _Body, own: set[str], rank: int) -> ir.Block:
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
        self.variables: dict[str, ir.Variable] = {}

    def new(self, name: str, kind: Type, span: Span) -> ir.Variable:
        """A variable whose name the block does not use."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return ir.Variable(name, kind, "local", span)

    def block(self) -> ir.Block:
        return without_unused(ir.map_block(self.body.block, self.change), self.body.values)

    def change(self, node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.BufferElement) or node.buffer not in self.own:
            return node
        if not _is_own(node, self.rank, self.body):
            return node
        if node.buffer not in self.variables:
            self.variables[node.buffer] = self.new(f"{node.buffer}_value", node.type, node.span)
        return ir.Local(node.span, node.type, self.variables[node.buffer])


# -- the kernel in pieces ------------------------------------------------------------------------------------------


def _int(span: Span, value: int) -> ir.Const:
    return ir.Const(span, INT32, value)


#: What a parameter of the function of an element is: an index, a launch value as float16, the element of a container.
_Given = ir.ThreadIndex | ir.Variable | str


class _Making:
    def __init__(self, kernel: ir.Kernel, body: _Body, chosen: _Chosen, target: Target) -> None:
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
        self.first = ir.Variable("first", INT32, "local", self.span, temporary=True)
        #: Launch values as float16, each a conversion that is done once for all elements of a piece.
        self.halves: dict[str, ir.Variable] = {}
        names = {f.name for f in kernel.functions}
        self.name = "element"
        while self.name in names:
            self.name += "_"

    def buffer(self, buffer: ir.BufferParam) -> ir.BufferParam:
        if buffer.name not in self.own:
            return buffer
        return dataclasses.replace(buffer, rank=self.rank, unit=True)

    def kernel(self) -> tuple[ir.Kernel, Pieces | None]:
        """The kernel, or the one that there was where a store is not certain and would cost a load."""
        element = self.element()
        if element is None:
            return self.original, None
        function, params, loaded = element
        main = self.main(function, params, loaded)
        views = frozenset((name, self.kind(name)) for name in self.together)
        pieces = Pieces(self.chosen.count, self.chosen.flat, self.is_shifted)
        body = declaring(dataclasses.replace(self.original.body, body=main, variables=()))
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

    def element(self) -> tuple[ir.Function, list[_Given], list[str]] | None:
        """The body as a function of the thread's index, as far as it is used, of launch values that become float16, and
        of elements; what each parameter is; the containers whose elements it needs.
        """
        elements = _Elements(self.body, self.own, self.original.rank)
        block = elements.block()
        values = elements.variables
        results = [values[name] for name in self.chosen.written]
        end = ir.Return(self.span, tuple(ir.Load(v.span, v.type, ir.Local(v.span, v.type, v)) for v in results))
        block = _directly((*_returning(block, end), end))
        needed = exposed(block)
        loaded = [b.name for b in self.original.buffers if b.name in values and values[b.name].name in needed]
        for name in loaded:
            if name not in self.chosen.read and self.buffers[name].element.size >= _WORD:
                # It would be loaded for those of its elements alone that are not stored; parts of words save more.
                return None
        given: dict[str, ir.Variable] = {
            values[n].name: dataclasses.replace(values[n], storage="parameter") for n in loaded
        }
        indices: dict[int, ir.Variable] = {}

        def change(node: ir.Node) -> ir.Node:
            if isinstance(node, ir.ThreadIndex):
                if node.dim not in indices:
                    index = elements.new(f"{self.original.index_name}_{node.dim}", INT32, node.span)
                    indices[node.dim] = dataclasses.replace(index, storage="parameter")
                return ir.Load(node.span, INT32, ir.Local(node.span, INT32, indices[node.dim]))
            if isinstance(node, ir.Cast) and node.type == FLOAT16 and isinstance(node.operand, ir.ScalarValue):
                name = node.operand.name
                if name not in self.halves:
                    self.halves[name] = elements.new(f"{name}_half", FLOAT16, node.span)
                half = dataclasses.replace(self.halves[name], storage="parameter")
                return ir.Load(node.span, FLOAT16, ir.Local(node.span, FLOAT16, half))
            if isinstance(node, ir.Local) and node.variable.name in given:
                return dataclasses.replace(node, variable=given[node.variable.name])
            return node

        block = ir.map_block(block, change)
        dims = sorted(indices)
        halves = tuple(self.halves.values())
        params = (
            *(indices[d] for d in dims),
            *(dataclasses.replace(half, storage="parameter") for half in halves),
            *(given[values[n].name] for n in loaded),
        )
        passed: list[_Given] = [*(ir.ThreadIndex(self.span, INT32, "global", d) for d in dims), *halves, *loaded]
        kinds = tuple(v.type for v in results)
        body = self.original.body
        function = ir.Function(self.name, "element", params, kinds, body.variables, block, body.span)
        return declaring(function), passed, loaded

    # -- the pieces ----------------------------------------------------------------------------------------------

    @property
    def is_shifted(self) -> bool:
        """Whether pieces may begin elsewhere than at multiples of their length."""
        return not self.is_aligned(self.first_written)

    def is_aligned(self, name: str) -> bool:
        """Whether the elements of a container are at whole pieces wherever their index is a multiple."""
        buffer = self.buffers[name]
        return buffer.rank == 1 and buffer.dense

    def load(self, variable: ir.Variable) -> ir.Load:
        return ir.Load(self.span, variable.type, ir.Local(self.span, variable.type, variable))

    def place(self, name: str, last: ir.Expr) -> ir.BufferElement:
        """An element of the row of the thread."""
        before = (
            () if self.rank == 1 else tuple(ir.ThreadIndex(self.span, INT32, "global", d) for d in range(self.rank - 1))
        )
        buffer = self.buffers[name]
        return ir.BufferElement(self.span, buffer.element, name, (*before, last))

    def number(self, name: str, last: ir.Expr) -> ir.Expr:
        """The number of such an element in its memory."""
        return element_number(self.buffers[name], self.place(name, last).indices)

    def kind(self, name: str) -> Scalar | Vector:
        """The type of a piece."""
        element, count = self.buffers[name].element, self.chosen.count
        assert isinstance(element, Scalar)
        if element.size < _WORD:
            element, count = UINT32, count * element.size // _WORD
        return element if count == 1 else Vector(element, count)

    def values(self, name: str) -> ir.Variable:
        """The variable for a piece."""
        return ir.Variable(f"{name}_values", self.kind(name), "local", self.span)

    def in_values(self, name: str, number: ir.Expr) -> ir.Place:
        """An element of such a variable, or the word that it is a part of."""
        variable, element = self.values(name), self.buffers[name].element
        base = ir.Local(self.span, variable.type, variable)
        if not isinstance(variable.type, Vector):
            return base
        if element.size < _WORD:
            by = (_WORD // element.size).bit_length() - 1
            if isinstance(number, ir.Const):
                number = _int(self.span, int(number.value) >> by)
            else:
                number = ir.Binary(self.span, INT32, "shr", number, _int(self.span, by))
        if isinstance(number, ir.Const):
            return ir.ComponentsOf(self.span, variable.type.element, base, VECTOR_LETTERS[int(number.value)])
        return ir.ArrayElement(self.span, variable.type.element, base, (number,))

    def value(self, name: str, number: ir.Expr) -> ir.Expr:
        """The value of an element of a piece."""
        place, element = self.in_values(name, number), self.buffers[name].element
        loaded = ir.Load(self.span, place.type, place)
        return loaded if element.size >= _WORD else WordPart(self.span, element, loaded, number)

    def put(self, name: str, number: ir.Expr, last: ir.Expr, value: ir.Expr) -> ir.Stmt:
        """Stores an element: into the piece, or into memory where the container has no pieces."""
        if name not in self.together:
            return ir.Assign(self.span, self.place(name, last), value)
        place = self.in_values(name, number)
        if self.buffers[name].element.size < _WORD:
            value = WithWordPart(self.span, UINT32, ir.Load(self.span, UINT32, place), number, value)
        return ir.Assign(self.span, place, value)

    def main(self, function: ir.Function, params: list[_Given], loaded: list[str]) -> ir.Block:
        count, span = self.chosen.count, self.span
        last = self.rank - 1
        piece = ir.ThreadIndex(span, INT32, "global", last)
        start: ir.Expr = ir.Binary(span, INT32, "mul", piece, _int(span, count))
        if self.is_shifted:
            begin = self.number(self.first_written, _int(span, 0))
            shift = ir.Binary(span, INT32, "bitand", begin, _int(span, count - 1))
            start = ir.Binary(span, INT32, "sub", start, shift)
        first = self.load(self.first)
        domain = ir.Cast(span, INT32, LaunchWord(span, UINT32, "domain", "", last))
        whole = (
            *(self.loaded(name) for name in loaded if name in self.together),
            *self.calls(function, params),
            *(self.stored(name) for name in self.chosen.written if name in self.together),
        )
        return (
            ir.Remark(span, self.remark()),
            ir.Assign(span, ir.Local(span, INT32, self.first), start),
            ir.If(span, ir.Compare(span, BOOL, "ge", first, domain), (ir.Return(span),), ()),
            *(self.as_half(name, half) for name, half in self.halves.items()),
            ir.If(span, self.fits(first, domain), whole, self.one_by_one(function, params, first, domain)),
        )

    def as_half(self, name: str, half: ir.Variable) -> ir.Stmt:
        (kind,) = (scalar.type for scalar in self.original.scalars if scalar.name == name)
        value = ir.Cast(self.span, FLOAT16, ir.ScalarValue(self.span, kind, name))
        return ir.Assign(self.span, ir.Local(self.span, FLOAT16, half), value)

    def remark(self) -> str:
        where = f", as they lie in {self.first_written}" if self.is_shifted else ""
        flat = "; the domain is one row" if self.chosen.flat else ""
        return f"Each thread has {self.chosen.count} neighbouring elements{where}{flat}."

    def fits(self, first: ir.Expr, domain: ir.Expr) -> ir.Expr:
        """Whether a piece is whole: within the domain and the tests around the body, and where its containers say."""
        span = self.span
        found: ir.Expr = ir.Compare(span, BOOL, "le", plus(first, self.chosen.count), domain)
        if self.is_shifted:
            found = ir.Logical(span, BOOL, "and", ir.Compare(span, BOOL, "ge", first, _int(span, 0)), found)
        for test in (*(self.for_all(t, first) for t in self.body.tests), *self.aligned(first)):
            found = ir.Logical(span, BOOL, "and", found, test)
        return found

    def aligned(self, first: ir.Expr) -> Iterator[ir.Expr]:
        """Tests that pieces of containers begin where they are said to begin, where that is not certain."""
        for name in (b.name for b in self.original.buffers if b.name in self.together):
            if name == self.first_written or (not self.is_shifted and self.is_aligned(name)):
                continue
            rest = ir.Binary(
                self.span, INT32, "bitand", self.number(name, first), _int(self.span, self.chosen.count - 1)
            )
            yield ir.Compare(self.span, BOOL, "eq", rest, _int(self.span, 0))

    def for_all(self, test: ir.Compare, first: ir.Expr) -> ir.Expr:
        """A test for all elements of a piece."""
        last = self.rank - 1
        upper = test.op in _UPPER if _names(test.left, last) else test.op in _LOWER
        return self.at(test, plus(first, self.chosen.count - 1) if upper else first)

    def at(self, expr: ir.Expr, last: ir.Expr) -> ir.Expr:
        """An expression of the thread's index for an element of the row."""

        def change(node: ir.Node) -> ir.Node:
            return last if isinstance(node, ir.ThreadIndex) and node.dim == self.rank - 1 else node

        changed = ir.transform(expr, change)
        assert isinstance(changed, ir.Expr)
        return changed

    def view(self, name: str) -> ir.Reinterpreted:
        """The piece of a container."""
        return ir.Reinterpreted(self.span, self.kind(name), self.place(name, self.load(self.first)), _int(self.span, 0))

    def loaded(self, name: str) -> ir.Stmt:
        variable = self.values(name)
        return ir.Assign(
            self.span,
            ir.Local(self.span, variable.type, variable),
            ir.Load(self.span, variable.type, self.view(name)),
        )

    def stored(self, name: str) -> ir.Stmt:
        return ir.Assign(self.span, self.view(name), self.load(self.values(name)))

    def calls(self, function: ir.Function, params: list[_Given]) -> ir.Block:
        """The calls for the elements of a piece; containers without pieces are accessed element by element."""

        def one(number: ir.Expr) -> ir.Block:
            last = self.plus(self.load(self.first), number)
            args = [self.argument(p, number, last) for p in params]
            suffix = f"_{number.value}" if isinstance(number, ir.Const) else "_k"
            return self.called(function, args, suffix, lambda name, value: self.put(name, number, last, value))

        empty = [n for n in self.chosen.written if n in self.together and n not in params]
        blank = tuple(s for n in empty for s in self.blank(n))
        if self.chosen.count <= _MAX_IN_A_ROW:
            return (*blank, *(s for k in range(self.chosen.count) for s in one(_int(self.span, k))))
        number = ir.Variable("k", INT32, "local", self.span)
        start, stop, step = (_int(self.span, n) for n in (0, self.chosen.count, 1))
        return (*blank, ir.For(self.span, number, start, stop, step, one(self.load(number)), unroll=True))

    def argument(self, param: _Given, number: ir.Expr, last: ir.Expr) -> ir.Expr:
        """What the function of an element is given for a parameter."""
        if isinstance(param, ir.ThreadIndex):
            return self.at(param, last)
        if isinstance(param, ir.Variable):
            return self.load(param)
        if param in self.together:
            return self.value(param, number)
        return self.element_at(param, last)

    def element_at(self, name: str, last: ir.Expr) -> ir.Load:
        place = self.place(name, last)
        return ir.Load(self.span, place.type, place)

    def plus(self, first: ir.Expr, number: ir.Expr) -> ir.Expr:
        if isinstance(number, ir.Const):
            return plus(first, int(number.value))
        return ir.Binary(self.span, INT32, "add", first, number)

    def blank(self, name: str) -> ir.Block:
        """Words before their parts are put in; other elements need nothing."""
        variable = self.values(name)
        if self.buffers[name].element.size >= _WORD:
            return ()
        zero: ir.Expr = ir.Const(self.span, UINT32, 0)
        if isinstance(variable.type, Vector):
            zero = ir.Construct(self.span, variable.type, (zero,))
        return (ir.Assign(self.span, ir.Local(self.span, variable.type, variable), zero),)

    def called(
        self, function: ir.Function, args: list[ir.Expr], suffix: str, store: Callable[[str, ir.Expr], ir.Stmt]
    ) -> ir.Block:
        """The call for an element, and where its results go."""
        results = tuple(
            ir.Variable(f"{name}_value{suffix}", kind, "local", self.span, temporary=True)
            for name, kind in zip(self.chosen.written, function.results, strict=True)
        )
        stored = (store(n, self.load(v)) for n, v in zip(self.chosen.written, results, strict=True))
        return (ir.Call(self.span, function.name, tuple(args), results), *stored)

    def one_by_one(self, function: ir.Function, params: list[_Given], first: ir.Expr, domain: ir.Expr) -> ir.Block:
        """The elements of a piece that is not whole."""
        span = self.span
        index = ir.Variable(f"{self.original.index_name}_{self.rank - 1}", INT32, "local", span)
        at = self.load(index)
        args: list[ir.Expr] = []
        for param in params:
            if isinstance(param, ir.ThreadIndex):
                args.append(self.at(param, at))
            elif isinstance(param, ir.Variable):
                args.append(self.load(param))
            else:
                args.append(self.element_at(param, at))
        block = self.called(function, args, "", lambda name, value: ir.Assign(span, self.place(name, at), value))
        for test in reversed(self.body.tests):
            block = (ir.If(span, self.at(test, at), block, ()),)
        start = ir.Builtin(span, INT32, "max", (first, _int(span, 0))) if self.is_shifted else first
        stop = ir.Builtin(span, INT32, "min", (plus(first, self.chosen.count), domain))
        return (ir.For(span, index, start, stop, _int(span, 1), block),)


def _returning(block: ir.Block, end: ir.Return) -> ir.Block:
    """The block with results at each return, which is a statement of its place."""
    return tuple(
        dataclasses.replace(end, span=s.span)
        if isinstance(s, ir.Return)
        else ir.map_blocks(s, lambda inner: _returning(inner, end))
        for s in block
    )


def _directly(block: ir.Block) -> ir.Block:
    """The block without a variable that is assigned to be returned."""
    *before, end = block
    last = before[-1] if before else None
    if not isinstance(last, ir.Assign) or not isinstance(end, ir.Return) or len(end.values) != 1 or last.update:
        return block
    (value,) = end.values
    if not isinstance(value, ir.Load) or value.place != last.place:
        return block
    return (*before[:-1], ir.Return(last.span, (last.value,)))
