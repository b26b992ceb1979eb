"""Structs with members that the device has not: IR -> IR, before printing.

In variables such a struct has members of types that the device computes with, in buffers it has numpy's layout.  So it
is never loaded or stored there as a whole, but number by number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from vkamp.emit.small import Forms
from vkamp.errors import Span
from vkamp.ir.nodes import (
    ArrayElement,
    Assign,
    Atomic,
    Binary,
    Block,
    BufferElement,
    Call,
    Cast,
    ComponentsOf,
    Const,
    Construct,
    Expr,
    FieldOf,
    Function,
    Kernel,
    Load,
    Local,
    Node,
    Place,
    Reinterpreted,
    Return,
    Stmt,
    Swizzle,
    Variable,
    map_blocks,
    root_of,
    transform,
    walk,
)
from vkamp.ir.types import INT32, VECTOR_LETTERS, Array, Scalar, Struct, Vector, scalar_fields
from vkamp.ir.usage import types_in_use

__all__ = ["split_structs"]


def split_structs(kernel: Kernel, forms: Forms) -> Kernel:
    """The kernel with numbers where it loads or stores structs in buffers that the device cannot have there."""
    if all(forms.computes(kind) for kind in types_in_use(kernel)):
        return kernel
    functions = tuple(_Splitting(forms, f).function() for f in (*kernel.functions, kernel.body))
    return dataclasses.replace(kernel, functions=functions[:-1], body=functions[-1])


def _in_buffer(place: Place) -> bool:
    return isinstance(root_of(place), BufferElement)


class _Splitting:
    def __init__(self, forms: Forms, function: Function) -> None:
        self.forms = forms
        self.original = function
        self.new: list[Variable] = []
        self.names = {v.name for v in (*function.params, *function.variables)}

    def function(self) -> Function:
        body = self.block(self.original.body)
        return dataclasses.replace(self.original, body=body, variables=(*self.original.variables, *self.new))

    def block(self, block: Block) -> Block:
        return tuple(made for statement in block for made in self.statement(statement))

    def variable(self, name: str, like: Node, kind: Scalar | Struct | Vector) -> Local:
        """A new variable."""
        unique, number = name, 0
        while unique in self.names:
            number += 1
            unique = f"{name}_{number}"
        self.names.add(unique)
        variable = Variable(unique, kind, "local", like.span, temporary=True)
        self.new.append(variable)
        return Local(like.span, kind, variable)

    def statement(self, statement: Stmt) -> list[Stmt]:
        """What stands for a statement."""
        statement = map_blocks(statement, self.block)
        if isinstance(statement, Assign):
            if self.forms.splits(statement.place.type):
                return self.copied(statement)
            if self.is_apart(statement.place) and isinstance(statement.place.type, Vector):
                return self.stored_vector(statement)
            return [self.lowered(statement)]
        if isinstance(statement, (Call, Return)):
            return self.with_values(statement)
        return [self.lowered(statement)]

    def lowered(self, statement: Stmt) -> Stmt:
        """The statement with every member in a buffer by itself."""
        made = transform(statement, self.change)
        assert isinstance(made, Stmt)
        return made

    def change(self, node: Node) -> Node:
        if isinstance(node, Load) and isinstance(node.type, Vector) and self.is_apart(node.place):
            parts = tuple(Load(node.span, p.type, self.number(p)) for p in _components(node.place))
            return Construct(node.span, node.type, parts)
        if isinstance(node, Load) and isinstance(node.type, Scalar) and self.is_apart(node.place):
            return dataclasses.replace(node, place=self.number(node.place))
        if isinstance(node, (Assign, Atomic)) and isinstance(node.place.type, Scalar) and self.is_apart(node.place):
            return dataclasses.replace(node, place=self.number(node.place))
        return node

    def is_apart(self, place: Place) -> bool:
        """Whether a place is a part of a struct that lies otherwise in its buffer than in variables."""
        if not _in_buffer(place):
            return False
        step = place
        while isinstance(step, (ComponentsOf, FieldOf, ArrayElement)):
            step = step.base
        return step is not place and self.forms.splits(step.type)

    def number(self, place: Place) -> Place:
        """A number in a struct as an element of the buffer's memory."""
        unit = place.type.size
        index: Expr = Const(place.span, INT32, 0)
        step = place
        offset = 0
        while isinstance(step, (ComponentsOf, FieldOf, ArrayElement)):
            if isinstance(step, ComponentsOf):
                offset += VECTOR_LETTERS.index(step.letters) * unit
            elif isinstance(step, FieldOf):
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
        index = _sum(index, Const(place.span, INT32, offset // unit))
        if isinstance(step, Reinterpreted):
            index = _sum(_times(step.index, step.type.size, unit), index)
            step = step.base
        return Reinterpreted(place.span, place.type, step, index)

    def copied(self, statement: Assign) -> list[Stmt]:
        """A struct, number by number; through a variable, since the two may overlap."""
        value = statement.value
        assert isinstance(value, Load)
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

    def moved(self, target: Place, source: Place, span: Span) -> Iterator[Stmt]:
        for path, kind, _ in scalar_fields(target.type):
            value = Load(span, kind, _member(source, path))
            yield self.lowered(Assign(span, _member(target, path), value))

    def fixed(self, place: Place) -> tuple[Place, list[Stmt]]:
        """The place with subscripts that are evaluated once."""
        out: list[Stmt] = []

        def once(index: Expr) -> Expr:
            if not any(isinstance(n, Load) and not isinstance(n.place, Local) for n in walk(index)):
                return index
            assert isinstance(index.type, Scalar)
            local = self.variable("at", index, index.type)
            out.append(self.lowered(Assign(index.span, local, index)))
            return Load(index.span, index.type, local)

        def change(step: Place) -> Place:
            if isinstance(step, BufferElement):
                return dataclasses.replace(step, indices=tuple(map(once, step.indices)))
            if isinstance(step, ArrayElement):
                return dataclasses.replace(step, base=change(step.base), indices=tuple(map(once, step.indices)))
            if isinstance(step, Reinterpreted):
                return dataclasses.replace(step, base=change(step.base), index=once(step.index))
            if isinstance(step, (FieldOf, ComponentsOf)):
                return dataclasses.replace(step, base=change(step.base))
            return step

        return change(place), out

    def stored_vector(self, statement: Assign) -> list[Stmt]:
        """A vector in such a struct, component by component."""
        kind = statement.place.type
        assert isinstance(kind, Vector)
        place, out = self.fixed(statement.place)
        local = self.variable("part", statement, kind)
        out.append(self.lowered(Assign(statement.span, local, statement.value)))
        value = Load(statement.span, kind, local)
        for letter, part in zip(VECTOR_LETTERS, _components(place), strict=False):
            component = Swizzle(statement.span, kind.element, value, letter)
            out.append(Assign(statement.span, self.number(part), component))
        return out

    def with_values(self, statement: Call | Return) -> list[Stmt]:
        """A call or return with whole structs from buffers loaded before it."""
        out: list[Stmt] = []

        def loaded(value: Expr | Place) -> Expr | Place:
            if not isinstance(value, Load) or not self.forms.splits(value.type) or not _in_buffer(value.place):
                return value
            assert isinstance(value.type, Struct)
            local = self.variable("loaded", value, value.type)
            source, first = self.fixed(value.place)
            out.extend(first)
            out.extend(self.moved(local, source, value.span))
            return Load(value.span, value.type, local)

        if isinstance(statement, Call):
            args = tuple(loaded(a) for a in statement.args)
            out.append(self.lowered(dataclasses.replace(statement, args=args)))
        else:
            values = tuple(v for v in map(loaded, statement.values) if isinstance(v, Expr))
            out.append(self.lowered(dataclasses.replace(statement, values=values)))
        return out


def _components(place: Place) -> list[Place]:
    """The components of a vector in place, in its order."""
    letters, base = VECTOR_LETTERS, place
    kind = place.type
    assert isinstance(kind, Vector)
    if isinstance(place, ComponentsOf):
        letters, base = place.letters, place.base
    return [ComponentsOf(place.span, kind.element, base, letter) for letter in letters[: kind.count]]


def _member(place: Place, path: tuple[str, ...]) -> Place:
    """The number at a path of :func:`scalar_fields`."""
    for step in path:
        kind = place.type
        if isinstance(kind, Struct):
            member = kind.field(step)
            assert member is not None
            place = FieldOf(place.span, member.type, place, step)
        elif isinstance(kind, Vector):
            place = ComponentsOf(place.span, kind.element, place, step)
        else:
            assert isinstance(kind, Array)
            number, parts = int(step), []
            for size in reversed(kind.shape):
                number, component = divmod(number, size)
                parts.append(Const(place.span, INT32, component))
            place = ArrayElement(place.span, kind.element, place, tuple(reversed(parts)))
    return place


def _sum(a: Expr, b: Expr) -> Expr:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Const) and one.value == 0:
            return other
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(b.span, INT32, int(a.value) + int(b.value))
    return Binary(b.span, INT32, "add", a, b)


def _times(index: Expr, size: int, unit: int) -> Expr:
    """A number of steps of ``size`` bytes in elements of ``unit`` bytes."""
    assert size % unit == 0
    factor = size // unit
    if isinstance(index, Const):
        return Const(index.span, INT32, int(index.value) * factor)
    index = index if index.type == INT32 else Cast(index.span, INT32, index)
    return index if factor == 1 else Binary(index.span, INT32, "mul", index, Const(index.span, INT32, factor))
