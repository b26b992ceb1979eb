"""Copies of the bodies of loops that ask to be unrolled: for analyses, and for drivers that unroll slowly."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable

from vkamp.ir import nodes as ir
from vkamp.ir.neutral import NEUTRAL_LEFT, NEUTRAL_RIGHT
from vkamp.ir.types import Scalar, int_range

_FOLDED: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def unrolled(kernel: ir.Kernel, chosen: Callable[[ir.For], bool] = lambda loop: True) -> ir.Kernel:
    """The kernel with copies in the place of those loops to unroll that are ``chosen``."""
    if not any(isinstance(s, ir.For) and s.unroll for s in kernel.statements()):
        return kernel
    functions = [dataclasses.replace(f, body=_block(f.body, chosen)) for f in (*kernel.functions, kernel.body)]
    return dataclasses.replace(kernel, functions=tuple(functions[:-1]), body=functions[-1])


def limited(kernel: ir.Kernel, limit: int) -> ir.Kernel:
    """The kernel for a driver that unrolls loops slowly, to ``limit`` statements, and none around a loop that stays."""
    lasting: set[str] = set()
    for function in (*kernel.functions, kernel.body):
        if _lasts(function.body, lasting):
            lasting.add(function.name)
    kept = unrolled(kernel, lambda loop: _lasts(loop.body, lasting))
    count = sum(_copied(f.body) for f in (*kept.functions, kept.body))
    return kept if count <= limit else unrolled(kept)


def _block(block: ir.Block, chosen: Callable[[ir.For], bool]) -> ir.Block:
    out: list[ir.Stmt] = []
    for statement in block:
        inner = ir.map_blocks(statement, lambda body: _block(body, chosen))
        if isinstance(statement, ir.For) and isinstance(inner, ir.For) and inner.unroll and chosen(statement):
            for value in _values(inner):
                out += _copy(inner, value)
        else:
            out.append(inner)
    return tuple(out)


def _values(loop: ir.For) -> range:
    """The values of the counter of a loop to unroll, which are known."""
    start, stop, step = loop.start, loop.stop, loop.step
    assert isinstance(start, ir.Const) and isinstance(stop, ir.Const) and isinstance(step, ir.Const)
    return range(int(start.value), int(stop.value), int(step.value))


def _copy(loop: ir.For, value: int) -> ir.Block:
    """The body for one value of the counter."""
    name = loop.variable.name

    def change(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Load) and isinstance(node.place, ir.Local) and node.place.variable.name == name:
            return ir.Const(node.span, node.type, value)
        return folded(node)

    return ir.map_block(loop.body, change)


def folded(node: ir.Node) -> ir.Node:
    """A sum, difference, product or conversion of constants as a constant, and no sum with 0 nor product with 1."""
    if isinstance(node, ir.Cast) and isinstance(node.operand, ir.Const) and isinstance(node.type, Scalar):
        value = node.operand.value
        if node.type.kind == "float" and not isinstance(value, float):
            return ir.Const(node.span, node.type, float(value))
        if node.type.is_integer and not isinstance(value, float):
            return ir.Const(node.span, node.type, _wrapped(int(value), node.type))
    if isinstance(node, ir.Unary) and node.op == "neg" and isinstance(node.operand, ir.Const):
        return ir.Const(node.span, node.type, -node.operand.value)
    if not isinstance(node, ir.Binary) or not isinstance(node.type, Scalar) or not node.type.is_integer:
        return node
    left, right = node.left, node.right
    if isinstance(left, ir.Const) and isinstance(right, ir.Const) and node.op in _FOLDED:
        value = _FOLDED[node.op](int(left.value), int(right.value))
        return ir.Const(node.span, node.type, _wrapped(value, node.type))
    if isinstance(right, ir.Const) and right.value == NEUTRAL_RIGHT.get(node.op) and left.type == node.type:
        return left
    if isinstance(left, ir.Const) and left.value == NEUTRAL_LEFT.get(node.op) and right.type == node.type:
        return right
    return node


def _wrapped(value: int, kind: Scalar) -> int:
    low, high = int_range(kind)
    return (value - low) % (high - low + 1) + low


# -- what drivers make of them -------------------------------------------------------------------------------------


def _lasts(block: ir.Block, lasting: set[str]) -> bool:
    """Whether statements have loops that no driver unrolls, or call one of some functions."""
    return any(
        isinstance(s, ir.While)
        or (isinstance(s, ir.For) and not s.unroll)
        or (isinstance(s, ir.Call) and s.function in lasting)
        for s in ir.walk_statements(block)
    )


def _copied(block: ir.Block) -> int:
    """The statements that a driver makes of the loops which it is to unroll."""
    return sum(_statements(s) if isinstance(s, ir.For) and s.unroll else sum(map(_copied, ir.blocks(s))) for s in block)


def _statements(statement: ir.Stmt) -> int:
    count = 1 + sum(_statements(s) for inner in ir.blocks(statement) for s in inner)
    return count * len(_values(statement)) if isinstance(statement, ir.For) and statement.unroll else count
