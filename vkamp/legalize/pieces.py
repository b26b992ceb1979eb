"""Combines accesses to adjacent elements.

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
from collections.abc import Callable, Iterator

from vkamp.artifacts import Pieces, Target
from vkamp.ir import nodes as ir
from vkamp.ir.addresses import element_number
from vkamp.ir.algebra import sum_of
from vkamp.ir.build import Builder
from vkamp.ir.dataflow import exposed
from vkamp.ir.lowered import LaunchWord
from vkamp.ir.rewrite import changed, declaring, nowhere
from vkamp.ir.types import INT32, NARROW_FLOATS, UINT32, VECTOR_LETTERS, Scalar, Type, Vector
from vkamp.legalize.plain_bodies import (
    WORD,
    ElementBlock,
    PieceChoice,
    PlainBody,
    chosen,
    names_index,
    peeled,
)
from vkamp.legalize.word_parts import with_word_part, word_part

#: Up to this many elements, the calls for a piece are unrolled; beyond that they are in a loop.
_MAX_IN_A_ROW = 4
#: Comparisons that hold for all of a piece if they hold for its last element, and those for its first.
_UPPER, _LOWER = ("lt", "le"), ("gt", "ge")


def in_pieces(kernel: ir.Kernel, target: Target) -> tuple[ir.Kernel, Pieces | None]:
    """The kernel with a piece for each thread, and where the pieces begin; the same kernel and ``None`` where that is
    impossible, or gains nothing.

    ``target.pieces``: the most elements of a piece; ``target.whole`` and ``target.flat``: what the launch knows of the
    containers.
    """
    if target.pieces < 2 or target.folded or kernel.tile is not None or kernel.thread_variables:
        return kernel, None
    body = peeled(kernel)
    if body is None:
        return kernel, None
    choice = chosen(kernel, body, target, flat=True) if kernel.rank > 1 and not body.tests else None
    choice = choice or chosen(kernel, body, target, flat=False)
    return (kernel, None) if choice is None else _PieceKernel(kernel, body, choice, target).kernel()


#: What a parameter of the function of an element is: an index, a launch value as a narrow float, a container's element.
_Given = ir.ThreadIndex | ir.Variable | str


class _PieceKernel:
    def __init__(self, kernel: ir.Kernel, body: PlainBody, choice: PieceChoice, target: Target) -> None:
        self.body = body
        self.choice = choice
        self.count = choice.count
        self.own = {*choice.read, *choice.written}
        #: The container that says where pieces begin, and those whose pieces begin there, too.
        self.first_written = choice.written[0]
        groups = (group for group in target.together if self.first_written in group)
        self.together = self.own & {self.first_written, *next(groups, ())}
        self.original = kernel
        self.rank = 1 if choice.flat else kernel.rank
        self.buffers = {b.name: self.buffer(b) for b in kernel.buffers}
        # Of nodes that belong to no line of the program.
        self.span = nowhere(kernel.span)
        self.make = Builder(self.span)
        self.first = ir.Variable("first", INT32, "local", self.span, temporary=True)
        #: Launch values as narrow floats, each a conversion that is done once for all elements of a piece.
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
        body = dataclasses.replace(self.original.body, body=self.main(function, params, loaded), variables=())
        kernel = dataclasses.replace(
            self.original,
            rank=self.rank,
            buffers=tuple(self.buffers.values()),
            functions=(*self.original.functions, declaring(function)),
            body=declaring(body),
            views=frozenset((name, self.kind(name)) for name in self.together),
        )
        return kernel, Pieces(self.count, self.choice.flat, self.is_shifted)

    # -- one element ---------------------------------------------------------------------------------------------

    def element(self) -> tuple[ir.Function, list[_Given], list[str]] | None:
        """Makes a function of the body. Returns it, what each of its parameters is, and the containers whose elements
        it needs. The parameters are the thread's index (if it is used), narrow floats of the launch, and elements.
        """
        elements = ElementBlock(self.body, self.own, self.original.rank)
        block = elements.block()
        values = elements.variables
        results = [values[name] for name in self.choice.written]
        end = ir.Return(self.span, tuple(map(self.make.load, results)))
        block = _directly((*_returning(block, end), end))
        needed = exposed(block)
        loaded = [b.name for b in self.original.buffers if b.name in values and values[b.name].name in needed]
        # They would be loaded for those of their elements alone that are not stored; parts of words save more.
        if any(name not in self.choice.read and self.buffers[name].element.size >= WORD for name in loaded):
            return None
        given = {values[n].name: dataclasses.replace(values[n], storage="parameter") for n in loaded}
        indices: dict[int, ir.Variable] = {}

        def change(node: ir.Node) -> ir.Node:
            make = Builder(node.span)
            if isinstance(node, ir.ThreadIndex):
                if node.dim not in indices:
                    index = elements.new(f"{self.original.index_name}_{node.dim}", INT32, node.span)
                    indices[node.dim] = dataclasses.replace(index, storage="parameter")
                return make.load(indices[node.dim])
            if isinstance(node, ir.Cast) and isinstance(node.operand, ir.ScalarValue) and node.type in NARROW_FLOATS:
                name = node.operand.name
                if name not in self.halves:
                    self.halves[name] = elements.new(f"{name}_half", node.type, node.span)
                return make.load(dataclasses.replace(self.halves[name], storage="parameter"))
            if isinstance(node, ir.Local) and node.variable.name in given:
                return dataclasses.replace(node, variable=given[node.variable.name])
            return node

        block = ir.map_block(block, change)
        dims = sorted(indices)
        halves = tuple(self.halves.values())
        params = (
            *(indices[d] for d in dims),
            *(dataclasses.replace(half, storage="parameter") for half in halves),
            *given.values(),
        )
        passed: list[_Given] = [*(ir.ThreadIndex(self.span, INT32, "global", d) for d in dims), *halves, *loaded]
        kinds = tuple(v.type for v in results)
        body = self.original.body
        function = ir.Function(self.name, "element", params, kinds, body.variables, block, body.span)
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

    def place(self, name: str, last: ir.Expr) -> ir.BufferElement:
        """An element of the row of the thread."""
        before = (ir.ThreadIndex(self.span, INT32, "global", d) for d in range(self.rank - 1))
        return ir.BufferElement(self.span, self.buffers[name].element, name, (*before, last))

    def number(self, name: str, last: ir.Expr) -> ir.Expr:
        """The number of an element in its memory."""
        return element_number(self.buffers[name], self.place(name, last).indices)

    def kind(self, name: str) -> Scalar | Vector:
        """The type of a piece."""
        element, count = self.buffers[name].element, self.count
        assert isinstance(element, Scalar)
        if element.size < WORD:
            element, count = UINT32, count * element.size // WORD
        return element if count == 1 else Vector(element, count)

    def values(self, name: str) -> ir.Variable:
        """The variable for a piece."""
        return ir.Variable(f"{name}_values", self.kind(name), "local", self.span)

    def in_values(self, name: str, number: ir.Expr) -> ir.Place:
        """An element of a variable, or the word that contains it."""
        variable, element = self.values(name), self.buffers[name].element
        base = self.make.local(variable)
        if not isinstance(variable.type, Vector):
            return base
        by = (WORD // element.size).bit_length() - 1 if element.size < WORD else 0
        if isinstance(number, ir.Const):
            letter = VECTOR_LETTERS[int(number.value) >> by]
            return ir.ComponentsOf(self.span, variable.type.element, base, letter)
        if by:
            number = self.make.binary("shr", number, self.make.int(by))
        return ir.ArrayElement(self.span, variable.type.element, base, (number,))

    def value(self, name: str, number: ir.Expr) -> ir.Expr:
        """The value of an element of a piece."""
        element, loaded = self.buffers[name].element, self.make.load(self.in_values(name, number))
        assert isinstance(element, Scalar)
        return loaded if element.size >= WORD else word_part(loaded, number, element)

    def put(self, name: str, number: ir.Expr, last: ir.Expr, value: ir.Expr) -> ir.Stmt:
        """Stores an element in the piece, or in memory if the container has no pieces."""
        if name not in self.together:
            return self.make.set(self.place(name, last), value)
        place, element = self.in_values(name, number), self.buffers[name].element
        if element.size < WORD:
            assert isinstance(element, Scalar)
            value = with_word_part(self.make.load(place), number, value, element)
        return self.make.set(place, value)

    def main(self, function: ir.Function, params: list[_Given], loaded: list[str]) -> ir.Block:
        make, last = self.make, self.rank - 1
        start = make.binary("mul", ir.ThreadIndex(self.span, INT32, "global", last), make.int(self.count))
        if self.is_shifted:
            begin = self.number(self.first_written, make.int(0))
            start = make.binary("sub", start, make.binary("bitand", begin, make.int(self.count - 1)))
        first = make.load(self.first)
        domain = ir.Cast(self.span, INT32, LaunchWord(self.span, UINT32, "domain", "", last))
        whole = (
            *(make.set(self.values(n), make.load(self.view(n))) for n in loaded if n in self.together),
            *self.calls(function, params),
            *(make.set(self.view(n), make.load(self.values(n))) for n in self.choice.written if n in self.together),
        )
        return (
            ir.Remark(self.span, self.remark()),
            make.set(self.first, start),
            make.when(make.compare("ge", first, domain), [ir.Return(self.span)]),
            *(make.set(half, self.as_half(name, half.type)) for name, half in self.halves.items()),
            make.when(self.fits(first, domain), whole, self.one_by_one(function, params, first, domain)),
        )

    def as_half(self, name: str, narrow: Type) -> ir.Expr:
        (kind,) = (scalar.type for scalar in self.original.scalars if scalar.name == name)
        return ir.Cast(self.span, narrow, ir.ScalarValue(self.span, kind, name))

    def remark(self) -> str:
        where = f", aligned to {self.first_written}" if self.is_shifted else ""
        flat = "; the domain is one row" if self.choice.flat else ""
        return f"Each thread processes {self.count} adjacent elements{where}{flat}."

    def fits(self, first: ir.Expr, domain: ir.Expr) -> ir.Expr:
        """Whether a piece is whole: within the domain and the tests around the body, and where its containers say."""
        tests = [self.make.compare("le", sum_of(first, self.count), domain)]
        if self.is_shifted:
            tests.insert(0, self.make.compare("ge", first, self.make.int(0)))
        return self.make.both([*tests, *(self.for_all(t, first) for t in self.body.tests), *self.aligned(first)])

    def aligned(self, first: ir.Expr) -> Iterator[ir.Expr]:
        """Tests that pieces of containers begin where they are said to begin, where that is not certain."""
        for name in (b.name for b in self.original.buffers if b.name in self.together):
            if name == self.first_written or (not self.is_shifted and self.is_aligned(name)):
                continue
            rest = self.make.binary("bitand", self.number(name, first), self.make.int(self.count - 1))
            yield self.make.compare("eq", rest, self.make.int(0))

    def for_all(self, test: ir.Compare, first: ir.Expr) -> ir.Expr:
        """A test for all elements of a piece."""
        upper = test.op in (_UPPER if names_index(test.left, self.rank - 1) else _LOWER)
        return self.at(test, sum_of(first, self.count - 1) if upper else first)

    def at(self, expr: ir.Expr, last: ir.Expr) -> ir.Expr:
        """An expression of the thread's index for an element of the row."""

        def change(node: ir.Node) -> ir.Node:
            return last if isinstance(node, ir.ThreadIndex) and node.dim == self.rank - 1 else node

        return changed(expr, change)

    def view(self, name: str) -> ir.Reinterpreted:
        """The piece of a container."""
        place = self.place(name, self.make.load(self.first))
        return ir.Reinterpreted(self.span, self.kind(name), place, self.make.int(0))

    def calls(self, function: ir.Function, params: list[_Given]) -> ir.Block:
        """The calls for the elements of a piece; containers without pieces are accessed element by element."""

        def one(number: ir.Expr) -> ir.Block:
            last = sum_of(self.make.load(self.first), number)
            args = [self.argument(p, last, number) for p in params]
            suffix = f"_{number.value}" if isinstance(number, ir.Const) else "_k"
            return self.called(function, args, suffix, lambda name, value: self.put(name, number, last, value))

        # Words before their parts are put in; other elements need nothing.
        stored = (n for n in self.choice.written if n in self.together and n not in params)
        words = [self.values(n) for n in stored if self.buffers[n].element.size < WORD]
        blank = [self.make.set(v, self.make.zero(v.type)) for v in words]
        if self.count <= _MAX_IN_A_ROW:
            return (*blank, *(s for k in range(self.count) for s in one(self.make.int(k))))
        number = ir.Variable("k", INT32, "local", self.span)
        start, stop, step = map(self.make.int, (0, self.count, 1))
        return (*blank, ir.For(self.span, number, start, stop, step, one(self.make.load(number)), unroll=True))

    def argument(self, param: _Given, last: ir.Expr, number: ir.Expr | None) -> ir.Expr:
        """The argument for a parameter of the function of an element; ``number`` is the element's in a piece."""
        if isinstance(param, ir.ThreadIndex):
            return self.at(param, last)
        if isinstance(param, str) and param in self.together and number is not None:
            return self.value(param, number)
        return self.make.load(self.place(param, last) if isinstance(param, str) else param)

    def called(
        self, function: ir.Function, args: list[ir.Expr], suffix: str, store: Callable[[str, ir.Expr], ir.Stmt]
    ) -> ir.Block:
        """The call for an element, and where its results go."""
        results = tuple(
            ir.Variable(f"{name}_value{suffix}", kind, "local", self.span, temporary=True)
            for name, kind in zip(self.choice.written, function.results, strict=True)
        )
        stored = (store(n, self.make.load(v)) for n, v in zip(self.choice.written, results, strict=True))
        return (ir.Call(self.span, function.name, tuple(args), results), *stored)

    def one_by_one(
        self, function: ir.Function, params: list[_Given], first: ir.Expr, domain: ir.Expr
    ) -> tuple[ir.Stmt, ...]:
        """The elements of a piece that is not whole."""
        make = self.make
        index = ir.Variable(f"{self.original.index_name}_{self.rank - 1}", INT32, "local", self.span)
        at = make.load(index)
        args = [self.argument(p, at, None) for p in params]
        block = self.called(function, args, "", lambda name, value: make.set(self.place(name, at), value))
        for test in reversed(self.body.tests):
            block = (make.when(self.at(test, at), block),)
        start = ir.Builtin(self.span, INT32, "max", (first, make.int(0))) if self.is_shifted else first
        stop = ir.Builtin(self.span, INT32, "min", (sum_of(first, self.count), domain))
        return (ir.For(self.span, index, start, stop, make.int(1), block),)


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
