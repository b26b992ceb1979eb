"""Unrolled loops as loops again: IR -> IR, before printing.

The front end copies the body of a ``static_range`` loop, so that whatever follows sees each copy with its constants,
and notes on the statements which copies they are.  A person writes such code as a loop that the driver unrolls.  So
copies that differ in nothing but numbers which the loop's variable gives, ``a * i + b``, become that loop.  Equal
statements mean the same: nothing here has to know what they do.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

from vkamp.errors import Copy, Span
from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import BINARY
from vkamp.ir.dataflow import mentioned
from vkamp.ir.nodes import blocks
from vkamp.ir.types import INT32, Scalar, int_range

#: Whole numbers up to here are exact as floats of a size in bits.
_EXACT = {16: 1 << 11, 32: 1 << 24, 64: 1 << 53}
#: Nodes of a function that are compared, at most: a second or two.
_MAX_WORK = 600_000
#: Neighbouring copies that are alike, while others are not, become a loop from this number on.
_MIN_PART = 3


def reroll(kernel: ir.Kernel, most: int | None = None) -> ir.Kernel:
    """The kernel with loops, which ask to be unrolled, in the place of copies of their bodies.

    ``most``: the statements that the driver unrolls all loops to; it unrolls none that has another loop in it.
    """
    lasting: set[str] | None = None if most is None else set()
    functions = []
    for function in (*kernel.functions, kernel.body):
        if lasting is not None and _lasts(function.body, lasting):
            lasting.add(function.name)
        functions.append(_Rerolling(function, lasting).function())
    if most is not None and sum(_copied(f.body) for f in functions) > most:
        return kernel
    return dataclasses.replace(kernel, functions=tuple(functions[:-1]), body=functions[-1])


def _lasts(block: Sequence[ir.Stmt], lasting: set[str]) -> bool:
    """Whether statements have loops that no driver unrolls, or call one of some functions."""
    for outer in block:
        for statement in ir.walk_statements((outer,)):
            if isinstance(statement, ir.While) or (isinstance(statement, ir.For) and not statement.unroll):
                return True
            if isinstance(statement, ir.Call) and statement.function in lasting:
                return True
    return False


def _copied(block: ir.Block) -> int:
    """The statements that a driver makes of the loops which it is to unroll."""
    return sum(_statements(s) if isinstance(s, ir.For) and s.unroll else sum(map(_copied, blocks(s))) for s in block)


def _statements(statement: ir.Stmt) -> int:
    count = 1 + sum(_statements(s) for inner in blocks(statement) for s in inner)
    if isinstance(statement, ir.For) and statement.unroll:
        assert isinstance(statement.start, ir.Const) and isinstance(statement.step, ir.Const)
        stop = statement.stop.value if isinstance(statement.stop, ir.Const) else statement.start.value
        count *= len(range(int(statement.start.value), int(stop), int(statement.step.value)))
    return count


class _UnlikeError(Exception):
    """Copies that are not the same code."""


@dataclasses.dataclass
class _Run:
    """Neighbouring copies of one loop's body."""

    copy: Copy
    bodies: list[list[ir.Stmt]]

    @property
    def values(self) -> range:
        """What the loop's variable is in each."""
        first = self.copy.number
        return self.copy.values[first : first + len(self.bodies)]


class _Rerolling:
    def __init__(self, function: ir.Function, lasting: set[str] | None) -> None:
        self.source = function
        self.lasting = lasting
        self.variables = {v.name: v for v in (*function.params, *function.variables)}
        self.counters: dict[str, ir.Variable] = {}
        self.added: list[ir.Variable] = []
        #: How many more nodes may be compared.
        self.left = _MAX_WORK
        self._uses: Counter[str] | None = None

    def function(self) -> ir.Function:
        """The function."""
        body = self.block(self.source.body)
        if not self.added:
            return self.source
        return dataclasses.replace(self.source, body=body, variables=(*self.source.variables, *self.added))

    def uses(self) -> Counter[str]:
        """How often the function names each variable."""
        if self._uses is None:
            self._uses = Counter(v.name for v in _mentioned(self.source.body))
        return self._uses

    def block(self, block: ir.Block) -> ir.Block:
        """A block with its loops, and those of the blocks in it."""
        return tuple(self.rolled([ir.map_blocks(s, self.block) for s in block], 0))

    def rolled(self, statements: Sequence[ir.Stmt], depth: int) -> list[ir.Stmt]:
        """Statements with loops for the copies of loops ``depth`` deep in others."""
        out: list[ir.Stmt] = []
        for run in _runs(statements, depth):
            if isinstance(run, ir.Stmt):
                out.append(run)
                continue
            run.bodies = [self.rolled(body, depth + 1) for body in run.bodies]
            out += self.loops(run)
        return out

    def loops(self, run: _Run) -> list[ir.Stmt]:
        """The loops for a run of copies; copies that are like no other stay."""
        if self.lasting is not None and any(_lasts(body, self.lasting) for body in run.bodies):
            return [s for body in run.bodies for s in body]
        whole = self.loop(run, 0, len(run.bodies))
        if whole is not None:
            return [whole]
        out: list[ir.Stmt] = []
        start = 0
        while start < len(run.bodies):
            stop, loop = self.longest(run, start)
            out += run.bodies[start] if loop is None else [loop]
            start = stop
        return out

    def longest(self, run: _Run, start: int) -> tuple[int, ir.Stmt | None]:
        """The loop over as many copies from ``start`` on as are alike, and where they end."""
        best, loop = start + 1, None
        # What is not alike with fewer copies is not with more.
        low, high = start + _MIN_PART, len(run.bodies)
        while low <= high:
            middle = low if loop is None else (low + high + 1) // 2
            found = self.loop(run, start, middle)
            if found is None:
                high = middle - 1
            else:
                best, loop, low = middle, found, middle + 1
        return best, loop

    def loop(self, run: _Run, start: int, stop: int) -> ir.Stmt | None:
        """The loop for some of the copies, if they are alike."""
        bodies, values = run.bodies[start:stop], run.values[start:stop]
        if len(bodies) < 2 or any(len(b) != len(bodies[0]) for b in bodies):
            return None
        if any(_leaves_a_loop(b) for b in bodies):
            return None
        counter = self.counter(run.copy.name, bodies)
        try:
            body = _Merging(self, counter, bodies, values).block(bodies)
        except _UnlikeError:
            return None
        if counter not in self.added:
            self.added.append(counter)
            self.counters.setdefault(run.copy.name, counter)
            self.variables[counter.name] = counter
        span = run.copy.loop
        end = run.copy.values.stop if values[-1] == run.copy.values[-1] else values.stop
        first, after, step = (ir.Const(span, INT32, n) for n in (values[0], end, values.step))
        return ir.For(span, counter, first, after, step, body, unroll=True)

    def counter(self, name: str, bodies: list[list[ir.Stmt]]) -> ir.Variable:
        """The loop's variable: one for all loops of that name that do not lie in each other."""
        known = self.counters.get(name)
        if known is not None and all(v != known for body in bodies for v in _mentioned(body)):
            return known
        names = (name if n == 1 else f"{name}_{n}" for n in itertools.count(1))
        free = next(n for n in names if n not in self.variables)
        return ir.Variable(free, INT32, "local", self.source.span)


def _runs(statements: Sequence[ir.Stmt], depth: int) -> Iterator[ir.Stmt | _Run]:
    """The statements, those in copies of a loop's body together."""
    run: _Run | None = None
    for statement in statements:
        copies = statement.span.copies
        copy = copies[depth] if len(copies) > depth else None
        if run is not None and copy is not None and copy.loop == run.copy.loop and copy.values == run.copy.values:
            number = run.copy.number + len(run.bodies)
            if copy.number == number - 1:
                run.bodies[-1].append(statement)
                continue
            if copy.number == number:
                run.bodies.append([statement])
                continue
        if run is not None:
            yield run
        run = None if copy is None else _Run(copy, [[statement]])
        if copy is None:
            yield statement
    if run is not None:
        yield run


def _mentioned(statements: Sequence[ir.Stmt]) -> Iterator[ir.Variable]:
    """Every mention of a variable."""
    for statement in ir.walk_statements(tuple(statements)):
        yield from mentioned(statement)


class _Merging:
    """Makes one of several copies."""

    def __init__(self, owner: _Rerolling, counter: ir.Variable, bodies: list[list[ir.Stmt]], values: range) -> None:
        self.owner = owner
        self.counter = counter
        self.bodies = bodies
        self.values = values
        #: The first copy's variables, and what each copy has in their places.
        self.own: dict[str, tuple[str, ...]] = {}

    def block(self, blocks: Sequence[Sequence[ir.Stmt]]) -> ir.Block:
        """One block of several."""
        if any(len(b) != len(blocks[0]) for b in blocks):
            raise _UnlikeError
        out = []
        for statements in zip(*blocks, strict=True):
            merged = self.node(statements)
            assert isinstance(merged, ir.Stmt)
            out.append(merged)
        return tuple(out)

    def node(self, nodes: Sequence[ir.Node]) -> ir.Node:
        """One node that is each of ``nodes`` in its copy."""
        first = nodes[0]
        self.owner.left -= len(nodes)
        if self.owner.left < 0:
            raise _UnlikeError
        if isinstance(first, ir.Expr) and any(n.type != first.type for n in nodes if isinstance(n, ir.Expr)):
            raise _UnlikeError
        if any(type(n) is not type(first) for n in nodes):
            return self.aligned(nodes)
        if isinstance(first, ir.Const):
            return self.number(nodes)
        before = dict(self.own)
        try:
            return self.same_class(nodes)
        except _UnlikeError:
            self.own = before
            return self.aligned(nodes)

    def same_class(self, nodes: Sequence[ir.Node]) -> ir.Node:
        """Nodes of one class: each of their fields."""
        first = nodes[0]
        updates: dict[str, object] = {}
        for field in dataclasses.fields(first):
            if field.name == "span":
                continue
            values = [getattr(n, field.name) for n in nodes]
            merged = self.field(values)
            if merged is not values[0]:
                updates[field.name] = merged
        return dataclasses.replace(first, **updates) if updates else first  # type: ignore[arg-type]

    def field(self, values: list[object]) -> object:
        """A node, a variable, several of them, or what has to be equal."""
        first = values[0]
        if isinstance(first, ir.Node):
            if not all(isinstance(v, ir.Node) for v in values):
                raise _UnlikeError
            return self.node(values)  # type: ignore[arg-type]
        if isinstance(first, ir.Variable):
            if not all(isinstance(v, ir.Variable) for v in values):
                raise _UnlikeError
            return self.variable(values)  # type: ignore[arg-type]
        if isinstance(first, tuple) and all(isinstance(v, tuple) and len(v) == len(first) for v in values):
            parts = [self.field(list(part)) for part in zip(*values, strict=True)]
            return first if all(a is b for a, b in zip(parts, first, strict=True)) else tuple(parts)
        if any(type(v) is not type(first) or v != first for v in values):
            raise _UnlikeError
        return first

    def variable(self, variables: Sequence[ir.Variable]) -> ir.Variable:
        """One variable, or one of each copy's own, which nothing else names."""
        first = variables[0]
        names = tuple(v.name for v in variables)
        known = self.own.get(first.name)
        if known is not None and known != names:
            raise _UnlikeError
        if known is None:
            if any(n != first.name for n in names) and not self.are_own(variables):
                raise _UnlikeError
            self.own[first.name] = names
        return first

    def are_own(self, variables: Sequence[ir.Variable]) -> bool:
        """Whether the variables are alike and each belongs to its copy alone."""
        first = variables[0]
        if any(v.type != first.type or v.storage != first.storage for v in variables):
            return False
        if first.storage not in ("local", "private") or len({v.name for v in variables}) != len(variables):
            return False
        uses = self.owner.uses()
        for variable, body in zip(variables, self.bodies, strict=True):
            if sum(v.name == variable.name for v in _mentioned(body)) != uses[variable.name]:
                return False
        return True

    # -- numbers -----------------------------------------------------------------------------------------------

    def number(self, nodes: Sequence[ir.Node]) -> ir.Expr:
        """One constant, or what the loop's variable makes of it."""
        first = nodes[0]
        assert isinstance(first, ir.Const) and isinstance(first.type, Scalar)
        found = [n.value for n in nodes if isinstance(n, ir.Const)]
        if all(repr(v) == repr(first.value) for v in found):
            return first
        kind = first.type
        if kind.kind == "bool" or any(not math.isfinite(v) or v != int(v) for v in found):
            raise _UnlikeError
        # A float must be exact; -0.0 is not.
        if kind.kind == "float" and any(
            abs(v) > _EXACT[kind.bits] or repr(float(int(v))) != repr(float(v)) for v in found
        ):
            raise _UnlikeError
        number = self.line(first.span, [int(v) for v in found])
        return number if kind == INT32 else ir.Cast(first.span, kind, number)

    def line(self, span: Span, numbers: list[int]) -> ir.Expr:
        """The int32 ``factor * variable + offset`` that is each of the numbers in its copy."""
        factor, rest = divmod(numbers[1] - numbers[0], self.values.step)
        offset = numbers[0] - factor * self.values[0]
        least, most = int_range(INT32)
        if rest or any(factor * x + offset != n for x, n in zip(self.values, numbers, strict=True)):
            raise _UnlikeError
        if any(not least < n <= most for x in self.values for n in (factor, offset, factor * x, factor * x + offset)):
            raise _UnlikeError
        variable: ir.Expr = ir.Load(span, INT32, ir.Local(span, INT32, self.counter))
        if factor == -1:
            if offset:
                return ir.Binary(span, INT32, "sub", ir.Const(span, INT32, offset), variable)
            return ir.Unary(span, INT32, "neg", variable)
        if factor != 1:
            variable = ir.Binary(span, INT32, "mul", ir.Const(span, INT32, factor), variable)
        if offset == 0:
            return variable
        return ir.Binary(span, INT32, "add", variable, ir.Const(span, INT32, offset))

    # -- what the front end left out ---------------------------------------------------------------------------

    def aligned(self, nodes: Sequence[ir.Node]) -> ir.Node:
        """Nodes of which some lack an operation that changes nothing in their copy: ``x + 0``, ``x * 1``, ``0 * x``."""
        sizes = [_size(n) for n in nodes]
        fullest = nodes[sizes.index(max(sizes))]
        if not isinstance(fullest, ir.Binary) or min(sizes) == max(sizes):
            raise _UnlikeError
        is_right = isinstance(fullest.right, ir.Const)
        row = BINARY[fullest.op]
        neutral = row.right_neutral if is_right else row.left_neutral
        kind = fullest.type
        constant = fullest.right if is_right else fullest.left
        if neutral is None or not isinstance(constant, ir.Const) or not isinstance(kind, Scalar) or not kind.is_integer:
            raise _UnlikeError
        before = dict(self.own)
        try:
            return self.completed(nodes, fullest, constant, neutral, 0)
        except _UnlikeError:
            # An operation of that kind may also be the whole operand.
            self.own = before
            return self.completed(nodes, fullest, constant, neutral, max(sizes))

    def completed(
        self, nodes: Sequence[ir.Node], fullest: ir.Binary, constant: ir.Const, neutral: int, least: int
    ) -> ir.Node:
        """Nodes that all do what ``fullest`` does; those of less than ``least`` nodes lack it."""
        is_right = fullest.right is constant
        operand = fullest.left if is_right else fullest.right
        operands: list[ir.Node] = []
        constants: list[ir.Node] = []
        for node in nodes:
            other, number = node, ir.Const(constant.span, constant.type, neutral)
            if isinstance(node, ir.Binary) and node.op == fullest.op and _size(node) >= least:
                other, found = (node.left, node.right) if is_right else (node.right, node.left)
                if not isinstance(found, ir.Const):
                    raise _UnlikeError
                number = found
            elif fullest.op == "mul" and isinstance(node, ir.Const) and node.value == 0 and _is_harmless(operand):
                other, number = operand, dataclasses.replace(number, value=0)
            operands.append(other)
            constants.append(number)
        b = self.number(constants)
        a = self.node(operands)
        assert isinstance(a, ir.Expr)
        return dataclasses.replace(fullest, left=a if is_right else b, right=b if is_right else a)


def _leaves_a_loop(block: Sequence[ir.Stmt]) -> bool:
    """Whether a jump belongs to a loop around the block: within a new loop it would leave that one instead."""
    return any(
        isinstance(s, (ir.Break, ir.Continue))
        or (not isinstance(s, (ir.For, ir.While)) and any(_leaves_a_loop(inner) for inner in blocks(s)))
        for s in block
    )


def _size(node: ir.Node) -> int:
    return sum(1 for _ in ir.walk(node))


def _is_harmless(expr: ir.Expr) -> bool:
    """Whether an expression may be evaluated where it was not: it reads no memory."""
    return all(not isinstance(n, ir.Load) or isinstance(n.place, ir.Local) for n in ir.walk(expr))
