"""``while True`` loops, for drivers that lose values of their last iteration: IR -> IR, before printing.

CPU drivers run several threads as one vector. After a thread has left a loop, its lane takes part in the iterations of
the other lanes, where all its loads give 0. The driver keeps the thread's last values only if the loop has two exits.
``while True: x = a[i]; if x > 7: break`` has one, so ``x`` becomes 0 in the threads that leave early. A condition that
the driver cannot evaluate is a second exit.
"""

from __future__ import annotations

import dataclasses

from vkamp.ir import nodes as ir
from vkamp.ir.rewrite import nowhere
from vkamp.ir.types import BOOL, UINT32
from vkamp.legalize.quick_loops import tiles

_ALWAYS = "Always true, which this driver does not know: it loses values of loops that only a break can end"


def with_conditions(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with a condition for each ``while True``."""
    return ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=_block(f.body)))


def _block(block: ir.Block) -> ir.Block:
    out: list[ir.Stmt] = []
    for each in block:
        statement = ir.map_blocks(each, _block)
        if isinstance(statement, ir.While) and _is_endless(statement.condition):
            span = nowhere(statement.condition.span)
            some = ir.Compare(span, BOOL, "ne", tiles(span), ir.Const(span, UINT32, 0))
            out.append(ir.Remark(span, _ALWAYS))
            statement = dataclasses.replace(statement, condition=some)
        out.append(statement)
    return tuple(out)


def _is_endless(condition: ir.Expr) -> bool:
    """Whether a condition is known to hold. One that is known not to belongs to a loop that never runs."""
    return isinstance(condition, ir.Const) and bool(condition.value)
