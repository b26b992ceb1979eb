"""Tables of constants: tuples of many constants that are subscripted at run time.

The front end makes a table a read-only container, which no launch passes: ``vkamp.dispatch`` binds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.ir import nodes as ir


def tables_of(kernel: ir.Kernel) -> Mapping[str, NDArray[Any]]:
    """The tables of a kernel by name."""
    return {
        each.name: np.frombuffer(each.table.data, each.element.dtype).reshape(each.table.shape)
        for each in kernel.buffers
        if each.table is not None
    }


def without_item_indices(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without what only check mode and the reference accelerator know of the subscripts of tuples."""
    nodes = (node for statement in kernel.statements() for node in ir.own_nodes(statement))
    if not any(isinstance(node, ir.ItemIndex) for node in nodes):
        return kernel
    return ir.map_kernel(kernel, _unchecked)


def _unchecked(node: ir.Node) -> ir.Node:
    if isinstance(node, ir.ItemIndex):
        return node.index
    # Of a tuple with one item, the check is all that there was to choose.
    return node.then if isinstance(node, ir.Select) and node.then == node.orelse else node
