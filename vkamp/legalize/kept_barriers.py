"""Barriers of a subgroup between branches that lavapipe would merge: IR -> IR, before printing.

Its compiler drops the barriers of a subgroup, since its lanes run in step, and makes one branch of two on one condition
where nothing is between them.  The lanes of the first side then read what those of the second side are yet to store.
"""

from __future__ import annotations

import dataclasses

from vkamp.ir import nodes as ir
from vkamp.ir.fences import FENCES, LANE_FENCES

_WHOLE = {
    orders: next(f for f in FENCES.values() if f.waits and (f.orders_global, f.orders_tile_static) == orders)
    for orders in LANE_FENCES
}


def kept_barriers(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with barriers of the tile where a branch is on either side of a subgroup's."""
    if kernel.lanes is None:
        return kernel
    return ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=_kept(f.body)))


def _kept(block: ir.Block) -> ir.Block:
    out: list[ir.Stmt] = []
    for at, each in enumerate(block):
        statement = ir.map_blocks(each, _kept)
        if (
            isinstance(statement, ir.Barrier)
            and _is_behind_a_branch(block[:at])
            and _begins_with_a_branch(block[at + 1 :])
        ):
            orders = statement.fence.orders_global, statement.fence.orders_tile_static
            if statement.fence is LANE_FENCES.get(orders):
                statement = dataclasses.replace(statement, fence=_WHOLE[orders])
        out.append(statement)
    return tuple(out)


def _is_behind_a_branch(before: ir.Block) -> bool:
    """Whether the last thing that has an effect is in a branch."""
    for each in reversed(before):
        if isinstance(each, ir.If):
            return True
        if not _is_computed(each):
            return False
    return False


def _begins_with_a_branch(after: ir.Block) -> bool:
    """Whether a branch, or a choice that becomes one, comes before anything else that has an effect."""
    for each in after:
        if isinstance(each, ir.If) or any(isinstance(node, (ir.Select, ir.Logical)) for node in ir.own_nodes(each)):
            return True
        if not _is_computed(each):
            return False
    return False


def _is_computed(statement: ir.Stmt) -> bool:
    """Whether a statement may be computed elsewhere: it changes a variable alone."""
    if isinstance(statement, ir.Assign):
        return isinstance(statement.place, ir.Local)
    return isinstance(statement, (ir.Barrier, ir.UniformAssert, ir.Declare, ir.Remark))
