"""Places in the form that GLSL can address.

First, views that the kernel creates are replaced by the memory that they refer to. GLSL 4.50 has no atomics of floats.
Unless the device supports them, they operate on the bits: the memory of a container is declared as uints a second time,
and a tile_static array is declared as uints. Last, an element of a container becomes an element of its memory, which is
an array of one dimension in GLSL.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from vkamp.ir import nodes as ir
from vkamp.ir.addresses import member_element, memory_element
from vkamp.ir.algebra import sum_of
from vkamp.ir.builtins import ATOMICS
from vkamp.ir.dataflow import uses
from vkamp.ir.lowered import BitCast
from vkamp.ir.rewrite import without_unused
from vkamp.ir.types import FLOAT32, UINT32, Array, Type


def lower_places(kernel: ir.Kernel, features: frozenset[str] = frozenset()) -> ir.Kernel:
    """The kernel with places that a shader can address, and without the locals that only views used.

    ``features``: those of the device, which may have atomics of floats.
    """
    statements = list(kernel.statements())
    as_bits = {v.name: _as_bits(v) for v in _atomic_floats(statements, features)}

    def lowered(function: ir.Function) -> ir.Function:
        """One function; what only the checks of views used is gone."""
        read = {name for statement in ir.walk_statements(function.body) for name in uses(statement)}
        body = ir.map_block(function.body, lambda node: _lowered(node, as_bits, features))
        return dataclasses.replace(function, body=without_unused(body, read))

    tile_statics = tuple(as_bits.get(v.name, v) for v in kernel.tile_statics)
    return dataclasses.replace(ir.map_functions(kernel, lowered), tile_statics=tile_statics)


def _is_native(statement: ir.Atomic, features: frozenset[str]) -> bool:
    """Whether a device has an atomic of a float."""
    in_buffer = isinstance(ir.root_of(statement.place), ir.BufferElement)
    feature = "float_atomics" if in_buffer else "shared_float_atomics"
    return feature in features and bool(ATOMICS[statement.name].native_float)


def _atomic_floats(statements: Iterable[ir.Stmt], features: frozenset[str]) -> Iterator[ir.Variable]:
    """The tile_static arrays of floats that are updated by atomics that the device lacks."""
    for statement in statements:
        is_float = isinstance(statement, ir.Atomic) and statement.place.type == FLOAT32
        if isinstance(statement, ir.Atomic) and is_float and not _is_native(statement, features):
            root = ir.root_of(statement.place)
            if isinstance(root, ir.Local):
                yield root.variable


def _as_bits(variable: ir.Variable) -> ir.Variable:
    assert isinstance(variable.type, Array)
    return dataclasses.replace(variable, type=dataclasses.replace(variable.type, element=UINT32))


def _lowered(node: ir.Node, as_bits: Mapping[str, ir.Variable], features: frozenset[str]) -> ir.Node:
    """A node whose operands are lowered already."""
    if isinstance(node, ir.ViewElement):
        return node.base
    if as_bits:
        node = ir.map_variables(node, lambda v: as_bits.get(v.name, v) if v.storage == "tile_static" else v)
    if isinstance(node, ir.Local):
        return _of_type(node, node.variable.type)
    if isinstance(node, ir.ArrayElement) and isinstance(node.base.type, Array):
        return _of_type(node, node.base.type.element)
    if isinstance(node, ir.Reinterpreted) and isinstance(node.base, ir.ArrayElement):
        # In an array of the kernel: the element itself, of the type that it was declared for.
        *rows, last = node.base.indices
        return dataclasses.replace(node.base, indices=(*rows, sum_of(last, node.index)))
    if isinstance(node, ir.Load) and node.place.type != node.type:
        return BitCast(node.span, node.type, dataclasses.replace(node, type=node.place.type))
    if isinstance(node, ir.Assign) and node.place.type != node.value.type:
        return dataclasses.replace(node, value=BitCast(node.span, node.place.type, node.value))
    if isinstance(node, ir.Atomic) and node.place.type == FLOAT32:
        is_shared = isinstance(ir.root_of(node.place), ir.Local)
        # Of a member or component of an element, too, the float itself.
        kind = FLOAT32 if _is_native(node, features) else UINT32
        return node if is_shared else dataclasses.replace(node, place=member_element(node.place, kind))
    return node


def _of_type(place: ir.Local | ir.ArrayElement, kind: Type) -> ir.Place:
    """The place with another type; itself if it has the type: most passes keep what they know of equal nodes."""
    return place if place.type == kind else dataclasses.replace(place, type=kind)


def memory_elements(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with the elements of containers by their positions in memory."""

    def change(node: ir.Node) -> ir.Node:
        return memory_element(kernel, node) if isinstance(node, (ir.BufferElement, ir.Reinterpreted)) else node

    return ir.map_kernel(kernel, change)
