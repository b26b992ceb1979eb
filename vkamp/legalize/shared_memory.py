"""One memory for tile_static arrays that are never in use at the same time.

GLSL gives each array memory for the whole kernel.  Arrays that the kernel declares to be ``apart`` become parts of one
array.  Arrays of 32-bit numbers share memory with each other. If their types differ, they are stored as bits in an
array of uints. Arrays of any other element type share memory with arrays of that type, since an element has no other
form in GLSL.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import as_int, integer, product, sum_of
from vkamp.ir.lowered import BitCast
from vkamp.ir.types import FLOAT32, INT32, UINT32, Array, Type

_NUMBERS = (INT32, UINT32, FLOAT32)
_NAME = "shared_memory"


def with_shared_memory(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with one array for those whose lifetimes permit it; none of its functions takes such an array."""
    if not kernel.apart:
        return kernel
    found: dict[str, tuple[ir.Variable, int]] = {}
    arrays: list[ir.Variable] = []
    for members in _groups(kernel):
        kinds = {_element(v) for v in members}
        offsets, size = _offsets(kernel, members)
        pool = Array(kinds.pop() if len(kinds) == 1 else UINT32, (size,))
        taken = {v.name for v in (*kernel.tile_statics, *arrays)}
        name = next(n for k in range(1, 1000) if (n := _NAME if k == 1 else f"{_NAME}_{k}") not in taken)
        memory = ir.Variable(name, pool, "tile_static", members[0].span)
        arrays.append(memory)
        found |= {name: (memory, offset) for name, offset in offsets.items()}
    kept = tuple(v for v in kernel.tile_statics if v.name not in found)

    def change(node: ir.Node) -> ir.Node:
        return _moved(node, found)

    def function(given: ir.Function) -> ir.Function:
        return dataclasses.replace(given, body=ir.map_block(_without_declarations(given.body, found), change))

    return dataclasses.replace(ir.map_functions(kernel, function), tile_statics=(*kept, *arrays), apart=frozenset())


def _groups(kernel: ir.Kernel) -> Iterator[list[ir.Variable]]:
    """The arrays that can share memory, if sharing reduces the total."""
    atomic = {
        root.variable.name
        for s in kernel.statements()
        if isinstance(s, ir.Atomic) and isinstance(root := ir.root_of(s.place), ir.Local)
    }
    groups: dict[object, list[ir.Variable]] = {}
    for variable in kernel.tile_statics:
        element = _element(variable)
        # Atomics work on the number itself, and not on its bits.
        as_words = element == UINT32 or (element in _NUMBERS and variable.name not in atomic)
        groups.setdefault(_NAME if as_words else element, []).append(variable)
    for members in groups.values():
        # What is in use together with all others gains nothing.
        sharing = [v for v in members if any(_are_apart(kernel, v.name, other.name) for other in members)]
        if sharing:
            yield sharing


def _element(variable: ir.Variable) -> Type:
    assert isinstance(variable.type, Array)
    return variable.type.element


def _are_apart(kernel: ir.Kernel, one: str, other: str) -> bool:
    return frozenset((one, other)) in kernel.apart


def _offsets(kernel: ir.Kernel, members: Iterable[ir.Variable]) -> tuple[dict[str, int], int]:
    """Where each array begins, in elements, and the size of all: each at the first place that is free."""
    placed: dict[str, tuple[int, int]] = {}
    for variable in members:
        assert isinstance(variable.type, Array)
        begin, count = 0, variable.type.count
        for low, high in sorted(p for name, p in placed.items() if not _are_apart(kernel, name, variable.name)):
            if begin + count <= low:
                break
            begin = max(begin, high)
        placed[variable.name] = begin, begin + count
    return {name: begin for name, (begin, _) in placed.items()}, max(end for _, end in placed.values())


def _without_declarations(block: ir.Block, found: dict[str, tuple[ir.Variable, int]]) -> ir.Block:
    return tuple(
        ir.map_blocks(s, lambda inner: _without_declarations(inner, found))
        for s in block
        if not (isinstance(s, ir.Declare) and s.variable.name in found and s.variable.storage == "tile_static")
    )


def _moved(node: ir.Node, found: dict[str, tuple[ir.Variable, int]]) -> ir.Node:
    """A node whose operands are in the shared memory already."""
    if isinstance(node, ir.ArrayElement) and isinstance(node.base, ir.Local):
        variable = node.base.variable
        if variable.storage != "tile_static" or variable.name not in found:
            return node
        memory, offset = found[variable.name]
        assert isinstance(variable.type, Array) and isinstance(memory.type, Array)
        number: ir.Expr = integer(0, node)
        for index, extent in zip(node.indices, variable.type.shape, strict=True):
            number = sum_of(product(number, extent), as_int(index))
        base = ir.Local(node.span, memory.type, memory)
        return ir.ArrayElement(node.span, memory.type.element, base, (sum_of(number, offset),))
    if isinstance(node, ir.Load) and node.place.type != node.type:
        return BitCast(node.span, node.type, dataclasses.replace(node, type=node.place.type))
    if isinstance(node, ir.Assign) and node.place.type != node.value.type:
        return dataclasses.replace(node, value=BitCast(node.span, node.place.type, node.value))
    return node
