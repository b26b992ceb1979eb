"""Structs and short vectors with parts of types that the device lacks.

In variables they have parts of types that the device computes with, in buffers they have numpy's layout.  So they are
never loaded or stored there as a whole, but scalar by scalar.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.addresses import member_element, scalar_place
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.requirements import types_in_use
from vkamp.ir.rewrite import Names
from vkamp.ir.types import VECTOR_LETTERS, Scalar, Struct, Type, Vector, scalar_fields


def split_structs(kernel: ir.Kernel, types: DeviceTypes) -> ir.Kernel:
    """The kernel with scalars where it loads or stores structs in buffers that the device cannot have there."""
    if all(types.computes(kind) for kind in types_in_use(kernel)):
        return kernel
    return ir.map_functions(kernel, lambda function: _Splitting(types, function).function())


def _in_buffer(place: ir.Place) -> bool:
    return isinstance(ir.root_of(place), ir.BufferElement)


class _Splitting:
    def __init__(self, types: DeviceTypes, function: ir.Function) -> None:
        self.types = types
        self.original = function
        self.new: list[ir.Variable] = []
        self.names = Names.of(function)

    def function(self) -> ir.Function:
        body = self.block(self.original.body)
        return dataclasses.replace(self.original, body=body, variables=(*self.original.variables, *self.new))

    def block(self, block: ir.Block) -> ir.Block:
        return tuple(made for statement in block for made in self.statement(statement))

    def variable(self, name: str, like: ir.Node, kind: Type) -> ir.Local:
        """A new variable."""
        variable = ir.Variable(self.names.give(name), kind, "local", like.span, temporary=True)
        self.new.append(variable)
        return ir.Local(like.span, kind, variable)

    def statement(self, statement: ir.Stmt) -> list[ir.Stmt]:
        """The statements that replace a statement."""
        statement = ir.map_blocks(statement, self.block)
        if isinstance(statement, ir.Assign):
            if isinstance(statement.place.type, Vector):
                if self.is_member(statement.place):
                    return self.stored_vector(statement)
            elif self.types.splits(statement.place.type):
                return self.copied(statement)
        if isinstance(statement, (ir.Call, ir.Return)):
            return self.with_values(statement)
        return [self.lowered(statement)]

    def lowered(self, statement: ir.Stmt) -> ir.Stmt:
        """Splits a statement, so that every member in a buffer is accessed separately."""
        made = ir.transform(statement, self.change)
        assert isinstance(made, ir.Stmt)
        return made

    def change(self, node: ir.Node) -> ir.Node:
        if not isinstance(node, (ir.Load, ir.Assign, ir.Atomic)) or not self.is_member(node.place):
            return node
        kind = node.place.type
        if isinstance(node, ir.Load) and isinstance(kind, Vector):
            parts = tuple(ir.Load(node.span, p.type, member_element(p, p.type)) for p in _components(node.place))
            return ir.Construct(node.span, node.type, parts)
        return dataclasses.replace(node, place=member_element(node.place, kind)) if isinstance(kind, Scalar) else node

    def is_member(self, place: ir.Place) -> bool:
        """Whether a place is such a vector in a buffer, or is in such a struct or vector there."""
        step = place
        while isinstance(step, (ir.ComponentsOf, ir.FieldOf, ir.ArrayElement)):
            step = step.base
        is_part = step is not place or isinstance(step.type, Vector)
        return is_part and self.types.splits(step.type) and _in_buffer(place)

    def copied(self, statement: ir.Assign) -> list[ir.Stmt]:
        """A struct, scalar by scalar; through a variable, since the two may overlap."""
        value = statement.value
        assert isinstance(value, ir.Load)
        if not _in_buffer(statement.place) and not _in_buffer(value.place):
            return [self.lowered(statement)]
        source, out = self.fixed(value.place)
        target, first = self.fixed(statement.place)
        out += first
        if _in_buffer(source) and _in_buffer(target):
            local = self.variable("copied", statement, value.type)
            out += self.moved(local, source, statement.span)
            source = local
        return [*out, *self.moved(target, source, statement.span)]

    def moved(self, target: ir.Place, source: ir.Place, span: Span) -> Iterator[ir.Stmt]:
        for path, kind, _ in scalar_fields(target.type):
            value = ir.Load(span, kind, scalar_place(source, path))
            yield self.lowered(ir.Assign(span, scalar_place(target, path), value))

    def fixed(self, place: ir.Place) -> tuple[ir.Place, list[ir.Stmt]]:
        """The place with subscripts that are evaluated once."""
        out: list[ir.Stmt] = []

        def once(operand: ir.Expr | ir.Place) -> ir.Node:
            if isinstance(operand, ir.Place):
                return ir.map_operands(operand, once)
            if not any(isinstance(n, ir.Load) and not isinstance(n.place, ir.Local) for n in ir.walk(operand)):
                return operand
            local = self.variable("at", operand, operand.type)
            out.append(self.lowered(ir.Assign(operand.span, local, operand)))
            return ir.Load(operand.span, operand.type, local)

        return ir.map_operands(place, once), out

    def stored_vector(self, statement: ir.Assign) -> list[ir.Stmt]:
        """A vector in such a struct, component by component."""
        kind = statement.place.type
        assert isinstance(kind, Vector)
        place, out = self.fixed(statement.place)
        local = self.variable("part", statement, kind)
        out.append(self.lowered(ir.Assign(statement.span, local, statement.value)))
        value = ir.Load(statement.span, kind, local)
        for letter, part in zip(VECTOR_LETTERS, _components(place), strict=False):
            component = ir.Swizzle(statement.span, kind.element, value, letter)
            out.append(ir.Assign(statement.span, member_element(part, part.type), component))
        return out

    def with_values(self, statement: ir.Stmt) -> list[ir.Stmt]:
        """A call or return with whole structs from buffers loaded before it."""
        out: list[ir.Stmt] = []

        def loaded(value: ir.Expr | ir.Place) -> ir.Node:
            is_whole = isinstance(value.type, Struct) and self.types.splits(value.type)
            if not isinstance(value, ir.Load) or not is_whole or not _in_buffer(value.place):
                return value
            local = self.variable("loaded", value, value.type)
            source, first = self.fixed(value.place)
            out.extend((*first, *self.moved(local, source, value.span)))
            return ir.Load(value.span, value.type, local)

        made = ir.map_operands(statement, loaded)
        return [*out, self.lowered(made)]


def _components(place: ir.Place) -> list[ir.Place]:
    """The components of a vector at a place, in its order."""
    letters, base = VECTOR_LETTERS, place
    kind = place.type
    assert isinstance(kind, Vector)
    if isinstance(place, ir.ComponentsOf):
        letters, base = place.letters, place.base
    return [ir.ComponentsOf(place.span, kind.element, base, letter) for letter in letters[: kind.count]]
