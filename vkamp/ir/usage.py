"""The scalar types that a kernel uses, and where: what a device must have for it.

C++ AMP's model: docs/conformance.md, section 4 (element types).
"""

from __future__ import annotations

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.access import own_nodes, typed_access
from vkamp.ir.types import INT64, UINT64, Scalar, Type, scalars_in


def types_in_use(kernel: ir.Kernel) -> dict[Scalar, Span]:
    """Every scalar type of the program, and the place that shows best where it comes from.

    A container whose elements are never accessed counts for nothing.
    """
    found: dict[Scalar, Span] = {}
    seen: set[Type] = set()

    def add(kind: Type, span: Span) -> None:
        if kind not in seen:
            seen.add(kind)
            for scalar in sorted(scalars_in(kind), key=lambda s: s.name):
                found.setdefault(scalar, span)

    for name, kind in typed_access(kernel):
        add(kind, kernel.buffer(name).span)
    for scalar in kernel.scalars:
        add(scalar.type, scalar.span)
    for variable in kernel.tile_statics:
        add(variable.type, variable.span)
    for function in (*kernel.functions, kernel.body):
        for statement in ir.walk_statements(function.body):
            # The innermost first: of `a[idx] * gain` it is the name of one of the two.
            for node in reversed(list(own_nodes(statement))):
                if isinstance(node, (ir.Expr, ir.Place)):
                    add(node.type, node.span)
        for variable in (*function.params, *function.variables):
            add(variable.type, variable.span)
    return found


def wide_operations(kernel: ir.Kernel) -> dict[str, tuple[str, Span]]:
    """The first function of each sort that takes integers of 64 bits: its text for people, and where.

    By the device's feature: one may lack it though it computes with such integers.
    """
    found: dict[str, tuple[str, Span]] = {}
    for function in (*kernel.functions, kernel.body):
        for statement in ir.walk_statements(function.body):
            if isinstance(statement, ir.Atomic) and statement.place.type in (INT64, UINT64):
                in_buffer = isinstance(ir.root_of(statement.place), ir.BufferElement)
                sort = "int64_atomics" if in_buffer else "shared_int64_atomics"
                found.setdefault(sort, (f"`{statement.name}` of {statement.place.type}", statement.span))
            elif isinstance(statement, ir.Subgroup) and statement.args and statement.args[0].type in (INT64, UINT64):
                text = f"`amp.subgroup.{statement.name}` of {statement.args[0].type}"
                found.setdefault("subgroup_extended_types", (text, statement.span))
    return found


def memory_unit(kernel: ir.Kernel) -> int:
    """The bytes in which addresses of the kernel's memory are counted: its smallest scalar's, and at most 4."""
    return min([4, *(scalar.size for scalar in types_in_use(kernel))])
