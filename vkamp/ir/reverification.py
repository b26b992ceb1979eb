"""Verification after a pass: most passes change few functions of a kernel, and the others need no second check."""

from __future__ import annotations

import operator

from vkamp.ir import nodes as ir
from vkamp.ir.verify import verify


def verify_changes(kernel: ir.Kernel, before: ir.Kernel | None, level: str) -> None:
    """Verifies a kernel, except for functions that are unchanged since ``before`` was verified."""
    if kernel.facts.get(verify) not in ("source", level):
        verify(kernel, level, unchanged(kernel, before, level))
        kernel.facts[verify] = level


def unchanged(kernel: ir.Kernel, before: ir.Kernel | None, level: str) -> frozenset[str]:
    """The names of the functions that have been verified with what they refer to."""
    # IR that is correct at the level of the source is also correct at the lowered level.
    if before is None or before.facts.get(verify) not in ("source", level) or _declared(kernel) != _declared(before):
        return frozenset()
    found = set()
    for function, known in zip((*kernel.functions, kernel.body), (*before.functions, before.body), strict=False):
        if _signature(function) != _signature(known):
            # Functions that call this one, or one that was removed, may be wrong now.
            break
        if function.variables == known.variables and _is_same(function.body, known.body):
            found.add(function.name)
    return frozenset(found)


def _declared(kernel: ir.Kernel) -> tuple[object, ...]:
    shared = kernel.buffers, kernel.scalars, kernel.tile_statics, kernel.thread_variables
    return *shared, kernel.rank, kernel.tile, kernel.lanes


def _signature(function: ir.Function) -> tuple[object, ...]:
    return function.name, function.params, function.results


def _is_same(block: ir.Block, before: ir.Block) -> bool:
    return len(block) == len(before) and all(map(operator.is_, block, before))
