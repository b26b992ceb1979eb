"""What a kernel does with each captured container: read, write, atomic update.

A side table over the whole program (the kernel's body and every device function), for the printer's memory
qualifiers and for whoever must know which containers a launch changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.containers import Access
from vkamp.ir.types import Type


def own_nodes(statement: ir.Stmt) -> Iterator[ir.Node]:
    """The statement and its operands with everything under them, without the statements of nested blocks."""
    yield statement
    yield from ir.walk(*(child for child in ir.children(statement) if not isinstance(child, ir.Stmt)))


def access(kernel: ir.Kernel) -> dict[str, Access]:
    """The :class:`Access` of every container parameter, by name, in their order."""
    table = {buffer.name: Access() for buffer in kernel.buffers}
    for (name, _), kind in typed_access(kernel).items():
        table[name] |= kind
    return table


#: The answers for the last kernels: passes ask for the same one again and again.
_known: tuple[tuple[ir.Kernel, dict[tuple[str, Type], Access]], ...] = ()


def typed_access(kernel: ir.Kernel) -> dict[tuple[str, Type], Access]:
    """What is done with each container's memory as elements of each type: its own, and those it is reinterpreted as.

    In the order of the parameters; a container that is not accessed has no entry.
    """
    global _known
    for known, found in _known:
        if known is kernel:
            return dict(found)
    found = _typed_access(kernel)
    _known = ((kernel, found), *_known[:3])
    return dict(found)


def _typed_access(kernel: ir.Kernel) -> dict[tuple[str, Type], Access]:
    order = {buffer.name: number for number, buffer in enumerate(kernel.buffers)}
    table: dict[tuple[str, Type], Access] = {}
    for function in (*kernel.functions, kernel.body):
        for key, kind in _accesses(function.body):
            table[key] = table.get(key, Access()) | kind
    own = {buffer.name: buffer.element for buffer in kernel.buffers}
    return dict(sorted(table.items(), key=lambda item: (order[item[0][0]], item[0][1] != own[item[0][0]])))


def contiguous(kernel: ir.Kernel) -> frozenset[str]:
    """The container parameters whose last dimension must have no gaps: the kernel reads it as another type."""
    nodes = (n for f in (*kernel.functions, kernel.body) for s in ir.walk_statements(f.body) for n in own_nodes(s))
    roots = (ir.root_of(n) for n in nodes if isinstance(n, ir.Reinterpreted))
    return frozenset(r.buffer for r in roots if isinstance(r, ir.BufferElement))


def _accesses(block: ir.Block) -> Iterator[tuple[tuple[str, Type], Access]]:
    """Every access of a block and its nested blocks."""
    for statement in ir.walk_statements(block):
        if isinstance(statement, ir.Assign):
            yield from _at(statement.place, Access(writes=True))
        elif isinstance(statement, ir.Atomic):
            yield from _at(statement.place, Access(atomics=True))
        for node in own_nodes(statement):
            if isinstance(node, ir.Load):
                yield from _at(node.place, Access(reads=True))


def _at(place: ir.Place, kind: Access) -> Iterator[tuple[tuple[str, Type], Access]]:
    root = ir.root_of(place)
    if isinstance(root, ir.BufferElement):
        yield (root.buffer, memory_type(place)), kind


def memory_type(place: ir.Place) -> Type:
    """The type of the elements that the memory around a place is taken for."""
    while isinstance(place, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.ViewElement)):
        place = place.base
    return place.type
