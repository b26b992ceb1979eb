"""Kernels with cooperative matrices in their two forms: thread by thread, and with those of the device."""

from __future__ import annotations

import dataclasses
import math

from vkamp.ir import nodes as ir
from vkamp.ir.build import Builder
from vkamp.ir.matrices import rank_in_tile
from vkamp.ir.requirements import has_matrices
from vkamp.ir.types import BOOL, INT32


def thread_by_thread(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without operations on matrices: each is done by its body.

    Its subgroups are threads with consecutive numbers; the device need not form them, unless the kernel calls subgroup
    functions.
    """
    if not has_matrices(kernel):
        return kernel
    made = ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=_with_bodies(f.body)))
    if any(isinstance(s, ir.Subgroup) and s.name != "elect" for s in made.statements()):
        return made
    size = kernel.subgroup_size
    assert size is not None
    made = ir.map_kernel(made, lambda node: _index(node, kernel.tile or (), size))
    return dataclasses.replace(made, subgroup_size=None, full_subgroups=False)


def _with_bodies(block: ir.Block) -> ir.Block:
    out: list[ir.Stmt] = []
    for statement in block:
        if isinstance(statement, ir.MatrixOperation):
            out.extend(_with_bodies(statement.body))
        else:
            out.append(ir.map_blocks(statement, _with_bodies))
    return tuple(out)


def _index(node: ir.Node, tile: tuple[int, ...], size: int) -> ir.Node:
    """An index of subgroups, and the choice of a thread, as arithmetic on the thread's number in its tile."""
    if isinstance(node, ir.Subgroup):
        lane = _index(ir.SubgroupIndex(node.span, INT32, "lane"), tile, size)
        assert isinstance(lane, ir.Expr)
        first = ir.Compare(node.span, BOOL, "eq", lane, ir.Const(node.span, INT32, 0))
        return ir.Assign(node.span, ir.Local(node.span, BOOL, node.result), first)
    if not isinstance(node, ir.SubgroupIndex):
        return node

    make = Builder(node.span)
    if node.kind in ("size", "count"):
        return make.int(size if node.kind == "size" else math.prod(tile) // size)
    rank = rank_in_tile(node.span, tile)
    if node.kind == "lane":
        return make.binary("bitand", rank, make.int(size - 1))
    return make.binary("shr", rank, make.int(size.bit_length() - 1))


def of_device(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with the device's own operations: the bodies are left out, but those of functions of elements."""

    def without_body(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.MatrixOperation) and node.op != "map":
            return dataclasses.replace(node, body=())
        return node

    return ir.map_kernel(kernel, without_body) if has_matrices(kernel) else kernel
