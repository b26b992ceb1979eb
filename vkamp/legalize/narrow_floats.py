"""Arithmetic of floats of 16 bits in float32, each result rounded, where a device lacks it or does it wrongly."""

from __future__ import annotations

from vkamp.ir import nodes as ir
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.types import FLOAT32, Scalar


def widened(kernel: ir.Kernel, types: DeviceTypes) -> ir.Kernel:
    """The kernel with operations of float32 for those of narrow floats that the device cannot do."""

    def side(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Const):
            return ir.Const(expr.span, FLOAT32, expr.value)
        return ir.Cast(expr.span, FLOAT32, expr)

    def change(node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.Binary) or not isinstance(node.type, Scalar) or not node.type.is_narrow_float:
            return node
        # Devices divide by a reciprocal, which overflows for denormal float16 and is off by one for others.
        if types.computes(node.type) and node.op != "div":
            return node
        return ir.Cast(node.span, node.type, ir.Binary(node.span, FLOAT32, node.op, side(node.left), side(node.right)))

    return ir.map_kernel(kernel, change)
