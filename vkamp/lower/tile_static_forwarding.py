"""Loads forwarded: a tile_static array that is only a copy of memory is read where it was copied from.

On CPU devices tile_static memory is no faster than a buffer, so the copy costs and gains nothing.  Where no other use
of tile_static memory is left, and nothing else is exchanged between threads, the barriers have no work either.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import affine, simplified
from vkamp.ir.dataflow import assigned
from vkamp.ir.ranges import Ranges
from vkamp.ir.requirements import access, memory_unit
from vkamp.ir.rewrite import changed, contains, filtered, fixed_values, substituted
from vkamp.ir.types import INT32, Array
from vkamp.lower.inline import global_index, is_wait
from vkamp.lower.phases import phases_of
from vkamp.lower.variable_placement import constant_buffers, uniform_variables


@dataclass(frozen=True)
class _Copy:
    """An array that holds what ``value`` loads: subscript ``d`` is ``shifts[d]`` more than component ``dims[d]`` of the
    local index."""

    array: ir.Variable
    statement: ir.Assign
    value: ir.Expr
    dims: tuple[int, ...]
    shifts: tuple[int, ...]


def forwarded(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without arrays that are copies, and without barriers that order nothing any more."""
    if not kernel.tile_statics:
        return kernel
    uniform = uniform_variables(kernel, phases_of(kernel.body.body))
    values = index_values(kernel)
    for array in kernel.tile_statics:
        found = _copy_of(kernel, array, uniform, values)
        if found is not None:
            kernel = _without(kernel, found, values)
    used = {v.name for v in _arrays(kernel)}
    left = tuple(v for v in kernel.tile_statics if v.name in used)
    if left == kernel.tile_statics:
        return kernel
    kernel = dataclasses.replace(kernel, tile_statics=left)
    return kernel if left or _exchanges(kernel) else _with_body(kernel, filtered(kernel.body.body, _is_no_wait))


def _with_body(kernel: ir.Kernel, body: ir.Block) -> ir.Kernel:
    return dataclasses.replace(kernel, body=dataclasses.replace(kernel.body, body=body))


def _is_no_wait(statement: ir.Stmt) -> bool:
    return not is_wait(statement)


def _arrays(kernel: ir.Kernel) -> Iterator[ir.Variable]:
    """The tile_static arrays that are used, as often as they are."""
    for function in (*kernel.functions, kernel.body):
        for statement in ir.walk_statements(function.body):
            for node in ir.own_nodes(statement):
                if isinstance(node, ir.Local) and node.variable.storage == "tile_static":
                    yield node.variable


def _exchanges(kernel: ir.Kernel) -> bool:
    """Whether barriers may order accesses of containers: one is read and changed, or changed before a barrier."""
    table = access(kernel)
    by_storage: dict[int, list[str]] = {}
    for buffer in kernel.buffers:
        by_storage.setdefault(buffer.storage, []).append(buffer.name)
    for names in by_storage.values():
        if any(table[n].atomics for n in names):
            return True
        if any(table[n].changes for n in names) and any(table[n].reads for n in names):
            return True
    # Functions that wait are a part of the body by now; the others may store.
    changing = {f.name for f in kernel.functions if contains(f.body, _stores)}
    return _stores_before_wait(kernel.body.body, changing, False)[1]


def _stores(statement: ir.Stmt) -> bool:
    if isinstance(statement, ir.Assign):
        return isinstance(ir.root_of(statement.place), ir.BufferElement)
    return isinstance(statement, ir.Atomic)


def _stores_before_wait(block: ir.Block, changing: set[str], stored: bool) -> tuple[bool, bool]:
    """Whether a container may have been changed at the end of a block, and whether a barrier comes after that."""
    for statement in block:
        if is_wait(statement) and stored:
            return True, True
        stored = stored or _stores(statement) or getattr(statement, "function", None) in changing
        is_loop = isinstance(statement, (ir.For, ir.While))
        if is_loop and contains(ir.blocks(statement)[0], is_wait):
            # What one iteration stores is before the barriers of the next.
            inside = any(_stores(s) or getattr(s, "function", None) in changing for s in _inner(statement))
            if stored or inside:
                return True, True
            continue
        before = stored
        for inner in ir.blocks(statement):
            after, found = _stores_before_wait(inner, changing, before)
            if found:
                return True, True
            stored = stored or after
    return stored, False


def _inner(statement: ir.Stmt) -> Iterator[ir.Stmt]:
    for block in ir.blocks(statement):
        yield from ir.walk_statements(block)


# -- values of indices ---------------------------------------------------------------------------------------------


def index_values(kernel: ir.Kernel) -> dict[str, ir.Expr]:
    """The variables that are one value of the thread's index wherever they are used, and those values."""
    return fixed_values(kernel.body.body, lambda value: value.type == INT32 and _is_fixed(value))


def _is_fixed(expr: ir.Expr) -> bool:
    """Whether an expression is arithmetic of values that never change for a thread."""
    for node in ir.walk(expr):
        if isinstance(node, ir.Binary) and node.op in ("add", "sub", "mul"):
            continue
        if not isinstance(node, (ir.Const, ir.ScalarValue, ir.BufferExtent, ir.ThreadIndex)):
            return False
    return True


# -- finding copies ------------------------------------------------------------------------------------------------


def _copy_of(
    kernel: ir.Kernel, array: ir.Variable, uniform: frozenset[str], values: Mapping[str, ir.Expr]
) -> _Copy | None:
    """What an array is a copy of, if it is one, and everything reads it where the copy holds."""
    uses = sum(v.name == array.name for v in _arrays(kernel))
    body = kernel.body.body
    writes = [s for s in ir.walk_statements(body) if isinstance(s, ir.Assign) and _is_element(s.place, array)]
    if len(writes) != 1:
        return None
    statement = writes[0]
    copy = _shape_of(kernel, array, statement, uniform, values)
    block = _block_of(body, statement)
    if copy is None or block is None:
        return None
    (number,) = (n for n, s in enumerate(block) if s is statement)
    behind = block[number + 1 :]
    # All threads come to a barrier of the same block, and so to the copy before it.
    if not any(map(is_wait, behind)):
        return None
    while behind and not _reads_of(behind[-1:], array):
        behind = behind[:-1]
    reads = _reads_of(behind, array)
    if {n.variable.name for n in ir.walk(copy.value) if isinstance(n, ir.Local)} & assigned(behind):
        return None
    ranges = Ranges(kernel.body, kernel.tile, unit=memory_unit(kernel))
    declared = sum(isinstance(s, ir.Declare) and s.variable == array for s in ir.walk_statements(body))
    # A declaration is not an operand: what is left is the store and the loads, and no other use.
    if uses != len(reads) + 1 or declared > 1:
        return None
    return copy if all(_is_inside(copy, r, kernel, ranges, values) for r in reads) else None


def _is_element(place: ir.Node, array: ir.Variable) -> bool:
    return isinstance(place, ir.ArrayElement) and isinstance(place.base, ir.Local) and place.base.variable == array


def _is_load(node: ir.Node, array: ir.Variable) -> bool:
    return isinstance(node, ir.Load) and _is_element(node.place, array)


def _reads_of(block: ir.Block, array: ir.Variable) -> list[ir.Node]:
    return [n for s in ir.walk_statements(block) for n in ir.own_nodes(s) if _is_load(n, array)]


def _block_of(block: ir.Block, wanted: ir.Stmt) -> ir.Block | None:
    """The block that contains a statement."""
    for statement in block:
        if statement is wanted:
            return block
        for inner in ir.blocks(statement):
            found = _block_of(inner, wanted)
            if found is not None:
                return found
    return None


def _shape_of(
    kernel: ir.Kernel, array: ir.Variable, statement: ir.Assign, uniform: frozenset[str], values: Mapping[str, ir.Expr]
) -> _Copy | None:
    """The copy that a statement makes, one element for each thread."""
    assert isinstance(statement.place, ir.ArrayElement) and kernel.tile is not None
    value = substituted(statement.value, values)
    load = value
    while isinstance(load, ir.Cast):
        load = load.operand
    if not isinstance(load, ir.Load) or not isinstance(load.place, ir.BufferElement):
        return None
    if load.place.buffer not in constant_buffers(kernel) or not _is_index_of(load.place, uniform):
        return None
    dims: list[int] = []
    shifts: list[int] = []
    for index in statement.place.indices:
        terms, constant = affine(substituted(index, values)) if index.type == INT32 else ({}, 0)
        if len(terms) != 1:
            return None
        ((term, factor),) = terms.items()
        if not isinstance(term, ir.ThreadIndex) or term.kind != "local" or factor != 1:
            return None
        dims.append(term.dim)
        shifts.append(constant)
    if len(set(dims)) < len(dims) or any(n > 1 and d not in dims for d, n in enumerate(kernel.tile)):
        return None
    return _Copy(array, statement, value, tuple(dims), tuple(shifts))


def _is_index_of(place: ir.BufferElement, uniform: frozenset[str]) -> bool:
    """Whether an element's subscripts are arithmetic of the thread's index and uniform variables."""
    for index in place.indices:
        for node in ir.walk(index):
            if isinstance(node, ir.Binary) and node.op in ("add", "sub", "mul"):
                continue
            if ir.read_local(node) is not None:
                continue
            if isinstance(node, ir.Local) and node.variable.storage == "local" and node.variable.name in uniform:
                continue
            if not isinstance(node, (ir.Const, ir.ScalarValue, ir.BufferExtent, ir.ThreadIndex)):
                return False
    return True


def _is_inside(copy: _Copy, load: ir.Node, kernel: ir.Kernel, ranges: Ranges, values: Mapping[str, ir.Expr]) -> bool:
    """Whether a load reads what the copy wrote, wherever the program is right."""
    assert isinstance(load, ir.Load) and isinstance(load.place, ir.ArrayElement) and kernel.tile is not None
    shape = copy.array.type
    assert isinstance(shape, Array)
    for index, dim, shift, size in zip(load.place.indices, copy.dims, copy.shifts, shape.shape, strict=True):
        if index.type != INT32:
            return False
        if shift == 0 and size == kernel.tile[dim]:
            continue
        low, high = ranges.of(substituted(index, values))
        if low < shift or high >= shift + kernel.tile[dim]:
            return False
    return True


# -- without them --------------------------------------------------------------------------------------------------


def _without(kernel: ir.Kernel, copy: _Copy, values: Mapping[str, ir.Expr]) -> ir.Kernel:
    """The kernel that reads what an array was a copy of."""

    def source(place: ir.ArrayElement) -> ir.Expr:
        local: dict[int, ir.Expr] = {}
        for index, dim, shift in zip(place.indices, copy.dims, copy.shifts, strict=True):
            whole = substituted(index, values)
            moved = ir.Binary(whole.span, INT32, "sub", whole, ir.Const(whole.span, INT32, shift))
            local[dim] = changed(moved, simplified)

        def change(node: ir.Node) -> ir.Node:
            if isinstance(node, ir.ThreadIndex) and node.kind in ("local", "global"):
                index: ir.Expr = local.get(node.dim) or ir.Const(node.span, INT32, 0)
                if index == ir.ThreadIndex(node.span, INT32, "local", node.dim):
                    return node
                return index if node.kind == "local" else simplified(global_index(node, index))
            return simplified(node)

        return changed(copy.value, change)

    def change(node: ir.Node) -> ir.Node:
        if _is_load(node, copy.array):
            assert isinstance(node, ir.Load) and isinstance(node.place, ir.ArrayElement)
            return source(node.place)
        return node

    def keep(statement: ir.Stmt) -> bool:
        is_declared = isinstance(statement, ir.Declare) and statement.variable == copy.array
        return not is_declared and statement is not copy.statement

    return _with_body(kernel, ir.map_block(filtered(kernel.body.body, keep), change))
