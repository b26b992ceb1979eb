"""Kernels with each device function once: IR -> IR.

The front end makes a function for each set of constants that it is called with.  Where they make no difference in the
end, the functions are equal, and one of them serves all calls.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import mentioned
from vkamp.ir.lowered import PureCall
from vkamp.ir.rewrite import with_variables


def without_copies(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without functions that are equal to an earlier one of the same Python function."""
    makes = Counter(function.python_name for function in kernel.functions)
    if all(count == 1 for count in makes.values()):
        return kernel
    kept: list[ir.Function] = []
    names: dict[str, str] = {}
    for function in kernel.functions:
        # A function is after those that it calls, which may be equal to others by now.
        made = dataclasses.replace(function, body=_renamed(function.body, names)) if names else function
        first = next((f for f in kept if f.python_name == made.python_name and _do_the_same(f, made)), None)
        if first is None:
            kept.append(made)
        else:
            names[made.name] = first.name
    if not names:
        return kernel
    body = dataclasses.replace(kernel.body, body=_renamed(kernel.body.body, names))
    return dataclasses.replace(kernel, functions=tuple(kept), body=body)


def _do_the_same(one: ir.Function, other: ir.Function) -> bool:
    """Whether two functions differ in the names of their variables at most."""
    if one.results != other.results or len(one.params) != len(other.params) or len(one.body) != len(other.body):
        return False
    variables, others = _variables(one), _variables(other)
    if [(v.type, v.storage) for v in variables] != [(v.type, v.storage) for v in others]:
        return False
    names = {b.name: a for a, b in zip(variables, others, strict=True)}
    return with_variables(other.body, names) == one.body


def _variables(function: ir.Function) -> list[ir.Variable]:
    """The variables of a function that its body names, behind its parameters."""
    body = (v for s in ir.walk_statements(function.body) for v in mentioned(s))
    return list(dict.fromkeys([*function.params, *(v for v in body if v.storage not in ("tile_static", "thread"))]))


def _renamed(block: ir.Block, names: dict[str, str]) -> ir.Block:
    """The block with calls of other functions."""

    def change(node: ir.Node) -> ir.Node:
        if isinstance(node, (ir.Call, PureCall)) and node.function in names:
            return dataclasses.replace(node, function=names[node.function])
        return node

    return ir.map_block(block, change)
