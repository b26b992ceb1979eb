"""Memory as the shader declares it: structs with numpy's offsets, and the storage buffers with their qualifiers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vkamp.artifacts import ContainerAccess
from vkamp.errors import UnsupportedFeatureError
from vkamp.ir import nodes as ir
from vkamp.ir.requirements import typed_access
from vkamp.ir.types import Field, Struct, Type, alignment_of, structs_among


@dataclass(frozen=True)
class Member:
    """A member of a struct; ``field`` is ``None`` for padding with this many ``bytes``."""

    field: Field | None
    bytes: int = 0


def struct_members(struct: Struct) -> list[Member]:
    """The members with padding wherever numpy's layout has a gap, including at the end.

    Members are aligned to their largest scalar, as in std430, which therefore adds no padding.
    """
    members: list[Member] = []
    end = 0
    for item in sorted(struct.fields, key=lambda f: f.offset):
        members += _padding(struct, end, item.offset)
        members.append(Member(item))
        end = item.offset + item.type.size
    return members + _padding(struct, end, struct.size)


def _padding(struct: Struct, end: int, offset: int) -> list[Member]:
    gap = offset - end
    if gap < 0 or struct.size % alignment_of(struct) or any(f.offset % alignment_of(f.type) for f in struct.fields):
        raise UnsupportedFeatureError(f"the fields of {struct.name} overlap or are not aligned")
    return [Member(None, gap)] if gap else []


def structs_of(kernel: ir.Kernel) -> list[Struct]:
    """Every struct of the kernel, members before those that hold them; two of one name are two."""
    kinds = (*(element for _, element in typed_access(kernel)), *kernel.declared_types())
    return list(dict.fromkeys(structs_among(kinds)))


@dataclass(frozen=True)
class StorageBlock:
    """A storage buffer: the parameters that it serves, the type that its memory is declared as, what is done with it,
    and its memory qualifiers."""

    params: tuple[ir.BufferParam, ...]
    element: Type
    access: ContainerAccess
    qualifiers: tuple[str, ...]


def _orders_global(kernel: ir.Kernel) -> bool:
    return any(
        isinstance(statement, ir.Barrier) and statement.fence.orders_global
        for function in (*kernel.functions, kernel.body)
        for statement in ir.walk_statements(function.body)
    )


def storage_blocks(kernel: ir.Kernel) -> list[StorageBlock]:
    """The buffers that the shader needs, in the order of their first parameters.

    Parameters on the same memory with the same element share one.  With different elements they have one each, which
    may overlap, so neither is ``restrict``; memory that the kernel reinterprets has one per type, too.
    """
    groups: dict[tuple[int, Type], list[ir.BufferParam]] = {}
    kinds: dict[tuple[int, Type], ContainerAccess] = {}
    for (name, element), kind in typed_access(kernel).items():
        param = kernel.buffer(name)
        if (name, element) in kernel.views:
            continue
        key = param.storage, element
        if param not in groups.setdefault(key, []):
            groups[key].append(param)
        kinds[key] = kinds.get(key, ContainerAccess()) | kind
    fenced = _orders_global(kernel)
    blocks = []
    for key, params in groups.items():
        same_memory = [kind for other, kind in kinds.items() if other[0] == key[0]]
        qualifiers = _qualifiers(kinds[key], same_memory, fenced)
        blocks.append(StorageBlock(tuple(params), key[1], kinds[key], qualifiers))
    return blocks


def piece_views(kernel: ir.Kernel, blocks: list[StorageBlock]) -> list[tuple[int, StorageBlock]]:
    """The other declarations of buffers whose elements are accessed in pieces, each with the number of its binding.

    None for words that are declared as such already.  No element is accessed by both, so that both are ``restrict``.
    """
    found = []
    for (name, element), kind in typed_access(kernel).items():
        number = next(n for n, b in enumerate(blocks) if any(p.name == name for p in b.params))
        if (name, element) in kernel.views and blocks[number].element != element:
            found.append(
                (number, StorageBlock((kernel.buffer(name),), element, kind, _qualifiers(kind, [kind], False)))
            )
    return found


def _union(kinds: Iterable[ContainerAccess]) -> ContainerAccess:
    total = ContainerAccess()
    for kind in kinds:
        total |= kind
    return total


def _qualifiers(own: ContainerAccess, same_memory: list[ContainerAccess], fenced: bool) -> tuple[str, ...]:
    """``coherent`` where threads see each other's writes in it, then ``restrict``, ``readonly`` or ``writeonly``."""
    all_of_it = _union(same_memory)
    aliased = len(same_memory) > 1
    exchanged = all_of_it.writes and all_of_it.reads and fenced
    mixed = all_of_it.atomics and (all_of_it.reads or all_of_it.writes)
    names = []
    if exchanged or mixed or (aliased and all_of_it.changes):
        names.append("coherent")
    if not aliased:
        names.append("restrict")
    if not own.changes:
        names.append("readonly")
    elif not own.reads and not own.atomics:
        names.append("writeonly")
    return tuple(names)
