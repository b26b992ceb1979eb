"""Elements in memory that a launch passes by value, such as a ``device_scalar``.

Until a kernel is complete, they are like other values of the launch, which do not change.  Then they become reads of
memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from vkamp.front.names import member_at
from vkamp.front.signature import ElementType, holder_of
from vkamp.front.values import loaded
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, INT32, Vector


def with_reads(kernel: ir.Kernel, elements: Mapping[str, ElementType]) -> ir.Kernel:
    """The kernel with reads of memory in place of values of the launch; ``elements``: by their containers' names."""

    def change(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.ScalarValue) and holder_of(node.name) in elements:
            return _read(node, elements[holder_of(node.name)])
        return _whole(node) if isinstance(node, ir.Construct) else node

    return ir.map_kernel(kernel, change) if elements else kernel


def _read(node: ir.ScalarValue, kind: ElementType) -> ir.Expr:
    span, name = node.span, holder_of(node.name)
    element = ir.BufferElement(span, kind.element, name, (ir.Const(span, INT32, 0),))
    value = loaded(member_at(element, tuple(node.name.split(":")[1:])), span)
    if node.type == BOOL:
        return ir.Compare(span, BOOL, "ne", value, ir.Const(span, value.type, 0))
    return value


def _whole(node: ir.Construct) -> ir.Expr:
    """A vector that is put together from all components of an element in memory, as one read of it."""
    kind, first = node.type, node.parts[0]
    if not isinstance(kind, Vector) or not isinstance(first, ir.Load) or not isinstance(first.place, ir.ComponentsOf):
        return node
    base = first.place.base
    if not isinstance(base, ir.BufferElement) or base.type != kind:
        return node
    same = [ir.Load(node.span, kind.element, member_at(base, (letter,))) for letter in kind.letters]
    return ir.Load(node.span, kind, base) if list(node.parts) == same else node
