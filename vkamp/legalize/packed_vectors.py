"""Short vectors in memory where GLSL would align them otherwise than numpy: IR -> IR, the last pass.

Those of three components in containers, and all in structs, are arrays of their components there. Loads and stores
convert.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TypeGuard

from vkamp.ir import nodes as ir
from vkamp.ir.requirements import typed_access
from vkamp.ir.rewrite import Names
from vkamp.ir.types import Array, PackedVector, Scalar, Struct, Type, Vector


def with_packed_vectors(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with conversions where it loads and stores vectors that memory has as arrays."""
    in_memory = {kind for _, kind in typed_access(kernel)}
    if all(_element(kind) == kind for kind in (*in_memory, *kernel.structs())):
        return kernel
    made = ir.map_functions(kernel, lambda function: _Packing(function).function())
    return dataclasses.replace(
        made,
        buffers=tuple(dataclasses.replace(each, element=_element(each.element)) for each in kernel.buffers),
        tile_statics=tuple(map(_variable, kernel.tile_statics)),
    )


def _element(kind: Type) -> Type:
    """The type of a container's elements, of which values have the type ``kind``."""
    return _member(kind) if isinstance(kind, Vector) and kind.count == 3 else _value(kind)


def _member(kind: Type) -> Type:
    """The type of a member of structs."""
    if isinstance(kind, Vector):
        return PackedVector(kind.element, kind.count)
    return dataclasses.replace(kind, element=_member(kind.element)) if isinstance(kind, Array) else _value(kind)


def _value(kind: Type) -> Type:
    """The type of a variable or value."""
    if isinstance(kind, Struct):
        members = tuple(dataclasses.replace(each, type=_member(each.type)) for each in kind.fields)
        return dataclasses.replace(kind, fields=members)
    if isinstance(kind, Array) and isinstance(kind.element, (Struct, Array)):
        return dataclasses.replace(kind, element=_value(kind.element))
    return kind


def _variable(variable: ir.Variable) -> ir.Variable:
    kind = _value(variable.type)
    return variable if kind == variable.type else dataclasses.replace(variable, type=kind)


class _Packing:
    def __init__(self, function: ir.Function) -> None:
        self.original = function
        self.names = Names.of(function)
        self.new: list[ir.Variable] = []

    def function(self) -> ir.Function:
        body = self.block(self.original.body)
        return dataclasses.replace(
            self.original,
            params=tuple(map(_variable, self.original.params)),
            results=tuple(map(_value, self.original.results)),
            variables=(*map(_variable, self.original.variables), *self.new),
            body=body,
        )

    def block(self, block: ir.Block) -> ir.Block:
        return tuple(made for statement in block for made in self.statement(statement))

    def statement(self, statement: ir.Stmt) -> Iterator[ir.Stmt]:
        inner = ir.map_blocks(statement, self.block)
        made = ir.map_variables(ir.map_operands(inner, lambda node: ir.transform(node, self.change)), _variable)
        if not isinstance(made, ir.Assign):
            yield made
        elif isinstance(made.place.type, PackedVector):
            yield dataclasses.replace(made, value=_packed(made.value, made.place.type))
        elif _are_parts(made.place):
            yield from self.stored_parts(made, made.place)
        else:
            yield made

    def change(self, node: ir.Node) -> ir.Node:
        """A node whose operands are changed already."""
        if isinstance(node, ir.Load):
            return _loaded(node)
        if isinstance(node, ir.Place):
            return _place(ir.map_variables(node, _variable))
        assert isinstance(node, ir.Expr)
        kind = _value(node.type)
        return node if kind == node.type else dataclasses.replace(node, type=kind)

    def stored_parts(self, statement: ir.Assign, place: ir.ComponentsOf) -> Iterator[ir.Stmt]:
        """Several components of a packed vector, one after the other."""
        span, kind = statement.span, place.type
        assert isinstance(kind, Vector)
        variable = ir.Variable(self.names.give("part"), kind, "local", span, temporary=True)
        self.new.append(variable)
        local = ir.Local(span, kind, variable)
        yield ir.Assign(span, local, statement.value)
        for source, letter in zip(kind.letters, place.letters, strict=True):
            component = ir.Swizzle(span, kind.element, ir.Load(span, kind, local), source)
            yield ir.Assign(span, ir.ComponentsOf(span, kind.element, place.base, letter), component)


def _place(place: ir.Place) -> ir.Place:
    """A place whose base has its type already."""
    kind = place.type
    if isinstance(place, ir.BufferElement):
        kind = _element(kind)
    elif isinstance(place, ir.Local):
        kind = place.variable.type
    elif isinstance(place, ir.ArrayElement) and isinstance(place.base.type, Array):
        kind = place.base.type.element
    elif isinstance(place, ir.FieldOf):
        assert isinstance(place.base.type, Struct)
        kind = next(each.type for each in place.base.type.fields if each.name == place.name)
    return place if kind == place.type else dataclasses.replace(place, type=kind)


def _are_parts(place: ir.Place) -> TypeGuard[ir.ComponentsOf]:
    """Whether a place has several components of a packed vector."""
    if not isinstance(place, ir.ComponentsOf) or isinstance(place.type, Scalar):
        return False
    return isinstance(place.base.type, PackedVector)


def _loaded(load: ir.Load) -> ir.Expr:
    """A load, as a value of the type that it had, or that structs have."""
    span, place = load.span, load.place
    if _are_parts(place):
        whole = place.base.type
        assert isinstance(whole, PackedVector)
        vector = ir.Cast(span, whole.vector, ir.Load(span, whole, place.base))
        return vector if place.letters == whole.letters else ir.Swizzle(span, load.type, vector, place.letters)
    if isinstance(place.type, PackedVector):
        return ir.Cast(span, load.type, dataclasses.replace(load, type=place.type))
    return load if place.type == load.type else dataclasses.replace(load, type=place.type)


def _packed(value: ir.Expr, kind: PackedVector) -> ir.Expr:
    """A vector as memory has it; one that comes from memory is as it was there."""
    if isinstance(value, ir.Cast) and value.operand.type == kind:
        return value.operand
    return ir.Cast(value.span, kind, value)
