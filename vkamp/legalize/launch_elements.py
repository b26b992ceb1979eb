"""Elements of memory that a launch passes by value: read once where a loop or a function would read them again.

Nothing changes them during the launch, but few drivers move their reads out of loops: SwiftShader takes twice as long
for a plain kernel that reads one for each element.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.rewrite import Names, nowhere, value_of
from vkamp.ir.types import Scalar


def read_once(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with such elements in variables of the thread, which it reads first."""
    names = frozenset(b.name for b in kernel.buffers if b.by_value)
    repeated = dict.fromkeys(_repeated(kernel, names)) if names else {}
    if not repeated:
        return kernel
    span, free = nowhere(kernel.span), Names(v.name for v in (*kernel.tile_statics, *kernel.thread_variables))
    found = {
        read: ir.Variable(free.give(f"{_root(read)} value"), read.type, "thread", span, temporary=True)
        for read in repeated
    }

    def change(node: ir.Node) -> ir.Node:
        return value_of(found[node], node) if isinstance(node, (ir.Load, ir.Cast)) and node in found else node

    made = ir.map_kernel(kernel, change)
    first = tuple(ir.Assign(span, ir.Local(span, v.type, v), read) for read, v in found.items())
    body = dataclasses.replace(made.body, body=(*first, *made.body.body))
    return dataclasses.replace(made, body=body, thread_variables=(*made.thread_variables, *found.values()))


def _repeated(kernel: ir.Kernel, names: frozenset[str]) -> Iterator[ir.Expr]:
    """The reads in functions, and in the loops of the kernel's own body."""
    for function in kernel.functions:
        yield from _reads(function.body, names)
    for statement in ir.walk_statements(kernel.body.body):
        if isinstance(statement, (ir.For, ir.While)):
            yield from _reads((statement,), names)


def _reads(block: ir.Block, names: frozenset[str]) -> Iterator[ir.Expr]:
    for node in ir.walk(*block):
        if _root(node) in names:
            assert isinstance(node, ir.Expr)
            yield node


def _root(node: ir.Node) -> str | None:
    """The container that a number is read from; one of a type that only memory has, with its conversion."""
    narrow = isinstance(node, ir.Cast) and isinstance(node.operand.type, Scalar) and node.operand.type.is_narrow
    read = node.operand if isinstance(node, ir.Cast) and narrow else node
    if not isinstance(read, ir.Load) or not isinstance(read.type, Scalar) or read.type.is_narrow != narrow:
        return None
    root = ir.root_of(read.place)
    return root.buffer if isinstance(root, ir.BufferElement) else None
