"""What a kernel does with each captured container: read, write, atomic update.

A side table over the whole program (the kernel's body and every device function), for the printer's memory
qualifiers and for whoever must know which containers a launch changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vkamp.ir.nodes import (
    Assign,
    Atomic,
    Block,
    BufferElement,
    Kernel,
    Load,
    Node,
    Place,
    Stmt,
    children,
    root_of,
    walk,
    walk_statements,
)

__all__ = ["Access", "access", "own_nodes"]


@dataclass(frozen=True)
class Access:
    """What the program does with the elements of one container.

    ``reads`` and ``writes`` are plain ones (a whole element or a member of it); ``atomics`` read and write besides.
    Asking for a container's extent is no access.
    """

    reads: bool = False
    writes: bool = False
    atomics: bool = False

    @property
    def changes(self) -> bool:
        """Whether elements may change."""
        return self.writes or self.atomics

    def __or__(self, other: Access) -> Access:
        return Access(self.reads or other.reads, self.writes or other.writes, self.atomics or other.atomics)

    def __bool__(self) -> bool:
        return self.reads or self.writes or self.atomics


def own_nodes(statement: Stmt) -> Iterator[Node]:
    """The statement and its operands with everything under them, without the statements of nested blocks."""
    yield statement
    for child in children(statement):
        if not isinstance(child, Stmt):
            yield from walk(child)


def access(kernel: Kernel) -> dict[str, Access]:
    """The :class:`Access` of every container parameter, by name, in their order."""
    table = {buffer.name: Access() for buffer in kernel.buffers}
    for function in (*kernel.functions, kernel.body):
        for name, kind in _accesses(function.body):
            table[name] |= kind
    return table


def _accesses(block: Block) -> Iterator[tuple[str, Access]]:
    """Every access of a block and its nested blocks."""
    for statement in walk_statements(block):
        if isinstance(statement, Assign):
            yield from _at(statement.place, Access(writes=True))
        elif isinstance(statement, Atomic):
            yield from _at(statement.place, Access(atomics=True))
        for node in own_nodes(statement):
            if isinstance(node, Load):
                yield from _at(node.place, Access(reads=True))


def _at(place: Place, kind: Access) -> Iterator[tuple[str, Access]]:
    root = root_of(place)
    if isinstance(root, BufferElement):
        yield root.buffer, kind
