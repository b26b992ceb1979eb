"""Floats that a name keeps in double precision as well, for the float64 that they may meet."""

from __future__ import annotations

from vkamp.front.context import Context
from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import named


def without_unread(ctx: Context, body: ir.Block) -> ir.Block:
    """Removes the double-precision variables that were never combined with a float64 from a function's body.

    A device may lack that type.
    """
    if not ctx.doubles:
        return body
    needed: set[str] = set()
    kept: list[ir.Stmt] = []
    for statement in reversed(body):
        if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local):
            name = statement.place.variable.name
            if name in ctx.doubles and name not in needed:
                ctx.variables[:] = [v for v in ctx.variables if v.name != name]
                continue
        needed |= named([statement])
        kept.append(statement)
    return tuple(reversed(kept))
