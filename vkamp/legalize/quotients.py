"""Quotients and remainders of sums of which a part is a multiple of the divisor: IR -> IR, before printing.

``(t + 128 * q) // 32`` is ``t // 32 + 4 * q``, and ``(t + 128 * q) % 32`` is ``t % 32``, where the sum does not wrap.
The threads of a tile that copy a block in a loop over ``q`` compute the left forms in every iteration; the right ones
leave a sum with a constant once the driver has unrolled the loop.  A driver cannot know that the sum does not wrap; the
ranges of its parts tell.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import Affine, affine, operation
from vkamp.ir.arithmetic import Interval, wrapped
from vkamp.ir.dataflow import assigned, read_value, targets
from vkamp.ir.ranges import Ranges
from vkamp.ir.requirements import memory_unit
from vkamp.ir.rewrite import without_unused
from vkamp.ir.types import INT32, UINT32, Scalar, int_range

#: The most parts of a sum, and expressions whose value no statement changes.
_MAX_PARTS = 6
_CONSTANT = (ir.Const, ir.ThreadIndex, ir.ScalarValue, ir.BufferExtent)


def split_quotients(kernel: ir.Kernel) -> ir.Kernel:
    """Moves multiples of the divisor out of quotients and remainders."""
    unit = memory_unit(kernel)
    return ir.map_functions(kernel, lambda f: _function(f, kernel, unit))


def _function(function: ir.Function, kernel: ir.Kernel, unit: int) -> ir.Function:
    nodes = (node for statement in ir.walk_statements(function.body) for node in ir.own_nodes(statement))
    if not any(_divisor(node) for node in nodes):
        return function
    splitter = _QuotientSplitter(Ranges(function, kernel.tile, kernel.lanes, unit))
    body = splitter.block(function.body, {})
    if body == function.body:
        return function
    return dataclasses.replace(function, body=without_unused(body, splitter.replaced))


class _QuotientSplitter:
    """Rewrites the blocks of one function.

    ``replaced``: the variables that sums have replaced somewhere.  The methods pass on what is known of variables at a
    statement: their values as sums, by name.
    """

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self.replaced: set[str] = set()

    def block(self, block: ir.Block, known: dict[str, Affine]) -> ir.Block:
        """The block, with the values that variables have before it; ``known`` becomes those that they have after it."""
        return tuple(self._statement(statement, known) for statement in block)

    def _statement(self, statement: ir.Stmt, known: dict[str, Affine]) -> ir.Stmt:
        if ir.blocks(statement):
            # Operands may be read after the blocks: a condition of a loop.
            _forget(known, assigned((statement,)))
            statement = ir.map_blocks(statement, lambda inner: self.block(inner, dict(known)))
        statement = ir.map_operands(statement, lambda operand: self._operand(operand, known))
        if not ir.blocks(statement):
            learned = _assigned_sum(statement, known)
            _forget(known, {v.name for v in targets(statement)})
            known.update(learned)
        return statement

    def _operand(self, operand: ir.Node, known: dict[str, Affine]) -> ir.Node:
        return ir.transform(operand, lambda node: self._split(node, known))

    def _split(self, node: ir.Node, known: dict[str, Affine]) -> ir.Node:
        """A quotient or remainder without multiples of its divisor; any other node as it is."""
        divisor = _divisor(node)
        if divisor is None:
            return node
        assert isinstance(node, ir.Binary) and isinstance(node.type, Scalar)
        parts, constant = affine(node.left, known)
        whole, rest = divmod(constant, divisor)
        others = {p: f for p, f in parts.items() if f % divisor}, rest
        multiples = {p: f // divisor for p, f in parts.items() if f % divisor == 0}, whole
        if not (multiples[0] or whole) or not parts or len(parts) > _MAX_PARTS:
            return node
        low, high = _interval(others, self._ranges)
        if (
            low < 0
            or not _fits((low, high), node.type)
            or not _fits(_interval((parts, constant), self._ranges), node.type)
        ):
            return node
        self.replaced |= read_value(node.left) & set(known)
        left = _expression(others, node)
        if node.op in ("floormod", "bitand"):
            return left if high < divisor else dataclasses.replace(node, left=left)
        quotient = _expression(multiples, node)
        if high < divisor:
            return quotient
        return operation(node.span, node.type, "add", dataclasses.replace(node, left=left), quotient)


def _fits(values: Interval, kind: Scalar) -> bool:
    least, most = int_range(kind)
    return least <= values[0] and values[1] <= most


def _divisor(node: ir.Node) -> int | None:
    """The number above 1 by which a quotient or remainder divides, rounding down; ``None`` for other nodes."""
    if not isinstance(node, ir.Binary) or not isinstance(node.right, ir.Const) or node.type not in (INT32, UINT32):
        return None
    op, right = node.op, int(node.right.value)
    if op in ("floordiv", "floormod"):
        return right if right > 1 else None
    if op == "shr":
        return 1 << right if 0 < right < 31 else None
    return right + 1 if op == "bitand" and right > 0 and right & (right + 1) == 0 else None


def _interval(total: Affine, ranges: Ranges) -> Interval:
    """What a sum can be, before it wraps."""
    parts, low = total
    high = low
    for part, factor in parts.items():
        ends = [factor * end for end in ranges.of(part)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _expression(total: Affine, like: ir.Expr) -> ir.Expr:
    """A sum as an expression of the type of ``like``."""
    kind = like.type
    assert isinstance(kind, Scalar)
    parts, constant = total
    products = [
        operation(like.span, kind, "mul", part, ir.Const(like.span, kind, wrapped(factor, kind)))
        for part, factor in parts.items()
    ]
    return functools.reduce(
        functools.partial(operation, like.span, kind, "add"),
        [*products, ir.Const(like.span, kind, wrapped(constant, kind))],
    )


def _assigned_sum(statement: ir.Stmt, known: dict[str, Affine]) -> dict[str, Affine]:
    """The sum that a statement assigns to a variable, by its name."""
    if not isinstance(statement, ir.Assign) or not isinstance(statement.place, ir.Local):
        return {}
    variable = statement.place.variable
    if variable.storage not in ("local", "parameter") or variable.type not in (INT32, UINT32):
        return {}
    parts, constant = affine(statement.value, known)
    names = {name for part in parts for name in read_value(part)}
    if len(parts) > _MAX_PARTS or variable.name in names or not all(map(_is_kept, parts)):
        return {}
    if not constant and list(parts.values()) == [1]:
        # A name for another value is for people.
        return {}
    return {variable.name: (parts, constant)}


def _is_kept(part: ir.Expr) -> bool:
    """Whether only an assignment to a variable can change the value of a part of a sum."""
    if isinstance(part, ir.Load):
        return isinstance(part.place, ir.Local) and part.place.variable.storage in ("local", "parameter")
    return isinstance(part, _CONSTANT)


def _forget(known: dict[str, Affine], changed: Iterable[str]) -> None:
    """Drops the sums of variables that change, and those in which one is a part."""
    names = set(changed)
    for name, value in list(known.items()):
        if name in names or any(names & read_value(part) for part in value[0]):
            del known[name]
