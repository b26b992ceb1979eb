"""Exits of loops whose conditions lavapipe works out wrongly: IR -> IR, before printing.

Where a variable begins with a number and is changed by one in each iteration, its compiler works out in which iteration
``if y == 1: break`` leaves the loop.  It tries the value before the first change, too, although the ``if`` may come
after the change: of ``y = 1`` and ``while y > 0: y -= 2; if y == 1: break; n += 1`` nothing was left.  It works nothing
out where the condition is compared with a value that it does not know.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.rewrite import nowhere
from vkamp.ir.types import BOOL
from vkamp.legalize.quick_loops import no_tile

_STEPS = ("add", "sub", "mul", "shl", "shr")
_UNKNOWN = "Compared with a value that is never true: this driver would leave the loop too early if it knew the result"
#: What a compiler computes with numbers that it knows.
_PLAIN = (
    *(ir.Binary, ir.Cast, ir.Compare, ir.ComponentsOf, ir.Const, ir.Construct, ir.FieldOf),
    *(ir.Load, ir.Local, ir.Logical, ir.Select, ir.Swizzle, ir.Unary),
)


def plain_exits(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with conditions for leaving loops that the driver's compiler leaves to the device."""

    return ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=_outside(f.body)))


def _outside(block: ir.Block) -> ir.Block:
    return tuple(map(_loop, block))


def _loop(statement: ir.Stmt) -> ir.Stmt:
    statement = ir.map_blocks(statement, _outside)
    if not isinstance(statement, (ir.For, ir.While)):
        return statement
    counted = _counted(statement.body)
    return ir.map_blocks(statement, lambda body: _inside(body, counted)) if counted else statement


def _inside(block: ir.Block, counted: set[str]) -> ir.Block:
    out: list[ir.Stmt] = []
    for each in block:
        if isinstance(each, ir.If) and _leaves(each) and _is_worked_out(each.condition, counted):
            span = each.condition.span
            out.append(ir.Remark(nowhere(span), _UNKNOWN))
            each = dataclasses.replace(each, condition=ir.Compare(span, BOOL, "ne", each.condition, no_tile(span)))
        # The exits of inner loops were checked before, with the inner loops' counters.
        out.append(each if isinstance(each, (ir.For, ir.While)) else ir.map_blocks(each, lambda b: _inside(b, counted)))
    return tuple(out)


def _is_worked_out(condition: ir.Expr, counted: set[str]) -> bool:
    """Whether a compiler may compute when a condition holds: it compares no values from memory."""
    compared: list[ir.Node] = [node for node in ir.walk(condition) if isinstance(node, ir.Compare)]
    return any(_is_plain(node) and _reads(node) & counted for node in compared or [condition])


def _leaves(statement: ir.Stmt) -> bool:
    """Whether the loop around a statement may end in it."""
    if isinstance(statement, (ir.Break, ir.Return)):
        return True
    inner = (each for block in ir.blocks(statement) for each in block)
    if isinstance(statement, (ir.For, ir.While)):
        return any(isinstance(each, ir.Return) for each in ir.walk_statements(tuple(inner)))
    return any(map(_leaves, inner))


def _counted(body: ir.Block) -> set[str]:
    """The variables that a number changes in each iteration, and those that are computed from them."""
    assignments = [each for each in ir.walk_statements(body) if isinstance(each, ir.Assign)]
    changed = {name for each in assignments for name in _reads(each.place)}
    counted: set[str] = set()
    for each in assignments:
        own = _reads(each.place)
        value = each.value
        if isinstance(value, ir.Binary) and value.op in _STEPS and _is_plain(value):
            used = _reads(value)
            if used & own and not (used - own) & changed:
                counted |= own
    while counted:
        computed = [each for each in assignments if _is_plain(each.value) and _reads(each.value) & counted]
        more = {name for each in computed for name in _reads(each.place)}
        if more <= counted:
            break
        counted |= more
    return counted


def _is_plain(value: ir.Node) -> bool:
    return all(isinstance(node, _PLAIN) for node in ir.walk(value))


def _reads(value: ir.Node) -> set[str]:
    return set(_names(value))


def _names(value: ir.Node) -> Iterator[str]:
    return (node.variable.name for node in ir.walk(value) if isinstance(node, ir.Local))
