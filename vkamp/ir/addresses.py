"""Addresses of places in memory: subscripts, members and components as multiples of one element type.

The reference accelerator has its own account of it, as an independent judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import as_int, operation, product, sum_of
from vkamp.ir.lowered import LaunchWord, MemoryElement
from vkamp.ir.types import INT32, VECTOR_LETTERS, Array, Struct, Type, Vector


def _scaled(number: ir.Expr, old: int, new: int) -> ir.Expr:
    """``number`` elements of ``old`` bytes, counted in elements of ``new`` bytes; the front end saw that it fits."""
    if old >= new:
        assert old % new == 0
        return product(number, old // new)
    # Only powers of two, at places that are multiples of them.
    return operation(number.span, INT32, "shr", number, ir.Const(number.span, INT32, (new // old).bit_length() - 1))


def element_number(buffer: ir.BufferParam, indices: tuple[ir.Expr, ...]) -> ir.Expr:
    """The position of an element in its buffer: row-major where dense, else by offset and strides."""
    if buffer.rank == 1 and buffer.dense:
        return indices[0]

    if buffer.dense:
        number = as_int(indices[0])
        for dim, index in enumerate(indices[1:], 1):
            number = sum_of(product(number, buffer.extent(dim, index.span)), index)
        return number
    number = LaunchWord(indices[0].span, INT32, "offset", buffer.name, 0)
    for dim, index in enumerate(indices):
        is_unit = buffer.unit and dim == buffer.rank - 1
        stride = LaunchWord(index.span, INT32, "stride", buffer.name, dim)
        number = sum_of(number, index if is_unit else product(index, stride))
    return number


@dataclass(frozen=True)
class Subscript:
    """An ``index`` of a dimension: elements are ``stride`` bytes apart, and there are ``extent`` of them."""

    index: ir.Expr
    extent: int
    stride: int


def step_from_base(place: ir.ComponentsOf | ir.FieldOf | ir.ArrayElement) -> tuple[int, list[Subscript]]:
    """The way from a place's base to it: bytes, and subscripts, the last dimension first."""
    if isinstance(place, ir.ComponentsOf):
        element = place.type.element if isinstance(place.type, Vector) else place.type
        return VECTOR_LETTERS.index(place.letters[0]) * element.size, []
    if isinstance(place, ir.FieldOf):
        assert isinstance(place.base.type, Struct)
        member = place.base.type.field(place.name)
        assert member is not None
        return member.offset, []
    assert isinstance(place.base.type, Array)
    found, stride = [], place.type.size
    for index, extent in zip(reversed(place.indices), reversed(place.base.type.shape), strict=True):
        found.append(Subscript(index, extent, stride))
        stride *= extent
    return 0, found


def member_element(place: ir.Place, kind: Type) -> ir.Place:
    """Addresses a scalar inside an element of a container as an element of the same memory, of the type ``kind``, which
    has the scalar's size.
    """
    number: ir.Expr = ir.Const(place.span, INT32, 0)
    step, offset, size = place, 0, kind.size
    while isinstance(step, (ir.ComponentsOf, ir.FieldOf, ir.ArrayElement)):
        more, subscripts = step_from_base(step)
        offset += more
        for subscript in subscripts:
            number = sum_of(number, _scaled(subscript.index, subscript.stride, size))
        step = step.base
    number = sum_of(number, ir.Const(place.span, INT32, offset // size))
    if isinstance(step, ir.Reinterpreted):
        number = sum_of(_scaled(step.index, step.type.size, size), number)
        step = step.base
    return ir.Reinterpreted(place.span, kind, step, number)


def scalar_place(place: ir.Place, path: tuple[str, ...]) -> ir.Place:
    """The scalar at a path of :func:`vkamp.ir.types.scalar_fields` in what is at a place."""
    for step in path:
        kind = place.type
        if isinstance(kind, Struct):
            member = kind.field(step)
            assert member is not None
            place = ir.FieldOf(place.span, member.type, place, step)
        elif isinstance(kind, Vector):
            place = ir.ComponentsOf(place.span, kind.element, place, step)
        else:
            assert isinstance(kind, Array)
            indices = (ir.Const(place.span, INT32, int(n)) for n in np.unravel_index(int(step), kind.shape))
            place = ir.ArrayElement(place.span, kind.element, place, tuple(indices))
    return place


def memory_element(kernel: ir.Kernel, place: ir.BufferElement | ir.Reinterpreted) -> MemoryElement:
    """An element of a container by its position in the container's buffer; the base of another one is such already."""
    if not isinstance(place, ir.Reinterpreted):
        number = element_number(kernel.buffer(place.buffer), place.indices)
        return MemoryElement(place.span, place.type, place.buffer, (number,))
    base = place.base
    assert isinstance(base, MemoryElement)
    number = sum_of(_scaled(as_int(base.indices[0]), base.type.size, place.type.size), place.index)
    return MemoryElement(place.span, place.type, base.buffer, (number,))
