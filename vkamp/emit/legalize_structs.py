"""Structs with members that the device has not: IR -> IR, before printing.

In variables such a struct has members of types that the device computes with, in buffers it has numpy's layout.  So it
is never loaded or stored there as a whole, but number by number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from vkamp.emit.narrow_types import Forms
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.requirements import types_in_use
from vkamp.ir.types import INT32, VECTOR_LETTERS, Array, Scalar, Struct, Vector, scalar_fields


def split_structs(kernel: ir.Kernel, forms: Forms) -> ir.Kernel:
    """The kernel with numbers where it loads or stores structs in buffers that the device cannot have there."""
    if all(forms.computes(kind) for kind in types_in_use(kernel)):
        return kernel
    functions = tuple(_Splitting(forms, f).function() for f in (*kernel.functions, kernel.body))
    return dataclasses.replace(kernel, functions=functions[:-1], body=functions[-1])


def _in_buffer(place: ir.Place) -> bool:
    return isinstance(ir.root_of(place), ir.BufferElement)


class _Splitting:
    def __init__(self, forms: Forms, function: ir.Function) -> None:
        self.forms = forms
        self.original = function
        self.new: list[ir.Variable] = []
        self.names = {v.name for v in (*function.params, *function.variables)}

    def function(self) -> ir.Function:
        body = self.block(self.original.body)
        return dataclasses.replace(self.original, body=body, variables=(*self.original.variables, *self.new))

    def block(self, block: ir.Block) -> ir.Block:
        return tuple(made for statement in block for made in self.statement(statement))

    def variable(self, name: str, like: ir.Node, kind: Scalar | Struct | Vector) -> ir.Local:
        """A new variable."""
        unique, number = name, 0
        while unique in self.names:
            number += 1
            unique = f"{name}_{number}"
        self.names.add(unique)
        variable = ir.Variable(unique, kind, "local", like.span, temporary=True)
        self.new.append(variable)
        return ir.Local(like.span, kind, variable)

    def statement(self, statement: ir.Stmt) -> list[ir.Stmt]:
        """What stands for a statement."""
        statement = ir.map_blocks(statement, self.block)
        if isinstance(statement, ir.Assign):
            if self.forms.splits(statement.place.type):
                return self.copied(statement)
            if self.is_apart(statement.place) and isinstance(statement.place.type, Vector):
                return self.stored_vector(statement)
            return [self.lowered(statement)]
        if isinstance(statement, (ir.Call, ir.Return)):
            return self.with_values(statement)
        return [self.lowered(statement)]

    def lowered(self, statement: ir.Stmt) -> ir.Stmt:
        """The statement with every member in a buffer by itself."""
        made = ir.transform(statement, self.change)
        assert isinstance(made, ir.Stmt)
        return made

    def change(self, node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Load) and isinstance(node.type, Vector) and self.is_apart(node.place):
            parts = tuple(ir.Load(node.span, p.type, self.number(p)) for p in _components(node.place))
            return ir.Construct(node.span, node.type, parts)
        if isinstance(node, ir.Load) and isinstance(node.type, Scalar) and self.is_apart(node.place):
            return dataclasses.replace(node, place=self.number(node.place))
        if (
            isinstance(node, (ir.Assign, ir.Atomic))
            and isinstance(node.place.type, Scalar)
            and self.is_apart(node.place)
        ):
            return dataclasses.replace(node, place=self.number(node.place))
        return node

    def is_apart(self, place: ir.Place) -> bool:
        """Whether a place is a part of a struct that lies otherwise in its buffer than in variables."""
        if not _in_buffer(place):
            return False
        step = place
        while isinstance(step, (ir.ComponentsOf, ir.FieldOf, ir.ArrayElement)):
            step = step.base
        return step is not place and self.forms.splits(step.type)

    def number(self, place: ir.Place) -> ir.Place:
        """A number in a struct as an element of the buffer's memory."""
        unit = place.type.size
        index: ir.Expr = ir.Const(place.span, INT32, 0)
        step = place
        offset = 0
        while isinstance(step, (ir.ComponentsOf, ir.FieldOf, ir.ArrayElement)):
            if isinstance(step, ir.ComponentsOf):
                offset += VECTOR_LETTERS.index(step.letters) * unit
            elif isinstance(step, ir.FieldOf):
                assert isinstance(step.base.type, Struct)
                member = step.base.type.field(step.name)
                assert member is not None
                offset += member.offset
            else:
                assert isinstance(step.base.type, Array)
                size = step.type.size
                for part, length in zip(reversed(step.indices), reversed(step.base.type.shape), strict=True):
                    index = _sum(index, _times(part, size, unit))
                    size *= length
            step = step.base
        index = _sum(index, ir.Const(place.span, INT32, offset // unit))
        if isinstance(step, ir.Reinterpreted):
            index = _sum(_times(step.index, step.type.size, unit), index)
            step = step.base
        return ir.Reinterpreted(place.span, place.type, step, index)

    def copied(self, statement: ir.Assign) -> list[ir.Stmt]:
        """A struct, number by number; through a variable, since the two may overlap."""
        value = statement.value
        assert isinstance(value, ir.Load)
        if not _in_buffer(statement.place) and not _in_buffer(value.place):
            return [self.lowered(statement)]
        source, out = self.fixed(value.place)
        target, first = self.fixed(statement.place)
        out += first
        if _in_buffer(source) and _in_buffer(target):
            assert isinstance(value.type, Struct)
            local = self.variable("copied", statement, value.type)
            return [*out, *self.moved(local, source, statement.span), *self.moved(target, local, statement.span)]
        return [*out, *self.moved(target, source, statement.span)]

    def moved(self, target: ir.Place, source: ir.Place, span: Span) -> Iterator[ir.Stmt]:
        for path, kind, _ in scalar_fields(target.type):
            value = ir.Load(span, kind, _member(source, path))
            yield self.lowered(ir.Assign(span, _member(target, path), value))

    def fixed(self, place: ir.Place) -> tuple[ir.Place, list[ir.Stmt]]:
        """The place with subscripts that are evaluated once."""
        out: list[ir.Stmt] = []

        def once(index: ir.Expr) -> ir.Expr:
            if not any(isinstance(n, ir.Load) and not isinstance(n.place, ir.Local) for n in ir.walk(index)):
                return index
            assert isinstance(index.type, Scalar)
            local = self.variable("at", index, index.type)
            out.append(self.lowered(ir.Assign(index.span, local, index)))
            return ir.Load(index.span, index.type, local)

        def change(step: ir.Place) -> ir.Place:
            if isinstance(step, ir.BufferElement):
                return dataclasses.replace(step, indices=tuple(map(once, step.indices)))
            if isinstance(step, ir.ArrayElement):
                return dataclasses.replace(step, base=change(step.base), indices=tuple(map(once, step.indices)))
            if isinstance(step, ir.Reinterpreted):
                return dataclasses.replace(step, base=change(step.base), index=once(step.index))
            if isinstance(step, (ir.FieldOf, ir.ComponentsOf)):
                return dataclasses.replace(step, base=change(step.base))
            return step

        return change(place), out

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
            out.append(ir.Assign(statement.span, self.number(part), component))
        return out

    def with_values(self, statement: ir.Call | ir.Return) -> list[ir.Stmt]:
        """A call or return with whole structs from buffers loaded before it."""
        out: list[ir.Stmt] = []

        def loaded(value: ir.Expr | ir.Place) -> ir.Expr | ir.Place:
            if not isinstance(value, ir.Load) or not self.forms.splits(value.type) or not _in_buffer(value.place):
                return value
            assert isinstance(value.type, Struct)
            local = self.variable("loaded", value, value.type)
            source, first = self.fixed(value.place)
            out.extend(first)
            out.extend(self.moved(local, source, value.span))
            return ir.Load(value.span, value.type, local)

        if isinstance(statement, ir.Call):
            args = tuple(loaded(a) for a in statement.args)
            out.append(self.lowered(dataclasses.replace(statement, args=args)))
        else:
            values = tuple(v for v in map(loaded, statement.values) if isinstance(v, ir.Expr))
            out.append(self.lowered(dataclasses.replace(statement, values=values)))
        return out


def _components(place: ir.Place) -> list[ir.Place]:
    """The components of a vector in place, in its order."""
    letters, base = VECTOR_LETTERS, place
    kind = place.type
    assert isinstance(kind, Vector)
    if isinstance(place, ir.ComponentsOf):
        letters, base = place.letters, place.base
    return [ir.ComponentsOf(place.span, kind.element, base, letter) for letter in letters[: kind.count]]


def _member(place: ir.Place, path: tuple[str, ...]) -> ir.Place:
    """The number at a path of :func:`scalar_fields`."""
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
            number, parts = int(step), []
            for size in reversed(kind.shape):
                number, component = divmod(number, size)
                parts.append(ir.Const(place.span, INT32, component))
            place = ir.ArrayElement(place.span, kind.element, place, tuple(reversed(parts)))
    return place


def _sum(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ir.Const) and one.value == 0:
            return other
    if isinstance(a, ir.Const) and isinstance(b, ir.Const):
        return ir.Const(b.span, INT32, int(a.value) + int(b.value))
    return ir.Binary(b.span, INT32, "add", a, b)


def _times(index: ir.Expr, size: int, unit: int) -> ir.Expr:
    """A number of steps of ``size`` bytes in elements of ``unit`` bytes."""
    assert size % unit == 0
    factor = size // unit
    if isinstance(index, ir.Const):
        return ir.Const(index.span, INT32, int(index.value) * factor)
    index = index if index.type == INT32 else ir.Cast(index.span, INT32, index)
    return index if factor == 1 else ir.Binary(index.span, INT32, "mul", index, ir.Const(index.span, INT32, factor))
