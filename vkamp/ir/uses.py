"""What a kernel does with subgroups: for those who arrange its threads, and for who must know what a device needs."""

from __future__ import annotations

from collections.abc import Iterator

from vkamp.ir.access import own_nodes
from vkamp.ir.nodes import Kernel, Subgroup, SubgroupIndex, walk_statements

__all__ = ["subgroup_uses", "uses_subgroups"]


def subgroup_uses(kernel: Kernel) -> Iterator[Subgroup | SubgroupIndex]:
    """Every function of subgroups that a kernel calls; those of its device functions first."""
    for function in (*kernel.functions, kernel.body):
        for statement in walk_statements(function.body):
            yield from (n for n in own_nodes(statement) if isinstance(n, (Subgroup, SubgroupIndex)))


def uses_subgroups(kernel: Kernel) -> bool:
    """Whether there is any."""
    return next(subgroup_uses(kernel), None) is not None
