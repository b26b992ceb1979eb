"""Kernels whose threads can have pieces of several elements: what their bodies are, which containers go in pieces."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from vkamp.artifacts import Target
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import named
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.requirements import access, typed_access
from vkamp.ir.rewrite import Names, fixed_values, substituted, without_unused
from vkamp.ir.types import FLOAT64, INT32, Scalar, Type

#: Bytes of the largest access, and of a word.
_BYTES, WORD = 16, 4
#: A body of more nodes computes more than it moves: its copies would only take long to compile.  A builtin counts as
#: several nodes, in a precise kernel as many.
_MAX_NODES, _FUNCTION, _PRECISE_FUNCTION = 300, 5, 60
#: Statements that a body of a piece may have; none of them loops or waits.
_PLAIN = (ir.Assert, ir.Assign, ir.Call, ir.UniformAssert, ir.If, ir.Remark, ir.Return)
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
#: An index that differs by less from the thread's does not wrap within a domain.
_SMALL_STEP = 1 << 16


@dataclass(frozen=True)
class PlainBody:
    """The kernel's body: the ``tests`` that a thread must pass to do anything, and the ``block`` behind them.

    ``values``: of variables that are nothing but the thread's index, constants and what the launch gives.
    """

    tests: tuple[ir.Compare, ...]
    block: ir.Block
    values: dict[str, ir.Expr]

    def resolved(self, expr: ir.Expr) -> ir.Expr:
        """An expression with such variables' values in their places."""
        return substituted(expr, self.values)


def peeled(kernel: ir.Kernel) -> PlainBody | None:
    """The body of a kernel without the tests around all of it; ``None`` for a long one, and for one with loops, atomics
    or barriers.
    """
    if not all(isinstance(s, _PLAIN) for s in kernel.statements()):
        return None
    if any(isinstance(n, ir.ThreadIndex) for f in kernel.functions for n in ir.walk(*f.body)):
        return None
    if _weight(kernel) > _MAX_NODES:
        return None
    body = PlainBody((), (), fixed_values(kernel.body.body, _reads_nothing))
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
    return PlainBody(tuple(tests), (*before, *rest), body.values)


def _weight(kernel: ir.Kernel) -> int:
    """How much there is to compile."""
    nodes = [n for s in kernel.statements() for n in ir.own_nodes(s)]
    functions = sum(isinstance(n, ir.Builtin) for n in nodes)
    return len(nodes) + functions * (_PRECISE_FUNCTION if kernel.precise else _FUNCTION)


def _is_index_value(statement: ir.Assign, values: dict[str, ir.Expr]) -> bool:
    return isinstance(statement.place, ir.Local) and statement.place.variable.name in values


def _reads_nothing(value: ir.Expr) -> bool:
    return not any(isinstance(n, ir.Load) for n in ir.walk(value))


def _behind_test(head: ir.Stmt, rest: ir.Block, last: int, body: PlainBody) -> tuple[list[ir.Compare], ir.Block] | None:
    """The tests of an ``if`` that contains or precedes all the rest, and the rest."""
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
    with_index = [names_index(side, last) for side in (condition.left, condition.right)]
    if not any(with_index):
        return [condition]
    index = condition.left if with_index[0] else condition.right
    if all(with_index) or condition.op in ("eq", "ne") or not _is_near(index, last):
        return None
    return [condition]


def names_index(expr: ir.Expr, dim: int) -> bool:
    """Whether an expression has a component of the thread's index."""
    return any(isinstance(n, ir.ThreadIndex) and n.dim == dim for n in ir.walk(expr))


def _is_near(expr: ir.Expr, dim: int) -> bool:
    """Whether an expression is a component of the thread's index, or a constant beside it."""
    if isinstance(expr, ir.Binary) and expr.op in ("add", "sub") and isinstance(expr.right, ir.Const):
        return abs(expr.right.value) < _SMALL_STEP and isinstance(expr.left, ir.ThreadIndex)
    return isinstance(expr, ir.ThreadIndex) and expr.dim == dim


@dataclass(frozen=True)
class PieceChoice:
    """The names of the containers that are read and written in pieces, the number of elements of a piece, and whether
    the domain is treated as one row.
    """

    read: tuple[str, ...]
    written: tuple[str, ...]
    count: int
    flat: bool


def chosen(kernel: ir.Kernel, body: PlainBody, target: Target, *, flat: bool) -> PieceChoice | None:
    """What to access in pieces of the containers that the launch allows; ``None`` where it is not every store, or less
    than half of the loads, or where ``flat`` is impossible.
    """
    table, total = typed_access(kernel), access(kernel)
    uses = Counter(kernel.buffer(name).storage for name, _ in table)
    changed = {kernel.buffer(name).storage for (name, _), kind in table.items() if kind.changes}
    own: set[str] = set()
    others: Counter[str] = Counter()
    given = {b.name for b in kernel.buffers if b.by_value}
    for function in kernel.functions:
        # Its variables are not the body's.
        others.update(_container(place) for place in _places(function.body) if _container(place) not in given)
    for place in _places(body.block):
        root = ir.root_of(place)
        assert isinstance(root, ir.BufferElement)
        if root.buffer in given:
            continue
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
    if count < 2 or count * min(sizes) % WORD:
        return None
    if flat and not _is_flat(kernel, body, own):
        return None
    return PieceChoice(read, written, count, flat)


def _container(place: ir.Place) -> str:
    root = ir.root_of(place)
    assert isinstance(root, ir.BufferElement)
    return root.buffer


def _places(block: ir.Block) -> Iterator[ir.Place]:
    """Collects every access to a container."""
    for statement in ir.walk_statements(block):
        if isinstance(statement, ir.Assign) and isinstance(ir.root_of(statement.place), ir.BufferElement):
            yield statement.place
        for node in ir.own_nodes(statement):
            if isinstance(node, ir.Load) and isinstance(ir.root_of(node.place), ir.BufferElement):
                yield node.place


def _is_own(place: ir.BufferElement, rank: int, body: PlainBody) -> bool:
    """Whether a place is the thread's own element."""
    indices = [body.resolved(i) for i in place.indices]
    return len(indices) == rank and all(isinstance(i, ir.ThreadIndex) and i.dim == d for d, i in enumerate(indices))


def _fits(buffer: ir.BufferParam, target: Target) -> bool:
    """Whether there are pieces of a container's elements."""
    kind = buffer.element
    if not isinstance(kind, Scalar):
        return False
    if kind.is_narrow_float and "counted_paths" in target.quirks and not DeviceTypes(target.types).computes(kind):
        # These conversions in integers take SwiftShader longer to compile than pieces save.
        return False
    return kind.size <= WORD or kind == FLOAT64


def _is_flat(kernel: ir.Kernel, body: PlainBody, own: set[str]) -> bool:
    """Whether all can be done as if the domain and the containers had one dimension: nothing else is made of the
    index.
    """
    if any(isinstance(n, ir.BufferExtent) for f in kernel.functions for n in ir.walk(*f.body)):
        return False
    left = ir.walk(*ElementBlock(body, own, kernel.rank).block())
    return not any(isinstance(n, (ir.ThreadIndex, ir.BufferExtent)) for n in left)


class ElementBlock:
    """The block of a body for one element: the thread's own elements are variables."""

    def __init__(self, body: PlainBody, own: set[str], rank: int) -> None:
        self.body = body
        self.own = own
        self.rank = rank
        self.names = Names(named(body.block))
        self.variables: dict[str, ir.Variable] = {}

    def new(self, name: str, kind: Type, span: Span) -> ir.Variable:
        """A variable whose name the block does not use."""
        return ir.Variable(self.names.give(name), kind, "local", span)

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
