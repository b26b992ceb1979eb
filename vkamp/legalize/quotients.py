"""Quotients and remainders of sums of which a part is a multiple of the divisor: IR -> IR, before printing.

``(t + 128 * q) // 32`` is ``t // 32 + 4 * q``, and ``(t + 128 * q) % 32`` is ``t % 32``, where the sum does not wrap.
The threads of a tile that copy a block in a loop over ``q`` compute the left forms in every iteration; the right ones
leave a sum with a constant once the driver has unrolled the loop.  A driver cannot know that the sum does not wrap; the
ranges of its parts tell.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import operation
from vkamp.ir.arithmetic import BINARY, Interval, wrapped
from vkamp.ir.dataflow import assigned, read_value, targets
from vkamp.ir.ranges import Ranges
from vkamp.ir.requirements import memory_unit
from vkamp.ir.rewrite import without_unused
from vkamp.ir.types import INT32, UINT32, Scalar, int_range

#: The most parts of a sum, and expressions whose value no statement changes.
_MAX_PARTS = 6
_CONSTANT = (ir.Const, ir.ThreadIndex, ir.ScalarValue, ir.BufferExtent)


@dataclasses.dataclass(frozen=True)
class _Sum:
    """The sum of ``parts``, each times its factor, and ``constant``."""

    parts: dict[ir.Expr, int]
    constant: int = 0

    def plus(self, other: _Sum, factor: int) -> _Sum:
        """This sum and ``factor`` times another one."""
        parts = dict(self.parts)
        for part, times in other.parts.items():
            parts[part] = parts.get(part, 0) + factor * times
        return _Sum({p: f for p, f in parts.items() if f}, self.constant + factor * other.constant)

    def interval(self, ranges: Ranges) -> Interval:
        """What the sum can be, before it wraps."""
        low = high = self.constant
        for part, factor in self.parts.items():
            ends = [factor * end for end in ranges.of(part)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def expression(self, like: ir.Expr) -> ir.Expr:
        """The sum as an expression of the type of ``like``."""
        assert isinstance(like.type, Scalar)
        total: ir.Expr | None = None
        for part, factor in self.parts.items():
            factor_of = ir.Const(like.span, like.type, wrapped(factor, like.type))
            one = operation(like.span, like.type, "mul", part, factor_of)
            total = one if total is None else operation(like.span, like.type, "add", total, one)
        constant = ir.Const(like.span, like.type, wrapped(self.constant, like.type))
        return constant if total is None else operation(like.span, like.type, "add", total, constant)


def split_quotients(kernel: ir.Kernel) -> ir.Kernel:
    """Moves multiples of the divisor out of quotients and remainders."""
    unit = memory_unit(kernel)
    return ir.map_functions(kernel, lambda f: _function(f, Ranges(f, kernel.tile, kernel.lanes, unit)))


def _function(function: ir.Function, ranges: Ranges) -> ir.Function:
    splitter = _QuotientSplitter(ranges)
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

    def block(self, block: ir.Block, known: dict[str, _Sum]) -> ir.Block:
        """The block, with the values that variables have before it; ``known`` becomes those that they have after it."""
        return tuple(self._statement(statement, known) for statement in block)

    def _statement(self, statement: ir.Stmt, known: dict[str, _Sum]) -> ir.Stmt:
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

    def _operand(self, operand: ir.Node, known: dict[str, _Sum]) -> ir.Node:
        return ir.transform(operand, lambda node: self._split(node, known))

    def _split(self, node: ir.Node, known: dict[str, _Sum]) -> ir.Node:
        """A quotient or remainder without multiples of its divisor; any other node as it is."""
        if not isinstance(node, ir.Binary) or node.type not in (INT32, UINT32) or not isinstance(node.right, ir.Const):
            return node
        divisor = _divisor(node.op, int(node.right.value))
        if divisor is None:
            return node
        total = _sum_of(node.left, known)
        whole, rest = divmod(total.constant, divisor)
        others = _Sum({p: f for p, f in total.parts.items() if f % divisor}, rest)
        multiples = _Sum({p: f // divisor for p, f in total.parts.items() if f % divisor == 0}, whole)
        if not (multiples.parts or whole) or not total.parts or len(total.parts) > _MAX_PARTS:
            return node
        if not self._fits(total, node.type) or not self._fits(others, node.type) or self._low(others) < 0:
            return node
        self.replaced |= read_value(node.left) & set(known)
        is_small = others.interval(self._ranges)[1] < divisor
        left = others.expression(node)
        if node.op in ("floormod", "bitand"):
            return left if is_small else dataclasses.replace(node, left=left)
        quotient = multiples.expression(node)
        if is_small:
            return quotient
        return operation(node.span, node.type, "add", dataclasses.replace(node, left=left), quotient)

    def _fits(self, total: _Sum, kind: Scalar) -> bool:
        low, high = total.interval(self._ranges)
        least, most = int_range(kind)
        return least <= low and high <= most

    def _low(self, total: _Sum) -> int:
        return total.interval(self._ranges)[0]


def _divisor(op: str, right: int) -> int | None:
    """The number above 1 by which an operation with this right operand divides, rounding down."""
    if op in ("floordiv", "floormod"):
        return right if right > 1 else None
    if op == "shr":
        return 1 << right if 0 < right < 31 else None
    return right + 1 if op == "bitand" and right > 0 and right & (right + 1) == 0 else None


def _sum_of(expr: ir.Expr, known: dict[str, _Sum]) -> _Sum:
    """An integer expression as a sum, right modulo the size of its type."""
    if isinstance(expr, ir.Const):
        return _Sum({}, int(expr.value))
    if isinstance(expr, ir.Load) and isinstance(expr.place, ir.Local):
        return known.get(expr.place.variable.name) or _Sum({expr: 1})
    if isinstance(expr, ir.Binary) and expr.op in ("add", "sub"):
        return _sum_of(expr.left, known).plus(_sum_of(expr.right, known), 1 if expr.op == "add" else -1)
    if isinstance(expr, ir.Binary) and expr.op in ("mul", "shl"):
        factor, other = expr.right, expr.left
        if expr.op == "mul" and isinstance(other, ir.Const):
            factor, other = other, factor
        if isinstance(factor, ir.Const) and (expr.op == "mul" or 0 <= factor.value < 31):
            return _Sum({}).plus(_sum_of(other, known), int(BINARY[expr.op].apply(1, int(factor.value))))
    return _Sum({expr: 1})


def _assigned_sum(statement: ir.Stmt, known: dict[str, _Sum]) -> dict[str, _Sum]:
    """The sum that a statement assigns to a variable, by its name."""
    if not isinstance(statement, ir.Assign) or not isinstance(statement.place, ir.Local):
        return {}
    variable = statement.place.variable
    if variable.storage not in ("local", "parameter") or variable.type not in (INT32, UINT32):
        return {}
    value = _sum_of(statement.value, known)
    names = {name for part in value.parts for name in read_value(part)}
    if len(value.parts) > _MAX_PARTS or variable.name in names or not all(map(_is_kept, value.parts)):
        return {}
    if not value.constant and list(value.parts.values()) == [1]:
        # A name for another value is for people.
        return {}
    return {variable.name: value}


def _is_kept(part: ir.Expr) -> bool:
    """Whether only an assignment to a variable can change the value of a part of a sum."""
    if isinstance(part, ir.Load):
        return isinstance(part.place, ir.Local) and part.place.variable.storage in ("local", "parameter")
    return isinstance(part, _CONSTANT)


def _forget(known: dict[str, _Sum], changed: Iterable[str]) -> None:
    """Drops the sums of variables that change, and those in which one is a part."""
    names = set(changed)
    for name, value in list(known.items()):
        if name in names or any(names & read_value(part) for part in value.parts):
            del known[name]
