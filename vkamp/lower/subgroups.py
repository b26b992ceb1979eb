"""Subgroups of a tile whose threads are loops: IR -> IR.

The lanes that run a tile are one subgroup of the device.  Each iteration of a loop over threads runs as many
neighbouring threads as there are lanes, so that it runs one subgroup of the tile: the device's functions of subgroups
exchange values between the right threads, also in control flow that differs between subgroups, and no value needs
memory.  For this the lanes have to go through the tile in the order of the threads' numbers.
"""

from __future__ import annotations

import dataclasses
import math

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import simplified
from vkamp.ir.types import INT32
from vkamp.lower.errors import NotLowerable


def subgroup_lanes(tile: tuple[int, ...], size: int) -> tuple[int, ...] | None:
    """The lanes per dimension with which each iteration of the loops over a tile runs one subgroup, if there are.

    The threads of a subgroup have consecutive numbers in row-major order.
    """
    lanes: list[int] = []
    left = size
    for dim, extent in reversed(list(enumerate(tile))):
        count = min(left, extent)
        # Its rows fill subgroups, or subgroups have whole rows; where there is only one, it may end early.
        if math.prod(tile[:dim]) > 1 and max(left, extent) % count:
            return None
        lanes.append(count)
        left //= count
    return tuple(reversed(lanes))


def with_subgroups(kernel: ir.Kernel, size: int) -> tuple[ir.Kernel, tuple[int, ...]]:
    """The kernel with numbers and sizes of subgroups as arithmetic on the thread's index, and the lanes of its tile.

    ``size``: the lanes of the device's subgroups.  A tile whose rows do not fit subgroups becomes one row.
    """
    assert kernel.tile is not None
    if size == 1:
        raise NotLowerable("it calls subgroup functions, and the size of this device's subgroups is not known")
    if kernel.subgroup_size not in (None, size):
        raise NotLowerable(f"it requires subgroups of {kernel.subgroup_size} lanes, and this device has {size}")
    if subgroup_lanes(kernel.tile, size) is None:
        kernel = _in_one_row(kernel)
    assert kernel.tile is not None
    lanes = subgroup_lanes(kernel.tile, size)
    assert lanes is not None
    return _with_numbers(kernel, size), lanes


def _with_numbers(kernel: ir.Kernel, size: int) -> ir.Kernel:
    """The kernel without indices of subgroups but the lane."""
    tile = kernel.tile
    assert tile is not None
    threads = math.prod(tile)

    def change(node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.SubgroupIndex) or node.kind == "lane":
            return node
        if node.kind == "size":
            return _number(node, size)
        if node.kind == "count" or threads <= size:
            return _number(node, -(-threads // size) if node.kind == "count" else 0)
        return ir.Binary(node.span, INT32, "tdiv", _rank(node, tile), _number(node, size))

    return ir.map_kernel(kernel, change)


def _rank(node: ir.Expr, tile: tuple[int, ...]) -> ir.Expr:
    """The number of a thread in its tile, in row-major order."""
    total: ir.Expr | None = None
    for dim, extent in enumerate(tile):
        index: ir.Expr = ir.ThreadIndex(node.span, INT32, "local", dim)
        if extent == 1:
            continue
        if total is not None:
            index = ir.Binary(node.span, INT32, "add", _times(total, extent), index)
        total = index
    return total if total is not None else _number(node, 0)


def _in_one_row(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with all threads of its tile in the last dimension."""
    tile = kernel.tile
    assert tile is not None
    last = len(tile) - 1

    def local(node: ir.ThreadIndex) -> ir.Expr:
        value: ir.Expr = ir.ThreadIndex(node.span, INT32, "local", last)
        below = math.prod(tile[node.dim + 1 :])
        if below > 1:
            value = ir.Binary(node.span, INT32, "tdiv", value, _number(node, below))
        if math.prod(tile[: node.dim]) > 1:
            value = ir.Binary(node.span, INT32, "trem", value, _number(node, tile[node.dim]))
        return value

    def change(node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.ThreadIndex) or node.kind == "tile":
            return node
        if node.kind == "local":
            return local(node)
        origin = _times(dataclasses.replace(node, kind="tile"), tile[node.dim])
        return origin if node.kind == "tile_origin" else ir.Binary(node.span, INT32, "add", origin, local(node))

    row = (*(1 for _ in tile[1:]), math.prod(tile))
    return dataclasses.replace(ir.map_kernel(kernel, change), tile=row)


def _times(value: ir.Expr, by: int) -> ir.Expr:
    product = ir.Binary(value.span, INT32, "mul", value, _number(value, by))
    return value if by == 1 else simplified(product)  # type: ignore[return-value]


def _number(node: ir.Expr, value: int) -> ir.Const:
    return ir.Const(node.span, INT32, value)
