"""Arithmetic of floats of 16 bits in float32, each result rounded, where a device lacks it or does it wrongly."""

from __future__ import annotations

from vkamp.ir import nodes as ir
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.types import FLOAT32, Scalar, Type, Vector


def widened(kernel: ir.Kernel, types: DeviceTypes) -> ir.Kernel:
    """The kernel with operations of float32 for those of narrow floats that the device cannot do."""

    def side(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Const):
            return ir.Const(expr.span, FLOAT32, expr.value)
        if isinstance(expr, ir.Construct):
            return ir.Construct(expr.span, _wide(expr.type), tuple(map(side, expr.parts)))
        return ir.Cast(expr.span, _wide(expr.type), expr)

    def change(node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.Binary):
            return node
        kind = node.type.element if isinstance(node.type, Vector) else node.type
        if not isinstance(kind, Scalar) or not kind.is_narrow_float:
            return node
        # Devices divide by a reciprocal, which overflows for denormal float16 and is off by one for others.
        if types.computes(kind) and node.op != "div":
            return node
        wide = ir.Binary(node.span, _wide(node.type), node.op, side(node.left), side(node.right))
        return ir.Cast(node.span, node.type, wide)

    return ir.map_kernel(kernel, change)


def _wide(kind: Type) -> Type:
    """float32, or the vector of as many."""
    return Vector(FLOAT32, kind.count) if isinstance(kind, Vector) else FLOAT32
