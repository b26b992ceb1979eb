"""Small constructors of IR, and the names that instrumentation adds to a kernel."""

from __future__ import annotations

from typing import Any

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.build import Builder
from vkamp.ir.fences import FENCES
from vkamp.ir.types import INT32, UINT32, Scalar

#: The container for the findings.  Names with a space cannot occur in the source.
REPORT = "check report"
#: The place of statements without a Python line.
NOWHERE = Span("", 0, 0, 0, 0)


def _thread(name: str) -> ir.Variable:
    return ir.Variable(name, UINT32, "thread", NOWHERE, temporary=True)


class THREAD:
    """The variables of a thread: the numbers of its tile and of itself, and the signatures of its accesses.

    ``signature`` is the thread in the launch, ``in_static`` and ``in_global`` the thread in its tile with the number of
    the barrier interval of that memory (0: not checked); the lowest bits of each are free for a site. ``static_at`` is
    the start of the shadow of the tile's tile_static memory. ``iterations`` counts those of the thread's loops.
    """

    tile = _thread("check tile")
    local = _thread("check local")
    signature = _thread("launch signature")
    in_static = _thread("tile_static signature")
    in_global = _thread("global signature")
    static_at = _thread("tile_static shadow")
    iterations = _thread("check iterations")


def is_simple(expr: ir.Expr) -> bool:
    """Whether an expression may occur several times in one statement's instrumentation."""
    if isinstance(expr, ir.Load):
        return isinstance(expr.place, ir.Local) and isinstance(expr.type, Scalar)
    if isinstance(expr, ir.Cast):
        return expr.type in (INT32, UINT32) and expr.operand.type in (INT32, UINT32) and is_simple(expr.operand)
    return isinstance(expr, (ir.Const, *ir.GIVEN))


def uint(value: int) -> ir.Const:
    """A uint32 literal."""
    return ir.Const(NOWHERE, UINT32, value & 0xFFFFFFFF)


class Maker(Builder):
    """Creates what instrumentation adds to a kernel."""

    def as_uint(self, expr: ir.Expr) -> ir.Expr:
        """An integer or bool as uint32."""
        if isinstance(expr, ir.Const):
            return ir.Const(self.span, UINT32, int(expr.value) & 0xFFFFFFFF)
        return expr if expr.type == UINT32 else ir.Cast(self.span, UINT32, expr)

    def binary(self, op: Any, left: ir.Expr, right: ir.Expr) -> ir.Expr:
        """An operation on two uint32; constants are folded, and operations without effect are omitted."""
        if isinstance(left, ir.Const) and isinstance(right, ir.Const):
            a, b = int(left.value), int(right.value)
            folded = {"add": a + b, "sub": a - b, "mul": a * b}.get(op)
            if folded is not None:
                return ir.Const(self.span, UINT32, folded & 0xFFFFFFFF)
        for one, other in ((left, right), (right, left)):
            if not isinstance(one, ir.Const):
                continue
            if (op == "add" and one.value == 0) or (op == "mul" and one.value == 1):
                return other
            if op == "mul" and one.value == 0:
                return one
        return ir.Binary(self.span, UINT32, op, left, right)

    def add(self, *terms: ir.Expr) -> ir.Expr:
        """A sum of uint32, its constants last."""
        constant = sum(int(t.value) for t in terms if isinstance(t, ir.Const))
        total: ir.Expr = uint(0)
        for term in (*(t for t in terms if not isinstance(t, ir.Const)), uint(constant)):
            total = self.binary("add", total, term)
        return total

    def mul(self, left: ir.Expr, right: ir.Expr | int) -> ir.Expr:
        """A product of uint32."""
        return self.binary("mul", left, uint(right) if isinstance(right, int) else right)

    def word(self, at: ir.Expr) -> ir.BufferElement:
        """A word of the report."""
        return ir.BufferElement(self.span, UINT32, REPORT, (at,))

    def call(self, function: str, *args: ir.Expr) -> ir.Call:
        """A call of a helper."""
        return ir.Call(self.span, function, args)

    def atomic(self, name: str, at: ir.Expr, value: ir.Expr, result: ir.Variable | None = None) -> ir.Atomic:
        """An atomic update of a word of the report."""
        return ir.Atomic(self.span, name, self.word(at), (value,), result)

    def fence(self) -> ir.Barrier:
        """Orders the accesses of this thread to the report."""
        return ir.Barrier(self.span, FENCES["global_memory_fence"])
