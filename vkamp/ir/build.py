"""Constructors of nodes at one place of the Python source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.rewrite import declaring
from vkamp.ir.types import BOOL, INT32, Scalar, Type, Vector


class Builder:
    """Makes nodes at ``span``."""

    def __init__(self, span: Span) -> None:
        self.span = span

    def int(self, value: int) -> ir.Const:
        """An int32 literal."""
        return ir.Const(self.span, INT32, value)

    def zero(self, kind: Type) -> ir.Expr:
        """Zero of a scalar or short vector."""
        if isinstance(kind, Vector):
            return ir.Construct(self.span, kind, (self.zero(kind.element),))
        assert isinstance(kind, Scalar)
        values: dict[str, bool | float] = {"bool": False, "float": 0.0}
        return ir.Const(self.span, kind, values.get(kind.kind, 0))

    def local(self, variable: ir.Variable) -> ir.Local:
        """A whole variable as a place."""
        return ir.Local(self.span, variable.type, variable)

    def load(self, what: ir.Variable | ir.Place) -> ir.Load:
        """The value of a variable or place."""
        place = self.local(what) if isinstance(what, ir.Variable) else what
        return ir.Load(self.span, place.type, place)

    def binary(self, op: Any, left: ir.Expr, right: ir.Expr) -> ir.Expr:
        """Creates an operation on two operands of one type."""
        return ir.Binary(self.span, left.type, op, left, right)

    def compare(self, op: Any, left: ir.Expr, right: ir.Expr) -> ir.Expr:
        """A comparison."""
        return ir.Compare(self.span, BOOL, op, left, right)

    def both(self, conditions: Sequence[ir.Expr]) -> ir.Expr:
        """Whether all of some conditions hold."""
        first, *others = conditions
        for other in others:
            first = ir.Logical(self.span, BOOL, "and", first, other)
        return first

    def opposite(self, condition: ir.Expr) -> ir.Expr:
        """Whether a condition does not hold."""
        return ir.Unary(self.span, BOOL, "not", condition)

    def set(self, what: ir.Variable | ir.Place, value: ir.Expr) -> ir.Assign:
        """An assignment."""
        return ir.Assign(self.span, self.local(what) if isinstance(what, ir.Variable) else what, value)

    def when(self, condition: ir.Expr, then: Sequence[ir.Stmt], orelse: Sequence[ir.Stmt] = ()) -> ir.If:
        """A branch."""
        return ir.If(self.span, condition, tuple(then), tuple(orelse))

    def function(
        self, name: str, doc: str, params: Sequence[ir.Variable], results: tuple[Type, ...], body: ir.Block
    ) -> ir.Function:
        """A function that does what ``doc`` says; its variables are those that its body names."""
        return declaring(ir.Function(name, name, tuple(params), results, (), body, self.span, doc))
