"""Kernels without operations on constants, products with 0 and conditions that are known: IR -> IR, before printing.

Unrolled loops and compile-time parameters make them.  Expressions have no effects, so any of them can be left out.
"""

from __future__ import annotations

import dataclasses

from vkamp.ir import nodes as ir
from vkamp.ir.constants import folded_node
from vkamp.ir.rewrite import filtered, flattened
from vkamp.ir.types import BOOL, Scalar


def without_constant_operations(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with the results of what can be computed now."""

    def change(function: ir.Function) -> ir.Function:
        body = flattened(ir.map_block(function.body, _simpler))
        return dataclasses.replace(function, body=filtered(body, lambda s: not _assigns_itself(s)))

    return ir.map_functions(kernel, change)


def _assigns_itself(statement: ir.Stmt) -> bool:
    """Whether a variable is assigned to itself: what it was to be added was a product with 0."""
    if not isinstance(statement, ir.Assign) or not isinstance(statement.value, ir.Load):
        return False
    return isinstance(statement.place, ir.Local) and statement.value.place == statement.place


def _simpler(node: ir.Node) -> ir.Node:
    node = folded_node(node)
    if isinstance(node, ir.Logical) and isinstance(node.right, ir.Const):
        return node.left if bool(node.right.value) == (node.op == "and") else node.right
    if isinstance(node, ir.Unary) and node.op == "not" and isinstance(node.operand, ir.Unary):
        return node.operand.operand
    if isinstance(node, (ir.Binary, ir.Select)) and node.type == BOOL:
        return _simpler_bool(node)
    if isinstance(node, ir.Binary) and node.op == "mul" and isinstance(node.type, Scalar) and node.type.is_integer:
        for side in (node.left, node.right):
            if isinstance(side, ir.Const) and side.value == 0:
                return side
    return node


def _simpler_bool(node: ir.Binary | ir.Select) -> ir.Expr:
    """A choice between constants as its condition, and ``&`` or ``|`` with a constant as one of its operands."""
    if isinstance(node, ir.Select):
        if isinstance(node.then, ir.Const) and isinstance(node.orelse, ir.Const) and node.then != node.orelse:
            return node.condition if node.then.value else ir.Unary(node.span, BOOL, "not", node.condition)
        return node
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(one, ir.Const) and node.op in ("bitand", "bitor"):
            return other if bool(one.value) == (node.op == "bitand") else one
    return node
