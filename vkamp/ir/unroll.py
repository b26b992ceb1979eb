"""Copies of the bodies of loops that ask to be unrolled: for analyses, and for drivers that unroll slowly."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from vkamp.ir import nodes as ir
from vkamp.ir.constants import folded_node


def unrolled(kernel: ir.Kernel, chosen: Callable[[ir.For], bool] = lambda loop: True) -> ir.Kernel:
    """The kernel with copies in the place of those loops to unroll that are ``chosen``."""
    if not any(isinstance(s, ir.For) and s.unroll for s in kernel.statements()):
        return kernel
    return ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=_block(f.body, chosen)))


def limited(kernel: ir.Kernel, limit: int) -> ir.Kernel:
    """The kernel for a driver that unrolls loops slowly, to ``limit`` statements, and none around a loop that stays."""
    lasting: set[str] = set()
    for function in (*kernel.functions, kernel.body):
        if _lasts(function.body, lasting):
            lasting.add(function.name)
    kept = unrolled(kernel, lambda loop: _lasts(loop.body, lasting))
    count = sum(_copied(f.body) for f in (*kept.functions, kept.body))
    return kept if count <= limit else unrolled(kept)


def with_loops(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with loops that no driver is asked to unroll, for bodies that are too long for copies."""
    return ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=_kept(f.body)))


def _kept(block: ir.Block) -> ir.Block:
    inner = (ir.map_blocks(statement, _kept) for statement in block)
    return tuple(dataclasses.replace(s, unroll=False) if isinstance(s, ir.For) and s.unroll else s for s in inner)


def _block(block: ir.Block, chosen: Callable[[ir.For], bool]) -> ir.Block:
    out: list[ir.Stmt] = []
    for statement in block:
        inner = ir.map_blocks(statement, lambda body: _block(body, chosen))
        values = _values(statement)
        if isinstance(statement, ir.For) and isinstance(inner, ir.For) and values is not None and chosen(statement):
            for value in values:
                out += _copy(inner, value)
        else:
            out.append(inner)
    return tuple(out)


def _values(statement: ir.Stmt) -> range | None:
    """The values of the counter of a loop to unroll; ``None`` for other statements, and where they are not known."""
    if not isinstance(statement, ir.For) or not statement.unroll:
        return None
    start, stop, step = statement.start, statement.stop, statement.step
    if not (isinstance(start, ir.Const) and isinstance(stop, ir.Const) and isinstance(step, ir.Const)):
        return None
    return range(int(start.value), int(stop.value), int(step.value))


def _copy(loop: ir.For, value: int) -> ir.Block:
    """The body for one value of the counter."""
    name = loop.variable.name

    def change(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Load) and isinstance(node.place, ir.Local) and node.place.variable.name == name:
            return ir.Const(node.span, node.type, value)
        return folded_node(node)

    return ir.map_block(loop.body, change)


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
    values = _values(statement)
    return count if values is None else count * len(values)
