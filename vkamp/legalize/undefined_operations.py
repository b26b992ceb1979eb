"""Operations that GLSL lacks or leaves undefined, by others that give the same: IR -> IR, before printing."""

from __future__ import annotations

import dataclasses
import math

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import as_int, repeated
from vkamp.ir.types import BOOL, Vector


def without_undefined_operations(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without divisions of floats by the literal zero, and without bools that are ordered."""
    return ir.map_kernel(kernel, _defined)


def _defined(node: ir.Node) -> ir.Node:
    if isinstance(node, ir.Binary) and node.op == "div":
        return _times_infinity(node)
    if isinstance(node, ir.Compare) and node.left.type == BOOL and node.op not in ("eq", "ne"):
        return dataclasses.replace(node, left=as_int(node.left), right=as_int(node.right))
    return node


def _times_infinity(node: ir.Binary) -> ir.Binary:
    """A quotient; by the literal zero, which SPIR-V leaves undefined, the product that is the same infinity or NaN."""
    zero = repeated(node.right) or node.right
    if not isinstance(zero, ir.Const) or zero.value != 0:
        return node
    infinity: ir.Expr = ir.Const(zero.span, zero.type, math.copysign(math.inf, zero.value))
    if isinstance(node.type, Vector):
        infinity = ir.Construct(zero.span, node.type, (infinity,))
    return dataclasses.replace(node, op="mul", right=infinity)
