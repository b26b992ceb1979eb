"""What a kernel does with subgroups: for those who arrange its threads, and for who must know what a device needs."""

from __future__ import annotations

from collections.abc import Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.access import own_nodes


def subgroup_uses(kernel: ir.Kernel) -> Iterator[ir.Subgroup | ir.SubgroupIndex]:
    """Every function of subgroups that a kernel calls; those of its device functions first."""
    for function in (*kernel.functions, kernel.body):
        for statement in ir.walk_statements(function.body):
            yield from (n for n in own_nodes(statement) if isinstance(n, (ir.Subgroup, ir.SubgroupIndex)))


def uses_subgroups(kernel: ir.Kernel) -> bool:
    """Whether there is any."""
    return next(subgroup_uses(kernel), None) is not None
